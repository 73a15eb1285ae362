"""Named entities as character-level BIO tags: encoding, spans, and the two F1 scores of KLUE-NER.

A corpus of tags is a list with one list of strings per sentence, one tag per character. Scores are computed
from per-sentence counts, so that an interval costs one matrix product (`helpers.statistics`). Every sentence
is scored: unequal lengths and unknown tags raise an error that names the sentence. Getting from subword
predictions to character tags is the business of `decoding`.
"""

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from helpers.corpora.labels import OUTSIDE, TAG_TYPES, TAGS

if TYPE_CHECKING:
    import pandas as pd

_ID = {tag: i for i, tag in enumerate(TAGS)}


class Tagged(NamedTuple):
    """The tags of a corpus in one array: sentence `i` is `ids[bounds[i]:bounds[i + 1]]`."""

    ids: np.ndarray  # (characters,) int8, positions in TAGS
    bounds: np.ndarray  # (sentences + 1,) int64


class Span(NamedTuple):
    """An entity: half-open character range and type."""

    start: int
    end: int
    kind: str


Tags = Sequence[Sequence[str]] | Tagged


def encode(tags: Tags) -> Tagged:
    """Turn string tags into one array; what is encoded passes through, so encode once and score often."""
    if isinstance(tags, Tagged):
        return tags
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in tags], dtype=np.int64)])
    try:
        ids = np.fromiter(map(_ID.__getitem__, chain.from_iterable(tags)), np.int8, count=bounds[-1])
    except KeyError as error:
        row = next(i for i, sentence in enumerate(tags) if any(tag not in _ID for tag in sentence))
        raise ValueError(
            f"sentence {row}: unknown tag {error.args[0]!r}; expected one of {', '.join(TAGS)}"
        ) from None
    return Tagged(ids, bounds)


def decode(tagged: Tagged) -> list[list[str]]:
    """Undo `encode`."""
    names = np.array(TAGS, dtype=object)[tagged.ids].tolist()
    return [names[a:b] for a, b in pairwise(tagged.bounds)]


def from_ids(rows: Sequence[Sequence[int]]) -> Tagged:
    """Encode rows of tag ids in the order of TAGS (the hub's `ner_tags`)."""
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    ids = np.fromiter(chain.from_iterable(rows), np.int64, count=bounds[-1])
    if ids.size and not 0 <= ids.min() <= ids.max() < len(TAGS):
        raise ValueError(f"tag ids run from {ids.min()} to {ids.max()}; expected 0 to {len(TAGS) - 1}")
    return Tagged(ids.astype(np.int8), bounds)


def without_spaces(tags: Tags, sentences: Sequence[str]) -> Tagged:
    """Keep the tags of non-space characters, which is all that KLUE's official scorer looks at.

    An entity that starts with a space loses its `B-` and with it the entity, in gold as in prediction.
    """
    tagged = encode(tags)
    keep = np.fromiter(map(" ".__ne__, chain.from_iterable(sentences)), bool)
    _check_lengths(np.diff(tagged.bounds), np.array([len(s) for s in sentences]), ("tags", "characters"))
    return Tagged(tagged.ids[keep], np.concatenate([[0], np.cumsum(keep)])[tagged.bounds])


def find_spans(tags: Sequence[str]) -> list[Span]:
    """List the entities of one sentence by strict IOB2: `B-` opens, `I-` of the same type continues.

    >>> find_spans(["B-PS", "I-PS", "I-LC", "O", "I-LC"])
    [Span(start=0, end=2, kind='PS')]
    """
    starts, ends, kinds = _entities(encode([tags]))
    return [Span(int(s), int(e), TAG_TYPES[k]) for s, e, k in zip(starts, ends, kinds, strict=True)]


def tag_spans(spans: Sequence[tuple[int, int, str]], length: int) -> list[str]:
    """Write entities as the tags of a sentence of `length` characters; spaces inside get `I-` as in KLUE.

    >>> tag_spans([(0, 2, "PS")], 3)
    ['B-PS', 'I-PS', 'O']
    """
    tags = ["O"] * length
    for start, end, kind in spans:
        if not 0 <= start < end <= length or any(tag != "O" for tag in tags[start:end]):
            raise ValueError(f"span ({start}, {end}, {kind!r}) is empty, overlaps or leaves 0 to {length}")
        tags[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return tags


def entity_counts(gold: Tags, pred: Tags) -> np.ndarray:
    """Count entities per sentence: (sentences, 18), which is 6 TAG_TYPES × (right, predicted, gold)."""
    gold, pred = _pair(gold, pred)
    (g_start, g_end, g_kind), (p_start, p_end, p_kind) = _entities(gold), _entities(pred)
    # Starts are unique within a corpus, so "same start, end and type" is one lookup by start.
    end_of, kind_of = np.zeros(len(gold.ids), np.int64), np.zeros(len(gold.ids), np.int8)
    end_of[p_start], kind_of[p_start] = p_end, p_kind
    right = (end_of[g_start] == g_end) & (kind_of[g_start] == g_kind)
    found = [(g_start[right], g_kind[right]), (p_start, p_kind), (g_start, g_kind)]
    return _tally([(start, kind.astype(np.int64)) for start, kind in found], gold.bounds, len(TAG_TYPES))


def char_counts(gold: Tags, pred: Tags) -> np.ndarray:
    """Count characters per sentence: (sentences, 39), which is 13 TAGS × (right, predicted, gold)."""
    gold, pred = _pair(gold, pred)
    everywhere = np.arange(len(gold.ids))
    g, p = gold.ids.astype(np.int64), pred.ids.astype(np.int64)
    right = g == p
    return _tally([(everywhere[right], g[right]), (everywhere, p), (everywhere, g)], gold.bounds, len(TAGS))


def entity_score(totals: np.ndarray, average: Literal["macro", "micro"] = "macro") -> np.ndarray:
    """Turn summed entity counts (…, 18) into F1 ×100 (…), as seqeval does in strict mode.

    Macro is the mean over the types that occur in gold or prediction; without any entity it is nan.
    """
    right, predicted, gold = _split(totals, len(TAG_TYPES))
    if average == "micro":
        right, predicted, gold = (part.sum(-1, keepdims=True) for part in (right, predicted, gold))
        return _percent(2 * right, predicted + gold, empty=0.0)[..., 0]
    if average != "macro":
        raise ValueError(f"average is 'macro' or 'micro', not {average!r}")
    present = predicted + gold > 0
    with np.errstate(invalid="ignore"):
        return _percent(2 * right, predicted + gold, empty=0.0).sum(-1) / present.sum(-1)


def char_score(totals: np.ndarray, include_outside: bool = True) -> np.ndarray:
    """Turn summed character counts (…, 39) into macro F1 ×100 (…); an absent label counts as 100.

    KLUE describes the score as excluding O, but its code includes it: 13 labels, or 12 without O.
    """
    right, predicted, gold = _split(totals, len(TAGS))
    per_tag = _percent(2 * right, predicted + gold, empty=100.0)
    return (per_tag if include_outside else per_tag[..., :OUTSIDE]).mean(-1)


def entity_f1(gold: Tags, pred: Tags, average: Literal["macro", "micro"] = "macro") -> float:
    """Score whole entities, ×100: seqeval in strict mode with scheme IOB2."""
    return float(entity_score(entity_counts(gold, pred).sum(0), average))


def char_f1(gold: Tags, pred: Tags, include_outside: bool = True) -> float:
    """Score characters, ×100: macro F1 over 13 labels, or over 12 without O."""
    return float(char_score(char_counts(gold, pred).sum(0), include_outside))


def per_type(gold: Tags, pred: Tags) -> "pd.DataFrame":
    """Tabulate precision, recall and F1 (×100) with counts for each entity type, rarest last."""
    import pandas as pd

    right, predicted, wanted = _split(entity_counts(gold, pred).sum(0), len(TAG_TYPES))
    frame = pd.DataFrame(
        {
            "type": TAG_TYPES,
            "precision": _percent(right, predicted, empty=0.0),
            "recall": _percent(right, wanted, empty=0.0),
            "f1": _percent(2 * right, predicted + wanted, empty=0.0),
            "gold": wanted,
            "predicted": predicted,
            "right": right,
        }
    )
    return frame.sort_values("gold", ascending=False, ignore_index=True)


def legacy_kept(lengths: Sequence[int], batch_size: int = 32) -> np.ndarray:
    """Mark the sentences that the published study scored: (sentences,) bool.

    Its scorer looks for the padding at the end of each row of a batch and skips rows without any, which are
    the longest ones. `lengths` are subwords per sentence, in the order of evaluation.
    """
    lengths = np.asarray(lengths)
    firsts = np.arange(0, len(lengths), batch_size)
    longest = np.maximum.reduceat(lengths, firsts) if len(lengths) else lengths
    return lengths < np.repeat(longest, batch_size)[: len(lengths)]


def _entities(tagged: Tagged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find starts, ends (exclusive) and type ids of all entities, in positions of the whole corpus."""
    ids = tagged.ids
    inside = (ids % 2 == 1) & (ids != OUTSIDE)
    goes_on = np.zeros(len(ids), bool)
    goes_on[1:] = inside[1:] & ((ids[1:] == ids[:-1]) | (ids[1:] - 1 == ids[:-1]))
    goes_on[tagged.bounds[:-1][np.diff(tagged.bounds) > 0]] = False
    breaks = np.append(np.flatnonzero(~goes_on), len(ids))
    opens = np.flatnonzero((ids[breaks[:-1]] % 2 == 0) & (ids[breaks[:-1]] != OUTSIDE))
    return breaks[opens], breaks[opens + 1], ids[breaks[opens]] // 2


def _tally(found: list[tuple[np.ndarray, np.ndarray]], bounds: np.ndarray, classes: int) -> np.ndarray:
    """Count (position, class) pairs per sentence: (sentences, classes × len(found))."""
    sentences = len(bounds) - 1
    owner = np.repeat(np.arange(sentences), np.diff(bounds))
    cells = [
        np.bincount(owner[position] * classes + kind, minlength=sentences * classes)
        for position, kind in found
    ]
    return np.stack(cells, axis=-1).reshape(sentences, classes * len(found))


def _split(totals: np.ndarray, classes: int) -> list[np.ndarray]:
    """Take counts (…, classes × 3) apart into right, predicted and gold, each (…, classes)."""
    totals = np.asarray(totals)
    return list(np.moveaxis(totals.reshape(*totals.shape[:-1], classes, 3), -1, 0))


def _percent(part: np.ndarray, whole: np.ndarray, *, empty: float) -> np.ndarray:
    return np.where(whole > 0, 100.0 * part / np.where(whole > 0, whole, 1), empty)


def _pair(gold: Tags, pred: Tags) -> tuple[Tagged, Tagged]:
    gold, pred = encode(gold), encode(pred)
    _check_lengths(np.diff(gold.bounds), np.diff(pred.bounds), ("gold tags", "predicted tags"))
    return gold, pred


def _check_lengths(a: np.ndarray, b: np.ndarray, names: tuple[str, str]) -> None:
    if len(a) != len(b):
        raise ValueError(
            f"{len(a)} sentences of {names[0]} but {len(b)} of {names[1]}; score the same sentences"
        )
    if (a != b).any():
        row = int(np.flatnonzero(a != b)[0])
        raise ValueError(
            f"sentence {row}: {a[row]} {names[0]} but {b[row]} {names[1]}; every character needs one tag, "
            "so project the prediction onto all characters before scoring"
        )
