"""The batch command, run for real: reports, failures, progress, and being killed at any moment."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from helpers.batch import execution, plans, rendering, runner
from helpers.records import write_json
from tests.projects import FIXTURES, command, make_project, processes_of, read_json, run

TINY = {"plain": {"answer": 43}, "fails": {}, "hostile": {}, "noisy": {}, "unrecorded": {}, "dies": {}}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """One run of a suite of six, three of which fail; the runner's words and the reports' folder."""
    folder = tmp_path_factory.mktemp("tiny")
    done = run(make_project(folder, TINY), "--jobs", 2)
    return done, folder / "reports" / "tiny"


def wait_for(condition, *, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_one_failure_stops_no_other_and_the_exit_code_tells(tiny):
    done, folder = tiny
    assert done.returncode == 1
    statuses = {name: read_json(folder / name / "run.json")["status"] for name in TINY}
    good = {"plain", "hostile", "noisy"}
    assert statuses == {name: "ok" if name in good else "failed" for name in TINY}
    assert "6 run, 0 up to date, 3 failed" in done.stdout


def test_a_good_run_leaves_the_four_files(tiny):
    _, folder = tiny
    assert sorted(path.name for path in (folder / "plain").iterdir()) == sorted(plans.REPORT_FILES)
    metrics = read_json(folder / "plain" / "metrics.json")
    assert metrics["headline"] == [{"name": "answer", "value": 43, "low": 42, "high": 44}]


def test_run_json_says_how_it_was_made(tiny):
    made = read_json(tiny[1] / "plain" / "run.json")
    assert made["parameters"] == {
        "data": "sample", "answer": 43, "rate": 3e-5, "names": ["한국", "서울"], "flag": False,
    }  # fmt: skip
    assert made["overrides"] == ["answer"]
    assert made["packages"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert 0 < made["seconds"] < 200
    assert 20 < made["peak_memory_mb"] < 2000
    assert made["threads"] == max(1, os.cpu_count() // 2)
    assert made["report_bytes"] < execution.MAX_REPORT_BYTES


def test_the_executed_notebook_has_outputs_and_no_times(tiny):
    executed = read_json(tiny[1] / "plain" / "notebook.ipynb")
    assert "papermill" not in json.dumps(executed)
    assert [cell["id"] for cell in executed["cells"]].count("injected-parameters") == 1
    assert any(cell.get("outputs") for cell in executed["cells"])


def test_the_reports_say_what_failed(tiny):
    _, folder = tiny
    expected = {
        "fails": "no such column: 단어 &lt;b&gt;bold&lt;/b&gt;",
        "unrecorded": "wrote no metrics.json",
        "dies": "Kernel died",
    }
    for name, words in expected.items():
        page = (folder / name / "report.html").read_text()
        assert words in page[page.index("This run failed") : page.index('<details class="code">')]
    assert "this ran before the failure" in (folder / "fails" / "report.html").read_text()
    assert "this never runs</pre>" not in (folder / "fails" / "report.html").read_text()


def test_progress_of_a_bar_is_one_quiet_line(tiny):
    page = (tiny[1] / "noisy" / "report.html").read_text()
    (shown,) = re.findall(r'<pre class="volatile">(training.*?)</pre>', page)
    assert "100%" in shown and "\n" not in shown
    assert "red and plain" in page and "\x1b" not in page


def test_text_from_data_is_inert_in_report_and_index(tiny):
    for page in (tiny[1] / "hostile" / "report.html", tiny[1] / "index.html"):
        text = page.read_text()
        assert text.count("<script") == 1
        assert "&lt;script&gt;document.title = 1&lt;/script&gt;" in text
        assert not re.search(r"<[^>]+\son\w+=", re.sub(r'"data:[^"]*"', "", text))


def test_the_index_has_a_card_for_each(tiny):
    page = (tiny[1] / "index.html").read_text()
    assert page.count('<article class="card">') == 6
    assert 'href="plain/report.html"' in page
    assert "It does, with <strong>certainty</strong>." in page
    assert "42 to 44" in page
    assert "3 failed" in page
    assert '<img src="data:image/svg+xml,' in page


def test_a_log_has_a_line_per_start_and_end(tiny):
    lines = tiny[0].stderr.splitlines()
    for name in TINY:
        mine = [line for line in lines if line.startswith(f"{name} ")]
        assert mine[0].endswith("started")
        assert re.search(r"(ok|failed) +\d+\.\d s", mine[-1])
    assert "\x1b" not in tiny[0].stderr
    assert len(lines) < 40


def test_what_is_up_to_date_is_not_run_and_failures_are(tiny):
    _, folder = tiny
    suite = folder.parent.parent / "params" / "tiny"
    for task in plans.make(suite):  # as of now: somebody may have edited the helpers since
        made = read_json(task.folder / "run.json")
        write_json(task.folder / "run.json", made | {"fingerprint": plans.fingerprint(task)})
    planned = run(suite, "--dry-run").stdout
    assert "plain: up to date" in planned
    assert "    answer = 43" in planned
    assert "fails: run, failed last time" in planned
    assert "3 of 6 notebooks to run" in planned
    before = (folder / "plain" / "run.json").stat().st_mtime_ns
    start = time.monotonic()
    done = run(suite, "--only", "plain,hostile", "--only", "noisy")
    assert time.monotonic() - start < 5
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 run, 3 up to date" in done.stdout
    assert (folder / "plain" / "run.json").stat().st_mtime_ns == before


def test_bad_parameters_start_no_kernel(tmp_path):
    suite = make_project(tmp_path, {"plain": {"anwser": 1}, "slow": {"seconds": "3e-1"}})
    done = run(suite)
    assert done.returncode == 2
    assert "did you mean 'answer'?" in done.stderr and "write 3.0e-1" in done.stderr
    assert not (tmp_path / "reports").exists()


def test_out_and_force(tmp_path):
    suite = make_project(tmp_path, {"slow": {"seconds": 0}})
    for arguments, words in (((), "1 run"), ((), "0 run, 1 up to date"), (("--force",), "1 run")):
        assert words in run(suite, "--out", tmp_path / "elsewhere", *arguments).stdout
    assert (tmp_path / "elsewhere" / "tiny" / "slow" / "report.html").is_file()
    assert not (tmp_path / "reports").exists()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_keeps_the_last_report_and_is_redone_alike(tmp_path, how):
    suite = make_project(tmp_path, {"plain": {}, "slow": {"seconds": 0.3}})
    folder = tmp_path / "reports" / "tiny"
    assert run(suite, "--jobs", 2).returncode == 0
    names = ("metrics.json", "report.html", "notebook.ipynb", "run.json")
    first = {(n, f): (folder / n / f).read_bytes() for n in ("plain", "slow") for f in names}

    (suite / "slow.yaml").write_text("seconds: 60\n")
    going = subprocess.Popen(command(suite, "--jobs", 2, "--force"), stderr=subprocess.PIPE, text=True)
    wait_for(lambda: list(folder.glob(".slow.run-*/notebook.ipynb")) and processes_of(folder))
    time.sleep(2)  # into the sleeping cell
    going.send_signal(how)
    going.communicate(timeout=30)
    assert going.returncode == (-9 if how == signal.SIGKILL else 130)
    wait_for(lambda: not processes_of(folder), seconds=20)
    wait_for(lambda: not list(folder.glob(".*.run-*")), seconds=20)
    for file in names:
        assert (folder / "slow" / file).read_bytes() == first["slow", file]

    (suite / "slow.yaml").write_text("seconds: 0.3\n")
    assert run(suite, "--jobs", 2, "--force").returncode == 0
    for (name, file), before in first.items():
        assert stable(file, (folder / name / file).read_bytes()) == stable(file, before), (name, file)


def stable(file, content):
    """Return what two runs must agree on, even where somebody edits the checkout between them."""
    if file == "report.html":
        return re.sub(r"commit <code>.*?</code>", "", rendering.without_volatile(content.decode()))
    if file == "run.json":
        unstable = {*execution.VOLATILE, "report_bytes", "fingerprint", "commit"}
        return {key: value for key, value in json.loads(content).items() if key not in unstable}
    return content


def test_a_worker_that_dies_without_a_word_gets_a_failed_report(tmp_path):
    suite = make_project(tmp_path, {"slow": {"seconds": 60}})
    folder = tmp_path / "reports" / "tiny"
    going = subprocess.Popen(command(suite), stderr=subprocess.PIPE, text=True)
    wait_for(lambda: processes_of(folder))
    (kernel,) = processes_of(folder)
    kernel.parent().kill()
    going.communicate(timeout=60)
    assert going.returncode == 1
    page = (folder / "slow" / "report.html").read_text()
    assert "signal 9: was there enough memory?" in page
    assert page.count('<details class="code">') == 5
    assert [path.name for path in folder.iterdir() if path.is_dir()] == ["slow"]
    wait_for(lambda: not processes_of(folder), seconds=20)


def test_plain_papermill_works_from_any_directory(tmp_path):
    (tmp_path / "p.yaml").write_text("answer: 5\n")
    papermill = [
        sys.executable,
        "-m",
        "papermill",
        str(FIXTURES / "plain.ipynb"),
        "out.ipynb",
        "-f",
        "p.yaml",
    ]
    out = {"NUNCHI_OUT": str(tmp_path / "out")}
    done = subprocess.run(
        papermill, cwd=tmp_path, env=os.environ | out, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert read_json(tmp_path / "out" / "metrics.json")["headline"][0]["value"] == 5


@pytest.mark.parametrize(
    ("wanted", "notebooks", "jobs"),
    [(None, 1, 1), (4, 6, 4), (8, 2, 2), (1, 6, 1), (None, 10_000, os.cpu_count())],
)
def test_jobs_follow_the_suite_and_not_what_is_left_of_it(wanted, notebooks, jobs):
    assert runner._jobs(wanted, notebooks) == jobs


def test_kernels_are_offline_unless_the_hub_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    (sample,) = plans.make(make_project(tmp_path / "a", {"plain": {}}))
    (hub,) = plans.make(make_project(tmp_path / "b", {"plain": {"data": "hub"}}))
    assert runner._environment(sample, 1)["HF_HUB_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in runner._environment(hub, 1)
    assert runner._environment(sample, 3)["OMP_NUM_THREADS"] == "3"


def test_a_terminal_sees_lines_that_refresh(monkeypatch):
    written = []
    board = runner._Board(["one", "three"], write=written.append)
    board.live = True
    board.begin("one")
    board.cell("one", {"cell": 3, "cells": 12, "section": "Evidence"})
    board.refresh()
    screen = "".join(written)
    assert re.search(r"\x1b\[1F\x1b\[Jone +0\.0 s  cell  3/12  Evidence\n$", screen)
    board.end("one", {"status": "ok", "seconds": 3.0})
    assert written[-2:] == ["one    ok          3.0 s\n", ""]


def test_a_log_announces_a_cell_only_when_it_is_slow(monkeypatch):
    written, now = [], [100.0]
    monkeypatch.setattr(runner.time, "monotonic", lambda: now[0])
    board = runner._Board(["one"], write=written.append)
    board.live = False
    board.begin("one")
    for cell, seconds in ((1, 0.5), (2, 10.0), (3, 0.1)):
        board.cell("one", {"cell": cell, "cells": 3, "section": "Data"})
        for _ in range(4):
            now[0] += seconds / 4
            board.refresh()
    assert written == ["one  started\n", "one      3.0 s  cell  2/3  Data\n"]


@pytest.mark.parametrize(("given", "threads"), [("", 4), ("1", 1), ("9", 4), ("0", 4), ("x", 4)])
def test_a_notebook_takes_its_share_of_the_cores_or_fewer(monkeypatch, given, threads):
    monkeypatch.setattr(runner.os, "cpu_count", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert runner._threads(2) == threads
