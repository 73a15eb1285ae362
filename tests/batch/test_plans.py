"""Plans: suites resolved and checked as a whole, and knowing what has to run again."""

import json
import os

import pytest

from helpers.batch import plans, runner
from tests.projects import make_project


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path, {"plain": {"answer": 1}, "slow": {"seconds": 2}})


def pretend_run(plan, **changes):
    """Write the files of a good run, as far as the plan looks at them."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    for name in plans.EXECUTED:
        (plan.folder / name).write_text("{}")
    run = {"status": "ok", "fingerprint": plans.fingerprint(plan)} | changes
    (plan.folder / "run.json").write_text(json.dumps(run))


def test_a_plan_knows_its_parameters_and_its_folder(project, tmp_path):
    plain, slow = plans.make(project)
    assert (plain.name, plain.suite, plain.folder) == (
        "plain",
        "tiny",
        tmp_path / "reports" / "tiny" / "plain",
    )
    assert plain.values["answer"] == 1 and plain.values["data"] == "sample"
    assert slow.overrides == {"seconds": 2.0}


def test_how_long_it_took_is_known_from_the_last_run_or_the_recorded_one(project, tmp_path):
    plain, slow = plans.make(project, out=tmp_path / "elsewhere")
    assert plans.seconds(plain) == plans.seconds(slow) == float("inf")
    recorded = tmp_path / "reports" / "recorded" / "tiny"
    recorded.mkdir(parents=True)
    for plan, took in ((plain, 5.0), (slow, 90.0)):
        (recorded / f"{plan.name}.json").write_text(json.dumps({"seconds": took}))
    assert [plan.name for plan in runner._longest_first([plain, slow])] == ["slow", "plain"]
    pretend_run(slow, seconds=1.0)
    assert [plan.name for plan in runner._longest_first([plain, slow])] == ["plain", "slow"]


def test_out_replaces_the_reports_folder(project, tmp_path):
    assert plans.make(project, out=tmp_path / "o")[0].folder == tmp_path / "o" / "tiny" / "plain"


@pytest.mark.parametrize(("only", "names"), [(["pl"], ["plain"]), (["slow", "plain"], ["plain", "slow"])])
def test_only_takes_prefixes(project, only, names):
    assert [plan.name for plan in plans.make(project, only=only)] == names


def test_only_takes_a_number_with_or_without_its_zero(project, tmp_path):
    (tmp_path / "notebooks" / "plain.ipynb").rename(tmp_path / "notebooks" / "04_plain.ipynb")
    (project / "plain.yaml").rename(project / "04_plain.yaml")
    for word in ("4", "04", "04_plain"):
        assert [plan.name for plan in plans.make(project, only=[word])] == ["04_plain"]


def test_only_without_a_match_lists_the_names(project):
    with pytest.raises(ValueError, match="--only 09 matches nothing; there are plain, slow"):
        plans.make(project, only=["9"])


def test_every_problem_of_every_file_is_reported_at_once(project):
    (project / "plain.yaml").write_text("anser: 1\nrate: 3e-5\n")
    (project / "slow.yaml").write_text("- 1\n")
    (project / "plane.yaml").write_text("")
    (project / "old.yml").write_text("")
    with pytest.raises(ValueError) as caught:
        plans.make(project)
    lines = str(caught.value).split("\n")
    assert lines[0] == "nothing was done, please correct:" and len(lines) == 6
    for part in (
        "did you mean 'answer'?",
        "write 3.0e-5",
        "did you mean plain?",
        "got list",
        "rename it to .yaml",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_without_parameter_files_is_refused(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no parameter files"):
        plans.make(tmp_path / name)


def test_a_suite_outside_a_project_runs_the_repositorys_notebooks(tmp_path, root):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "template.yaml").write_text("")
    (plan,) = plans.make(tmp_path / "mine")
    assert plan.notebook == root / "notebooks" / "template.ipynb"
    assert plan.folder == root / "reports" / "mine" / "template"


def test_a_good_run_stands(project):
    plan, _ = plans.make(project)
    assert plans.why_stale(plan) == "never run"
    pretend_run(plan)
    assert plans.why_stale(plan) is None


@pytest.mark.parametrize(
    ("missing", "reason"), [("metrics.json", "metrics.json is missing"), ("run.json", "no readable run.json")]
)
def test_a_run_with_a_file_missing_does_not(project, missing, reason):
    plan, _ = plans.make(project)
    pretend_run(plan)
    (plan.folder / missing).unlink()
    assert plans.why_stale(plan) == reason


def test_a_failed_run_does_not(project):
    plan, _ = plans.make(project)
    pretend_run(plan, status="failed")
    assert plans.why_stale(plan) == "failed last time"


def test_a_changed_parameter_is_noticed_and_a_changed_comment_is_not(project):
    plan, _ = plans.make(project)
    pretend_run(plan)
    (project / "plain.yaml").write_text("# the default, said again\nanswer: 1\nflag: false\n")
    assert plans.why_stale(plans.make(project)[0]) is None
    (project / "plain.yaml").write_text("answer: 2\n")
    assert plans.why_stale(plans.make(project)[0]) == "parameters changed"


def test_a_changed_cell_is_noticed_and_saved_outputs_are_not(project):
    plan, _ = plans.make(project)
    pretend_run(plan)
    notebook = json.loads(plan.notebook.read_text())
    notebook["cells"][-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x"}]
    notebook["cells"][-1]["execution_count"] = 3
    plan.notebook.write_text(json.dumps(notebook))
    assert plans.why_stale(plan) is None
    notebook["cells"][-1]["source"] += "\n# changed"
    plan.notebook.write_text(json.dumps(notebook))
    assert plans.why_stale(plan) == "notebook changed"


def test_changed_helpers_and_pins_are_noticed(project, monkeypatch, tmp_path):
    plan, _ = plans.make(project)
    monkeypatch.setattr(plans, "ROOT", tmp_path)
    (tmp_path / "helpers" / "batch").mkdir(parents=True)
    (tmp_path / "requirements.txt").write_text("a==1  # via b")
    (tmp_path / "helpers" / "records.py").write_text("1")  # which the notebook imports
    pretend_run(plan)
    (tmp_path / "helpers" / "unused.py").write_text("1")
    (tmp_path / "helpers" / "batch" / "report.css").write_text("1")
    (tmp_path / "requirements.txt").write_text("# pins\na==1\nruff==9  # dev\n")
    assert plans.why_stale(plan) is None
    (tmp_path / "helpers" / "records.py").write_text("2")
    (tmp_path / "requirements.txt").write_text("a==2")
    assert plans.why_stale(plan) == "helpers and pins changed"


def test_changed_data_files_are_noticed(project, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.tsv").write_text("1")
    for value, variable in ((str(tmp_path / "data"), ""), ("local", str(tmp_path / "data"))):
        monkeypatch.setenv("NUNCHI_DATA", variable)
        (project / "plain.yaml").write_text(f"data: {value}\n")
        plan, _ = plans.make(project)
        pretend_run(plan)
        assert plans.why_stale(plan) is None
        os.utime(tmp_path / "data" / "a.tsv", ns=(1, len(value)))
        assert plans.why_stale(plan) == "data changed"


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ({"data": "sample"}, False),
        ({"data": "hub"}, True),
        ({"data": "sample", "models": ["tiny", "klue/roberta-base"]}, True),
        ({"data": "/some/folder/x"}, False),
        ({"note": "precision/recall and more"}, False),
    ],
)
def test_the_hub_is_asked_only_when_a_parameter_says_so(values, answer):
    assert plans.needs_hub(values) is answer


def test_a_folder_of_that_name_is_no_hub_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "small").mkdir(parents=True)
    assert not plans.needs_hub({"model": "models/small"})


def test_an_unreadable_record_means_running_again(project):
    first, _ = plans.make(project)
    pretend_run(first)
    (first.folder / "run.json").write_text('{"status": "o')
    assert plans.why_stale(first) == "no readable run.json"
