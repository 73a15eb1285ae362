import json
import os

import pytest

from tests.benchmarks import __main__ as command
from tests.benchmarks import harness, report
from tests.benchmarks.harness import Limit, Race


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A stopwatch that charges each function what it declares: tests of arithmetic, not of the machine."""
    monkeypatch.setattr(harness, "_seconds", lambda function, data: function.seconds(len(data)))


def costing(seconds, result=sum):
    def function(data):
        return result(data)

    function.seconds = seconds if callable(seconds) else lambda size: seconds
    return function


RACE = Race(
    name="sum", work="adds", data=range, ours=costing(0.5), others={"slow": costing(2.0)}, sizes=(10,),
    equal=lambda a, b: a == b, targets={"slow": 3.0}, repeats=3,
)  # fmt: skip


def test_a_ratio_is_the_others_time_over_ours():
    (row,) = harness.run(RACE)
    assert (row.name, row.ratio, row.equal, row.met) == ("sum vs slow", 4.0, True, True)
    (row,) = harness.run(Race(**{**vars(RACE), "targets": {"slow": 4.1}}))
    assert not row.met


def test_a_ratio_that_fell_against_the_recorded_run_fails_its_row():
    (row,) = harness.run(RACE)
    assert harness.against(row, {"sum vs slow": 4.7}).met and harness.against(row, {"other": 9.0}).met
    fallen = harness.against(row, {"sum vs slow": 4.8})
    assert (
        not fallen.met and report.line(fallen) == "error: 4× where 4.8× was recorded: fell by more than 15%"
    )


def test_a_recorded_run_is_what_later_runs_are_held_to(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "OUT", tmp_path / "bench")
    monkeypatch.setattr(command, "RECORDED", tmp_path / "bench.json")

    def run(*words, **changes):
        wrong = Race(**{**vars(RACE), "name": "wrong", "others": {"slow": costing(2.0, result=len)}})
        monkeypatch.setattr(command, "_cases", lambda: [Race(**{**vars(RACE), **changes}), wrong])
        return command.main(list(words))

    run("--record", targets={"slow": 9.0})  # missed: still what was measured
    assert json.loads((tmp_path / "bench.json").read_text()) == {"sum vs slow": 4.0}
    assert run("sum") == 0
    assert run("sum", ours=costing(0.6), targets={}) == 1  # 3.3×
    assert "fell by more than 15%" in capsys.readouterr().out
    (tmp_path / "bench.json").write_text('{"sum vs slow": 9.0, "other": 2.0}')
    run("--record", "sum")
    assert json.loads((tmp_path / "bench.json").read_text()) == {"sum vs slow": 4.0, "other": 2.0}
    run("--record")
    assert json.loads((tmp_path / "bench.json").read_text()) == {"sum vs slow": 4.0}


def test_a_faster_wrong_result_does_not_hold():
    (row,) = harness.run(Race(**{**vars(RACE), "others": {"slow": costing(2.0, result=len)}}))
    assert row.ratio == 4.0 and row.equal is False and not row.met


def test_a_broken_case_is_an_error_row():
    (row,) = harness.run(Race(**{**vars(RACE), "ours": lambda data: 1 / 0}))
    assert row.error == "ZeroDivisionError: division by zero" and not row.met


def test_each_case_has_a_process_of_its_own_and_one_that_dies_is_an_error_row():
    assert harness.run_alone(RACE) == harness.run(RACE)
    process = Limit(name="id", work="", measure=os.getpid, limit=0, unit="")
    ids = {harness.run_alone(process)[0].value for _ in range(2)}
    assert len(ids | {os.getpid()}) == 3
    (row,) = harness.run_alone(Limit(name="x", work="", measure=lambda: os._exit(7), limit=1, unit="s"))
    assert row.error == "its process ended with 7" and not row.met


def test_a_limit_holds_up_to_its_bound():
    case = Limit(name="x", work="", measure=lambda: 2.0, limit=2.0, unit="s")
    assert harness.run(case)[0].met
    assert not harness.run(Limit(**{**vars(case), "limit": 1.9}))[0].met


@pytest.mark.parametrize("power", [1, 2])
def test_the_slope_tells_linear_from_quadratic(power):
    ours = costing(lambda size: float(size**power))
    (row,) = harness.run(Race(**{**vars(RACE), "sizes": (10, 100, 1000), "ours": ours, "targets": {}}))
    assert row.slope == pytest.approx(power) and row.met
    limited = Race(**{**vars(RACE), "sizes": (10, 100, 1000), "ours": ours, "targets": {}, "steepest": 1.1})
    assert harness.run(limited)[0].met == (power == 1)


def test_a_row_with_scattered_times_says_that_it_is_noisy():
    times = iter([1.0, 2.0, 9.0] * 9)
    (row,) = harness.run(Race(**{**vars(RACE), "ours": costing(lambda size: next(times))}))
    assert row.noisy and not harness.run(RACE)[0].noisy


def test_the_report_escapes_and_the_json_has_the_stable_fields(tmp_path):
    rows = harness.run(Race(**{**vars(RACE), "name": "<b>", "explanation": "why"}))
    report.write(rows, tmp_path)
    (row,) = json.loads((tmp_path / "bench.json").read_text())["rows"]
    assert {"name", "ratio", "target", "value", "limit", "unit", "equal"} <= set(row)
    page = (tmp_path / "report.html").read_text()
    assert "<b> vs" not in page and "&lt;b&gt; vs slow" in page and "1 of 1" in page
