"""Hours, cards, disk, and how far more cards help."""

import json

import pytest

from helpers.planning import estimates
from helpers.planning.estimates import Cost
from tests.planning.test_footprints import training


def costs(*hours: float, **changes) -> list[Cost]:
    """Runs that take so many hours on an A100 at the guessed efficiency."""
    rate = estimates.FACTS["efficiency"] * 312e12 * 3600
    return [Cost(training(**changes), 1, 1e9, 0, rate * one, 1e9, 1e9, 0) for one in hours]


@pytest.fixture(autouse=True)
def no_measurement(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path))


def test_the_longest_run_goes_first():
    assert estimates.makespan(costs(2, 3, 2), card="A100", gpus=2) == pytest.approx(4)
    assert estimates.makespan(costs(2, 3, 2), card="A100", gpus=1) == pytest.approx(7)
    assert estimates.makespan(costs(2, 3, 2), card="A100", gpus=512) == pytest.approx(3)


def test_sweeps_and_phases_wait_for_each_other():
    two = [*costs(1, 1, sweep="a"), *costs(2, sweep="b"), *costs(4, sweep="b", phase="later")]
    assert estimates.makespan(two, card="A100", gpus=8) == pytest.approx(1 + 2 + 4)


def test_the_smallest_card_leaves_a_margin():
    assert estimates.smallest_card(14e9) == "T4"
    assert estimates.smallest_card(15e9) == "L4"
    assert estimates.smallest_card(70e9) == "A100"
    assert estimates.smallest_card(80e9).startswith("none")


def test_a_measured_efficiency_replaces_the_guess():
    (one,) = costs(1)
    assert one.hours("A100") == pytest.approx(1)
    estimates.efficiency_file().write_text(json.dumps({"A100": 0.6}))
    assert one.hours("A100") == pytest.approx(0.5)


def test_the_table_has_a_line_for_each_kind_and_the_sums():
    found = {training(): 3, training(phase="later"): 2, training(averages=4, checkpoints=1): 1}
    lines = estimates.lines(found, gpus=4)
    assert [line.split()[0] for line in lines[1:3]] == ["5", "1"]
    assert lines[3].startswith("in all: 6 runs, 192 steps; hours on one card (guessed efficiency): T4")
    assert lines[4].startswith("disk: ") and lines[5].startswith("on 4 cards")
    assert estimates.lines({}) == []
