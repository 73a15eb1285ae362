"""Model folders: what a notebook keeps beside its metrics.json, loaded again, and exported for others.

    models/<name>/   model.safetensors  config.json        weights, head and label names
                     tokenizer.json …                      the tokenizer, markers registered
                     nunchi.json                           the recipe: see `recipes`
                     README.md                             the model card: see `cards`

Only safetensors are read, and no code from a folder is run.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from helpers import records
from helpers.prediction import recipes
from helpers.prediction.cards import Card
from helpers.prediction.recipes import Recipe

WEIGHTS, CONFIG = "model.safetensors", "config.json"


class KeptModel(NamedTuple):
    """A model ready for use: alone, or one of an ensemble."""

    model: Any
    tokenizer: Any
    recipe: Recipe
    name: str


def keep(name: str, run: str | Path, recipe: Recipe, card: Card) -> dict[str, Any]:
    """Keep the model of a run beside the notebook's record; return a row to show and to record."""
    if not (Path(run) / "model").is_dir():
        raise ValueError(f"the run {run} kept no model; train it with keep_model=True")
    slug = re.sub(r"[^\w.-]+", "-", name).strip("-")
    target = records.folder(card.notebook) / "models" / slug
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(Path(run) / "model", target)
    _name_labels(target, recipe)
    recipe.write(target)
    (target / "README.md").write_text(card.text(recipe, name=slug), encoding="utf-8")
    return {"folder": f"models/{slug}", "task": recipe.task, "metric": card.metric, "score": card.own}


def load(folder: str | Path) -> KeptModel:
    """Load a model's folder."""
    from helpers.learning.encoders import load_classifier, quiet
    from helpers.text.tokenizers import load_tokenizer

    place = Path(folder)
    if not place.is_dir():
        raise ValueError(f"no such folder: {place}")
    recipe = recipes.read(place)
    if not (place / WEIGHTS).is_file():
        raise ValueError(f"{place} has no {WEIGHTS}; weights in another form are not read")
    with quiet():  # the tokenizer's loader does not know the type of the model beside it
        return KeptModel(load_classifier(place).eval(), load_tokenizer(str(place)), recipe, place.name)


def export(folder: str | Path, target: Path) -> str:
    """Write a folder that plain transformers loads without this package; return the class that loads it.

    A tagger on a transformers encoder becomes a model for AutoModelForTokenClassification with the same
    logits; of other heads, which transformers does not have, the encoder alone is written (AutoModel).
    """
    member = load(folder)
    encoder = member.model.encoder
    if encoder.config.model_type.startswith("nunchi"):
        raise ValueError(
            f"{folder}: transformers has no {encoder.config.model_type}; import helpers loads it"
        )
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"{target} is already there and not empty; name a new folder")
    plain = _token_classifier(member.model) if member.recipe.task in ("entities", "spans") else encoder
    plain.save_pretrained(target)
    member.tokenizer.save_pretrained(target)
    return "AutoModel" if plain is encoder else "AutoModelForTokenClassification"


def _token_classifier(model: Any) -> Any:
    """Put encoder and head into the class that transformers has for them: a dropout and a linear layer."""
    from transformers import AutoModelForTokenClassification

    config = model.encoder.config
    config.update({"id2label": model.config.id2label, "label2id": model.config.label2id})
    plain = AutoModelForTokenClassification.from_config(config)
    getattr(plain, plain.base_model_prefix).load_state_dict(model.encoder.state_dict())
    plain.classifier.load_state_dict(model.head[-1].state_dict())
    return plain.eval()


def _name_labels(folder: Path, recipe: Recipe) -> None:
    """Write the classes' names into the config of a network that was trained with numbers."""
    if recipe.task == "multilabel":
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        config["id2label"] = {str(i): label for i, label in enumerate(recipe.labels)}
        config["label2id"] = {label: i for i, label in enumerate(recipe.labels)}
        records.write_json(folder / CONFIG, config)
