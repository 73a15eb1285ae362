"""`nunchi checkpoints`: evaluate and rank checkpoints of a masked language model.

Resumes where it was stopped and treats a broken checkpoint as a failed row. Records follow the study's JSON
schema, extended with per-item files, so that any two checkpoints can be compared item by item.
"""

import json
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path


def checkpoints(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Evaluate checkpoints of a masked LM on the same items, write a record of each, print the ranking.

    examples:
      nunchi checkpoints runs/mlm                         every checkpoint-<step> below a folder
      nunchi checkpoints runs/mlm --from-step 500 --baseline checkpoint-500
      nunchi checkpoints a/checkpoint-90 b/checkpoint-90 --data local --seq-len 512

    exit codes: 0 all evaluated, 1 a checkpoint is broken (named, the others are ranked), 2 bad input
    """
    add = parser.add_argument
    add("paths", nargs="+", type=Path, metavar="PATH", help="a checkpoint, or a folder of them")
    add("--seq-len", type=int, help="tokens of a window (default: what the model's config allows)")
    add("--from-step", type=int, default=0, help="leave out earlier checkpoints")
    add("--out", type=Path, default=Path("evaluations"), help="folder for the records")
    add("--baseline", help="print changes against this checkpoint, e.g. checkpoint-0")
    add("--data", default="sample", help='documents: "sample", "hub", "local" or a path')
    add("--lambada", help="where LAMBADA is, if not with the documents")
    add("--documents", type=int, default=200, help="how many documents and passages to ask about")
    return _checkpoints


def _checkpoints(options: Namespace) -> int:
    from helpers.coreference.checkpoints import find_checkpoints
    from helpers.coreference.evaluation import evaluate_checkpoints
    from helpers.coreference.items import build_items
    from helpers.corpora import load_documents, load_lambada

    configs = [
        {"checkpoint": str(folder), "seq_len": options.seq_len}
        for path in options.paths
        for folder in find_checkpoints(path, from_step=options.from_step)
    ]
    items = build_items(load_documents(options.data, "dev", rows=options.documents), seed=0)
    passages = load_lambada(options.lambada or options.data, "dev", rows=options.documents)
    frame = evaluate_checkpoints(configs, items=items, lambada=passages)
    for row in frame[frame["status"] == "ok"].to_dict("records"):
        write_record(row, options.out / Path(row["checkpoint"]).parent.name)
    ranked = rank(frame, baseline=options.baseline)
    shown = [
        name for name in ranked.columns if re.match(r"name$|real\d|lambada1$|score$|rank_|change_", name)
    ]
    print(ranked[shown].to_string(index=False, float_format="%.4f"))
    failed = frame[frame["status"] == "failed"]
    for row in failed.to_dict("records"):
        print(f"failed: {row['checkpoint']}: {row['error']}", file=sys.stderr)
    return 1 if len(failed) else 0


def write_record(row: dict, out: Path) -> Path:
    """Write one evaluation in the study's schema to `<checkpoint>_eval_results.json`, with its item files."""
    import pandas as pd

    from helpers.records import write_text

    checkpoint = Path(row["checkpoint"]).name
    out.mkdir(parents=True, exist_ok=True)
    files = {kind: f"{checkpoint}_{kind}.csv" for kind in ("items", "lambada")}
    for kind, name in files.items():
        write_text(out / name, Path(row["folder"], f"{kind}.csv").read_text(encoding="utf-8"))
    record = {
        "checkpoint": checkpoint,
        "seq_len": int(row["evaluated_length"]),
        "evaluated_at": row["evaluated_at"],
        "lambada_top1": row["lambada1"],
        "real1": row["real1"],
        "real5": row["real5"],
        "coref_samples": len(pd.read_csv(out / files["items"])),
        "eval_time_seconds": row["seconds"],
        "timings": {"real": row["real_seconds"], "lambada": row["lambada_seconds"]},
        "score": row["score"],
        "mrr": row["mrr"],
        "lambada_official": row["lambada_official"],
        "not_asked": {"cut": int(row["cut"]), "unknown": int(row["unknown"])},
        "files": files,
    }
    path = out / f"{checkpoint}_eval_results.json"
    write_text(path, json.dumps(record, ensure_ascii=False, indent=1))
    return path


def rank(frame, *, baseline: str | None = None):
    """Return evaluated checkpoints, best Real@1 first, with both ranks and the change against a baseline."""
    done = frame[frame["status"] == "ok"].copy()
    done.insert(0, "name", [Path(path).name for path in done["checkpoint"]])
    for column in ("real1", "score"):
        done[f"rank_{column}"] = done[column].rank(ascending=False, method="min").astype(int)
    if baseline is not None:
        if baseline not in set(done["name"]):
            raise ValueError(
                f"no evaluated checkpoint is called {baseline!r}; there are {list(done['name'])}"
            )
        reference = done.loc[done["name"] == baseline, ["real1", "real5", "lambada1", "score"]].iloc[0]
        for column, value in reference.items():
            done[f"change_{column}"] = done[column] - value
    return done.sort_values(["rank_real1", "rank_score"], kind="stable").reset_index(drop=True)
