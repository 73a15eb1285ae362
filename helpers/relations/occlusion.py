"""What a relation model looks at: take words away, move the markers, change the types, and watch.

Interventions on the input, not attention weights: a weight says where a model could look, an intervention
says whether the answer depends on it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from helpers.corpora.labels import RELATIONS, ordered
from helpers.display import highlight
from helpers.learning import encoders, heads
from helpers.learning.inference import best_device, predict
from helpers.relations.experiment import RelationConfig, encode_rows
from helpers.relations.markers import TYPES, entity_types
from helpers.relations.rewriting import ENTITIES
from helpers.statistics import wilson
from helpers.text.tokenizers import load_tokenizer


def word_effects(predict, row: dict) -> tuple[list[str], np.ndarray, int]:
    """Return the words of a row, how much each one carries, and the predicted label.

    `predict(rows) -> logits (n, labels)`. A word's effect is the fall of the predicted label's probability
    when the word is replaced by blanks, which leaves every offset where it was. Words that hold an entity
    stay and count 0.
    """
    words = [match.span() for match in re.finditer(r"\S+", row["sentence"])]
    held = [any(_touches(word, row[role]) for role in ENTITIES) for word in words]
    variants = [row] + [_blanked(row, word) for word, fixed in zip(words, held, strict=True) if not fixed]
    probs = softmax(predict(variants).astype(float), axis=1)
    label = int(probs[0].argmax())
    effects = np.zeros(len(words))
    effects[~np.array(held)] = probs[0, label] - probs[1:, label]
    return [row["sentence"][start:end] for start, end in words], effects, label


def draw(predict, rows: Sequence[dict], *, names: Sequence[str] = RELATIONS):
    """Draw sentences with each word shaded: blue words carry the prediction, orange ones oppose it."""
    drawn = []
    for row in rows:
        words, effects, label = word_effects(predict, row)
        pair = f"{row['subject_entity']['word']} → {row['object_entity']['word']}"
        drawn.append(highlight.weights(words, effects.tolist(), caption=f"{pair}: {names[label]} ·"))
    return highlight.stack(drawn)


def counterfactuals(predict, rows: Sequence[dict], *, seed: int = 0) -> pd.DataFrame:
    """Change what the markers say and leave the sentence alone: how often does the prediction follow?

    Other pair: the markers move to the entities of another row of the same sentence. Types: both types are
    replaced by other ones. Roles: subject and object change places.
    """
    rng = np.random.default_rng(seed)
    rows = list(rows)
    types = ordered(entity_types(rows), TYPES)
    changes: dict[str, Sequence[dict | None]] = {
        "markers on another pair": _other_pairs(rows),
        "other types": [_retyped(row, types, rng) for row in rows],
        "roles swapped": [_swapped(row) for row in rows],
    }
    before = predict(rows).argmax(axis=1)
    table = []
    for name, changed in changes.items():
        kept = [i for i, row in enumerate(changed) if row is not None]
        if not kept:
            continue
        after = predict([changed[i] for i in kept]).argmax(axis=1)
        share = wilson(int(np.sum(after != before[kept])), len(kept)).scaled(100)
        table.append({"change": name, "rows": len(kept), "prediction changes, %": share})
    return pd.DataFrame(table)


def twins(rows: Sequence[dict], *, number: int) -> list[dict]:
    """Choose rows whose sentence comes again with another pair: only the pair can make the difference."""
    chosen = [row for group in _by_sentence(rows).values() if len(group) > 1 for row in group[:2]]
    return (chosen or list(rows))[:number]


@dataclass(frozen=True)
class Predictor:
    """A trained model with its tokenizer and scheme: rows in, logits (n, 30) out."""

    model: heads.Classifier
    tokenizer: Any
    config: RelationConfig

    def __call__(self, rows: Sequence[dict]) -> np.ndarray:
        scheme, max_length = self.config.scheme, self.config.max_length
        return np.stack(
            predict(self.model, encode_rows(rows, self.tokenizer, scheme=scheme, max_length=max_length))
        )


def load_predictor(folder: str | Path, config: RelationConfig) -> Predictor:
    """Load the model that a run of `config` with `keep_model` left in its folder; on the GPU, if any."""
    saved = Path(folder) / "model"
    with encoders.quiet():  # the tokenizer's loader does not know the type of the model beside it
        model = encoders.load_classifier(saved).eval().to(best_device())
        return Predictor(model, load_tokenizer(str(saved)), config)


def _touches(word: tuple[int, int], entity: dict) -> bool:
    return word[0] <= entity["end_idx"] and entity["start_idx"] < word[1]


def _blanked(row: dict, word: tuple[int, int]) -> dict:
    start, end = word
    sentence = row["sentence"]
    return row | {"sentence": sentence[:start] + " " * (end - start) + sentence[end:]}


def _swapped(row: dict) -> dict:
    return row | {"subject_entity": row["object_entity"], "object_entity": row["subject_entity"]}


def _retyped(row: dict, types: Sequence[str], rng: np.random.Generator) -> dict | None:
    """Give both entities other types; None where there is no other."""
    if len(types) < 2:
        return None
    changed = {}
    for role in ENTITIES:
        others = [name for name in types if name != row[role]["type"]]
        changed[role] = row[role] | {"type": others[rng.integers(len(others))]}
    return row | changed


def _other_pairs(rows: Sequence[dict]) -> list[dict | None]:
    """Give each row the entities of another row of its sentence; None where there is no other pair."""
    by_sentence = _by_sentence(rows)
    return [
        next((other for other in by_sentence[row["sentence"]] if _places(other) != _places(row)), None)
        for row in rows
    ]


def _by_sentence(rows: Sequence[dict]) -> dict[str, list[dict]]:
    groups: dict[str, list[dict]] = {}
    for row in rows:
        groups.setdefault(row["sentence"], []).append(row)
    return groups


def _places(row: dict) -> tuple:
    return tuple((row[role]["start_idx"], row[role]["end_idx"]) for role in ENTITIES)
