"""Posts: rates of the techniques, which ones come together, languages by fold, the state of the spans."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers.multilabel import folds
from helpers.multilabel.scores import indicators
from helpers.statistics import Interval, bootstrap, wilson

if TYPE_CHECKING:
    from datasets import Dataset


def technique_counts(posts: "Dataset") -> pd.Series:
    """Return the number of posts of each technique."""
    return pd.Series(_labels(posts).sum(axis=0), index=_names(posts))


def lift(posts: "Dataset") -> pd.DataFrame:
    """Return P(column and row) / (P(column) P(row)) for pairs of techniques; the diagonal is empty.

    1 means independent, 2 twice as often together as chance would have it.
    """
    labels = _labels(posts).astype(float)
    rates = labels.mean(axis=0)
    expected = np.outer(rates, rates)
    ratio = np.divide(
        labels.T @ labels / len(labels), expected, out=np.full(expected.shape, np.nan), where=expected > 0
    )
    np.fill_diagonal(ratio, np.nan)
    return pd.DataFrame(ratio, index=_names(posts), columns=_names(posts))


def strongest_pair(posts: "Dataset", *, at_least: int, seed: int = 0) -> tuple[str, str, Interval]:
    """Return the two techniques of the highest lift, if they meet in `at_least` posts, and that lift."""
    labels = _labels(posts).astype(float)
    table = lift(posts).where(labels.T @ labels >= at_least)
    if table.isna().all(axis=None):
        raise ValueError(f"no two techniques meet in {at_least} posts; lower at_least, or load more posts")
    names = _names(posts)
    first, second = divmod(int(np.nanargmax(table)), len(names))
    a, b = labels[:, first], labels[:, second]
    stats = np.column_stack([a * b, a, b, np.ones(len(a))])
    return names[first], names[second], bootstrap(stats, _lift_of_sums, seed=seed)


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


def fold_languages(posts: "Dataset", assigned: Mapping[str, np.ndarray], language: str) -> pd.DataFrame:
    """Return the share of one language per fold and way to cut, in percent: `split`, `fold`, `share`."""
    spoken = np.array(posts["lang"]) == language
    return pd.DataFrame(
        {"split": name, "fold": fold, "share": _share(spoken[parts == fold])}
        for name, parts in assigned.items()
        for fold in np.unique(parts)
    )


def overlapping(posts: "Dataset") -> int:
    """Count the posts in which two trigger spans share a character."""
    return sum(any(a[1] > b[0] for a, b in pairwise(sorted(spans))) for spans in posts["trigger_words"])


def _lift_of_sums(sums: np.ndarray) -> np.ndarray:
    """Turn sums (…, 4) of both, first, second and all into lift (…); 0 where one of them never occurs."""
    both, first, second, rows = np.moveaxis(sums, -1, 0)
    return np.divide(both * rows, first * second, out=np.zeros_like(both), where=first * second > 0)


def _labels(posts: "Dataset") -> np.ndarray:
    return indicators(posts["techniques"], _names(posts))


def _names(posts: "Dataset") -> list[str]:
    return posts.features["labels"].feature.names


def _share(flags: np.ndarray) -> Interval:
    return wilson(int(flags.sum()), len(flags)).scaled(100)
