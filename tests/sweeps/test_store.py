"""What interrupted attempts leave on disk, and what becomes of it."""

import os
import time

import pytest

from helpers.sweeps import sweep
from helpers.sweeps.store import Store


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path))
    return Store("s")


def leave(store, key="k"):
    """A part as a killed attempt leaves it: a checkpoint, and artefacts that may be cut off."""
    files = store.stage(key)
    (files / "checkpoints" / "step-4").mkdir(parents=True)
    (files / "checkpoints" / "step-4" / "model").write_text("weights")
    (files / "model").mkdir()
    (files / "logits.npz").write_text("half of it")
    (files.parent / "row.json").write_text("{")
    return files


def interrupted(x, how, folder):
    """Go on from a checkpoint, or leave one and be interrupted."""
    checkpoint = folder / "checkpoints" / "at"
    if checkpoint.exists():
        return {
            "resumed_from": int(checkpoint.read_text()),
            "found": sorted(p.name for p in folder.iterdir()),
        }
    checkpoint.parent.mkdir()
    checkpoint.write_text("7")
    (folder / "half").touch()
    if how == "Ctrl-C":
        raise KeyboardInterrupt
    if how == "kill":
        os.kill(os.getpid(), 9)
    raise RuntimeError("a bug")


def test_stage_keeps_checkpoints_and_nothing_else(store):
    leave(store)
    files = store.stage("k")
    assert [path.name for path in files.iterdir()] == ["checkpoints"]
    assert (files / "checkpoints" / "step-4" / "model").read_text() == "weights"
    assert [path.name for path in files.parent.iterdir()] == ["files"]


def test_a_published_row_has_no_checkpoints(store):
    files = leave(store)
    store.publish("k", {"result": 1})
    assert store.read("k") == {"result": 1} and not files.parent.exists()
    assert sorted(path.name for path in store.files("k").iterdir()) == ["logits.npz", "model"]


def squared(x, folder):
    (folder / "deep").mkdir()
    (folder / "deep" / "square.txt").write_text(str(x * x))
    return {"square": x * x}


def _cut(row):
    (row / "files" / "deep" / "square.txt").write_text("")


def _lose(row):
    (row / "files" / "deep" / "square.txt").unlink()


def _change(row):
    file = row / "files" / "deep" / "square.txt"
    file.write_text("8")
    os.utime(file, (time.time() + 5, time.time() + 5))


def _edit(row):
    text = (row / "row.json").read_text()
    (row / "row.json").write_text(text.replace('"square": 9', '"square": 8'))


def _null(row):
    (row / "row.json").write_text("null")


@pytest.mark.parametrize("damage", [_cut, _lose, _change, _edit, _null])
def test_a_damaged_row_is_computed_again_and_said_once(damage, store, capsys):
    sweep(squared, [{"x": 3}], name="s")
    (row,) = [path for path in store.folder.iterdir() if (path / "row.json").is_file()]
    damage(row)
    again = sweep(squared, [{"x": 3}], name="s")
    assert again["square"][0] == 9 and (row / "files" / "deep" / "square.txt").read_text() == "9"
    assert capsys.readouterr().out.count("this run is computed again") == 1
    sweep(squared, [{"x": 3}], name="s")
    assert "again" not in capsys.readouterr().out


def test_old_parts_are_removed_unless_somebody_works_on_them(store):
    age = time.time() - 15 * 86400
    for key in ("old", "held", "late", "new"):
        files = leave(store, key)
        for path in (files.parent, files / "checkpoints") if key in ("old", "held") else (files.parent,):
            if key != "new":
                os.utime(path, (age, age))
    lock = store.lock("held")
    store.discard_old()
    assert sorted(path.stem for path in store.folder.glob("*.part")) == ["held", "late", "new"]
    lock.release()


@pytest.mark.parametrize(("how", "workers"), [("Ctrl-C", 1), ("kill", 2)])
def test_an_interrupted_call_finds_its_checkpoints_again(how, workers, capsys):
    run = {"name": "s", "workers": workers, "failed": "keep"}
    if how == "Ctrl-C":
        with pytest.raises(KeyboardInterrupt):
            sweep(interrupted, [{"x": 1, "how": how}], **run)
    else:
        assert "exit code -9" in sweep(interrupted, [{"x": 1, "how": how}], **run)["error"][0]
    again = sweep(interrupted, [{"x": 1, "how": how}], **run)
    assert again["resumed_from"][0] == 7 and again["found"][0] == ["checkpoints"]
    assert "s: went on from step 7 of an interrupted run" in capsys.readouterr().out


def test_a_call_that_fails_starts_over(store):
    for _ in range(2):
        frame = sweep(interrupted, [{"x": 1, "how": "raise"}], name="s", failed="keep")
        assert frame["error"][0] == "RuntimeError: a bug"
    assert not list(store.folder.glob("*.part"))
