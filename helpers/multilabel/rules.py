"""Threshold rules for all classes at once: each takes labelled scores and gives one threshold per class.

A rule is called as `rule(labels, scores, targets=…, rates=…)`: `labels, scores: (rows, classes)` to fit on;
`targets`, per class the unlabelled scores to decide about; `rates: (classes,)`, the believed share of
positives among them. By default the fitting rows and their balance stand for both. The arithmetic of one
class is in `thresholds` and `calibration`.
"""

from collections.abc import Callable, Sequence
from functools import wraps

import numpy as np
from numpy.typing import NDArray

from helpers.corpora.splits import random_parts
from helpers.multilabel import calibration, thresholds
from helpers.multilabel.scores import f1_counts, macro_f1_of_counts

WEIGHTS = tuple(round(0.1 * step, 1) for step in range(11))  # of the F1 optimum in a hybrid

Rule = Callable[..., NDArray]


def per_class(choose: Callable[..., float]) -> Rule:
    """Lift `choose(y, p, *, target, rate, **options)`, a rule for one class, to all classes."""

    @wraps(choose)
    def rule(
        labels: NDArray,
        scores: NDArray,
        *,
        targets: Sequence[NDArray] | None = None,
        rates: NDArray | None = None,
        **options,
    ) -> NDArray:
        targets = list(scores.T) if targets is None else targets
        rates = labels.mean(axis=0) if rates is None else rates
        columns = zip(labels.T, scores.T, targets, rates, strict=True)
        return np.array([choose(y, p, target=target, rate=rate, **options) for y, p, target, rate in columns])

    return rule


@per_class
def half(y: NDArray, p: NDArray, **_) -> float:
    return 0.5


@per_class
def f1_optimum(y: NDArray, p: NDArray, **_) -> float:
    return thresholds.best_f1_threshold(y, p)[0]


@per_class
def f1_grid(y: NDArray, p: NDArray, **_) -> float:
    return thresholds.legacy_grid_threshold(y, p)[0]


@per_class
def match_rate(y: NDArray, p: NDArray, *, rate: float, **_) -> float:
    return thresholds.match_rate_threshold(p, rate)


@per_class
def match_brent(y: NDArray, p: NDArray, *, rate: float, **_) -> float:
    return thresholds.legacy_brent_threshold(p, rate)


@per_class
def match_training(y: NDArray, p: NDArray, **_) -> float:
    return thresholds.match_rate_threshold(p, y.mean())


@per_class
def match_target(y: NDArray, p: NDArray, *, target: NDArray, rate: float) -> float:
    return thresholds.match_rate_threshold(target, rate)


@per_class
def hybrid(y: NDArray, p: NDArray, *, rate: float, weight: float = 0.5, **_) -> float:
    return thresholds.hybrid_threshold(y, p, rate=rate, weight=weight)


@per_class
def hybrid_training(y: NDArray, p: NDArray, **_) -> float:
    return thresholds.hybrid_threshold(y, p, rate=y.mean())


@per_class
def hybrid_target(y: NDArray, p: NDArray, *, target: NDArray, rate: float) -> float:
    return (thresholds.best_f1_threshold(y, p)[0] + thresholds.match_rate_threshold(target, rate)) / 2


def hybrid_legacy(labels: NDArray, scores: NDArray, **given) -> NDArray:
    """Return the published hybrid: the mean of the grid's and Brent's thresholds."""
    return (f1_grid(labels, scores, **given) + match_brent(labels, scores, **given)) / 2


def hybrid_repaired(labels: NDArray, scores: NDArray, **given) -> NDArray:
    """Return the published hybrid with one thing mended: the balance is matched by sorting, not by Brent."""
    return (f1_grid(labels, scores, **given) + match_rate(labels, scores, **given)) / 2


def hybrid_tuned(labels: NDArray, scores: NDArray, **given) -> NDArray:
    """Return the hybrid whose weight is chosen by cross-validation inside the fitting rows."""
    return hybrid(labels, scores, **given, weight=inner_weight(labels, scores, **given))


def inner_weight(labels: NDArray, scores: NDArray, **given) -> float:
    """Choose one hybrid weight for all classes by cross-validation inside the rows given."""
    rates = given.get("rates", labels.mean(axis=0))
    sums = np.zeros((len(WEIGHTS), 3 * labels.shape[1]))
    for outside, inside in random_parts(len(labels), 5):
        optimum = f1_optimum(labels[outside], scores[outside])
        match = match_rate(labels[outside], scores[outside], rates=rates)
        for row, weight in enumerate(WEIGHTS):
            cuts = weight * optimum + (1 - weight) * match
            sums[row] += f1_counts(labels[inside], scores[inside] >= cuts).sum(axis=0)
    return WEIGHTS[int(np.argmax(macro_f1_of_counts(sums)))]


@per_class
def plug_in(y: NDArray, p: NDArray, *, fit: Callable = calibration.platt, **_) -> float:
    """Cut where the expected F1 is highest under probabilities calibrated on the fitting rows.

    Platt's curve has two parameters, and each row may be read off the curve that it helped to fit; isotonic
    steps would repeat the labels, so they are cross-fitted.
    """
    own = fit is calibration.platt
    q = fit(y, p)(p) if own else calibration.cross_fitted(y, p, fit=fit)
    return thresholds.expected_f1_threshold(p, q)[0]


@per_class
def plug_in_target(y: NDArray, p: NDArray, *, target: NDArray, rate: float, prior: str = "training") -> float:
    """Calibrate on the fitting rows, move to the target's balance, cut where the expected F1 is highest.

    `prior` says whose balance: that of the "training" rows, the one "probed" (`rate`), or the "EM" estimate.
    """
    old = (y.sum() + 1) / (y.size + 2)
    q = calibration.platt(y, p)(target)
    new = {"training": old, "probed": rate, "EM": None}[prior]
    new = calibration.estimate_prior(q, old=old) if new is None else new
    return thresholds.expected_f1_threshold(target, calibration.shift_prior(q, old=old, new=new))[0]


@per_class
def certain_recall(y: NDArray, p: NDArray, *, recall: float, confidence: float = 0.95, **_) -> float:
    return thresholds.certain_recall_threshold(y, p, recall=recall, confidence=confidence)
