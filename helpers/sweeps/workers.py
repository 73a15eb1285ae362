"""Engines on this machine: calls in this process, or on spawned worker processes with a GPU or core each.

Workers outlive their sweep: importing torch takes each of them seconds, so they are parked for the next sweep
of this process. They end with it, after a pause, or when what they have imported is no longer what is there.
"""

import contextlib
import gc
import importlib.util
import multiprocessing
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from multiprocessing import connection
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from helpers.sweeps.code import PACKAGE
from helpers.sweeps.jobs import Job, Outcome, Take, call

DEVICES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # NVIDIA's driver, on Windows' Linux, AMD's
SET_BY_TORCH = ("KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "TORCHINDUCTOR_CACHE_DIR")  # when it is imported
PAUSE = 300.0  # seconds without a sweep after which workers end, and free their memory


def cores_given(limit: int) -> int:
    """Return `limit`, or fewer where OMP_NUM_THREADS gives this process less of the machine."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return min(limit, int(given)) if given.isdigit() and int(given) else limit


def environments(workers: int | None) -> list[dict[str, str]]:
    """Return the environment variables of each worker: its GPU, or its share of the cores.

    The share does not depend on how many configurations are left: a resumed sweep computes the same bits.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    if gpus := _gpus():
        return [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus[:workers]]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = workers or cores_given(cores)
    threads = str(max(1, cores // count))
    share = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads)  # MKL can be set on its own
    return [share | {"TOKENIZERS_PARALLELISM": "false"}] * count


def has_gpu_driver() -> bool:
    return bool(shutil.which("nvidia-smi")) or any(Path(device).exists() for device in DEVICES)


def _gpus() -> list[str]:
    """Ids of the GPUs this process may use; without a driver none, and torch is not imported to find out."""
    if not has_gpu_driver():
        return []
    import torch

    count = torch.cuda.device_count()
    visible = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
    return visible[:count] or [str(index) for index in range(count)]


def in_process(take: Take, *, shared: Mapping[str, object]) -> Iterator[tuple[Job, Outcome]]:
    while (job := take()) is not None:
        yield job, call(job, shared)


def processes(
    take: Take, *, environments: list[dict[str, str]], shared: Mapping[str, object]
) -> Iterator[tuple[Job, Outcome]]:
    """Run jobs on worker processes, one per environment; each takes the next job as soon as it is free."""
    free = list(environments)
    idle: list[_Worker] = []
    busy: dict[Any, tuple[_Worker, Job]] = {}
    try:
        while True:
            while (idle or free) and (job := take()) is not None:
                worker = idle.pop() if idle else _worker(free.pop(0), job, shared)
                worker.send(job)
                busy[worker.pipe] = worker, job
            if not busy:
                return
            for pipe in connection.wait(list(busy)):
                worker, job = busy.pop(pipe)
                outcome = worker.answer()
                idle.append(worker) if not worker.pipe.closed else free.append(worker.environment)
                yield job, outcome
    finally:
        for worker, _ in busy.values():
            worker.stop()
        for worker in idle:
            _park(worker)


class _Home(NamedTuple):
    """What a process reads once: when it starts, and when it imports a module."""

    variables: dict[str, str]
    path: list[str]
    folder: str
    sources: dict[str, int]  # files of this package and the module of a job: when they were changed

    @classmethod
    def now(cls, job: Job) -> "_Home":
        spec = importlib.util.find_spec(job.function.partition(":")[0])
        assert spec and spec.origin, f"{job.function} has no source file"
        files = [path for path in PACKAGE.rglob("*.*") if path.suffix != ".pyc"]
        changed = {str(path): path.stat().st_mtime_ns for path in (*files, Path(spec.origin))}
        variables = {name: value for name, value in os.environ.items() if name not in SET_BY_TORCH}
        return cls(variables, list(sys.path), str(Path.cwd()), changed)

    def still(self, now: "_Home") -> bool:
        """Say whether a process would read the same now; a file that it was not asked for does not count."""
        common = self.sources.keys() & now.sources.keys()
        return self[:3] == now[:3] and all(self.sources[name] == now.sources[name] for name in common)


class _Worker:
    """A spawned process that answers one job at a time; it ends with its parent."""

    def __init__(self, environment: Mapping[str, str], home: _Home):
        context = multiprocessing.get_context("spawn")
        self.environment, self.home = dict(environment), home
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with mock.patch.dict(os.environ, environment):  # before it starts: torch reads it on import
            self.process.start()
        theirs.close()  # else a dead child would never read as end-of-file

    def send(self, message: Any) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # its answer will say that it died
            self.pipe.send(message)

    def answer(self) -> Outcome:
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.stop()
            code = self.process.exitcode
            text = f"the worker process died with exit code {code}"
            text += " (killed, often for lack of memory)" if code == -9 else ""
            return Outcome(None, text, 0.0, killed=True)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


_parked: dict[_Worker, threading.Timer] = {}
_parking = threading.Lock()


def _worker(environment: Mapping[str, str], job: Job, shared: Mapping[str, object]) -> _Worker:
    """Return a worker that holds what calls share: a parked one, if there is one for this, else a new one."""
    home = _Home.now(job)
    worker = _unparked(environment, home) or _Worker(environment, home)
    worker.home = home._replace(sources=worker.home.sources | home.sources)
    try:
        worker.send(shared)
    except BaseException:  # not to be pickled, or interrupted
        worker.stop()
        raise
    return worker


def _unparked(environment: Mapping[str, str], home: _Home) -> _Worker | None:
    """Take a worker with this environment; end those that have died, or know what is no longer so."""
    with _parking:
        for worker in list(_parked):
            useful = worker.process.is_alive() and worker.home.still(home)
            if useful and worker.environment != environment:
                continue
            _parked.pop(worker).cancel()
            if useful:
                return worker
            worker.stop()
    return None


def _park(worker: _Worker) -> None:
    """Keep a worker for the next sweep, without the data of this one."""
    worker.send({})
    timer = threading.Timer(PAUSE, _end, [worker])
    timer.daemon = True
    with _parking:
        _parked[worker] = timer
        timer.start()


def _end(worker: _Worker) -> None:
    with _parking:
        if _parked.pop(worker, None):
            worker.stop()


def _serve(pipe: connection.Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, too: it ends who is busy
    threading.Thread(target=_end_with_parent, daemon=True).start()
    shared: Mapping[str, object] = {}
    with contextlib.suppress(EOFError):
        while True:
            message = pipe.recv()
            if isinstance(message, Job):
                pipe.send(call(message, shared))
            else:
                shared = message
                _free_memory()


def _free_memory() -> None:
    gc.collect()
    if torch := sys.modules.get("torch"):
        torch.cuda.empty_cache()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)
