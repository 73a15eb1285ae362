"""Sweeps: each configuration once, whatever happens to the process, the worker or the disk."""

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset

from helpers import sweeps
from helpers.sweeps import jobs, sweep


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sweeps"


def counted(x, calls):
    """A call that leaves a trace of every time it runs."""
    with Path(calls).open("a") as stream:
        stream.write(f"{x}\n")
    return {"square": x * x}


def fragile(x, calls):
    counted(x, calls)
    if not Path(calls).with_suffix(".healed").exists() and x == 2:
        raise RuntimeError("two is unlucky")
    return {"square": x * x}


def with_files(x, folder):
    (folder / "deep").mkdir()
    (folder / "deep" / "x.txt").write_text(str(x))
    print("noise", x)
    return {"twice": 2 * x}


def half_way(x, folder):
    (folder / "partial.bin").write_bytes(b"0" * 100)
    raise ValueError("gave up half-way")


def suicidal(x):
    if x == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"square": x * x, "pid": os.getpid(), "threads": os.environ.get("OMP_NUM_THREADS")}


def slow(x, calls, delay):
    counted(x, calls)
    time.sleep(delay)
    return {"square": x * x}


def uneven(x):
    time.sleep(1.2 if x == 0 else 0.05)
    return {"pid": os.getpid()}


def weighed(x, weight):
    return {"product": x * weight}


def returns_numpy(x):
    import numpy as np

    return {"a": np.float32(0.5), "b": np.int64(3), "pair": (1, 2), "nan": float("nan")}


def returns_list(x):
    return [x]


def returns_config(x):
    return {"x": 1}


def counting(function, xs, calls, **options):
    """Sweep over x. The file of traces changes with every call, so it must not be part of the config."""
    shared = {"calls": str(calls)}
    return sweep(function, [{"x": x} for x in xs], shared=shared, fingerprint="calls", **options)


def lines(path):
    return sorted(int(line) for line in Path(path).read_text().split())


def published(cache):
    """The configurations whose folder is in place; one in `*.part` is not."""
    rows = [row for row in cache.glob("*/*/row.json") if not row.parent.name.endswith(".part")]
    return {json.loads(row.read_text())["config"]["x"] for row in rows}


def test_one_tidy_row_per_config_in_order(tmp_path):
    frame = counting(counted, (3, 1, 2), tmp_path / "c", name="tidy")
    assert list(frame.columns) == ["x", "square", "status", "error", "seconds"]
    assert frame["x"].tolist() == [3, 1, 2]
    assert frame["square"].tolist() == [9, 1, 4]
    assert set(frame["status"]) == {"ok"}


def test_no_configs_give_an_empty_frame():
    frame = sweep(counted, [], name="empty")
    assert list(frame.columns) == ["status", "error", "seconds"]
    assert len(frame) == 0


def test_known_rows_and_repeated_configs_are_not_computed_again(tmp_path):
    first = counting(counted, (1, 2, 2), tmp_path / "c", name="twice")
    second = counting(counted, (1, 2, 2, 5), tmp_path / "c", name="twice")
    assert lines(tmp_path / "c") == [1, 2, 5]
    assert second["square"].tolist() == [1, 4, 4, 25]
    assert first.equals(second.iloc[:3].astype(first.dtypes))


def test_a_finished_grid_of_29_cells_is_read_within_a_second(tmp_path):
    counting(counted, range(29), tmp_path / "c", name="grid")
    start = time.perf_counter()
    counting(counted, range(29), tmp_path / "c", name="grid")
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_config_is_a_row_and_is_tried_again(tmp_path, workers):
    calls, options = tmp_path / "c", {"name": "fragile", "workers": workers}
    frame = counting(fragile, (1, 2, 3), calls, **options, failed="keep")
    assert frame["status"].tolist() == ["ok", "failed", "ok"]
    assert frame["error"].tolist() == ["", "RuntimeError: two is unlucky", ""]
    assert frame["square"].isna().tolist() == [False, True, False]
    with pytest.raises(RuntimeError, match=r"1 of 3 .* failed; .*: two is unlucky.*Finished runs are kept"):
        counting(fragile, (1, 2, 3), calls, **options)
    calls.with_suffix(".healed").touch()
    again = counting(fragile, (1, 2, 3), calls, **options)
    assert again["status"].tolist() == ["ok"] * 3
    assert lines(calls) == [1, 2, 2, 2, 3]


def test_artefacts_are_published_with_the_row_and_output_stays_out_of_the_way(cache, capsys):
    frame = sweep(with_files, [{"x": 7}], name="files")
    assert (Path(frame["folder"][0]) / "deep" / "x.txt").read_text() == "7"
    assert "noise" not in capsys.readouterr().out
    assert not list(cache.rglob("*.part"))


def test_a_call_that_fails_leaves_no_artefacts_but_a_traceback(cache):
    frame = sweep(half_way, [{"x": 1}], name="half", failed="keep")
    assert frame["status"].tolist() == ["failed"]
    assert not list(cache.rglob("*.part")) and not list(cache.rglob("partial.bin"))
    (log,) = (cache / "half" / "logs").iterdir()
    assert "gave up half-way" in log.read_text() and "Traceback" in log.read_text()


def test_a_killed_worker_is_a_failed_row_and_the_others_go_on():
    frame = sweep(suicidal, [{"x": x} for x in range(4)], name="killed", workers=2, failed="keep")
    assert frame["status"].tolist() == ["ok", "failed", "ok", "ok"]
    assert "exit code -9" in frame["error"][1]
    cores = len(os.sched_getaffinity(0))
    assert set(frame["threads"].dropna()) == {str(max(1, cores // 2))}
    assert os.getpid() not in set(frame["pid"].dropna())


def test_workers_take_work_rather_than_wait_in_rounds():
    frame = sweep(uneven, [{"x": x} for x in range(8)], name="steal", workers=2)
    busy_with_the_long_one = frame["pid"][0]
    assert (frame["pid"] == busy_with_the_long_one).sum() == 1


def test_shared_arguments_need_a_fingerprint_and_change_the_key():
    with pytest.raises(ValueError, match="fingerprint"):
        sweep(weighed, [{"x": 1}], name="shared", shared={"weight": 2})
    run = {"name": "shared", "workers": 2}
    two = sweep(weighed, [{"x": 3}], shared={"weight": 2}, fingerprint="two", **run)
    ten = sweep(weighed, [{"x": 3}], shared={"weight": 10}, fingerprint="ten", **run)
    assert (two["product"][0], ten["product"][0]) == (6, 30)
    assert list(two.columns) == ["x", "product", "status", "error", "seconds"]


def test_fingerprint_is_of_content():
    rows = [{"a": 1, "b": ["가", "나"]}, {"a": 2, "b": []}]
    assert sweeps.fingerprint(Dataset.from_list(rows)) == sweeps.fingerprint(Dataset.from_list(rows))
    assert sweeps.fingerprint(Dataset.from_list(rows)) != sweeps.fingerprint(Dataset.from_list(rows[::-1]))
    assert sweeps.fingerprint({"a": 1, "b": 2}) == sweeps.fingerprint({"b": 2, "a": 1})
    assert sweeps.fingerprint("ab", "c") != sweeps.fingerprint("a", "bc")
    with pytest.raises(ValueError, match="JSON"):
        sweeps.fingerprint(object())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sweep(lambda x: {}, [{"x": 1}], name="n"), "importable"),
        (lambda: sweep(dict, [{"x": 1}], name="n"), "importable"),
        (lambda: sweep(counted, [{"x": {1, 2}}], name="n"), "JSON"),
        (lambda: sweep(counted, [{"seconds": 1}], name="n"), "seconds"),
        (lambda: sweep(counted, [{"x": 1}], name="a/b"), "name"),
        (lambda: sweep(counted, [{"x": 1}], name="n", workers=0), "at least 1"),
        (lambda: sweep(counted, [{"x": 1}], name="n", engine="slurm"), "slurm"),
    ],
)
def test_bad_input_is_refused_early(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_sweep_in_several_launched_processes_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="Start it plainly"):
        sweep(counted, [{"x": 1, "calls": str(tmp_path / "c")}], name="launched")


def test_functions_of_main_are_refused():
    function = type(counted)(counted.__code__, {}, "counted")
    function.__module__ = "__main__"
    with pytest.raises(ValueError, match="move it to helpers"):
        jobs.address(function)


def test_results_pass_through_json_so_fresh_equals_cached():
    fresh = sweep(returns_numpy, [{"x": 1}], name="numpy")
    cached = sweep(returns_numpy, [{"x": 1}], name="numpy")
    assert fresh.equals(cached)
    assert fresh["a"][0] == 0.5 and fresh["b"][0] == 3 and fresh["pair"][0] == [1, 2]


@pytest.mark.parametrize(("function", "message"), [(returns_list, "mapping"), (returns_config, "rename")])
def test_results_of_the_wrong_shape_are_failed_rows(function, message):
    frame = sweep(function, [{"x": 0}], name="shape", failed="keep")
    assert frame["status"][0] == "failed" and message in frame["error"][0]


def test_an_unreadable_row_is_computed_again(cache, tmp_path):
    counting(counted, [4], tmp_path / "c", name="torn")
    (row,) = cache.rglob("row.json")
    row.write_text(row.read_text()[:10])
    assert counting(counted, [4], tmp_path / "c", name="torn")["square"][0] == 16
    assert json.loads(row.read_text())["result"] == {"square": 16}
    assert lines(tmp_path / "c") == [4, 4]


def _edited(row):
    row.write_text(row.read_text().replace('"square": 16', '"square": 17'))


def _changed(row):
    array = row.parent / "files" / "a.npy"
    os.utime(row, (1, 1))
    array.write_bytes(bytes(len(array.read_bytes())))


DAMAGES = {
    "null": lambda row: row.write_text("null"),
    "no object": lambda row: row.write_text("[1]"),
    "deep": lambda row: row.write_text("[" * 100_000),
    "edited": _edited,
    "array cut": lambda row: (row.parent / "files" / "a.npy").write_bytes(b"x"),
    "array gone": lambda row: (row.parent / "files" / "a.npy").unlink(),
    "array changed": _changed,
}


def kept(x, calls, folder):
    np.save(folder / "a.npy", np.full(100, x))
    return counted(x, calls)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_edited_row_is_computed_again_and_said_once(cache, tmp_path, capsys, damage):
    counting(kept, [4], tmp_path / "c", name="damaged")
    (row,) = cache.rglob("row.json")
    DAMAGES[damage](row)
    again = counting(kept, [4], tmp_path / "c", name="damaged")
    assert again["square"][0] == 16 and np.load(Path(again["folder"][0]) / "a.npy").tolist() == [4] * 100
    assert capsys.readouterr().out.count("in the cache") == 1
    counting(kept, [4], tmp_path / "c", name="damaged")
    assert lines(tmp_path / "c") == [4, 4] and "in the cache" not in capsys.readouterr().out


def test_a_full_disk_stops_with_advice_and_leaves_nothing_half_written(cache, tmp_path, monkeypatch):
    dump, full = json.dump, []

    def no_room(row, stream, **options):
        if full:
            stream.write('{"config": {"x"')
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        full.append(True)
        dump(row, stream, **options)

    monkeypatch.setattr(json, "dump", no_room)
    with pytest.raises(OSError, match=r"No space left.*NUNCHI_CACHE") as caught:
        counting(counted, (1, 2), tmp_path / "c", name="full")
    assert caught.value.errno == errno.ENOSPC
    assert not list(cache.rglob("*.part")) and len(list(cache.rglob("row.json"))) == 1
    monkeypatch.undo()
    monkeypatch.setenv("NUNCHI_CACHE", str(cache.parent))
    assert counting(counted, (1, 2), tmp_path / "c", name="full")["status"].tolist() == ["ok", "ok"]
    assert lines(tmp_path / "c") == [1, 2, 2]


RUN = """
from helpers.sweeps import sweep
from tests.sweeps.test_sweeps import slow
configs = [dict(x=x, delay={delay}) for x in range({n})]
shared = dict(calls={calls!r})
frame = sweep(slow, configs, name="both", workers={workers}, shared=shared, fingerprint="calls")
print("SUM", frame["square"].sum(), set(frame["status"]))
"""


def start(calls, *, delay, n, workers=1):
    script = textwrap.dedent(RUN).format(calls=str(calls), delay=delay, n=n, workers=workers)
    root = Path(sweeps.__file__).parents[2]
    return subprocess.Popen([sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE, text=True)


def test_two_processes_that_share_a_cache_do_each_configuration_once(tmp_path):
    both = [start(tmp_path / "c", delay=0.3, n=8) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0] for process in both]
    assert all("SUM 140 {'ok'}" in output for output in outputs)
    assert lines(tmp_path / "c") == list(range(8))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sweep_killed_half_way_goes_on_where_it_stopped(tmp_path, cache, workers):
    calls = tmp_path / "c"
    first = start(calls, delay=0.4, n=6, workers=workers)
    while len(published(cache)) < 2:
        time.sleep(0.02)
        assert first.poll() is None
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    finished = published(cache)
    time.sleep(0.6)  # its workers end with it
    assert published(cache) == finished and len(finished) < 6
    output = start(calls, delay=0.4, n=6, workers=workers).communicate(timeout=60)[0]
    assert "SUM 55 {'ok'}" in output
    assert set(lines(calls)) == set(range(6))
    assert all(lines(calls).count(x) == 1 for x in finished)
    assert not list(cache.rglob("*.part"))
