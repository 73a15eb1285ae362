"""Fold ensembles, validated: one model per fold, averaged on rows that none of them saw.

The published recipe averages the members' probabilities and, separately, their thresholds. But an average of
probabilities is less extreme than its parts, so a threshold belongs to the averaged scores. Both ways are
compared here on every row, with `helpers.techniques.score_all_folds` as the source of honest scores.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from helpers import statistics
from helpers.multilabel import folds
from helpers.multilabel.cross_fitting import RULES, Rule, cuts_for
from helpers.multilabel.experiment import FoldScores
from helpers.multilabel.scores import f1_counts, macro_f1_of_counts


def decide(rule: Rule, labels: NDArray, scores: NDArray, assigned: NDArray) -> NDArray[np.bool_]:
    """Return decisions for every row, each by thresholds that the rule fitted on the other folds."""
    predicted = np.zeros(labels.shape, dtype=bool)
    for fold in np.unique(assigned):
        hidden = assigned == fold
        predicted[hidden] = scores[hidden] >= cuts_for(rule, labels[~hidden], scores[~hidden])
    return predicted


def decide_by_mean_threshold(
    rule: Rule, labels: NDArray, scores: FoldScores, assigned: NDArray
) -> NDArray[np.bool_]:
    """Control: fit a threshold per member on the fold it left out; apply their mean to the mean score."""
    predicted = np.zeros(labels.shape, dtype=bool)
    order = np.unique(assigned).tolist()
    for fold in order:
        hidden = assigned == fold
        cuts = []
        for other in (o for o in order if o != fold):
            own = assigned == other
            # The member without `fold` and `other`, on `other`: scores that its own validation would show.
            cuts.append(cuts_for(rule, labels[own], scores.members[order.index(fold)][own]))
        predicted[hidden] = scores.averaged[hidden] >= np.mean(cuts, axis=0)
    return predicted


def compare(labels: NDArray, scores: FoldScores, assigned: NDArray, *, samples: int = 2000) -> pd.DataFrame:
    """Return macro-F1 on all rows, and the paired gain over the published recipe, which comes first."""
    legacy, exact, plug_in = RULES["hybrid (legacy)"], RULES["hybrid exact, ½ + ½"], RULES["plug-in, Platt"]
    decisions = {
        "ensemble, mean of hybrid thresholds (legacy)": decide_by_mean_threshold(
            legacy, labels, scores, assigned
        ),
        "ensemble, mean of exact thresholds": decide_by_mean_threshold(exact, labels, scores, assigned),
        "ensemble, exact hybrid on the averages": decide(exact, labels, scores.averaged, assigned),
        "ensemble, plug-in on the averages": decide(plug_in, labels, scores.averaged, assigned),
        "one model, exact hybrid": decide(exact, labels, scores.single, assigned),
        "one model, plug-in": decide(plug_in, labels, scores.single, assigned),
    }
    return gains(labels, decisions, samples=samples)


def compare_models(
    labels: NDArray, scores: Mapping[str, NDArray], *, rule: Rule, samples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return macro-F1 of several models on the same rows, thresholds cross-fitted inside them."""
    inner = folds.assign(labels, seed=seed)
    decisions = {name: decide(rule, labels, own, inner) for name, own in scores.items()}
    return gains(labels, decisions, samples=samples)


def gains(labels: NDArray, decisions: Mapping[str, NDArray], *, samples: int = 2000) -> pd.DataFrame:
    """Return one row per system: macro-F1 and its paired gain over the first system."""
    counts = {name: f1_counts(labels, predicted) for name, predicted in decisions.items()}
    first = next(iter(counts.values()))
    rows = []
    for name, own in counts.items():
        gain = statistics.paired_bootstrap(first, own, macro_f1_of_counts, samples=samples)
        value = statistics.bootstrap(own, macro_f1_of_counts, samples=samples)
        rows.append({"system": name, "macro_f1": value, "gain": gain.difference, "p": gain.p})
    return pd.DataFrame(rows)
