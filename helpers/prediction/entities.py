"""The recipe of an entity tagger, from a run of `entities.experiment`."""

from helpers.entities.experiment import Encoding
from helpers.prediction.recipes import Recipe


def recipe(encoding: Encoding, *, temperature: float) -> Recipe:
    """Return the recipe of a tagger of `entities.experiment` for one of its encodings."""
    return Recipe(task="entities", labels=encoding.parts["train"].types, temperature=temperature)
