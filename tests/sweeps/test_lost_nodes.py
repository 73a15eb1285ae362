"""A node of a real Ray cluster is killed in the middle of a sweep: the sweep ends with every row."""

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from helpers.sweeps import cluster, sweep
from helpers.sweeps.jobs import Job

LIMIT = 360  # seconds for the whole test, on however busy a machine
STEPS, HALF = 10, 5
# A node that three calls in a row do not reach is lost; Ray asks every three seconds, five times.
NOTICED = {"health_check_period_ms": 1000, "health_check_failure_threshold": 3}


def stepping(x, folder, place):
    """Save after every step; half-way, wait until the test has killed what it wants to kill."""
    import ray

    kept = folder / "checkpoints" / "step"
    kept.parent.mkdir(exist_ok=True)
    start = int(kept.read_text()) if kept.exists() else 0
    for step in range(start, STEPS):
        (kept.parent / "new").write_text(str(step + 1))
        (kept.parent / "new").rename(kept)
        if step + 1 == HALF:
            Path(place, f"{x}.{ray.get_runtime_context().get_node_id()}.{os.getpid()}").touch()
            wait_for(Path(place, "go on").exists)
    (folder / "artefact").write_bytes(bytes([x]) * 200_000)
    return {"square": x * x, "resumed_from": start}


def ended(process: int) -> bool:
    try:
        return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_for(condition):
    end = time.monotonic() + LIMIT / 2
    while not condition():
        assert time.monotonic() < end, "nothing happened for too long"
        time.sleep(0.05)


@pytest.fixture
def limited():
    """End the test with an error, wherever it waits, instead of letting the whole suite hang."""

    def stop(*_):
        raise TimeoutError(f"not done after {LIMIT} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def workers(limited, ray):
    """A cluster of three nodes, a core each: the names of two that do not lead it, and what kills them."""
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        cluster.add_node(num_cpus=1, include_dashboard=False, _system_config=NOTICED)
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False)
    except Exception as error:
        pytest.skip(f"Ray could not start a cluster on this machine in time: {error}")
    try:
        yield [(node.node_id, partial(cluster.remove_node, node, allow_graceful=False)) for node in nodes]
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.slow
def test_a_killed_node_costs_no_row(workers, tmp_path, monkeypatch, capsys):
    """From the start without a common disk, from the last checkpoint with one."""
    found = {}
    for common in (False, True):
        place, running, (node, kill) = tmp_path / f"common {common}", len(workers) + 1, workers.pop()
        place.mkdir()
        monkeypatch.setenv("NUNCHI_CACHE", str(place / "cache"))
        if common:
            monkeypatch.setenv("NUNCHI_SHARED", str(place))

        def kill_half_way(place=place, running=running, node=node, kill=kill):
            wait_for(lambda: len(list(place.glob("?.*"))) == running)  # on every node
            kill()
            (lost,) = place.glob(f"?.{node}.*")
            wait_for(lambda: ended(int(lost.suffix[1:])))  # a worker outlives its node for a moment
            (place / "go on").touch()

        killer = threading.Thread(target=kill_half_way)
        killer.start()
        told = {"shared": {"place": str(place)}, "fingerprint": str(common)}
        frame = sweep(stepping, [{"x": x} for x in range(3)], name="lost", engine="ray", **told)
        killer.join()
        assert frame["status"].tolist() == ["ok"] * 3 and frame["square"].tolist() == [0, 1, 4]
        for x, folder in enumerate(frame["folder"]):
            assert Path(folder, "artefact").read_bytes() == bytes([x]) * 200_000
            assert [path.name for path in Path(folder).iterdir()] == ["artefact"]
        found[common] = sorted(frame["resumed_from"])
        assert "started again (1 of 3)" in capsys.readouterr().out
    assert found == {False: [0, 0, 0], True: [0, 0, HALF]}


def test_what_lies_on_shared_storage_is_named_and_not_sent(tmp_path, monkeypatch):
    (tmp_path / "nfs" / "model").mkdir(parents=True)
    (tmp_path / "own").mkdir()
    folder, log = tmp_path / "nfs" / "cache" / "files", tmp_path / "nfs" / "log"
    config = {"model": str(tmp_path / "nfs" / "model"), "parent": str(tmp_path / "own")}
    monkeypatch.setenv("NUNCHI_SHARED", str(tmp_path / "nfs"))
    sent = cluster.packed(Job("key", "m:f", config, folder, log), put=lambda path: path.name)
    assert sent.config["model"] == config["model"] and sent.config["parent"].content == "own"
    assert (sent.folder, sent.log) == (folder, log)
    monkeypatch.delenv("NUNCHI_SHARED")
    sent = cluster.packed(Job("key", "m:f", config, folder, log), put=lambda path: path.name)
    assert sent.config["model"].content == "model" and not sent.folder.is_absolute()
