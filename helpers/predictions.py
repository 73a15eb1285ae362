"""The items behind a run's headline figures, kept beside metrics.json so that two runs can be paired by item.

`predictions.parquet` has one row per headline figure, side, seed and item:

    headline    the figure's name in metrics.json
    side        "system", and for an effect also "than"
    seed        0, 1, 2, …
    item        an id that is the same in every run on the same data
    cluster     optional: the document of an item, left out as a whole
    s0, s1, …   sufficient statistics: hits, items; or true, predicted, gold; or those three for every class
    prediction  optional text: what the system said, to list what flipped
"""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from helpers import records, statistics

if TYPE_CHECKING:
    import pandas as pd

FILE = "predictions.parquet"
SIDES = ("system", "than")


def write(
    notebook: str,
    kept: Mapping[str, Sequence[np.ndarray]],
    *,
    items: Sequence[Hashable],
    clusters: Sequence[Hashable] | None = None,
    predictions: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> Path:
    """Write the items of headline figures and return the file's path.

    `kept: {headline name: (system,) or (system, than)}`, each (seeds, items, k) as `statistics.compare` takes
    them; `predictions: {headline name: (seeds, items)}` of the systems. `write("04_…", {"SWA": (swa, last)},
    …)`
    """
    import pandas as pd

    frames = []
    for name, sides in kept.items():
        for side, stats in zip(SIDES, sides, strict=False):
            for seed, run in enumerate(np.asarray(stats, dtype=float)):
                if len(run) != len(items):
                    raise ValueError(f"{name}, {side}: {len(run)} rows of statistics but {len(items)} items")
                frame = pd.DataFrame(run, columns=[f"s{at}" for at in range(run.shape[1])])
                frame.insert(0, "item", list(map(str, items)))
                frame = frame.assign(headline=name, side=side, seed=seed)
                if clusters is not None:
                    frame["cluster"] = list(map(str, clusters))
                if predictions and side == SIDES[0] and name in predictions:
                    frame["prediction"] = list(map(str, predictions[name][seed]))
                frames.append(frame)
    path = records.folder(notebook) / FILE
    pd.concat(frames, ignore_index=True).to_parquet(path, index=False)
    return path


def read(folder: Path) -> "pd.DataFrame | None":
    """Return what a run kept, or None."""
    import pandas as pd

    path = folder / FILE
    return pd.read_parquet(path) if path.is_file() else None


def score(sums: np.ndarray) -> np.ndarray:
    """Score sums (…, k): hits / items for two, F1 for three, the mean F1 of the classes for more."""
    if sums.shape[-1] == 2:
        return statistics.ratio(sums)
    if sums.shape[-1] % 3:
        raise ValueError(f"{sums.shape[-1]} statistics an item: expected 2, or 3 for every class")
    return statistics.f1(sums.reshape(*sums.shape[:-1], -1, 3)).mean(axis=-1)
