"""What every test file shares: where the real files are, and a small thread count."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Before torch is imported anywhere: parallel test runs must not oversubscribe the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

ROOT = Path(__file__).resolve().parent.parent


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
def smoke(tmp_path_factory) -> tuple[subprocess.CompletedProcess, Path]:
    """The smoke suite, run once for all tests: what the runner said, and the folder of reports."""
    out = tmp_path_factory.mktemp("smoke")
    command = [sys.executable, "-m", "helpers", "run", str(ROOT / "params" / "smoke"), "--out", str(out)]
    done = subprocess.run([*command, "--jobs", "2"], capture_output=True, text=True, timeout=900)
    return done, out / "smoke"
