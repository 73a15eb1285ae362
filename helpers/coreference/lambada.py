"""Korean LAMBADA: the last sentence has a gap that only the whole passage can fill.

As designed: the answer against a given candidate, both put into the gap; and, harder, the answer as the top
prediction (@1). The study's own variant is `legacy.score_lambada_legacy`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.coreference import cloze

GAP = "_"


def score_lambada(
    model,
    tokenizer,
    rows: Sequence[Mapping],
    *,
    max_length: int,
    batch_tokens: int = cloze.BATCH_TOKENS,
) -> pd.DataFrame:
    """Return one row per passage: `hit1` (exact), `reciprocal_rank`, and `right`: answer before candidate.

    The two are compared by the likelihood of the whole word in the gap (`cloze.word_log_likelihoods`);
    `right` is False where the answer cannot be spelled, or ties.
    """
    answers, candidates = (
        _filled(tokenizer, rows, column, max_length=max_length) for column in ("answer", "candidate")
    )
    size = {"batch_tokens": batch_tokens}
    likelihoods = cloze.word_log_likelihoods(model, tokenizer, [*answers, *candidates], **size)
    answer, candidate = np.split(likelihoods, 2)
    frame = pd.DataFrame(
        {
            "index": [row["index"] for row in rows],
            "answer": [row["answer"] for row in rows],
            "pieces": [len(filled.gold) for filled in answers],
            "status": [filled.fault or "ok" for filled in answers],
            "answer_log_likelihood": answer,
            "candidate_log_likelihood": candidate,
            "right": (answer > candidate) | (~np.isnan(answer) & np.isnan(candidate)),
        }
    )
    return frame.join(cloze.hits(cloze.answer(model, tokenizer, answers, **size), (1, 5)))


def _filled(tokenizer, rows: Sequence[Mapping], column: str, *, max_length: int) -> list[cloze.Cloze]:
    """Put a word into each gap and mask it there."""
    texts, spans = [], []
    for row in rows:
        before, gap, after = row["text"].rpartition(GAP)
        if not gap:
            raise ValueError(
                f"passage {row['index']} has no gap {GAP!r} in its text; check the file's format"
            )
        texts.append(before + row[column] + after)
        spans.append((len(before), len(before) + len(row[column])))
    return cloze.encode_spans(tokenizer, texts, spans, max_length=max_length)
