"""The code version: edits that can change a result change it, other edits do not."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import sweeps

# Modules whose functions a sweep of a notebook runs.
WORKERS = (
    "relations.experiment", "entities.experiment", "multilabel.experiment", "multilabel.span_experiment",
    "coreference.experiment", "coreference.scoring",
)  # fmt: skip
SPANS = "multilabel.span_experiment"
CLASSIFIERS = {"relations.experiment", "entities.experiment", "multilabel.experiment", SPANS}

# Files of the package, and the modules above that an edit of the file concerns.
PRESENTATION = (
    "display/tables.py", "display/figures.py", "display/highlight.py", "display/explorers.py", "cli.py",
    "batch/style/report.css", "batch/rendering.py", "records.py", "sweeps/__init__.py", "sweeps/store.py",
    "corpora/__init__.py", "corpora/klue.py", "relations/results.py", "relations/comparison.py",
    "entities/results.py", "entities/audit.py", "multilabel/results.py", "coreference/evaluation.py",
    "coreference/commands.py", "batch/runner.py", "statistics.py",
)  # fmt: skip
CONCERNED = {
    "learning/heads.py": set(WORKERS),  # the heads and their loss; every encoder is built beside them
    "learning/loop.py": CLASSIFIERS | {"coreference.experiment"},
    "text/tokenizers.py": set(WORKERS),
    "learning/lora.py": {"multilabel.experiment", SPANS},
    "relations/markers.py": {"relations.experiment"},
    "relations/imbalance.py": {"relations.experiment"},
    "entities/decoding.py": {"entities.experiment"},
    "multilabel/spans.py": {SPANS},
    "coreference/curricula.py": {"coreference.experiment"},
}

SCRIPT = r"""
import json, sys
from pathlib import Path
from helpers.sweeps.code import code_version

def versions():
    code_version.cache_clear()
    return {module: code_version(f"helpers.{module}") for module in WORKERS}

def changed(path, edit):
    source = Path("helpers", path).read_text()
    Path("helpers", path).write_text(edit(source))
    after = versions()
    Path("helpers", path).write_text(source)
    return [module for module in WORKERS if after[module] != before[module]]

def reworded(source):
    return "'Other words.'\n# A comment.\n" + source.split('"' * 3, 2)[2]

WORKERS, files = json.loads(sys.argv[1])
before = versions()
print(json.dumps({
    "edited": {path: changed(path, lambda source: source + "\nEDITED = 1\n") for path in files},
    "reworded": {path: changed(path, reworded) for path in files if path.endswith(".py")},
}))
"""


@pytest.fixture(scope="module")
def edits(tmp_path_factory, root):
    """Which workers' versions change with an edit of each file, in a copy of the package."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(root / "helpers", folder / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    files = [*PRESENTATION, *CONCERNED]
    run = [sys.executable, "-c", SCRIPT, json.dumps([WORKERS, files])]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("path", PRESENTATION)
def test_editing_what_shows_results_computes_none_of_them_again(edits, path):
    assert edits["edited"][path] == []


@pytest.mark.parametrize("path", CONCERNED)
def test_editing_what_computes_concerns_exactly_what_depends_on_it(edits, path):
    assert set(edits["edited"][path]) == CONCERNED[path]


def test_rewording_docstrings_and_comments_concerns_nobody(edits):
    assert {path: modules for path, modules in edits["reworded"].items() if modules} == {}


def test_code_version_follows_imports_of_helpers_into_rooms_and_nothing_else(tmp_path):
    package = tmp_path / "helpers"
    shutil.copytree(Path(sweeps.__file__).parent, package / "sweeps")
    sources = {
        "__init__": "",
        "base": "VALUE = 1\n",
        "middle": "def f():\n    from . import base\n",
        "top": "from helpers.middle import f\nfrom helpers.room import deep, name\n",
        "other": "VALUE = 2\n",
        "room/__init__": "from helpers.room import inner\nname = 1\n",
        "room/deep": "VALUE = 1\n",
        "room/inner": "VALUE = 1\n",
        "room/stranger": "VALUE = 1\n",
        "quiet/__init__": "from helpers import other\n",
        "quiet/labels": "from helpers import base\n",
        "typed": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from helpers import other\n",
    }
    for name, text in sources.items():
        (package / name).parent.mkdir(exist_ok=True)
        (package / f"{name}.py").write_text(text)

    def version(module="top"):
        script = f"from helpers.sweeps.code import code_version; print(code_version('helpers.{module}'))"
        run = [sys.executable, "-c", script]
        return subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    before = {module: version(module) for module in ("top", "quiet.labels", "typed")}
    for changed, dependent in {
        "other": [], "room/stranger": [], "quiet/__init__": [], "room/deep": ["top"], "room/inner": ["top"],
        "room/__init__": ["top"], "base": ["top", "quiet.labels"],
    }.items():  # fmt: skip
        (package / f"{changed}.py").write_text(f"{sources[changed]}MORE = 1\n")
        assert [module for module in before if version(module) != before[module]] == dependent, changed
        (package / f"{changed}.py").write_text(sources[changed])
