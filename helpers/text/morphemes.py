"""Korean morphemes by kiwi: one tagger for the whole process, and where it cuts a text."""

from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kiwipiepy import Kiwi


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
