"""The fast tier: what is recorded as slow, and what is left out; which files start first."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import DURATIONS, ROOT

TESTS = """
import time
import pytest

@pytest.fixture(scope="module")
def shared():
    time.sleep(0.6)

def test_pays_for_the_fixture(shared): pass
def test_would_pay_if_it_came_first(shared): pass
def test_is_fast(): pass
@pytest.mark.parametrize("marker", ["@"])
def test_has_an_id_of_its_own(marker): time.sleep(0.6)
@pytest.mark.slow
def test_is_marked(): pass
"""
MANY = "".join(f"def test_{number}(): pass\n" for number in range(9))  # more tests, in less time
SLOW = ["test_has_an_id_of_its_own[@]", "test_pays_for_the_fixture", "test_would_pay_if_it_came_first"]


@pytest.mark.parametrize(
    ("workers", "first"),
    [([], "test_many.py::test_0"), (["-n", "1", "--dist", "loadfile"], "test_some.py::test_is_fast")],
    ids=["alone", "workers"],
)
def test_the_fast_tier_leaves_out_what_was_recorded_or_marked_as_slow(tmp_path, workers, first):
    """Workers begin with the files that take longest: a short one at the end keeps nobody waiting."""
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    (tmp_path / "tests" / "test_some.py").write_text(TESTS)
    (tmp_path / "tests" / "test_many.py").write_text(MANY)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *workers, "tests"]
    subprocess.run([*command, "--record-durations"], cwd=tmp_path, check=True, capture_output=True)
    recorded = json.loads((tmp_path / "tests" / "durations.json").read_text())
    assert sorted(recorded) == ["tests/test_some.py", *(f"tests/test_some.py::{name}" for name in SLOW)]
    assert 1 < recorded["tests/test_some.py"] < sum(recorded[f"tests/test_some.py::{name}"] for name in SLOW)
    done = subprocess.run(
        [*command, "--fast", "-v"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert "10 passed" in done.stdout
    assert re.search(r"tests/(test_\w+.py::\w+)", done.stdout)[1] == first


def test_the_record_names_tests_that_exist():
    files = {name.partition("::")[0] for name in json.loads(DURATIONS.read_text())}
    assert [name for name in sorted(files) if not (ROOT / name).is_file()] == [], "run make durations"
