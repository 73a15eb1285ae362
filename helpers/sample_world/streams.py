"""Random streams: every row of the sample world has its own, so rows depend on nothing but their key.

That makes a shorter request the prefix of a longer one, whatever was generated before, in any process.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
SPLITS = ("train", "dev")


def stream(*key: object) -> Random:
    """Open the stream named by `key`; strings are hashed by `random`, not by Python's salted `hash`."""
    return Random("/".join(map(str, key)))


def check(split: str, rows: int) -> None:
    """Refuse a split or size that no generator knows."""
    if split not in SPLITS:
        raise ValueError(f"expected split to be one of {SPLITS}, got {split!r}")
    if rows < 0:
        raise ValueError(f"expected rows to be 0 or more, got {rows}")


def zipf(rng: Random, items: Sequence[T]) -> T:
    """Pick an item so that early ones come up far more often: log-uniform over the ranks."""
    return items[int(len(items) ** rng.random()) - 1]


def seen_in(templates: Sequence[T], split: str) -> Sequence[T]:
    """Hold every fifth template back from train; dev has them all."""
    if split == "dev":
        return templates
    return [item for place, item in enumerate(templates) if place % 5 != 4]
