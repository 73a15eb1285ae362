"""The server of forks: what a fork has and is told, how it ends, and who ends with whom."""

import os
import subprocess
import sys
import tempfile
import time

import pytest

from helpers.sweeps import forks, workers
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(not forks.possible(), reason="needs Linux without GPUs")
HERE = "tests.sweeps.test_forks"


def report():
    """Say what this process has, then echo what it is told."""
    print(os.getpid(), os.environ["WORD"], "wave" in sys.modules, flush=True)
    for line in sys.stdin:
        print(line.strip()[::-1], flush=True)


def fail():
    raise ValueError("무슨 일")


@pytest.fixture
def noise():
    with tempfile.TemporaryFile("w+") as file:
        yield file


@pytest.fixture
def server():
    server = forks.Server(
        ["no_such_module", "wave", HERE], environment=os.environ | {"PYTHONPATH": str(ROOT), "WORD": "none"}
    )
    yield server
    server.close()


def test_a_fork_has_the_modules_and_is_told_the_rest(server, noise):
    fork = server.start(f"{HERE}:report", variables={"WORD": "눈치"}, stderr=noise)
    assert fork.stdout.readline().split() == [str(fork.pid), "눈치", "True"]
    fork.stdin.write("abc\n")
    fork.stdin.flush()
    assert fork.stdout.readline() == "cba\n"
    fork.stdin.close()
    assert (fork.stdout.read(), fork.wait()) == ("", 0)


def test_a_fork_that_ends_is_heard_while_others_run(server, noise):
    first, second = (server.start(f"{HERE}:report", variables={}, stderr=noise) for _ in range(2))
    os.kill(second.pid, 9)
    assert second.wait() == -9
    second.stdout.read()  # to its end: no other process holds it open
    first.stdin.close()
    assert first.wait() == 0


def test_an_error_is_written_down_and_changes_the_exit_code(server, noise):
    assert server.start(f"{HERE}:fail", variables={}, stderr=noise).wait() == 1
    noise.seek(0)
    assert "ValueError: 무슨 일" in noise.read()


def test_forks_outlive_their_server_and_nobody_starts_another(server, noise):
    fork = server.start(f"{HERE}:report", variables={}, stderr=noise)
    server.process.kill()
    server.process.wait()
    fork.stdin.write("ab\n")
    fork.stdin.close()
    assert fork.stdout.read().splitlines()[1:] == ["ba"]
    assert fork.wait() == -1
    with pytest.raises(OSError):
        server.start(f"{HERE}:report", variables={}, stderr=noise)


def test_a_server_ends_with_the_process_that_started_it(tmp_path):
    script = (
        "import os; from helpers.sweeps import forks\n"
        "server = forks.Server([], environment=os.environ)\n"
        "print(server.process.pid, flush=True); os._exit(1)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    end = time.monotonic() + 30
    while os.path.exists(f"/proc/{int(done.stdout)}"):  # noqa: PTH110
        assert time.monotonic() < end
        time.sleep(0.05)


def test_nothing_is_forked_beside_gpus_or_elsewhere(monkeypatch):
    monkeypatch.setattr(workers.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert not forks.possible()
    monkeypatch.undo()
    monkeypatch.setattr(forks.sys, "platform", "darwin")
    assert not forks.possible()
