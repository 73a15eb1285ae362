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
        (
            lambda: contrast(np.ones((3, 2)), np.ones((4, 2))),
            r"^a has \(seeds, items\) \(1, 3\), b \(1, 4\); compare the same items",
        ),
        (lambda: statistics.mean_interval([1.0]), "more seeds"),
        (lambda: statistics.wilson(5, 4), "hits=5"),
        (lambda: statistics.wilson(-1, 4), "hits=-1"),
        (lambda: statistics.wilson(0, 0), "n=0"),
        (lambda: estimate(np.zeros((2, 0, 2))), r"\(2, 0, 2\)"),
        (lambda: estimate(np.zeros((0, 2, 2))), r"\(0, 2, 2\)"),
        (lambda: estimate(np.ones((1, 2))), "no spread"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_known_values():
    assert statistics.wilson(0, 10).high == approx(0.2775, abs=1e-4)
    assert statistics.holm([0.01, 0.04, 0.03]).tolist() == approx([0.03, 0.06, 0.06])
    assert statistics.holm([]).size == 0
    assert statistics.mean_interval([1, 5]) == approx((3, 3 - 25.4124, 3 + 25.4124), abs=1e-4)
    assert statistics.mean_interval([1, 2, 3]) == approx((2, 2 - 2.4841, 2 + 2.4841), abs=1e-4)
    assert statistics.wilson(3, 10) == approx((0.3, 0.10779, 0.60322), abs=1e-5)
    assert statistics.wilson(4, 4).value == 1 and statistics.wilson(4, 4).high == approx(1)
    assert statistics.proportions_p(0, 10, 0, 20) == statistics.proportions_p(10, 10, 20, 20) == 1.0
    assert statistics.proportions_p(10, 10, 0, 20) < 1e-6
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
    assert Interval(0.5, 0.4, 0.7).scaled(100) == (50, 40, 70)
    assert Interval(0.5, 0.4, 0.7).half_width == approx(0.15)


def test_an_interval_is_cut_where_no_value_can_be():
    assert Interval(50, -10, 110).within(0, 100) == (50, 0, 100)
    assert Interval(50, 40, 60).within(0, 100) == (50, 40, 60)


def test_the_ratio_and_f1_of_one_are_not_taken_for_nothing():
    assert statistics.ratio(np.array([[1.0, 1.0], [0.5, 0.5]])).tolist() == [1.0, 1.0]
    assert statistics.f1(np.array([0.5, 0.5, 0.5])) == 1.0
    assert statistics.f1(np.array([1.0, 2.0, 4.0])) == approx(1 / 3)
    assert statistics.f1(np.array([0.0, 0.0, 2.0])) == statistics.f1(np.array([0.0, 2.0, 0.0])) == 0


def test_em_finds_the_shares_that_made_the_rows():
    """Nine of ten rows of one class have a mark and two of ten of the other; calibrated at equal shares."""
    marked, unmarked = np.array([0.2, 0.9]) / 1.1, np.array([0.8, 0.1]) / 0.9
    for share in (0.8, 0.5, 0.1):
        with_mark = round(1000 * (0.9 * share + 0.2 * (1 - share)))
        rows = np.array([marked] * with_mark + [unmarked] * (1000 - with_mark))
        assert statistics.estimate_shares(rows, old=np.array([0.5, 0.5])) == approx(
            [1 - share, share], abs=1e-4
        )
    gone = statistics.estimate_shares(np.array([[1.0, 0.0]] * 3), old=np.array([0.5, 0.5]))
    assert gone.tolist() == approx([1.0, 1e-9], abs=1e-12), "never 0: shares divide"


def test_em_starts_from_shares_that_are_not_equal():
    old = np.array([0.75, 0.25])
    rows = np.repeat(old[None], 50, axis=0)  # rows that say nothing: as before
    assert statistics.estimate_shares(rows, old=old) == approx(old)
