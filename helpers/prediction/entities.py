"""Keep an entity tagger with its recipe, from a run of `entities.experiment`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from helpers.entities.experiment import Encoding, Part
from helpers.entities.results import score_tags
from helpers.entities.voting import fit_temperature
from helpers.prediction import folders
from helpers.prediction.cards import Card
from helpers.prediction.recipes import Recipe


def keep(name: str, run: str | Path, encoding: Encoding, dev: Part, *, card: Card) -> dict[str, Any]:
    """Keep the SWA weights of a run, scored on dev."""
    with np.load(Path(run) / "predictions.npz", allow_pickle=False) as arrays:
        tags = dev.gold._replace(ids=arrays["dev_swa"])
    own = score_tags(tags, dev).figures()["entity F1"]
    return folders.keep(name, run, recipe(run, encoding), replace(card, own=own))


def recipe(run: str | Path, encoding: Encoding) -> Recipe:
    """Return the recipe of the SWA weights of a run; the temperature fits its validation sentences."""
    valid = encoding.parts["valid"]
    with np.load(Path(run) / "predictions.npz", allow_pickle=False) as arrays:
        temperature = fit_temperature(arrays["valid_swa_logits"], valid.labels)
    return Recipe(task="entities", labels=valid.types, temperature=temperature)
