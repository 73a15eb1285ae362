"""`nunchi checkpoints`: evaluate and rank checkpoints of a masked language model.

Resumes where it was stopped and treats a broken checkpoint as a failed row. Records follow the study's JSON
schema, extended with per-item files, so that any two checkpoints can be compared item by item.
"""

import json
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from helpers.coreference.cloze import BATCH_TOKENS


def checkpoints(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Evaluate checkpoints of a masked LM on the same items, write a record of each, print the ranking.

    Runs on the GPU, or on each of them, where there is one. What was evaluated before is not evaluated again:
    if it is stopped, the same command continues.

    examples:
      nunchi checkpoints runs/mlm                         every checkpoint-<step> below a folder
      nunchi checkpoints runs/mlm --from-step 500 --baseline checkpoint-500
      nunchi checkpoints a b --data local --seq-len 512 --baseline a/checkpoint-90
      nunchi checkpoints runs/mlm --device cuda:1 --batch-tokens 65536

    exit codes: 0 all evaluated, 1 a checkpoint is broken (named, the others are ranked), 2 bad input
    """
    add = parser.add_argument
    add("paths", nargs="+", type=Path, metavar="PATH", help="a checkpoint, or a folder of them")
    add("--seq-len", type=int, help="tokens of a window (default: what the model's config allows)")
    add("--from-step", type=int, default=0, help="leave out earlier checkpoints")
    add("--out", type=Path, default=Path("evaluations"), help="folder for the records")
    add("--baseline", help="print changes against this checkpoint, e.g. checkpoint-0 or a/checkpoint-0")
    add("--device", default="", help="cpu, cuda, cuda:1, mps (default: the GPU, if there is one)")
    add(
        "--batch-tokens",
        type=int,
        default=BATCH_TOKENS,
        help=f"padded tokens at a time (default: {BATCH_TOKENS}); halved by itself when memory runs out",
    )
    add("--data", default="sample", help='documents: "sample", "hub", "local" or a path')
    add("--lambada", help="where LAMBADA is, if not with the documents")
    add("--documents", type=int, default=200, help="documents and passages to test on")
    return _checkpoints


def _checkpoints(options: Namespace) -> int:
    from helpers.coreference.checkpoints import find_checkpoints
    from helpers.coreference.evaluation import evaluate_checkpoints
    from helpers.coreference.items import build_items
    from helpers.corpora import load_documents, load_lambada

    if options.batch_tokens < 1 or (options.seq_len or 8) < 8:
        raise ValueError(
            "--batch-tokens is a positive number, and a window has at least 8 tokens (--seq-len)"
        )
    _check_device(options.device)
    found = [find_checkpoints(path, from_step=options.from_step) for path in options.paths]
    folders = list(dict.fromkeys(folder for several in found for folder in several))
    if not folders:
        raise ValueError(f"no checkpoint from step {options.from_step} on; give a lower --from-step")
    configs = [{"checkpoint": str(folder), "seq_len": options.seq_len} for folder in folders]
    items = build_items(load_documents(options.data, "dev", rows=options.documents), seed=0)
    passages = load_lambada(options.lambada or options.data, "dev", rows=options.documents)
    how = {"device": options.device, "batch_tokens": options.batch_tokens}
    frame = evaluate_checkpoints(configs, items=items, lambada=passages, **how)
    for row in frame[frame["status"] == "failed"].to_dict("records"):
        print(f"failed: {row['checkpoint']}: {row['error']}", file=sys.stderr)
    done = frame[frame["status"] == "ok"]
    if len(done):
        _report(done, options)
    return 1 if len(done) < len(frame) else 0


def _check_device(name: str) -> None:
    import torch

    try:
        torch.zeros((), device=name or "cpu")
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"--device {name}: {reason}; leave it out to take what is there") from error


def _report(done, options: Namespace) -> None:
    """Write a record of every evaluated checkpoint and the ranking, and print that."""
    parents = list(dict.fromkeys(Path(path).parent for path in done["checkpoint"]))
    places = dict(zip(parents, short_names(parents), strict=True))
    for row in done.to_dict("records"):
        write_record(row, options.out / places[Path(row["checkpoint"]).parent])
    ranked = rank(done, baseline=options.baseline)
    shown = [
        name for name in ranked.columns if re.match(r"name$|real\d|lambada1$|score$|rank_|change_", name)
    ]
    ranked[shown].to_csv(options.out / "ranking.csv", index=False)
    print(ranked[shown].to_string(index=False, float_format="%.4f"))
    best = {by: ranked["name"][ranked[f"rank_{by}"].idxmin()] for by in ("real1", "score")}
    print(f"best by Real@1: {best['real1']}; by the composite score: {best['score']}")


def short_names(paths: Sequence[str | Path]) -> list[str]:
    """Return the shortest ends of different paths that tell them apart.

    >>> short_names(["runs/a/checkpoint-9", "runs/b/checkpoint-9"])
    ['a/checkpoint-9', 'b/checkpoint-9']
    """
    parts = [Path(path).resolve().parts for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(own[-depth:]) for own in parts]
        if len(set(names)) == len(names):
            break
    return names


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
    """Return evaluated checkpoints, best Real@1 first, with both ranks and the change against a baseline.

    A baseline is called by its name or by the end of its path.
    """
    done = frame[frame["status"] == "ok"].copy()
    done.insert(0, "name", short_names(done["checkpoint"]))
    for column in ("real1", "score"):
        done[f"rank_{column}"] = done[column].rank(ascending=False, method="min").astype(int)
    if baseline is not None:
        paths = [f"/{Path(path).resolve().as_posix()}" for path in done["checkpoint"]]
        meant = done[[path.endswith(f"/{baseline}") for path in paths]]
        if len(meant) != 1:
            raise ValueError(
                f"{len(meant)} evaluated checkpoints are called {baseline!r}; there are {list(done['name'])}"
            )
        for column in ("real1", "real5", "lambada1", "score"):
            done[f"change_{column}"] = done[column] - meant[column].iloc[0]
    return done.sort_values(["rank_real1", "rank_score"], kind="stable").reset_index(drop=True)
