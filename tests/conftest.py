"""What every test file shares: where the real files are, a small thread count, and the fast tier."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import hypothesis
import pytest
from filelock import FileLock

# Before torch is imported anywhere: parallel test runs must not oversubscribe the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

ROOT = Path(__file__).resolve().parent.parent
DURATIONS = ROOT / "tests" / "durations.json"
FAST = 1.0  # seconds; tests that took longer when `make durations` was last run are left out of `make check`


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
    parser.addoption("--fast", action="store_true", help="leave out browser tests and tests over a second")
    parser.addoption("--record-durations", action="store_true", help=f"write {DURATIONS.name} for --fast")


def pytest_configure(config):
    # A busy machine takes longer than Hypothesis expects of an example; that is no property of the code.
    hypothesis.settings.register_profile("nunchi", deadline=None)
    hypothesis.settings.load_profile("nunchi")
    if config.getoption("--record-durations"):
        config.pluginmanager.register(Durations(), "durations")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config, items):
    for item in items:
        item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))  # a file shares fixtures
    if config.getoption("--fast"):
        slow = json.loads(DURATIONS.read_text())
        left_out = [item for item in items if item.nodeid in slow or _marked(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _marked(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("slow", "browser"))


class Durations:
    """Record which tests take over a second, each with all the fixtures that it needs.

    A shared fixture is counted for every test that uses it: whichever runs first in the fast tier pays.
    """

    def __init__(self):
        self.fixtures, self.tests = {}, {}

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
        if report.when == "call":
            name = re.sub(r"@[\w/.]+$", "", report.nodeid)  # xdist appends the group
            self.tests[name] = dict(report.user_properties)["seconds"]

    def pytest_sessionfinish(self, session):
        if not hasattr(session.config, "workerinput"):
            slow = {name: seconds for name, seconds in sorted(self.tests.items()) if seconds > FAST}
            DURATIONS.write_text(json.dumps(slow, indent=1, ensure_ascii=False) + "\n")
