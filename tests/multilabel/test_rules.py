"""Threshold rules for all classes: each sees its own rows, hybrids end at the pure rules."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit

from helpers.multilabel import calibration, rules, thresholds

RULES = {
    "half": rules.half,
    "f1_optimum": rules.f1_optimum,
    "f1_grid": rules.f1_grid,
    "match_rate": rules.match_rate,
    "match_brent": rules.match_brent,
    "match_training": rules.match_training,
    "match_target": rules.match_target,
    "hybrid": rules.hybrid,
    "hybrid_legacy": rules.hybrid_legacy,
    "hybrid_repaired": rules.hybrid_repaired,
    "hybrid_tuned": rules.hybrid_tuned,
    "hybrid_training": rules.hybrid_training,
    "hybrid_target": rules.hybrid_target,
    "plug_in": rules.plug_in,
    "plug_in, isotonic": partial(rules.plug_in, fit=calibration.isotonic),
    "plug_in_target": rules.plug_in_target,
    "plug_in_target, EM": partial(rules.plug_in_target, prior="EM"),
    "plug_in_target, probed": partial(rules.plug_in_target, prior="probed"),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    scores = expit(rng.normal(0, 1.5, (400, 3)) - [2.5, 1.0, 0.0])
    return (rng.random(scores.shape) < scores).astype(int), scores


@pytest.mark.parametrize("name", RULES)
def test_without_targets_and_rates_the_fitting_rows_stand_for_them(data, name):
    labels, scores = data
    cuts = RULES[name](labels, scores)
    assert cuts.shape == (3,)
    given = RULES[name](labels, scores, targets=list(scores.T), rates=labels.mean(axis=0))
    assert cuts.tolist() == given.tolist()


def test_every_class_has_its_own_threshold(data):
    labels, scores = data
    for c in range(3):
        assert (
            rules.f1_optimum(labels, scores)[c] == thresholds.best_f1_threshold(labels[:, c], scores[:, c])[0]
        )
        cut = thresholds.match_rate_threshold(scores[:, c], 0.2)
        assert rules.match_rate(labels, scores, rates=np.full(3, 0.2))[c] == cut


def test_hybrid_weights_end_at_the_pure_rules(data):
    for weight, pure in ((0.0, rules.match_rate), (1.0, rules.f1_optimum)):
        assert rules.hybrid(*data, weight=weight).tolist() == pure(*data).tolist()
    legacy = (rules.f1_grid(*data) + rules.match_brent(*data)) / 2
    assert rules.hybrid_legacy(*data).tolist() == legacy.tolist()
    repaired = (rules.f1_grid(*data) + rules.match_rate(*data)) / 2
    assert rules.hybrid_repaired(*data).tolist() == repaired.tolist()


def test_the_tuned_weight_is_one_of_the_grid_and_depends_on_its_rows_only(data):
    weight = rules.inner_weight(*data)
    assert weight in rules.WEIGHTS and weight == rules.inner_weight(*data)
    assert rules.hybrid_tuned(*data).tolist() == rules.hybrid(*data, weight=weight).tolist()


def test_target_rules_follow_the_rows_to_decide_about(data):
    labels, scores = data
    targets, rates = list(scores[:100].T), np.array([0.1, 0.2, 0.3])
    cuts = rules.match_target(labels, scores, targets=targets, rates=rates)
    assert [(target >= cut).sum() for target, cut in zip(targets, cuts, strict=True)] == [10, 20, 30]
    fixed = rules.f1_optimum(labels, scores)
    both = rules.hybrid_target(labels, scores, targets=targets, rates=rates)
    assert both == pytest.approx((cuts + fixed) / 2)


def test_certain_recall_cuts_each_class_below_its_optimum():
    rng = np.random.default_rng(3)
    labels = (rng.random((600, 2)) < [0.5, 0.01]).astype(int)
    scores = expit(rng.normal(size=labels.shape) + 2 * labels)
    cuts = rules.certain_recall(labels, scores, recall=0.9)
    assert cuts[1] == -np.inf  # six positives promise nothing
    assert (scores[:, 0][labels[:, 0] == 1] >= cuts[0]).mean() > 0.9
