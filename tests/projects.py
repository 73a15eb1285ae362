"""Small projects for the runner's tests: fixture notebooks and parameter files in a temporary folder."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
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
    """Return the kernels and whatever they started for the runs below `folder`."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("NUNCHI_OUT", "").startswith(str(folder) + os.sep):
                found.append(process)
        except psutil.Error:
            continue
    return [process for process in found if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def without_volatile(page: str) -> str:
    """Return a report without its dates, durations and memory, to compare two runs of the same thing."""
    marked = r'(?s)<(\w+) class="volatile"[^>]*>.*?</\1>|<meta name="made-from"[^>]*>'
    return re.sub(marked, "", page)
