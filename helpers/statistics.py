"""Intervals and decisions: every number in a report, and every "better", comes from here.

Systems are given as per-item sufficient statistics of every seed. A score such as F1 is a function of sums
(true positives, predicted, gold), so leaving one item out is a subtraction, and the jackknife over 5,000
sentences costs one pass. What rows and what seeds contribute to an uncertainty is kept apart (`Design`): that
gives the interval, the decision and the plan for the next experiment. Tests that statsmodels has are called.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

Score = Callable[[np.ndarray], np.ndarray]
"""Maps sums of sufficient statistics `(…, k)` to scores `(…)`."""

LEVEL = 0.95  # of every interval
POWER = 0.8  # at which a difference counts as detectable
TINY = 1e-15  # the smallest p-value given
ROLES = ("baseline", "control", "oracle")  # of systems that are shown without a verdict
QUANTILES = 30  # of a variance's distribution, where power is averaged over it


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

    def within(self, low: float, high: float) -> "Interval":
        """Return the interval without what lies beyond these bounds, where no value can be."""
        return Interval(self.value, max(self.low, low), min(self.high, high))


class Design(NamedTuple):
    """A score or a difference, and where its uncertainty comes from: variances of the mean over seeds.

    `rows` is what other rows would change and `seeds` what other seeds would; `interaction` is the part of
    `seeds` that more rows would reduce as well. One seed leaves `seeds` unknown, here 0. `bias` is how much
    higher the score is than that of ever more rows, as far as leaving rows out shows it.
    """

    value: float
    rows: float
    seeds: float
    interaction: float
    row_units: int  # rows, or clusters of rows
    seed_units: int
    bias: float = 0.0

    @property
    def error(self) -> float:
        """The standard error."""
        return float(np.sqrt(self.rows + self.seeds))

    def critical(self, tail: float) -> float:
        """Return how many standard errors leave `tail` above them: Cochran's mean of two t quantiles.

        Satterthwaite's degrees of freedom, the usual choice, raise a false alarm in 7 to 8 % of cases at
        nominal 5 with three seeds; this does in 3 to 5 %.
        """
        return float(self._critical(tail, np.array(self.rows), np.array(self.seeds)))

    def interval(self) -> Interval:
        """Return the value with its interval, which reaches further on the side where the bias is."""
        half = self.critical((1 - LEVEL) / 2) * self.error
        low, high = self.value - max(self.bias, 0.0) - half, self.value - min(self.bias, 0.0) + half
        return Interval(self.value, low, high)

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value of "the true value is at most `bound`"."""
        from scipy.optimize import brentq

        if not self.error:
            return float(self.value <= bound)
        size = (self.value - bound) / self.error
        if size < 0:
            return 1 - self._replace(value=-self.value).p_above(-bound)
        if size >= self.critical(TINY):
            return TINY
        return float(np.exp(brentq(lambda log: self.critical(np.exp(log)) - size, np.log(TINY), np.log(0.5))))

    def p(self) -> float:
        """Return the two-sided p-value of "the true value is 0"."""
        return min(1.0, 2 * min(self.p_above(0), self._replace(value=-self.value).p_above(0)))

    def power(self, difference: float) -> float:
        """Return how often a true difference would be found, two-sided at .05, if these variances are right.

        What a sample would give for the two variances, and so for the quantile, is averaged over their own
        chi-squared distributions: one t distribution with Satterthwaite's degrees of freedom is off by .04.
        """
        from scipy.stats import chi2, norm

        if self.seed_units < 2:
            return 0.0  # one seed never decides
        if not self.error:
            return float(difference != 0)
        chance = (np.arange(QUANTILES) + 0.5) / QUANTILES
        rows, seeds = (
            part * chi2.ppf(chance, units - 1) / (units - 1)
            for part, units in ((self.rows, self.row_units), (self.seeds, self.seed_units))
        )
        rows, seeds = rows[:, None], seeds[None, :]
        needed = self._critical((1 - LEVEL) / 2, rows, seeds) * np.sqrt(rows + seeds)
        tails = norm.sf((needed - difference) / self.error) + norm.cdf((-needed - difference) / self.error)
        return float(tails.mean())

    def detectable(self) -> float:
        """Return the smallest difference that would be found, two-sided at .05, with power .8."""
        from scipy.optimize import brentq

        if self.seed_units < 2:
            return np.inf
        if not self.error:
            return 0.0
        most = (self.critical((1 - LEVEL) / 2) + 5) * 3 * self.error
        return float(brentq(lambda size: self.power(size) - POWER, 0, most, xtol=1e-4 * self.error))

    def planned(self, *, rows: int, seeds: int) -> "Design":
        """Return what the same systems would show with other numbers of rows and seeds."""
        pure = max(self.seeds - self.interaction, 0.0) * self.seed_units / seeds
        both = self.interaction * self.row_units * self.seed_units / (rows * seeds)
        return Design(self.value, self.rows * self.row_units / rows, pure + both, both, rows, seeds)

    def _critical(self, tail: float, rows: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        from scipy.stats import t

        of_rows, of_seeds = t.isf(tail, np.maximum([self.row_units - 1, self.seed_units - 1], 1))
        total = rows + seeds
        share = np.divide(seeds, total, out=np.zeros(np.shape(total)), where=total > 0)
        return of_rows + share * (of_seeds - of_rows)


class Jackknife(NamedTuple):
    """A score of every seed, and the same without each row, cluster or group of rows."""

    values: np.ndarray  # (seeds,)
    left_out: np.ndarray  # (seeds, units)

    def design(self) -> Design:
        """Take the variance apart; what rows and seeds do together is counted once, with the seeds."""
        seeds, units = self.left_out.shape
        of_mean, of_each = (
            left.var(axis=-1) * (units - 1) for left in (self.left_out.mean(axis=0), self.left_out)
        )
        between = both = 0.0
        if seeds > 1:
            between = float(self.values.var(ddof=1)) / seeds
            both = max(float(of_each.mean() - of_mean) / (seeds - 1), 0.0)
        return Design(float(self.values.mean()), max(float(of_mean) - both, 0.0), between, both, units, seeds)

    def bias(self) -> float:
        """Return the jackknife's estimate: few positives of a class make its AUPRC too high."""
        return float((self.left_out.shape[1] - 1) * (self.left_out.mean() - self.values.mean()))


Runs = np.ndarray | Jackknife
"""Sufficient statistics (seeds, items, k), or (items, k) of one run; or the score as `regrouped` gives it."""


def ratio(sums: np.ndarray) -> np.ndarray:
    """Return first column / second column, e.g. hits / items; 0 where nothing was counted."""
    return np.divide(sums[..., 0], sums[..., 1], out=np.zeros(sums.shape[:-1]), where=sums[..., 1] > 0)


def f1(sums: np.ndarray) -> np.ndarray:
    """Return F1 from summed (true positives, predicted, gold); 0 where all three are 0."""
    denominator = sums[..., 1] + sums[..., 2]
    return np.divide(2 * sums[..., 0], denominator, out=np.zeros(denominator.shape), where=denominator > 0)


def estimate(runs: Runs, score: Score = ratio, *, clusters: Sequence | None = None) -> Design:
    """Return the mean score over seeds, with what rows and seeds contribute to its uncertainty.

    With `clusters: (items,)`, whole clusters are left out: items of one document are not independent. The
    interval's t has one degree of freedom fewer than there are units: right for ten documents and for 5,000
    sentences. A level has its bias in the interval; in differences on the same rows it cancels.

    >>> right = np.array([[1, 1], [0, 1], [1, 1], [1, 1]])  # hits and items
    >>> estimate(right).value
    0.75
    """
    known = _jackknifed(runs, score, clusters)
    return known.design()._replace(bias=known.bias())


def share(stats: np.ndarray, *, clusters: Sequence | None = None) -> Interval:
    """Return hits / items with Wilson's interval for as many independent items as the spread amounts to.

    `stats: (items, 2)` or `(seeds, items, 2)` of hits and items. Near 0 and with ten documents, a symmetric
    interval leaves the truth out in one case of six; this one holds it in 94 to 98 of 100.
    """
    from scipy.stats import t

    design, tail = estimate(stats, ratio, clusters=clusters), (1 - LEVEL) / 2
    value, z = design.value, design.critical(tail)
    units = np.mean([_cluster_sums(run, clusters) for run in _runs(stats)], axis=0)
    items = units[:, 1].sum()
    grouped = items >= 2 * len(units)  # several items a unit: where one in six has a twin, little changes
    if 0 < value < 1 and design.error:
        items = min(items, value * (1 - value) / design.error**2)
        if grouped:  # a rare hit sits in few units, and only these tell how much units differ
            telling = min(np.count_nonzero(units[:, 0] > 0), np.count_nonzero(units[:, 0] < units[:, 1]))
            z = max(z, float(t.isf(tail, min(len(units) - 1, telling + 3))))
    elif grouped:  # nothing shows how alike the items of a unit are: count units
        items = len(units)
    middle = (value + z * z / (2 * items)) / (1 + z * z / items)
    half = z / (1 + z * z / items) * np.sqrt(value * (1 - value) / items + z * z / (4 * items**2))
    return Interval(value, max(0.0, float(middle - half)), min(1.0, float(middle + half)))


def regrouped(
    score: Callable[[np.ndarray], np.ndarray | float],
    n: int,
    *,
    clusters: Sequence | None = None,
    groups: int = 50,
    seed: int = 0,
) -> Jackknife:
    """Score again without each of `groups` random groups of the n rows: whatever `score` does, it does again.

    For scores that are not functions of sums (AUPRC), and for whole procedures: thresholds fitted on the rows
    that are left carry their own uncertainty into the interval. `score` maps kept rows, a mask (n,), to one
    value, or to one of each seed. Clusters stay whole.
    """
    units = np.arange(n) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    count = int(units.max()) + 1
    groups = min(groups, count)
    group = np.random.default_rng(seed).permutation(np.arange(count) % groups)[units]
    kept = [np.ones(n, dtype=bool), *(group != one for one in range(groups))]
    found = _checked(np.stack([np.atleast_1d(np.asarray(score(mask), dtype=float)) for mask in kept], axis=1))
    return Jackknife(found[:, 0], found[:, 1:])


def contrast(a: Runs, b: Runs, score: Score = ratio, *, clusters: Sequence | None = None) -> Design:
    """Return `a - b` on the same items and seeds."""
    return _contrast(*(_jackknifed(runs, score, clusters) for runs in (a, b)), names=("a", "b"))


def compare(
    systems: Mapping[str, Runs],
    score: Score = ratio,
    *,
    reference: str | None = None,
    clusters: Sequence | None = None,
    margin: float | None = None,
    roles: Mapping[str, str] = {},
) -> "pd.DataFrame":
    """Compare systems on the same items and decide: every pair, or each with `reference`; one row a pair.

    `systems: {name: (seeds, items, k)}` sufficient statistics of every seed; a system without seeds (a
    lookup) is given once per seed of the others. `difference` is `system` minus `than`, an Interval over rows
    and seeds; `p_holm` is adjusted over the rows that get a verdict; `detectable` is the smallest difference
    that this design would have found with power .8.

    `decision`: "equivalent" where two one-sided tests at .05 keep the difference within ± `margin`; else
    "better" or "worse" where p_holm < .05; else "undecided". With one seed the interval holds rows only and
    the decision is always "undecided". A pair with a system of `roles` shows the role instead.
    """
    import pandas as pd

    known = {name: _jackknifed(runs, score, clusters) for name, runs in systems.items()}
    if reference is not None and reference not in known:
        raise ValueError(f"reference {reference!r} is not among the systems {list(known)}")
    if set(roles.values()) - set(ROLES):
        raise ValueError(f"roles must be of {', '.join(ROLES)}; got {sorted(set(roles.values()))}")
    if reference is None:
        pairs = list(combinations(known, 2))
    else:
        pairs = [(name, reference) for name in known if name != reference]
    designs = [_contrast(known[a], known[b], names=(a, b)) for a, b in pairs]
    role = [roles.get(a) or roles.get(b) for a, b in pairs]
    judged = [one is None for one in role]
    frame = pd.DataFrame(pairs, columns=["system", "than"])
    frame["difference"] = [design.interval() for design in designs]
    frame["p"] = [design.p() for design in designs]
    frame["p_holm"] = np.nan
    frame.loc[judged, "p_holm"] = holm(frame["p"][judged])
    frame["detectable"] = [design.detectable() for design in designs]
    frame["decision"] = [
        one or _decision(design, p_holm, margin)
        for one, design, p_holm in zip(role, designs, frame["p_holm"], strict=True)
    ]
    return frame


def against_itself(runs: Runs, score: Score = ratio, *, clusters: Sequence | None = None) -> "pd.DataFrame":
    """Compare a system with itself: an even number of seeds, at least four, cut in two halves in every way.

    One row a cut, with `difference`, `p` and `alarm` (p < .05). An alarm is false: one row in twenty may have
    one. The rows share their seeds, so alarms come in groups.
    """
    import pandas as pd

    known = _jackknifed(runs, score, clusters)
    count = len(known.values)
    if count < 4 or count % 2:
        raise ValueError(f"an A/A control needs 4, 6, 8, … seeds to cut in halves, got {count}")
    rows = []
    for half in combinations(range(1, count), count // 2 - 1):
        first = [0, *half]
        second = [seed for seed in range(count) if seed not in first]
        halves = [Jackknife(known.values[part], known.left_out[part]) for part in (first, second)]
        design = _contrast(*halves, names=("one half", "the other"))
        rows.append({"difference": design.interval(), "p": design.p()})
    frame = pd.DataFrame(rows)
    return frame.assign(alarm=frame["p"] < 0.05)


def plan(
    design: Design, *, differences: Sequence[float] = (0.3, 1.0, 3.0), seeds: Sequence[int] = (3, 5, 8, 16)
) -> "pd.DataFrame":
    """Say how many rows would show each difference with power .8, by the number of seeds.

    The variances are those of `design`, e.g. of `contrast`. NaN: with so few seeds no number of rows would.
    """
    import pandas as pd

    table = [[_rows_needed(design, size, count) for count in seeds] for size in differences]
    frame = pd.DataFrame(table, columns=[f"rows, {count} seeds" for count in seeds], dtype="Int64")
    frame.insert(0, "difference", [f"±{size:g}" for size in differences])
    return frame


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


def _rows_needed(design: Design, size: float, seeds: int) -> int | None:
    low, high = 2, 10**8
    if design.planned(rows=high, seeds=seeds).power(size) < POWER:
        return None
    while low < high:
        middle = (low + high) // 2
        if design.planned(rows=middle, seeds=seeds).power(size) < POWER:
            low = middle + 1
        else:
            high = middle
    return low


def _decision(design: Design, p_holm: float, margin: float | None) -> str:
    if design.seed_units < 2:
        return "undecided"
    if margin is not None:
        above, below = design.p_above(-margin), design._replace(value=-design.value).p_above(-margin)
        if max(above, below) < 0.05:
            return "equivalent"
    if p_holm < 0.05:
        return "better" if design.value > 0 else "worse"
    return "undecided"


def _runs(stats: np.ndarray) -> np.ndarray:
    runs = np.asarray(stats, dtype=float)
    runs = runs[None] if runs.ndim == 2 else runs
    if runs.ndim != 3 or not runs.shape[0] or not runs.shape[1]:
        raise ValueError(f"stats must be (seeds, items, k) with at least one of each, got {runs.shape}")
    return runs


def _jackknifed(runs: Runs, score: Score, clusters: Sequence | None) -> Jackknife:
    if isinstance(runs, Jackknife):
        return runs
    units = np.stack([_cluster_sums(run, clusters) for run in _runs(runs)])
    if units.shape[1] < 2:
        raise ValueError("one item (or cluster) has no spread; an interval needs at least two")
    totals = units.sum(axis=1)
    return Jackknife(_checked(score(totals)), _checked(score(totals[:, None] - units)))


def _contrast(a: Jackknife, b: Jackknife, *, names: tuple[str, str]) -> Design:
    shapes = [part.left_out.shape for part in (a, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"{names[0]} has (seeds, items) {shapes[0]}, {names[1]} {shapes[1]}; compare the same items with "
            "as many seeds each (repeat the statistics of a system that has no seed)"
        )
    return Jackknife(a.values - b.values, a.left_out - b.left_out).design()


def _cluster_sums(stats: np.ndarray, clusters: Sequence | None) -> np.ndarray:
    if clusters is None:
        return stats
    if len(clusters) != len(stats):
        raise ValueError(f"stats has {len(stats)} rows but clusters has {len(clusters)}; one id per row")
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.zeros((index.max() + 1, stats.shape[1]))
    np.add.at(sums, index, stats)
    return sums


def _checked(scores: np.ndarray) -> np.ndarray:
    bad = np.count_nonzero(np.isnan(scores))
    if bad:
        raise ValueError(f"score is NaN in {bad} of {np.size(scores)} cases; define what 0/0 means in it")
    return scores
