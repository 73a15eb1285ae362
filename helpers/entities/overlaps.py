"""Entities found in part: strict, exact, partial and type scores side by side, as in SemEval 2013.

The official score is strict, and lives in `scores`. The others say what a strict error is: a wrong type on
the right range, a range that is off, or an entity that is not there at all.
"""

from collections.abc import Callable, Sequence

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
    partial = sum(1.0 if a[:2] == b[:2] else 0.5 for a, b in _matched(gold, pred, _other_range))
    typed = sum(a.kind == b.kind for a, b in _matched(gold, pred, _far_or_other_type))
    return [strict, exact, partial, typed, len(pred), len(gold)]


def _matched(
    gold: Sequence[Span], pred: Sequence[Span], unlike: Callable[[Span, Span], float]
) -> list[tuple[Span, Span]]:
    """Give each prediction, in order, the free entity that it overlaps and is least unlike."""
    free, pairs = list(gold), []
    for span in pred:
        touching = [other for other in free if other.start < span.end and span.start < other.end]
        if touching:
            pairs.append((span, min(touching, key=lambda other: unlike(span, other))))
            free.remove(pairs[-1][1])
    return pairs


def _other_range(a: Span, b: Span) -> float:
    return float(a[:2] != b[:2])


def _far_or_other_type(a: Span, b: Span) -> float:
    return abs(a.start - b.start) + abs(a.end - b.end) if a.kind == b.kind else np.inf
