"""Suspect labels: rows whose label a model that never saw them would not have given, by confident learning.

Out-of-fold probabilities of cheap models go in (structured TF-IDF for relations, n-grams for the type of an
entity, words for posts), and rows come out whose label is doubtful (Northcutt, Jiang & Chuang 2021). Errors
planted in a copy of the labels say how far to believe it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from helpers.corpora.splits import document_groups, random_parts
from helpers.eda import shares
from helpers.multilabel.scores import indicators
from helpers.relations.baselines import structured_tfidf
from helpers.relations.constraints import type_pairs
from helpers.statistics import Interval

if TYPE_CHECKING:
    from datasets import Dataset

PARTS = 3  # models that score what they did not learn
CONTEXT = 8  # characters on either side of an entity
Predict = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Rows to learn from and rows to score, as positions → probabilities (rows to score, classes)."""


class Checked(NamedTuple):
    """One kind of label, checked: the suspects, and how many of the planted errors are among them."""

    suspects: pd.DataFrame  # row, given, suggested, margin (most doubtful first), planted
    rows: int
    planted: int
    precision: Interval  # percent of the suspects that were planted; the data's own errors count against it
    recall: Interval  # percent of the planted errors that are suspects

    def own(self) -> pd.DataFrame:
        """Return the suspects that nobody planted."""
        return self.suspects[~self.suspects["planted"]].reset_index(drop=True)


def confident_errors(labels: np.ndarray, probs: np.ndarray) -> pd.DataFrame:
    """Return the rows off the diagonal of the confident joint: `row`, `given`, `suggested`, `margin`.

    A row is confidently of class j where its probability of j reaches the mean over the rows labelled j; of
    several such classes the likeliest counts. `margin` is the probability of the given label minus that of
    the suggested one; the most doubtful row comes first. `labels: (n,)`, `probs: (n, classes)` out of fold.
    """
    classes = np.arange(probs.shape[1])
    known = np.isin(classes, labels)
    bars = np.array([probs[labels == j, j].mean() if known[j] else np.inf for j in classes])
    confident = np.where(probs >= bars, probs, -1.0)
    suggested = confident.argmax(axis=1)
    rows = np.flatnonzero((confident.max(axis=1) >= 0) & (suggested != labels))
    margin = probs[rows, labels[rows]] - probs[rows, suggested[rows]]
    frame = pd.DataFrame({"row": rows, "given": labels[rows], "suggested": suggested[rows], "margin": margin})
    return frame.sort_values("margin", kind="stable", ignore_index=True)


def out_of_fold(predict: Predict, groups: np.ndarray) -> np.ndarray:
    """Score every row by a model that learned from other groups: (n, classes)."""
    names, group = np.unique(groups, return_inverse=True)
    rows, found = [], []
    for outside, inside in random_parts(len(names), PARTS):
        learn, score = (np.flatnonzero(np.isin(group, part)) for part in (outside, inside))
        rows.append(score)
        found.append(predict(learn, score))
    return np.concatenate(found)[np.argsort(np.concatenate(rows))]


def plant(labels: np.ndarray, alike: Sequence, *, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Give a share of the rows the label of another row with the same `alike`: labels, and which are wrong.

    So a planted error is one that could be: a relation between the same types, say. Where all rows that are
    alike have one label, nothing is planted.
    """
    rng = np.random.default_rng(seed)
    changed, kinds = labels.copy(), pd.factorize(pd.Series(list(alike)))[0]
    for row in rng.permutation(len(labels))[: round(share * len(labels))]:
        others = labels[(kinds == kinds[row]) & (labels != labels[row])]
        if others.size:
            changed[row] = rng.choice(others)
    return changed, changed != labels


def relations(rows: "Dataset", *, share: float, seed: int = 0) -> Checked:
    """Check relation labels by structured TF-IDF; sentences stay in one fold."""
    labels, wrong = plant(np.array(rows["label"][:]), type_pairs(rows), share=share, seed=seed)
    copy = rows.remove_columns("label").add_column("label", labels, feature=rows.features["label"])
    probs = out_of_fold(
        lambda learn, score: structured_tfidf(copy.select(learn), copy.select(score)), document_groups(rows)
    )
    return _checked(_named(confident_errors(labels, probs), rows.features["label"].names, wrong), wrong)


def entities(sentences: Sequence[str], mentions: pd.DataFrame, *, share: float, seed: int = 0) -> Checked:
    """Check the types of entities by the n-grams of their words and of what stands beside them."""
    names = sorted(set(mentions["type"]))
    true = mentions["type"].map(names.index).to_numpy()
    labels, wrong = plant(true, [""] * len(true), share=share, seed=seed)
    words = []
    for row, start, end in mentions[["row", "start", "end"]].itertuples(index=False):
        text = sentences[row]
        left, right = text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]
        words.append([*_ngrams("w", text[start:end]), *_ngrams("l", left), *_ngrams("r", right)])
    flags = labels == np.arange(len(names))[:, None]
    probs = out_of_fold(partial(_probabilities, words, flags), mentions["row"].to_numpy())
    probs /= np.maximum(probs.sum(axis=1, keepdims=True), 1e-12)
    return _checked(_named(confident_errors(labels, probs), names, wrong), wrong)


def posts(dataset: "Dataset", *, share: float, seed: int = 0) -> Checked:
    """Check every technique of every post by words; planted are as many false labels as missing ones."""
    names = dataset.features["labels"].feature.names
    true = indicators(dataset["techniques"], names).T.astype(bool)  # (classes, posts)
    rng, labels = np.random.default_rng(seed), true.copy()
    for own in labels:
        count = round(share * own.sum())
        for value in (True, False):
            own[rng.permutation(np.flatnonzero(own == value))[:count]] = not value
    words = [_stems(text) for text in dataset["content"]]
    probs = out_of_fold(partial(_probabilities, words, labels), document_groups(dataset)).T
    found = [
        _named(confident_errors(given.astype(int), np.column_stack([1 - own, own])), ["–", name], wrong)
        for name, own, given, wrong in zip(names, probs, labels, labels != true, strict=True)
    ]
    flat = pd.concat(found).sort_values("margin", kind="stable", ignore_index=True)
    return _checked(flat, labels != true)


def _named(suspects: pd.DataFrame, names: Sequence[str], wrong: np.ndarray) -> pd.DataFrame:
    """Give the labels of suspects their names, and say which of them are planted."""
    told = {key: [names[label] for label in suspects[key]] for key in ("given", "suggested")}
    return suspects.assign(**told, planted=wrong[suspects["row"]])


def _checked(suspects: pd.DataFrame, wrong: np.ndarray) -> Checked:
    hits, planted = suspects["planted"].to_numpy(dtype=bool), int(wrong.sum())
    nothing = Interval(0.0, 0.0, 100.0)
    found = np.arange(planted) < hits.sum()  # which of the planted errors does not matter here
    precision = shares.percentage(hits) if hits.size else nothing
    recall = shares.percentage(found) if planted else nothing
    return Checked(suspects, wrong.size, planted, precision, recall)


def _stems(text: str) -> list[str]:
    """Words, their beginnings and their ends: cheaper than n-grams where texts are long."""
    return [part for word in text.lower().split() for part in (word, f"{word[:5]}-", f"-{word[-3:]}")]


def _ngrams(side: str, text: str) -> list[str]:
    padded = f" {text} "
    return [side + padded[i : i + n] for n in (1, 2, 3) for i in range(len(padded) - n + 1)]


def _probabilities(
    words: Sequence[list[str]], labels: np.ndarray, learn: np.ndarray, score: np.ndarray
) -> np.ndarray:
    """Fit logistic regression, one class against the rest each: probabilities (rows to score, classes)."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import SGDClassifier

    vectorizer = TfidfVectorizer(analyzer=lambda own: own, min_df=2, sublinear_tf=True, dtype=np.float32)
    known = vectorizer.fit_transform([words[row] for row in learn])
    asked = vectorizer.transform([words[row] for row in score])
    found = np.zeros((len(score), len(labels)))
    for number, own in enumerate(labels):
        if 0 < own[learn].sum() < len(learn):
            model = SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=8, tol=None, random_state=0)
            found[:, number] = model.fit(known, own[learn]).predict_proba(asked)[:, 1]
    return found
