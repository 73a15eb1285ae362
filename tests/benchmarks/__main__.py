"""Run every benchmark: `python -m tests.benchmarks [WORD …]` keeps the cases whose name holds a word.

A ratio that fell by more than 15 % against `reports/recorded/bench.json` fails. `--record` puts the ratios of
the run in its place, missed goals included: use it on an idle machine. With words, the rows of other cases
stay. A row with an error, or with another result than its rival's, is never recorded.
"""

import importlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from helpers import records
from tests.benchmarks import harness, report

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "reports" / "bench"
RECORDED = OUT.parent / "recorded" / "bench.json"
# Set before a case imports numpy or torch: a ratio must not depend on who gets the second core.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def main(words: list[str]) -> int:
    record, words = "--record" in words, [word for word in words if word != "--record"]
    recorded = json.loads(RECORDED.read_text()) if RECORDED.is_file() else {}
    rows: list[harness.Row] = []
    for case in _cases():
        if words and not any(word in case.name for word in words):
            continue
        print(f"{case.name} …", flush=True)
        outcome = harness.run_alone(case)
        if not record:
            outcome = [harness.against(row, recorded) for row in outcome]
        print(*(f"    {row.name}: {report.line(row)}" for row in outcome), sep="\n", flush=True)
        rows += outcome
    if not words:  # a partial run must not replace the whole report
        report.write(rows, OUT)
        print(f"open {OUT / 'report.html'}")
    if record:
        records.write_json(RECORDED, (recorded if words else {}) | _ratios(rows))
    return int(not all(row.met for row in rows))


def _cases() -> Iterator[harness.Race | harness.Limit]:
    for path in sorted(HERE.glob("bench_*.py")):
        yield from importlib.import_module(f"tests.benchmarks.{path.stem}").cases()


def _ratios(rows: Sequence[harness.Row]) -> dict[str, float]:
    sound = (row for row in rows if not row.error and row.equal is not False)
    return {row.name: round(row.ratio, 3) for row in sound if row.ratio is not None}


if __name__ == "__main__":
    os.environ.update(ONE_THREAD, TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
    os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    sys.exit(main(sys.argv[1:]))
