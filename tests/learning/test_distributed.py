"""Two processes train to what one trains to: same batches, losses by target, no row twice, one writer."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from accelerate import PartialState

from helpers.learning.averaging import EMA, Snapshots, trained_weights
from helpers.learning.config import TrainConfig
from helpers.learning.inference import predict
from helpers.learning.loop import fit
from tests.learning.test_loop import accuracy, mean_loss, tagger, tagging_rows

ROWS, VALID = tagging_rows(61), tagging_rows(31, seed=1)  # odd: tail batches cannot be shared evenly


def train(folder: Path, stop_at: int = 0) -> dict:
    """Train without dropout; return what must not depend on the number of processes."""
    model, ema = tagger(dropout=0.0), EMA(0.9)

    def stop(_, moment):
        if moment.step == stop_at:
            os.kill(os.getpid(), signal.SIGKILL)  # one that only left might wait for ever for gloo's threads

    config = TrainConfig(epochs=3, peak_lr=5e-3, batch_rows=6, accumulate=2, metric="accuracy")
    result = fit(
        model,
        ROWS,
        config=config,
        evaluate=lambda m: accuracy(m, VALID),
        folder=folder / "run",
        observers=[ema, Snapshots(folder / "snapshots"), stop],
    )
    logits = predict(model, VALID, batch_rows=4)
    return {
        "processes": PartialState().num_processes,
        "history": result.history,
        "best_step": result.best_step,
        "loss": mean_loss(model, VALID),
        "rows": [len(row) for row in logits],
        "logits": np.concatenate(logits).ravel().tolist(),
        "weights": [float(value.sum()) for value in trained_weights(model).values()],
        "average": [float(value.sum()) for value in ema.weights().values()],
    }


def launch(folder: Path, root: Path, stop_at: int = 0) -> list[dict]:
    """Run `train` in two CPU processes, to its end or until they are killed; return what each of them saw.

    Started as `accelerate launch` starts processes on one machine, by torch.distributed.run; on CPUs
    Accelerate itself would do so through mpirun, and without MPI it starts a single process.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["--module", "tests.learning.test_distributed", str(folder), str(stop_at)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode == 0) == (stop_at == 0), done.stdout + done.stderr
    return [json.loads(path.read_text()) for path in sorted(folder.glob("process-*.json"))]


@pytest.mark.slow
def test_two_processes_equal_one(tmp_path, root):
    alone = train(tmp_path / "one")
    launch(tmp_path / "two", root, stop_at=8)
    assert (tmp_path / "two" / "run" / "step-00000006").is_dir()
    first, second = launch(tmp_path / "two", root)
    assert first == second and (first["processes"], alone["processes"]) == (2, 1)
    for name in ("loss", "logits", "weights", "average"):
        assert first[name] == pytest.approx(alone[name], abs=1e-3), name
    assert first["rows"] == alone["rows"] and first["best_step"] == alone["best_step"]
    assert [row["accuracy"] for row in first["history"]] == pytest.approx(
        [row["accuracy"] for row in alone["history"]], abs=1e-3
    )
    assert [row["loss"] for row in first["history"]] == pytest.approx(
        [row["loss"] for row in alone["history"]], abs=1e-4
    )


if __name__ == "__main__":
    target = Path(sys.argv[1])
    try:
        seen = train(target, stop_at=int(sys.argv[2]))
        (target / f"process-{os.environ['RANK']}.json").write_text(json.dumps(seen))
    finally:
        PartialState().destroy_process_group()  # its threads would abort a process that just ends
