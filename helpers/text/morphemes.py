"""Korean morphemes by kiwi: one tagger for the process, where it cuts a text, and the classes of words."""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kiwipiepy import Kiwi

# How the tags of a class begin: nouns one by one, for entities are made of them; the last takes the rest.
KINDS = ("NNP", "NNG", "NNB", "NR", "NP", "SN", "SL", "SH", "W", "J", "E", "V", "M", "X", "S", "")
CLASSES = 1 + 2 * len(KINDS)  # values that `word_classes` gives


def kiwi(workers: int = 1) -> "Kiwi":
    """Load the tagger once: it takes seconds and half a gigabyte. Its workers tag lists of texts at once."""
    return _loaded(workers)


@cache
def _loaded(workers: int) -> "Kiwi":
    from kiwipiepy import Kiwi

    return Kiwi(num_workers=workers)


@lru_cache(maxsize=2**15)  # a sentence is cut to train, to encode and to measure; kiwi takes 1 ms for it
def morphemes(text: str) -> tuple[tuple[int, int], ...]:
    """Cut a text into kiwi's morphemes: half-open ranges that cover it, gaps included.

    Morphemes that share a syllable (했 is 하 + 었) stay together.
    """
    tokens = kiwi().tokenize(text)
    inside = {
        cut for token in tokens if token.len > 1 for cut in range(token.start + 1, token.start + token.len)
    }
    cuts = {0, len(text)} | {
        cut for token in tokens for cut in (token.start, token.start + token.len)
    } - inside
    return tuple(pairwise(sorted(cuts)))


def word_classes(texts: Sequence[str]) -> list[list[int]]:
    """Say of every character which class its morpheme has, and whether it begins there; 0: in no morpheme.

    Where morphemes share a syllable, the first counts.
    """
    found = []
    for text, tokens in zip(texts, kiwi().tokenize(list(texts)), strict=True):
        classes = [0] * len(text)
        for token in reversed(tokens):
            kind = next(i for i, begins in enumerate(KINDS) if token.tag.startswith(begins))
            for at in range(token.start, token.start + token.len):
                classes[at] = 1 + 2 * kind + (at > token.start)
        found.append(classes)
    return found
