"""Mutation testing of the modules that numbers rest on: does a test notice when a line is another?

    python .ci/mutants.py --sample 25 --seed 0      as `make mutants` runs it; --sample 0 takes every mutant

A mutant is a module with one change: a comparison moved by its boundary or turned round, an operator,
constant or text exchanged, a condition negated, a statement or check removed, a result lost, an argument
dropped, `min` for `max`. One process imports the module and collects its tests; for each mutant a forked one
puts the change in place and runs them, the cheapest first, until one fails. A mutant survives when all pass;
one that takes far longer than the module itself counts as noticed. Messages of errors, docstrings and
annotations are not mutated. Hypothesis draws the same examples every time, so that a score can be measured
again.
"""

import argparse
import ast
import collections
import functools
import gc
import json
import os
import random
import resource
import signal
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

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
# A mutant may use this many times the processor time of the module itself, and some seconds; by the clock
# far more, because others may be busy on the machine.
PATIENCE, GRACE, CLOCK = 3, 10, 900
EXAMPLES = 50  # of Hypothesis, at most: fewer than the tests draw, so that a score is rather too low
# Mutants that no test can tell from the module, as printed but for the line's number, and why.
EXPLAINED = yaml.safe_load((ROOT / ".ci" / "equivalent.yaml").read_text(encoding="utf-8"))
COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div}
COMPUTED |= {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Pow: ast.Mult, ast.Mod: ast.Mult}
NAMES = {"min": "max", "any": "all", "minimum": "maximum", "argmin": "argmax", "floor": "ceil"}
NAMES |= {new: old for old, new in NAMES.items()} | {"sum": "max", "mean": "sum", "startswith": "endswith"}
OF_A_CLASS = ("__dict__", "__weakref__", "__module__", "__qualname__", "__doc__", "__annotations__")
LEFT_OUT = (ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr)


class Change(NamedTuple):
    """What a mutant does, where: `do` changes the tree in place."""

    kind: str
    words: str
    node: ast.AST
    do: Callable[[], object]


def changes(tree: ast.AST) -> Iterator[Change]:
    """Yield every change of a tree, in the order of the source."""
    for name, inner in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        several = inner if isinstance(inner, list) else [inner]
        for at, node in enumerate(several):
            if not isinstance(node, ast.AST) or isinstance(node, LEFT_OUT) or _only_told(node):
                continue
            if isinstance(node, ast.stmt):
                yield from _of_statement(node, functools.partial(several.__setitem__, at, ast.Pass()))
            yield from _of_expression(node)
            if not isinstance(node, ast.Raise):
                yield from changes(node)


def _only_told(node: ast.AST) -> bool:
    """Whether a statement is a docstring, or for type checkers."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of_statement(node: ast.stmt, remove: Callable[[], object]) -> Iterator[Change]:
    stored = isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple)
    if stored or isinstance(node, ast.Expr | ast.AugAssign | ast.Delete | ast.Continue | ast.Break):
        yield Change("statement", "removed", node, remove)
    if isinstance(node, ast.Raise):
        yield Change("check", "removed", node, remove)
    if isinstance(node, ast.Return) and node.value and not _is(node.value, None):
        yield Change("result", "lost", node, functools.partial(setattr, node, "value", ast.Constant(None)))
    if isinstance(node, ast.If | ast.While):
        yield Change("condition", "negated", node, functools.partial(_negate, node, "test"))


def _of_expression(node: ast.AST) -> Iterator[Change]:
    put = functools.partial(functools.partial, setattr, node)
    if isinstance(node, ast.Compare):
        for at, old in enumerate(node.ops):
            for new in COMPARED[type(old)]:
                do = functools.partial(node.ops.__setitem__, at, new())
                yield Change("comparison", _to(type(old).__name__, new.__name__), node, do)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMPUTED:
        new = COMPUTED[type(node.op)]
        yield Change("arithmetic", _to(type(node.op).__name__, new.__name__), node, put("op", new()))
    elif isinstance(node, ast.BoolOp):
        new = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield Change("condition", _to(type(node.op).__name__, new.__name__), node, put("op", new()))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield Change("arithmetic", "USub dropped", node, put("op", ast.UAdd()))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        twice = ast.UnaryOp(type(node.op)(), node.operand)  # the type stays that of the operator
        yield Change("condition", f"{type(node.op).__name__} dropped", node, put("operand", twice))
    elif isinstance(node, ast.IfExp):
        yield Change("condition", "negated", node, functools.partial(_negate, node, "test"))
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield Change("condition", "negated", node.ifs[0], functools.partial(_negate, node.ifs, 0))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str):
        kind = "text" if isinstance(node.value, str) else "constant"
        yield Change(
            kind, _to(repr(node.value), repr(_other(node.value))), node, put("value", _other(node.value))
        )
    elif isinstance(node, ast.Call):
        yield from _of_call(node)


def _of_call(node: ast.Call) -> Iterator[Change]:
    name = "attr" if isinstance(node.func, ast.Attribute) else "id"
    called = getattr(node.func, name, "")
    if called in NAMES:
        yield Change(
            "call",
            _to(called, NAMES[called]),
            node,
            functools.partial(setattr, node.func, name, NAMES[called]),
        )
    for at, one in enumerate(node.keywords):
        if one.arg:
            yield Change(
                "argument", f"{one.arg} dropped", one.value, functools.partial(node.keywords.pop, at)
            )
    if len(node.args) > 1 and not isinstance(node.args[-1], ast.Starred):
        yield Change("argument", "last dropped", node.args[-1], node.args.pop)


def _to(old: str, new: str) -> str:
    return f"{old} → {new}"


def _is(node: ast.AST, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _other(value: bool | float | str) -> bool | float | str:
    if isinstance(value, bool):
        return not value
    return f"{value}x" if isinstance(value, str) else value + 1


def _negate(holder: ast.AST | list, place: str | int) -> None:
    if isinstance(holder, list):
        holder[place] = ast.UnaryOp(ast.Not(), holder[place])
    else:
        setattr(holder, place, ast.UnaryOp(ast.Not(), getattr(holder, place)))


class Mutant:
    """A module changed at one place; without a number, as it is."""

    def __init__(self, module: str, number: int | None = None) -> None:
        self.module, self.path, self.line, self.said, self.kind = module, _path(module), 0, "", ""
        self.tree = ast.parse("\n".join(_lines(module)))
        self.statements = self.tree.body
        if number is not None:
            change = list(changes(self.tree))[number]
            self.line, self.said, self.kind = change.node.lineno, said(module, change), change.kind
            self.statements = self._around(change.node)
            change.do()

    def _around(self, node: ast.AST) -> list[ast.stmt]:
        """Return what has to be executed anew: a function or class and what is made by it, or all of it."""
        top = next(one for one in self.tree.body if any(node is inner for inner in ast.walk(one)))
        if not isinstance(top, ast.FunctionDef | ast.ClassDef):
            return self.tree.body
        values = [one for one in self.tree.body if isinstance(one, ast.Assign | ast.AnnAssign)]
        return [top, *(one for one in values if top.name in _names(one))]

    def put_in_place(self) -> None:
        """Execute the change in the imported module, and give it to everyone who has imported from there.

        Functions and classes keep their identity and get new code; other values are exchanged by name.
        """
        names = vars(sys.modules[self.module])
        before = dict(names)
        only = ast.fix_missing_locations(ast.Module(body=self.statements, type_ignores=[]))
        exec(compile(only, str(self.path), "exec"), names)
        for name, old in before.items():
            new = names[name]
            if new is old:
                continue
            if _become(old, new):
                names[name] = old
                continue
            for other, module in list(sys.modules.items()):
                if other.partition(".")[0] in ("helpers", "tests") and vars(module).get(name) is old:
                    setattr(module, name, new)


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _become(old: object, new: object) -> bool:
    """Give a function or class what the other one has; False for other values, and for wrapped functions."""
    if isinstance(old, types.FunctionType) and isinstance(new, types.FunctionType):
        if old.__code__.co_freevars not in ((), ("__class__",)):
            return False
        old.__code__, old.__defaults__, old.__kwdefaults__ = (
            new.__code__,
            new.__defaults__,
            new.__kwdefaults__,
        )
        return True
    if not (isinstance(old, type) and isinstance(new, type)):
        return False
    for name in vars(old).keys() - vars(new).keys():
        delattr(old, name)
    for name, value in dict(vars(new)).items():
        if not _become(vars(old).get(name), value) and name not in OF_A_CLASS:
            setattr(old, name, value)
    return True


class Trial:
    """A pytest plugin that forks once for every mutant when its tests are collected: the child runs them."""

    def __init__(self, mutants: Iterable[Mutant]) -> None:
        self.mutants, self.tried, self.forked = mutants, [], False
        self.seconds: dict[str, float] = collections.Counter()  # of the processor, by test

    def pytest_sessionstart(self) -> None:
        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]  # a failure need not be made small
        hypothesis.settings.register_profile(
            "mutants", deadline=None, database=None, derandomize=True, phases=phases, max_examples=EXAMPLES
        )
        hypothesis.settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if drawn := getattr(item.obj, "_hypothesis_internal_use_settings", None):
                fewer = min(drawn.max_examples, EXAMPLES)
                item.obj._hypothesis_internal_use_settings = hypothesis.settings(drawn, max_examples=fewer)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        gc.freeze()
        limit = None
        for mutant in (Mutant(next(iter(self.mutants)).module), *self.mutants):
            mine, theirs = os.pipe()
            if not (pid := os.fork()):
                self.forked, self.pipe = True, theirs
                self._begin(mutant, limit)
                return None  # pytest goes on in the child
            os.close(theirs)
            told = os.fdopen(mine).read()
            _, status, used = os.wait4(pid, 0)
            mutant.killed, mutant.seconds = bool(status), used.ru_utime + used.ru_stime
            mutant.late = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGALRM)
            if not mutant.said:
                if mutant.killed:
                    raise SystemExit(f"{mutant.module}: its tests fail without a change: {told}")
                seconds, limit = json.loads(told), int(PATIENCE * mutant.seconds + GRACE)
                session.items.sort(key=lambda item: seconds[item.nodeid])
                continue
            self.tried.append(mutant)
            if not mutant.killed and mutant.said not in EXPLAINED:
                print(f"survived  {mutant.line}: {mutant.said}", flush=True)
        return True

    def _begin(self, mutant: Mutant, limit: int | None) -> None:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        signal.alarm(CLOCK)
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        try:
            mutant.put_in_place()
        except Exception:
            os._exit(1)  # it cannot be imported: every test notices

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        start = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - start
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def pytest_sessionfinish(self) -> None:
        if self.forked:
            told = getattr(self, "failed", None) or json.dumps(self.seconds)
            os.write(self.pipe, told.encode())


def tried(mutants: list[Mutant], tests: list[str]) -> list[Mutant]:
    """Run the tests against each mutant; it has `killed`, `late` and `seconds` then."""
    trial = Trial(mutants)
    options = ["-x", "-s", "-m", "not slow and not real", "-o", "addopts="]
    options += [word for name in ("terminal", "xdist", "cacheprovider") for word in ("-p", f"no:{name}")]
    code = pytest.main([*options, *tests], plugins=[trial])
    if trial.forked:
        os._exit(int(code != 0))
    return trial.tried


def _path(module: str) -> Path:
    return ROOT / (module.replace(".", "/") + ".py")


@functools.cache
def _lines(module: str) -> list[str]:
    return _path(module).read_text(encoding="utf-8").splitlines()


def said(module: str, change: Change) -> str:
    """Name a mutant by what it changes, and where in which line."""
    line = _lines(module)[change.node.lineno - 1]
    at = change.node.col_offset - (len(line.encode()) - len(line.lstrip().encode()))
    return f"{module} {change.kind} {change.words} at {at}: {line.strip()}"


def all_said(module: str) -> list[str]:
    return [said(module, change) for change in changes(ast.parse("\n".join(_lines(module))))]


def drawn(module: str, sample: int, seed: int) -> list[int]:
    """Return the numbers of the mutants to try: all, or a sample; those that are explained are left out."""
    names = all_said(module)
    numbers = list(range(len(names)))
    if sample and sample < len(names):
        numbers = sorted(random.Random(f"{module} {seed}").sample(numbers, sample))
    return [number for number in numbers if names[number] not in EXPLAINED]


def outdated() -> list[str]:
    """Return the explanations of mutants that are no longer there."""
    there = {name for module in MODULES for name in all_said(module)}
    return [name for name in EXPLAINED if name not in there]


def record(rows: dict[str, dict]) -> None:
    """Put these modules' rows into the record for README; those of other modules stay."""
    from tests import proof

    file = proof.FOLDER / "mutants.json"
    known = json.loads(file.read_text(encoding="utf-8"))["modules"] if file.is_file() else {}
    known |= rows
    proof.record("mutants", {"modules": {module: known[module] for module in MODULES if module in known}})


def main() -> int:
    parser = argparse.ArgumentParser("mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=25, help="mutants of a module, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="modules whose name contains this")
    parser.add_argument("--record", action="store_true", help="for README, with `make readme`")
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ["OMP_NUM_THREADS"] = "1"
    if old := outdated():
        print("explained, but no longer there:", *old, sep="\n")
        return 1
    kinds, rows = collections.defaultdict(list), {}
    for module, tests in MODULES.items():
        if options.only not in module:
            continue
        mutants = tried([Mutant(module, one) for one in drawn(module, options.sample, options.seed)], tests)
        names, killed = all_said(module), sum(mutant.killed for mutant in mutants)
        explained = sum(name in EXPLAINED for name in names)
        rows[module] = {
            "mutants": len(names),
            "explained": explained,
            "tried": len(mutants),
            "killed": killed,
        }
        late, seconds = sum(mutant.late for mutant in mutants), sum(mutant.seconds for mutant in mutants)
        print(
            f"{module}: {killed} of {len(mutants)} noticed, {100 * killed / max(len(mutants), 1):.1f} %; of "
            f"{len(names)} in all, {explained} explained; {late} by their time, {seconds:.0f} s of processor",
            flush=True,
        )
        for mutant in mutants:
            kinds[mutant.kind].append(mutant.killed)
    for kind, noticed in sorted(kinds.items()):
        print(f"{kind:12} {sum(noticed)} of {len(noticed)}")
    if options.record:
        record(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
