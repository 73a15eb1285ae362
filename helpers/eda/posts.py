"""Posts: rates of the ten techniques, which ones come together, languages by fold, the state of the spans."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers.corpora import TECHNIQUES
from helpers.multilabel import folds
from helpers.multilabel.scores import indicators
from helpers.statistics import Interval, bootstrap, wilson

if TYPE_CHECKING:
    from datasets import Dataset


def technique_table(posts: "Dataset") -> pd.DataFrame:
    """Return each technique's count and share of posts in percent, over all and by language, rarest last."""
    labels = indicators(posts["techniques"], TECHNIQUES)
    languages = np.array(posts["lang"])
    rows = []
    for name, column in zip(TECHNIQUES, labels.T, strict=True):
        row = {"technique": name, "posts": int(column.sum()), "all, %": _share(column)}
        rows.append(
            row | {f"{lang}, %": _share(column[languages == lang]) for lang in sorted(set(languages))}
        )
    return pd.DataFrame(rows).sort_values("posts", ascending=False, kind="stable", ignore_index=True)


def lift(posts: "Dataset") -> pd.DataFrame:
    """Return P(column and row) / (P(column) P(row)) for pairs of techniques; the diagonal is empty.

    1 means independent, 2 twice as often together as chance would have it.
    """
    labels = indicators(posts["techniques"], TECHNIQUES).astype(float)
    rates = labels.mean(axis=0)
    expected = np.outer(rates, rates)
    ratio = np.divide(
        labels.T @ labels / len(labels), expected, out=np.full(expected.shape, np.nan), where=expected > 0
    )
    np.fill_diagonal(ratio, np.nan)
    return pd.DataFrame(ratio, index=TECHNIQUES, columns=TECHNIQUES)


def strongest_pair(posts: "Dataset", *, at_least: int = 10, seed: int = 0) -> tuple[str, str, Interval]:
    """Return the two techniques of the highest lift, if they meet in `at_least` posts, and that lift."""
    labels = indicators(posts["techniques"], TECHNIQUES).astype(float)
    table = lift(posts).where(labels.T @ labels >= at_least)
    if table.isna().all(axis=None):
        raise ValueError(f"no two techniques meet in {at_least} posts; lower at_least, or load more posts")
    first, second = table.stack().idxmax()
    a, b = (labels[:, TECHNIQUES.index(name)] for name in (first, second))
    stats = np.column_stack([a * b, a, b, np.ones(len(a))])
    return first, second, bootstrap(stats, _lift_of_sums, seed=seed)


def label_sets(posts: "Dataset") -> dict[str, float]:
    """Return the number of distinct label sets, of posts without a label, and of labels per post."""
    sets = [tuple(names) for names in posts["techniques"]]
    return {
        "distinct sets": len(set(sets)),
        "posts without": sum(not names for names in sets),
        "labels per post": sum(map(len, sets)) / len(sets),
    }


def assign_folds(posts: "Dataset", *, number: int, seed: int) -> dict[str, np.ndarray]:
    """Return three ways to cut the posts: the winners' (labels), labels and language, and at random."""
    labels = indicators(posts["techniques"], TECHNIQUES)
    return {
        "random": folds.random_assign(len(labels), folds=number, seed=seed),
        "legacy: labels": folds.assign(labels, folds=number, seed=seed),
        "labels + language": folds.assign(labels, folds=number, seed=seed, by=posts["lang"][:]),
    }


def fold_balance(posts: "Dataset", assigned: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return the worst departure of any fold from the whole, per way to cut (see `folds.diagnose`)."""
    labels = indicators(posts["techniques"], TECHNIQUES)
    sizes = [len(text) for text in posts["content"]]
    return folds.diagnose(assigned, labels=labels, languages=posts["lang"][:], lengths=sizes)


def fold_languages(posts: "Dataset", assigned: dict[str, np.ndarray], language: str) -> pd.DataFrame:
    """Return the share of one language per fold and way to cut, in percent: `split`, `fold`, `share`."""
    spoken = np.array(posts["lang"]) == language
    return pd.DataFrame(
        {"split": name, "fold": fold, "share": _share(spoken[parts == fold])}
        for name, parts in assigned.items()
        for fold in np.unique(parts)
    )


def example(posts: "Dataset") -> tuple[str, list[tuple[int, int, str]], str]:
    """Return the first post with trigger spans: its text, the spans to draw, its techniques."""
    row = posts[next(i for i, spans in enumerate(posts["trigger_words"]) if spans)]
    spans = [(start, end, "trigger") for start, end in row["trigger_words"]]
    return row["content"], spans, ", ".join(row["techniques"])


def span_facts(posts: "Dataset") -> dict[str, int]:
    """Count trigger spans, and posts whose spans overlap or are out of order."""
    spans = [[tuple(span) for span in row] for row in posts["trigger_words"]]
    overlapping = sum(any(a[1] > b[0] for a, b in pairwise(sorted(row))) for row in spans)
    return {
        "spans": sum(map(len, spans)),
        "posts with overlapping spans": overlapping,
        "posts with unsorted spans": sum(row != sorted(row) for row in spans),
    }


def _lift_of_sums(sums: np.ndarray) -> np.ndarray:
    """Turn sums (…, 4) of both, first, second and all into lift (…); 0 where one of them never occurs."""
    both, first, second, rows = np.moveaxis(sums, -1, 0)
    return np.divide(both * rows, first * second, out=np.zeros_like(both), where=first * second > 0)


def _share(flags: np.ndarray) -> Interval:
    return wilson(int(flags.sum()), len(flags)).scaled(100)
