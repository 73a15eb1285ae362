"""Fold ensembles, validated: one model per fold, averaged on rows that none of them saw.

The published recipe averages the members' probabilities and, separately, their thresholds. But an average of
probabilities is less extreme than its parts, so a threshold belongs to the averaged scores, as
`cross_fitting.decide` fits it.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from helpers.multilabel.rules import Rule


class FoldScores(NamedTuple):
    """Scores of every post by models that never saw it."""

    single: NDArray  # (posts, classes): by the model trained on all other folds
    averaged: NDArray  # (posts, classes): mean of the members for the post's fold
    members: NDArray  # (folds, posts, classes): members[j] is trained without fold j and the post's own


def nested(scores: Mapping[tuple[int, ...], NDArray], assigned: NDArray) -> FoldScores:
    """Arrange the scores of trainings without one fold, `(k,)`, and without two, `(j, k)`.

    The ensemble for a fold has one member per fold that is left. A model without j and k serves twice, as
    member j when k is hidden and the other way round: five folds cost ten trainings for it, not twenty.
    `members[j]` is NaN on fold j itself.
    """
    shape = next(iter(scores.values())).shape
    single, members = np.empty(shape), np.full((len(np.unique(assigned)), *shape), np.nan)
    for left_out, own in scores.items():
        if len(left_out) == 1:
            single[assigned == left_out[0]] = own[assigned == left_out[0]]
        else:
            for member, hidden in (left_out, left_out[::-1]):
                members[member, assigned == hidden] = own[assigned == hidden]
    return FoldScores(single, np.nanmean(members, axis=0), members)


def decide_by_mean_threshold(
    rule: Rule, labels: NDArray, scores: FoldScores, assigned: NDArray
) -> NDArray[np.bool_]:
    """Control: fit a threshold per member on the fold it left out; apply their mean to the mean score."""
    predicted = np.zeros(labels.shape, dtype=bool)
    folds = np.unique(assigned)
    for fold in folds:
        hidden = assigned == fold
        # The member without `fold` and another, on that other: scores that its own validation would show.
        others = [assigned == other for other in folds if other != fold]
        cuts = [rule(labels[own], scores.members[fold][own]) for own in others]
        predicted[hidden] = scores.averaged[hidden] >= np.mean(cuts, axis=0)
    return predicted
