"""What a threshold rule promises on the rows it was fitted on, and what it delivers on others.

`cross_fit` fits a rule on one fold, as in the published study, and decides about the other folds; `decide`
fits on the other folds and decides about one. `refit` and `validated` do so on every draw of the folds and
again without each group of posts, ready to compare. The other `decide_…` are for fold ensembles, one model
per fold, averaged on rows that none of them saw. `shifted_rows` plants another class balance. The rules
themselves are in `rules`. Scores are points: macro-F1 × 100.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from helpers.multilabel import calibration
from helpers.multilabel.draws import Draw, regrouped
from helpers.multilabel.rules import Rule
from helpers.multilabel.scores import f1_counts, macro_f1, points_of_counts
from helpers.statistics import Interval, Jackknife, share


class CrossFit(NamedTuple):
    """What one rule scores when each fold in turn is the one it is fitted on: means over folds."""

    inside: float  # on the fold it was fitted on
    outside: float  # on all other folds together
    optimism: float  # inside, minus the mean score of each other fold alone: as many rows on both sides
    silenced: int  # classes, over all folds, of which no row outside is predicted
    thresholds: NDArray  # (folds, classes)


def cross_fit(rule: Rule, labels: NDArray, draw: Draw) -> CrossFit:
    """Fit a rule on each fold in turn, decide about that fold and about the others.

    F1 of few rows is biased, so a fold is compared with single folds, not with the four others together: a
    rule that fits nothing has an optimism of exactly 0. `draw.keep` limits each class to some of the outside
    rows, a planted shift of its balance. A rule believes the balance of all rows given, as in the study;
    under a shift, that of the rows kept, which is what a probe reveals.
    """
    keep = np.ones(labels.shape, dtype=bool) if draw.keep is None else draw.keep
    folds = np.unique(draw.assigned)
    of_fold = (draw.assigned == folds[:, None]).astype(float)
    inside, outside, alone, silenced, cuts = [], [], [], 0, []
    for own, fold in enumerate(folds):
        fit = draw.assigned == fold
        test = ~fit[:, None] & keep
        believed = labels.mean(axis=0) if draw.keep is None else _rates(labels, test)
        targets = [draw.scores[rows, c] for c, rows in enumerate(test.T)]
        cuts.append(rule(labels[fit], draw.scores[fit], targets=targets, rates=believed))
        kept = np.repeat(test | fit[:, None], 3, axis=1)
        sums = of_fold @ (f1_counts(labels, draw.scores >= cuts[-1]) * kept)  # (folds, 3 × classes)
        others = np.delete(sums, own, axis=0)
        inside.append(points_of_counts(sums[own]))
        alone.append(points_of_counts(others).mean())
        outside.append(points_of_counts(others.sum(axis=0)))
        silenced += int((others.sum(axis=0)[1::3] == 0).sum())
    optimism = round(float(np.mean(inside) - np.mean(alone)), 9)  # 0 is 0, not 1e-15
    return CrossFit(float(np.mean(inside)), float(np.mean(outside)), optimism, silenced, np.stack(cuts))


class Refitted(NamedTuple):
    """A rule on every draw of the folds, and again without each group of posts."""

    in_sample: Jackknife
    held_out: Jackknife
    optimism: Jackknife
    silenced: int  # classes without a prediction, over all folds of all draws


def refit(rule: Rule, labels: NDArray, draws: Sequence[Draw]) -> Refitted:
    """Cross-fit a rule on every draw; its thresholds are fitted again on the posts that are left."""
    inside, outside, optimism = regrouped(lambda y, draw: cross_fit(rule, y, draw)[:3], labels, draws)
    silenced = sum(cross_fit(rule, labels, draw).silenced for draw in draws)
    return Refitted(inside, outside, optimism, silenced)


def recall_kept(rule: Rule, labels: NDArray, draws: Sequence[Draw], *, recall: float) -> Interval:
    """Return how often a class keeps a recall on the other folds, in percent, when a rule is fitted on one.

    Cases are draws × folds × classes; those of one class count together.
    """
    kept = []
    for draw in draws:
        for fold in np.unique(draw.assigned):
            fit = draw.assigned == fold
            found = draw.scores[~fit] >= rule(labels[fit], draw.scores[fit])
            hits, positives = (found & (labels[~fit] == 1)).sum(axis=0), labels[~fit].sum(axis=0)
            kept.append(hits >= recall * positives)
    cases = np.full(labels.shape[1], len(kept))  # of each class
    return share(np.column_stack([np.sum(kept, axis=0), cases])).scaled(100)


def decide(rule: Rule, labels: NDArray, draw: Draw) -> NDArray[np.bool_]:
    """Return decisions for every row, each by thresholds that the rule fitted on the other folds."""
    predicted = np.zeros(labels.shape, dtype=bool)
    for fold in np.unique(draw.assigned):
        hidden = draw.assigned == fold
        predicted[hidden] = draw.scores[hidden] >= rule(labels[~hidden], draw.scores[~hidden])
    return predicted


def validated(
    deciding: Callable[[NDArray, Draw], NDArray], labels: NDArray, draws: Sequence[Draw]
) -> Jackknife:
    """Score decisions about all posts: `deciding(labels, draw)`, e.g. `partial(decide, rule)`."""
    return regrouped(lambda y, draw: [100 * macro_f1(y, deciding(y, draw))], labels, draws)[0]


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


def estimated_factor(labels: NDArray, draws: Sequence[Draw]) -> Jackknife:
    """Estimate, without labels, by what factor the odds of the rows kept are multiplied: its log2.

    Platt's curve from one fold gives probabilities for the others, EM their balance; the factor is the median
    over classes and folds, because EM may find no positive at all of a rare class.
    """
    return regrouped(_log_factor, labels, draws)[0]


def _log_factor(labels: NDArray, draw: Draw) -> list[float]:
    found = []
    for fold in np.unique(draw.assigned):
        fit = draw.assigned == fold
        for c, rows in enumerate(~fit & draw.keep.T if draw.keep is not None else [~fit] * labels.shape[1]):
            y = labels[fit, c]
            old = (y.sum() + 1) / (y.size + 2)
            new = calibration.estimate_prior(
                calibration.platt(y, draw.scores[fit, c])(draw.scores[rows, c]), old=old
            )
            found.append(np.log2(new / (1 - new)) - np.log2(old / (1 - old)))
    return [float(np.median(found))]


def _rates(labels: NDArray, kept: NDArray) -> NDArray:
    return (labels * kept).sum(axis=0) / np.maximum(kept.sum(axis=0), 1)


def decide_by_own_thresholds(rule: Rule, labels: NDArray, draw: Draw) -> NDArray[np.bool_]:
    """Fit the thresholds on the averaged scores of the other folds.

    The models behind those scores had seen the hidden fold; `decide_strictly` shows what that is worth.
    """
    return decide(rule, labels, draw._replace(scores=draw.averaged))


def decide_by_mean_threshold(rule: Rule, labels: NDArray, draw: Draw) -> NDArray[np.bool_]:
    """Fit a threshold per member on the fold it left out; apply their mean to the mean score."""
    predicted, averaged = np.zeros(labels.shape, dtype=bool), draw.averaged
    for fold, own in _members(draw):
        # The member without `fold` and another, on that other: scores that its own validation would show.
        others = [draw.assigned == other for other in np.unique(draw.assigned) if other != fold]
        hidden = draw.assigned == fold
        predicted[hidden] = averaged[hidden] >= np.mean([rule(labels[o], own[o]) for o in others], axis=0)
    return predicted


def decide_strictly(rule: Rule, labels: NDArray, draw: Draw) -> NDArray[np.bool_]:
    """Decide by one model; its thresholds come from models that had not seen the hidden fold either."""
    predicted = np.zeros(labels.shape, dtype=bool)
    for fold, own in _members(draw):
        hidden = draw.assigned == fold
        predicted[hidden] = draw.scores[hidden] >= rule(labels[~hidden], own[~hidden])
    return predicted


def _members(draw: Draw):
    """Yield each fold with the scores of the others by models that saw neither it nor the post."""
    if draw.members is None:
        raise ValueError("this draw has no ensemble; train without each pair of folds as well")
    yield from zip(np.unique(draw.assigned), draw.members, strict=True)
