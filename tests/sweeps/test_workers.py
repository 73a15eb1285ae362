"""Workers on this machine: how many by default, and what each may use of it."""

import os

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
