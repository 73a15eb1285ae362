"""Run every benchmark: `python -m tests.benchmarks [WORD …]` keeps the cases whose name holds a word.

A ratio that fell by more than 15 % against `reports/recorded/bench.json` fails, where that file is there.
`--record` puts the result of a whole run in its place: on an idle machine, when every row holds.
"""

import importlib
import json
import os
import shutil
import sys
from pathlib import Path

from tests.benchmarks import harness, report

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "reports" / "bench"
RECORDED = OUT.parent / "recorded" / "bench.json"
# Set before a case imports numpy or torch: a ratio must not depend on who gets the second core.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def main(words: list[str]) -> int:
    os.environ.update(ONE_THREAD, TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
    os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    record, words = "--record" in words, [word for word in words if word != "--record"]
    known = json.loads(RECORDED.read_text())["rows"] if RECORDED.is_file() and not record else []
    recorded = {row["name"]: row["ratio"] for row in known}
    rows = []
    for path in sorted(HERE.glob("bench_*.py")):
        for case in importlib.import_module(f"tests.benchmarks.{path.stem}").cases():
            if words and not any(word in case.name for word in words):
                continue
            print(f"{case.name} …", flush=True)
            outcome = [harness.against(row, recorded) for row in harness.run(case)]
            print(*(f"    {row.name}: {report.line(row)}" for row in outcome), sep="\n", flush=True)
            rows += outcome
    if not words:  # a partial run must not replace the whole report
        report.write(rows, OUT)
        print(f"open {OUT / 'report.html'}")
        if record and all(row.met for row in rows):
            shutil.copyfile(OUT / "bench.json", RECORDED)
    return int(not all(row.met for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
