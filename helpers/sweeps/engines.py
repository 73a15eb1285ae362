"""Where the calls of a sweep run: in this process, on local worker processes, or on a Ray cluster.

An engine is a generator. It asks `take()` for a job whenever a slot is free (None: nothing to take now) and
yields `(job, outcome)` as calls finish, in any order. Caching, locking and retries belong to `sweeps`.
"""

import contextlib
import importlib
import inspect
import json
import multiprocessing
import os
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path


def cores_given(limit: int) -> int:
    """Return `limit`, or fewer where OMP_NUM_THREADS gives this process less of the machine."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return min(limit, int(given)) if given.isdigit() and int(given) else limit


@dataclass(frozen=True)
class Job:
    """One call: `function` is "module:name", `folder` an empty folder, `log` a file for its output."""

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


def resolve(name: str) -> Callable:
    """Import what `address` named."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


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
            function = resolve(job.function)
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


def in_process(take: Take, *, shared: Mapping[str, object]) -> Iterator[tuple[Job, Outcome]]:
    while (job := take()) is not None:
        yield job, call(job, shared)


class _Worker:
    """A spawned process that answers one job at a time; it ends with its parent."""

    def __init__(self, slot: int, environment: Mapping[str, str], shared: Mapping[str, object]):
        context = multiprocessing.get_context("spawn")
        self.slot = slot
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _environment(environment):  # set before the child starts: torch reads it on import
            self.process.start()
        theirs.close()  # else a dead child would never read as end-of-file
        self.pipe.send(shared)

    def answer(self) -> Outcome:
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.stop()
            code = self.process.exitcode
            text = f"the worker process died with exit code {code}"
            return Outcome(None, text + (" (killed, often for lack of memory)" if code == -9 else ""), 0.0)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def _serve(pipe: connection.Connection) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    shared = pipe.recv()
    with contextlib.suppress(EOFError):
        while True:
            pipe.send(call(pipe.recv(), shared))


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def processes(
    take: Take, *, environments: list[dict[str, str]], shared: Mapping[str, object]
) -> Iterator[tuple[Job, Outcome]]:
    """Run jobs on spawned workers, one per environment; each takes the next job as soon as it is free."""
    slots, idle, busy = list(range(len(environments))), [], {}
    try:
        while True:
            while (idle or slots) and (job := take()) is not None:
                worker = idle.pop() if idle else _Worker(slot := slots.pop(0), environments[slot], shared)
                worker.pipe.send(job)
                busy[worker.pipe] = worker, job
            if not busy:
                return
            for pipe in connection.wait(list(busy)):
                worker, job = busy.pop(pipe)
                outcome = worker.answer()
                idle.append(worker) if not worker.pipe.closed else slots.append(worker.slot)
                yield job, outcome
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            worker.stop()


def ray_cluster(take: Take, *, shared: Mapping[str, object]) -> Iterator[tuple[Job, Outcome]]:
    """Run jobs as Ray tasks: on the cluster in RAY_ADDRESS, or on one started here.

    A task takes one GPU where the cluster has any. Artefacts travel back with the answer, so that the nodes
    need no common disk.
    """
    try:
        import ray
    except ImportError as error:
        raise ValueError('engine="ray" needs Ray: pip install "nunchi[ray]"') from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False, runtime_env={"py_modules": [str(Path(__file__).parents[1])]})
    common, busy = ray.put(dict(shared)), {}
    try:
        while True:
            resources = ray.cluster_resources()  # read again: an autoscaling cluster grows
            gpus = int(resources.get("GPU", 0))
            task = ray.remote(num_cpus=1, num_gpus=1 if gpus else 0, max_retries=0)(_ship)
            while len(busy) < (gpus or int(resources.get("CPU", 1))) and (job := take()) is not None:
                busy[task.remote(job, common)] = job
            if not busy:
                return
            for reference in ray.wait(list(busy))[0]:
                yield (job := busy.pop(reference)), _received(ray, reference, job)
    finally:
        for reference in busy:
            ray.cancel(reference, force=True)


def _ship(job: Job, shared: Mapping[str, object]) -> tuple[Outcome, dict[str, bytes], str]:
    """Run a job on a node, in a folder of that node; return its files and its log as bytes and text."""
    with tempfile.TemporaryDirectory() as folder:
        here = Job(job.key, job.function, job.config, Path(folder, "files"), Path(folder, "log"))
        here.folder.mkdir()
        outcome = call(here, shared)
        paths = [path for path in here.folder.rglob("*") if path.is_file()]
        files = {path.relative_to(here.folder).as_posix(): path.read_bytes() for path in paths}
        return outcome, files, here.log.read_text(encoding="utf-8")


def _received(ray, reference, job: Job) -> Outcome:
    try:
        outcome, files, log = ray.get(reference)
    except ray.exceptions.RayError as error:
        return Outcome(None, f"{type(error).__name__}: {str(error).splitlines()[0]}", 0.0)
    for name, content in files.items():
        (job.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (job.folder / name).write_bytes(content)
    with job.log.open("a", encoding="utf-8") as stream:
        stream.write(log)
    return outcome
