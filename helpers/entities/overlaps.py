"""Entities found in part: strict, exact, partial and type scores side by side, as in SemEval 2013.

The official score is strict, and lives in `scores`. The others say what a strict error is: a wrong type on
the right range, a range that is off, or an entity that is not there at all.
"""

from collections.abc import Sequence

import numpy as np

from helpers.entities.tags import Span, Tags, decode, encode, find_spans, types_in

SCHEMES = {
    "strict": "range and type are right",
    "exact": "the range is right",
    "partial": "the range is right, or half a point where it overlaps",
    "type": "the type is right where ranges overlap",
}


def overlap_counts(gold: Tags, pred: Tags) -> dict[str, np.ndarray]:
    """Count credit, predicted and gold entities per sentence, by scheme: (sentences, 3) for `statistics.f1`.

    Each entity is matched once: predictions in their order take the entity of the same range, else the first
    that overlaps and is free; for "type", the nearest free one of the same type first.
    """
    types = types_in(gold, pred)
    pairs = zip(
        *([find_spans(row) for row in decode(encode(tags, types))] for tags in (gold, pred)), strict=True
    )
    found = np.array([_credits(*pair) for pair in pairs]).reshape(-1, len(SCHEMES) + 2)
    return {name: found[:, [i, -2, -1]] for i, name in enumerate(SCHEMES)}


def _credits(gold: Sequence[Span], pred: Sequence[Span]) -> list[float]:
    ranges = {span[:2] for span in gold}
    strict, exact = len(set(gold) & set(pred)), sum(span[:2] in ranges for span in pred)
    return [strict, exact, _partial(gold, pred), _typed(gold, pred), len(pred), len(gold)]


def _partial(gold: Sequence[Span], pred: Sequence[Span]) -> float:
    free, credit = list(gold), 0.0
    for span in pred:
        touching = _touching(span, free)
        if touching:
            same = [other for other in touching if other[:2] == span[:2]]
            credit += 1.0 if same else 0.5
            free.remove((same or touching)[0])
    return credit


def _typed(gold: Sequence[Span], pred: Sequence[Span]) -> float:
    free, credit = list(gold), 0.0
    for span in pred:
        touching = _touching(span, free)
        same = [other for other in touching if other.kind == span.kind]
        if same:
            credit += 1.0
            free.remove(
                min(same, key=lambda other: abs(other.start - span.start) + abs(other.end - span.end))
            )
        elif touching:
            free.remove(touching[0])
    return credit


def _touching(span: Span, others: Sequence[Span]) -> list[Span]:
    return [other for other in others if other.start < span.end and span.start < other.end]
