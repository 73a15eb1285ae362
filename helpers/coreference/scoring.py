"""One checkpoint, questioned: what `sweeps` runs when checkpoints are evaluated or looked at closely.

Answers go to files, one row per question, so that any two checkpoints can be compared item by item.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from helpers.coreference import cloze, legacy
from helpers.coreference.checkpoints import composite, load_checkpoint
from helpers.coreference.lambada import score_lambada


def evaluate_checkpoint(
    checkpoint: str, seq_len: int | None, *, items, lambada: Sequence, folder: Path
) -> dict:
    """Score one checkpoint; `folder` receives `items.csv` and `lambada.csv`, one row per question."""
    start = time.perf_counter()
    model, tokenizer = load_checkpoint(checkpoint)
    seq_len = seq_len or cloze.sequence_length(model.config)
    real = cloze.score_items(model, tokenizer, items, max_length=seq_len)
    after_real = time.perf_counter()
    gaps = score_lambada(model, tokenizer, lambada, max_length=seq_len)
    real.to_csv(folder / "items.csv", index=False)
    gaps.to_csv(folder / "lambada.csv", index=False)
    scores = {"real1": real["hit1"].mean(), "real5": real["hit5"].mean(), "lambada1": gaps["hit1"].mean()}
    return {
        "evaluated_length": seq_len,
        **scores,
        "mrr": real["reciprocal_rank"].mean(),
        "lambada_official": gaps["right"].mean(),
        "score": composite(**scores),
        "cut": int((real["status"] == "cut").sum()),
        "unknown": int((real["status"] == "unknown").sum()),
        "evaluated_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "real_seconds": after_real - start,
        "lambada_seconds": time.perf_counter() - after_real,
    }


def examine(
    checkpoint: str, length: int, choices: int, *, items, legacy_items, lambada, folder: Path
) -> dict:
    """Look closely at one checkpoint: ablation, ranking of context nouns, the study's own measures."""
    model, tokenizer = load_checkpoint(checkpoint)
    answers = {
        "ablated": cloze.score_items(model, tokenizer, items, max_length=length, ablate=True),
        "ranked": cloze.rank_context_nouns(model, tokenizer, items, choices=choices, max_length=length),
        "legacy": legacy.score_items_legacy(model, tokenizer, legacy_items, max_length=length),
        "exact": cloze.score_items(model, tokenizer, legacy_items, max_length=length),
        "legacy_lambada": legacy.score_lambada_legacy(model, tokenizer, lambada, max_length=length),
    }
    for name, frame in answers.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return {"examined": len(items)}
