"""Workers on this machine: how many by default, what each may use of it, and how long they live."""

import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from helpers.sweeps import sweep, workers


def where(x):
    """Say which process computes, and on what."""
    return {"pid": os.getpid(), "gpu": os.environ.get("CUDA_VISIBLE_DEVICES", "")}


def stubborn(x, weights):
    return {"pid": os.getpid(), "weights": len(weights)}


def test_default_number_of_workers_respects_a_share_of_the_machine(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert len(workers.environments(None)) == 1
    cores = len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", str(cores))
    assert len(workers.environments(None)) == cores
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert workers.environments(None) == workers.environments(cores)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        assert {share[name] for share in workers.environments(None)} == {"1"}
    monkeypatch.setattr(workers, "_gpus", lambda: ["0", "3"])
    assert workers.environments(None) == [{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "3"}]
    assert workers.environments(1) == [{"CUDA_VISIBLE_DEVICES": "0"}]


@pytest.mark.parametrize(
    ("visible", "gpus"),
    [(None, ["0", "1"]), ("", ["0", "1"]), ("3,5", ["3", "5"]), ("GPU-a,GPU-b", ["GPU-a", "GPU-b"])],
)
def test_a_machine_with_two_gpus_has_a_worker_on_each(monkeypatch, tmp_path, visible, gpus):
    """Known by its driver, with or without nvidia-smi."""
    monkeypatch.setattr(workers.shutil, "which", lambda _: None)
    monkeypatch.setattr(workers, "DEVICES", (str(tmp_path),))
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert workers.environments(None) == [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus]
    assert workers.environments(1) == [{"CUDA_VISIBLE_DEVICES": gpus[0]}]


def test_gpus_that_are_hidden_or_have_no_driver_are_none(monkeypatch, tmp_path):
    monkeypatch.setattr(workers.shutil, "which", lambda _: None)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    for devices in ((), (str(tmp_path),)):
        monkeypatch.setattr(workers, "DEVICES", devices)
        assert "OMP_NUM_THREADS" in workers.environments(2)[1]


def pids(*xs, name="parked", workers=2):
    """Sweep over x, and return the processes that computed."""
    return set(sweep(where, [{"x": x} for x in xs], name=name, workers=workers)["pid"])


def gone(pid):
    """Wait until a process has ended."""
    for _ in range(100):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def parked(tmp_path, monkeypatch):
    """A cache of its own, and no worker left when the test ends."""
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path))
    yield workers._parked
    for worker in list(workers._parked):
        workers._end(worker)


def test_the_next_sweep_goes_on_with_the_same_workers_without_the_data_of_the_last(parked):
    first = pids(1, 2)
    shared = {"weights": [0.0] * 1000}
    frame = sweep(stubborn, [{"x": 1}], name="other", shared=shared, fingerprint="w", workers=2)
    assert frame["weights"][0] == 1000 and frame["pid"][0] in first
    assert pids(3, 4, 5) <= first and len(parked) == len(first) <= 2


def test_a_worker_that_was_killed_between_two_sweeps_is_replaced(parked):
    first = pids(1)
    os.kill(*first, signal.SIGKILL)
    assert gone(*first)
    assert pids(2).isdisjoint(first) and len(parked) == 1


def test_a_worker_that_knows_what_is_no_longer_so_is_ended(parked, monkeypatch, tmp_path):
    (own := tmp_path / "own_experiment.py").write_text("def f(x):\n    return {'y': x}\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(own.stem)

    def worker():
        row = sweep(module.f, [{"x": time.time()}], name="own", workers=2)
        assert row["status"][0] == "ok"
        (only,) = parked
        return only.process.pid

    known = [worker()]
    monkeypatch.setenv("KMP_INIT_AT_FORK", "FALSE")  # as an import of torch does in the notebook
    assert worker() == known[0]
    for change in (
        lambda: monkeypatch.setenv("HF_HOME", str(tmp_path)),
        lambda: monkeypatch.chdir(tmp_path),
        lambda: own.write_text("def f(x):\n    return {'y': x + 1}\n"),
    ):
        change()
        known.append(worker())
        assert known[-1] != known[-2] and gone(known[-2])


def test_each_gpu_keeps_its_own_worker(parked, monkeypatch):
    monkeypatch.setattr(workers, "_gpus", lambda: ["0", "3"])
    seen = [sweep(where, [{"x": i} for i in range(at, at + 6)], name="gpus") for at in (0, 10)]
    by_gpu = [frame.groupby("gpu")["pid"].unique().map(tuple).to_dict() for frame in seen]
    assert by_gpu[0] == by_gpu[1] and set(by_gpu[0]) == {"0", "3"}


def test_parked_workers_end_after_a_pause(parked, monkeypatch):
    monkeypatch.setattr(workers, "PAUSE", 0.2)
    (pid,) = pids(1)
    assert gone(pid) and not parked


PARENT = """
import os, signal, sys, time
from tests.sweeps.test_workers import pids
first = pids(1, 2)
try:
    os.killpg(0, signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    print("same", pids(3, 4) <= first)
print("pids", *first, flush=True)
sys.stdin.read(1)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_parked_workers_survive_an_interrupted_cell_and_end_with_their_process(how, tmp_path):
    """An interrupt goes to the whole group of a kernel."""
    root = Path(workers.__file__).parents[2]
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=root, env=os.environ | {"NUNCHI_CACHE": str(tmp_path)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    said = ""
    while "pids" not in said:
        line = parent.stdout.readline()
        assert line, f"the process ended after {said!r}"
        said += line
    assert "same True" in said
    os.kill(parent.pid, how)
    parent.wait(timeout=20)
    assert all(gone(int(pid)) for pid in said.split("pids")[1].split())
