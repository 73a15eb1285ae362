"""Relation baselines that need no neural network: what a model must beat to have learned anything.

Each takes training rows and rows to score, and returns probabilities (n, labels). They differ in what they
may look at: nothing, the two entity types, the entities, the sentence, or the sentence as seen from them.
"""

from collections.abc import Callable, Iterable

import numpy as np
from datasets import Dataset

from helpers.corpora.splits import random_parts
from helpers.relations.constraints import log_prior, type_pairs
from helpers.relations.imbalance import label_shares

Baseline = Callable[[Dataset, Dataset], np.ndarray]
NEAR = 10  # characters of context on either side
FAR = 20  # characters kept at either end of a long text between the entities


def majority(train: Dataset, rows: Dataset) -> np.ndarray:
    """Give every row the label shares of training: the prediction is always no_relation."""
    return np.tile(label_shares(train["label"][:], smoothing=0, names=_names(train)), (len(rows), 1))


def type_pair(train: Dataset, rows: Dataset) -> np.ndarray:
    """Look the two entity types up: the label shares of that pair in training, no text at all."""
    table = log_prior(type_pairs(train), train["label"][:], smoothing=1e-9, names=_names(train))
    seen = np.array([pair in table.biases for pair in type_pairs(rows)])
    return np.where(seen[:, None], np.exp(table.bias(type_pairs(rows))), majority(train, rows))


def entities_tfidf(train: Dataset, rows: Dataset) -> np.ndarray:
    """Fit logistic regression on the entities' words and types, without the sentence."""
    return _logistic(_entity_features, train, rows)


def sentence_tfidf(train: Dataset, rows: Dataset) -> np.ndarray:
    """Fit logistic regression on the sentence alone, which is all that the published input held."""
    return _logistic(_sentence_features, train, rows)


def structured_tfidf(train: Dataset, rows: Dataset) -> np.ndarray:
    """Fit logistic regression on types, entity words, the text between the entities and around them."""
    return _logistic(_structured_features, train, rows)


BASELINES: dict[str, Baseline] = {
    "majority": majority,
    "type pair": type_pair,
    "entities": entities_tfidf,
    "sentence": sentence_tfidf,
    "structured": structured_tfidf,
}


def cross_fitted(baseline: Baseline, rows: Dataset) -> np.ndarray:
    """Score each third of the rows by a baseline that was trained on the other two: (n, labels)."""
    probs = np.empty((len(rows), len(_names(rows))))
    for outside, inside in random_parts(len(rows), 3):
        probs[inside] = baseline(rows.select(outside), rows.select(inside))
    return probs


def _names(rows: Dataset) -> list[str]:
    return rows.features["label"].names


def _logistic(features: Callable[[dict], list[str]], train: Dataset, rows: Dataset) -> np.ndarray:
    """Fit one-vs-rest logistic regression by stochastic gradient, five times faster than L-BFGS here."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import SGDClassifier

    vectorizer = TfidfVectorizer(analyzer=features, min_df=2, sublinear_tf=True, dtype=np.float32)
    model = SGDClassifier(loss="log_loss", alpha=3e-6, max_iter=8, tol=None, random_state=0)
    model.fit(vectorizer.fit_transform(train), train["label"][:])
    probs = np.zeros((len(rows), len(_names(train))))
    probs[:, model.classes_] = model.predict_proba(vectorizer.transform(rows))
    return probs


def _sentence_features(row: dict) -> list[str]:
    return list(_ngrams("", row["sentence"], longest=3))


def _entity_features(row: dict) -> list[str]:
    subject, object = row["subject_entity"], row["object_entity"]
    return [
        f"{subject['type']}-{object['type']}",
        f"S:{subject['word']}",
        f"O:{object['word']}",
        *_ngrams("s:", subject["word"], longest=2),
        *_ngrams("o:", object["word"], longest=2),
    ]


def _structured_features(row: dict) -> list[str]:
    """Entity features, and n-grams that know their place: left, between or right, and who comes first."""
    sentence, subject, object = row["sentence"], row["subject_entity"], row["object_entity"]
    order = "<" if subject["start_idx"] < object["start_idx"] else ">"
    first, second = (subject, object) if order == "<" else (object, subject)
    pair = f"{subject['type']}{order}{object['type']}"
    between = sentence[first["end_idx"] + 1 : second["start_idx"]]
    if len(between) > 2 * FAR:
        between = f"{between[:FAR]} {between[-FAR:]}"
    left = sentence[max(0, first["start_idx"] - NEAR) : first["start_idx"]]
    right = sentence[second["end_idx"] + 1 : second["end_idx"] + 1 + NEAR]
    return [
        *_entity_features(row),
        pair,
        f"gap:{min(len(between) // 3, 15)}",
        *(f"{pair}|{word}" for word in between.split()),
        *_ngrams(f"b{order}", between, longest=3),
        *_ngrams(f"l{order}", left, longest=3),
        *_ngrams(f"r{order}", right, longest=3),
    ]


def _ngrams(prefix: str, text: str, *, longest: int) -> Iterable[str]:
    padded = f" {text} "
    return (prefix + padded[i : i + n] for n in range(1, longest + 1) for i in range(len(padded) - n + 1))
