"""Run every benchmark: `python -m tests.benchmarks [WORD …]` keeps the cases whose name holds a word."""

import importlib
import os
import sys
from pathlib import Path

from tests.benchmarks import harness, report

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "reports" / "bench"
# Set before a case imports numpy or torch: a ratio must not depend on who gets the second core.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def main(words: list[str]) -> int:
    os.environ.update(ONE_THREAD, TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
    os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    rows = []
    for path in sorted(HERE.glob("bench_*.py")):
        for case in importlib.import_module(f"tests.benchmarks.{path.stem}").cases():
            if words and not any(word in case.name for word in words):
                continue
            print(f"{case.name} …", flush=True)
            outcome = harness.run(case)
            print(*(f"    {row.name}: {report.line(row)}" for row in outcome), sep="\n", flush=True)
            rows += outcome
    if not words:  # a partial run must not replace the whole report
        report.write(rows, OUT)
        print(f"open {OUT / 'report.html'}")
    return int(not all(row.met for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
