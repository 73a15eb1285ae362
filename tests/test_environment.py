"""The environment: pins agree with what is installed, and `import helpers` costs nothing."""

import ast
import re
import subprocess
import sys
import time
from importlib import metadata

import pytest
import yaml

from tests.conftest import ROOT

PINS = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and line[0] != "#"]


@pytest.mark.parametrize("pin", PINS)
def test_a_pin_is_exact_and_installed(pin):
    name, version = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?==([\w.]+)", pin).groups()
    assert metadata.version(name).split("+")[0] == version  # 2.13.0+cpu is a build of 2.13.0


def test_pins_are_sorted_and_unique():
    names = [re.match(r"[\w.-]+", pin).group().lower() for pin in PINS]
    assert names == sorted(set(names))


def test_conda_takes_the_pins_from_requirements():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip, packages = environment["dependencies"]
    assert python == f"python={sys.version_info[0]}.{sys.version_info[1]}"
    assert (pip, packages["pip"]) == ("pip", ["-r requirements.txt", "-e ."])


# Named by the code but pinned through the package that brings them, or an extra in pyproject.toml.
BROUGHT = {"traitlets", "matplotlib_inline", "huggingface_hub", "pyarrow", "ray", "bitsandbytes"}
DISTRIBUTIONS = {"sklearn": "scikit-learn", "yaml": "pyyaml", "iterstrat": "iterative-stratification"}


def imported(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def test_what_helpers_import_is_pinned():
    pinned = {re.match(r"[\w.-]+", pin).group().lower() for pin in PINS}
    known = BROUGHT | set(sys.stdlib_module_names) | {"helpers"}
    used = {
        name.split(".")[0] for file in (ROOT / "helpers").rglob("*.py") for name in imported(file)
    } - known
    assert sorted(name for name in used if DISTRIBUTIONS.get(name, name).lower() not in pinned) == []


def seconds(code):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    return time.perf_counter() - start


def test_importing_helpers_costs_under_a_tenth_of_a_second():
    bare = min(seconds("pass") for _ in range(5))
    assert min(seconds("import helpers") for _ in range(5)) - bare < 0.1


@pytest.mark.parametrize("module", ["cli", "batch.runner", "records", "batch.rendering"])
def test_the_light_modules_import_nothing_heavy(module):
    heavy = (
        "{'torch', 'transformers', 'datasets', 'pandas', 'matplotlib', 'papermill', 'nbconvert', 'sklearn'}"
    )
    code = f"import sys, helpers.{module}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
