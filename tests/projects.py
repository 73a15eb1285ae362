"""Small projects for the runner's tests: fixture notebooks and parameter files in a temporary folder."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil
import yaml

from tests.conftest import ROOT

FIXTURES = Path(__file__).parent / "fixtures"


def make_project(folder: Path, overrides: Mapping[str, Mapping[str, Any]], suite: str = "tiny") -> Path:
    """Copy fixture notebooks into `folder` and return its `params/<suite>`, one file per notebook."""
    params = folder / "params" / suite
    params.mkdir(parents=True)
    (folder / "notebooks").mkdir(exist_ok=True)
    for name, values in overrides.items():
        shutil.copy(FIXTURES / f"{name}.ipynb", folder / "notebooks")
        (params / f"{name}.yaml").write_text(yaml.safe_dump(dict(values), allow_unicode=True))
    return params


def make_checkout(folder: Path) -> Path:
    """Copy the package and its pins into `folder`, for tests that edit them; return that folder."""
    shutil.copytree(ROOT / "helpers", folder / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "requirements.txt", folder)
    return folder


def command(*arguments: Any) -> list[str]:
    return [sys.executable, "-m", "helpers", *map(str, arguments)]


def nunchi(*arguments: Any, checkout: Path = ROOT, **variables: str) -> subprocess.CompletedProcess:
    """Run the command to its end, with a checkout's code, and return what it said."""
    environment = os.environ | {"PYTHONPATH": str(checkout)} | variables
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=300, cwd=checkout, env=environment
    )


def run(*arguments: Any) -> subprocess.CompletedProcess:
    """Run a suite."""
    return nunchi("run", *arguments)


def read_json(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def processes_of(folder: Path) -> list[psutil.Process]:
    """Return the processes of notebooks that run below `folder`, with kernels and whatever these started."""
    found = []
    for work in folder.glob(".*.run-*"):
        with contextlib.suppress(psutil.NoSuchProcess):
            execution = psutil.Process(int(work.name.partition(".run-")[2].partition("-")[0]))
            found += [execution, *execution.children(recursive=True)]
    return alive(found)


def alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return those that still run."""
    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def without_volatile(page: str) -> str:
    """Return a report without its dates, durations and memory, to compare two runs of the same thing."""
    marked = r'(?s)<(\w+) class="volatile"[^>]*>.*?</\1>|<meta name="made-from"[^>]*>'
    return re.sub(marked, "", page)
