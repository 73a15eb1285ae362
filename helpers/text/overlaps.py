"""Which texts repeat which sentences, and how much of them: pairs, where `copies` only leaves texts out.

Every pair that shares a run of characters is counted through an index of runs, so that the shares are exact;
MinHash would estimate them.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from helpers.text.copies import NEAR, _shingles, _solid


class Overlap(NamedTuple):
    """A text that holds at least NEAR of a sentence's runs; `share` is 1 for one that holds all of them."""

    text: int
    sentence: int
    share: float
    exact: bool  # the same characters, spaces aside


def find_overlaps(texts: Sequence[str], sentences: Sequence[str]) -> Iterator[Overlap]:
    """Yield every text that is a copy of a sentence, exact or near (see `copies`), text by text.

    >>> [tuple(pair) for pair in find_overlaps(["가나다라마바사", "하하하하하하"], ["가나다라 마바사"])]
    [(0, 0, 1.0, True)]
    """
    solid = [_solid(sentence) for sentence in sentences]
    runs = [np.unique(_shingles(sentence)) for sentence in solid]
    sizes = np.array([len(found) for found in runs], dtype=int)
    owners = np.repeat(np.arange(len(runs)), sizes)
    flat = np.concatenate([*runs, np.zeros(0, dtype=np.uint64)])
    order = np.argsort(flat, kind="stable")
    flat, owners = flat[order], owners[order]
    for number, text in enumerate(texts):
        own = _solid(text)
        found = np.unique(_shingles(own))
        first, last = np.searchsorted(flat, found), np.searchsorted(flat, found, side="right")
        places = [np.arange(a, b) for a, b in zip(first, last, strict=True) if b > a]
        if not places:
            continue
        met, counts = np.unique(owners[np.concatenate(places)], return_counts=True)
        for sentence, share in zip(met.tolist(), (counts / sizes[met]).tolist(), strict=True):
            if share >= NEAR:
                yield Overlap(number, sentence, share, own == solid[sentence])
