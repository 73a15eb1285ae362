"""Real@k items: a noun that a document repeats, one later mention of it to be recovered from the rest.

Items are made of text and character offsets, so every tokenizer and sequence length is asked the same
questions. How a masked LM answers them is in `cloze`, what copying without a model gives in `copying`.
"""

import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from helpers.text.morphemes import kiwi

# Lower edges of the distance bins, in characters to the nearest earlier mention.
DISTANCES = (0, 25, 100, 400)
NOUN_TAGS = ("NNG", "NNP")
PRONOUN_TAG = "NP"
WORKERS = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)  # kiwi's own threads
_TAGGED: dict[str, tuple[tuple, bool]] = {}


class Noun(NamedTuple):
    """A noun in a text: half-open character range, surface, part of speech."""

    start: int
    end: int
    surface: str
    tag: str


class Tagged(NamedTuple):
    nouns: list[Noun]
    has_pronoun: bool


def find_nouns(texts: Sequence[str], *, min_chars: int = 2) -> list[Tagged]:
    """Tag texts with kiwi; nouns are cut from the text by offsets, since kiwi's own forms may differ."""
    tagged = []
    for text, (spans, has_pronoun) in zip(texts, _tag(texts), strict=True):
        nouns = [
            Noun(start, end, text[start:end], tag) for start, end, tag in spans if end - start >= min_chars
        ]
        tagged.append(Tagged(nouns, has_pronoun))
    return tagged


def _tag(texts: Sequence[str]) -> list[tuple[tuple, bool]]:
    """Noun spans of texts and whether they have a pronoun; kept, since tagging is slow, and asked twice."""
    new = [text for text in dict.fromkeys(texts) if text not in _TAGGED]
    for text, tokens in zip(new, kiwi(workers=WORKERS).tokenize(new) if new else (), strict=True):
        spans = (
            (token.start, token.start + token.len, token.tag) for token in tokens if token.tag in NOUN_TAGS
        )
        _TAGGED[text] = tuple(spans), any(token.tag == PRONOUN_TAG for token in tokens)
    return [_TAGGED[text] for text in texts]


def build_items(
    documents: Iterable[Mapping],
    *,
    per_document: int = 3,
    pronouns: bool = True,
    second_only: bool = False,
    seed: int = 0,
):
    """Return a Dataset of items: one masked later mention each, no noun twice in a document.

    Columns: `id` (hash of document, span and text), `document`, `text`, `start`, `end`, `noun`, `tag`,
    `distance` (characters from the nearest earlier mention), `antecedents` (earlier mentions) and `context`
    (all other nouns), both as character ranges.
    Within a document, mentions are drawn so that the distance bins of `DISTANCES` fill evenly over all
    documents. `pronouns=False` leaves out documents with a pronoun, `second_only=True` takes the first nouns'
    second mentions: together, the study's own selection.
    """
    from datasets import Dataset

    documents = list(documents)
    tagged = find_nouns([document["text"] for document in documents])
    filled: Counter[int] = Counter()
    rows: list[dict] = []
    for document, (nouns, has_pronoun) in zip(documents, tagged, strict=True):
        later = _later_mentions(nouns, second_only=second_only)
        if has_pronoun and not pronouns:
            continue
        if second_only:
            rows += [_item(document, nouns, at) for at in later[:per_document]]
        else:
            rng = np.random.default_rng([seed, int(_digest(document["id"]), 16)])
            chosen = _balanced(nouns, later, per_document, filled, rng)
            rows += [_item(document, nouns, at) for at in chosen]
    features = _features()
    columns = {name: [row[name] for row in rows] for name in features}
    return Dataset.from_dict(columns, features=features)


def check_disjoint(items, documents: Iterable[Mapping]) -> None:
    """Refuse items whose document, by id or by text, is among the (training) documents."""
    ids, texts = set(items["document"]), set(items["text"])
    if shared := [row["id"] for row in documents if row["id"] in ids or row["text"] in texts]:
        raise ValueError(
            f"{len(shared)} training documents are also evaluated (first: {shared[0]!r}); split by document"
        )


def distance_bin(distance: int) -> int:
    """Return the index of the distance's bin in `DISTANCES`."""
    return int(np.searchsorted(DISTANCES, distance, side="right")) - 1


def distance_labels() -> list[str]:
    edges = [*DISTANCES, None]
    return [f"{low}–{high - 1}" if high else f"{low}+" for low, high in itertools.pairwise(edges)]


def _later_mentions(nouns: Sequence[Noun], *, second_only: bool) -> list[int]:
    """Positions in `nouns` of mentions whose noun was there before (exactly once before: `second_only`)."""
    seen: Counter[str] = Counter()
    later = []
    for at, noun in enumerate(nouns):
        if seen[noun.surface] == 1 or (seen[noun.surface] > 1 and not second_only):
            later.append(at)
        seen[noun.surface] += 1
    return later


def _balanced(
    nouns: Sequence[Noun], later: Sequence[int], per_document: int, filled: Counter, rng: np.random.Generator
) -> list[int]:
    """Draw mentions one by one, each from the bin that has the fewest items so far; update `filled`."""
    waiting = [later[at] for at in rng.permutation(len(later))]
    chosen: list[int] = []
    while waiting and len(chosen) < per_document:
        best = min(waiting, key=lambda at: filled[distance_bin(_distance(nouns, at))])
        filled[distance_bin(_distance(nouns, best))] += 1
        chosen.append(best)
        waiting = [at for at in waiting if nouns[at].surface != nouns[best].surface]
    return sorted(chosen)


def _distance(nouns: Sequence[Noun], at: int) -> int:
    ends = (noun.end for noun in reversed(nouns[:at]) if noun.surface == nouns[at].surface)
    return nouns[at].start - next(ends)


def _item(document: Mapping, nouns: Sequence[Noun], at: int) -> dict:
    target, text = nouns[at], document["text"]
    earlier = [noun for noun in nouns[:at] if noun.surface == target.surface]
    return {
        "id": _digest(f"{document['id']}\t{target.start}\t{target.end}\t{text}"),
        "document": str(document["id"]),
        "text": text,
        "start": target.start,
        "end": target.end,
        "noun": target.surface,
        "tag": target.tag,
        "distance": _distance(nouns, at),
        "antecedents": [[noun.start, noun.end] for noun in earlier],
        "context": [[noun.start, noun.end] for noun in nouns if noun != target],
    }


def _features():
    from datasets import Features, List, Value

    spans = List(List(Value("int32")))
    text = dict.fromkeys(("id", "document", "text"), Value("string"))
    offsets = dict.fromkeys(("start", "end"), Value("int32"))
    labels = dict.fromkeys(("noun", "tag"), Value("string"))
    return Features(
        text | offsets | labels | {"distance": Value("int32"), "antecedents": spans, "context": spans}
    )


def _digest(text: str) -> str:
    return hashlib.sha256(str(text).encode()).hexdigest()[:16]
