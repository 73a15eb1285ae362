"""Worlds in which the truth is known, and how often `helpers.statistics` is right about them.

Small in the tests (seconds), large in `make bench` (minutes). Scores are hits in percent unless a function
says otherwise; every rate returned is a share of the simulated cases.
"""

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from helpers import statistics
from helpers.statistics import Design, Interval


def two_systems(rng, *, seeds: int, rows: int, spread: float, gain: float = 0.0) -> list[np.ndarray]:
    """Draw hits (seeds, rows, 2) of two systems; the first is `gain` points better.

    Items are easy for both or for one of them, and seeds differ by `spread` points (one SD). Both make rows
    matter to the difference, as a second data set would.
    """
    shared = rng.random(rows)
    systems = []
    for level in (0.5 + gain / 200, 0.5 - gain / 200):
        seed = rng.normal(0, spread / 100, (seeds, 1))
        chance = level + seed + 0.3 * (shared - 0.5) + 0.3 * (rng.random(rows) - 0.5)
        hits = rng.random((seeds, rows)) < chance
        systems.append(np.stack([100.0 * hits, np.ones(hits.shape)], axis=-1))
    return systems


def differences(rng, **world) -> Iterator[Design]:
    """Yield the difference of two such systems, case by case, without end."""
    while True:
        yield statistics.contrast(*two_systems(rng, **world))


def found(cases: int, *, seed: int = 0, **world) -> float:
    """How often a difference is called real: with gain 0 the type I error, else the power."""
    designs = islice(differences(np.random.default_rng(seed), **world), cases)
    return float(np.mean([low > 0 or high < 0 for _, low, high in (design.interval() for design in designs)]))


def worst_alarms(cases: int, *, seeds: int, rows: int, spreads=(0.0, 0.5, 1.0, 3.0)) -> float:
    """The largest type I error over seeds that do not differ at all and that differ by up to 3 points."""
    return max(found(cases, seed=k, seeds=seeds, rows=rows, spread=s) for k, s in enumerate(spreads))


def expected(*, pilots: int = 200, seed: int = 99, **world) -> Design:
    """The design of a world with its variances averaged over many experiments: what a planner would know."""
    designs = np.array(list(islice(differences(np.random.default_rng(seed), **world), pilots)))
    rows, seeds, interaction = designs[:, 1:4].mean(axis=0)
    return Design(0.0, rows, seeds, interaction, world["rows"], world["seeds"])


def power_error(cases: int, *, seeds: int, rows: int, spread: float) -> float:
    """How far the power at the planned detectable difference is from .8."""
    world = {"seeds": seeds, "rows": rows, "spread": spread}
    gain = expected(**world).detectable()
    return abs(found(cases, gain=gain, **world) - statistics.POWER)


def called_equivalent(cases: int, *, margins: float = 1.5, seed: int = 0, **world) -> float:
    """How often "equivalent" is said where the difference is the margin: `margins` times the detectable."""
    margin = margins * expected(**world).detectable()
    designs = islice(differences(np.random.default_rng(seed), gain=margin, **world), cases)
    # what `compare` calls for each pair, without the detectable difference, which takes most of its time
    return float(np.mean([statistics._decision(design, 1.0, margin) == "equivalent" for design in designs]))


def decided_with_one_seed(cases: int, *, rows: int = 500) -> float:
    """How often two systems 40 points apart are told apart after one seed each."""
    rng = np.random.default_rng(0)
    decisions = []
    for _ in range(cases):
        a, b = two_systems(rng, seeds=1, rows=rows, spread=1.0, gain=40.0)
        decisions.append(statistics.compare({"a": a, "b": b}, margin=60.0)["decision"][0])
    return float(np.mean([decision != "undecided" for decision in decisions]))


def missed(intervals: list[Interval], truth: float) -> float:
    """One minus the coverage."""
    return float(np.mean([not low <= truth <= high for _, low, high in intervals]))


def level_missed(cases: int, *, seeds: int, rows: int, spread: float) -> float:
    """Intervals of one system's hits that do not hold its true level, .5: rows and seeds."""
    rng = np.random.default_rng(1)
    draws = (two_systems(rng, seeds=seeds, rows=rows, spread=spread)[0] for _ in range(cases))
    return missed([statistics.estimate(runs).interval() for runs in draws], 50.0)


def documents(rng, *, count: int, rate: float, seeds: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Draw hits (seeds, items, 2) of items in a few documents, some of them easy; and their documents."""
    sizes, easy = rng.integers(3, 12, count), rng.beta(4 * rate, 4 * (1 - rate), count)
    names = np.repeat(np.arange(count), sizes)
    hits = rng.random((seeds, names.size)) < easy[names]
    return np.stack([hits.astype(float), np.ones(hits.shape)], axis=-1), names


def share_missed(cases: int, *, count: int, rate: float) -> float:
    """Intervals of a share that do not hold it, from items of `count` documents."""
    rng = np.random.default_rng(2)
    drawn = (documents(rng, count=count, rate=rate) for _ in range(cases))
    return missed([statistics.share(stats[0], clusters=names) for stats, names in drawn], rate)


def clustered_missed(cases: int, *, count: int, seeds: int = 3) -> float:
    """Intervals of a difference of two equal systems, over documents and seeds, that leave 0 out."""
    rng = np.random.default_rng(3)
    intervals = []
    for _ in range(cases):
        stats, names = documents(rng, count=count, rate=0.3, seeds=2 * seeds)
        own = rng.random((2, count))[:, names] < 0.1  # documents that one of the systems cannot read
        stats[:seeds, :, 0] *= ~own[0]
        stats[seeds:, :, 0] *= ~own[1]
        intervals.append(statistics.contrast(stats[:seeds], stats[seeds:], clusters=names).interval())
    return missed(intervals, 0.0)


def relations(rng, *, rows: int, seeds: int, spread: float = 0.03) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels (rows,) with the long tail of the sample's dev set, and probabilities (seeds, rows, 30)."""
    from scipy.special import softmax

    from helpers.sample_world import PLANTED

    rates = np.array(list(PLANTED["relations"]["rates"]["dev"].values()))
    gold = rng.choice(len(rates), rows, p=rates / rates.sum())
    right = np.arange(len(rates)) == gold[:, None]
    logits = rng.normal(0, 1, (rows, len(rates))) + 0.5 * np.log(rates) + 2.2 * right
    seed = right * rng.normal(0, spread, (seeds, 1, 1))
    return gold, softmax(logits + seed + rng.normal(0, 0.7, (seeds, *logits.shape)), axis=-1)


def auprc_missed(cases: int, *, rows: int, seeds: int) -> float:
    """Intervals of AUPRC, by leaving groups of rows out, that do not hold the AUPRC of 200,000 rows."""
    from helpers.relations.scores import auprc

    rng = np.random.default_rng(4)
    gold, probabilities = relations(rng, rows=200_000, seeds=1, spread=0.0)
    truth = auprc(gold, probabilities[0])
    intervals = []
    for _ in range(cases):
        gold, probabilities = relations(rng, rows=rows, seeds=seeds)
        levels = statistics.regrouped(_auprc_of(gold, probabilities), rows)
        intervals.append(statistics.estimate(levels).interval())
    return missed(intervals, truth)


def auprc_alarms(cases: int, *, rows: int, seeds: int) -> float:
    """Intervals of the difference of two equal systems' AUPRC that leave 0 out."""
    rng = np.random.default_rng(5)
    intervals = []
    for _ in range(cases):
        gold, probabilities = relations(rng, rows=rows, seeds=2 * seeds)
        a, b = (
            statistics.regrouped(_auprc_of(gold, part), rows)
            for part in (probabilities[:seeds], probabilities[seeds:])
        )
        intervals.append(statistics.contrast(a, b).interval())
    return missed(intervals, 0.0)


def _auprc_of(gold: np.ndarray, probabilities: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    from helpers.relations.scores import auprc

    return lambda kept: np.array([auprc(gold[kept], run[kept]) for run in probabilities])


def threshold_missed(cases: int, *, rows: int, classes: int = 4, truths: int = 2000) -> float:
    """Intervals of a cross-fitted difference of two threshold rules that do not hold its expectation.

    Held-out macro-F1 of the exact optimum minus that of matched rates; thresholds are fitted on four folds
    and decide about the fifth, and are fitted anew whenever rows are left out.
    """
    rng = np.random.default_rng(6)
    truth = np.mean([_rules_difference(*_posts(rng, rows, classes)) for _ in range(truths)])
    intervals = []
    for _ in range(cases):
        labels, scores, folds = _posts(rng, rows, classes)
        refitted = statistics.regrouped(
            lambda kept, given=(labels, scores, folds): _rules_difference(*(part[kept] for part in given)),
            rows,
        )
        intervals.append(refitted.design().interval())
    return missed(intervals, float(truth))


def _posts(rng, rows: int, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from scipy.special import expit

    rates = np.linspace(0.05, 0.4, classes)
    labels = rng.random((rows, classes)) < rates
    scores = expit(rng.normal(0, 1, labels.shape) + 1.5 * labels - 2)
    return labels, scores, rng.permutation(np.arange(rows) % 5)


def _rules_difference(labels: np.ndarray, scores: np.ndarray, folds: np.ndarray) -> float:
    from helpers.multilabel.thresholds import best_f1_threshold, match_rate_threshold

    counts = np.zeros((2, labels.shape[1], 3))
    for fold in range(5):
        fit, test = folds != fold, folds == fold
        for c, (y, p) in enumerate(zip(labels.T, scores.T, strict=True)):
            cuts = best_f1_threshold(y[fit], p[fit])[0], match_rate_threshold(p[fit], y[fit].mean())
            for rule, cut in enumerate(cuts):
                said = p[test] >= cut
                counts[rule, c] += (said & y[test]).sum(), said.sum(), y[test].sum()
    optimum, matched = statistics.f1(counts).mean(axis=-1)
    return float(optimum - matched)
