"""Fold ensembles on planted scores: thresholds come from other folds, and averages have their own."""

import numpy as np
import pytest
from scipy.special import expit

from helpers.multilabel import cross_fitting, ensembles, folds, rules
from helpers.multilabel.ensembles import FoldScores
from helpers.multilabel.scores import macro_f1
from helpers.multilabel.thresholds import best_f1_threshold


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


def test_pairs_of_folds_make_a_nested_ensemble():
    assigned, rng = np.array([0, 1, 2, 0, 1, 2]), np.random.default_rng(0)
    scores = {}
    for left_out in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]:
        scores[left_out] = np.where(np.isin(assigned, left_out)[:, None], rng.random((6, 2)), np.nan)
    nested = ensembles.nested(scores, assigned)
    hidden = assigned == 1
    assert (nested.single[hidden] == scores[1,][hidden]).all()
    assert (nested.members[0][hidden] == scores[0, 1][hidden]).all()
    assert (nested.members[2][hidden] == scores[1, 2][hidden]).all()
    assert np.isnan(nested.members[1][hidden]).all()
    assert nested.averaged[hidden] == pytest.approx((scores[0, 1][hidden] + scores[1, 2][hidden]) / 2)


def test_the_legacy_mean_of_thresholds_by_hand(planted):
    labels, nested, assigned = planted
    predicted = ensembles.decide_by_mean_threshold(rules.f1_optimum, labels, nested, assigned)
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
        lambda y: cross_fitting.decide(rules.f1_optimum, y, nested.averaged, assigned),
        lambda y: ensembles.decide_by_mean_threshold(rules.f1_optimum, y, nested, assigned),
    ):
        assert (way(labels)[assigned == 1] == way(flipped)[assigned == 1]).all()


def test_averaging_pays_when_the_members_err_apart(planted):
    labels, nested, assigned = planted
    averaged, alone = (
        macro_f1(labels, cross_fitting.decide(rules.hybrid, labels, scores, assigned))
        for scores in (nested.averaged, nested.single)
    )
    assert averaged > alone + 0.03
