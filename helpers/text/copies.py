"""Copies of sentences, exact and near: a model that has read a dev sentence is not tested on new text.

Every pair that shares a run of characters is counted through an index of runs, so that the shares are exact;
MinHash would estimate them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

SHINGLE = 6  # characters, spaces left out; texts that share many such runs are copies of each other
NEAR = 0.5  # share of a sentence's runs that make a text a near copy of it


class Overlap(NamedTuple):
    """A text that holds at least NEAR of a sentence's runs; `share` is 1 for one that holds all of them."""

    text: int
    sentence: int
    share: float
    exact: bool  # the same characters, spaces aside


class Copies(NamedTuple):
    """How many texts were left out because they repeat a sentence."""

    exact: int
    near: int


def without_copies(texts: Iterable[str], sentences: Sequence[str]) -> tuple[list[str], Copies]:
    """Leave out texts that hold one of the sentences: exactly, or NEAR of its runs of SHINGLE characters.

    Spaces do not count. A document is left out as a whole, wherever in it the copy stands.
    """
    texts = list(texts)
    copied: dict[int, bool] = {}  # texts, and whether they are exact copies
    for one in find_overlaps(texts, list(dict.fromkeys(sentences))):
        copied[one.text] = copied.get(one.text, False) or one.exact
    exact = sum(copied.values())
    kept = [text for number, text in enumerate(texts) if number not in copied]
    return kept, Copies(exact, len(copied) - exact)


def find_overlaps(texts: Iterable[str], sentences: Sequence[str]) -> Iterator[Overlap]:
    """Yield every text that is a copy of a sentence, exact or near, text by text.

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
        known = last > first
        if not known.any():
            continue
        hits = [owners[a:b] for a, b in zip(first[known], last[known], strict=True)]
        met, counts = np.unique(np.concatenate(hits), return_counts=True)
        shares = counts / sizes[met]
        for at in np.flatnonzero(shares >= NEAR).tolist():
            sentence = int(met[at])
            yield Overlap(number, sentence, float(shares[at]), own == solid[sentence])


def _solid(text: str) -> str:
    return "".join(text.split())


def _shingles(solid: str) -> np.ndarray:
    """Return a hash of every run of SHINGLE characters, shorter texts as one run: (runs,) uint64."""
    letters = np.frombuffer(solid.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    if not len(letters):
        return letters
    size = min(SHINGLE, len(letters))
    found = np.zeros(len(letters) - size + 1, dtype=np.uint64)
    for at in range(size):  # a polynomial modulo 2**64; the last step mixes the low bits
        found = found * np.uint64(0x100000001B3) + letters[at : at + len(found)]
    return found * np.uint64(0x9E3779B97F4A7C15)
