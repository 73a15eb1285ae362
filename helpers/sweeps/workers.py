"""Engines on this machine: calls in this process, or on spawned worker processes with a GPU or core each."""

import contextlib
import multiprocessing
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from multiprocessing import connection
from pathlib import Path
from typing import Any
from unittest import mock

from helpers.sweeps.jobs import Job, Outcome, Take, call

DEVICES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # NVIDIA's driver, on Windows' Linux, AMD's


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


def _gpus() -> list[str]:
    """Ids of the GPUs this process may use; without a driver none, and torch is not imported to find out."""
    if not shutil.which("nvidia-smi") and not any(Path(device).exists() for device in DEVICES):
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
    """Run jobs on spawned workers, one per environment; each takes the next job as soon as it is free."""
    slots = list(range(len(environments)))
    idle: list[_Spawned] = []
    busy: dict[Any, tuple[_Spawned, Job]] = {}
    try:
        while True:
            while (idle or slots) and (job := take()) is not None:
                worker = idle.pop() if idle else _Spawned(slot := slots.pop(0), environments[slot], shared)
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


class _Spawned:
    """A spawned process that answers one job at a time; it ends with its parent."""

    def __init__(self, slot: int, environment: Mapping[str, str], shared: Mapping[str, object]):
        context = multiprocessing.get_context("spawn")
        self.slot = slot
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with mock.patch.dict(os.environ, environment):  # before it starts: torch reads it on import
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
            text += " (killed, often for lack of memory)" if code == -9 else ""
            return Outcome(None, text, 0.0, killed=True)

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
    if parent := multiprocessing.parent_process():
        parent.join()
    os._exit(1)
