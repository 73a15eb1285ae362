"""The batch command, run for real: reports, failures, progress, and being killed at any moment."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest

from helpers.batch import plans, rendering, runner
from helpers.records import write_json
from helpers.sweeps import forks
from tests import projects
from tests.conftest import ROOT
from tests.projects import (
    FIXTURES,
    alive,
    command,
    make_checkout,
    make_project,
    nunchi,
    processes_of,
    read_json,
    run,
)

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


def test_a_report_that_cannot_be_written_fails_its_notebook_alone(tmp_path, monkeypatch, capsys):
    def work(self):
        if self.name == "plain":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "reports/plain/run.json")
        self.record = {"status": "ok", "seconds": 1.0}

    monkeypatch.setattr(runner.NotebookRun, "_work", work)
    suite = make_project(tmp_path, {"plain": {}, "noisy": {}})
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert runner.run_suite(suite, jobs=1) == 1
    out, err = capsys.readouterr()
    assert "2 run, 0 up to date, 1 failed" in out and "Traceback" not in err
    assert "cannot write reports/plain/run.json: No space left on device; make room, or use --out" in err


def test_a_good_run_leaves_the_four_files(tiny):
    _, folder = tiny
    assert sorted(path.name for path in (folder / "plain").iterdir()) == sorted(
        [*plans.EXECUTED, "report.html"]
    )
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
        assert words in page[page.index("This run failed") : page.index('<article id="text"')]
    assert "this ran before the failure" in (folder / "fails" / "report.html").read_text()
    assert "this never runs</pre>" not in (folder / "fails" / "report.html").read_text()


def test_progress_of_a_bar_is_one_quiet_line(tiny):
    page = (tiny[1] / "noisy" / "report.html").read_text()
    (shown,) = re.findall(r'<pre class="volatile" tabindex="0">(training.*?)</pre>', page)
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
    cards = re.findall(r'<article class="card( failed)?">', page)
    assert cards == [" failed"] * 3 + [""] * 3
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
    for plan in plans.make(suite):  # as of now: somebody may have edited the helpers since
        made = read_json(plan.folder / "run.json")
        write_json(plan.folder / "run.json", made | {"fingerprint": plans.fingerprint(plan)})
        rendering.refresh(plan.folder)
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


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the package, and a project of two notebooks that has been run with it."""
    folder = make_checkout(tmp_path_factory.mktemp("checkout"))
    suite = make_project(folder, {"plain": {}, "slow": {"seconds": 0}})
    done = nunchi("run", suite, checkout=folder)
    assert done.returncode == 0, done.stderr
    return folder


def executed(folder):
    """Bytes and times of what executing has written: unchanged unless a kernel has run."""
    files = [file for name in plans.EXECUTED for file in sorted(folder.glob(f"*/{name}"))]
    return {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


LOOK = {
    "style/report.css": ("", "/* another look */"),
    "style/report.js": ("", "// another script\n"),
    "style/report.html.j2": ("<main>", '<main class="other">'),
    "rendering.py": ('"""Rendering:', '"""Renderings:'),
    "glossary.yaml": ("Terms that", "All terms that"),
    "../display/messages.py": ("Show all code", "Show the code"),
    "markup.py": ('"""Text', '"""Texts'),
}


@pytest.mark.parametrize("files", [["style/report.css"], ["style/report.html.j2"], [*LOOK]])
def test_an_edit_of_the_look_renders_again_without_a_kernel(checkout, files):
    suite, reports = checkout / "params" / "tiny", checkout / "reports" / "tiny"
    before, pages = executed(reports), [path.read_text() for path in sorted(reports.glob("*/report.html"))]
    for file in files:
        path, (old, new) = checkout / "helpers" / "batch" / file, LOOK[file]
        edit(path, old if old in path.read_text() else new, new + " ")
    assert (
        "plain: render, its report is out of date"
        in nunchi("run", suite, "--dry-run", checkout=checkout).stdout
    )
    done = nunchi("run", suite, checkout=checkout)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 run, 2 up to date, 2 rendered again, 0 failed" in done.stdout
    assert executed(reports) == before
    assert [path.read_text() for path in sorted(reports.glob("*/report.html"))] != pages


def test_an_edit_of_what_a_notebook_cannot_reach_does_nothing(checkout):
    for file in ("cli.py", "batch/runner.py", "batch/index.py", "batch/commands.py", "sweeps/__init__.py"):
        edit(checkout / "helpers" / file, "", "# a remark\n")
    done = nunchi("run", checkout / "params" / "tiny", "--dry-run", checkout=checkout)
    assert "0 of 2 notebooks to run" in done.stdout and "render" not in done.stdout


def test_a_report_that_a_kill_kept_from_being_written_is_rendered(checkout):
    reports = checkout / "reports" / "tiny"
    before = executed(reports)
    (reports / "plain" / "report.html").unlink()
    done = nunchi("run", checkout / "params" / "tiny", "--only", "plain", checkout=checkout)
    assert "1 rendered again" in done.stdout and (reports / "plain" / "report.html").is_file()
    shutil.copy(reports / "slow" / "report.html", reports / "plain")  # whole, but of another run
    done = nunchi("run", checkout / "params" / "tiny", checkout=checkout)
    assert "0 run, 2 up to date, 1 rendered again" in done.stdout
    assert executed(reports) == before


def test_render_by_hand_says_what_was_never_run(checkout):
    suite, reports = checkout / "params" / "tiny", checkout / "reports" / "tiny"
    before = executed(reports)
    (reports / "index.html").unlink()
    done = nunchi("render", suite, checkout=checkout)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"2 rendered: {reports / 'index.html'}\n" and (reports / "index.html").is_file()
    shutil.copytree(reports / "slow", checkout / "elsewhere" / "tiny" / "slow")
    done = nunchi("render", suite, "--out", checkout / "elsewhere", checkout=checkout)
    assert (done.returncode, done.stderr) == (1, "plain has never been run, so there is nothing to render\n")
    assert "not run yet" in (checkout / "elsewhere" / "tiny" / "index.html").read_text()
    assert executed(reports) == before


def test_a_broken_template_costs_no_run(tmp_path):
    folder = make_checkout(tmp_path)
    suite, template = make_project(folder, {"plain": {}}), folder / "helpers/batch/style/report.html.j2"
    edit(template, "{{ title }}", "{{ titel }}")
    done = nunchi("run", suite, checkout=folder)
    assert done.returncode == 1 and "'titel' is undefined" in done.stderr
    kept = executed(folder / "reports" / "tiny")
    assert len(kept) == 3
    edit(template, "{{ titel }}", "{{ title }}")
    assert "0 run, 1 up to date, 1 rendered again" in nunchi("run", suite, checkout=folder).stdout
    assert executed(folder / "reports" / "tiny") == kept


@pytest.mark.slow
def test_a_style_edit_renders_the_smoke_suite_in_seconds(smoke, tmp_path, monkeypatch):
    reports = tmp_path / "smoke"
    shutil.copytree(smoke[1], reports)
    for plan in plans.make(ROOT / "params" / "smoke", out=tmp_path):  # as of now, as above
        made = read_json(plan.folder / "run.json")
        write_json(plan.folder / "run.json", made | {"fingerprint": plans.fingerprint(plan)})
    shutil.copytree(rendering.STYLE, tmp_path / "style")
    (tmp_path / "style" / "report.css").write_text("body { color: teal }")
    monkeypatch.setattr(rendering, "STYLE", tmp_path / "style")
    before, start = executed(reports), time.monotonic()
    assert runner.run_suite(ROOT / "params" / "smoke", out=tmp_path) == 0
    assert time.monotonic() - start < 10
    assert executed(reports) == before
    pages = sorted(reports.glob("*/report.html"))
    assert len(pages) >= 6 and all("color: teal" in page.read_text() for page in pages)


def test_sweeps_run_where_engine_says(tmp_path, monkeypatch):
    (plan,) = plans.make(make_project(tmp_path, {"plain": {}}))
    monkeypatch.setenv("RAY_ADDRESS", "ray://head:10001")
    given = runner._environment(plan, 1, "ray")
    assert (given["NUNCHI_ENGINE"], given["RAY_ADDRESS"]) == ("ray", "ray://head:10001")
    monkeypatch.delenv("NUNCHI_ENGINE", raising=False)
    assert runner._known_engine(None) == "local"
    monkeypatch.setenv("NUNCHI_ENGINE", "ray")
    monkeypatch.setattr(runner.importlib.util, "find_spec", lambda name: object())
    assert (runner._known_engine(None), runner._known_engine("local")) == ("ray", "local")
    monkeypatch.setattr(runner.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="needs the package: pip install"):
        runner._known_engine("ray")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_keeps_the_last_report_and_is_redone_alike(tmp_path, how):
    suite = make_project(tmp_path, {"plain": {}, "slow": {"seconds": 0.3}})
    folder = tmp_path / "reports" / "tiny"
    assert run(suite, "--jobs", 2).returncode == 0
    names = ("metrics.json", "report.html", "notebook.ipynb", "run.json")
    first = {(n, f): (folder / n / f).read_bytes() for n in ("plain", "slow") for f in names}

    (suite / "slow.yaml").write_text("seconds: 60\n")
    going = subprocess.Popen(command("run", suite, "--jobs", 2, "--force"), stderr=subprocess.PIPE, text=True)
    wait_for(lambda: list(folder.glob(".slow.run-*/notebook.ipynb")) and processes_of(folder))
    time.sleep(2)  # into the sleeping cell
    family = [*psutil.Process(going.pid).children(recursive=True)]
    assert len(family) >= 3  # the server of forks or none, processes and kernels
    going.send_signal(how)
    going.communicate(timeout=30)
    assert going.returncode == (-9 if how == signal.SIGKILL else 130)
    wait_for(lambda: not alive(family), seconds=20)
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
        return re.sub(r"commit <code>.*?</code>", "", projects.without_volatile(content.decode()))
    if file == "run.json":
        unstable = {"started", "seconds", "peak_memory_mb", "fingerprint", "commit"}
        return {key: value for key, value in json.loads(content).items() if key not in unstable}
    return content


def test_a_worker_that_dies_without_a_word_gets_a_failed_report(tmp_path):
    suite = make_project(tmp_path, {"slow": {"seconds": 60}})
    folder = tmp_path / "reports" / "tiny"
    going = subprocess.Popen(command("run", suite), stderr=subprocess.PIPE, text=True)
    wait_for(lambda: list(folder.glob(".slow.run-*/notebook.ipynb")) and len(processes_of(folder)) > 1)
    time.sleep(2)  # into the sleeping cell: a kernel that is asked for nothing yet would end anyway
    execution, *family = processes_of(folder)
    execution.kill()
    going.communicate(timeout=60)
    assert going.returncode == 1
    page = (folder / "slow" / "report.html").read_text()
    assert "signal 9: was there enough memory?" in page
    assert page.count('<details class="code">') == 5
    assert [path.name for path in folder.iterdir() if path.is_dir()] == ["slow"]
    wait_for(lambda: not alive(family), seconds=20)


@pytest.mark.skipif(not forks.possible(), reason="needs Linux without GPUs")
def test_notebooks_run_without_the_server_of_forks_and_give_the_same(tmp_path):
    suite = make_project(tmp_path, {"plain": {}, "slow": {"seconds": 3}})
    folder, kept = tmp_path / "reports" / "tiny", ("metrics.json", "notebook.ipynb")
    going = subprocess.Popen(command("run", suite, "--jobs", 1), stderr=subprocess.PIPE, text=True)
    wait_for(lambda: processes_of(folder))
    (server,) = psutil.Process(going.pid).children()
    assert server.children() == processes_of(folder)[:1]
    server.kill()
    going.communicate(timeout=60)
    assert going.returncode == 0
    forked = {(n, f): (folder / n / f).read_bytes() for n in ("plain", "slow") for f in kept}
    done = nunchi("run", suite, "--force", PATH=f"{fake_driver(tmp_path)}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    assert {key: (folder / key[0] / key[1]).read_bytes() for key in forked} == forked


def fake_driver(folder):
    """Make a program that a machine with GPUs has."""
    program = folder / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program.parent


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
    assert runner._environment(sample, 1, "local")["HF_HUB_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in runner._environment(hub, 1, "local")
    assert runner._environment(sample, 3, "local")["OMP_NUM_THREADS"] == "3"


@pytest.mark.parametrize(("given", "threads"), [("", 4), ("1", 1), ("9", 4), ("0", 4), ("x", 4)])
def test_a_notebook_takes_its_share_of_the_cores_or_fewer(monkeypatch, given, threads):
    monkeypatch.setattr(runner.os, "cpu_count", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert runner._threads(2) == threads
