"""Fold ensembles on planted scores: thresholds come from other folds, by models that saw less or more."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit

from helpers.multilabel import cross_fitting, folds, rules
from helpers.multilabel.draws import Draw
from helpers.multilabel.scores import macro_f1
from helpers.multilabel.thresholds import best_f1_threshold

WAYS = (
    cross_fitting.decide,
    cross_fitting.decide_by_own_thresholds,
    cross_fitting.decide_by_mean_threshold,
    cross_fitting.decide_strictly,
)


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
    return labels, Draw(assigned, single, members)


def test_the_mean_of_thresholds_by_hand(planted):
    labels, draw = planted
    predicted = cross_fitting.decide_by_mean_threshold(rules.f1_optimum, labels, draw)
    hidden = draw.assigned == 0
    parts = [draw.assigned == j for j in (1, 2, 3, 4)]
    cuts = [best_f1_threshold(labels[own, 1], draw.members[0][own, 1])[0] for own in parts]
    assert (predicted[hidden, 1] == (draw.averaged[hidden, 1] >= np.mean(cuts))).all()


def test_own_and_strict_thresholds_by_hand(planted):
    labels, draw = planted
    hidden = draw.assigned == 3
    own, _ = best_f1_threshold(labels[~hidden, 0], draw.averaged[~hidden, 0])
    predicted = cross_fitting.decide_by_own_thresholds(rules.f1_optimum, labels, draw)
    assert (predicted[hidden, 0] == (draw.averaged[hidden, 0] >= own)).all()
    strict, _ = best_f1_threshold(labels[~hidden, 0], draw.members[3][~hidden, 0])
    predicted = cross_fitting.decide_strictly(rules.f1_optimum, labels, draw)
    assert (predicted[hidden, 0] == (draw.scores[hidden, 0] >= strict)).all()


@pytest.mark.parametrize("decide", WAYS)
def test_labels_of_the_hidden_fold_do_not_reach_its_thresholds(planted, decide):
    labels, draw = planted
    hidden = draw.assigned == 1
    flipped = np.where(hidden[:, None], 1 - labels, labels)
    before, after = (decide(rules.f1_optimum, y, draw)[hidden] for y in (labels, flipped))
    assert (before == after).all()


def test_averaging_pays_when_the_members_err_apart(planted):
    labels, draw = planted
    averaged, alone = (
        macro_f1(labels, decide(rules.hybrid, labels, draw))
        for decide in (cross_fitting.decide_by_own_thresholds, cross_fitting.decide)
    )
    assert averaged > alone + 0.03
    scored = cross_fitting.validated(
        partial(cross_fitting.decide_by_own_thresholds, rules.hybrid), labels, [draw]
    )
    assert scored.values == pytest.approx([100 * averaged])


@pytest.mark.parametrize("decide", WAYS[1:])
def test_an_ensemble_needs_members(planted, decide):
    labels, draw = planted
    with pytest.raises(ValueError, match="each pair of folds"):
        decide(rules.hybrid, labels, draw._replace(members=None))
