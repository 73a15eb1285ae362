"""Relation scores with intervals, and the frames that compare systems on the same rows.

Two things make a score uncertain: which rows are in the dev set, and which seed the training drew. Rows are
resampled in whole sentences; seeds are replicated. An interval here holds both, so "real" means that neither
explains the difference.
"""

import time
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from datasets import Dataset
from scipy.special import softmax

from helpers.relations.baselines import BASELINES
from helpers.relations.resampling import auprc_resamples
from helpers.relations.scores import auprc, f1_of_counts, relation_counts
from helpers.statistics import Interval, bootstrap, holm, paired_bootstrap, resamples

Runs = Mapping[str, Sequence[np.ndarray]]
"""Name of a system → logits (n, 30) of each of its seeds, all on the same rows."""


def score_probs(
    gold: Sequence[int], probs: np.ndarray, *, clusters: Sequence | None = None
) -> dict[str, Interval]:
    """Give micro-F1 and AUPRC of one system's probabilities (n, 30), each with a 95 % interval over rows."""
    counts = relation_counts(gold, np.argmax(probs, axis=1))
    areas = auprc_resamples(gold, probs, clusters=clusters).mean(axis=1)
    return {
        "micro_f1": bootstrap(counts, f1_of_counts, clusters=clusters),
        "auprc": _centred(auprc(gold, probs), areas),
    }


def score_baselines(train: Dataset, dev: Dataset) -> pd.DataFrame:
    """Score every baseline on dev: a frame of system, micro_f1 and auprc with 95 % intervals, and seconds."""
    rows = []
    for name, baseline in BASELINES.items():
        start = time.perf_counter()
        probs = baseline(train, dev)
        seconds = time.perf_counter() - start
        rows.append({"system": name, **score_probs(dev["label"][:], probs), "seconds": seconds})
    return pd.DataFrame(rows)


def beside_baselines(ranked: pd.DataFrame, simple: pd.DataFrame, *, seconds: float) -> pd.DataFrame:
    """Put the best of a ranking, which took `seconds` to train, beside the baselines, best first."""
    frame = pd.concat([simple, ranked.head(1).assign(seconds=seconds)[simple.columns]], ignore_index=True)
    return _best_first(frame)


def rank(gold: Sequence[int], runs: Runs, *, clusters: Sequence | None = None) -> pd.DataFrame:
    """Rank systems by their mean micro-F1 over seeds, best first.

    `micro_f1` is an Interval over rows and seeds; `row_se` and `seed_sd` say where its width comes from, and
    `auprc` has an interval over rows.
    """
    rows = [{"system": name, **_summary(gold, logits, clusters)} for name, logits in runs.items()]
    return _best_first(pd.DataFrame(rows))


def differences(
    gold: Sequence[int], runs: Runs, *, reference: str | None = None, clusters: Sequence | None = None
) -> pd.DataFrame:
    """Compare systems in pairs on the same rows and seeds: every pair, or each with `reference`.

    `difference` is micro-F1 of `system` minus `than`; `p_holm` is adjusted over the frame; `real` says that
    it is below .05.
    """
    pairs = [(name, reference) for name in runs if name != reference] if reference else combinations(runs, 2)
    frame = pd.DataFrame(
        [{"system": a, "than": b, **_difference(gold, runs[a], runs[b], clusters)} for a, b in pairs]
    )
    frame["p_holm"] = holm(frame["p"].tolist())
    frame["real"] = frame["p_holm"] < 0.05
    return frame.sort_values("p_holm", ignore_index=True)


def adjustments(
    gold: Sequence[int], adjusted: Mapping[str, np.ndarray], *, clusters: Sequence | None = None
) -> pd.DataFrame:
    """Score versions of one run's logits (n, 30), changed after training, and compare each with the first.

    `difference` is micro-F1 of a version minus the first's on the same rows; p-values are not adjusted.
    """
    counts = {name: relation_counts(gold, logits.argmax(axis=1)) for name, logits in adjusted.items()}
    first = next(iter(counts))
    rows = []
    for name, logits in adjusted.items():
        gain = paired_bootstrap(counts[first], counts[name], f1_of_counts, clusters=clusters)
        compared = {"difference": None, "p": None} if name == first else gain._asdict()
        rows.append(
            {"system": name, **score_probs(gold, softmax(logits, axis=1), clusters=clusters), **compared}
        )
    return pd.DataFrame(rows)


def percent(hits: np.ndarray, *, clusters: Sequence | None = None) -> Interval:
    """Give the share of `hits` (n,), 0 to 1 each, in percent with a 95 % interval over rows."""
    return bootstrap(np.column_stack([100 * hits, np.ones(len(hits))]), clusters=clusters)


def combined(
    value: float, *, row_se: float, seed_values: Sequence[float] | np.ndarray
) -> tuple[Interval, float]:
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


def _best_first(frame: pd.DataFrame) -> pd.DataFrame:
    order = np.argsort([-interval.value for interval in frame["micro_f1"]], kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def _summary(gold: Sequence[int], logits: Sequence[np.ndarray], clusters) -> dict:
    counts = _counts(gold, logits)
    values = f1_of_counts(counts.sum(axis=0))
    row_se = float(_resampled(counts, clusters, 500).mean(axis=1).std())
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


def _difference(gold: Sequence[int], a: Sequence[np.ndarray], b: Sequence[np.ndarray], clusters) -> dict:
    if len(a) != len(b):
        raise ValueError(f"compared systems need the same seeds, got {len(a)} and {len(b)} runs")
    counts = np.concatenate([_counts(gold, a), _counts(gold, b)], axis=1)
    first, second = np.split(f1_of_counts(counts.sum(axis=0)), 2)
    drawn = np.stack(np.split(_resampled(counts, clusters, 2000), 2, axis=1)).mean(axis=2)
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
