"""Many configurations of one function, each computed once: `sweep(function, configs)` gives one tidy frame.

Results live in plain files named by their content, so an interrupted sweep goes on where it stopped, a
finished one costs milliseconds, and notebooks that run at once share the work. Files are in `store`;
where calls run is in `workers`, `launched` and `cluster`; what they compute is the caller's.
"""

import functools
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from helpers.sweeps import cluster, files, jobs, launched
from helpers.sweeps import workers as local
from helpers.sweeps.code import code_version, trains
from helpers.sweeps.jobs import Job, Outcome
from helpers.sweeps.store import Store

ENGINES = ("local", "ray", "launch")
RESERVED = ("folder", "status", "error", "seconds")  # the last columns of every frame
WAIT = 0.2  # seconds between looks at configurations that another process is computing


def sweep(
    function: Callable[..., Mapping[str, object]],
    configs: Iterable[Mapping[str, object]],
    *,
    name: str,
    fingerprint: str = "",
    shared: Mapping[str, object] | None = None,
    workers: int | None = None,
    engine: str | None = None,
    failed: Literal["raise", "keep"] = "raise",
):
    """Call `function(**config, **shared)` for every config; return a DataFrame with a row for each, in order.

    Columns: the config's, the result's, `folder` where the function has a parameter of that name (a folder
    for its artefacts, kept with the result), then `status` ("ok" or "failed"), `error` and `seconds`. A call
    that raises, or a worker that is killed, gives a failed row, which the next sweep tries again. By default
    that raises RuntimeError once all others are computed and kept; `failed="keep"` returns the row.

    Finished rows are reused when function, config, `fingerprint` and code are the same; code means the module
    of the function and every helpers module it imports. A path in a config stands for what it holds. `shared`
    is what all calls get (data, tokenizers): it is not part of a row's identity, so `fingerprint` must stand
    for it. A call that is interrupted finds its `folder / "checkpoints"` again in the next sweep; the folder
    is empty otherwise, and a finished row keeps no checkpoints.
    `workers`: by default one per GPU, else one per core, or as many as OMP_NUM_THREADS gives this process of
    the machine; small models gain more from a core each than from sharing two. One worker runs in this
    process. `engine`: by default what NUNCHI_ENGINE says, else "local"; "ray" computes on a cluster, "launch"
    trains one configuration at a time over all GPUs (or `workers` processes). A row's place in the cache does
    not depend on it.
    """
    if shared and not fingerprint:
        raise ValueError("`shared` is not in the cache key: pass fingerprint=sweeps.fingerprint(…) of it")
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        raise ValueError(
            "a sweep gives every configuration one process, and `accelerate launch` has started several for "
            "one: they would average different models. Start it plainly: it uses every GPU by itself, and "
            "all of them for one model with --engine launch (NUNCHI_ENGINE=launch)"
        )
    engine = engine or os.environ.get("NUNCHI_ENGINE") or "local"
    if engine not in ENGINES:
        raise ValueError(f"engine is one of {', '.join(ENGINES)}, got {engine!r}")
    if engine == "launch" and not trains(function.__module__):
        engine = "local"  # nothing to share among processes
    grid = _Grid(function, configs, name=name, data=fingerprint)
    if grid.open:
        grid.run(_engine(engine, workers, shared or {}))
    frame = grid.frame()
    wrong = frame[frame["status"] == "failed"]
    if failed == "raise" and len(wrong):
        raise RuntimeError(
            f"{len(wrong)} of {len(frame)} runs of {name!r} failed; the first: {wrong['error'].iloc[0]}. "
            "Finished runs are kept: mend the cause and run it again"
        )
    return frame


def fingerprint(*parts: Any) -> str:
    """Hash what the arguments hold: strings, JSON-like values, `datasets.Dataset`s (row by row)."""
    digest = hashlib.sha256()
    for part in parts:
        rows = part if type(part).__name__ == "Dataset" else [part]
        for row in rows:
            digest.update(_canonical(row).encode() + b"\n")
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def _canonical(value: object) -> str:
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    except TypeError as error:
        raise ValueError(f"{error}: configs and fingerprints are made of plain JSON values") from None


def _engine(engine: str, workers: int | None, shared: Mapping[str, object]) -> Callable:
    if engine == "ray":
        return functools.partial(cluster.ray_tasks, shared=shared)
    environments = local.environments(workers)
    if len(environments) == 1:
        return functools.partial(local.in_process, shared=shared)
    spread = launched.launched if engine == "launch" else local.processes
    return functools.partial(spread, environments=environments, shared=shared)


def _known_by(leaf: object) -> object:
    """What a value is in a cache key: a path is what it holds."""
    path = files.located(leaf)
    return {"content": files.digest(path)} if path else leaf


class _Grid:
    """The rows of one sweep: which are known, which are ours to compute, which another process computes."""

    def __init__(self, function: Callable, configs: Iterable[Mapping], *, name: str, data: str):
        if not re.fullmatch(r"[\w.-]+", name):
            raise ValueError(f"a sweep's name is a folder: letters, digits, '.', '_' and '-', got {name!r}")
        self.configs = [dict(config) for config in configs]
        if taken := sorted({column for config in self.configs for column in config} & set(RESERVED)):
            raise ValueError(f"config names {taken} are columns of every sweep; rename them")
        self.name, self.store = name, Store(name)
        self.function, self.wants_folder = jobs.address(function), jobs.wants_folder(function)
        identity = [self.function, data, code_version(function.__module__)]
        self.keys = [fingerprint(identity, files.replaced(config, _known_by)) for config in self.configs]
        self.rows = {key: row for key in self.keys if (row := self.store.read(key))}
        self.open = {
            key: config for key, config in zip(self.keys, self.configs, strict=True) if key not in self.rows
        }
        self.locks: dict[str, Any] = {}

    def run(self, engine: Callable) -> None:
        """Compute what is open; rows that other processes hold are read once they are there."""
        from tqdm import tqdm

        self.store.discard_old()
        total = len(self.rows) + len(self.open)
        with tqdm(total=total, initial=len(self.rows), desc=self.name, file=sys.stdout) as progress:
            try:
                while self.open:
                    for job, outcome in engine(self._take):
                        self._close(job, outcome)
                        if step := (outcome.result or {}).get("resumed_from"):
                            progress.write(f"{self.name}: went on from step {step} of an interrupted run")
                        progress.update(len(self.rows) - progress.n)
                    time.sleep(WAIT if self.open else 0)
                progress.update(len(self.rows) - progress.n)
            finally:
                for lock in self.locks.values():
                    lock.release()

    def _take(self) -> Job | None:
        """Lock a configuration nobody has and return it as a job; None when there is none just now."""
        for key in [key for key in self.open if key not in self.locks]:
            if (lock := self.store.lock(key)) is None:
                continue
            if row := self.store.read(key):  # another process has finished it in the meantime
                lock.release()
                self.rows[key] = row
                del self.open[key]
                continue
            self.locks[key] = lock
            return Job(key, self.function, self.open[key], self.store.stage(key), self.store.log(key))
        return None

    def _close(self, job: Job, outcome: Outcome) -> None:
        row = {"result": outcome.result or {}, "error": outcome.error, "seconds": round(outcome.seconds, 3)}
        if outcome.result is not None:
            self.store.publish(job.key, {"config": job.config, **row})
        elif not outcome.killed:
            self.store.discard(job.key)
        self.locks.pop(job.key).release()
        self.rows[job.key] = row
        del self.open[job.key]

    def frame(self):
        import pandas as pd

        rows = []
        for key, config in zip(self.keys, self.configs, strict=True):
            row = self.rows[key]
            end = (
                str(self.store.files(key)),
                "failed" if row["error"] else "ok",
                row["error"],
                row["seconds"],
            )
            rows.append({**config, **row["result"], **dict(zip(RESERVED, end, strict=True))})
        tail = RESERVED if self.wants_folder else RESERVED[1:]
        columns = dict.fromkeys(column for config in self.configs for column in config)
        columns |= dict.fromkeys(column for key in self.keys for column in self.rows[key]["result"])
        return pd.DataFrame(rows, columns=[*columns, *tail])
