"""Intervals of levels, and small tests: known values, what is refused, how figures are written."""

import numpy as np
import pytest
from pytest import approx

from helpers import statistics
from helpers.statistics import Interval, contrast, estimate


def shares(hits, n):
    return np.column_stack([np.arange(n) < hits, np.ones(n)])


def test_the_interval_of_a_share_agrees_with_wilson():
    got, want = estimate(shares(300, 1000)).interval(), statistics.wilson(300, 1000)
    assert got.value == approx(0.3)
    assert (got.low, got.high) == approx((want.low, want.high), abs=0.002)


def test_the_jackknife_agrees_with_a_literal_bootstrap():
    rng = np.random.default_rng(1)
    stats = rng.integers(0, 5, size=(400, 3)).astype(float)
    draws = [statistics.f1(stats[rng.integers(0, 400, 400)].sum(axis=0)) for _ in range(2000)]
    assert estimate(stats, statistics.f1).error == approx(np.std(draws), rel=0.06)


def test_clusters_widen_the_interval_when_items_repeat():
    stats = np.repeat(shares(30, 100), 10, axis=0)
    clusters = np.repeat(np.arange(100), 10)
    alone, clustered = (estimate(stats, clusters=names).interval() for names in (None, clusters))
    assert clustered.value == alone.value
    assert clustered.half_width == approx(alone.half_width * np.sqrt(10), rel=0.05)


def test_pairing_sees_what_two_separate_intervals_hide():
    a, b = shares(500, 1000), shares(520, 1000)  # b is right wherever a is, and 20 times more
    got = contrast(b, a)
    assert got.value == approx(0.02) and got.interval().low > 0 and got.p() < 0.01
    assert estimate(a).interval().high > estimate(b).interval().low
    assert contrast(a, a).interval() == (0, 0, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate(np.zeros((0, 2))), "at least one of each"),
        (lambda: estimate(np.zeros(3)), r"\(seeds, items, k\)"),
        (lambda: estimate(np.ones((3, 2)), clusters=[1, 2]), "clusters has 2"),
        (lambda: estimate(np.ones((3, 2)), lambda sums: sums[..., 0] * np.nan), "0/0"),
        (lambda: contrast(np.ones((3, 2)), np.ones((4, 2))), "compare the same items"),
        (lambda: statistics.mean_interval([1.0]), "more seeds"),
        (lambda: statistics.wilson(5, 4), "hits=5"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_known_values():
    assert statistics.wilson(0, 10).high == approx(0.2775, abs=1e-4)
    assert statistics.holm([0.01, 0.04, 0.03]).tolist() == approx([0.03, 0.06, 0.06])
    assert statistics.holm([]).size == 0
    assert statistics.mean_interval([1, 2, 3]) == approx((2, 2 - 2.4841, 2 + 2.4841), abs=1e-4)
    assert statistics.proportions_p(0, 10, 0, 20) == 1.0
    # Real@1 66.04 against 64.67 at n = 2,400 each: the published "overfitting"
    assert statistics.proportions_p(1585, 2400, 1552, 2400) == approx(0.32, abs=0.01)


def test_f1_and_ratio_define_the_empty_case():
    assert statistics.f1(np.array([0.0, 0.0, 0.0])) == 0
    assert statistics.f1(np.array([[2.0, 4.0, 4.0]])).tolist() == [0.5]
    assert statistics.ratio(np.array([0.0, 0.0])) == 0


def test_interval_formats_for_people():
    assert f"{Interval(61.234, 59.8, 62.51):.1f}" == "61.2 [59.8, 62.5]"
    assert str(Interval(0.5, 0.4, 0.6)) == "0.5 [0.4, 0.6]"
    assert Interval(0.5, 0.4, 0.7).scaled(-100) == (-50, -70, -40)
