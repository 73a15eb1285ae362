"""Entity sentences: what the types look like, and how much of dev has been seen in train."""

from collections import defaultdict
from typing import TYPE_CHECKING

import pandas as pd

from helpers.corpora.labels import TAG_TYPES, ordered
from helpers.eda import shares
from helpers.entities.tags import find_spans

if TYPE_CHECKING:
    from datasets import Dataset


def mentions(entities: "Dataset") -> pd.DataFrame:
    """Return one row per entity: `row`, `start`, `end`, `type`, `surface`."""
    found, names = [], entities.features["ner_tags"].feature.names
    for row, (sentence, ids) in enumerate(zip(entities["sentence"], entities["ner_tags"], strict=True)):
        for start, end, kind in find_spans([names[i] for i in ids]):
            found.append((row, start, end, kind, sentence[start:end]))
    return pd.DataFrame(found, columns=["row", "start", "end", "type", "surface"])


def type_table(train: pd.DataFrame, dev: pd.DataFrame) -> pd.DataFrame:
    """Return, per type, the dev mentions and how many are new (unseen in train) or hold a space, in percent.

    `other type, %`: dev mentions whose surface train tags with another type, too. Mentions of one sentence
    stay together in the intervals.
    """
    types_of = defaultdict(set)
    for surface, kind in zip(train["surface"], train["type"], strict=True):
        types_of[surface].add(kind)
    rows = []
    for kind in (*ordered([*train["type"], *dev["type"]], TAG_TYPES), "all"):
        part = dev if kind == "all" else dev[dev["type"] == kind]
        if part.empty:
            continue
        known = [types_of.get(surface, set()) for surface in part["surface"]]
        flags = {
            "new surface, %": [not kinds for kinds in known],
            "other type, %": [bool(kinds - {own}) for kinds, own in zip(known, part["type"], strict=True)],
            "with a space, %": part["surface"].str.contains(" "),
        }
        count = len(train) if kind == "all" else int((train["type"] == kind).sum())
        rows.append(
            {"type": kind, "train": count, "dev": len(part)}
            | {name: shares.percentage(column, part["row"]) for name, column in flags.items()}
        )
    return pd.DataFrame(rows)


def adjacent_pairs(found: pd.DataFrame) -> int:
    """Count pairs of entities without a character between them: only their `B-` tags keep them apart."""
    later = found.shift(-1)
    return int(((found["row"] == later["row"]) & (found["end"] == later["start"])).sum())
