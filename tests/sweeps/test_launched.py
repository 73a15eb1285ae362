"""One configuration over several processes: the row of one process, in the same place of the cache."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from helpers.sweeps import launched, sweep, workers
from helpers.sweeps.code import trains
from helpers.sweeps.jobs import Job
from tests.sweeps.test_resume import CASES

# What is dropped differs between processes, so nothing is; two epochs of everything are enough.
CHANGED = {"dropout": 0.0, "epochs": 2, "base_epochs": 2, "swa_start": 1, "snapshots": 1}


def run(case: str, parent: Path, **where):
    function, config, shared = CASES[case](parent)
    config = {name: CHANGED.get(name, value) for name, value in config.items()}
    if (saved := parent / "config.json").exists():
        saved.write_text(saved.read_text().replace('dropout_prob": 0.1', 'dropout_prob": 0.0'))
    return sweep(function, [config], name=case, shared=shared, fingerprint=case, **where).iloc[0]


def numbers(folder: str) -> dict[str, np.ndarray]:
    """All arrays and weights below a folder, by file and name."""
    found = {}
    for path in sorted(Path(folder).rglob("*.*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".npy":
            found[name] = np.load(path)
        elif path.suffix in (".npz", ".safetensors"):
            loaded = np.load(path) if path.suffix == ".npz" else load_file(path)
            found |= {f"{name}:{key}": loaded[key] for key in loaded}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", ["entities", "continued_masked_lm"])
def test_two_processes_leave_the_row_that_one_would(case, tmp_path, monkeypatch):
    """With averages and snapshots among them: the second process reads those of the first."""
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "one"))
    alone = run(case, tmp_path / "parent", workers=1)
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "two"))
    together = run(case, tmp_path / "parent", workers=2, engine="launch")
    again = run(case, tmp_path / "parent", workers=1)
    assert again.equals(together), "the key does not say how many processes there were"
    assert Path(alone["folder"]).parent.name == Path(together["folder"]).parent.name
    wanted, found = numbers(alone["folder"]), numbers(together["folder"])
    assert wanted.keys() == found.keys() and wanted
    for name, values in wanted.items():
        assert found[name] == pytest.approx(values, abs=2e-3), name
    assert not list(tmp_path.rglob("*.part")) and not list(tmp_path.glob("two/sweeps/*/logs/*"))


def uneven(x, folder):
    """Fail in the second process while the first waits for it."""
    from accelerate import PartialState

    if not PartialState().is_main_process:
        raise ValueError(f"gave up on {x}")
    PartialState().wait_for_everyone()


@pytest.mark.slow
def test_an_error_in_one_process_ends_all_and_is_told(tmp_path):
    (tmp_path / "files").mkdir()
    job = Job("key", f"{__name__}:uneven", {"x": 7}, tmp_path / "files", tmp_path / "log")
    jobs = iter([job, None])
    where = {"environments": workers.environments(2), "shared": {}}
    ((_, outcome),) = launched.launched(lambda: next(jobs), **where)
    assert (outcome.error, outcome.killed) == ("ValueError: gave up on 7", False)


def test_every_process_sees_all_gpus(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    gpus = [{"CUDA_VISIBLE_DEVICES": name} for name in ("0", "3")]
    given = launched._environment(gpus)
    assert given["CUDA_VISIBLE_DEVICES"] == "0,3" and "ACCELERATE_USE_CPU" not in given
    assert given["PYTHONPATH"].endswith(":elsewhere")
    assert launched._environment(workers.environments(2))["ACCELERATE_USE_CPU"] == "true"


def test_what_does_not_train_is_left_to_one_process_each():
    assert trains("helpers.multilabel.experiment") and trains("helpers.coreference.experiment")
    assert not trains("helpers.coreference.scoring")
