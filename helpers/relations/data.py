"""Load the rows of a relation experiment and describe its parts."""

import numpy as np
import pandas as pd

from helpers import corpora
from helpers.corpora.labels import NO_RELATION
from helpers.corpora.splits import relation_groups, split_by_group
from helpers.relations.experiment import Splits
from helpers.relations.slices import seen_pairs
from helpers.statistics import wilson


def load_splits(source: str, *, train_rows: int, dev_rows: int, seed: int = 0) -> Splits:
    """Load relation rows (0 takes all) and set a tenth of the training rows aside for validation.

    No sentence and no entity pair stands on both sides of that cut.
    """
    rows = corpora.load_relations(source, "train", rows=train_rows or None, seed=seed)
    train, valid = split_by_group(rows, relation_groups(rows), share=0.1, seed=seed)
    return Splits(train, valid, corpora.load_relations(source, "dev", rows=dev_rows or None, seed=seed))


def overview(splits: Splits) -> pd.DataFrame:
    """Describe each part: size, labels, the share of no_relation and of entity pairs known from train."""
    parts = {"train": splits.train, "validation": splits.valid, "dev": splits.dev}
    return pd.DataFrame(
        [
            {
                "part": name,
                "rows": len(rows),
                "sentences": len(set(rows["sentence"])),
                "characters, median": float(np.median([len(text) for text in rows["sentence"]])),
                "labels": len(set(rows["label"])),
                "no_relation, %": wilson(rows["label"][:].count(NO_RELATION), len(rows)).scaled(100),
                "pair in train, %": None if name == "train" else 100 * seen_pairs(rows, splits.train).mean(),
            }
            for name, rows in parts.items()
        ]
    )
