"""The lock agrees with pyproject.toml and with what is installed; `import helpers` costs nothing."""

import ast
import importlib.util
import re
import subprocess
import sys
import time
import tomllib
from importlib import metadata

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

LOCK = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and line[0] != "#"]
PINS = dict(line.partition("#")[0].strip().split("==") for line in LOCK)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUNTIME = [Requirement(line) for line in PROJECT["dependencies"]]
EXTRAS = {
    name: [Requirement(line) for line in lines] for name, lines in PROJECT["optional-dependencies"].items()
}


def named(requirement):
    return canonicalize_name(requirement.name)


def test_the_lock_is_what_is_installed():
    installed = {name: metadata.version(name).partition("+")[0] for name in PINS}  # 2.13.0+cpu is 2.13.0
    assert installed == PINS


def script(name):
    """Import a script of .ci."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_mutant_that_is_explained_can_be_made():
    assert script("mutants").outdated() == [], "the line was edited: ask again"


def test_a_mutant_changes_one_thing_that_computes():
    source = """
def f(a: int = 1):
    '''Text that only tells, with 3.'''
    if a < 2 and not g(a, n=len(a)):
        raise ValueError(f"got {a + 1}")
    a[0] = min(a, -a)
    return [x for x in a if x]
"""
    changes = script("mutants").changes
    made = [(change.kind, change.words) for change in changes(ast.parse(source))]
    assert made == [
        ("constant", "1 → 2"),
        ("condition", "negated"),
        ("condition", "And → Or"),
        ("comparison", "Lt → LtE"),
        ("comparison", "Lt → GtE"),
        ("constant", "2 → 3"),
        ("condition", "Not dropped"),
        ("argument", "n dropped"),
        ("check", "removed"),
        ("statement", "removed"),
        ("constant", "0 → 1"),
        ("call", "min → max"),
        ("argument", "last dropped"),
        ("arithmetic", "USub dropped"),
        ("result", "lost"),
        ("condition", "negated"),
    ]
    for number in range(len(made)):
        tree = ast.parse(source)
        list(changes(tree))[number].do()
        assert ast.unparse(tree) != ast.unparse(ast.parse(source)), made[number]


def test_a_mutant_reaches_what_was_imported_before():
    class Base:
        size = 1

        def count(self):
            return 1

    class Heir(Base):
        def count(self):
            return super().count() + self.size

    class Other:
        size = 2

        def count(self):
            return 3

    assert script("mutants")._become(Base, Other)
    assert Heir().count() == 5
    assert not script("mutants")._become(1, 2)


def test_no_pin_has_a_known_advisory():
    advisories = script("advisories")
    assert advisories.pins((ROOT / "requirements.txt").read_text()) == PINS
    assert advisories.known(PINS) == []
    assert set(advisories.FIXED) <= set(PINS), "an advisory about a package that is not pinned helps nobody"
    (said,) = advisories.known(PINS | {"jupyter-server": "2.19.9"})
    assert said == "jupyter-server 2.19.9 has CVE-2026-44727; 2.20.0 is the first without it"
    assert not advisories.known(PINS | {"jupyter-server": "2.20.0", "torch": "2.10.0"})


def test_the_lock_is_sorted_and_names_no_index_build_or_cuda_package():
    assert [re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*(  # dev)?", line).group() for line in LOCK] == LOCK
    assert list(PINS) == sorted(PINS) and len(PINS) == len(LOCK)
    assert not [name for name in PINS if re.match(r"nvidia|cuda|triton", name)]


@pytest.mark.parametrize("group", ["runtime", "ray", "dev"])
def test_the_lock_pins_every_dependency_within_its_range(group):
    for requirement in {"runtime": RUNTIME, **EXTRAS}[group]:
        if requirement.name != PROJECT["name"]:
            assert requirement.specifier.contains(PINS[named(requirement)]), requirement


def test_the_lock_pins_what_its_packages_need():
    for name in PINS:
        for line in metadata.requires(name) or []:
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                pinned = PINS.get(named(needed))
                assert pinned, f"{name} needs {line}: run make lock"
                assert needed.specifier.contains(pinned, prereleases=True), f"{name} needs {line}"


def test_torch_is_exact_and_jupyter_server_has_no_known_hole():
    specs = {named(requirement): str(requirement.specifier) for requirement in RUNTIME}
    assert specs["torch"] == f"=={PINS['torch']}"
    assert tuple(map(int, PINS["jupyter-server"].split("."))) >= (2, 20)  # CVE-2026-44727


def test_conda_takes_the_pins_from_the_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip, packages = environment["dependencies"]
    assert (python, pip) == ("python=3.11", "pip")
    assert packages["pip"] == ["-r requirements.txt", "-e ."]


# Brought by a package that we depend on: pyarrow by datasets, traitlets by ipykernel …
BROUGHT = {"huggingface-hub", "matplotlib-inline", "pyarrow", "traitlets"}
DISTRIBUTIONS = {"sklearn": "scikit-learn", "yaml": "pyyaml", "iterstrat": "iterative-stratification"}


def imported(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def test_what_helpers_import_is_a_dependency():
    declared = {named(requirement) for requirement in [*RUNTIME, *EXTRAS["ray"], *EXTRAS["gpu"]]} | BROUGHT
    known = set(sys.stdlib_module_names) | {"helpers", "_typeshed"}
    files = (ROOT / "helpers").rglob("*.py")
    used = {name.partition(".")[0] for file in files for name in imported(file)} - known
    assert {canonicalize_name(DISTRIBUTIONS.get(name, name)) for name in used} - declared == set()


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
