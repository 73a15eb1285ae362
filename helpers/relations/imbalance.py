"""Label imbalance, and label shares that differ between training and use: weights, sampling, priors.

Everything is about rows with one label out of `names`, the first of which is no_relation.
"""

from collections.abc import Callable, Sequence

import numpy as np

from helpers.corpora.labels import NO_RELATION, RELATIONS


def label_shares(
    gold: Sequence[int], *, smoothing: float = 1.0, names: Sequence[str] = RELATIONS
) -> np.ndarray:
    """Give the smoothed share of each label: (labels,), never 0."""
    counts = np.bincount(gold, minlength=len(names)) + smoothing
    return counts / counts.sum()


def class_weights(gold: Sequence[int], *, power: float, names: Sequence[str] = RELATIONS) -> list[float]:
    """Weigh labels by share ** -power, scaled so that the mean weight over rows is 1.

    0 leaves the loss alone, 1 gives every class the same total weight.
    """
    shares = label_shares(gold, names=names)
    weights = shares**-power
    return (weights / weights[np.asarray(gold)].mean()).tolist()


def hard_negative_weights(gold: Sequence[int], probs: np.ndarray) -> np.ndarray:
    """Weigh rows for sampling: (n,), mean 1 over the no_relation rows, 1 for every relation.

    `probs` (n, labels) come from a model that did not train on these rows. A negative counts
    (1 - p(no_relation)) / mean: the more it looks like a relation, the more often it is drawn.
    """
    weights, negative = np.ones(len(gold)), np.asarray(gold) == NO_RELATION
    if negative.any():
        doubt = np.clip(1 - np.asarray(probs)[negative, NO_RELATION], 1e-6, 1)
        weights[negative] = doubt / doubt.mean()
    return weights


def draw_by_weight(weights: np.ndarray, *, seed: int = 0) -> Callable[[int], np.ndarray]:
    """Return a drawer for `loop.fit`: epoch → as many rows as there are, each about `weight` times.

    Systematic sampling: a row of weight 2.5 comes two or three times, one of weight 1 exactly once.
    """
    steps = np.cumsum(np.asarray(weights, dtype=float) * len(weights) / np.sum(weights))

    def draw(epoch: int) -> np.ndarray:
        points = np.arange(len(steps)) + np.random.default_rng([seed, epoch]).random()
        return np.minimum(np.searchsorted(steps, points, side="right"), len(steps) - 1)

    return draw


def adjust_prior(logits: np.ndarray, *, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Move logits (n, labels) from label shares `old` to `new` by Bayes' rule."""
    return np.asarray(logits) + np.log(new) - np.log(old)
