"""Copying: what it gives without a model, and what to delete to see whether a model does it.

A masked LM that does not beat the baselines has learned no more than "some noun from above". Each names up to
five nouns per item; scoring is exact match, as in `cloze`. What a model loses without the other mentions was
copied, or is lost whenever something near is deleted: the placebo tells the two apart.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.coreference.cloze import Span

TOP = 5  # guesses kept per item
BASELINES = (
    "frequent everywhere",
    "random from the context",
    "nearest to the left",
    "first to the left",
    "most frequent in the context",
)


def global_frequency(documents: Iterable[Mapping]) -> list[str]:
    """Return the most frequent nouns of (training) documents, the same guess for every item."""
    from helpers.coreference.items import find_nouns

    tagged = find_nouns([document["text"] for document in documents])
    counts = Counter(noun.surface for nouns, _ in tagged for noun in nouns)
    return [word for word, _ in counts.most_common(TOP)]


def context_guesses(item: Mapping) -> dict[str, list[str]]:
    """Return each baseline's guesses, best first, from the other nouns of the item's text.

    >>> context_guesses({"id": "0", "text": "가나 다라 가나", "start": 6, "context": [[0, 2], [3, 5]], …})
    {"nearest to the left": ["다라", "가나"], "first to the left": ["가나", "다라"], …}
    """
    words = [item["text"][start:end] for start, end in item["context"]]
    left = [item["text"][start:end] for start, end in item["context"] if end <= item["start"]]
    distinct = list(dict.fromkeys(words))
    rng = np.random.default_rng([0, int(item["id"], 16)])
    guesses = (
        [distinct[at] for at in rng.permutation(len(distinct))],
        list(dict.fromkeys(reversed(left))),
        list(dict.fromkeys(left)),
        [word for word, _ in Counter(words).most_common()],
    )
    return {name: words[:TOP] for name, words in zip(BASELINES[1:], guesses, strict=True)}


def score_baselines(items, *, frequent: Sequence[str]) -> pd.DataFrame:
    """Return one row per item and baseline: `id`, `document`, `run` (the baseline's name), `hit1`, `hit5`.

    `frequent`: the guesses of `global_frequency`.
    """
    rows = []
    for item in items:
        guesses = {BASELINES[0]: list(frequent), **context_guesses(item)}
        for name, words in guesses.items():
            hit = {f"hit{top}": item["noun"] in words[:top] for top in (1, 5)}
            rows.append({"id": item["id"], "document": item["document"], "run": name, **hit})
    return pd.DataFrame(rows)


def other_mentions(item: Mapping) -> list[Span]:
    """Return every place where the item's noun stands in its text, tagged as a noun or not, but its own."""
    return _places(item, item["noun"])


def placebo(item: Mapping) -> list[Span]:
    """Return as many places of another noun as the item's noun has others, the nearest ones.

    That noun is the one of the text that occurs about as often; of several, the one that comes about as near
    to the hidden mention. None that contains the item's noun, or is part of it.
    """
    own, noun = other_mentions(item), item["noun"]
    words = {item["text"][start:end] for start, end in item["context"]}
    others = {word: _places(item, word) for word in words if word not in noun and noun not in word}
    near = min((_gap(item, span) for span in own), default=0)

    def unlike(word: str) -> tuple:
        spans = others[word]
        nearest = min((_gap(item, span) for span in spans), default=0)
        return abs(len(spans) - len(own)), abs(np.log1p(nearest) - np.log1p(near)), word

    chosen = others[min(others, key=unlike)] if others else []
    return sorted(sorted(chosen, key=lambda span: _gap(item, span))[: len(own)])


def _places(item: Mapping, word: str) -> list[Span]:
    """Where a word stands in the item's text, outside the hidden mention."""
    starts = [place.start() for place in re.finditer(f"(?={re.escape(word)})", item["text"])]
    spans = [(start, start + len(word)) for start in starts]
    return [(start, end) for start, end in spans if end <= item["start"] or start >= item["end"]]


def _gap(item: Mapping, span: Span) -> int:
    """Characters between a span and the hidden mention."""
    return max(item["start"] - span[1], span[0] - item["end"])
