"""Cross-fitted rules: counts add up, noise shows its optimism, planted shifts are planted as said."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit

from helpers.multilabel import cross_fitting as cf
from helpers.multilabel import folds, thresholds
from helpers.multilabel.scores import macro_f1
from helpers.statistics import Interval


def planted(rows=1500, signal=1.5, seed=0):
    """Two frequent and two rare classes whose scores are calibrated by construction."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, signal, (rows, 4)) - [3.5, 2.5, 1.0, 0.0]
    scores = expit(x)
    return (rng.random(x.shape) < scores).astype(int), scores, folds.random_assign(rows, seed=seed)


@pytest.fixture(scope="module")
def data():
    return planted()


@pytest.mark.parametrize("name", cf.RULES)
def test_counts_give_the_scores_that_direct_evaluation_gives(data, name):
    labels, scores, assigned = data
    fit = cf.cross_fit(cf.RULES[name], labels, scores, assigned)
    outside = [macro_f1(labels[assigned != k], scores[assigned != k] >= fit.thresholds[k]) for k in range(5)]
    assert cf.fold_macro_f1(fit.outside.sum(axis=0), folds=5) == pytest.approx(np.mean(outside), abs=1e-12)
    inside = [macro_f1(labels[assigned == k], scores[assigned == k] >= fit.thresholds[k]) for k in range(5)]
    assert cf.fold_macro_f1(fit.inside.sum(axis=0), folds=5) == pytest.approx(np.mean(inside), abs=1e-12)


def test_rules_see_only_the_fold_they_are_fitted_on(data):
    """Shuffling the labels of the other folds must not move a threshold."""
    labels, scores, assigned = data
    other = labels.copy()
    other[assigned != 0] = labels[np.random.default_rng(1).permutation(np.flatnonzero(assigned != 0))]
    for name, rule in cf.RULES.items():
        before, after = (cf.cross_fit(rule, y, scores, assigned).thresholds[0] for y in (labels, other))
        assert before.tolist() == after.tolist(), name


def test_the_table_shows_the_optimism_of_fitting_noise():
    rng = np.random.default_rng(0)
    labels, scores = (rng.random((600, 4)) < 0.1).astype(int), rng.random((600, 4))
    table = cf.compare_rules(
        labels,
        scores,
        folds.random_assign(600),
        reference="F1 exact",
        rules={name: cf.RULES[name] for name in ("F1 exact", "fixed 0.5", "plug-in, Platt")},
        samples=300,
    ).set_index("rule")
    assert table.loc["F1 exact", "optimism"].low > 0.02
    assert table.loc["fixed 0.5", "optimism"].low < 0 < table.loc["fixed 0.5", "optimism"].high
    assert table.loc["F1 exact", "optimism"].value > 2 * abs(table.loc["plug-in, Platt", "optimism"].value)
    assert table.loc["F1 exact", "gain"] == (0.0, 0.0, 0.0)


def test_a_rule_that_is_right_beats_the_fixed_half(data):
    table = cf.compare_rules(
        *data, reference="fixed 0.5", rules={n: cf.RULES[n] for n in ("fixed 0.5", "F1 exact")}, samples=300
    ).set_index("rule")
    assert table.loc["F1 exact", "gain"].low > 0 and table.loc["F1 exact", "p"] < 0.05


def test_hybrid_weights_end_at_the_pure_rules(data):
    labels, scores, assigned = data
    for weight, pure in ((0.0, "balance by quantile"), (1.0, "F1 exact")):
        mixed = cf.cross_fit(cf.per_class(partial(cf.hybrid, weight=weight)), labels, scores, assigned)
        assert mixed.thresholds.tolist() == cf.cross_fit(cf.RULES[pure], *data).thresholds.tolist()
    curve = cf.weight_curve(labels, scores, assigned, weights=(0.0, 1.0), samples=100)
    assert curve["rows"].tolist() == ["in-sample", "held-out"] * 2
    assert (curve["low"] <= curve["value"]).all() and (curve["value"] <= curve["high"]).all()


def test_the_inner_weight_is_one_of_the_grid_and_depends_on_its_rows_only(data):
    labels, scores, _ = data
    weight = cf.inner_weight(labels, scores, rates=labels.mean(axis=0))
    assert weight in cf.WEIGHTS
    assert weight == cf.inner_weight(labels, scores, rates=labels.mean(axis=0))


@pytest.mark.parametrize("factor", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_a_planted_shift_multiplies_the_odds(data, factor):
    labels = data[0]
    keep = cf.shifted_rows(labels, factor)
    for c in range(labels.shape[1]):
        y, kept = labels[:, c], labels[keep[:, c], c]
        before, after = y.mean() / (1 - y.mean()), kept.mean() / (1 - kept.mean())
        assert after / before == pytest.approx(factor, rel=0.05)
    with pytest.raises(ValueError, match="positive number"):
        cf.shifted_rows(labels, 0.0)


def test_probed_balances_pay_when_the_balance_moves():
    labels, scores, assigned = planted(rows=4000)
    frame = cf.prior_shift(labels, scores, assigned, factors=[1.0, 4.0], samples=200).set_index(
        ["factor", "rule"]
    )
    assert frame.loc[(4.0, "plug-in, probed"), "gain"].low > 0.0
    assert frame.loc[(4.0, "plug-in, EM balance"), "gain"].low > 0.0
    assert abs(frame.loc[(1.0, "plug-in, probed"), "gain"].value) < 0.02
    assert frame.loc[(1.0, "F1 exact, fixed"), "gain"] == (0.0, 0.0, 0.0)


def test_target_rules_match_the_share_among_the_rows_kept(data):
    labels, scores, assigned = data
    keep = cf.shifted_rows(labels, 4.0)
    fit = cf.cross_fit(cf.SHIFT_RULES["balance as probed"], labels, scores, assigned, keep=keep)
    rows = (assigned != 0)[:, None] & keep
    for c in range(labels.shape[1]):
        target, rate = scores[rows[:, c], c], labels[rows[:, c], c].mean()
        assert fit.thresholds[0, c] == thresholds.match_rate_threshold(target, rate)
        assert (target >= fit.thresholds[0, c]).sum() == labels[rows[:, c], c].sum()


def test_a_verdict_needs_an_interval_off_zero():
    assert cf.verdict(Interval(0.2, 0.1, 0.3)) == "keep"
    assert cf.verdict(Interval(-0.2, -0.3, -0.1)) == "drop"
    assert cf.verdict(Interval(0.2, -0.1, 0.3)) == "no evidence"


def test_silenced_classes_are_counted_over_folds(data):
    labels, _, assigned = data
    mute = cf.per_class(lambda y, p, *, target, rate: 2.0 if y.mean() < 0.1 else 0.0)
    rare = sum((labels[assigned == k, c].mean() < 0.1) for k in range(5) for c in range(4))
    assert cf.silenced(cf.cross_fit(mute, *data).outside, classes=4) == rare > 0
    assert cf.silenced(cf.cross_fit(cf.RULES["F1 exact"], *data).outside, classes=4) == 0
