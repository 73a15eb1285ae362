"""Mutation testing of the modules that numbers rest on: does a test notice when a line is another?

    python .ci/mutants.py --sample 25 --seed 0      as `make mutants` runs it; --sample 0 takes every mutant

A mutant is a module with one operator, comparison, constant or condition exchanged. Its fast tests run in a
forked process in which that module, and nothing else, is the mutant; libraries are imported once, before.
A mutant survives when all tests pass. Messages of errors, docstrings and annotations are not mutated.
"""

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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
# Mutants that compute the same, or that only cost time, by module and place as printed; each says why.
EXPLAINED: dict[str, str] = {}
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
        self.module, self.path = module, ROOT / (module.replace(".", "/") + ".py")
        self.tree = ast.parse(self.path.read_text(encoding="utf-8"))
        if number is None:
            return
        node = list(places(self.tree))[number]
        line = self.path.read_text(encoding="utf-8").splitlines()[node.lineno - 1].strip()
        self.said = f"{module}:{node.lineno}:{node.col_offset} {_exchanged(node)}: {line}"
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


def preload(files: list[str]) -> None:
    """Import the libraries that files import, so that every forked process has them."""
    for file in files:
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += (
                [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
            )
            for name in names:
                if name.partition(".")[0] not in ("helpers", "tests"):
                    importlib.import_module(name)


def noticed(mutant: Mutant, tests: list[str]) -> bool:
    """Tell whether a test fails in a process in which the module is the mutant."""
    pid = os.fork()
    if not pid:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        signal.alarm(SECONDS)
        import pytest

        sys.meta_path.insert(0, mutant)
        options = ["-x", "-q", "--fast", "-p", "no:xdist", "-p", "no:cacheprovider", "--no-header"]
        os._exit(int(pytest.main([*options, *tests]) != 0))
    return os.waitpid(pid, 0)[1] != 0


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
    table, survivors = [], []
    for module, tests in MODULES.items():
        if options.only not in module:
            continue
        count = len(
            list(places(ast.parse((ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8"))))
        )
        drawn = range(count)
        if options.sample and options.sample < count:
            drawn = sorted(random.Random(f"{module} {options.seed}").sample(drawn, options.sample))
        preload([module.replace(".", "/") + ".py", *tests])
        if noticed(Mutant(module), tests):
            print(f"{module}: its tests fail without a mutant", flush=True)
            return 1
        start, alive = time.time(), []
        for number in drawn:
            mutant = Mutant(module, number)
            if not noticed(mutant, tests):
                alive.append(mutant.said)
                print(f"survived  {mutant.said}", flush=True)
        known = [said for said in alive if any(said.startswith(place) for place in EXPLAINED)]
        tried = len(drawn) - len(known)
        score = 100 * (tried - len(alive) + len(known)) / max(tried, 1)
        row = {
            "module": module,
            "mutants": count,
            "tried": len(drawn),
            "survived": len(alive),
            "explained": len(known),
        }
        table.append(row | {"score": round(score, 1)})
        survivors += alive
        tally = f"{len(drawn)} of {count} tried, {len(alive)} survived, {len(known)} explained"
        print(f"{module}: {tally}: {score:.1f} %  ({time.time() - start:.0f} s)", flush=True)
    (ROOT / "reports" / "mutants.json").write_text(
        json.dumps(
            {"seed": options.seed, "modules": table, "survivors": survivors}, ensure_ascii=False, indent=1
        )
        + "\n"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
