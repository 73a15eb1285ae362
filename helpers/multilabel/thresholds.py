"""Thresholds that turn the scores of one class into decisions: the exact F1 optimum, rate matching, their
hybrid, the expected-F1 plug-in and a cut of certain recall, with the 100-point grid and the Brent search of
earlier work as controls. `cutoffs` lists all cuts.

Every rule predicts `p >= threshold`, and every threshold returned by the exact rules is representable in the
dtype of `p`, so a comparison in float32 does not move it. Rules over many classes, and what a rule promises
against what it delivers on other rows, live in `rules` and `cross_fitting`; calibration in `calibration`.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

LEGACY_GRID = np.linspace(0.0, 1.0, 100)


def checked_scores(p: ArrayLike) -> NDArray[np.floating]:
    """Return the scores as a one-dimensional float array, refusing empty, NaN and infinite ones."""
    p = np.asarray(p)
    if p.ndim != 1 or not p.size:
        raise ValueError(f"scores: expected a non-empty vector, got shape {p.shape}: pass one class")
    if p.dtype.kind not in "fiub":
        raise ValueError(f"scores: expected numbers, got dtype {p.dtype}")
    p = p if p.dtype.kind == "f" else p.astype(np.float64)
    if not np.isfinite(p).all():
        where = int(np.flatnonzero(~np.isfinite(p))[0])
        raise ValueError(f"scores: expected finite numbers, got {p[where]} at row {where}; drop or repair it")
    return p


def checked_labels(y: ArrayLike, rows: int) -> NDArray[np.bool_]:
    """Return the labels as booleans, refusing anything but `rows` zeros and ones."""
    y = np.asarray(y)
    if y.shape != (rows,):
        raise ValueError(f"labels: expected {rows} of them, one per score, got shape {y.shape}")
    if y.dtype == bool:
        return y
    positive = y == 1
    if not (positive | (y == 0)).all():
        where = int(np.flatnonzero(~(positive | (y == 0)))[0])
        raise ValueError(f"labels: expected 0 or 1, got {y[where]!r} at row {where}")
    return positive


def checked_rate(rate: float) -> float:
    """Return the rate, refusing what is not a share of rows."""
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate: expected a share of positive rows between 0 and 1, got {rate!r}")
    return float(rate)


def predict_none(p: NDArray[np.floating]) -> float:
    """Return the lowest threshold above every score, in the dtype of the scores."""
    return float(np.nextafter(p.max(), p.dtype.type(np.inf)))


def best_f1_threshold(y: ArrayLike, p: ArrayLike) -> tuple[float, float]:
    """Return the threshold with the highest F1 over all cut points, and that F1.

    The optimum is always at the score of a positive row: moving the cut down to a row of the other class only
    adds a false positive. Hence two sorts of values, no argsort. Of equal optima the highest threshold wins;
    without a positive row F1 is 0 everywhere, and nothing is predicted.

    >>> best_f1_threshold([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.9])
    (0.4, 0.8)
    """
    p = checked_scores(p)
    hits = np.sort(p[checked_labels(y, p.size)])
    if not hits.size:
        return predict_none(p), 0.0
    # Of equal scores only the first sees all its true positives; the others score lower and never win.
    true_positives = np.arange(hits.size, 0, -1)
    predicted = p.size - np.searchsorted(np.sort(p), hits)
    f1 = 2.0 * true_positives / (predicted + hits.size)
    best = f1.size - 1 - int(np.argmax(f1[::-1]))
    return float(hits[best]), float(f1[best])


def cutoffs(y: ArrayLike, p: ArrayLike) -> pd.DataFrame:
    """Return every cut there is, one row per distinct score, ascending: counts, precision, recall and F1.

    Columns: `threshold`, `true_positives`, `predicted`, `precision`, `recall`, `F1`. Recall is 0 without a
    positive row.
    """
    p = checked_scores(p)
    y = checked_labels(y, p.size)
    cuts = np.unique(p)
    predicted = p.size - np.searchsorted(np.sort(p), cuts)
    hits = y.sum() - np.searchsorted(np.sort(p[y]), cuts)
    return pd.DataFrame(
        {
            "threshold": cuts,
            "true_positives": hits,
            "predicted": predicted,
            "precision": hits / predicted,
            "recall": hits / max(y.sum(), 1),
            "F1": 2.0 * hits / (predicted + y.sum()),
        }
    )


def certain_recall_threshold(y: ArrayLike, p: ArrayLike, *, recall: float, confidence: float = 0.95) -> float:
    """Return the highest threshold whose recall on other rows is at least `recall` with this confidence.

    Exact for any distribution of scores: at the k-th lowest of n positive scores, the share of positives that
    is missed follows Beta(k, n − k + 1), and k is the largest that keeps it below 1 − recall. It is what
    Learn-then-Test finds when it walks up from the lowest cut with binomial p-values. Where the positive rows
    are too few for any cut (14 for .8 at .95), everything is predicted: −inf.

    >>> certain_recall_threshold([1] * 14, range(14), recall=0.8)
    0.0
    """
    from scipy.stats import binom

    if not 0.0 < recall < 1.0 or not 0.0 < confidence < 1.0:
        raise ValueError(
            f"recall and confidence: expected shares within (0, 1), got {recall!r}, {confidence!r}"
        )
    p = checked_scores(p)
    hits = np.sort(p[checked_labels(y, p.size)])
    broken = binom.cdf(np.arange(hits.size), hits.size, 1.0 - recall)  # chance that cut k + 1 misses too many
    allowed = int(np.count_nonzero(broken <= 1.0 - confidence))
    return float(hits[allowed - 1]) if allowed else -np.inf


def match_rate_threshold(p: ArrayLike, rate: float) -> float:
    """Return the threshold whose share of predicted rows is as near to `rate` as ties allow.

    Halfway between two attainable shares the larger one wins, so a rare class is not silenced.
    """
    p, wanted = checked_scores(p), checked_rate(rate) * np.size(p)
    # 0.07 * 100 is 7.000000000000001: a count that close to an integer is that integer.
    wanted = round(wanted) if abs(wanted - round(wanted)) < 1e-6 else wanted
    rank = int(np.ceil(wanted))
    if rank == 0:
        return predict_none(p)
    value = np.partition(p, p.size - rank)[p.size - rank]
    above = p[p > value]
    if np.count_nonzero(p >= value) - wanted <= wanted - above.size:
        return float(value)
    return float(above.min()) if above.size else predict_none(p)


def hybrid_threshold(y: ArrayLike, p: ArrayLike, *, rate: float, weight: float = 0.5) -> float:
    """Return `weight` × the F1 optimum + (1 − `weight`) × the rate match."""
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"weight: expected the share of the F1 optimum between 0 and 1, got {weight!r}")
    return weight * best_f1_threshold(y, p)[0] + (1.0 - weight) * match_rate_threshold(p, rate)


def expected_f1_threshold(p: ArrayLike, probability: ArrayLike) -> tuple[float, float]:
    """Return the threshold on `p` with the highest expected F1, and that expectation; no labels needed.

    `probability` is the calibrated chance that each row is positive. The expectation is the plug-in
    2 Σ_predicted q / (predicted + Σ q), whose optimum cuts calibrated scores at F*/2.
    """
    p, q = checked_scores(p), checked_scores(probability)
    if q.shape != p.shape or q.min() < 0.0 or q.max() > 1.0:
        raise ValueError(f"probability: expected {p.size} values between 0 and 1, got shape {q.shape}")
    order = np.argsort(-p, kind="stable")
    ranked = p[order]
    last_of_ties = np.append(ranked[1:] != ranked[:-1], True)
    mass = np.cumsum(q[order], dtype=np.float64)
    expected = np.where(last_of_ties, 2.0 * mass, 0.0) / (np.arange(1, p.size + 1) + mass[-1])
    best = int(np.argmax(expected))
    return (float(ranked[best]), float(expected[best])) if expected[best] > 0.0 else (predict_none(p), 0.0)


def legacy_grid_threshold(y: ArrayLike, p: ArrayLike) -> tuple[float, float]:
    """Control: the first best F1 on 100 fixed points of [0, 1], whatever the scale of the scores.

    Same answer as one `sklearn.metrics.f1_score` per point, counted by two sorts instead.
    """
    p = checked_scores(p)
    hits = np.sort(p[checked_labels(y, p.size)])
    true_positives = hits.size - np.searchsorted(hits, LEGACY_GRID)
    predicted = p.size - np.searchsorted(np.sort(p), LEGACY_GRID)
    f1 = 2.0 * true_positives / np.maximum(predicted + hits.size, 1)
    best = int(np.argmax(f1))
    return float(LEGACY_GRID[best]), float(f1[best])


def legacy_brent_threshold(p: ArrayLike, rate: float) -> float:
    """Control: Brent's bounded search for |predicted share − rate|, a step function it was not made for.

    On a flat stretch the search has no slope to follow; a rare class often ends where nothing is predicted.
    """
    from scipy.optimize import minimize_scalar

    p, rate = checked_scores(p), checked_rate(rate)
    search = minimize_scalar(lambda cut: abs((p >= cut).mean() - rate), bounds=(0.0, 1.0), method="bounded")
    return float(search.x)
