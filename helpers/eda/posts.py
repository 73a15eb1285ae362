"""Posts: rates of the techniques, which ones come together, languages by fold, the state of the spans."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers.eda import shares
from helpers.multilabel import folds
from helpers.multilabel.scores import indicators
from helpers.statistics import Interval, estimate

if TYPE_CHECKING:
    from datasets import Dataset


def technique_counts(posts: "Dataset") -> pd.Series:
    """Return the number of posts of each technique."""
    return pd.Series(_labels(posts).sum(axis=0), index=_names(posts))


def lift(posts: "Dataset") -> pd.DataFrame:
    """Return P(column and row) / (P(column) P(row)) for pairs of techniques; the diagonal is empty.

    1 means independent, 2 twice as often together as chance would have it.
    """
    return pd.DataFrame(_lift(_labels(posts).astype(float)), index=_names(posts), columns=_names(posts))


def strongest_pair(posts: "Dataset", *, at_least: int, seed: int = 0) -> tuple[str, str, Interval]:
    """Return two techniques that come together most, and their lift.

    The pair is the one of the highest lift, met in `at_least` posts, in a random half of the posts; its lift
    is taken from the other half, because the largest of 45 looks larger than it is.
    """
    labels = _labels(posts).astype(float)
    choosing = np.random.default_rng(seed).permutation(np.arange(len(labels)) % 2 == 0)
    table = _lift(labels[choosing])
    table[labels[choosing].T @ labels[choosing] < at_least] = np.nan
    if np.isnan(table).all():
        raise ValueError(f"no two techniques meet in {at_least} posts; lower at_least, or load more posts")
    names = _names(posts)
    first, second = divmod(int(np.nanargmax(table)), len(names))
    a, b = labels[~choosing, first], labels[~choosing, second]
    stats = np.column_stack([a * b, a, b, np.ones(len(a))])
    return names[first], names[second], estimate(stats, _lift_of_sums).interval()


def assign_folds(posts: "Dataset", *, number: int, seed: int) -> dict[str, np.ndarray]:
    """Return three ways to cut the posts: the winners' (labels), labels and language, and at random."""
    labels = _labels(posts)
    return {
        "random": folds.random_assign(len(labels), folds=number, seed=seed),
        "legacy: labels": folds.assign(labels, folds=number, seed=seed),
        "labels + language": folds.assign(labels, folds=number, seed=seed, by=posts["lang"][:]),
    }


def fold_balance(posts: "Dataset", assigned: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return the worst departure of any fold from the whole, per way to cut (see `folds.diagnose`)."""
    labels = _labels(posts)
    sizes = [len(text) for text in posts["content"]]
    return folds.diagnose(dict(assigned), labels=labels, languages=posts["lang"][:], lengths=sizes)


def random_drifts(posts: "Dataset", *, number: int, cuts: int = 200) -> np.ndarray:
    """Return, per random cut, the worst departure of any fold's language in points: what chance does."""
    spoken = pd.get_dummies(pd.Series(list(posts["lang"]))).to_numpy()
    random = (folds.random_assign(len(spoken), folds=number, seed=seed) for seed in range(cuts))
    return np.array([100 * folds.spread(spoken, assigned).max() for assigned in random])


def fold_languages(posts: "Dataset", assigned: Mapping[str, np.ndarray], language: str) -> pd.DataFrame:
    """Return the share of one language per fold and way to cut, in percent: `split`, `fold`, `share`."""
    spoken = np.array(posts["lang"]) == language
    return pd.DataFrame(
        {"split": name, "fold": fold, "share": shares.percentage(spoken[parts == fold])}
        for name, parts in assigned.items()
        for fold in np.unique(parts)
    )


def overlapping(posts: "Dataset") -> int:
    """Count the posts in which two trigger spans share a character."""
    return sum(any(a[1] > b[0] for a, b in pairwise(sorted(spans))) for spans in posts["trigger_words"])


def _lift(labels: np.ndarray) -> np.ndarray:
    rates = labels.mean(axis=0)
    expected = np.outer(rates, rates)
    ratio = np.divide(
        labels.T @ labels / len(labels), expected, out=np.full(expected.shape, np.nan), where=expected > 0
    )
    np.fill_diagonal(ratio, np.nan)
    return ratio


def _lift_of_sums(sums: np.ndarray) -> np.ndarray:
    """Turn sums (…, 4) of both, first, second and all into lift (…); 0 where one of them never occurs."""
    both, first, second, rows = np.moveaxis(sums, -1, 0)
    return np.divide(both * rows, first * second, out=np.zeros_like(both), where=first * second > 0)


def _labels(posts: "Dataset") -> np.ndarray:
    return indicators(posts["techniques"], _names(posts))


def _names(posts: "Dataset") -> list[str]:
    return posts.features["labels"].feature.names
