"""The fast tier: what is recorded as slow, and what is left out."""

import json
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
    time.sleep(1.1)

def test_pays_for_the_fixture(shared): pass
def test_would_pay_if_it_came_first(shared): pass
def test_is_fast(): pass
@pytest.mark.parametrize("marker", ["@"])
def test_has_an_id_of_its_own(marker): time.sleep(1.1)
@pytest.mark.slow
def test_is_marked(): pass
"""
SLOW = ["test_has_an_id_of_its_own[@]", "test_pays_for_the_fixture", "test_would_pay_if_it_came_first"]


@pytest.mark.parametrize("workers", [[], ["-n", "1", "--dist", "loadgroup"]], ids=["alone", "workers"])
def test_the_fast_tier_leaves_out_what_was_recorded_or_marked_as_slow(tmp_path, workers):
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    (tmp_path / "tests" / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *workers, "tests"]
    subprocess.run([*command, "--record-durations"], cwd=tmp_path, check=True, capture_output=True)
    recorded = json.loads((tmp_path / "tests" / "durations.json").read_text())
    assert sorted(recorded) == [f"tests/test_some.py::{name}" for name in SLOW]
    done = subprocess.run([*command, "--fast"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "1 passed" in done.stdout


def test_the_record_names_tests_that_exist():
    files = {name.partition("::")[0] for name in json.loads(DURATIONS.read_text())}
    assert [name for name in sorted(files) if not (ROOT / name).is_file()] == [], "run make durations"
