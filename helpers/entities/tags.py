"""Named entities as character-level BIO tags: one array for a corpus, spans, what KLUE's scorer looks at.

A corpus of tags is a list with one list of strings per sentence, one tag per character, or the same as one
array (`TagArray`). Types are whatever occurs; KLUE's six, in their order, where nothing else does. Getting
from subword predictions to character tags is left to `decoding`.
"""

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from helpers.corpora.labels import TAG_TYPES, ordered, tags_of

ID = np.int16  # of a tag: room for 16,000 types


class TagArray(NamedTuple):
    """The tags of a corpus in one array: sentence `i` is `ids[bounds[i]:bounds[i + 1]]`."""

    ids: np.ndarray  # (characters,) positions in the tags of `types`
    bounds: np.ndarray  # (sentences + 1,) int64
    types: tuple[str, ...] = TAG_TYPES

    @property
    def outside(self) -> int:
        """The id of O, which comes last."""
        return 2 * len(self.types)


class Span(NamedTuple):
    """An entity: half-open character range and type."""

    start: int
    end: int
    kind: str


Tags = Sequence[Sequence[str]] | TagArray


def encode(tags: Tags, types: tuple[str, ...] | None = None) -> TagArray:
    """Turn string tags into one array; what is encoded passes through, so encode once and score often.

    `types` fixes the order of types; by default it is that of `types_in`.
    """
    if isinstance(tags, TagArray):
        return tags if types in (None, tags.types) else encode(decode(tags), types)
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in tags], dtype=np.int64)])
    types = types_in(tags) if types is None else types
    known = {tag: i for i, tag in enumerate(tags_of(types))}
    try:
        ids = np.fromiter(map(known.__getitem__, chain.from_iterable(tags)), ID, count=bounds[-1])
    except KeyError as error:
        row = next(i for i, sentence in enumerate(tags) if any(tag not in known for tag in sentence))
        raise ValueError(
            f"sentence {row}: unknown tag {error.args[0]!r}; expected O, or B- or I- with one of "
            f"{', '.join(types)}"
        ) from None
    return TagArray(ids, bounds, types)


def types_in(*corpora: Tags) -> tuple[str, ...]:
    """Return the types that occur, by name; KLUE's, in their order, where nothing else does."""
    found: set[str] = set()
    for tags in corpora:
        own = tags_of(tags.types) if isinstance(tags, TagArray) else set(chain.from_iterable(tags))
        found |= {tag[2:] for tag in own if tag[:2] in ("B-", "I-") and tag[2:]}
    return ordered(found, TAG_TYPES)


def decode(tagged: TagArray) -> list[list[str]]:
    """Undo `encode`."""
    names = np.array(tags_of(tagged.types), dtype=object)[tagged.ids].tolist()
    return [names[a:b] for a, b in pairwise(tagged.bounds)]


def from_ids(rows: Sequence[Sequence[int]], types: tuple[str, ...] = TAG_TYPES) -> TagArray:
    """Encode rows of tag ids that count along the tags of `types` (a data set's `ner_tags`)."""
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    ids = np.fromiter(chain.from_iterable(rows), np.int64, count=bounds[-1])
    if ids.size and not 0 <= ids.min() <= ids.max() <= 2 * len(types):
        raise ValueError(f"tag ids run from {ids.min()} to {ids.max()}; expected 0 to {2 * len(types)}")
    return TagArray(ids.astype(ID), bounds, types)


def without_spaces(tags: Tags, sentences: Sequence[str]) -> TagArray:
    """Keep the tags of non-space characters, which is all that KLUE's official scorer looks at.

    An entity that starts with a space loses its `B-` and with it the entity, in gold as in prediction.
    """
    tagged = encode(tags)
    keep = np.fromiter(map(" ".__ne__, chain.from_iterable(sentences)), bool)
    check_same_lengths(np.diff(tagged.bounds), np.array([len(s) for s in sentences]), ("tags", "characters"))
    return TagArray(tagged.ids[keep], np.concatenate([[0], np.cumsum(keep)])[tagged.bounds], tagged.types)


def find_spans(tags: Sequence[str]) -> list[Span]:
    """List the entities of one sentence by strict IOB2: `B-` opens, `I-` of the same type continues.

    >>> find_spans(["B-PS", "I-PS", "I-LC", "O", "I-LC"])
    [Span(start=0, end=2, kind='PS')]
    """
    tagged = encode([tags])
    starts, ends, kinds = entity_ranges(tagged)
    return [Span(int(s), int(e), tagged.types[k]) for s, e, k in zip(starts, ends, kinds, strict=True)]


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


def entity_ranges(tagged: TagArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find starts, ends (exclusive) and type ids of all entities, in positions of the whole corpus."""
    ids = tagged.ids
    inside = ids % 2 == 1
    goes_on = np.zeros(len(ids), bool)
    goes_on[1:] = inside[1:] & ((ids[1:] == ids[:-1]) | (ids[1:] - 1 == ids[:-1]))
    goes_on[tagged.bounds[:-1][np.diff(tagged.bounds) > 0]] = False
    breaks = np.append(np.flatnonzero(~goes_on), len(ids))
    opens = np.flatnonzero((ids[breaks[:-1]] % 2 == 0) & (ids[breaks[:-1]] != tagged.outside))
    return breaks[opens], breaks[opens + 1], ids[breaks[opens]] // 2


def check_same_lengths(a: np.ndarray, b: np.ndarray, names: tuple[str, str]) -> None:
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
