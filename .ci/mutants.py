"""Mutation testing of the modules that numbers rest on: does a test notice when a line is another?

    python .ci/mutants.py --sample 25 --seed 0      as `make mutants` runs it; --sample 0 takes every mutant

A mutant is a module with one operator, comparison, constant or condition exchanged. Its tests run in a
forked process in which that module, and nothing else, is the mutant; libraries are imported once, before.
A mutant survives when all tests pass. Messages of errors, docstrings and annotations are not mutated.
Hypothesis draws the same examples every time, so that a score can be measured again.
"""

import argparse
import ast
import copy
import functools
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import hypothesis
import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
MODULES = {  # module → its tests
    "helpers.relations.scores": ["tests/relations/test_scores.py"],
    "helpers.relations.markers": ["tests/relations/test_markers.py"],
    "helpers.entities.scores": ["tests/entities/test_scores.py"],
    "helpers.entities.decoding": ["tests/entities/test_decoding.py"],
    "helpers.multilabel.thresholds": ["tests/multilabel/test_thresholds.py"],
    "helpers.multilabel.probing": ["tests/multilabel/test_probing.py"],
    "helpers.statistics": ["tests/test_statistics.py", "tests/test_comparison.py"],
    "helpers.text.alignment": ["tests/text/test_alignment.py"],
    "helpers.learning.averaging": ["tests/learning/test_averaging.py"],
}
SECONDS = 900  # after which a mutant counts as noticed: it hangs
# Mutants that no test can tell from the module, as printed but for the line's number, and why.
EXPLAINED = yaml.safe_load((ROOT / ".ci" / "equivalent.yaml").read_text(encoding="utf-8"))
COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
COMPARED |= {ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
COMPUTED |= {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Pow: ast.Mult, ast.Mod: ast.Mult}


def places(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that can be exchanged, in the order of the source."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if _exchanged(node):
            yield node
        for name, inner in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                holder = ast.Module(
                    body=[
                        one
                        for one in (inner if isinstance(inner, list) else [inner])
                        if isinstance(one, ast.AST)
                    ],
                    type_ignores=[],
                )
                yield from places(holder)


def _exchanged(node: ast.AST) -> str:
    """Say what a mutant does at a node, "" where it does nothing; `mutate` does it."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        return f"{type(node.ops[0]).__name__} → {COMPARED[type(node.ops[0])].__name__}"
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMPUTED:
        return f"{type(node.op).__name__} → {COMPUTED[type(node.op)].__name__}"
    if isinstance(node, ast.BoolOp):
        return "and ↔ or"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not | ast.Invert):
        return f"{type(node.op).__name__} dropped"
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        return f"{node.value} → {_other(node.value)}"
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        return "condition negated"
    return ""


def _other(value: float) -> float:
    return not value if isinstance(value, bool) else value + 1


def mutate(node: ast.AST) -> ast.AST:
    """Exchange a node in place; return what takes its place."""
    if isinstance(node, ast.Compare):
        node.ops[0] = COMPARED[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        node.op = COMPUTED[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.Constant):
        node.value = _other(node.value)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else node.op
        if not isinstance(node.op, ast.UAdd):  # `not x` and `~x` become x, as a double negation
            node.operand = ast.UnaryOp(copy.deepcopy(node.op), node.operand)
    return node


class Mutant(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An importer of one module, mutated at one place; without a number, as it is."""

    def __init__(self, module: str, number: int | None = None) -> None:
        self.module, self.path, self.line, self.said = module, _path(module), 0, ""
        self.tree = ast.parse(self.path.read_text(encoding="utf-8"))
        if number is not None:
            node = list(places(self.tree))[number]
            self.line, self.said = node.lineno, said(module, node)
            mutate(node)

    def find_spec(self, name, path=None, target=None):
        return (
            importlib.util.spec_from_loader(name, self, origin=str(self.path))
            if name == self.module
            else None
        )

    def exec_module(self, module) -> None:
        module.__file__ = str(self.path)
        exec(compile(ast.fix_missing_locations(self.tree), str(self.path), "exec"), module.__dict__)


def preload(module: str, tests: list[str]) -> None:
    """Import the libraries of a module and its tests, and the helpers below it, for the forked processes."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "helpers"]:
        del sys.modules[name]
    for name in ("torch", "transformers", "datasets", "pandas"):  # what a conftest's helpers import
        importlib.import_module(name)
    for path in (_path(module), *(ROOT / file for file in tests)):
        below = ("tests",) if path == _path(module) else ("tests", "helpers")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            for name in names:
                if name.partition(".")[0] not in below:
                    importlib.import_module(name)
    assert module not in sys.modules, f"{module} is imported by what it imports"


class Trial:
    """A pytest plugin that forks once for every mutant, before tests are collected: the child runs them."""

    def __init__(self, mutants: Iterable[Mutant], tests: list[str]) -> None:
        self.mutants, self.tests, self.survivors, self.forked = mutants, tests, [], False

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool | None:
        for mutant in self.mutants:
            if not (pid := os.fork()):
                self.forked = True
                assert mutant.module not in sys.modules, "imported before it was mutated"
                session.config.args[:] = self.tests  # only now: a conftest beside them may import the module
                return self._begin(mutant)
            if not os.waitpid(pid, 0)[1]:
                self.survivors.append(mutant)
                if mutant.line and mutant.said not in EXPLAINED:
                    print(f"survived  {mutant.line}: {mutant.said}", flush=True)
        return True  # nothing is left to collect

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The fast tests first: most mutants live no longer."""
        seconds = json.loads((ROOT / "tests" / "durations.json").read_text(encoding="utf-8"))
        items.sort(key=lambda item: seconds.get(item.nodeid, 0))

    def _begin(self, mutant: Mutant) -> None:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        signal.alarm(SECONDS)
        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]  # a failure need not be made small
        hypothesis.settings.register_profile(
            "mutants", deadline=None, database=None, derandomize=True, phases=phases
        )
        hypothesis.settings.load_profile("mutants")
        sys.meta_path.insert(0, mutant)


def survivors(mutants: Iterable[Mutant], tests: list[str]) -> list[Mutant]:
    """Return the mutants that the tests do not notice."""
    trial = Trial(mutants, tests)
    options = ["-x", "-s", "-m", "not slow and not real", "-o", "addopts="]
    options += [word for name in ("terminal", "xdist", "cacheprovider") for word in ("-p", f"no:{name}")]
    code = pytest.main([*options, "tests"], plugins=[trial])
    if trial.forked:
        os._exit(int(code != 0))
    return trial.survivors


def _path(module: str) -> Path:
    return ROOT / (module.replace(".", "/") + ".py")


@functools.cache
def _lines(module: str) -> list[str]:
    return _path(module).read_text(encoding="utf-8").splitlines()


def said(module: str, node: ast.AST) -> str:
    """Name a mutant by what it exchanges, and where in which line."""
    line = _lines(module)[node.lineno - 1]
    at = node.col_offset - (len(line) - len(line.lstrip()))
    return f"{module} {_exchanged(node)} at {at}: {line.strip()}"


def all_said(module: str) -> list[str]:
    return [said(module, node) for node in places(ast.parse("\n".join(_lines(module))))]


def main() -> int:
    parser = argparse.ArgumentParser("mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=25, help="mutants of a module, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="modules whose name contains this")
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ["OMP_NUM_THREADS"] = "1"
    (ROOT / "reports").mkdir(exist_ok=True)
    there = {name for module in MODULES for name in all_said(module)}
    if old := [name for name in EXPLAINED if name not in there]:
        print("explained, but no longer there:", *old, sep="\n")
        return 1
    table, unnoticed = [], []
    for module, tests in MODULES.items():
        if options.only not in module:
            continue
        start, count = time.time(), len(all_said(module))
        drawn = list(range(count))
        if options.sample and options.sample < count:
            drawn = sorted(random.Random(f"{module} {options.seed}").sample(drawn, options.sample))
        preload(module, tests)
        if not survivors([Mutant(module)], tests):
            print(f"{module}: its tests fail without a mutant", flush=True)
            return 1
        alive = survivors((Mutant(module, number) for number in drawn), tests)
        known = [mutant for mutant in alive if mutant.said in EXPLAINED]
        open_ones = [f"{mutant.line}: {mutant.said}" for mutant in alive if mutant not in known]
        tried = len(drawn) - len(known)
        row = {"module": module, "mutants": count, "tried": len(drawn), "explained": len(known)}
        score = 100 * (tried - len(open_ones)) / max(tried, 1)
        table.append(row | {"survived": len(open_ones), "score": round(score, 1)})
        unnoticed += open_ones
        tally = f"{len(drawn)} of {count} tried, {len(known)} explained, {len(open_ones)} survived"
        print(f"{module}: {tally}: {score:.1f} %  ({time.time() - start:.0f} s)", flush=True)
    (ROOT / "reports" / "mutants.json").write_text(
        json.dumps(
            {"seed": options.seed, "modules": table, "survivors": unnoticed}, ensure_ascii=False, indent=1
        )
        + "\n"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
