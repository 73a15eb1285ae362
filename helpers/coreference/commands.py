"""`nunchi checkpoints`: evaluate and rank checkpoints of a masked language model."""

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
    from helpers.coreference import checkpoints as evaluation
    from helpers.coreference.items import build_items
    from helpers.corpora import load_documents, load_lambada

    folders = [
        folder
        for path in options.paths
        for folder in evaluation.find_checkpoints(path, from_step=options.from_step)
    ]
    items = build_items(load_documents(options.data, "dev", rows=options.documents), seed=0)
    passages = load_lambada(options.lambada or options.data, "dev", rows=options.documents)
    frame = evaluation.evaluate_checkpoints(folders, seq_len=options.seq_len, items=items, lambada=passages)
    for row in frame[frame["status"] == "ok"].to_dict("records"):
        evaluation.write_record(row, options.out / Path(row["checkpoint"]).parent.name)
    ranked = evaluation.rank(frame, baseline=options.baseline)
    shown = [
        name for name in ranked.columns if re.match(r"name$|real\d|lambada1$|score$|rank_|change_", name)
    ]
    print(ranked[shown].to_string(index=False, float_format="%.4f"))
    failed = frame[frame["status"] == "failed"]
    for row in failed.itertuples():
        print(f"failed: {row.checkpoint}: {row.error}", file=sys.stderr)
    return 1 if len(failed) else 0
