"""Keep a relation classifier with its recipe, from a run of `relations.experiment`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from helpers.corpora import none_label
from helpers.corpora.labels import RELATIONS, ordered
from helpers.entities.voting import fit_temperature
from helpers.prediction import folders
from helpers.prediction.cards import Card
from helpers.prediction.recipes import Recipe
from helpers.relations import markers
from helpers.relations.experiment import RelationConfig, Splits, load_logits
from helpers.relations.scores import micro_f1


def keep(name: str, run: str | Path, config: RelationConfig, splits: Splits, *, card: Card) -> dict[str, Any]:
    """Keep the model of a run, scored on dev."""
    own = micro_f1(splits.dev["label"][:], load_logits(run).argmax(axis=1))
    reading = recipe(run, config, splits, data=card.data)
    return folders.keep(name, run, reading, replace(card, own=own))


def recipe(run: str | Path, config: RelationConfig, splits: Splits, *, data: str) -> Recipe:
    """Return the recipe of a run of `relations.experiment`; the temperature fits its validation rows."""
    if config.constraint != "none":
        raise ValueError(
            f"a model trained with the constraint {config.constraint!r} needs it in use; keep another"
        )
    types = markers.entity_types(splits.train, splits.valid, splits.dev)
    logits, labels = load_logits(run, "valid"), np.array(splits.valid["label"][:])
    return Recipe(
        task="relations",
        labels=tuple(splits.labels),
        scheme=config.scheme,
        types=ordered(types, markers.TYPES),
        none=RELATIONS[0] if data in ("sample", "hub") else none_label(data),
        max_tokens=config.max_length,
        temperature=fit_temperature(logits, labels),
    )
