"""The runner: what a notebook costs beyond its cells, what a second job gains, what a rerun costs."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.harness import Limit, Race

ROOT = Path(__file__).resolve().parents[2]
CELLS = {
    "parameters": "rows: int = 1  # unused",
    "record": "from helpers import records\n"
    "figure = dict(name='n', value=1, low=None, high=None)\n"
    "records.write('empty', question='q', verdict='v', headline=[figure])",
}


def cases() -> list[Race | Limit]:
    return [
        Limit(
            name="import helpers",
            work="a Python that imports helpers, beyond one that imports nothing",
            measure=lambda: _python("import helpers") - _python("pass"),
            limit=0.1,
            unit="s",
            repeats=7,
        ),
        Race(
            name="one notebook to HTML",
            work="execute and render a notebook of two cells, from the command line",
            data=_empty_suite,
            ours=_batch,
            others={"papermill + nbconvert": _papermill_and_nbconvert},
            sizes=(1,),
            unit="notebook",
            targets={"papermill + nbconvert": 1.0},
        ),
        Race(
            name="smoke suite, two jobs",
            work="all notebooks on their smoke parameters, nothing cached, against one at a time",
            data=lambda size: None,
            ours=lambda _: _from_nothing("smoke", jobs=2),
            others={"one job": lambda _: _from_nothing("smoke", jobs=1)},
            sizes=(1,),
            unit="suite",
            repeats=1,
            explanation=(
                "Above two, because a notebook that runs alone gives its sweeps two workers, and each "
                "imports torch anew: seven seconds that pay off for real runs, not for those of a second."
            ),
        ),
        Limit(
            name="sample suite, wall time",
            work="all notebooks on the sample world, two jobs, nothing cached",
            measure=lambda: _timed(lambda: _from_nothing("sample", jobs=2)),
            limit=600,
            unit="s",
            repeats=1,
        ),
        Limit(
            name="sample suite, peak memory",
            work="the largest two notebooks of that run, side by side",
            measure=_sample_memory,
            limit=3000,
            unit="MB",
            repeats=1,
        ),
        Limit(
            name="sample suite, rerun when nothing changed",
            work="check all fingerprints and write the index",
            measure=lambda: _timed(lambda: _run("-m", "helpers", "run", str(ROOT / "params/sample"))),
            limit=5,
            unit="s",
        ),
    ]


def _empty_suite(size: int) -> Path:
    import nbformat

    folder = Path(tempfile.mkdtemp(prefix="nunchi-bench-"))
    (folder / "notebooks").mkdir()
    cells = [
        nbformat.v4.new_code_cell(text, id=name, metadata={"tags": [name]}) for name, text in CELLS.items()
    ]
    kernel = {
        "kernelspec": {"name": "python3", "display_name": "Python"},
        "language_info": {"name": "python"},
    }
    nbformat.write(
        nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "notebooks" / "empty.ipynb"
    )
    (folder / "params" / "bench").mkdir(parents=True)
    (folder / "params" / "bench" / "empty.yaml").write_text("rows: 2\n", encoding="utf-8")
    return folder


def _batch(folder: Path) -> None:
    suite = folder / "params" / "bench"
    _run("-m", "helpers", "run", str(suite), "--force", "--out", str(folder / "reports"))


def _papermill_and_nbconvert(folder: Path) -> None:
    source, done = str(folder / "notebooks" / "empty.ipynb"), str(folder / "empty.ipynb")
    _run("-m", "papermill", "--no-progress-bar", source, done, "-p", "rows", "2")
    _run("-m", "nbconvert", "--to", "html", done)


def _from_nothing(suite: str, *, jobs: int) -> None:
    with tempfile.TemporaryDirectory() as cache:  # earlier runs must not lend their results
        options = ("--force", "--jobs", str(jobs))
        _run("-m", "helpers", "run", str(ROOT / "params" / suite), *options, NUNCHI_CACHE=cache)


def _sample_memory() -> float:
    runs = [json.loads(path.read_text()) for path in (ROOT / "reports" / "sample").glob("*/run.json")]
    return sum(sorted(run["peak_memory_mb"] for run in runs)[-2:])


def _python(code: str) -> float:
    return _timed(lambda: _run("-c", code))


def _timed(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _run(*arguments: str, **environment: str) -> None:
    """Run Python from the root with the threads that a user would have."""
    own = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=own | environment, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"python {' '.join(arguments)} failed: {done.stderr[-500:] or done.stdout[-500:]}")
