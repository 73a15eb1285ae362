"""Relation scores with intervals, and the frames that compare systems on the same rows.

Two things make a score uncertain: which rows are in the dev set, and which seed the training drew. Rows are
resampled in whole sentences; seeds are replicated. An interval here holds both, so "real" means that neither
explains the difference.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import softmax

from helpers.relations.scores import auprc, auprc_resamples, f1_of_counts, relation_counts
from helpers.statistics import Interval, bootstrap, holm, resamples

Runs = Mapping[str, Sequence[np.ndarray]]
"""Name of a system → logits (n, 30) of each of its seeds, all on the same rows."""

HEADINGS = {
    "micro_f1": "micro-F1",
    "auprc": "AUPRC",
    "row_se": "rows, SE",
    "seed_sd": "seeds, SD",
    "than": "minus",
    "p_holm": "p, Holm",
    "examples_per_second": "rows/s",
}


def score_probs(
    gold: Sequence[int],
    probs: np.ndarray,
    *,
    clusters: Sequence | None = None,
    samples: int = 200,
    seed: int = 0,
) -> dict[str, Interval]:
    """Give micro-F1 and AUPRC of one system's probabilities (n, 30), each with a 95 % interval over rows."""
    counts = relation_counts(gold, np.argmax(probs, axis=1))
    areas = auprc_resamples(gold, probs, samples=samples, clusters=clusters, seed=seed).mean(axis=1)
    return {
        "micro_f1": bootstrap(counts, f1_of_counts, clusters=clusters, seed=seed),
        "auprc": _centred(auprc(gold, probs), areas),
    }


def rank(
    gold: Sequence[int], runs: Runs, *, clusters: Sequence | None = None, samples: int = 500
) -> pd.DataFrame:
    """Rank systems by their mean micro-F1 over seeds, best first.

    `micro_f1` is an Interval over rows and seeds; `row_se` and `seed_sd` say where its width comes from, and
    `auprc` has an interval over rows.
    """
    frame = pd.DataFrame(
        [{"system": name, **_summary(gold, logits, clusters, samples)} for name, logits in runs.items()]
    )
    return frame.sort_values("micro_f1", key=lambda column: [-f1.value for f1 in column], ignore_index=True)


def differences(
    gold: Sequence[int],
    runs: Runs,
    *,
    reference: str | None = None,
    clusters: Sequence | None = None,
    samples: int = 2000,
) -> pd.DataFrame:
    """Compare systems in pairs on the same rows and seeds: every pair, or each with `reference`.

    `difference` is micro-F1 of `system` minus `than`; `p_holm` is adjusted over the frame; `real` says that
    it is below .05.
    """
    pairs = [(name, reference) for name in runs if name != reference] if reference else combinations(runs, 2)
    rows = [
        {"system": a, "than": b, **_difference(gold, runs[a], runs[b], clusters, samples)} for a, b in pairs
    ]
    frame = pd.DataFrame(rows)
    frame["p_holm"] = holm(frame["p"])
    frame["real"] = frame["p_holm"] < 0.05
    return frame.sort_values("p_holm", ignore_index=True)


def combined(value: float, *, row_se: float, seed_values: Sequence[float]) -> tuple[Interval, float]:
    """Join sampling error over rows with spread over seeds: a 95 % interval and the p-value against 0.

    Variances add up; Satterthwaite's degrees of freedom say how far the handful of seeds can be trusted. One
    seed gives the rows' interval alone.
    """
    from scipy.stats import t

    seeds = len(seed_values)
    between = float(np.var(seed_values, ddof=1)) / seeds if seeds > 1 else 0.0
    variance = row_se**2 + between
    freedom = (seeds - 1) * variance**2 / between**2 if between > 0 else np.inf
    if variance == 0:
        return Interval(value, value, value), float(value == 0)
    half = float(t.ppf(0.975, freedom) * variance**0.5)
    return Interval(value, value - half, value + half), float(2 * t.sf(abs(value) / variance**0.5, freedom))


def _summary(gold: Sequence[int], logits: Sequence[np.ndarray], clusters, samples: int) -> dict:
    counts = _counts(gold, logits)
    values = f1_of_counts(counts.sum(axis=0))
    row_se = float(_resampled(counts, clusters, samples).mean(axis=1).std())
    (value, low, high), _ = combined(float(values.mean()), row_se=row_se, seed_values=values)
    probs = [softmax(one, axis=1) for one in logits]
    areas = np.mean([auprc_resamples(gold, one, clusters=clusters).mean(axis=1) for one in probs], axis=0)
    return {
        "seeds": len(logits),
        "micro_f1": Interval(value, max(low, 0.0), min(high, 100.0)),
        "row_se": row_se,
        "seed_sd": float(values.std(ddof=1)) if len(values) > 1 else float("nan"),
        "auprc": _centred(float(np.mean([auprc(gold, one) for one in probs])), areas),
    }


def _centred(value: float, draws: np.ndarray) -> Interval:
    """Put the spread of resampled AUPRC around the score itself.

    A rare class that a resample misses counts 50 there, so the draws lie too high as a whole.
    """
    low, middle, high = np.percentile(draws, [2.5, 50, 97.5])
    return Interval(value, float(value + low - middle), float(value + high - middle))


def _difference(
    gold: Sequence[int], a: Sequence[np.ndarray], b: Sequence[np.ndarray], clusters, samples: int
) -> dict:
    if len(a) != len(b):
        raise ValueError(f"compared systems need the same seeds, got {len(a)} and {len(b)} runs")
    counts = np.concatenate([_counts(gold, a), _counts(gold, b)], axis=1)
    first, second = np.split(f1_of_counts(counts.sum(axis=0)), 2)
    drawn = np.stack(np.split(_resampled(counts, clusters, samples), 2, axis=1)).mean(axis=2)
    value, row_se = float((first - second).mean()), float((drawn[0] - drawn[1]).std())
    difference, p = combined(value, row_se=row_se, seed_values=first - second)
    return {"difference": difference, "p": p}


def _counts(gold: Sequence[int], logits: Sequence[np.ndarray]) -> np.ndarray:
    """Per-row counts of every run: (n, runs, 3)."""
    return np.stack([relation_counts(gold, np.argmax(one, axis=1)) for one in logits], axis=1)


def _resampled(counts: np.ndarray, clusters: Sequence | None, samples: int) -> np.ndarray:
    """Micro-F1 of every run on bootstrapped rows: (samples, runs)."""
    if clusters is not None:
        names, units = np.unique(clusters, return_inverse=True)
        sums = np.zeros((len(names), *counts.shape[1:]))
        np.add.at(sums, units, counts)
        counts = sums
    flat = counts.reshape(len(counts), -1).astype(float)
    blocks = [weights @ flat for weights in resamples(len(flat), samples, 0)]
    return f1_of_counts(np.concatenate(blocks).reshape(samples, *counts.shape[1:]))
