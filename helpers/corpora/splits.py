"""Splits that keep together what belongs together, and a report on what a split lets through.

Rows that share a sentence or an entity pair form one group, transitively; a group is never divided.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset


def random_parts(n: int, parts: int, *, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Cut n rows into parts at random; yield (the rows outside, the rows inside) for each, to cross-fit."""
    part = np.random.default_rng(seed).permutation(np.arange(n) % min(parts, n))
    for k in range(min(parts, n)):
        yield np.flatnonzero(part != k), np.flatnonzero(part == k)


def relation_groups(relations: "Dataset") -> np.ndarray:
    """Return (n,) group ids: rows with a common sentence or (subject, object) pair are in one group."""
    return connected_groups(_sentences(relations), _pairs(relations))


def document_groups(rows: "Dataset") -> np.ndarray:
    """Return (n,) group ids by text: copies of a sentence, document or post are in one group."""
    return connected_groups(_sentences(rows))


def connected_groups(*keys: Sequence[Hashable]) -> np.ndarray:
    """Return (n,) ids of the components of rows linked by any equal key.

    >>> connected_groups(["a", "a", "b", "c"], [1, 2, 2, 3])
    array([0, 0, 0, 1])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows = len(keys[0])
    values: dict[tuple[int, Hashable], int] = {}
    columns = [
        rows + values.setdefault((k, key), len(values)) for k, column in enumerate(keys) for key in column
    ]
    links = np.tile(np.arange(rows), len(keys))
    size = rows + len(values)
    graph = coo_array((np.ones(len(columns), dtype=np.int8), (links, columns)), shape=(size, size))
    _, component = connected_components(graph, directed=False)
    return np.unique(component[:rows], return_inverse=True)[1]


def split_by_group(
    rows: "Dataset", groups: np.ndarray, *, share: float, seed: int = 0
) -> tuple["Dataset", "Dataset"]:
    """Divide rows into (train, dev) with about `share` of them in dev and no group on both sides.

    Groups enter dev in random order while they fit, so that one huge group cannot flood it.
    """
    if len(groups) != len(rows):
        raise ValueError(f"{len(groups)} group ids for {len(rows)} rows; compute the groups on these rows")
    in_dev = held_out(groups, share=share, seed=seed)
    if not in_dev.any():
        raise ValueError(
            f"{share:.0%} of {len(rows):,} rows in {len(set(groups.tolist())):,} groups leaves none to hold "
            "out: add rows, or hold out a larger share"
        )
    return rows.select(np.flatnonzero(~in_dev)), rows.select(np.flatnonzero(in_dev))


def held_out(groups: np.ndarray, *, share: float, seed: int = 0) -> np.ndarray:
    """Mark about `share` of the rows, in whole groups: (n,) bool, the dev side of `split_by_group`."""
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    return np.isin(groups, _chosen_groups(groups, room=round(share * len(groups)), seed=seed))


def leak_report(train: "Dataset", dev: "Dataset") -> "pd.DataFrame":
    """Count the dev rows whose sentence, or whose entity pair, also stands in train.

    One row per kind: `kind`, `dev_rows`, `shared`, `share` (in percent). Pairs, which only relations have,
    are (subject, object) in that order.
    """
    import pandas as pd

    kinds: dict[str, Callable[[Dataset], Sequence[Hashable]]] = {"sentence": _sentences}
    if "subject_entity" in dev.column_names:
        kinds["entity pair"] = _pairs
    report = []
    for kind, key in kinds.items():
        known = set(key(train))
        shared = sum(value in known for value in key(dev))
        report.append(
            {"kind": kind, "dev_rows": len(dev), "shared": shared, "share": 100 * shared / max(len(dev), 1)}
        )
    return pd.DataFrame(report)


def _chosen_groups(groups: np.ndarray, *, room: int, seed: int) -> list[int]:
    ids, sizes = np.unique(groups, return_counts=True)
    chosen = []
    for i in np.random.default_rng(seed).permutation(len(ids)):
        if sizes[i] <= room:
            chosen.append(ids[i])
            room -= sizes[i]
    return chosen


def _sentences(rows: "Dataset") -> Sequence[str]:
    field = next(name for name in ("sentence", "text", "content") if name in rows.column_names)
    return rows[field][:]


def _pairs(relations: "Dataset") -> list[tuple[str, str]]:
    subjects, objects = relations["subject_entity"][:], relations["object_entity"][:]
    return [(a["word"], b["word"]) for a, b in zip(subjects, objects, strict=True)]
