"""Measure tokenizers on relation sentences: length, unknowns, and what happens at entity boundaries.

Counts are kept per sentence, so that every share has an interval over sentences. Loading and
training are in `tokenizers`, alignment in `alignment`; whether a figure matters for a task is for an
experiment to say.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from datasets import Dataset

from helpers.statistics import Interval, estimate
from helpers.text.alignment import Encoded, encode_with_offsets
from helpers.text.morphemes import morphemes

COUNTS = (
    "tokens",
    "eojeols",
    "continued",  # eojeols of more than one token
    "unknown",
    "with_unknown",  # 1 where the sentence has an unknown token
    "sentences",
    "entities",
    "entity_pieces",
    "single",  # entities of exactly one token
    "aligned",  # entities whose two ends are ends of tokens
    "marker_pieces",  # tokens that the markers add
    "truncated",  # 1 where the marked sentence passes the length limit
)


@dataclass(frozen=True)
class Measured:
    """What one tokenizer does to every sentence: `counts` (n, len(COUNTS)) and `lengths` (n,)."""

    counts: np.ndarray
    lengths: np.ndarray
    vocabulary: int
    used: int
    sentences_per_second: float

    def share(self, part: str, whole: str, *, scale: float = 1.0) -> Interval:
        """Give sum(part) / sum(whole) × scale with an interval over sentences."""
        return estimate(self.counts[:, [COUNTS.index(part), COUNTS.index(whole)]]).interval().scaled(scale)


def measure(tokenizer, rows: Dataset, *, marked: Sequence[str], max_length: int = 256) -> Measured:
    """Count what `tokenizer` does to each sentence of relation rows and to its two entities.

    `marked` are the sentences with their entity markers, whose cost in tokens is counted; `max_length` limits
    them, special tokens included.
    """
    texts = rows["sentence"][:]
    morphemes.cache_clear()  # time what a new sentence costs
    start = time.perf_counter()
    encoded = encode_with_offsets(tokenizer, texts, special_tokens=False)
    seconds = time.perf_counter() - start
    lengths = np.array([len(ids) for ids in tokenizer(list(marked)).input_ids])
    spans = [entity_spans(row) for row in rows]
    own = tokenizer.num_special_tokens_to_add()
    counts = [
        [
            *_sentence_counts(one, text, tokenizer.unk_token_id),
            *entity_counts(one, ends),
            added,
            added_up > max_length,
        ]
        for one, text, ends, added_up in zip(encoded, texts, spans, lengths, strict=True)
        for added in [added_up - own - len(one.input_ids)]
    ]
    used = {token for one in encoded for token in one.input_ids}
    return Measured(np.array(counts, dtype=float), lengths, len(tokenizer), len(used), len(texts) / seconds)


def compare(
    tokenizers: Mapping[str, object], rows: Dataset, *, marked: Sequence[str], max_length: int = 256
) -> pd.DataFrame:
    """Measure several tokenizers on the same rows: one line each, shares in percent with 95 % intervals."""
    return pd.DataFrame(
        [
            {"tokenizer": name, **summary(measure(tokenizer, rows, marked=marked, max_length=max_length))}
            for name, tokenizer in tokenizers.items()
        ]
    )


def summary(measured: Measured) -> dict:
    """Condense one tokenizer's counts to a line of the comparison."""
    percent = {"scale": 100.0}
    p50, p95, p99 = np.percentile(measured.lengths, [50, 95, 99], method="higher").tolist()
    return {
        "vocabulary": measured.vocabulary,
        "used": 100 * measured.used / measured.vocabulary,
        "fertility": measured.share("tokens", "eojeols"),
        "continued": measured.share("continued", "eojeols", **percent),
        "unknown_tokens": measured.share("unknown", "tokens", **percent),
        "unknown_sentences": measured.share("with_unknown", "sentences", **percent),
        "entity_pieces": measured.share("entity_pieces", "entities"),
        "single_token_entities": measured.share("single", "entities", **percent),
        "aligned_entities": measured.share("aligned", "entities", **percent),
        "marker_pieces": measured.share("marker_pieces", "sentences"),
        "p50": p50,
        "p95": p95,
        "p99": p99,
        "truncated": measured.share("truncated", "sentences", **percent),
        "sentences_per_second": round(measured.sentences_per_second),
    }


def entity_spans(row: dict) -> list[tuple[int, int]]:
    """Give the half-open ranges of a row's subject and object."""
    return [
        (row[side]["start_idx"], row[side]["end_idx"] + 1) for side in ("subject_entity", "object_entity")
    ]


def entity_counts(encoded: Encoded, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Count entities, their pieces, those of one token, and those that begin and end where tokens do."""
    starts, ends = encoded.offsets.T
    pieces = [int(((starts < end) & (ends > start)).sum()) for start, end in spans]
    aligned = [bool((starts == start).any() and (ends == end).any()) for start, end in spans]
    single = sum(n == 1 and fits for n, fits in zip(pieces, aligned, strict=True))
    return [len(spans), sum(pieces), single, sum(aligned)]


def _sentence_counts(encoded: Encoded, text: str, unknown_id: int) -> list[int]:
    spaces = np.fromiter(map(str.isspace, text), bool, len(text))
    word_of_char = np.cumsum(np.diff(spaces.astype(int), prepend=1) < 0) - 1
    visible = encoded.offsets[encoded.offsets[:, 1] > encoded.offsets[:, 0], 0]
    per_word = np.bincount(word_of_char[visible], minlength=1)
    unknown = encoded.input_ids.count(unknown_id)
    return [len(encoded.input_ids), len(text.split()), int((per_word > 1).sum()), unknown, unknown > 0, 1]
