"""Workers on this machine: how many by default, and what each may use of it."""

import os

import pytest
import torch

from helpers.sweeps import workers


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
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert workers.environments(None) == [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus]
    assert workers.environments(1) == [{"CUDA_VISIBLE_DEVICES": gpus[0]}]


def test_gpus_that_are_hidden_or_have_no_driver_are_none(monkeypatch, tmp_path):
    monkeypatch.setattr(workers.shutil, "which", lambda _: None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    for devices in ((), (str(tmp_path),)):
        monkeypatch.setattr(workers, "DEVICES", devices)
        assert "OMP_NUM_THREADS" in workers.environments(2)[1]
