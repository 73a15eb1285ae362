"""Relation systems over rows and seeds: the sums that `statistics` compares, and levels with intervals.

What is better is decided in `statistics`. Rows of one sentence are not independent: the sentences are given
as `clusters` and stay whole.
"""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from datasets import Dataset
from scipy.special import softmax

from helpers.relations.baselines import BASELINES
from helpers.relations.scores import class_auprc, f1_of_counts, relation_counts
from helpers.statistics import Interval, Jackknife, estimate, regrouped

Runs = Mapping[str, Sequence[np.ndarray]]
"""Name of a system → logits (n, labels) of each of its seeds, all on the same rows."""


class Fitted(NamedTuple):
    """What a baseline says of the dev rows: logits (n, labels); and how long that took."""

    logits: np.ndarray
    seconds: float


def counts(gold: Sequence[int], logits: Sequence[np.ndarray]) -> np.ndarray:
    """Give the sums behind micro-F1 of every seed and row, for `statistics.compare`: (seeds, n, 3)."""
    return np.stack([relation_counts(gold, np.argmax(one, axis=1)) for one in logits])


def gain(sums: np.ndarray) -> np.ndarray:
    """Turn sums (…, 6) of a system and of its control into the difference of their micro-F1."""
    return f1_of_counts(sums[..., :3]) - f1_of_counts(sums[..., 3:])


def extra(sums: np.ndarray) -> np.ndarray:
    """Turn sums (…, 12), those of two gains, into the first gain minus the second."""
    return gain(sums[..., :6]) - gain(sums[..., 6:])


def levels(gold: Sequence[int], runs: Runs, *, clusters: Sequence | None = None) -> pd.DataFrame:
    """Score systems, best first: mean micro-F1 and AUPRC over seeds, with intervals over rows and seeds.

    `row_se` and `seed_sd` say where the width of micro-F1's interval comes from.
    """
    rows = []
    for name, logits in runs.items():
        stats = counts(gold, logits)
        design = estimate(stats, f1_of_counts, clusters=clusters)
        values = f1_of_counts(stats.sum(axis=1))
        rows.append(
            {
                "system": name,
                "seeds": len(logits),
                "micro_f1": design.interval().within(0.0, 100.0),
                "row_se": float(np.sqrt(design.rows)),
                "seed_sd": float(values.std(ddof=1)) if len(values) > 1 else float("nan"),
                "auprc": auprc_level(gold, logits, clusters=clusters),
            }
        )
    frame = pd.DataFrame(rows)
    order = np.argsort([-level.value for level in frame["micro_f1"]], kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def auprc_level(
    gold: Sequence[int], logits: Sequence[np.ndarray], *, clusters: Sequence | None = None
) -> Interval:
    """Give the mean AUPRC over seeds with an interval for the AUPRC that many more rows would show.

    A label of few rows scores too high, and leaving rows out tells by how much: the interval lies around the
    corrected value. A label without rows counts 50, as in the score, and adds no spread. One that leaving
    rows out would empty keeps its area for the correction, and is left out of the mean for the spread.
    """
    labels, probs = np.asarray(gold), [softmax(one, axis=1) for one in logits]
    held, classes = np.unique(labels), probs[0].shape[1]
    whole = np.array([class_auprc(gold, one)[held] for one in probs])

    def areas(kept: np.ndarray) -> np.ndarray:
        left = np.isin(held, labels[kept])
        found = np.array([class_auprc(labels[kept], one[kept])[held] for one in probs])
        both = found[:, left].mean(axis=1), np.where(left, found, whole).mean(axis=1)
        return (np.concatenate(both) * len(held) + 50 * (classes - len(held))) / classes

    found = regrouped(areas, len(labels), clusters=clusters)
    seeds, groups = len(probs), found.left_out.shape[1]
    design = Jackknife(found.values[:seeds], found.left_out[:seeds]).design()
    bias = (groups - 1) * float(found.left_out[seeds:].mean() - design.value)
    low, high = design._replace(value=design.value - bias).interval()[1:]
    return Interval(design.value, min(low, design.value), max(high, design.value)).within(0.0, 100.0)


def optimism(cells: np.ndarray, *, clusters: Sequence, halvings: int = 100) -> Interval:
    """Say by how much the best of several cells looks better on the rows that it was chosen on.

    `cells: (cells, seeds, n, 3)` counts. Whole clusters are halved at random; the cell with the highest mean
    micro-F1 on one half is scored on both, and the difference is averaged over halvings.
    """
    units = np.unique(np.asarray(clusters), return_inverse=True)[1]
    halves = np.random.default_rng(0).random((halvings, units.max() + 1)).argsort(axis=1) % 2 == 0

    def gap(kept: np.ndarray) -> float:
        scores = [
            f1_of_counts(np.tensordot((half & kept).astype(float), cells, axes=(1, 2))).mean(axis=2)
            for half in (halves[:, units], ~halves[:, units])
        ]
        chosen = scores[0].argmax(axis=1)[:, None]
        inside, outside = (np.take_along_axis(score, chosen, axis=1) for score in scores)
        return float((inside - outside).mean())

    return regrouped(gap, len(units), clusters=clusters).design().interval()


def fit_baselines(train: Dataset, rows: Dataset) -> dict[str, Fitted]:
    """Fit every baseline on `train` and let it score `rows`: a system without a seed."""
    fitted = {}
    for name, baseline in BASELINES.items():
        start = time.perf_counter()
        probs = baseline(train, rows)
        seconds = time.perf_counter() - start
        fitted[name] = Fitted(np.log(np.maximum(probs, 1e-300)), seconds)
    return fitted
