"""Small projects for the runner's tests: fixture notebooks and parameter files in a temporary folder."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import yaml

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


def command(*arguments: Any) -> list[str]:
    return [sys.executable, "-m", "helpers", "run", *map(str, arguments)]


def run(*arguments: Any, **options: Any) -> subprocess.CompletedProcess:
    """Run the batch command to its end and return what it said."""
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=300, **options)


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
