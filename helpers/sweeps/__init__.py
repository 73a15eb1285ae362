"""Many configurations of one function, each computed once: `sweep(function, configs)` gives one tidy frame.

Results live in plain files named by their content, so an interrupted sweep goes on where it stopped, a
finished one costs milliseconds, and notebooks that run at once share the work. Where calls run is the
business of `engines`; what they compute is the caller's.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from helpers.sweeps import engines
from helpers.sweeps.engines import Job, Outcome

RESERVED = ("folder", "status", "error", "seconds")  # the last columns of every frame
LIBRARIES = ("numpy", "tokenizers", "torch", "transformers")  # another version may give another result
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

    Columns: the config's, the result's, `folder` where the function has a parameter of that name (an empty
    folder for its artefacts, kept with the result), then `status` ("ok" or "failed"), `error` and `seconds`.
    A call that raises, or a worker that is killed, gives a failed row, which the next sweep tries again. By
    default that raises RuntimeError once all others are computed and kept; `failed="keep"` returns the row.

    Finished rows are reused when function, config, `fingerprint` and code are the same; code means the module
    of the function and every helpers module it imports. `shared` is what all calls get (data, tokenizers): it
    is not part of a row's identity, so `fingerprint` must stand for it.
    `workers`: by default one per GPU, else one per core, or as many as OMP_NUM_THREADS gives this process of
    the machine; small models gain more from a core each than from sharing two. One worker runs in this
    process. `engine`: "local" or "ray"; by default what NUNCHI_ENGINE says, else "local".
    """
    if shared and not fingerprint:
        raise ValueError("`shared` is not in the cache key: pass fingerprint=sweeps.fingerprint(…) of it")
    engine = engine or os.environ.get("NUNCHI_ENGINE") or "local"
    if engine not in ("local", "ray"):
        raise ValueError(f'engine is "local" or "ray", got {engine!r}')
    board = _Board(function, configs, name=name, data=fingerprint)
    if board.open:
        board.run(_engine(engine, workers, shared or {}))
    frame = board.frame()
    wrong = frame[frame["status"] == "failed"]
    if failed == "raise" and len(wrong):
        raise RuntimeError(
            f"{len(wrong)} of {len(frame)} runs of {name!r} failed; the first: {wrong['error'].iloc[0]}. "
            "The others are kept: mend the cause and run it again"
        )
    return frame


def fingerprint(*parts: object) -> str:
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


def cache_folder() -> Path:
    """The folder of all sweeps: below NUNCHI_CACHE, or `.cache` beside the package."""
    beside = Path(__file__).resolve().parents[2] / ".cache"
    return Path(os.environ.get("NUNCHI_CACHE") or beside) / "sweeps"


@functools.cache
def code_version(module: str) -> str:
    """Hash the sources of a module and of the helpers modules it imports, directly or not."""
    sources: dict[str, str] = {}
    queue = [module]
    while queue:
        if (current := queue.pop()) not in sources:
            sources[current] = Path(importlib.util.find_spec(current).origin).read_text(encoding="utf-8")
            queue += _imported_helpers(current, sources[current])
    return fingerprint(sources, {name: importlib.metadata.version(name) for name in LIBRARIES})


def _imported_helpers(module: str, source: str) -> list[str]:
    """Name the helpers modules that a source imports, anywhere in it.

    `from helpers.corpora import labels` is the module `labels`; only a name that is no module, a function of
    the package itself, makes the package's `__init__` part of the code.
    """
    names, package = set(), module.rpartition(".")[0]
    if importlib.util.find_spec(module).submodule_search_locations:
        package = module
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names.update(
                found if _is_module(found := f"{base}.{alias.name}") else base for alias in node.names
            )
    return sorted(name for name in names if name.startswith("helpers."))


def _is_module(name: str) -> bool:
    if not name.startswith("helpers."):
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # below a module that is no package
        return False


def _engine(engine: str, workers: int | None, shared: Mapping[str, object]) -> Callable:
    if engine == "ray":
        return functools.partial(engines.ray_cluster, shared=shared)
    environments = _environments(workers)
    if len(environments) == 1:
        return functools.partial(engines.in_process, shared=shared)
    return functools.partial(engines.processes, environments=environments, shared=shared)


def _environments(workers: int | None) -> list[dict[str, str]]:
    """Environment variables of each worker: its GPU, or its share of the cores.

    The share does not depend on how many configurations are left: a resumed sweep computes the same bits.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    if gpus := _gpus():
        return [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus[:workers]]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = workers or engines.cores_given(cores)
    threads = str(max(1, cores // count))
    share = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads)  # MKL has a mind of its own
    return [share | {"TOKENIZERS_PARALLELISM": "false"}] * count


def _gpus() -> list[str]:
    """Ids of the GPUs this process may use; without a driver none, and torch is not imported to find out."""
    if not shutil.which("nvidia-smi") and not Path("/dev/kfd").exists():
        return []
    import torch

    visible = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
    return visible or [str(index) for index in range(torch.cuda.device_count())]


class _Store:
    """Finished rows on disk: `<key>/row.json` and `<key>/files/`, put in place by renaming `<key>.part`."""

    def __init__(self, folder: Path):
        self.folder = folder

    def read(self, key: str) -> dict | None:
        """A finished row; one that cannot be read is as good as none."""
        try:
            return json.loads((self.folder / key / "row.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            shutil.rmtree(self.folder / key, ignore_errors=True)
            return None

    def files(self, key: str) -> Path:
        return self.folder / key / "files"

    def log(self, key: str) -> Path:
        return self.folder / "logs" / f"{key}.txt"

    def lock(self, key: str):
        """Take the lock of a key, which the system frees when a process dies; None if another holds it."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.folder / "locks" / key)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return None
        return lock

    def stage(self, key: str) -> Path:
        """An empty folder for the artefacts of a call, without what a killed run may have left there."""
        self.discard(key)
        with self._room():
            self.log(key).parent.mkdir(parents=True, exist_ok=True)
            (self._part(key) / "files").mkdir(parents=True)
        return self._part(key) / "files"

    def publish(self, key: str, row: Mapping[str, object]) -> None:
        with self._room():
            with (self._part(key) / "row.json").open("w", encoding="utf-8") as stream:
                json.dump(row, stream, ensure_ascii=False)
                stream.flush()
                os.fsync(stream.fileno())
            self._part(key).replace(self.folder / key)
        self.log(key).unlink(missing_ok=True)

    def discard(self, key: str) -> None:
        shutil.rmtree(self._part(key), ignore_errors=True)

    def _part(self, key: str) -> Path:
        return self.folder / f"{key}.part"

    @contextlib.contextmanager
    def _room(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OSError(
                error.errno,
                f"cannot write to {self.folder} ({error.strerror}). Nothing half-written is left, finished "
                "rows are kept: make room or set NUNCHI_CACHE to another folder, then run the sweep again",
            ) from error


class _Board:
    """The rows of one sweep: which are known, which are ours to compute, which another process computes."""

    def __init__(self, function: Callable, configs: Iterable[Mapping], *, name: str, data: str):
        if not re.fullmatch(r"[\w.-]+", name):
            raise ValueError(f"a sweep's name is a folder: letters, digits, '.', '_' and '-', got {name!r}")
        self.configs = [dict(config) for config in configs]
        if taken := sorted({column for config in self.configs for column in config} & set(RESERVED)):
            raise ValueError(f"config names {taken} are columns of every sweep; rename them")
        self.name, self.store = name, _Store(cache_folder() / name)
        self.function, self.wants_folder = engines.address(function), engines.wants_folder(function)
        identity = [self.function, data, code_version(function.__module__)]
        self.keys = [fingerprint(identity, config) for config in self.configs]
        self.rows = {key: row for key in self.keys if (row := self.store.read(key))}
        self.open = {
            key: config for key, config in zip(self.keys, self.configs, strict=True) if key not in self.rows
        }
        self.locks = {}

    def run(self, engine: Callable) -> None:
        """Compute what is open; rows that other processes hold are read once they are there."""
        from tqdm import tqdm

        total = len(self.rows) + len(self.open)
        with tqdm(total=total, initial=len(self.rows), desc=self.name, file=sys.stdout) as progress:
            try:
                while self.open:
                    for job, outcome in engine(self._take):
                        self._close(job, outcome)
                        progress.update(len(self.rows) - progress.n)
                    time.sleep(WAIT if self.open else 0)
                progress.update(len(self.rows) - progress.n)
            finally:
                for key, lock in self.locks.items():
                    self.store.discard(key)
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
