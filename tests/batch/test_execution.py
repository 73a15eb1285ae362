"""One run: the swap into place, what dead runs leave behind, and what is measured."""

import os
import subprocess
import sys
import threading

import psutil
import pytest

from helpers.batch import execution, runner


def report_folder(parent, name, text):
    folder = parent / name
    folder.mkdir(parents=True)
    (folder / "report.html").write_text(text)
    return folder


@pytest.fixture(params=["in one step", "by two renames"])
def swap(request, monkeypatch):
    if request.param == "by two renames":
        monkeypatch.setattr(execution, "_exchange", lambda one, other: False)
    return execution.swap


def test_a_first_report_moves_into_place(tmp_path, swap):
    swap(report_folder(tmp_path, ".work", "new"), tmp_path / "target")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_a_report_replaces_the_last_one_whole(tmp_path, swap):
    target = report_folder(tmp_path, "target", "old")
    (target / "left-over.csv").write_text("of the old run")
    swap(report_folder(tmp_path, ".work", "new"), target)
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert [path.name for path in target.iterdir()] == ["report.html"]
    assert (target / "report.html").read_text() == "new"


def test_a_reader_never_misses_the_report(tmp_path):
    target = report_folder(tmp_path, "target", "0")
    if not execution._exchange(target, report_folder(tmp_path, "probe", "0")):
        pytest.skip("this file system cannot exchange two names in one step")
    missed, over = [], threading.Event()

    def read():
        while not over.is_set():
            if not target.exists():
                missed.append(1)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(300):
        execution.swap(report_folder(tmp_path, f".work-{number}", str(number)), target)
    over.set()
    reader.join()
    assert not missed
    assert (target / "report.html").read_text() == "299"


def dead_pid():
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_clearing_removes_what_dead_runs_left_and_nothing_else(tmp_path):
    report_folder(tmp_path, f".a.run-{dead_pid()}-x", "half")
    mine = report_folder(tmp_path, f".a.run-{os.getpid()}-x", "half")
    good = report_folder(tmp_path, "a", "good")
    execution.clear_dead_runs(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([mine, good])


def test_clearing_puts_back_a_report_caught_between_two_renames(tmp_path):
    pid = dead_pid()
    report_folder(tmp_path, f".a.run-{pid}-x-old", "last good")
    report_folder(tmp_path, f".a.run-{pid}-x", "half")
    execution.clear_dead_runs(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a" / "report.html").read_text() == "last good"


def test_clearing_drops_the_old_report_when_the_new_one_is_in_place(tmp_path):
    report_folder(tmp_path, f".a.run-{dead_pid()}-x-old", "old")
    report_folder(tmp_path, "a", "new")
    execution.clear_dead_runs(tmp_path)
    assert (tmp_path / "a" / "report.html").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 1


def test_peak_memory_counts_children(monkeypatch):
    code = "x = bytearray(150_000_000); import time; time.sleep(1.5)"
    parked = sum(child.memory_info().rss for child in psutil.Process().children(recursive=True))
    with execution._PeakMemory(every=0.05) as peak:
        subprocess.run([sys.executable, "-c", code])
    assert 150e6 < peak.bytes - parked < 400e6  # workers of other tests' sweeps may wait for the next one


def test_children_and_their_children_are_ended():
    code = "import subprocess, time; subprocess.Popen(['sleep', '60']); print(1, flush=True); time.sleep(60)"
    script = (
        "import subprocess, sys, psutil; from helpers.batch import execution\n"
        f"child = subprocess.Popen([sys.executable, '-c', {code!r}], stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "family = psutil.Process().children(recursive=True)\n"
        "execution.end_children(grace=5)\n"
        "print(len(family), sum(p.is_running() and p.status() != 'zombie' for p in family))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["2", "0"], done.stderr


def test_what_every_process_imports_compiles_no_grammar():
    """It took two thirds of the time that the server of forks spent on its imports for every suite."""
    code = (
        "import sys, importlib; [importlib.import_module(name) for name in sys.argv[1:]];"
        "import nbformat; nbformat.validate(nbformat.v4.new_notebook()); print('lark' in sys.modules)"
    )
    command = [sys.executable, "-c", code, *runner.PROCESS]  # in this order, as the server does
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
