"""What a notebook would hand to its sweeps: its cells tagged `plan`, run without data.

Parameters, configs and grids are the notebook's own; data, scores and tables are `Unknown`, which takes part
in anything and is empty. Functions of the package are not called, but for a few that only look at
parameters; those that train write down what they are given instead.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import importlib
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

CONFIGS = ("RelationConfig", "TaggerConfig", "NGrams", "Network", "MaskedLMConfig")
CALLED = ("configured", "sized", "cells")  # functions that look at parameters only
TRAIN = ("train", "sweep", "score_posts", "score_characters", "evaluate")
SILENT = ("helpers.display", "helpers.corpora", "helpers.statistics", "helpers.declarations")


class PlannedRun(NamedTuple):
    """One entry of a sweep: its name, what it calls, the config, and the part of the data if it has parts."""

    sweep: str
    function: str
    config: Any
    part: tuple = ()


class Unknown:
    """What a plan does not know. It is empty, and whatever is done with it is unknown too."""

    def __init__(self, name: str = ""):
        self._name = name

    def __getattr__(self, name: str) -> Unknown:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unknown(name)

    def __iter__(self):
        return iter(())

    def __len__(self) -> int:
        return 0

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __format__(self, spec: str) -> str:
        return "?"

    def _same(self, *_: Any, **__: Any) -> Unknown:
        return Unknown(self._name)

    __call__ = __getitem__ = __invert__ = __neg__ = __and__ = __or__ = __add__ = __radd__ = _same
    __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __gt__ = __lt__ = __ge__ = (
        __le__
    ) = _same


class _Space(dict):
    """A notebook's names; those that its plan does not define are unknown."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        if name == "chosen" and "cells" in self:  # what validation will choose: the first stands for it
            return next(iter(self["cells"]))
        return self.setdefault(name, Unknown(name))


def record(cells: Sequence[str], plan: Sequence[str], values: Mapping[str, Any]) -> list[PlannedRun]:
    """Return what the cells tagged `plan` would train, each run once.

    `cells` are all code cells, for their imports; `values` are the notebook's parameters.
    """
    recorder = _Recorder()
    space = _Space(values, any=lambda values: isinstance(values, Unknown) or builtins.any(values))
    trees = [ast.parse(source).body for source in plan]
    wanted = {
        node.id for tree in trees for part in tree for node in ast.walk(part) if isinstance(node, ast.Name)
    }
    for statement in [node for source in cells for node in ast.parse(source).body]:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            space.update(_imported(statement, wanted, recorder))
    for tree in trees:
        _execute(tree, space)
    return list(dict.fromkeys(recorder.runs))


def _execute(tree: list[ast.stmt], space: _Space) -> None:
    """Run a cell; what follows its last sweep reads results, and is run as far as it goes."""
    at = [number for number, statement in enumerate(tree) if _trains(statement)]
    for number, statement in enumerate(tree):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue  # bound already, as a plan sees them
        _cut(statement)
        try:
            exec(compile(ast.Module([statement], []), "<plan>", "exec"), space)
        except Exception:
            if not at or number <= at[-1]:
                raise


def _cut(statement: ast.AST) -> None:
    """End loops and conditions behind what trains in them: the rest reads results."""
    if isinstance(statement, ast.If | ast.For) and builtins.any(map(_trains, statement.body)):
        last = max(number for number, inner in enumerate(statement.body) if _trains(inner))
        statement.body = statement.body[: last + 1]
        _cut(statement.body[-1])


def _trains(statement: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in TRAIN
        for node in ast.walk(statement)
    )


def _imported(
    statement: ast.Import | ast.ImportFrom, wanted: set[str], recorder: _Recorder
) -> dict[str, Any]:
    """Return the names that an import binds, as a plan sees them."""
    home = getattr(statement, "module", None)
    found: dict[str, Any] = {}
    for alias in statement.names:
        name = alias.asname or alias.name.partition(".")[0]
        root = (home or alias.name).partition(".")[0]
        if name not in wanted:
            continue
        if root in sys.stdlib_module_names:
            module = importlib.import_module(home or alias.name)
            found[name] = getattr(module, alias.name) if home else module
            if found[name] is dataclasses.replace:
                found[name] = _replaced
        elif root == "helpers" and not f"{home}.".startswith(SILENT) and f"helpers.{name}" not in SILENT:
            found[name] = recorder.seen(_attribute(str(home), alias.name), alias.name)
        else:
            found[name] = Unknown(name)
    return found


def _replaced(config: Any, **changes: Any) -> Any:
    return Unknown("part") if isinstance(config, Unknown) else dataclasses.replace(config, **changes)


def _attribute(home: str, name: str) -> Any:
    module = importlib.import_module(home)
    return getattr(module, name) if hasattr(module, name) else importlib.import_module(f"{home}.{name}")


class _Module:
    """A module of the package as a plan sees it."""

    def __init__(self, module: ModuleType, recorder: _Recorder):
        self._module, self._recorder = module, recorder

    def __getattr__(self, name: str) -> Any:
        return self._recorder.seen(getattr(self._module, name), name, self._module.__name__)


class _Recorder:
    """Stands in for what trains, and for what the cells between two sweeps need of its results."""

    def __init__(self) -> None:
        self.runs: list[PlannedRun] = []
        self.stand_ins: dict[str, Callable] = {
            "helpers.relations.results.train": self._train,
            "helpers.entities.results.train": self._train_taggers,
            "helpers.sweeps.sweep": self._sweep,
            "helpers.multilabel.results.score_posts": self._score_posts,
            "helpers.multilabel.results.score_characters": self._score_characters,
            "helpers.multilabel.folds.assign": lambda labels, **how: ("draw", *sorted(how.items())),
            "helpers.pretrained.encoders": self._encoders,
            "helpers.pretrained.encoder": lambda data, name, how, **text: self._encoders(
                data, [name], how, **text
            )[name],
            "helpers.coreference.evaluation.list_checkpoints": _list_checkpoints,
            "helpers.coreference.evaluation.evaluate": lambda table, **_: (table, table),
            "helpers.coreference.evaluation.choose": _choose,
            "helpers.coreference.evaluation.nearest": _nearest,
        }

    def seen(self, value: Any, name: str, home: str = "") -> Any:
        """Return a module, class, function or constant of the package as a plan sees it."""
        home = home or getattr(value, "__module__", "")
        if stand_in := self.stand_ins.get(f"{home}.{name}"):
            return stand_in
        if isinstance(value, ModuleType):
            return _Module(value, self)
        if isinstance(value, type):
            return value if dataclasses.is_dataclass(value) and name in CONFIGS else Unknown(name)
        if isinstance(value, FunctionType) or callable(value):
            return value if name in CALLED else Unknown(name)
        return value

    def _train(self, splits: Any, configs: Sequence[Any], *, name: str) -> Unknown:
        self.runs += [PlannedRun(name, "train_and_score", config, (splits,)) for config in configs]
        return Unknown(name)

    def _train_taggers(self, parts: Any, encodings: Any, configs: Sequence[Any], *, name: str) -> Unknown:
        self.runs += [PlannedRun(name, "train_tagger", config) for config in configs]
        return Unknown(name)

    def _encoders(self, data: str, names: Sequence[str], settings: Mapping[str, Any], **text: Any):
        from helpers.pretrained import NAME, TEXTS, Encoder, settings_of

        own = {key: value for key, value in settings.items() if key not in TEXTS}
        texts = ", ".join(settings.get("only", ()))
        part = ("posts" if "texts" in text else data, settings.get("sentences"), texts)
        self.runs += [PlannedRun(NAME, "pretrain", settings_of(name, own), part) for name in names]
        on_the_way = [f"snapshot {number + 1}" for number in range(own.get("snapshots", 0))]
        folders = {name: " ".join(filter(None, (NAME, name, texts))) for name in names}
        return {
            name: Encoder(folder, {}, tuple(f"{folder}, {one}" for one in on_the_way))
            for name, folder in folders.items()
        }

    def _sweep(self, function: Unknown, configs: Sequence[Mapping], *, name: str, **_: Any):
        import pandas as pd

        configs = [dict(config) for config in configs]
        self.runs += [PlannedRun(name, function._name, _Settings(config)) for config in configs]
        frame = pd.DataFrame(configs)
        return frame.assign(folder=[f"{name}-{number}" for number in range(len(frame))])

    def _score_posts(self, models, posts, assigned, *, left_out, seed: int = 0) -> Unknown:
        for model, folds in itertools.product(models.values(), left_out):
            if type(model).__name__ == "Network":  # n-grams take seconds, and no GPU
                self.runs.append(
                    PlannedRun("techniques", "score_left_out", model, (assigned, tuple(folds), seed))
                )
        return Unknown("scores")

    def _score_characters(self, taggers, posts, assigned, *, without, seed: int = 0) -> Unknown:
        part = (assigned, tuple(without), seed)
        self.runs += [PlannedRun("trigger-spans", "tag_left_out", one, part) for one in taggers.values()]
        return Unknown("characters")


class _Settings:
    """A config as a sweep gets it, its fields as attributes; equal where the fields are."""

    def __init__(self, fields: Mapping[str, Any]):
        self.__dict__.update(fields)

    def _key(self) -> str:
        return repr(sorted(self.__dict__.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Settings) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _list_checkpoints(bases, runs):
    """Return one checkpoint of every run, its last."""
    columns = ["run", "seed", "identity", "curriculum", "length"]
    return runs[columns].assign(step=0, checkpoint=runs["folder"])


def _nearest(table, run: str, step: float):
    """Return another checkpoint of the run than the chosen one."""
    return table[table["run"] == run].assign(checkpoint=f"{run}, step {step}")


def _choose(table, answers, by: str, **_: Any):
    return table.drop_duplicates([by, "seed"])
