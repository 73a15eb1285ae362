"""A notebook whose sweeps run on a real Ray cluster: the same figures as here."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.projects import read_json

SWEEPING = "03"  # sweeps whose runs go on from what other sweeps wrote


@pytest.mark.slow
def test_a_notebook_on_two_workers_of_a_cluster_has_the_figures_of_a_local_one(ray, smoke, tmp_path):
    # Ray would end workers in every pause between sweeps, to start others anew.
    kept = {"num_workers_soft_limit": 4, "idle_worker_killing_time_threshold_ms": 600_000}
    here = {"log_to_driver": False, "include_dashboard": False, "_system_config": kept}
    ray.init(address="local", num_cpus=2, num_gpus=0, **here)
    try:
        environment = os.environ | {
            "RAY_ADDRESS": ray.get_runtime_context().gcs_address,
            "NUNCHI_CACHE": str(tmp_path / "cache"),
        }
        command = [sys.executable, "-m", "helpers", "run", str(ROOT / "params" / "smoke"), "--engine", "ray"]
        options = ["--only", SWEEPING, "--out", str(tmp_path)]
        done = subprocess.run(
            [*command, *options], env=environment, capture_output=True, text=True, timeout=600
        )
    finally:
        ray.shutdown()
    assert done.returncode == 0, done.stderr
    (local,) = smoke[1].glob(f"{SWEEPING}*")
    metrics = read_json(tmp_path / "smoke" / local.name / "metrics.json")
    assert metrics == read_json(local / "metrics.json")
    assert not list((tmp_path / "cache").rglob("*.part")), "every row was put in place"
