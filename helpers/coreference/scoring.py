"""Score one checkpoint on items and passages: what `sweeps` runs to evaluate or examine checkpoints.

Answers go to files, one row per question, so that any two checkpoints can be compared item by item.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from helpers.coreference import cloze, copying, legacy
from helpers.coreference.checkpoints import composite, load_checkpoint
from helpers.coreference.lambada import score_lambada
from helpers.learning.inference import best_device

DELETED = {"ablated": copying.other_mentions, "placebo": copying.placebo}  # files of `ablate`
CLOSE_LOOKS = ("ranked", "legacy", "exact", "legacy_lambada")  # files of `examine`


def evaluate_checkpoint(
    checkpoint: str,
    seq_len: int | None,
    *,
    items,
    lambada: Sequence,
    folder: Path,
    device: str = "",
    batch_tokens: int = cloze.BATCH_TOKENS,
) -> dict:
    """Score one checkpoint; `folder` receives `items.csv` and `lambada.csv`, one row per question.

    Without passages nothing is said of LAMBADA: enough to choose a checkpoint by. `device`: by default the
    GPU, if there is one.
    """
    start = time.perf_counter()
    model, tokenizer = _loaded(checkpoint, device)
    seq_len = seq_len or cloze.sequence_length(model.config)
    how: dict[str, Any] = {"max_length": seq_len, "batch_tokens": batch_tokens}
    real = cloze.score_items(model, tokenizer, items, **how)
    real.to_csv(folder / "items.csv", index=False)
    found = {
        "evaluated_length": seq_len,
        "real1": real["hit1"].mean(),
        "real5": real["hit5"].mean(),
        "mrr": real["reciprocal_rank"].mean(),
        "cut": int((real["status"] == "cut").sum()),
        "unknown": int((real["status"] == "unknown").sum()),
        "evaluated_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "real_seconds": time.perf_counter() - start,
    }
    if not lambada:
        return found
    start = time.perf_counter()
    gaps = score_lambada(model, tokenizer, lambada, **how)
    gaps.to_csv(folder / "lambada.csv", index=False)
    scores = {"real1": found["real1"], "real5": found["real5"], "lambada1": gaps["hit1"].mean()}
    return found | {
        "lambada1": scores["lambada1"],
        "lambada_official": gaps["right"].mean(),
        "score": composite(**scores),
        "lambada_seconds": time.perf_counter() - start,
    }


def _loaded(checkpoint: str, device: str = "") -> tuple:
    """Load a checkpoint and its tokenizer to where it will be asked."""
    model, tokenizer = load_checkpoint(checkpoint)
    return model.to(device or best_device()), tokenizer


def ablate(checkpoint: str, length: int, *, items, folder: Path) -> dict:
    """Ask one checkpoint again, without the other mentions and without as much of another noun."""
    model, tokenizer = _loaded(checkpoint)
    for name, places in DELETED.items():
        answers = cloze.score_items(model, tokenizer, items, max_length=length, delete=places)
        answers.to_csv(folder / f"{name}.csv", index=False)
    return {"asked": len(items)}


def examine(
    checkpoint: str, length: int, choices: int, *, items, legacy_items, lambada, folder: Path
) -> dict:
    """Look closely at one checkpoint: ranking of context nouns, the study's own measures."""
    model, tokenizer = _loaded(checkpoint)
    answers = (
        cloze.rank_context_nouns(model, tokenizer, items, choices=choices, max_length=length),
        legacy.score_items_legacy(model, tokenizer, legacy_items, max_length=length),
        cloze.score_items(model, tokenizer, legacy_items, max_length=length),
        legacy.score_lambada_legacy(model, tokenizer, lambada, max_length=length),
    )
    for name, frame in zip(CLOSE_LOOKS, answers, strict=True):
        frame.to_csv(folder / f"{name}.csv", index=False)
    return {"examined": len(items)}
