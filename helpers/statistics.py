"""Intervals and tests: every number in a report carries one of these.

The bootstrap works on per-item sufficient statistics. A score such as F1 is a function of sums
(true positives, predicted, gold), so a resample is a row of counts times a matrix, not a re-scoring:
2,000 resamples of 5,000 sentences take a fraction of a second. Tests that statsmodels has are called,
not rewritten. Models of the variance between seeds stay with the notebooks that have seeds.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

Score = Callable[[np.ndarray], np.ndarray]
"""Maps sums of sufficient statistics `(…, k)` to scores `(…)`."""

LEVEL = 0.95  # of every interval
CHUNK = 2_000_000  # resampled counts held at once: 16 MB


class Interval(NamedTuple):
    """A value with its lower and upper bound; formats as `61.2 [59.8, 62.5]`."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    def __format__(self, spec: str) -> str:
        value, low, high = (format(number, spec or ".3g") for number in self)
        return f"{value} [{low}, {high}]"

    def __str__(self) -> str:
        return format(self)

    def scaled(self, factor: float) -> "Interval":
        """Return the interval in another unit, e.g. `scaled(100)` for percent."""
        low, high = sorted((self.low * factor, self.high * factor))
        return Interval(self.value * factor, low, high)


class Comparison(NamedTuple):
    """The difference of two systems on the same items, and its two-sided bootstrap p-value."""

    difference: Interval
    p: float

    def __str__(self) -> str:
        return f"{self.difference:+.3g}, p = {self.p:.3g}"


def ratio(sums: np.ndarray) -> np.ndarray:
    """Return first column / second column, e.g. hits / items; 0 where nothing was counted."""
    return np.divide(sums[..., 0], sums[..., 1], out=np.zeros(sums.shape[:-1]), where=sums[..., 1] > 0)


def f1(sums: np.ndarray) -> np.ndarray:
    """Return F1 from summed (true positives, predicted, gold); 0 where all three are 0."""
    denominator = sums[..., 1] + sums[..., 2]
    return np.divide(2 * sums[..., 0], denominator, out=np.zeros(denominator.shape), where=denominator > 0)


def bootstrap(
    stats: np.ndarray,
    score: Score = ratio,
    *,
    clusters: Sequence | None = None,
    samples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return `score` of all items with its percentile interval.

    `stats: (n, k)` sufficient statistics per item. With `clusters: (n,)`, whole clusters are drawn:
    items of one document are not independent.

    >>> right = np.array([[1, 1], [0, 1], [1, 1], [1, 1]])  # hits and items
    >>> bootstrap(right).value
    0.75
    """
    totals = _cluster_sums(stats, clusters)
    value = _checked(score(totals.sum(axis=0)))
    return _percentiles(float(value), _resampled_scores(totals, score, samples, seed))


def paired_bootstrap(
    stats_a: np.ndarray,
    stats_b: np.ndarray,
    score: Score = ratio,
    *,
    clusters: Sequence | None = None,
    samples: int = 2000,
    seed: int = 0,
) -> Comparison:
    """Return the difference `b - a` on the same resamples of the same items."""
    a, b = np.asarray(stats_a, dtype=float), np.asarray(stats_b, dtype=float)
    if a.shape != b.shape:
        raise ValueError(
            f"paired systems need the same items: a has shape {a.shape}, b {b.shape}; align them by id first"
        )
    width = a.shape[1]
    totals = _cluster_sums(np.hstack([a, b]), clusters)

    def difference(sums: np.ndarray) -> np.ndarray:
        return score(sums[..., width:]) - score(sums[..., :width])

    value = float(_checked(difference(totals.sum(axis=0))))
    draws = _resampled_scores(totals, difference, samples, seed)
    tail = min(np.count_nonzero(draws <= 0), np.count_nonzero(draws >= 0))
    return Comparison(_percentiles(value, draws), min(1.0, 2 * (tail + 1) / (samples + 1)))


def resamples(n: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield blocks of bootstrap counts `(block, n)`: how often each of n items is drawn.

    For scores that are not functions of sums, such as AUPRC, where counts serve as weights.
    """
    rng = np.random.default_rng(seed)
    block = max(1, CHUNK // max(n, 1))
    for start in range(0, samples, block):
        size = min(block, samples - start)
        drawn = rng.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the mean with Student's t interval: for a handful of seeds or folds."""
    from scipy.stats import t

    seen = np.asarray(values, dtype=float)
    if seen.size < 2:
        raise ValueError(f"an interval of a mean needs at least 2 values, got {seen.size}; run more seeds")
    half = t.ppf((1 + LEVEL) / 2, seen.size - 1) * seen.std(ddof=1) / np.sqrt(seen.size)
    return Interval(float(seen.mean()), float(seen.mean() - half), float(seen.mean() + half))


def wilson(hits: int, n: int) -> Interval:
    """Return the share hits / n with Wilson's score interval."""
    from statsmodels.stats.proportion import proportion_confint

    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"wilson needs 0 <= hits <= n and n > 0, got hits={hits}, n={n}")
    low, high = proportion_confint(hits, n, alpha=1 - LEVEL, method="wilson")
    return Interval(hits / n, float(low), float(high))


def proportions_p(hits_a: int, n_a: int, hits_b: int, n_b: int) -> float:
    """Return the two-sided p-value of the pooled z-test for two independent shares."""
    from statsmodels.stats.proportion import proportions_ztest

    if (hits_a, hits_b) in ((0, 0), (n_a, n_b)):
        return 1.0  # no variance at all: the shares are equal
    return float(proportions_ztest([hits_a, hits_b], [n_a, n_b])[1])


def mcnemar(right_a: Sequence[bool], right_b: Sequence[bool]) -> float:
    """Return the exact two-sided p-value that two systems are right equally often on the same items."""
    from statsmodels.stats.contingency_tables import mcnemar as exact

    a, b = np.asarray(right_a, dtype=bool), np.asarray(right_b, dtype=bool)
    if a.shape != b.shape:
        raise ValueError(f"mcnemar needs the same items: {a.shape} against {b.shape}; align them by id first")
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    return float(exact([[0, only_a], [only_b, 0]], exact=True).pvalue) if only_a + only_b else 1.0


def holm(pvalues: Sequence[float]) -> np.ndarray:
    """Return Holm's adjusted p-values, in the order given."""
    from statsmodels.stats.multitest import multipletests

    return multipletests(list(pvalues), method="holm")[1] if len(pvalues) else np.array([])


def estimate_shares(probabilities: np.ndarray, *, old: np.ndarray) -> np.ndarray:
    """Estimate the class shares of unlabelled rows by EM (Saerens, Latinne & Decaestecker 2002): (k,).

    `probabilities: (n, k)` are calibrated under the shares `old: (k,)`; the rows may have others, as long as
    each class still looks like itself.
    """
    new = np.asarray(old, dtype=float)
    for _ in range(500):  # it settles long before
        last, weighted = new, probabilities * (new / old)
        new = np.maximum((weighted / weighted.sum(axis=1, keepdims=True)).mean(axis=0), 1e-9)
        if np.abs(new - last).max() < 1e-7:
            break
    return new


def _cluster_sums(stats: np.ndarray, clusters: Sequence | None) -> np.ndarray:
    stats = np.asarray(stats, dtype=float)
    if stats.ndim != 2 or not len(stats):
        raise ValueError(f"stats must be (n, k) with n > 0, got shape {stats.shape}")
    if clusters is None:
        return stats
    if len(clusters) != len(stats):
        raise ValueError(f"stats has {len(stats)} rows but clusters has {len(clusters)}; one id per row")
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.zeros((index.max() + 1, stats.shape[1]))
    np.add.at(sums, index, stats)
    return sums


def _resampled_scores(totals: np.ndarray, score: Score, samples: int, seed: int) -> np.ndarray:
    blocks = (score(counts.astype(float) @ totals) for counts in resamples(len(totals), samples, seed))
    return _checked(np.concatenate(list(blocks)))


def _checked(scores: np.ndarray) -> np.ndarray:
    bad = np.count_nonzero(np.isnan(scores))
    if bad:
        raise ValueError(f"score is NaN in {bad} of {np.size(scores)} cases; define what 0/0 means in it")
    return scores


def _percentiles(value: float, draws: np.ndarray) -> Interval:
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, float(low), float(high))
