"""Every notebook: its shape, its parameter files, and a run on smoke parameters whose record is checked."""

import ast
import json
import math
import re
import subprocess
import sys

import nbformat
import pytest

from helpers import settings
from helpers.batch import markup, parameters, plans
from tests import translatable
from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NUMBERED = [path for path in NOTEBOOKS if path.stem[0].isdigit()]
SUITES = ("smoke", "sample", "klue", "small-gpu", "paper")
SECTIONS = [
    "Parameters", "Setup", "Data", "Experiment", "Evidence", "Verdict", "Limits and next steps", "Record",
]  # fmt: skip
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SMOKE = sorted(path.stem for path in (ROOT / "params" / "smoke").glob("*.yaml"))

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path, kind=None):
    found = parameters.load_notebook(path)["cells"]
    return [cell for cell in found if kind in (None, cell["cell_type"])]


def tree(cell):
    return ast.parse(re.sub(r"(?m)^\s*[%!].*$", "", cell["source"]))


def calls(path):
    return [
        node for cell in cells(path, "code") for node in ast.walk(tree(cell)) if isinstance(node, ast.Call)
    ]


@each
def test_it_is_valid_has_the_python_kernel_and_no_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in cells(path, "code"):
        assert not cell["outputs"] and cell["execution_count"] is None, cell["id"]


@each
def test_the_parameters_are_commented_literals_and_name_the_data(path):
    known = parameters.declared(parameters.load_notebook(path))
    assert known["data"].type == "str" and known["data"].default == "sample"
    assert all(parameter.help for parameter in known.values())
    source = parameters.tagged(parameters.load_notebook(path), "parameters")[0]["source"]
    assert len(source.splitlines()) == len(known), "one parameter per line, nothing else"


@each
def test_every_number_has_a_range_that_a_cell_checks_before_anything_is_loaded(path):
    """The runner checks before a kernel starts; this is for papermill and JupyterLab."""
    known = parameters.declared(parameters.load_notebook(path))
    numbers = {name for name, parameter in known.items() if re.search("int|float", parameter.type)}
    numbers |= {
        key
        for parameter in known.values()
        if parameter.type == "dict"
        for key, value in parameter.default.items()
        if isinstance(value, int | float)
    }
    assert numbers <= set(settings.RANGES)
    assert {name for name, parameter in known.items() if parameter.type == "dict"} <= set(settings.MAPPINGS)
    code = "\n".join(cell["source"] for cell in cells(path, "code"))
    assert 0 < code.index("settings.check(globals())") < re.search(r"\bload_\w+\(|_genres\(", code).start()


@each
def test_papermill_reads_the_parameters_as_we_do(path):
    from papermill.inspection import inspect_notebook

    known = parameters.declared(parameters.load_notebook(path))
    seen = inspect_notebook(str(path))
    assert list(seen) == list(known)
    assert {name: p["help"] for name, p in seen.items()} == {name: p.help for name, p in known.items()}


@each
def test_it_opens_with_a_question_and_what_one_learns(path):
    first = cells(path)[0]
    assert first["cell_type"] == "markdown"
    title, *rest = first["source"].splitlines()
    assert re.fullmatch(r"# .+\?", title)
    assert sum(line.startswith("- ") for line in rest) >= 3
    assert re.search(r"(?i)\b(second|minute)s?\b", first["source"]), "say what a run costs"


@each
def test_the_sections_are_all_there_in_order(path):
    text = "\n".join(cell["source"] for cell in cells(path, "markdown"))
    assert re.findall(r"(?m)^## (.+?)\s*$", text) == SECTIONS
    assert len(re.findall(r"(?m)^# ", re.sub(r"(?s)```.*?```", "", text))) == 1


@each
def test_code_cells_are_short_and_define_nothing(path):
    for cell in cells(path, "code"):
        assert len(cell["source"].splitlines()) <= 30, cell["id"]
        for node in ast.walk(tree(cell)):
            assert not isinstance(node, DEFINITIONS), f"{cell['id']}: {ast.unparse(node):.60}"
            if isinstance(node, ast.ImportFrom):
                assert node.names[0].name != "*", cell["id"]
        assert "sys.path" not in cell["source"], cell["id"]
    lambdas = [
        node for cell in cells(path, "code") for node in ast.walk(tree(cell)) if isinstance(node, ast.Lambda)
    ]
    assert len(lambdas) <= 2, "name them in helpers"


@pytest.mark.parametrize("path", NUMBERED, ids=lambda path: path.stem)
def test_it_is_of_readable_length_with_prose_between_the_code(path):
    prose, code = len(cells(path, "markdown")), len(cells(path, "code"))
    assert 20 <= prose + code <= 50
    assert 0.5 <= prose / code <= 1.6


@each
def test_it_ends_with_the_record_under_its_own_name(path):
    last = cells(path)[-1]
    assert last["cell_type"] == "code"
    statement = tree(last).body[-1]
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    assert ast.unparse(statement.value.func) == "records.write"
    assert statement.value.args[0].value == path.stem
    assert [keyword.arg for keyword in statement.value.keywords][:3] == ["question", "verdict", "headline"]
    assert sum(ast.unparse(call.func) == "records.write" for call in calls(path)) == 1


@each
def test_its_parameters_are_checked_against_their_annotations(path):
    namespace = {}
    exec(parameters.tagged(parameters.load_notebook(path), "parameters")[0]["source"], namespace)
    settings.check(namespace)
    namespace["data"] = 7
    with pytest.raises(ValueError, match="data must be str, got int 7"):
        settings.check(namespace)


@each
def test_its_cells_have_ids_of_their_own(path):
    ids = [cell["id"] for cell in cells(path)]
    assert len(set(ids)) == len(ids)
    assert not [name for name in ids if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f-]+)?", name)], "name the cells"


@each
def test_its_formulas_can_be_drawn(path):
    for cell in cells(path, "markdown"):
        assert 'class="tex"' not in markup.markdown(cell["source"], trusted=True), cell["id"]


@pytest.mark.parametrize("suite", SUITES)
def test_every_parameter_file_fits_its_notebook(suite):
    planned = {task.name for task in plans.make(ROOT / "params" / suite)}
    assert planned >= {path.stem for path in NUMBERED}


def test_the_sample_world_is_the_only_data_of_smoke_and_sample():
    for suite in ("smoke", "sample"):
        for task in plans.make(ROOT / "params" / suite):
            assert task.values["data"] == "sample", task.name
            assert not plans.needs_hub(task.values), task.name


@pytest.mark.slow
class TestSmokeRuns:
    """The smoke suite has been run once; each notebook's record and report are looked at."""

    def test_the_suite_is_green(self, smoke):
        done, folder = smoke
        assert done.returncode == 0, done.stderr
        assert all(f'href="{name}/report.html"' in (folder / "index.html").read_text() for name in SMOKE)

    @pytest.mark.parametrize("name", SMOKE)
    def test_the_record_answers_the_question_with_intervals(self, smoke, name):
        metrics = json.loads((smoke[1] / name / "metrics.json").read_text())
        title = cells(ROOT / "notebooks" / f"{name}.ipynb")[0]["source"].splitlines()[0].removeprefix("# ")
        assert metrics["question"] == title
        assert re.search(r"\d", metrics["verdict"]), "the verdict quotes a number"
        assert 1 <= len(metrics["headline"]) <= 8
        spread = [row for row in metrics["headline"] if row["low"] is not None]
        assert spread, "no headline figure has an interval"
        assert all(row["low"] <= row["value"] <= row["high"] for row in spread)
        assert any(row["low"] < row["high"] for row in spread)
        assert all(math.isfinite(row["value"]) for row in metrics["headline"])

    @pytest.mark.parametrize("name", SMOKE)
    def test_the_report_is_small_and_whole(self, smoke, name):
        page = (smoke[1] / name / "report.html").read_text()
        run = json.loads((smoke[1] / name / "run.json").read_text())
        assert run["status"] == "ok" and len(page.encode()) < 1_000_000
        assert "<figure id=" in page and "<table" in page and 'class="key"' in page
        for trace in ('class="tex"', "Traceback", "<Figure size", "object at 0x", "This run failed"):
            assert trace not in page

    @pytest.mark.parametrize("name", SMOKE)
    def test_the_run_was_quiet(self, smoke, name):
        page = (smoke[1] / name / "report.html").read_text()
        noise = re.findall(r'(?s)<pre class="stderr"[^>]*>(.*?)</pre>', page)
        assert not [text for text in noise if "Warning" in text]

    @pytest.mark.parametrize("name", [*SMOKE, "."])
    def test_in_korean_no_english_sentence_is_left(self, korean, name):
        page = korean / ("index.html" if name == "." else f"{name}/report.html")
        left = translatable.english_in(page.read_text(encoding="utf-8"))
        assert left == [], "python -m tests.translatable FOLDER"

    def test_the_same_parameters_give_the_same_bytes(self, smoke, tmp_path):
        suite = str(ROOT / "params" / "smoke")
        command = [sys.executable, "-m", "helpers", "run", suite, "--only", "01,template", "--jobs", "2"]
        subprocess.run([*command, "--out", str(tmp_path)], check=True, capture_output=True, timeout=300)
        for name in ("01_eda", "template"):
            again = (tmp_path / "smoke" / name / "metrics.json").read_bytes()
            assert again == (smoke[1] / name / "metrics.json").read_bytes()


@pytest.mark.slow
def test_plain_papermill_refuses_what_the_runner_would_refuse(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_OUT", str(tmp_path / "out"))
    source = str(ROOT / "notebooks" / "template.ipynb")
    wrong = ["-p", "train_rows", "[1]", "-p", "train_rwos", "3"]
    command = [sys.executable, "-m", "papermill", source, "out.ipynb", *wrong]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0 and not (tmp_path / "out").exists()
    assert "unknown parameter 'train_rwos'; did you mean 'train_rows'?" in done.stderr
    assert "train_rows must be int, got text '[1]'" in done.stderr


def test_plain_papermill_runs_the_template_from_any_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_OUT", str(tmp_path / "out"))
    source, overrides = ROOT / "notebooks" / "template.ipynb", ROOT / "params" / "smoke" / "template.yaml"
    command = [sys.executable, "-m", "papermill", str(source), "out.ipynb", "-f", str(overrides)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "metrics.json").is_file()
