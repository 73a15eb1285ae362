"""Intervals hold both kinds of noise; equal systems never differ; better ones do."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from helpers import corpora
from helpers.relations.baselines import BASELINES
from helpers.relations.comparison import (
    adjustments,
    beside_baselines,
    combined,
    differences,
    percent,
    rank,
    score_baselines,
    score_probs,
)
from helpers.relations.scores import auprc, micro_f1
from helpers.statistics import Interval


def run(gold, right, seed):
    """Logits that hit `right` of the rows, the rest at random."""
    rng = np.random.default_rng(seed)
    answer = np.where(rng.random(len(gold)) < right, gold, rng.integers(0, 30, len(gold)))
    return rng.normal(size=(len(gold), 30)) + 8 * np.eye(30)[answer]


@pytest.fixture(scope="module")
def gold():
    rng = np.random.default_rng(0)
    return np.where(rng.random(600) < 0.5, 0, rng.integers(1, 30, 600))


def test_score_probs_are_the_scores_with_intervals_around_them(gold):
    probs = np.random.default_rng(1).dirichlet(np.ones(30) * 0.1, size=600)
    got = score_probs(gold, probs)
    assert got["micro_f1"].value == approx(micro_f1(gold, probs.argmax(axis=1)))
    assert got["auprc"].value == approx(auprc(gold, probs))
    assert all(score.low < score.value < score.high for score in got.values())


def test_the_interval_of_auprc_holds_the_score_when_classes_are_rare():
    gold = np.arange(30).repeat(2)
    score = score_probs(gold, np.random.default_rng(3).dirichlet(np.ones(30), size=60))["auprc"]
    assert score.low < score.value < score.high


def test_rank_puts_the_best_first_and_averages_seeds(gold):
    runs = {"weak": [run(gold, 0.5, s) for s in range(3)], "strong": [run(gold, 0.8, s) for s in range(3)]}
    frame = rank(gold, runs)
    assert frame["system"].tolist() == ["strong", "weak"]
    want = np.mean([micro_f1(gold, one.argmax(axis=1)) for one in runs["weak"]])
    assert frame["micro_f1"][1].value == approx(want)
    assert frame["seeds"].tolist() == [3, 3]


def test_one_seed_leaves_the_interval_to_the_rows(gold):
    (row,) = rank(gold, {"only": [run(gold, 0.7, 0)]}).to_dict("records")
    assert np.isnan(row["seed_sd"])
    assert row["micro_f1"].half_width == approx(1.96 * row["row_se"], rel=1e-3)


def test_differences_are_paired_and_signed(gold):
    weak, strong = ([run(gold, right, s) for s in range(3)] for right in (0.5, 0.8))
    frame = differences(gold, {"weak": weak, "strong": strong, "twin": strong})
    table = {(row.system, row.than): row for row in frame.itertuples()}
    assert table["weak", "strong"].difference.high < 0
    assert table["weak", "strong"].real
    assert tuple(table["strong", "twin"].difference) == (0, 0, 0)
    assert not table["strong", "twin"].real
    against = differences(gold, {"weak": weak, "strong": strong}, reference="weak")
    assert against["difference"][0].value == approx(-table["weak", "strong"].difference.value)


def test_noise_is_called_real_about_as_often_as_promised():
    false_alarms = 0
    for trial in range(30):
        rng = np.random.default_rng(trial)
        gold = np.where(rng.random(300) < 0.5, 0, rng.integers(1, 30, 300))
        runs = {n: [run(gold, 0.6, 1000 * trial + 10 * n + s) for s in range(3)] for n in range(2)}
        false_alarms += differences(gold, {str(k): v for k, v in runs.items()})["real"][0]
    assert false_alarms <= 5


def test_clusters_widen_the_interval_of_repeated_rows(gold):
    logits = run(gold, 0.7, 0)
    twice, doubled = np.concatenate([gold, gold]), np.concatenate([logits, logits])
    names = np.tile(np.arange(600), 2)
    (apart,), (together,) = (rank(twice, {"x": [doubled]}, clusters=c)["row_se"] for c in (None, names))
    assert together == approx(2**0.5 * apart, rel=0.15)


def test_combined_adds_variances():
    interval, p = combined(5.0, row_se=1.0, seed_values=[5.0, 5.0, 5.0])
    assert interval.half_width == approx(1.96, abs=1e-3)
    assert p == approx(5.7e-7, rel=0.02)
    wider, _ = combined(5.0, row_se=1.0, seed_values=[3.0, 5.0, 7.0])
    assert wider.half_width > interval.half_width
    assert combined(0.0, row_se=0.0, seed_values=[0.0]) == ((0, 0, 0), 1.0)


def test_compared_systems_need_the_same_seeds(gold):
    with pytest.raises(ValueError, match="got 2 and 1 runs"):
        differences(gold, {"a": [run(gold, 0.5, 0)] * 2, "b": [run(gold, 0.5, 0)]})


def test_adjusted_logits_are_compared_with_the_first_on_the_same_rows(gold):
    plain, same = run(gold, 0.6, 0), run(gold, 0.6, 0) * 2
    told = plain + 20 * np.eye(30)[gold]
    frame = adjustments(gold, {"as it is": plain, "same": same, "told": told}).set_index("system")
    assert frame.loc["as it is", "difference"] is None and np.isnan(frame.loc["as it is", "p"])
    assert frame.loc["same", "difference"] == (0, 0, 0) and frame.loc["same", "p"] == 1
    assert frame.loc["told", "micro_f1"].value == 100
    want = 100 - micro_f1(gold, plain.argmax(axis=1))
    assert frame.loc["told", "difference"].value == approx(want) and frame.loc["told", "p"] < 0.01


def test_percent_of_rows_and_of_clusters():
    hits = np.array([True, False] * 50)
    share = percent(hits)
    assert share.value == 50 and share.low < 50 < share.high
    assert percent(hits, clusters=np.arange(100) // 2) == (50, 50, 50)  # every cluster is half right


def test_every_baseline_is_scored_with_intervals():
    rows = [corpora.load_relations("sample", split, rows=400) for split in ("train", "dev")]
    frame = score_baselines(*rows)
    assert frame["system"].tolist() == list(BASELINES)
    by_name = frame.set_index("system")["micro_f1"]
    assert by_name["majority"].value == 0
    assert by_name["structured"].value > by_name["sentence"].value


def test_the_best_model_stands_beside_the_baselines_in_order():
    simple = pd.DataFrame(
        {
            "system": ["x", "y"],
            "micro_f1": [Interval(10, 9, 11), Interval(50, 48, 52)],
            "auprc": [Interval(1, 0, 2)] * 2,
            "seconds": [0.1, 0.2],
        }
    )
    learned = simple.assign(system=["net", "worse"], micro_f1=[Interval(40, 38, 42)] * 2, seeds=2)
    frame = beside_baselines(learned, simple, seconds=9.0)
    assert frame["system"].tolist() == ["y", "net", "x"] and frame["seconds"].tolist() == [0.2, 9.0, 0.1]
    assert list(frame.columns) == list(simple.columns)
