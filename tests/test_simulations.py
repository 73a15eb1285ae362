"""Are decisions and intervals right as often as they promise? Few cases here, many in `make bench`.

Bounds allow for the number of cases: each is passed in 199 of 200 runs if the promise just holds.
"""

import numpy as np
import pytest
from scipy.stats import binom

from helpers import statistics
from tests import simulations


def at_most(rate: float, cases: int) -> float:
    """The largest share of cases that chance gives an event of this rate, in 199 of 200 runs."""
    return binom.isf(0.005, cases, rate) / cases


@pytest.mark.parametrize(("seeds", "spread"), [(3, 0.0), (3, 3.0), (5, 1.0), (8, 3.0)])
def test_equal_systems_are_told_apart_in_one_case_of_twenty(seeds, spread):
    assert simulations.found(400, seeds=seeds, rows=500, spread=spread) <= at_most(0.05, 400)


def test_one_seed_never_decides():
    assert simulations.decided_with_one_seed(5) == 0


def test_the_decision_is_the_intervals():
    rng = np.random.default_rng(0)
    for gain in (0, 5, 20):
        a, b = simulations.two_systems(rng, seeds=3, rows=300, spread=1.0, gain=gain)
        (row,) = statistics.compare({"a": a, "b": b}, margin=0.1).itertuples()
        assert (row.decision == "undecided") == (row.difference.low <= 0 <= row.difference.high)
        assert row.decision == statistics._decision(statistics.contrast(a, b), row.p_holm, 0.1)


@pytest.mark.parametrize(("seeds", "spread"), [(3, 0.5), (3, 2.0), (8, 2.0)])
def test_power_is_what_the_planner_says(seeds, spread):
    assert simulations.power_error(400, seeds=seeds, rows=500, spread=spread) <= 0.055


def test_a_difference_of_the_margin_is_seldom_called_equivalent():
    assert simulations.called_equivalent(200, seeds=5, rows=300, spread=1.0) <= at_most(0.05, 200)


@pytest.mark.parametrize(
    ("missed", "world"),
    [
        (simulations.level_missed, {"seeds": 3, "rows": 500, "spread": 1.0}),
        (simulations.share_missed, {"count": 10, "rate": 0.1}),
        (simulations.share_missed, {"count": 10, "rate": 0.5}),
        (simulations.clustered_missed, {"count": 10}),
    ],
    ids=["level", "rare share of ten documents", "share of ten documents", "difference over ten documents"],
)
def test_intervals_hold_the_truth(missed, world):
    assert missed(300, **world) <= at_most(0.07, 300)


@pytest.mark.slow
def test_intervals_of_whole_procedures_hold_the_truth():
    assert simulations.auprc_missed(12, rows=400, seeds=2) <= at_most(0.07, 12)
    assert simulations.threshold_missed(12, rows=400, truths=150) <= at_most(0.07, 12)
