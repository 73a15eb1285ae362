"""Fold ensembles, validated: one model per fold, averaged on rows that none of them saw.

The published recipe averages the members' probabilities and, separately, their thresholds. Each way to decide
takes a rule, labels and a draw of the folds; one model alone is decided by `cross_fitting.decide`.
"""

import numpy as np
from numpy.typing import NDArray

from helpers.multilabel.cross_fitting import decide
from helpers.multilabel.draws import Draw
from helpers.multilabel.rules import Rule


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
