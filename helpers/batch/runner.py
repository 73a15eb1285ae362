"""Suites: parameter files in, reports out. `nunchi run` executes what is stale, then renders what is stale.

Checks every parameter file first and runs notebooks in parallel processes. Planning is in `plans`, one
notebook's process in `execution`, its page in `rendering`, the suite's page in `index`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Container, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from helpers import records
from helpers.batch import grids, plans
from helpers.batch.progress import Progress
from helpers.sweeps import ENGINES, forks
from helpers.sweeps.workers import cores_given

MAX_REPORT_BYTES = 1_000_000
EXECUTION = "helpers.batch.execution"
INLINE = "module://matplotlib_inline.backend_inline"  # matplotlib reads it before a kernel would set it
# What every notebook's process needs, this package first (see there), and what those that train import later.
PROCESS = (EXECUTION, "papermill.execute", "ipykernel.kernelapp")
TRAINING = ("seaborn", "sklearn.linear_model", "sklearn.feature_extraction.text")


def run_suite(
    suite: Path,
    *,
    only: Sequence[str] = (),
    jobs: int | None = None,
    force: bool = False,
    dry: bool = False,
    gpus: int = 1,
    out: Path | None = None,
    engine: str | None = None,
    language: str | None = None,
) -> int:
    """Run a suite, or with `dry` print its plan; 0: all fine, 1: a notebook failed. ValueError: bad input.

    `gpus` are those of the plan's estimate. `language` is that of the pages, else the one that the suite's
    files name: no notebook is executed again for another one.
    """
    from helpers.batch import rendering

    chosen = plans.make(suite, out=out, only=only)
    language = language or plans.language(suite)
    engine = _known_engine(engine)
    jobs = jobs or (1 if engine == "launch" else None)  # a run has every GPU to itself
    stale = {plan: "forced" if force else plans.why_stale(plan) for plan in chosen}
    if dry:
        unrendered = {
            plan
            for plan in chosen
            if rendering.is_stale(plan.folder, **rendering.edition(plan.notebook, language))
        }
        print("\n".join(_plan_lines(stale, unrendered, gpus)))
        return 0
    chosen[0].folder.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill ends kernels as Ctrl-C does
    try:
        due = [plan for plan, reason in stale.items() if reason]
        runs = run_all(due, jobs=_jobs(jobs, len(chosen)), engine=engine, language=language)
        anew = sum(
            rendering.refresh(plan.folder, **rendering.edition(plan.notebook, language))
            for plan in chosen
            if plans.read_run(plan.folder)
        )
        page = _write_index(suite, chosen, language)
    except KeyboardInterrupt:
        print("Stopped. Finished reports are kept; the same command goes on with the rest.", file=sys.stderr)
        return 130
    failed = sum(run["status"] != "ok" for run in runs.values())
    again = f", {anew} rendered again" if anew else ""
    print(f"{len(runs)} run, {len(chosen) - len(runs)} up to date{again}, {failed} failed: {page}")
    return 1 if failed else 0


def render_suite(
    suite: Path, *, only: Sequence[str] = (), out: Path | None = None, language: str | None = None
) -> int:
    """Render the reports of executed notebooks and the index, whether stale or not; 1: one was never run."""
    from helpers.batch import rendering

    chosen = plans.make(suite, out=out, only=only)
    language = language or plans.language(suite)
    executed = [plan for plan in chosen if plans.read_run(plan.folder)]
    for plan in executed:
        rendering.refresh(plan.folder, force=True, **rendering.edition(plan.notebook, language))
    for plan in chosen:
        if plan not in executed:
            print(f"{plan.name} has never been run, so there is nothing to render", file=sys.stderr)
    if executed:
        print(f"{len(executed)} rendered: {_write_index(suite, chosen, language)}")
    return 0 if len(executed) == len(chosen) else 1


def run_all(chosen: Sequence[plans.Plan], *, jobs: int, engine: str, language: str = "en") -> dict[str, dict]:
    """Execute notebooks, `jobs` at a time, and return what each run.json holds; an interrupt stops all."""
    if not chosen:
        return {}
    from helpers.batch import execution

    execution.clear_dead_runs(chosen[0].folder.parent)
    progress = Progress([plan.name for plan in chosen])
    threads = _threads(jobs)
    ordered = _longest_first(chosen)
    environments = [_environment(plan, threads, engine) for plan in ordered]
    server = _fork_server(ordered, environments)
    runs = [
        NotebookRun(_spec(plan, threads, language), environment, progress, server)
        for plan, environment in zip(ordered, environments, strict=True)
    ]
    with contextlib.closing(server) if server else contextlib.nullcontext(), ThreadPoolExecutor(jobs) as pool:
        pending: set[Future] = {pool.submit(run.work) for run in runs}
        try:
            while pending:
                done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                progress.refresh()
        except BaseException:
            for run in runs:
                run.stop()
            raise
    return {run.name: run.record for run in runs}


class NotebookRun:
    """One notebook's process, and the thread that listens to it; `record` is what its run.json holds."""

    def __init__(
        self,
        spec: dict[str, Any],
        environment: dict[str, str],
        progress: Progress,
        server: forks.Server | None = None,
    ) -> None:
        self.spec, self.environment, self.progress, self.server = spec, environment, progress, server
        self.name = Path(spec["folder"]).name
        self.record: dict[str, Any] = {}
        self.process: subprocess.Popen | forks.Fork | None = None
        self.stopped = False
        self.lock = threading.Lock()

    def work(self) -> None:
        """Run the notebook; an error of ours, or of the disk, fails this notebook and no other."""
        try:
            self._work()
        except Exception as error:
            self.stop()
            if not self.record:
                self.record = _unreported(error)
                self.progress.end(self.name, self.record)

    def _work(self) -> None:
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as noise,
            # Short, and cleaned up by whoever survives: the path of a socket holds 107 characters.
            tempfile.TemporaryDirectory(prefix="nunchi-", ignore_cleanup_errors=True) as sockets,
        ):
            with self.lock:
                if self.stopped:
                    return
                self.process = process = self._start({"JUPYTER_RUNTIME_DIR": sockets}, noise)
            assert process.stdin and process.stdout
            self.progress.begin(self.name)
            process.stdin.write(json.dumps(self.spec) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                self._hear(json.loads(line))
            code = process.wait()
            if not self.record and not self.stopped:
                noise.seek(0)
                self.record = _fail(self.spec, process.pid, code, noise.read()[-4000:])
        if self.record:
            self.progress.end(self.name, self.record)

    def stop(self) -> None:
        """Cut the lifeline; the process then ends its kernel and itself."""
        with self.lock:
            self.stopped = True
            if self.process and self.process.stdin:
                with contextlib.suppress(BrokenPipeError):  # it has ended
                    self.process.stdin.close()

    def _start(self, variables: dict[str, str], noise: IO) -> subprocess.Popen | forks.Fork:
        if self.server:
            with contextlib.suppress(OSError):  # the server was killed
                return self.server.start(f"{EXECUTION}:forked", variables=variables, stderr=noise)
        return subprocess.Popen(
            [sys.executable, "-m", EXECUTION],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=noise, text=True, encoding="utf-8",
            env=self.environment | variables, start_new_session=True,
        )  # fmt: skip

    def _hear(self, event: dict[str, Any]) -> None:
        if event["event"] == "done":
            self.record = event["run"]
        else:
            self.progress.cell(self.name, event)


def _fork_server(chosen: Sequence[plans.Plan], environments: Sequence[dict[str, str]]) -> forks.Server | None:
    """Start a server whose forks have imported what the notebooks need, if one environment suits all."""
    if not forks.possible() or any(one != environments[0] for one in environments):
        return None
    modules = {name for plan in chosen for name in plans.modules(plan)}
    slow = TRAINING if "helpers.learning.loop" in modules else ()
    return forks.Server([*PROCESS, *sorted(modules), *slow], environment=environments[0])


def _known_engine(asked: str | None) -> str:
    """Return where the notebooks' sweeps run: as asked, else as NUNCHI_ENGINE says."""
    engine = asked or os.environ.get("NUNCHI_ENGINE") or "local"
    if engine not in ENGINES:
        raise ValueError(f"NUNCHI_ENGINE is {engine!r}; expected one of {', '.join(ENGINES)}")
    if engine == "ray" and importlib.util.find_spec("ray") is None:
        raise ValueError("the engine ray needs the package: pip install -e '.[ray]', or use --engine local")
    return engine


def _jobs(wanted: int | None, notebooks: int) -> int:
    """Return how many run at once: from the suite's size, not from what is left of it.

    The number sets the threads each notebook computes with, and with them the last digits of its results: a
    suite that goes on after a kill must compute as the undisturbed one would have.
    """
    return max(1, min(wanted or os.cpu_count() or 1, notebooks))


def _threads(jobs: int) -> int:
    """Return the threads of each notebook: its share of the cores, or fewer where OMP_NUM_THREADS says so."""
    return cores_given(max(1, (os.cpu_count() or 1) // jobs))


def _plan_lines(
    stale: dict[plans.Plan, str | None], unrendered: Container[plans.Plan], gpus: int
) -> list[str]:
    from helpers.planning import estimates

    lines, found = [], {plan.name: plans.trainings(plan) for plan in stale}
    for plan, reason in stale.items():
        fresh = "render, its report is out of date" if plan in unrendered else "up to date"
        lines.append(f"{plan.name}: {'run, ' + reason if reason else fresh}")
        lines += [f"    {name} = {value!r}" for name, value in plan.overrides.items()]
        lines += [f"    {line}" for line in estimates.lines(found[plan.name], gpus=gpus)]
    lines.append(f"{sum(map(bool, stale.values()))} of {len(stale)} notebooks to run")
    return [*lines, *(f"    {line}" for line in estimates.summary(found, gpus=gpus))]


def _longest_first(chosen: Sequence[plans.Plan]) -> list[plans.Plan]:
    """Start the notebooks that took longest last time, so that none is left alone at the end.

    One that never ran here took as long as in the recorded run of its suite; one without a record goes first.
    """
    return sorted(chosen, key=lambda plan: -plans.seconds(plan))


def _spec(plan: plans.Plan, threads: int, language: str) -> dict[str, Any]:
    paths = {"notebook": str(plan.notebook), "folder": str(plan.folder)}
    how = {"fingerprint": plans.fingerprint(plan), "threads": threads, "language": language}
    return asdict(plan) | paths | how


def _environment(plan: plans.Plan, threads: int, engine: str) -> dict[str, str]:
    given = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    given["NUNCHI_ENGINE"] = engine
    given["TOKENIZERS_PARALLELISM"] = str(threads > 1).lower()
    given["PYTHONPATH"] = os.pathsep.join(filter(None, [str(records.ROOT), os.environ.get("PYTHONPATH")]))
    given["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # no debugger, no warning about it in every kernel
    unless_set = {"MPLBACKEND": INLINE} | ({} if plans.needs_hub(plan.values) else {"HF_HUB_OFFLINE": "1"})
    return {**unless_set, **os.environ, **given}


def _fail(spec: dict[str, Any], pid: int, code: int, noise: str) -> dict[str, Any]:
    """Write the report of a run whose process died without a word, most often for lack of memory."""
    from helpers.batch import execution

    cause = f"signal {-code}: was there enough memory?" if code < 0 else f"exit code {code}"
    message = f"the process that ran this notebook ended without a report, with {cause}"
    outcome = {
        "status": "failed",
        "started": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        "seconds": 0.0,
        "peak_memory_mb": 0,
        "error": {"name": "ProcessDied", "message": message, "traceback": noise},
    }
    work = execution.left_by(pid, Path(spec["folder"])) or execution.work_folder(Path(spec["folder"]))
    return execution.finish(spec, work, outcome)


def _unreported(error: Exception) -> dict[str, Any]:
    """Return the record of a run that could not leave a report: the folder is full or read-only, say."""
    message = str(error)
    if isinstance(error, OSError):
        message = (
            f"cannot write {error.filename or 'the report'}: {error.strerror}; make room, or use --out DIR"
        )
    return {
        "status": "failed",
        "seconds": 0.0,
        "error": {"name": type(error).__name__, "message": message, "traceback": traceback.format_exc()},
    }


def _write_index(suite: Path, chosen: Sequence[plans.Plan], language: str) -> Path:
    """Write the pages of grids and of the suite, warn of reports too large to send, and return the latter."""
    from helpers.batch import index, rendering

    for plan in chosen:
        report = plan.folder / "report.html"
        if report.is_file() and report.stat().st_size > MAX_REPORT_BYTES:
            size = f"{report.stat().st_size / 1e6:.1f} MB, above {MAX_REPORT_BYTES / 1e6:.0f}"
            print(f"{plan.name}: report.html has {size}", file=sys.stderr)
    names = sorted(file.stem for file in suite.glob("*.yaml"))
    how = rendering.edition(chosen[0].notebook, language)
    for whole in dict.fromkeys(plan.whole for plan in chosen if plan.combination):
        parts = [(plan.combination, plan.folder) for plan in chosen if plan.whole == whole]
        if grids.combine(whole, parts):
            rendering.refresh(whole, **how)
    return index.write(suite.resolve().name, names, chosen[0].folder.parent, **how)
