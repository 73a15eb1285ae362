"""Execution: one notebook in a process of its own, into a folder that replaces the last one in one step.

`runner` starts `python -m helpers.batch.execution`, writes what to do as one line of JSON to its input, and
reads one line of JSON per event from its output. The open input is the lifeline: when it closes, because the
runner was stopped or killed, the process ends its kernel and itself, so nothing is left running. Where a
process can be forked (`sweeps.forks`), this one and its kernel are forks that have everything imported.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from helpers import records
from helpers.batch import rendering

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h
# Held while a report is put in place, and for good once the run is to stop: a kernel that dies because the
# runner was stopped must not replace the last report with a failed one.
SETTLING = threading.Lock()
START = 600  # seconds that a kernel may take to answer: on a crowded machine a minute is not enough


def perform(spec: dict[str, Any], notify: Callable[..., None]) -> dict[str, Any]:
    """Execute the notebook of `spec`, render its report, put the folder in place; return what run.json holds.

    `spec`: notebook, suite, folder, values, overrides, fingerprint, threads, language. A notebook that fails
    still gets a report, with the error at its top.
    """
    target = Path(spec["folder"])
    work = work_folder(target)
    os.environ["NUNCHI_OUT"] = str(work)
    started, clock = datetime.now(UTC), time.perf_counter()
    with _PeakMemory() as peak:
        error = _execute(Path(spec["notebook"]), work / "notebook.ipynb", spec["overrides"], notify)
    if error is None and not (work / "metrics.json").is_file():
        message = "the notebook wrote no metrics.json; its last cell must call records.write(...)"
        error = {"name": "NoRecord", "message": message, "traceback": ""}
    run = {
        "status": "failed" if error else "ok",
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 1),
        "peak_memory_mb": round(peak.bytes / 2**20),
    }
    with SETTLING:
        return finish(spec, work, run | {"error": error})


def finish(spec: dict[str, Any], work: Path, outcome: dict[str, Any]) -> dict[str, Any]:
    """Write run.json and report.html into `work` and swap it in; `outcome` has status, error, timings."""
    run = {
        "notebook": Path(spec["notebook"]).stem,
        **outcome,
        **{key: spec[key] for key in ("suite", "threads", "fingerprint")},
        "parameters": spec["values"],
        "overrides": list(spec["overrides"]),
        "commit": records.commit(),
        "packages": records.versions(),
    }
    executed = work / "notebook.ipynb"
    try:
        _tidy(executed)
    except (FileNotFoundError, ValueError):  # the process died before it was saved, or while it was
        shutil.copyfile(spec["notebook"], executed)
        _tidy(executed)
    records.write_json(work / "run.json", run)
    _remember(Path(spec["folder"]), work)
    try:
        rendering.render(work, **rendering.edition(Path(spec["notebook"]), spec["language"]))
    except Exception:  # a mistake in a template must not cost the run; the runner renders again, and tells
        traceback.print_exc()
    with rendering.lock(work.parent):
        swap(work, Path(spec["folder"]))
    return run


def _remember(last: Path, work: Path) -> None:
    """Keep what the run before this one recorded: `nunchi compare …/previous.json …` tells what changed."""
    run, metrics = last / "run.json", last / "metrics.json"
    if run.is_file() and metrics.is_file():
        found = json.loads(metrics.read_text(encoding="utf-8"))
        kept = {name: found[name] for name in ("question", "verdict", "headline") if name in found}
        made = json.loads(run.read_text(encoding="utf-8"))
        records.write_json(
            work / "previous.json", {**kept, **{key: made[key] for key in ("started", "commit")}}
        )


def work_folder(target: Path) -> Path:
    """Make the hidden folder beside `target` in which a run gathers its files; its name tells whose it is."""
    target.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f".{target.name}.run-{os.getpid()}-", dir=target.parent))


def left_by(pid: int, target: Path) -> Path | None:
    """Return the folder that a dead process left beside `target`, with the cells that it had finished."""
    return next(target.parent.glob(f".{target.name}.run-{pid}-*"), None)


def clear_dead_runs(reports_folder: Path) -> None:
    """Remove what killed runs left in a suite's folder, and put back a report that a swap had moved aside."""
    import psutil

    for left in reports_folder.glob(".*.run-*"):
        match = re.fullmatch(r"\.(.+)\.run-(\d+)-\w+?(-old)?", left.name)
        if not match or psutil.pid_exists(int(match[2])):
            continue
        name, _, aside = match.groups()
        if aside and not (reports_folder / name).exists():
            left.rename(reports_folder / name)
        else:
            shutil.rmtree(left, ignore_errors=True)


def swap(work: Path, target: Path) -> None:
    """Put `work` in the place of `target`, so that at every moment a complete report is there."""
    work.chmod(0o755)
    if not target.exists():
        work.rename(target)
        return
    if _exchange(work, target):
        old = work
    else:  # not Linux, or a file system without it: `clear_dead_runs` mends a kill in between
        old = target.rename(work.with_name(f"{work.name}-old"))
        work.rename(target)
    shutil.rmtree(old)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step with Linux's renameat2; False where that is not to be had."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    return rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0


def _execute(source: Path, executed: Path, overrides: dict[str, Any], notify) -> dict[str, str] | None:
    """Run the notebook with papermill and return the error that stopped it, if one did."""
    import nbformat
    from papermill.execute import execute_notebook
    from traitlets.config import Config

    notebook = nbformat.read(source, as_version=4)
    total = len(notebook.cells) + bool(overrides)  # papermill adds one cell for the overrides
    title = ""

    def on_cell_start(cell, cell_index):
        nonlocal title
        headings = [line for line in cell.source.splitlines() if line.startswith("## ")]
        title = headings[-1][3:].strip() if cell.cell_type == "markdown" and headings else title
        notify(event="cell", cell=cell_index + 1, cells=total, section=title)

    # Sockets in this process's own folder, not ports: parallel kernels cannot take each other's. Unless told
    # where, jupyter_client would put them all under one name in the working directory.
    sockets = f"{os.environ['JUPYTER_RUNTIME_DIR']}/kernel"
    ipc = Config({"KernelManager": {"transport": "ipc", "ip": sockets}})
    try:
        execute_notebook(
            notebook, str(executed), overrides, progress_bar=False, config=ipc, on_cell_start=on_cell_start,
            coalesce_streams=True, raise_on_iopub_timeout=False, start_timeout=START,
        )  # fmt: skip
    except Exception as raised:  # whatever stopped it, the reader gets a report that says so
        return _error(raised)
    return None


def _error(raised: Exception) -> dict[str, str]:
    from papermill.exceptions import PapermillExecutionError

    if isinstance(raised, PapermillExecutionError):
        return {"name": raised.ename, "message": str(raised.evalue), "traceback": "\n".join(raised.traceback)}
    return {"name": type(raised).__name__, "message": str(raised), "traceback": traceback.format_exc()}


def _tidy(path: Path) -> None:
    """Drop papermill's error banners, times and paths: two runs then give the same notebook."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["metadata"].pop("papermill", None)
    kept = []
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"].pop("papermill", None)
        cell["metadata"].pop("execution", None)
        if "injected-parameters" in cell["metadata"].get("tags", ()):
            cell["id"] = "injected-parameters"
        if "papermill-error-cell-tag" not in cell["metadata"].get("tags", ()):
            kept.append(cell | {"id": cell.get("id", f"cell-{number}")})
    notebook["cells"] = kept
    records.write_json(path, notebook)


class _PeakMemory:
    """Samples the resident memory of this process's children: the kernel and whatever it starts."""

    def __init__(self, every: float = 0.25) -> None:
        self.bytes, self.every, self.over = 0, every, threading.Event()

    def __enter__(self) -> _PeakMemory:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.over.set()

    def _watch(self) -> None:
        import psutil

        me = psutil.Process()
        while not self.over.wait(self.every):
            total = 0
            for child in me.children(recursive=True):
                try:
                    total += child.memory_info().rss
                except psutil.Error:  # it ended between the listing and the reading
                    continue
            self.bytes = max(self.bytes, total)


def end_children(*, grace: float = 2.0) -> None:
    """End this process's children and theirs: asked first, killed after `grace` seconds."""
    import psutil

    for stop in (psutil.Process.terminate, psutil.Process.kill):
        children = psutil.Process().children(recursive=True)
        for child in children:
            try:
                stop(child)
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(children, timeout=grace)


class KernelInWaiting:
    """A fork of this process that becomes a kernel when it is told the command of one; as a `Popen` has it.

    Made before this process has threads, sockets or an event loop, which a fork must not inherit.
    """

    stdin = stdout = stderr = None

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair()
        self.code: int | None = None
        self.pid = os.fork()
        if not self.pid:
            self.socket.close()
            _wait_for_a_kernel(theirs)
        theirs.close()

    def become(self, command: list[str], environment: dict[str, str], folder: str | None) -> None:
        """Start the kernel of a command; it ends with this process.

        ipykernel would read whose child it is from a variable, when it is imported: long before the fork.
        """
        command = [*command, f"--IPKernelApp.parent_handle={os.getpid()}"]
        with self.socket:
            self.socket.sendall(json.dumps([command, environment, folder]).encode())

    def poll(self) -> int | None:
        return self._end(os.WNOHANG)

    def wait(self) -> int:
        code = self._end(0)
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _end(self, how: int) -> int | None:
        if self.code is None:
            ended, status = os.waitpid(self.pid, how)
            self.code = os.waitstatus_to_exitcode(status) if ended else None
        return self.code


def _wait_for_a_kernel(told: socket.socket) -> NoReturn:
    """Become the kernel that the other end asks for; end if it closes without a word."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # the runner's events are written to 1
    with told, told.makefile(encoding="utf-8") as words:
        said = words.read()
    if not said:
        os._exit(0)
    command, environment, folder = json.loads(said)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder or ".")
    sys.argv = command[command.index("ipykernel_launcher") :]
    if Path(sys.path[0]) == Path.cwd():  # as ipykernel_launcher does
        del sys.path[0]
    from ipykernel import kernelapp

    kernelapp.launch_new_instance()
    os._exit(0)


def _fork_kernels(kernel: KernelInWaiting) -> None:
    """Tell jupyter_client to take a kernel in waiting instead of starting a process."""
    from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

    class Forked(LocalProvisioner):
        async def launch_kernel(self, cmd: list[str], **how: Any) -> dict[str, Any]:
            kernel.become(cmd, how["env"], how.get("cwd"))
            self.process, self.pid, self.pgid = kernel, kernel.pid, kernel.pid
            self.cwd = how.get("cwd", Path.cwd())
            return self.connection_info

    factory = KernelProvisionerFactory.instance()
    factory.provisioners["forked"] = SimpleNamespace(load=lambda: Forked)
    factory.default_provisioner_name = "forked"


def forked() -> None:
    """Run the one notebook given on the standard input in a fork, and its kernel in another."""
    _fork_kernels(KernelInWaiting())
    main()


def main() -> None:
    """Run the one notebook given on the standard input."""
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing else may write between the events
    spec = json.loads(sys.stdin.readline())

    def notify(**event) -> None:
        try:
            print(json.dumps(event, ensure_ascii=False), file=events, flush=True)
        except BrokenPipeError:  # the runner is gone: wait for the lifeline to end this process
            threading.Event().wait()

    def watch_lifeline() -> None:
        sys.stdin.read()
        SETTLING.acquire()
        end_children()
        while work := left_by(os.getpid(), Path(spec["folder"])):  # papermill may be saving into it
            shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(os.environ["JUPYTER_RUNTIME_DIR"], ignore_errors=True)
        os._exit(130)

    threading.Thread(target=watch_lifeline, daemon=True).start()
    notify(event="done", run=perform(spec, notify))
    os._exit(0)  # the lifeline thread still reads; there is nothing left to tidy up


if __name__ == "__main__":
    main()
