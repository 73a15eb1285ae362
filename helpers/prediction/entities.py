"""Keep an entity tagger with its recipe, from a run of `entities.experiment`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from helpers.entities.experiment import Encoding, Part
from helpers.entities.results import score_tags
from helpers.entities.voting import fit_temperature
from helpers.prediction import folders
from helpers.prediction.cards import Card
from helpers.prediction.recipes import Recipe
from helpers.statistics import Interval


def keep(
    name: str,
    run: str | Path,
    encoding: Encoding,
    parts: Mapping[str, Part],
    *,
    notebook: str,
    data: str,
    level: Interval,
    seeds: Sequence[int],
    verdict: str,
) -> dict[str, Any]:
    """Keep the SWA weights of a run; `level` and `verdict` are of taggers trained alike, with all `seeds`."""
    dev = parts["dev"]
    with np.load(Path(run) / "predictions.npz", allow_pickle=False) as arrays:
        tags = dev.gold._replace(ids=arrays["dev_swa"])
    card = Card(
        notebook=notebook,
        data=data,
        trained_on=len(parts["train"].sentences),
        scored_on=f"{len(dev.sentences):,} dev sentences",
        metric="entity F1",
        own=score_tags(tags, dev).figures()["entity F1"],
        level=level,
        seeds=seeds,
        verdict=verdict,
    )
    return folders.keep(name, run, recipe(run, encoding), card)


def recipe(run: str | Path, encoding: Encoding) -> Recipe:
    """Return the recipe of the SWA weights of a run; the temperature fits its validation sentences."""
    valid = encoding.parts["valid"]
    with np.load(Path(run) / "predictions.npz", allow_pickle=False) as arrays:
        temperature = fit_temperature(arrays["valid_swa_logits"], valid.labels)
    return Recipe(task="entities", labels=valid.types, temperature=temperature)
