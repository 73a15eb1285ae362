"""Train relation classifiers in a sweep, and read back what the runs left.

Training itself is `experiment.train_and_score`; editing this module does not train anything again.
"""

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from helpers import sweeps
from helpers.relations.experiment import RelationConfig, Splits, load_logits, train_and_score


def train(splits: Splits, configs: Sequence[RelationConfig], *, name: str) -> pd.DataFrame:
    """Train every configuration, or take it from the cache: one row each, with the folder of its logits."""
    return sweeps.sweep(
        train_and_score,
        [asdict(config) for config in configs],
        name=name,
        shared={"splits": splits},
        fingerprint=sweeps.fingerprint(splits.labels, splits.train, splits.valid, splits.dev),
    )


def logits_by(frame: pd.DataFrame, *columns: str) -> dict[str, list[np.ndarray]]:
    """Group a sweep's dev logits by the values of `columns`, joined by a space; seeds in their order."""
    if frame.empty:  # a grid of nothing has no columns
        return {}
    names = frame[list(columns)].astype(str).agg(" ".join, axis=1)
    ordered = frame.sort_values("seed", kind="stable")
    return {
        name: [load_logits(folder) for folder in ordered.loc[names == name, "folder"]]
        for name in names.unique()
    }
