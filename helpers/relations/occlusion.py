"""What a relation model looks at: take words away, move the markers, change the types, and watch.

Interventions on the input, not attention weights: a weight says where a model could look, an intervention
says whether the answer depends on it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import softmax

from helpers.corpora.labels import RELATIONS
from helpers.display import highlight
from helpers.relations.experiment import encode_rows
from helpers.statistics import wilson


def word_effects(predict, row: dict) -> tuple[list[str], np.ndarray, int]:
    """Return the words of a row, how much each one carries, and the predicted label.

    `predict(rows) -> logits (n, 30)`. A word's effect is the fall of the predicted label's probability when
    the word is replaced by blanks, which leaves every offset where it was. Words that hold an entity stay
    and count 0.
    """
    words = _words(row["sentence"])
    held = [_touches(word, row["subject_entity"]) or _touches(word, row["object_entity"]) for word in words]
    variants = [row] + [_blanked(row, word) for word, fixed in zip(words, held, strict=True) if not fixed]
    probs = softmax(predict(variants).astype(float), axis=1)
    label = int(probs[0].argmax())
    effects = np.zeros(len(words))
    effects[~np.array(held)] = probs[0, label] - probs[1:, label]
    return [row["sentence"][start:end] for start, end in words], effects, label


def draw(predict, rows: Sequence[dict]):
    """Draw sentences with each word shaded: blue words carry the prediction, orange ones oppose it."""
    drawn = []
    for row in rows:
        words, effects, label = word_effects(predict, row)
        pair = f"{row['subject_entity']['word']} → {row['object_entity']['word']}"
        drawn.append(highlight.weights(words, effects, caption=f"{pair}: {RELATIONS[label]} ·"))
    return highlight.stack(drawn)


def counterfactuals(predict, rows: Sequence[dict], *, seed: int = 0) -> pd.DataFrame:
    """Change what the markers say and leave the sentence alone: how often does the prediction follow?

    Other pair: the markers move to the entities of another row of the same sentence. Types: both types are
    replaced by other ones. Roles: subject and object change places.
    """
    rng = np.random.default_rng(seed)
    rows = list(rows)
    changes = {
        "markers on another pair": _other_pairs(rows),
        "other types": [_retyped(row, rng) for row in rows],
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


class Predictor:
    """A trained model with its tokenizer and scheme: rows in, logits (n, 30) out."""

    def __init__(self, model, tokenizer, *, scheme: str, max_length: int):
        self.model, self.tokenizer = model, tokenizer
        self.scheme, self.max_length = scheme, max_length

    def __call__(self, rows: Sequence[dict]) -> np.ndarray:
        from helpers.learning.loop import predict

        features = encode_rows(_Columns(rows), self.tokenizer, scheme=self.scheme, max_length=self.max_length)
        return np.stack(predict(self.model, features))


class _Columns(list):
    """A list of rows that can be asked for a column, as a Dataset can."""

    def __getitem__(self, key):
        return [row[key] for row in self] if isinstance(key, str) else super().__getitem__(key)


def _words(sentence: str) -> list[tuple[int, int]]:
    import re

    return [match.span() for match in re.finditer(r"\S+", sentence)]


def _touches(word: tuple[int, int], entity: dict) -> bool:
    return word[0] <= entity["end_idx"] and entity["start_idx"] < word[1]


def _blanked(row: dict, word: tuple[int, int]) -> dict:
    start, end = word
    sentence = row["sentence"]
    return row | {"sentence": sentence[:start] + " " * (end - start) + sentence[end:]}


def _swapped(row: dict) -> dict:
    return row | {"subject_entity": row["object_entity"], "object_entity": row["subject_entity"]}


def _retyped(row: dict, rng: np.random.Generator) -> dict:
    from helpers.relations.markers import TYPES

    changed = {}
    for role in ("subject_entity", "object_entity"):
        others = [name for name in TYPES if name != row[role]["type"]]
        changed[role] = row[role] | {"type": others[rng.integers(len(others))]}
    return row | changed


def _other_pairs(rows: Sequence[dict]) -> list[dict | None]:
    """Give each row the entities of another row of its sentence; None where there is no other pair."""
    by_sentence: dict[str, list[dict]] = {}
    for row in rows:
        by_sentence.setdefault(row["sentence"], []).append(row)
    return [
        next((other for other in by_sentence[row["sentence"]] if _places(other) != _places(row)), None)
        for row in rows
    ]


def _places(row: dict) -> tuple:
    return tuple(
        (row[role]["start_idx"], row[role]["end_idx"]) for role in ("subject_entity", "object_entity")
    )
