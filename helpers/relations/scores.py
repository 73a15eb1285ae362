"""KLUE-RE's official scores, for any number of labels, with what their intervals need.

Scores are percentages. `micro_f1` leaves `no_relation`, label 0, out of the average, `auprc` keeps it in: so
do the official definitions. Type constraints live in `constraints`, baselines in `baselines`.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from helpers.corpora.labels import NO_RELATION


def micro_f1(gold: Sequence[int], pred: Sequence[int]) -> float:
    """Score label ids by micro-F1 ×100 over the relations; `no_relation` (0) is no class of its own.

    >>> micro_f1([0, 1, 2], [0, 1, 0])  # precision 1/1, recall 1/2
    66.66666666666667
    """
    return float(f1_of_counts(relation_counts(gold, pred).sum(axis=0)))


def relation_counts(gold: Sequence[int], pred: Sequence[int]) -> np.ndarray:
    """Give each row's (true positive, predicted positive, gold positive): (n, 3), the sums that F1 needs."""
    right, given = _labels(gold, "gold"), _labels(pred, "pred")
    if len(right) != len(given):
        raise ValueError(f"gold has {len(right)} rows but pred has {len(given)}; score the same rows")
    positive, claimed = right != NO_RELATION, given != NO_RELATION
    return np.stack([positive & (right == given), claimed, positive], axis=1).astype(np.int64)


def f1_of_counts(counts: np.ndarray) -> np.ndarray:
    """Turn summed counts (…, 3) into micro-F1 ×100 (…); nothing gold and nothing predicted scores 0."""
    counts = np.asarray(counts, dtype=float)
    positives = counts[..., 1] + counts[..., 2]
    return 200.0 * counts[..., 0] / np.where(positives > 0, positives, 1.0)


def auprc(gold: Sequence[int], probs: np.ndarray) -> float:
    """Score probabilities (n, k) by the mean ×100 of k trapezoidal areas under precision and recall.

    A class absent from `gold` counts 50, as scikit-learn's curve gives it: recall 1 at precision 0, then the
    point (0, 1).
    """
    return float(class_auprc(gold, probs).mean())


def class_auprc(gold: Sequence[int], probs: np.ndarray) -> np.ndarray:
    """Give each class's area under its precision-recall curve, ×100: (k,)."""
    return np.array([_area(steps) for steps in _steps(*checked_scores(gold, probs))]) * 100


def _labels(values: Sequence[int], name: str) -> np.ndarray:
    labels = np.asarray(values)
    if labels.ndim != 1 or not labels.size or labels.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of label ids, got {labels.dtype} of shape {labels.shape}")
    if labels.min() < 0:
        raise ValueError(f"{name} must hold ids from 0 on, got {labels.min()}; score labelled rows")
    return labels


def checked_scores(gold: Sequence[int], probs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    labels, probs = _labels(gold, "gold"), np.asarray(probs)
    if probs.ndim != 2 or len(probs) != len(labels) or probs.shape[1] <= labels.max():
        wanted = f"({len(labels)}, {labels.max() + 1} or more)"
        raise ValueError(
            f"probs must be {wanted}: a row per gold label, a column per class; got {probs.shape}"
        )
    if not np.isfinite(probs).all():
        raise ValueError("probs holds NaN or infinity; apply softmax to finite logits first")
    return labels, probs


def _steps(gold: np.ndarray, probs: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield, class by class, the curve's points where recall moves: only the positives' own scores do that.

    Each is (tp, ranked, tp_before, ranked_before): hits and rows at scores >= s, and at scores > s. Rows that
    share no bucket with a hit are only counted; the few others are sorted.
    """
    # Scores of a class side by side: columns of a wide array are read across the whole of it, once a class.
    for c, scores in enumerate(np.ascontiguousarray(probs.T, dtype=np.float64)):
        hits, buckets = gold == c, _buckets(scores)
        at, first, repeats = np.unique(scores[hits], return_index=True, return_counts=True)
        own = buckets[hits][first]
        sizes = np.bincount(buckets)
        shared = np.zeros(len(sizes), dtype=bool)
        shared[own], sizes[own] = True, 0
        near = np.sort(scores[shared[buckets]])
        rows = len(near) + sizes[::-1].cumsum()[::-1][own]  # those not in `near` are above the hit
        tp = repeats[::-1].cumsum()
        ranked, before = ((rows - near.searchsorted(at, side=side))[::-1] for side in ("left", "right"))
        yield tp, ranked, tp - repeats[::-1], before


def _buckets(scores: np.ndarray) -> np.ndarray:
    """Number scores (n,) in their order, alike where the first fifteen of the bits that differ are alike."""
    bits = scores.view(np.int64)  # ordered as the scores are, where none is negative
    low, high = int(bits.min()), int(bits.max())
    if low < 0:
        return np.zeros(len(scores), dtype=np.int64)
    return (bits - low) >> max(0, (high - low).bit_length() - 15)


def _area(steps: tuple[np.ndarray, ...]) -> float:
    tp, ranked, tp_before, ranked_before = steps
    if not len(tp):
        return 0.5
    heights = tp / ranked + precision(tp_before, ranked_before)
    return float(((tp - tp_before) * heights).sum() / (2 * tp[-1]))


def precision(tp: np.ndarray, ranked: np.ndarray) -> np.ndarray:
    """Divide, with 1 where nothing is ranked yet: every curve starts at recall 0, precision 1."""
    return np.divide(tp, ranked, out=np.ones(np.shape(tp)), where=ranked > 0)
