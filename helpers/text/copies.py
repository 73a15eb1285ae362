"""Copies of sentences, exact and near: a model that has read a dev sentence is not tested on new text."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

SHINGLE = 6  # characters, spaces left out; texts that share many such runs are copies of each other
NEAR = 0.5  # share of a sentence's runs that make a text a near copy of it


class Copies(NamedTuple):
    """How many texts were left out because they repeat a sentence."""

    exact: int
    near: int


def without_copies(texts: Iterable[str], sentences: Sequence[str]) -> tuple[list[str], Copies]:
    """Leave out texts that hold one of the sentences: exactly, or NEAR of its runs of SHINGLE characters.

    Spaces do not count. A document is left out as a whole, wherever in it the copy stands.
    """
    known = {_solid(text) for text in sentences}
    runs = [np.unique(_shingles(text)) for text in known]
    runs = [found for found in runs if len(found)]
    owners = np.repeat(np.arange(len(runs)), [len(found) for found in runs])
    flat = np.concatenate(runs) if runs else np.zeros(0, dtype=np.uint64)
    order = np.argsort(flat, kind="stable")
    flat, owners = flat[order], owners[order]
    needed = NEAR * np.array([len(found) for found in runs])
    kept, exact, near = [], 0, 0
    for text in texts:
        if (solid := _solid(text)) in known:
            exact += 1
        elif _repeats(np.unique(_shingles(solid)), flat, owners, needed):
            near += 1
        else:
            kept.append(text)
    return kept, Copies(exact, near)


def _repeats(found: np.ndarray, flat: np.ndarray, owners: np.ndarray, needed: np.ndarray) -> bool:
    """Say whether runs (sorted) cover enough of those of any sentence: owners[i] has the run flat[i]."""
    first, last = np.searchsorted(flat, found), np.searchsorted(flat, found, side="right")
    shared = last > first
    if not shared.any():
        return False
    hits = np.concatenate([owners[a:b] for a, b in zip(first[shared], last[shared], strict=True)])
    met, counts = np.unique(hits, return_counts=True)
    return bool((counts >= needed[met]).any())


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
