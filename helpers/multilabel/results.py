"""Posts, and what models trained on them say: probabilities per post and per character, from a sweep.

Every training is computed once and kept, so an interrupted run goes on and every comparison is paired later.
What a training does is in `experiment` and `span_experiment`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from helpers import sweeps
from helpers.multilabel.experiment import Model, Network, score_left_out
from helpers.multilabel.scores import indicators
from helpers.multilabel.span_experiment import tag_left_out


class Posts(NamedTuple):
    """A corpus in columns, one entry per post."""

    ids: list[str]
    texts: list[str]
    languages: list[str]
    spans: list[list[tuple[int, int]]]
    labels: NDArray  # (posts, classes) of 0/1
    classes: tuple[str, ...]


def posts_of(dataset, classes: Sequence[str] | None = None) -> Posts:
    """Take the columns of a `corpora.load_techniques` data set; `classes` are its own unless given."""
    classes = dataset.features["labels"].feature.names if classes is None else classes
    return Posts(
        ids=list(dataset["id"]),
        texts=list(dataset["content"]),
        languages=list(dataset["lang"]),
        spans=[[(start, end) for start, end in spans] for spans in dataset["trigger_words"]],
        labels=indicators(dataset["techniques"], classes),
        classes=tuple(classes),
    )


Scores = dict[tuple[int, ...], NDArray]
"""For each set of folds left out of a training, probabilities (posts, classes), NaN for posts it learned."""


def score_posts(
    models: Mapping[str, Model],
    posts: Posts,
    assigned: NDArray,
    *,
    left_out: Sequence[Sequence[int]],
    seed: int = 0,
) -> dict[str, Scores]:
    """Train each model once per entry of `left_out`, without those folds; return what it says of them."""
    jobs = [(name, tuple(folds)) for name in models for folds in left_out]
    folders = label_runs([(models[name], folds, seed) for name, folds in jobs], posts, assigned)
    scores: dict[str, Scores] = {name: {} for name in models}
    for (name, folds), folder in zip(jobs, folders, strict=True):
        own = np.full(posts.labels.shape, np.nan)
        own[np.isin(assigned, folds)] = np.load(folder / "scores.npy", allow_pickle=False)
        scores[name][folds] = own
    return scores


def score_characters(
    taggers: Mapping[str, Network], posts: Posts, assigned: NDArray, *, without: Sequence[int], seed: int = 0
) -> dict[str, NDArray]:
    """Train each tagger without some folds; return one probability per character of their posts, in order."""
    folders = span_runs([(tagger, without, seed) for tagger in taggers.values()], posts, assigned)
    files = [folder / "characters.npy" for folder in folders]
    return {name: np.load(file, allow_pickle=False) for name, file in zip(taggers, files, strict=True)}


Run = tuple[Model, Sequence[int], int]
"""A training: the model, the folds that it leaves out, its seed."""


def label_runs(runs: Sequence[Run], posts: Posts, assigned: NDArray) -> list[Path]:
    """Train what is not trained yet; return the folder of each run, with the model if it is kept."""
    frame = sweeps.sweep(
        score_left_out,
        [
            {"kind": type(model).__name__, **asdict(model), "without": list(folds), "seed": seed}
            for model, folds, seed in runs
        ],
        name="techniques",
        fingerprint=sweeps.fingerprint(posts.texts, posts.labels.tolist(), assigned.tolist()),
        shared={"texts": posts.texts, "labels": posts.labels, "assigned": assigned},
    )
    return [Path(folder) for folder in frame["folder"]]


def span_runs(runs: Sequence[Run], posts: Posts, assigned: NDArray) -> list[Path]:
    """Do the same for the taggers of trigger spans."""
    frame = sweeps.sweep(
        tag_left_out,
        [{**asdict(tagger), "without": list(folds), "seed": seed} for tagger, folds, seed in runs],
        name="trigger-spans",
        fingerprint=sweeps.fingerprint(posts.texts, posts.spans, assigned.tolist()),
        shared={"texts": posts.texts, "spans": posts.spans, "assigned": assigned},
    )
    return [Path(folder) for folder in frame["folder"]]
