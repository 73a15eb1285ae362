"""Parameter files in, reports out: `nunchi run params/<suite>`.

Checks every parameter file first, runs what is not up to date in parallel processes, and writes one report
per notebook and an index. Planning is in `plans`, one notebook's run in `execution`, pages in `rendering`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from helpers import records
from helpers.batch import plans
from helpers.sweeps.workers import cores_given

ANNOUNCE_AFTER = 2.0  # seconds a cell runs before it gets a line of its own in a log


def run_suite(
    suite: Path,
    *,
    only: Sequence[str] = (),
    jobs: int | None = None,
    force: bool = False,
    dry: bool = False,
    out: Path | None = None,
) -> int:
    """Run a suite, or with `dry` print its plan; 0: all fine, 1: a notebook failed, 2: bad input."""
    try:
        tasks = plans.make(suite, out=out, only=only)
    except ValueError as error:
        print(f"Nothing was run. Please correct:\n{_indented(str(error))}", file=sys.stderr)
        return 2
    stale = {task: "forced" if force else plans.why_stale(task) for task in tasks}
    if dry:
        print("\n".join(_plan_lines(stale)))
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill ends kernels as Ctrl-C does
    try:
        runs = run_all([task for task, reason in stale.items() if reason], jobs=_jobs(jobs, len(tasks)))
    except KeyboardInterrupt:
        print("Stopped. Finished reports are kept; the same command goes on with the rest.", file=sys.stderr)
        return 130
    return _conclude(suite, tasks, runs)


def run_all(tasks: Sequence[plans.Task], *, jobs: int) -> dict[str, dict]:
    """Run the tasks, `jobs` at a time, and return what each run.json holds; an interrupt stops them all."""
    if not tasks:
        return {}
    from helpers.batch import execution

    for folder in {task.folder.parent for task in tasks}:
        execution.sweep(folder)
    board = _Board([task.name for task in tasks])
    threads = _threads(jobs)
    workers = [_Worker(task, threads=threads, board=board) for task in _longest_first(tasks)]
    with ThreadPoolExecutor(jobs) as pool:
        pending: set[Future] = {pool.submit(worker.work) for worker in workers}
        try:
            while pending:
                done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()  # an error of ours, not of a notebook: stop everything
                board.refresh()
        except BaseException:
            for worker in workers:
                worker.stop()
            raise
    return {worker.task.name: worker.run for worker in workers}


class _Worker:
    """One notebook's process, and the thread that listens to it."""

    def __init__(self, task: plans.Task, *, threads: int, board: _Board) -> None:
        self.task, self.threads, self.board = task, threads, board
        self.run: dict[str, Any] = {}
        self.process: subprocess.Popen | None = None
        self.stopped = False
        self.lock = threading.Lock()

    def work(self) -> None:
        spec = _spec(self.task, self.threads)
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as noise,
            # Short, and cleaned up by whoever survives: the path of a socket holds 107 characters.
            tempfile.TemporaryDirectory(prefix="nunchi-", ignore_cleanup_errors=True) as sockets,
        ):
            with self.lock:
                if self.stopped:
                    return
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "helpers.batch.execution"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=noise, text=True, encoding="utf-8",
                    env=_environment(self.task, self.threads) | {"JUPYTER_RUNTIME_DIR": sockets},
                    start_new_session=True,
                )  # fmt: skip
            self.board.begin(self.task.name)
            self.process.stdin.write(json.dumps(spec) + "\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                self._hear(json.loads(line))
            code = self.process.wait()
            if not self.run and not self.stopped:
                noise.seek(0)
                self.run = _fail(spec, self.process.pid, code, noise.read()[-4000:])
        if self.run:
            self.board.end(self.task.name, self.run)

    def stop(self) -> None:
        """Cut the lifeline; the process then ends its kernel and itself."""
        with self.lock:
            self.stopped = True
            if self.process and self.process.poll() is None:
                self.process.stdin.close()

    def _hear(self, event: dict[str, Any]) -> None:
        if event["event"] == "done":
            self.run = event["run"]
        else:
            self.board.cell(self.task.name, event)


class _Board:
    """Progress: lines that refresh in a terminal; in a log, a line per start, end and slow cell."""

    def __init__(self, names: Sequence[str], write: Callable[[str], Any] = sys.stderr.write) -> None:
        self.width = max(map(len, names))
        self.live = sys.stderr.isatty()
        self.write, self.lock = write, threading.Lock()
        self.running: dict[str, dict[str, Any]] = {}
        self.drawn = 0

    def begin(self, name: str) -> None:
        with self.lock:
            now = time.monotonic()
            self.running[name] = {
                "start": now,
                "since": now,
                "cell": 0,
                "cells": 0,
                "section": "",
                "told": True,
            }
            self._say(f"{name:<{self.width}}  started")

    def cell(self, name: str, event: dict[str, Any]) -> None:
        with self.lock:
            self.running[name] |= event | {"since": time.monotonic(), "told": False}

    def end(self, name: str, run: dict[str, Any]) -> None:
        with self.lock:
            self.running.pop(name, None)
            detail = (
                "" if run["status"] == "ok" else f"  {run['error']['name']}: {run['error']['message']:.100}"
            )
            first_line = detail.split("\n")[0]
            warned = f"  {run['warning']}" if run.get("warning") else ""
            self._say(f"{name:<{self.width}}  {run['status']:<7} {run['seconds']:7.1f} s{first_line}{warned}")

    def refresh(self) -> None:
        with self.lock:
            if self.live:
                self._draw()
                return
            for name, state in self.running.items():
                if not state["told"] and time.monotonic() - state["since"] > ANNOUNCE_AFTER:
                    state["told"] = True
                    self._say(self._line(name, state))

    def _say(self, line: str) -> None:
        """Print a line that stays, above the live ones."""
        self._wipe()
        self.write(f"{line}\n")
        self._draw()

    def _draw(self) -> None:
        if self.live:
            self._wipe()
            width = shutil.get_terminal_size().columns - 1
            lines = [self._line(name, state)[:width] for name, state in self.running.items()]
            self.write("".join(f"{line}\n" for line in lines))
            self.drawn = len(lines)
            sys.stderr.flush()

    def _wipe(self) -> None:
        if self.drawn:
            self.write(f"\x1b[{self.drawn}F\x1b[J")
            self.drawn = 0

    def _line(self, name: str, state: dict[str, Any]) -> str:
        elapsed = time.monotonic() - state["start"]
        where = f"cell {state['cell']:>2}/{state['cells']}" if state["cells"] else "starting the kernel"
        return f"{name:<{self.width}}  {elapsed:7.1f} s  {where}  {state['section']}"


def _jobs(wanted: int | None, notebooks: int) -> int:
    """Return how many run at once: from the suite's size, not from what is left of it.

    The number sets the threads each notebook computes with, and with them the last digits of its results: a
    suite that goes on after a kill must compute as the undisturbed one would have.
    """
    return max(1, min(wanted or os.cpu_count() or 1, notebooks))


def _threads(jobs: int) -> int:
    """Return the threads of each notebook: its share of the cores, or fewer where OMP_NUM_THREADS says so."""
    return cores_given(max(1, (os.cpu_count() or 1) // jobs))


def _plan_lines(stale: dict[plans.Task, str | None]) -> list[str]:
    lines = []
    for task, reason in stale.items():
        lines.append(f"{task.name}: {'run, ' + reason if reason else 'up to date'}")
        lines += [f"    {name} = {value!r}" for name, value in task.overrides.items()]
        lines += [f"    {line}" for line in plans.estimate(task)]
    return [*lines, f"{sum(map(bool, stale.values()))} of {len(stale)} notebooks to run"]


def _longest_first(tasks: Sequence[plans.Task]) -> list[plans.Task]:
    """Start the notebooks that took longest last time, so that none is left alone at the end."""

    def seconds(task: plans.Task) -> float:
        path = task.folder / "run.json"
        return json.loads(path.read_text(encoding="utf-8"))["seconds"] if path.is_file() else float("inf")

    return sorted(tasks, key=seconds, reverse=True)


def _spec(task: plans.Task, threads: int) -> dict[str, Any]:
    return {
        "notebook": str(task.notebook),
        "suite": task.suite,
        "folder": str(task.folder),
        "values": task.values,
        "overrides": task.overrides,
        "fingerprint": plans.fingerprint(task),
        "threads": threads,
    }


def _environment(task: plans.Task, threads: int) -> dict[str, str]:
    count = str(threads)
    given = {
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "TOKENIZERS_PARALLELISM": str(threads > 1).lower(),
    }
    given["PYTHONPATH"] = os.pathsep.join(filter(None, [str(records.ROOT), os.environ.get("PYTHONPATH")]))
    given["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # no debugger, no warning about it in every kernel
    offline = {} if plans.needs_hub(task.values) else {"HF_HUB_OFFLINE": "1"}
    return {**offline, **os.environ, **given}


def _fail(spec: dict[str, Any], pid: int, code: int, noise: str) -> dict[str, Any]:
    """Write the report of a run whose process died without a word, most often for lack of memory."""
    from helpers.batch import execution

    cause = f"signal {-code}: was there enough memory?" if code < 0 else f"exit code {code}"
    message = f"the process that ran this notebook ended without a report, with {cause}"
    error = {"name": "ProcessDied", "message": message, "traceback": noise}
    outcome = {
        "status": "failed",
        "started": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        "error": error,
    }
    work = execution.left_by(pid, Path(spec["folder"])) or execution.work_folder(Path(spec["folder"]))
    return execution.finish(spec, work, outcome | {"seconds": 0.0, "peak_memory_mb": 0})


def _conclude(suite: Path, tasks: Sequence[plans.Task], runs: dict[str, dict]) -> int:
    """Write the index, say how it went, and return the exit code."""
    from helpers.batch import rendering

    folder = tasks[0].folder.parent
    names = sorted(file.stem for file in suite.glob("*.yaml"))
    page = rendering.index(suite.resolve().name, names, folder)
    index = folder / "index.html"
    if not index.is_file() or index.read_text(encoding="utf-8") != page:
        records.write_text(index, page)
    failed = sorted(name for name, run in runs.items() if run["status"] != "ok")
    print(f"{len(runs)} run, {len(tasks) - len(runs)} up to date, {len(failed)} failed: {index}")
    return 1 if failed else 0


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
