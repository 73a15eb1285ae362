"""What every test file shares: where the real files are, a small thread count, and the fast tier."""

import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest
from filelock import FileLock

# Before torch is imported anywhere: parallel test runs must not oversubscribe the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# A shell has what it starts in the background ignore Ctrl-C, and so would processes that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
DURATIONS = ROOT / "tests" / "durations.json"
FAST = 0.5  # seconds; tests that took longer when `make durations` was last run are left out of `make check`


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real files, named by NUNCHI_DATA; the test is skipped where it is missing."""
    folder = Path(os.environ.get("NUNCHI_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "klue-re").is_dir():
        pytest.skip(f"no real files in {folder}: set NUNCHI_DATA to a folder with klue-re/, klue-ner/, …")
    return folder


@pytest.fixture(scope="session")
def ray() -> Iterator[ModuleType]:
    """Ray, with more patience than its 30 seconds for a new node: a busy machine starts slowly."""
    module = pytest.importorskip("ray")
    services = module._private.services
    look_up = services.get_node

    def wait(*arguments):
        end = time.monotonic() + 120
        while True:
            try:
                return look_up(*arguments)
            except RuntimeError:
                if time.monotonic() > end:
                    raise

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "get_node", wait)
        yield module


@pytest.fixture(scope="session")
def smoke(tmp_path_factory, worker_id) -> tuple[subprocess.CompletedProcess, Path]:
    """The smoke suite, run once for all workers: what the runner said, and the folder of reports."""
    base = tmp_path_factory.getbasetemp()
    out = (base if worker_id == "master" else base.parent) / "smoke-suite"
    command = [sys.executable, "-m", "helpers", "run", str(ROOT / "params" / "smoke"), "--out", str(out)]
    with FileLock(f"{out}.lock"):
        if not (said := out.with_suffix(".json")).is_file():
            done = subprocess.run([*command, "--jobs", "2"], capture_output=True, text=True, timeout=900)
            said.write_text(json.dumps([done.returncode, done.stdout, done.stderr]))
    return subprocess.CompletedProcess(command, *json.loads(said.read_text())), out / "smoke"


@pytest.fixture(scope="session")
def korean(smoke) -> Path:
    """The smoke suite's pages in Korean, rendered once for all workers."""
    out = smoke[1].parent.with_name("smoke-suite-ko")
    command = [sys.executable, "-m", "helpers", "render", str(ROOT / "params" / "smoke"), "--language", "ko"]
    with FileLock(f"{out}.lock"):
        if not (done := out.with_suffix(".done")).is_file():
            shutil.copytree(smoke[1], out / "smoke", ignore=shutil.ignore_patterns("models"))
            subprocess.run([*command, "--out", str(out)], check=True, capture_output=True, timeout=300)
            done.touch()
    return out / "smoke"


def pytest_addoption(parser):
    parser.addoption("--fast", action="store_true", help="leave out browser tests and slow ones")
    parser.addoption("--record-durations", action="store_true", help=f"write {DURATIONS.name} for --fast")


def pytest_configure(config):
    # A busy machine takes longer than Hypothesis expects of an example; that is no property of the code.
    hypothesis.settings.register_profile("nunchi", deadline=None)
    hypothesis.settings.load_profile("nunchi")
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # xdist's order: the most tests first, however short
    if config.getoption("--record-durations"):
        config.pluginmanager.register(Durations(), "durations")


def pytest_collection_modifyitems(config, items):
    slow = json.loads(DURATIONS.read_text()) if DURATIONS.is_file() else {}
    if hasattr(config, "workerinput"):  # the longest files first: none is left alone at the end
        items.sort(key=lambda item: -slow.get(_file(item), 0))
    if config.getoption("--fast"):
        left_out = [item for item in items if item.nodeid in slow or _marked(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _marked(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("slow", "browser"))


class Durations:
    """Record which tests take over half a second, each with all the fixtures that it needs, and which files.

    A shared fixture is counted for every test that uses it: whichever runs first in the fast tier pays. It is
    counted once for the file.
    """

    def __init__(self):
        self.fixtures, self.tests, self.files = {}, {}, collections.Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        start = time.perf_counter()
        result = yield
        key = (fixturedef.baseid, fixturedef.argname)
        self.fixtures[key] = max(self.fixtures.get(key, 0), time.perf_counter() - start)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        if call.when == "call":
            defined = item._fixtureinfo.name2fixturedefs.values()
            used = {(one.baseid, one.argname) for several in defined for one in several}
            shared = sum(self.fixtures.get(key, 0) for key in used)
            item.user_properties.append(("seconds", round(call.duration + shared, 1)))
        return (yield)

    def pytest_runtest_logreport(self, report):
        """Runs in the process that writes the file, also for tests of other workers."""
        self.files[report.nodeid.partition("::")[0]] += report.duration
        if report.when == "call":
            self.tests[report.nodeid] = dict(report.user_properties)["seconds"]

    def pytest_sessionfinish(self, session):
        if not hasattr(session.config, "workerinput"):
            taken = self.tests | {file: round(seconds, 1) for file, seconds in self.files.items()}
            slow = {name: seconds for name, seconds in sorted(taken.items()) if seconds > FAST}
            DURATIONS.write_text(json.dumps(slow, indent=1, ensure_ascii=False) + "\n")
