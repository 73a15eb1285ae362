"""What a threshold rule promises on the rows it was fitted on, and what it delivers on others.

`cross_fit` fits a rule on one fold, as in the published study, and decides about the other folds; `decide`
fits on the other folds and decides about one. Both give counts or decisions per post, ready for the
bootstrap. `shifted_rows` plants another class balance. The rules themselves are in `rules`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from helpers.multilabel.rules import Rule
from helpers.multilabel.scores import f1_counts, macro_f1_of_counts


class CrossFit(NamedTuple):
    """Decisions of one rule, as counts for the bootstrap."""

    inside: NDArray  # (rows, folds × 3 × classes): on the fold it was fitted on
    outside: NDArray  # (rows, folds × 3 × classes): on the other folds
    thresholds: NDArray  # (folds, classes): as applied outside


def cross_fit(
    rule: Rule, labels: NDArray, scores: NDArray, assigned: NDArray, *, keep: NDArray | None = None
) -> CrossFit:
    """Fit a rule on each fold in turn, decide about that fold and about the others.

    `keep: (rows, classes)` limits each class to some of the outside rows: a planted shift of its balance. A
    rule believes the balance of all rows given, as in the study; under a shift, that of the rows kept, which
    is what a probe reveals.
    """
    keep = np.ones(labels.shape, dtype=bool) if keep is None else keep
    inside, outside, cuts = [], [], []
    for fold in np.unique(assigned):
        fit, test = assigned == fold, (assigned != fold)[:, None] & keep
        believed = labels.mean(axis=0) if keep.all() else _rates(labels, test)
        targets = [scores[rows, c] for c, rows in enumerate(test.T)]
        here = rule(labels[fit], scores[fit], rates=labels.mean(axis=0))
        there = rule(labels[fit], scores[fit], targets=targets, rates=believed)
        inside.append(_counts(labels, scores >= here, fit[:, None] & np.ones_like(keep)))
        outside.append(_counts(labels, scores >= there, test))
        cuts.append(there)
    return CrossFit(np.hstack(inside), np.hstack(outside), np.stack(cuts))


def fold_macro_f1(sums: NDArray, *, folds: int) -> NDArray:
    """Map summed counts (…, folds × 3 × classes) to the mean over folds of macro-F1."""
    return macro_f1_of_counts(sums.reshape(*sums.shape[:-1], folds, -1)).mean(axis=-1)


def silenced(counts: NDArray, *, classes: int) -> int:
    """Count the classes, over all folds, of which not one row is predicted: `counts` as in `CrossFit`."""
    predicted = counts.sum(axis=0).reshape(-1, classes, 3)[..., 1]
    return int((predicted == 0).sum())


def decide(rule: Rule, labels: NDArray, scores: NDArray, assigned: NDArray) -> NDArray[np.bool_]:
    """Return decisions for every row, each by thresholds that the rule fitted on the other folds."""
    predicted = np.zeros(labels.shape, dtype=bool)
    for fold in np.unique(assigned):
        hidden = assigned == fold
        predicted[hidden] = scores[hidden] >= rule(labels[~hidden], scores[~hidden])
    return predicted


def shifted_rows(labels: NDArray, factor: float, *, seed: int = 0) -> NDArray:
    """Return (rows, classes): which rows stay so that the odds of each class are multiplied by `factor`.

    Above 1 negatives go, below 1 positives go, at random: what a positive looks like does not change.
    """
    if factor <= 0:
        raise ValueError(f"factor: expected a positive number to multiply the odds by, got {factor!r}")
    rng = np.random.default_rng(seed)
    keep = np.ones(labels.shape, dtype=bool)
    for c, y in enumerate(labels.T):
        thinned = np.flatnonzero(y == (factor < 1))
        share = min(factor, 1 / factor)
        keep[rng.permutation(thinned)[round(share * thinned.size) :], c] = False
    return keep


def _rates(labels: NDArray, kept: NDArray) -> NDArray:
    return (labels * kept).sum(axis=0) / np.maximum(kept.sum(axis=0), 1)


def _counts(labels: NDArray, predicted: NDArray, kept: NDArray) -> NDArray:
    return f1_counts(labels, predicted) * np.repeat(kept, 3, axis=1)
