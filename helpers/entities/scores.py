"""The two F1 scores of KLUE-NER, for any entity types: over whole entities and over characters.

Scores are computed from per-sentence counts, so that an interval costs one matrix product
(`helpers.statistics`). Every sentence is scored: unequal lengths and unknown tags raise an error that names
the sentence.
"""

from typing import Literal

import numpy as np

from helpers.entities.tags import ID, TagArray, Tags, check_same_lengths, encode, entity_ranges, types_in


def entity_counts(gold: Tags, pred: Tags) -> np.ndarray:
    """Count entities per sentence: (sentences, types × 3), for right, predicted, gold; KLUE has 6 types."""
    gold, pred = _pair(gold, pred)
    (g_start, g_end, g_kind), (p_start, p_end, p_kind) = entity_ranges(gold), entity_ranges(pred)
    # Starts are unique within a corpus, so "same start, end and type" is one lookup by start.
    end_of, kind_of = np.zeros(len(gold.ids), np.int64), np.zeros(len(gold.ids), ID)
    end_of[p_start], kind_of[p_start] = p_end, p_kind
    right = (end_of[g_start] == g_end) & (kind_of[g_start] == g_kind)
    found = [(g_start[right], g_kind[right]), (p_start, p_kind), (g_start, g_kind)]
    return _tally([(start, kind.astype(np.int64)) for start, kind in found], gold.bounds, len(gold.types))


def char_counts(gold: Tags, pred: Tags) -> np.ndarray:
    """Count characters per sentence: (sentences, tags × 3), for right, predicted and gold; KLUE has 13."""
    gold, pred = _pair(gold, pred)
    everywhere = np.arange(len(gold.ids))
    g, p = gold.ids.astype(np.int64), pred.ids.astype(np.int64)
    right = g == p
    found = [(everywhere[right], g[right]), (everywhere, p), (everywhere, g)]
    return _tally(found, gold.bounds, gold.outside + 1)


def entity_score(totals: np.ndarray, average: Literal["macro", "micro"] = "macro") -> np.ndarray:
    """Turn summed entity counts (…, types × 3) into F1 ×100 (…), as seqeval does in strict mode.

    Macro is the mean over the types that occur in gold or prediction; without any entity it is nan.
    """
    right, predicted, gold = _split(totals)
    if average == "micro":
        right, predicted, gold = (part.sum(-1, keepdims=True) for part in (right, predicted, gold))
        return _percent(2 * right, predicted + gold, empty=0.0)[..., 0]
    if average != "macro":
        raise ValueError(f"average is 'macro' or 'micro', not {average!r}")
    present = predicted + gold > 0
    with np.errstate(invalid="ignore"):
        return _percent(2 * right, predicted + gold, empty=0.0).sum(-1) / present.sum(-1)


def char_score(totals: np.ndarray, include_outside: bool = True) -> np.ndarray:
    """Turn summed character counts (…, tags × 3) into macro F1 ×100 (…); an absent label counts as 100.

    KLUE describes the score as excluding O, but its code includes it: 13 labels, or 12 without O.
    """
    right, predicted, gold = _split(totals)
    per_tag = _percent(2 * right, predicted + gold, empty=100.0)
    return (per_tag if include_outside else per_tag[..., :-1]).mean(-1)


def entity_f1(gold: Tags, pred: Tags, average: Literal["macro", "micro"] = "macro") -> float:
    """Score whole entities, ×100: seqeval in strict mode with scheme IOB2."""
    return float(entity_score(entity_counts(gold, pred).sum(0), average))


def char_f1(gold: Tags, pred: Tags, include_outside: bool = True) -> float:
    """Score characters, ×100: macro F1 over the tags of all types, 13 in KLUE, or over 12 without O."""
    return float(char_score(char_counts(gold, pred).sum(0), include_outside))


def _tally(found: list[tuple[np.ndarray, np.ndarray]], bounds: np.ndarray, classes: int) -> np.ndarray:
    """Count (position, class) pairs per sentence: (sentences, classes × len(found))."""
    sentences = len(bounds) - 1
    owner = np.repeat(np.arange(sentences), np.diff(bounds))
    cells = [
        np.bincount(owner[position] * classes + kind, minlength=sentences * classes)
        for position, kind in found
    ]
    return np.stack(cells, axis=-1).reshape(sentences, classes * len(found))


def _split(totals: np.ndarray) -> list[np.ndarray]:
    """Take counts (…, classes × 3) apart into right, predicted and gold, each (…, classes)."""
    totals = np.asarray(totals)
    return list(np.moveaxis(totals.reshape(*totals.shape[:-1], -1, 3), -1, 0))


def _percent(part: np.ndarray, whole: np.ndarray, *, empty: float) -> np.ndarray:
    return np.where(whole > 0, 100.0 * part / np.where(whole > 0, whole, 1), empty)


def _pair(gold: Tags, pred: Tags) -> tuple[TagArray, TagArray]:
    types = types_in(gold, pred)
    gold, pred = encode(gold, types), encode(pred, types)
    check_same_lengths(np.diff(gold.bounds), np.diff(pred.bounds), ("gold tags", "predicted tags"))
    return gold, pred
