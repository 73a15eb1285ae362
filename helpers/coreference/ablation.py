"""What is deleted from a text to see whether a model copies: the other mentions, or as much of another noun.

What is lost without the other mentions was copied, or is lost whenever something near is deleted: the placebo
tells the two apart. Texts are asked in `cloze`.
"""

import re
from collections.abc import Mapping

import numpy as np

from helpers.coreference.cloze import Span


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
