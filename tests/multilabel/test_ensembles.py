"""Fold ensembles on planted scores: thresholds come from other folds, and averages have their own."""

import numpy as np
import pytest
from scipy.special import expit

from helpers.multilabel import ensembles, folds
from helpers.multilabel.cross_fitting import RULES
from helpers.multilabel.experiment import FoldScores
from helpers.multilabel.scores import macro_f1
from helpers.multilabel.thresholds import best_f1_threshold

EXACT = RULES["F1 exact"]


@pytest.fixture(scope="module")
def planted():
    """Members see the truth through their own noise; averaging them cancels it."""
    rng = np.random.default_rng(0)
    truth = rng.normal(0, 1.5, (1000, 3)) - [2.5, 1.5, 0.0]
    labels = (rng.random(truth.shape) < expit(truth)).astype(int)
    assigned = folds.random_assign(1000)
    members = expit(truth + rng.normal(0, 2.0, (5, *truth.shape)))
    for fold in range(5):
        members[fold, assigned == fold] = np.nan
    single = members[(assigned + 1) % 5, np.arange(1000)]
    return labels, FoldScores(single, np.nanmean(members, axis=0), members), assigned


def test_decisions_use_thresholds_from_the_other_folds(planted):
    labels, nested, assigned = planted
    predicted = ensembles.decide(EXACT, labels, nested.averaged, assigned)
    hidden = assigned == 2
    for c in range(3):
        cut, _ = best_f1_threshold(labels[~hidden, c], nested.averaged[~hidden, c])
        assert (predicted[hidden, c] == (nested.averaged[hidden, c] >= cut)).all()


def test_the_legacy_mean_of_thresholds_by_hand(planted):
    labels, nested, assigned = planted
    predicted = ensembles.decide_by_mean_threshold(EXACT, labels, nested, assigned)
    hidden = assigned == 0
    cuts = [
        best_f1_threshold(labels[assigned == j, 1], nested.members[0][assigned == j, 1])[0]
        for j in (1, 2, 3, 4)
    ]
    assert (predicted[hidden, 1] == (nested.averaged[hidden, 1] >= np.mean(cuts))).all()


def test_labels_of_the_hidden_fold_do_not_reach_its_thresholds(planted):
    labels, nested, assigned = planted
    flipped = np.where((assigned == 1)[:, None], 1 - labels, labels)
    for way in (
        lambda y: ensembles.decide(EXACT, y, nested.averaged, assigned),
        lambda y: ensembles.decide_by_mean_threshold(EXACT, y, nested, assigned),
    ):
        assert (way(labels)[assigned == 1] == way(flipped)[assigned == 1]).all()


def test_averaging_pays_when_the_members_err_apart(planted):
    labels, nested, assigned = planted
    frame = ensembles.compare(labels, nested, assigned, samples=300).set_index("system")
    averaged = frame.loc["ensemble, exact hybrid on the averages", "macro_f1"].value
    assert averaged > frame.loc["one model, exact hybrid", "macro_f1"].value + 0.03
    assert frame["gain"].iloc[0] == (0.0, 0.0, 0.0), "the published recipe is the reference"


def test_gains_are_paired_and_start_at_zero(planted):
    labels = planted[0]
    frame = ensembles.gains(labels, {"nothing": np.zeros_like(labels), "gold": labels}, samples=200)
    assert frame["macro_f1"].iloc[1].value == macro_f1(labels, labels) == 1.0
    assert frame["gain"].iloc[1] == (1.0, 1.0, 1.0)


def test_models_are_compared_on_the_same_rows_with_thresholds_from_other_parts(planted):
    labels, nested, _ = planted
    noise = np.random.default_rng(1).random(labels.shape)
    frame = ensembles.compare_models(
        labels, {"noise": noise, "model": nested.averaged}, rule=EXACT, samples=200
    ).set_index("system")
    assert frame.loc["model", "gain"].low > 0.1
