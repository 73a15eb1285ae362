"""One call of a sweep: the job, what it gives, and how it is run. Where: `workers`, `cluster`.

An engine is a generator. It asks `take()` for a job whenever a slot is free (None: nothing to take now) and
yields `(job, outcome)` as calls finish, in any order. Caching, locking and retries belong to the sweep.
"""

import contextlib
import importlib
import inspect
import json
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """One call: `function` is "module:name", `folder` is for its artefacts, `log` a file for its output."""

    key: str
    function: str
    config: Mapping[str, object]
    folder: Path
    log: Path


@dataclass(frozen=True)
class Outcome:
    """What a call gave: plain JSON values, or the error's text."""

    result: dict | None
    error: str
    seconds: float
    killed: bool = False  # the worker died: the next attempt may go on from the call's checkpoints


Take = Callable[[], Job | None]


def address(function: Callable) -> str:
    """Name a function so that another process can import it: "module:name"."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module in (None, "__main__") or "<" in name or inspect.isclass(function) or not name:
        raise ValueError(
            f"sweep() needs a function at the top level of an importable module, got {function!r}: workers "
            "import it by name and the cache hashes its source; move it to helpers/"
        )
    return f"{module}:{name}"


def wants_folder(function: Callable) -> bool:
    return "folder" in inspect.signature(function).parameters


def call(job: Job, shared: Mapping[str, object]) -> Outcome:
    """Run one job; whatever it raises becomes the outcome's error, with the traceback in the log."""
    start = time.perf_counter()
    with (
        job.log.open("a", encoding="utf-8", errors="replace") as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        try:
            module, _, name = job.function.partition(":")
            function = getattr(importlib.import_module(module), name)
            folder = {"folder": job.folder} if wants_folder(function) else {}
            result = _plain(function(**job.config, **shared, **folder), job.config)
            return Outcome(result, "", time.perf_counter() - start)
        except (Exception, SystemExit) as error:
            traceback.print_exc(file=log)
            return Outcome(None, f"{type(error).__name__}: {error}", time.perf_counter() - start)


def _plain(result: object, config: Mapping[str, object]) -> dict:
    """Check a call's result and pass it through JSON, so that fresh and cached rows are the same."""
    if not isinstance(result, Mapping):
        raise ValueError(f"the function returned {type(result).__name__}, not a mapping of result columns")
    if repeated := sorted(set(result) & {*config, "status", "error", "seconds", "folder"}):
        raise ValueError(f"result columns {repeated} already exist in the row; rename them")
    return json.loads(json.dumps(dict(result), default=_scalar))


def _scalar(value: object) -> object:
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    raise ValueError(f"{type(value).__name__} is not JSON; return plain numbers, or save it to `folder`")
