"""Suspect labels: rows whose label a model that never saw them would not have given, by confident learning.

Out-of-fold probabilities of cheap models go in (structured TF-IDF for relations, n-grams for the type of an
entity, words for posts), and rows come out whose label is doubtful (Northcutt, Jiang & Chuang 2021). Errors
planted in a copy of the labels say how far to believe it.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from helpers.corpora.splits import document_groups, random_parts
from helpers.eda import shares
from helpers.multilabel.scores import indicators
from helpers.relations.baselines import structured_tfidf
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
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for outside, inside in random_parts(len(names), PARTS):
        learn, score = (np.flatnonzero(np.isin(group, part)) for part in (outside, inside))
        found.append((score, predict(learn, score)))
    probs = np.empty((len(group), found[0][1].shape[1]))
    for score, own in found:
        probs[score] = own
    return probs


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
    kinds = [
        f"{a['type']}→{b['type']}" for a, b in zip(rows["subject_entity"], rows["object_entity"], strict=True)
    ]
    labels, wrong = plant(np.array(rows["label"][:]), kinds, share=share, seed=seed)
    copy = rows.remove_columns("label").add_column("label", labels, feature=rows.features["label"])
    probs = out_of_fold(
        lambda learn, score: structured_tfidf(copy.select(learn), copy.select(score)), document_groups(rows)
    )
    return _checked(confident_errors(labels, probs), wrong, rows.features["label"].names)


def entities(sentences: Sequence[str], mentions: pd.DataFrame, *, share: float, seed: int = 0) -> Checked:
    """Check the types of entities by the n-grams of their words and of what stands beside them."""
    names = sorted(set(mentions["type"]))
    true = mentions["type"].map(names.index).to_numpy()
    labels, wrong = plant(true, [""] * len(true), share=share, seed=seed)
    words = []
    for row, start, end in mentions[["row", "start", "end"]].itertuples(index=False):
        text = sentences[row]
        parts = {
            "w": text[start:end],
            "l": text[max(0, start - CONTEXT) : start],
            "r": text[end : end + CONTEXT],
        }
        words.append([side + gram for side, part in parts.items() for gram in _ngrams(part)])
    probs = out_of_fold(
        lambda learn, score: _probabilities(words, labels == np.arange(len(names))[:, None], learn, score).T,
        mentions["row"].to_numpy(),
    )
    probs /= np.maximum(probs.sum(axis=1, keepdims=True), 1e-12)
    return _checked(confident_errors(labels, probs), wrong, names)


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
    probs = out_of_fold(
        lambda learn, score: _probabilities(words, labels, learn, score).T, document_groups(dataset)
    ).T
    found = []
    for name, own, given in zip(names, probs, labels, strict=True):
        one = confident_errors(given.astype(int), np.column_stack([1 - own, own]))
        told = {"given": ["–", name], "suggested": ["–", name]}
        found.append(one.assign(**{key: one[key].map(dict(enumerate(words))) for key, words in told.items()}))
    flat = pd.concat(found, keys=range(len(names)), names=["class", None]).reset_index("class")
    wrong = (true != labels)[flat["class"], flat["row"]]
    flat = flat.drop(columns="class").assign(planted=wrong).sort_values("margin", kind="stable")
    return _summary(flat.reset_index(drop=True), true.size, int((true != labels).sum()))


def _checked(suspects: pd.DataFrame, wrong: np.ndarray, names: Sequence[str]) -> Checked:
    told = {key: [names[label] for label in suspects[key]] for key in ("given", "suggested")}
    return _summary(suspects.assign(**told, planted=wrong[suspects["row"]]), len(wrong), int(wrong.sum()))


def _summary(suspects: pd.DataFrame, rows: int, planted: int) -> Checked:
    hits = suspects["planted"].to_numpy(dtype=bool)
    nothing = Interval(0.0, 0.0, 100.0)
    found = np.arange(planted) < hits.sum()  # which of the planted errors does not matter here
    precision = shares.percentage(hits) if hits.size else nothing
    return Checked(suspects, rows, planted, precision, shares.percentage(found) if planted else nothing)


def _stems(text: str) -> list[str]:
    """Words, their beginnings and their ends: cheaper than n-grams where texts are long."""
    return [part for word in text.lower().split() for part in (word, f"{word[:5]}-", f"-{word[-3:]}")]


def _ngrams(text: str, longest: int = 3) -> list[str]:
    padded = f" {text} "
    return [padded[i : i + n] for n in range(1, longest + 1) for i in range(len(padded) - n + 1)]


def _probabilities(
    words: Sequence[list[str]], labels: np.ndarray, learn: np.ndarray, score: np.ndarray
) -> np.ndarray:
    """Fit logistic regression, one class against the rest each: probabilities (classes, rows to score)."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import SGDClassifier

    vectorizer = TfidfVectorizer(analyzer=lambda own: own, min_df=2, sublinear_tf=True, dtype=np.float32)
    known = vectorizer.fit_transform([words[row] for row in learn])
    asked = vectorizer.transform([words[row] for row in score])
    found = np.zeros((len(labels), len(score)))
    for number, own in enumerate(labels):
        if 0 < own[learn].sum() < len(learn):
            model = SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=8, tol=None, random_state=0)
            found[number] = model.fit(known, own[learn]).predict_proba(asked)[:, 1]
    return found
