"""Keep networks for the classes and the trigger spans of posts, with their recipes.

A kept network was trained without folds 0 and 1: fold 1 fits its thresholds and curves, fold 0 scores it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.multilabel import results
from helpers.multilabel.calibration import platt_curve
from helpers.multilabel.experiment import Network
from helpers.multilabel.results import Posts
from helpers.multilabel.scores import macro_f1, points_of_counts
from helpers.multilabel.spans import char_counts, characters
from helpers.multilabel.thresholds import best_f1_threshold
from helpers.prediction import folders
from helpers.prediction.cards import Card
from helpers.prediction.recipes import Recipe

APART = (0, 1)  # folds that a kept network has not seen: its score is from the first


def keep_network(
    name: str, network: Network, posts: Posts, assigned: NDArray, *, rule: Callable, card: Card
) -> dict[str, Any]:
    """Keep the run of a network with the first seed of the card; a sweep that is done is not run again."""
    seed = card.seeds[0]
    scores = results.score_posts({name: network}, posts, assigned, left_out=[APART], seed=seed)[name][APART]
    (run,) = results.label_runs([(network, APART, seed)], posts, assigned)
    test, tuning = (assigned == fold for fold in APART)
    reading = recipe(network, posts.classes, posts.labels[tuning], scores[tuning], rule=rule)
    own = 100 * macro_f1(posts.labels[test], scores[test] >= np.array(reading.thresholds))
    return folders.keep(name, run, reading, replace(card, own=own))


def keep_tagger(
    name: str, network: Network, posts: Posts, assigned: NDArray, *, card: Card
) -> dict[str, Any]:
    """Do the same with a tagger of trigger spans."""
    (run,) = results.span_runs([(network, APART, card.seeds[0])], posts, assigned)
    scores = np.load(run / "characters.npy", allow_pickle=False)
    post, trigger = characters(posts.texts, posts.spans, np.flatnonzero(np.isin(assigned, APART)))
    test, tuning = (assigned[post] == fold for fold in APART)
    reading = span_recipe(network, trigger[tuning], scores[tuning])
    counts = char_counts(trigger[test], scores[test] >= reading.thresholds[0], post=post[test])
    return folders.keep(name, run, reading, replace(card, own=float(points_of_counts(counts.sum(axis=0)))))


def recipe(
    network: Network, classes: Sequence[str], labels: NDArray, scores: NDArray, *, rule: Callable
) -> Recipe:
    """Return the recipe of a network of `multilabel.experiment`.

    `labels, scores: (posts, classes)` of posts that it was not trained on fit curves and, by `rule`,
    thresholds.
    """
    return Recipe(
        task="multilabel",
        labels=tuple(classes),
        max_tokens=network.max_tokens,
        prompt=network.prompt,
        thresholds=tuple(float(cut) for cut in rule(labels, scores)),
        curves=tuple(platt_curve(y, p) for y, p in zip(labels.T, scores.T, strict=True)),
    )


def span_recipe(network: Network, trigger: NDArray, scores: NDArray) -> Recipe:
    """Return the recipe of a tagger of `multilabel.span_experiment`.

    `trigger, scores: (characters,)` of posts that it was not trained on; the threshold has the highest F1.
    """
    return Recipe(
        task="spans",
        labels=("trigger",),
        max_tokens=network.max_tokens,
        thresholds=(float(best_f1_threshold(trigger, scores)[0]),),
        curves=(platt_curve(trigger, scores),),
    )
