"""What a notebook's cells can reach: modules through imports of every spelling, and data files."""

import ast

import pytest

from helpers.batch.parameters import load_notebook
from helpers.sweeps import closures
from tests.conftest import ROOT

SOURCES = {
    "__init__.py": "",
    "records.py": "import json",
    "statistics.py": "from helpers import records",
    "world/__init__.py": "from . import lexicon\nfrom .people import name",
    "world/lexicon.py": "",
    "world/people.py": "from ..records import write",
    "corpora/__init__.py": "def load():\n    import helpers.world",
    "corpora/labels.py": "NAMES = 1",
    "entities/experiment.py": "from helpers.corpora import labels",
    "entities/story.py": "from helpers.corpora import load",
    "words.csv": "a",
    "batch/style.css": "a",
    "batch/runner.py": "import helpers.statistics",
}
WORLD = {"world/__init__.py", "world/lexicon.py", "world/people.py", "records.py"}


@pytest.fixture
def package(tmp_path):
    for name, source in SOURCES.items():
        (tmp_path / "helpers" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "helpers" / name).write_text(source)
    return tmp_path / "helpers"


@pytest.mark.parametrize(
    ("cell", "modules"),
    [
        ("import json, torch.nn", set()),
        ("import helpers", {"__init__.py"}),
        ("from helpers import records as r", {"records.py"}),
        ("from helpers.statistics import compare", {"statistics.py", "records.py"}),
        ("from helpers.entities import experiment", {"entities/experiment.py", "corpora/labels.py"}),
        ("if True:\n    from helpers.entities import (\n        story,\n    )",
         {"entities/story.py", "corpora/__init__.py"} | WORLD),
        ("import helpers.world.people", {"world/people.py", "records.py"}),
        ("%matplotlib inline\nfiles = !ls\nfrom helpers import records", {"records.py"}),
        ("from helpers import (", set()),
    ],
)  # fmt: skip
def test_imports_are_followed(package, cell, modules):
    assert set(closures.reached([cell], package)) == modules | {"words.csv"}


def test_a_digest_changes_with_its_file_alone(package):
    cells = ["from helpers import statistics", "x = 1"]
    before = closures.reached(cells, package)
    (package / "records.py").write_text("import os")
    (package / "words.csv").write_text("b")
    after = closures.reached(cells, package)
    assert {name for name in before if before[name] != after[name]} == {"records.py", "words.csv"}


def test_a_task_is_not_reached_by_the_notebook_of_another():
    code = [c["source"] for c in load_notebook(next((ROOT / "notebooks").glob("05_*")))["cells"]
            if c["cell_type"] == "code"]  # fmt: skip
    rooms = {name.split("/")[0] for name in closures.reached(code, ROOT / "helpers")}
    assert {"multilabel", "display", "sweeps", "records.py"} <= rooms
    assert not {"batch", "cli.py", "entities", "relations", "coreference", "eda"} & rooms


def test_no_helper_imports_by_a_name_made_at_run_time():
    """The closure cannot see such an import. No notebook reaches `cli`; sweeps imports what it is given; the
    package itself registers `learning.heads`, which everything that loads a model imports."""
    dynamic = {
        path.relative_to(ROOT / "helpers").as_posix()
        for path in (ROOT / "helpers").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__"))
    }
    assert {name for name in dynamic if not name.startswith("sweeps/")} <= {
        "__init__.py",
        "cli.py",
        "claims/ledger.py",
        "planning/recorder.py",
    }
