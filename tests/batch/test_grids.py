"""One notebook with every combination of some parameters, and one report about all of them."""

import json

import pytest

from helpers.batch import grids, plans
from tests.projects import make_project, read_json, run


def test_every_combination_comes_once_and_the_last_name_changes_fastest():
    assert grids.combinations({"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("grid", "complaint"),
    [(3, "mapping of parameters"), ({}, "mapping of parameters"), ({"a": 1}, r"grid.a must be a list"),
     ({"a": []}, "grid.a must be a list"), ({"a": list(range(9)), "b": list(range(9))}, "81 combinations")],
)  # fmt: skip
def test_a_grid_that_is_none_is_refused(grid, complaint):
    with pytest.raises(ValueError, match=complaint):
        grids.combinations(grid)


def test_a_plan_is_made_for_every_combination(tmp_path):
    suite = make_project(tmp_path, {"plain": {"grid": {"answer": [1, 2]}}})
    one, two = plans.make(suite)
    assert [plan.name for plan in (one, two)] == ["plain@1", "plain@2"]
    assert (one.values["answer"], two.overrides, two.combination) == (1, {"answer": 2}, {"answer": 2})
    assert one.whole == one.folder.parent / "plain" and plans.fingerprint(one) != plans.fingerprint(two)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [({"grid": {"anser": [1]}}, "unknown parameter 'anser'"), ({"grid": {"answer": ["x"]}}, "answer must be"),
     ({"answer": 1, "grid": {"answer": [1]}}, "answer is set both for itself and in the grid")],
)  # fmt: skip
def test_mistakes_in_a_grid_are_told_before_anything_runs(tmp_path, values, complaint):
    with pytest.raises(ValueError, match=complaint):
        plans.make(make_project(tmp_path, {"plain": values}))


def left(folder, value, *, status="ok"):
    folder.mkdir(parents=True)
    row = {
        "name": "gain",
        "value": value,
        "low": value - 1,
        "high": value + 1,
        "than": "b",
        "decision": "better",
    }
    level = {"name": "F1", "value": 3, "low": None, "high": None}
    if status == "ok":
        metrics = {"question": "Does it?", "verdict": "Yes.", "headline": [row, level]}
        (folder / "metrics.json").write_text(json.dumps(metrics))
    made = {"status": status, "started": "2031-05-06T07:08:09+00:00", "seconds": 1.5, "peak_memory_mb": 7}
    (folder / "run.json").write_text(json.dumps(made | {"parameters": {}, "packages": {}, "suite": "s"}))


def test_the_combined_run_has_every_figure_of_every_combination(tmp_path):
    for at, value in ((1, 2.0), (2, 5.0)):
        left(tmp_path / f"plain@{at}", value)
    runs = [({"rows": at}, tmp_path / f"plain@{at}") for at in (1, 2)]
    assert grids.combine(tmp_path / "plain", runs)
    metrics, made = (read_json(tmp_path / "plain" / name) for name in ("metrics.json", "run.json"))
    assert metrics["verdict"] == "2 combinations. gain: 2.0 to 5.0 (2 better)."
    assert [(row["name"], row["value"]) for row in metrics["headline"]] == [("rows 1", 2.0), ("rows 2", 5.0)]
    assert (made["status"], made["seconds"], made["notebook"]) == ("ok", 3.0, "plain")
    table, figure = read_json(tmp_path / "plain" / "notebook.ipynb")["cells"][1]["outputs"]
    assert table["data"]["text/csv"].splitlines()[:3] == [
        "figure,rows,decision,value,value low,value high",
        "gain,1,better,2.0,1.0,3.0",
        "gain,2,better,5.0,4.0,6.0",
    ]
    assert figure["metadata"]["image/svg+xml"]["title"] == "What does each combination change?"


def test_a_failed_combination_is_named_and_fails_the_whole(tmp_path):
    left(tmp_path / "plain@1", 2.0)
    left(tmp_path / "plain@2", 0.0, status="failed")
    assert grids.combine(tmp_path / "plain", [({"rows": at}, tmp_path / f"plain@{at}") for at in (1, 2)])
    made = read_json(tmp_path / "plain" / "run.json")
    assert made["status"] == "failed" and "1 of 2 combinations failed: rows 2" in made["error"]["message"]
    assert not grids.combine(tmp_path / "none", [({"rows": 2}, tmp_path / "plain@2")])


@pytest.mark.slow
def test_a_grid_is_run_and_reported_as_one_card(tmp_path):
    suite = make_project(tmp_path, {"plain": {"grid": {"answer": [1, 2]}, "language": "ko"}})
    done = run(suite)
    assert done.returncode == 0, done.stderr
    reports = tmp_path / "reports" / "tiny"
    index = (reports / "index.html").read_text(encoding="utf-8")
    assert index.count('<article class="card') == 1 and "plain/report.html" in index
    page = (reports / "plain" / "report.html").read_text(encoding="utf-8")
    assert "../plain@2/report.html" in page and '<html lang="ko">' in page
    assert "2 run, 0 up to date" in done.stdout and "0 run, 2 up to date" in run(suite).stdout
