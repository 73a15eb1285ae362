"""Levels hold rows and seeds; what goes into a comparison is counted right."""

import numpy as np
import pytest
from pytest import approx
from scipy.special import softmax

from helpers import corpora
from helpers.relations.baselines import BASELINES, type_pair
from helpers.relations.comparison import auprc_level, counts, fit_baselines, gain, levels, optimism
from helpers.relations.scores import auprc, class_auprc, f1_of_counts, micro_f1
from helpers.sample_world import PLANTED
from helpers.statistics import compare, estimate

RATES = np.array(list(PLANTED["relations"]["rates"]["dev"].values()))


def run(gold, right, seed):
    """Logits that hit `right` of the rows, the rest at random."""
    rng = np.random.default_rng(seed)
    answer = np.where(rng.random(len(gold)) < right, gold, rng.integers(0, 30, len(gold)))
    return rng.normal(size=(len(gold), 30)) + 8 * np.eye(30)[answer]


@pytest.fixture(scope="module")
def gold():
    rng = np.random.default_rng(0)
    return np.where(rng.random(600) < 0.5, 0, rng.integers(1, 30, 600))


def test_counts_are_those_of_every_seed(gold):
    runs = [run(gold, 0.6, seed) for seed in range(3)]
    stats = counts(gold, runs)
    assert stats.shape == (3, 600, 3)
    assert f1_of_counts(stats.sum(axis=1)) == approx([micro_f1(gold, one.argmax(axis=1)) for one in runs])


def test_a_gain_is_over_the_control_beside_it(gold):
    weak, strong = (counts(gold, [run(gold, right, s) for s in range(3)]) for right in (0.5, 0.8))
    both = np.concatenate([strong, weak], axis=-1)
    assert gain(both.sum(axis=1)) == approx(f1_of_counts(strong.sum(axis=1)) - f1_of_counts(weak.sum(axis=1)))
    systems = {"strong": both, "itself": np.concatenate([weak, weak], axis=-1)}
    (row,) = compare(systems, gain, reference="itself").to_dict("records")
    (plain,) = compare({"strong": strong, "weak": weak}, f1_of_counts).to_dict("records")
    assert tuple(row["difference"]) == approx(tuple(plain["difference"])) and row["decision"] == "better"


def test_levels_put_the_best_first_and_average_seeds(gold):
    runs = {"weak": [run(gold, 0.5, s) for s in range(3)], "strong": [run(gold, 0.8, s) for s in range(3)]}
    frame = levels(gold, runs)
    assert frame["system"].tolist() == ["strong", "weak"] and frame["seeds"].tolist() == [3, 3]
    want = np.mean([micro_f1(gold, one.argmax(axis=1)) for one in runs["weak"]])
    assert frame["micro_f1"][1].value == approx(want)
    assert frame["auprc"][1].value == approx(np.mean([auprc(gold, softmax(z, axis=1)) for z in runs["weak"]]))
    assert all(low < value < high for value, low, high in [*frame["micro_f1"], *frame["auprc"]])


def test_one_seed_leaves_the_interval_to_the_rows(gold):
    (row,) = levels(gold, {"only": [run(gold, 0.7, 0)]}).to_dict("records")
    assert np.isnan(row["seed_sd"])
    assert row["micro_f1"].half_width == approx(1.96 * row["row_se"], rel=0.01)


def test_rows_of_a_sentence_stay_together(gold):
    logits = run(gold, 0.7, 0)
    twice, doubled = np.concatenate([gold, gold]), np.concatenate([logits, logits])
    names = np.tile(np.arange(600), 2)
    frame = levels(twice, {"x": [doubled]}, clusters=names)
    assert frame["row_se"][0] == approx(levels(gold, {"x": [logits]})["row_se"][0])
    alone = levels(twice, {"x": [doubled]})
    assert frame["auprc"][0].half_width > 1.2 * alone["auprc"][0].half_width


def test_a_level_stays_between_0_and_100(gold):
    perfect = 9.0 * np.eye(30)[gold]
    assert tuple(auprc_level(gold, [perfect, perfect])) == approx((100, 100, 100))
    assert levels(gold, {"x": [9.0 * np.eye(30)[gold * 0]]})["micro_f1"][0] == (0, 0, 0)


def test_an_absent_label_counts_fifty_and_a_label_of_one_row_has_spread():
    gold = np.array([0] * 40 + [1] * 20 + [2])
    level = auprc_level(gold, [run(gold, 0.7, 1)])
    assert level.value == approx(auprc(gold, softmax(run(gold, 0.7, 1), axis=1)))
    assert level.low < level.value < level.high and level.half_width < 5, "27 labels at 50 have no spread"


def drawn(rng, rows, seeds):
    """Labels at the sample's rates, and probabilities of systems that know some rows well and others not."""
    gold = rng.choice(30, rows, p=RATES)
    shared = 0.8 * rng.normal(size=(rows, 30)) + np.log(RATES + 0.01)
    shared[np.arange(rows), gold] += 2 * rng.gamma(2, 0.5, rows)
    return gold, [shared + 0.6 * rng.normal(size=(rows, 30)) for _ in range(seeds)]


def test_the_interval_of_auprc_holds_what_many_rows_would_show():
    rng = np.random.default_rng(8)
    gold, (logits,) = drawn(rng, 60_000, 1)
    truth = class_auprc(gold, softmax(logits, axis=1))
    held = 0
    for _ in range(50):
        gold, runs = drawn(rng, 600, 1)
        want = np.where(np.bincount(gold, minlength=30) > 0, truth, 50).mean()
        level = auprc_level(gold, runs)
        held += level.low <= want <= level.high
    assert held >= 45, "93 % of 50, less a standard error"


def test_every_baseline_is_fitted_and_scored():
    rows = [corpora.load_relations("sample", split, rows=400) for split in ("train", "dev")]
    fitted = fit_baselines(*rows)
    assert list(fitted) == list(BASELINES) and all(one.seconds > 0 for one in fitted.values())
    gold = rows[1]["label"][:]
    frame = levels(gold, {name: [one.logits] for name, one in fitted.items()})
    by_name = frame.set_index("system")["micro_f1"]
    assert by_name["majority"].value == 0 and by_name["structured"].value > by_name["sentence"].value
    assert by_name["type pair"].value == approx(micro_f1(gold, type_pair(*rows).argmax(axis=1)))


def test_a_baseline_repeated_for_every_seed_has_no_spread_of_seeds(gold):
    once = run(gold, 0.5, 0)
    assert estimate(counts(gold, [once] * 3), f1_of_counts).seeds == 0


def test_choosing_among_equals_flatters_and_a_clear_winner_is_not_flattered(gold):
    equals = np.stack([counts(gold, [run(gold, 0.5, seed)]) for seed in range(8)])
    rows = np.arange(600)
    assert optimism(equals, clusters=rows).value > 1
    winner = np.concatenate([equals, counts(gold, [run(gold, 0.9, 9)])[None]])
    assert abs(optimism(winner, clusters=rows).value) < 0.5
    assert optimism(equals[:1], clusters=rows).value == approx(0, abs=0.5), "nothing to choose from"
