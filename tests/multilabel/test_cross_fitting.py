"""Cross-fitted rules: counts add up, noise shows its optimism, planted shifts are planted as said."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit

from helpers import statistics
from helpers.multilabel import cross_fitting as cf
from helpers.multilabel import folds, rules, thresholds
from helpers.multilabel.scores import gains, macro_f1
from tests.multilabel.test_rules import RULES


def planted(rows=1500, signal=1.5, seed=0):
    """Two frequent and two rare classes whose scores are calibrated by construction."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, signal, (rows, 4)) - [3.5, 2.5, 1.0, 0.0]
    scores = expit(x)
    return (rng.random(x.shape) < scores).astype(int), scores, folds.random_assign(rows, seed=seed)


@pytest.fixture(scope="module")
def data():
    return planted()


five_folds = partial(cf.fold_macro_f1, folds=5)


@pytest.mark.parametrize("name", [name for name in RULES if "target" not in name])
def test_counts_give_the_scores_that_direct_evaluation_gives(data, name):
    labels, scores, assigned = data
    fit = cf.cross_fit(RULES[name], labels, scores, assigned)
    outside = [macro_f1(labels[assigned != k], scores[assigned != k] >= fit.thresholds[k]) for k in range(5)]
    assert five_folds(fit.outside.sum(axis=0)) == pytest.approx(np.mean(outside), abs=1e-12)
    inside = [macro_f1(labels[assigned == k], scores[assigned == k] >= fit.thresholds[k]) for k in range(5)]
    assert five_folds(fit.inside.sum(axis=0)) == pytest.approx(np.mean(inside), abs=1e-12)


def test_rules_see_only_the_fold_they_are_fitted_on(data):
    """Shuffling the labels of the other folds must not move a threshold."""
    labels, scores, assigned = data
    other = labels.copy()
    other[assigned != 0] = labels[np.random.default_rng(1).permutation(np.flatnonzero(assigned != 0))]
    for name, rule in RULES.items():
        before, after = (cf.cross_fit(rule, y, scores, assigned).thresholds[0] for y in (labels, other))
        assert before.tolist() == after.tolist(), name


def test_fitting_noise_shows_its_optimism():
    rng = np.random.default_rng(0)
    labels, scores = (rng.random((600, 4)) < 0.1).astype(int), rng.random((600, 4))
    lost = {}
    for rule in (rules.f1_optimum, rules.half, rules.plug_in):
        fit = cf.cross_fit(rule, labels, scores, folds.random_assign(600))
        gap = statistics.paired_bootstrap(fit.outside, fit.inside, five_folds, samples=300)
        lost[rule.__name__] = gap.difference
    assert lost["f1_optimum"].low > 0.02
    assert lost["half"].low < 0 < lost["half"].high
    assert lost["f1_optimum"].value > 2 * abs(lost["plug_in"].value)


def test_a_rule_that_is_right_beats_the_fixed_half(data):
    counts = {rule.__name__: cf.cross_fit(rule, *data).outside for rule in (rules.f1_optimum, rules.half)}
    table = gains(counts, five_folds, reference="half", samples=300).set_index("system")
    assert table.loc["f1_optimum", "gain"].low > 0 and table.loc["f1_optimum", "p"] < 0.05
    assert table.loc["half", "gain"] == (0.0, 0.0, 0.0)


def test_decisions_use_thresholds_from_the_other_folds(data):
    labels, scores, assigned = data
    predicted = cf.decide(rules.f1_optimum, labels, scores, assigned)
    hidden = assigned == 2
    for c in range(4):
        cut, _ = thresholds.best_f1_threshold(labels[~hidden, c], scores[~hidden, c])
        assert (predicted[hidden, c] == (scores[hidden, c] >= cut)).all()


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


@pytest.mark.parametrize("prior", ["probed", "EM"])
def test_knowing_the_balance_pays_when_it_moves(prior):
    labels, scores, assigned = planted(rows=4000)
    gain = {}
    for factor in (1.0, 4.0):
        keep = cf.shifted_rows(labels, factor)
        told = partial(rules.plug_in_target, prior=prior)
        compared = {"fixed": rules.f1_optimum, "told": told}
        counts = {
            name: cf.cross_fit(rule, labels, scores, assigned, keep=keep).outside
            for name, rule in compared.items()
        }
        gain[factor] = gains(counts, five_folds, samples=200)["gain"].iloc[1]
    assert gain[4.0].low > 0.0
    assert abs(gain[1.0].value) < 0.02


def test_target_rules_match_the_share_among_the_rows_kept(data):
    labels, scores, assigned = data
    keep = cf.shifted_rows(labels, 4.0)
    fit = cf.cross_fit(rules.match_target, labels, scores, assigned, keep=keep)
    rows = (assigned != 0)[:, None] & keep
    for c in range(labels.shape[1]):
        target, rate = scores[rows[:, c], c], labels[rows[:, c], c].mean()
        assert fit.thresholds[0, c] == thresholds.match_rate_threshold(target, rate)
        assert (target >= fit.thresholds[0, c]).sum() == labels[rows[:, c], c].sum()


def test_silenced_classes_are_counted_over_folds(data):
    labels, _, assigned = data
    mute = rules.per_class(lambda y, p, *, target, rate: 2.0 if y.mean() < 0.1 else 0.0)
    rare = sum((labels[assigned == k, c].mean() < 0.1) for k in range(5) for c in range(4))
    assert cf.silenced(cf.cross_fit(mute, *data).outside, classes=4) == rare > 0
    assert cf.silenced(cf.cross_fit(rules.f1_optimum, *data).outside, classes=4) == 0
