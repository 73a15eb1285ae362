"""Cross-fitted rules: scores add up, noise shows its optimism, intervals hold what they promise."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit

from helpers import statistics
from helpers.multilabel import cross_fitting as cf
from helpers.multilabel import folds, rules, thresholds
from helpers.multilabel.draws import Draw
from helpers.multilabel.scores import macro_f1
from tests.multilabel.test_rules import RULES


def planted(rows=1500, signal=1.5, seed=0, draws=1):
    """Two frequent and two rare classes whose scores are calibrated by construction; draws of the folds."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, signal, (rows, 4)) - [3.5, 2.5, 1.0, 0.0]
    scores = expit(x)
    labels = (rng.random(x.shape) < scores).astype(int)
    return labels, [Draw(folds.random_assign(rows, seed=1000 * seed + d), scores) for d in range(draws)]


@pytest.fixture(scope="module")
def data():
    labels, draws = planted()
    return labels, draws[0]


@pytest.mark.parametrize("name", [name for name in RULES if "target" not in name])
def test_counts_give_the_scores_that_direct_evaluation_gives(data, name):
    labels, draw = data
    fit = cf.cross_fit(RULES[name], labels, draw)
    scored = np.array(
        [
            [macro_f1(labels[draw.assigned == j], draw.scores[draw.assigned == j] >= cuts) for j in range(5)]
            for cuts in fit.thresholds
        ]
    )
    others = [draw.assigned != k for k in range(5)]
    outside = [
        macro_f1(labels[o], draw.scores[o] >= cuts) for o, cuts in zip(others, fit.thresholds, strict=True)
    ]
    inside, alone = scored[np.eye(5, dtype=bool)].mean(), scored[~np.eye(5, dtype=bool)].mean()
    assert fit[:3] == pytest.approx([100 * inside, 100 * np.mean(outside), 100 * (inside - alone)], abs=1e-8)


def test_rules_see_only_the_fold_they_are_fitted_on(data):
    """Shuffling the labels of the other folds must not move a threshold."""
    labels, draw = data
    others, other = np.flatnonzero(draw.assigned != 0), labels.copy()
    other[others] = labels[np.random.default_rng(1).permutation(others)]
    for name, rule in RULES.items():
        before, after = (cf.cross_fit(rule, y, draw).thresholds[0] for y in (labels, other))
        assert before.tolist() == after.tolist(), name


def test_fitting_noise_shows_its_optimism_and_fitting_nothing_has_none():
    rng = np.random.default_rng(0)
    labels, scores = (rng.random((600, 4)) < 0.1).astype(int), rng.random((600, 4))
    draws = [Draw(folds.random_assign(600, seed=seed), scores) for seed in range(3)]
    lost = {
        rule.__name__: cf.refit(rule, labels, draws).optimism.design().interval()
        for rule in (rules.f1_optimum, rules.half, rules.plug_in)
    }
    assert lost["f1_optimum"].low > 2.0
    assert lost["half"] == (0.0, 0.0, 0.0)
    assert lost["f1_optimum"].value > 2 * abs(lost["plug_in"].value)


def test_a_rule_that_fits_nothing_has_no_optimism_in_any_simulation():
    """With the four other folds taken together, 52 of 100 simulations had an interval without 0."""
    for seed in range(20):
        labels, draws = planted(rows=200, seed=seed, draws=2)
        apart = cf.cross_fit(rules.half, labels, draws[0])
        assert apart.optimism == 0.0 != apart.inside - apart.outside
        assert statistics.estimate(cf.refit(rules.half, labels, draws).optimism).interval() == (0.0, 0.0, 0.0)


def test_a_rule_that_is_right_beats_the_fixed_half():
    labels, draws = planted(draws=3)
    systems = {
        rule.__name__: cf.refit(rule, labels, draws).held_out for rule in (rules.f1_optimum, rules.half)
    }
    row = statistics.compare(systems, reference="half").iloc[0]
    assert row["decision"] == "better" and row["difference"].low > 5


@pytest.mark.slow
def test_intervals_of_a_level_and_of_a_difference_hold_the_truth_in_95_of_100_cases():
    """Held-out score of a rule, and the difference of two; for a larger simulation see `draws.GROUPS`.

    The truth is a mean of 300 sets: its own error costs the coverage 0.02 points.
    """
    pair = (rules.f1_optimum, rules.match_rate)
    expected = np.array(
        [
            [cf.cross_fit(rule, y, draw).outside for rule in pair]
            for y, (draw,) in map(_set_of_500, range(300))
        ]
    ).mean(axis=0)
    held = {"level": 0, "difference": 0}
    for seed in range(1000, 1100):
        labels, draws = planted(rows=500, seed=seed, draws=3)
        fitted = [cf.refit(rule, labels, draws).held_out for rule in pair]
        level = statistics.estimate(fitted[0]).interval()
        gap = statistics.contrast(*fitted).interval()
        held["level"] += level.low <= expected[0] <= level.high
        held["difference"] += gap.low <= expected[0] - expected[1] <= gap.high
    assert held["level"] >= 93 and held["difference"] >= 93, held


def _set_of_500(seed):
    return planted(rows=500, seed=seed)


def test_decisions_use_thresholds_from_the_other_folds(data):
    labels, draw = data
    predicted = cf.decide(rules.f1_optimum, labels, draw)
    hidden = draw.assigned == 2
    for c in range(4):
        cut, _ = thresholds.best_f1_threshold(labels[~hidden, c], draw.scores[~hidden, c])
        assert (predicted[hidden, c] == (draw.scores[hidden, c] >= cut)).all()
    scored = cf.validated(partial(cf.decide, rules.f1_optimum), labels, [draw])
    assert scored.values == pytest.approx([100 * macro_f1(labels, predicted)])


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
    labels, (draw,) = planted(rows=4000)
    gain = {}
    for factor in (1.0, 4.0):
        shifted = draw._replace(keep=cf.shifted_rows(labels, factor))
        told, untold = (
            cf.cross_fit(partial(rules.plug_in_target, prior=one), labels, shifted).outside
            for one in (prior, "training")
        )
        gain[factor] = told - untold
    assert gain[4.0] > 3 > 2 > abs(gain[1.0])


@pytest.mark.parametrize("factor", [0.25, 1.0, 4.0])
def test_calibrated_scores_tell_the_planted_factor(factor):
    labels, (draw,) = planted(rows=4000)
    shifted = draw._replace(keep=cf.shifted_rows(labels, factor))
    assert cf.estimated_factor(labels, [shifted]).values == pytest.approx([np.log2(factor)], abs=0.3)


def test_target_rules_match_the_share_among_the_rows_kept(data):
    labels, draw = data
    keep = cf.shifted_rows(labels, 4.0)
    fit = cf.cross_fit(rules.match_target, labels, draw._replace(keep=keep))
    rows = (draw.assigned != 0)[:, None] & keep
    for c in range(labels.shape[1]):
        target, rate = draw.scores[rows[:, c], c], labels[rows[:, c], c].mean()
        assert fit.thresholds[0, c] == thresholds.match_rate_threshold(target, rate)
        assert (target >= fit.thresholds[0, c]).sum() == labels[rows[:, c], c].sum()


def test_silenced_classes_are_counted_over_folds_and_draws():
    labels, draws = planted(draws=2)
    mute = rules.per_class(lambda y, p, **_: 2.0 if y.mean() < 0.1 else 0.0)
    rare = sum(
        (labels[draw.assigned == k, c].mean() < 0.1) for draw in draws for k in range(5) for c in range(4)
    )
    assert cf.refit(mute, labels, draws).silenced == rare > 0
    assert cf.refit(rules.f1_optimum, labels, draws).silenced == 0


def test_recall_kept_counts_classes_over_folds_and_draws():
    labels = np.array([[1, 1], [1, 0]] * 30)
    scores = np.where(labels == 1, 0.9, 0.1)
    draws = [Draw(np.arange(60) % 3, scores), Draw(np.arange(60) // 20, scores)]
    always = cf.recall_kept(lambda y, p, **_: np.array([0.5, 0.5]), labels, draws, recall=0.8)
    half = cf.recall_kept(lambda y, p, **_: np.array([0.5, 0.95]), labels, draws, recall=0.8)
    assert (always.value, half.value) == (100.0, 50.0)


def test_a_certain_recall_is_kept_more_often_than_an_optimum_keeps_it():
    rng = np.random.default_rng(4)
    labels = (rng.random((2000, 4)) < 0.3).astype(int)
    draw = Draw(np.arange(2000) % 5, expit(rng.normal(size=labels.shape) + 1.5 * labels))
    certain = partial(rules.certain_recall, recall=0.8)
    kept = cf.recall_kept(certain, labels, [draw], recall=0.8)
    assert (
        kept.value >= 90 and kept.value > cf.recall_kept(rules.f1_optimum, labels, [draw], recall=0.8).value
    )
