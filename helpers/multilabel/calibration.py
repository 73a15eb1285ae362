"""Scores into probabilities, and probabilities into those of another class balance.

Platt scaling and isotonic regression for one class, their cross-fitted form, and Saerens' EM for a target set
whose balance differs. Measuring calibration error is left to `sklearn.calibration`.
"""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from helpers.corpora.splits import random_parts
from helpers.multilabel.thresholds import checked_labels, checked_rate, checked_scores

Calibrator = Callable[[NDArray], NDArray]
"""Maps scores (n,) to probabilities (n,), never decreasing."""

EDGE = 1e-6  # scores of 0 and 1 have no logit
FLOOR = 1e-9  # the lowest rate that is estimated


def platt(y: ArrayLike, p: ArrayLike) -> Calibrator:
    """Fit a logistic curve through the logit of the scores: see `platt_curve`."""
    return partial(on_curve, curve=platt_curve(y, p))


def platt_curve(y: ArrayLike, p: ArrayLike) -> tuple[float, float]:
    """Return slope and offset of Platt's curve over the logit of the scores, with his softened targets.

    The targets (positives + 1) / (positives + 2) and 1 / (negatives + 2) keep a class of a few positives, or
    of none, from certainty.
    """
    p = checked_scores(p)
    return _platt_curve(checked_labels(y, p.size).tobytes(), p.astype(float).tobytes())


@lru_cache(maxsize=2**13)  # notebook 05 fits the same curve for every rule and every shift that reads it
def _platt_curve(labels: bytes, scores: bytes) -> tuple[float, float]:
    y, p = np.frombuffer(labels, dtype=bool), np.frombuffer(scores)
    soft = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))
    slope, offset = _logistic_curve(_log_odds(p), soft)
    if slope < 0:  # scores that point the wrong way say nothing; never turn them round
        slope, offset = 0.0, float(logit(soft.mean()))
    return slope, offset


def on_curve(scores: ArrayLike, curve: tuple[float, float]) -> NDArray:
    """Read scores off a curve of slope and offset."""
    return expit(curve[0] * _log_odds(scores) + curve[1])


def isotonic(y: ArrayLike, p: ArrayLike) -> Calibrator:
    """Fit the best never-decreasing values at the scores, with straight lines between them.

    Scores beyond the fitted ones take the nearest value. Same as scikit-learn's `IsotonicRegression`, whose
    checks cost ten times the fit.
    """
    from scipy.optimize import isotonic_regression

    p = checked_scores(p)
    at, index, rows = np.unique(p, return_inverse=True, return_counts=True)
    shares = np.bincount(index, weights=checked_labels(y, p.size)) / rows
    values = isotonic_regression(shares, weights=rows).x
    return lambda scores: np.interp(np.asarray(scores, dtype=float), at, values)


def cross_fitted(y: ArrayLike, p: ArrayLike, *, fit: Callable = platt) -> NDArray:
    """Return probabilities for the very rows with labels, each from a curve fitted on the other fifths."""
    y, p = np.asarray(y), np.asarray(p, dtype=float)
    probabilities = np.empty(p.size)
    for outside, inside in random_parts(p.size, 5):
        probabilities[inside] = fit(y[outside], p[outside])(p[inside])
    return probabilities


def shift_prior(probability: ArrayLike, *, old: float, new: float) -> NDArray:
    """Move calibrated probabilities from the balance `old` to `new` by Bayes' rule."""
    q, old, new = np.asarray(probability, dtype=float), checked_rate(old), checked_rate(new)
    if old in (0.0, 1.0):
        raise ValueError(f"old: a class that is always or never positive (rate {old}) cannot be re-weighted")
    positive, negative = q * new / old, (1.0 - q) * (1.0 - new) / (1.0 - old)
    total = positive + negative
    return np.divide(positive, total, out=q.copy(), where=total > 0)


def estimate_prior(probability: ArrayLike, *, old: float) -> float:
    """Estimate the positive rate of unlabelled rows; `probability` is calibrated under `old`.

    Where Saerens' EM would end (`statistics.estimate_shares`): the likelihood of one rate has a single peak,
    and the root of its slope is found hundreds of steps sooner.
    """
    from scipy.optimize import brentq

    q, old = np.asarray(probability, dtype=float), checked_rate(old)
    if old in (0.0, 1.0):
        raise ValueError(f"old: a class that is always or never positive (rate {old}) cannot be re-weighted")
    positive, negative = q / old, (1 - q) / (1 - old)

    def slope(rate: float) -> float:
        return float(np.sum((positive - negative) / (rate * positive + (1 - rate) * negative)))

    low, high = FLOOR, 1 - FLOOR
    if slope(low) <= 0:
        return low
    return high if slope(high) >= 0 else float(brentq(slope, low, high, xtol=1e-7))


def _logistic_curve(x: NDArray, target: NDArray) -> tuple[float, float]:
    """Minimise the cross-entropy of expit(slope · x + offset) by Newton steps, halved while they overshoot.

    Two unknowns need no general solver: thousands of these fits are behind one table of rules.
    """
    at = np.array([1.0, 0.0])  # the scores as they are
    design = np.stack([x, np.ones_like(x)], axis=1)

    def loss(point: NDArray) -> float:
        z = design @ point
        return float(np.logaddexp(0.0, z).sum() - target @ z)

    lost = loss(at)
    for _ in range(50):
        q = expit(design @ at)
        curvature = (design * (q * (1 - q))[:, None]).T @ design + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, design.T @ (q - target))
        while (tried := loss(at - step)) > lost and np.abs(step).max() > 1e-12:
            step /= 2
        at, lost = at - step, tried
        if np.abs(step).max() < 1e-6:  # the error that is left is its square
            break
    return float(at[0]), float(at[1])


def _log_odds(p: ArrayLike) -> NDArray:
    return logit(np.clip(np.asarray(p, dtype=float), EDGE, 1 - EDGE))
