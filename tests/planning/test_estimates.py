"""Hours, cards, disk, and how far more cards help."""

import json

import pytest

from helpers.planning import estimates
from helpers.planning.estimates import Cost
from tests.planning.test_footprints import training


def costs(*hours: float, **changes) -> list[Cost]:
    """Runs that take so many hours on an A100 at the guessed efficiency."""
    rate = estimates.FACTS["efficiency"] * 312e12 * 3600
    return [
        Cost(training(**changes), 1, peak=1e9, host=0, operations=rate * one, launches=0, kept=1e9,
             passing=1e9, download=0)
        for one in hours
    ]  # fmt: skip


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
    (one,) = costs(1)
    cards = [one._replace(peak=1e9 * size).smallest_card() for size in (14, 15, 70)]
    assert cards == ["T4", "L4", "A100"]
    assert one._replace(peak=80e9).smallest_card().startswith("none")


def test_a_measured_efficiency_replaces_the_guess():
    (one,) = costs(1)
    assert one.hours("A100") == pytest.approx(1)
    estimates.efficiency_file().write_text(json.dumps({"A100": 0.6}))
    assert one.hours("A100") == pytest.approx(0.5)


def test_the_table_has_a_line_for_each_kind_and_the_sums():
    found = {training(): 3, training(phase="later"): 2, training(averages=4, checkpoints=1): 1}
    lines = estimates.lines(found, gpus=4)
    assert [line.split()[0] for line in lines[1:3]] == ["5", "1"]
    assert lines[3].startswith("in all: 6 runs, 192 steps; time on one card (guessed efficiency): T4")
    assert lines[4].startswith("disk: ") and lines[5].startswith("on 4 cards")
    assert lines[5].endswith("; more than 4 have no work")  # one phase has four runs
    assert estimates.lines({}) == []


def test_no_card_is_faster_than_the_host_that_launches_its_kernels():
    """9,135 steps of BERT-base were said to take 15 seconds on an H100."""
    step = estimates.FACTS["launch"]
    one = costs(0.001)[0]._replace(launches=3600 / step)
    assert one.hours("T4") == one.hours("H100") == pytest.approx(1)
    # forward, backward and update of 6 layers in 16 batches a pass; 64 rows are read in 2 batches
    assert estimates.cost(training(scored=64)).launches == 6 * (2 * 16 * 3 + 2)
    assert estimates.cost(training(frozen=True)).launches == 6 * 2 * 16


def test_a_card_that_cannot_hold_a_run_gets_no_time_for_it(monkeypatch):
    small, large = costs(1, 2)
    large = large._replace(peak=30e9, runs=3)
    one_card, disk, several = estimates.sums([small, large], gpus=2)
    assert "T4 4.8 h without 3 runs that do not fit, " in one_card and "A100 7.0 h, " in one_card
    assert "A100 4.0 h" in several  # two at a time, the longest first
    assert disk.startswith("disk: 4.0 GB kept, 2.0 GB while training")
    assert "T4 –, L4 –, A100 6.0 h" in estimates.sums([large])[0]  # nothing fits the first two
    monkeypatch.setattr(estimates, "USABLE", 0)
    assert estimates.lines({training(): 1})[1].count("–") == len(estimates.FACTS["cards"])


def test_small_times_can_be_read():
    assert [estimates.duration(hours) for hours in (12 / 3600, 0.14, 0.9, 1.234, 155.4)] == [
        "12 s",
        "8.4 min",
        "54 min",
        "1.2 h",
        "155 h",
    ]


def test_a_suite_says_which_notebook_stops_scaling_first():
    few, many = {training(sweep="a"): 2}, {training(sweep="b"): 5}
    whole = estimates.summary({"01": {}, "02": many, "03": few}, gpus=4)
    assert whole[0].startswith("in all: 7 runs, ") and whole[-1] == "first to stop scaling: 03, at 2 cards"
    assert estimates.summary({"02": many, "01": {}}) == []
