"""What a leaderboard gives away: constant-one probes and the integer counts behind rounded scores.

Predict 1 for one class and 0 for the others: a class with b of n positive rows has F1 = 2b / (n + b), and the
macro average over K classes prints F1 / K. Since b is an integer, a rounded score leaves a handful of counts,
often one. `probe` asks the simulated leaderboard of `submissions`; `write_probes` and `read_scores` serve a
real one. Whether its rules allow probing is for the organisers to say.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from helpers.multilabel.submissions import Leaderboard

# A leaderboard computes in doubles before it rounds: a tie may fall either way by an ulp, never by this much.
SLACK = Fraction(1, 10**12)
# Rows off the proportional share and their weight: iterative stratification on ten labels misses by 0 to 2.
STRATIFIED = {-2: 0.04, -1: 0.25, 0: 1.0, 1: 0.25, 2: 0.04}


def positives_from_score(score: float, n_rows: int, n_classes: int, decimals: int) -> range:
    """Return every count of positive rows that a constant-one probe of one class can have printed as `score`.

    Exact rational arithmetic. Both ends of the rounding interval count, since half-even and half-up are both
    in use. The range is empty for a score that no count explains.

    >>> list(positives_from_score(0.01258, n_rows=1147, n_classes=10, decimals=5))
    [77]
    """
    low, high = _printed(score, n_rows, n_classes, decimals)
    if high < 0 or low > 1:
        return range(0)
    least, most = _count(max(low, Fraction(0)), n_rows), _count(min(high, Fraction(1)), n_rows)
    return range(math.ceil(least), math.floor(most) + 1)


def probe_score(positives: int | NDArray, n_rows: int, n_classes: int) -> float | NDArray:
    """Return the unrounded score of a constant-one probe: F1 / classes."""
    return 2.0 * positives / (n_rows + positives) / n_classes


def rows_from_scores(
    scores: Sequence[float], *, n_classes: int, decimals: int, candidates: range
) -> list[int]:
    """Return the row counts under which every probe has an integer count behind it.

    At five decimals a wrong row count survives one probe about one time in ten, so ten probes name the size
    of a public split that the organisers never published.
    """
    n = np.array(candidates)
    alive = np.ones(n.size, dtype=bool)
    half = 0.5 * 10.0**-decimals + float(SLACK)
    for score in scores:
        low, high = (np.clip(n_classes * (score + sign * half), 0.0, 1.0) for sign in (-1, 1))
        alive &= np.floor(high * n / (2.0 - high) + 1e-9) >= np.ceil(low * n / (2.0 - low) - 1e-9)
    return n[alive].tolist()


def recover(scores: Mapping[str, float], *, n_rows: int, n_classes: int, decimals: int) -> pd.DataFrame:
    """Return one row per probed class: score, admissible counts (fewest, most, how many) and share of rows.

    A score that no integer explains raises an error that names the class and the nearest possible scores.
    """
    rows = []
    for name, score in scores.items():
        counts = positives_from_score(score, n_rows, n_classes, decimals)
        if not counts:
            raise ValueError(_impossible(name, score, n_rows, n_classes, decimals))
        middle = (counts[0] + counts[-1]) / 2
        rows.append((name, score, counts[0], counts[-1], len(counts), middle / n_rows))
    return pd.DataFrame(rows, columns=["class", "score", "fewest", "most", "candidates", "rate"])


def joint_counts(
    score: float, *, priors: Sequence[Mapping[int, float]], n_rows: int, n_classes: int, decimals: int
) -> pd.DataFrame:
    """Return the count vectors that explain one probe of several classes at once, the likeliest first.

    `priors` gives, per probed class, the believable counts and their weights: see `split_prior`. The frame
    has one column per class and the posterior `probability`; it is empty where the prior excludes the score.
    """
    low, high = _printed(score, n_rows, n_classes, decimals)
    vectors, totals, weights = _joint(priors, n_rows)
    inside = (totals >= float(low) - 1e-12) & (totals <= float(high) + 1e-12)
    frame = pd.DataFrame(vectors[inside], columns=range(len(priors)))
    frame["probability"] = weights[inside] / max(weights[inside].sum(), 1e-300)
    return frame.sort_values("probability", ascending=False, ignore_index=True)


def split_prior(count: int, *, total: int, n_rows: int, stratified: bool) -> dict[int, float]:
    """Return how likely each count of positives is in a hidden split, given `count` of `total` training rows.

    Random split: a beta-binomial, wide. Stratified split: the proportional share, give or take two rows.
    """
    from scipy.stats import betabinom

    if stratified:
        centre = round(count / total * n_rows)
        return {centre + off: w for off, w in STRATIFIED.items() if 0 <= centre + off <= n_rows}
    prior = betabinom(n_rows, count + 0.5, total - count + 0.5)
    low, high = int(prior.ppf(1e-4)), int(prior.ppf(1 - 1e-4))
    return {k: float(prior.pmf(k)) for k in range(low, high + 1)}


def probe_bits(priors: Sequence[Mapping[int, float]], *, n_rows: int, n_classes: int, decimals: int) -> float:
    """Return the expected bits that one probe of these classes buys: the entropy of the score it prints."""
    _, totals, weights = _joint(priors, n_rows)
    printed = np.round(totals / n_classes, decimals)
    _, index = np.unique(printed, return_inverse=True)
    share = np.bincount(index, weights=weights)
    share = share[share > 0] / share.sum()
    return float(-(share * np.log2(share)).sum())


class SplitTest(NamedTuple):
    """How far the counts of a hidden split are from proportional, and how often chance comes that close."""

    distance: float  # mean squared standardised deviation; 1 is expected of a random split
    p_random: float  # share of random splits at least as close to proportional


def stratification_test(
    counts: ArrayLike, *, n_rows: int, labels: NDArray, draws: int = 20_000, seed: int = 0
) -> SplitTest:
    """Ask whether hidden `counts` are closer to the training proportions than a random split would be.

    `labels: (rows, classes)` of the training set. Deviations are standardised by their variance under random
    sampling of both sets; classes that occur together deviate together, so the null distribution is drawn
    with the correlation of the labels. A small `p_random` says: somebody stratified.
    """
    labels = np.asarray(labels, dtype=float)
    counts, total = np.asarray(counts, dtype=float), len(labels)
    pooled = (labels.sum(axis=0) + counts) / (total + n_rows)
    if not ((pooled > 0) & (pooled < 1)).all():
        raise ValueError(
            "a class that is always or never positive says nothing about the split; leave it out"
        )
    spread = np.sqrt(n_rows * pooled * (1 - pooled) * (1 + n_rows / total))
    distance = float(np.mean(((counts - n_rows * labels.mean(axis=0)) / spread) ** 2))
    rng = np.random.default_rng(seed)
    null = rng.multivariate_normal(np.zeros(counts.size), np.corrcoef(labels.T), size=draws, method="eigh")
    closer = np.count_nonzero((null**2).mean(axis=1) <= distance)
    return SplitTest(distance, (closer + 1) / (draws + 1))


def probe(board: Leaderboard, columns: Sequence[int]) -> float:
    """Submit 1 for every row of some classes and 0 elsewhere; return the score printed."""
    predicted = np.zeros_like(board.gold)
    predicted[:, list(columns)] = 1
    return board.submit(predicted, name=f"probe {columns}")


def attack(board: Leaderboard, *, labels: NDArray, submissions: int) -> pd.DataFrame:
    """Probe a board that may defend itself: what is known of the public counts after each submission.

    `labels` of the training rows give the attacker's prior (a random split); the defence is known, too.
    Against noise each class is asked again and again. Against the Ladder classes are added one by one, so
    that every probe is an improvement: how much of one is known to about a step. Columns: `submissions`,
    `bits` (log2 of posterior over prior at the true counts), `recovered` (classes whose likeliest count is
    the true one). A submission limit ends it.
    """
    from scipy.stats import betabinom

    n_rows, n_classes = int(board.public.sum()), board.gold.shape[1]
    counts, truth = np.arange(n_rows + 1), board.gold[board.public].sum(axis=0)
    positive = labels.sum(axis=0)
    prior = np.stack([betabinom.logpmf(counts, n_rows, b + 0.5, len(labels) - b + 0.5) for b in positive])
    believed, scores = prior.copy(), np.asarray(probe_score(counts, n_rows, n_classes))
    order = np.argsort(-positive, kind="stable").tolist()  # a frequent class is the larger improvement
    rows = []
    for number in range(submissions if board.limit is None else min(submissions, board.limit)):
        believed[order[number % n_classes]] += _told(board, order, number, scores)
        posterior = believed - np.logaddexp.reduce(believed, axis=1, keepdims=True)
        bits = (posterior - prior)[np.arange(n_classes), truth].sum() / math.log(2)
        recovered = int((posterior.argmax(axis=1) == truth).sum())
        rows.append({"submissions": number + 1, "bits": float(bits), "recovered": recovered})
    return pd.DataFrame(rows)


def _told(board: Leaderboard, order: list[int], number: int, scores: NDArray) -> NDArray:
    """Submit the next probe of an attack; return the log-likelihood of every count of the class it asks."""
    from scipy.stats import norm

    if board.noise:
        return norm.logpdf(probe(board, [order[number % len(order)]]), loc=scores, scale=board.noise)
    slack = 0.5 * 10.0**-board.decimals + float(SLACK)
    if not board.ladder:
        printed = probe(board, [order[number % len(order)]])
        return np.where(np.abs(scores - printed) <= slack, 0.0, -np.inf)
    if number >= len(order):
        return np.zeros(scores.size)  # all classes are in: nothing is left to add
    earlier, before = [0.0, 0.0, *(printed for _, printed, _ in board.history)][-2:]
    gain = probe(board, order[: number + 1]) - before
    # An improvement is printed to half a step; without one, the sum may have grown by a step unseen.
    unseen = 1.0 if before > earlier or number == 0 else 1.5
    low, high = (gain - unseen * board.ladder, gain + board.ladder) if gain > 0 else (0.0, 1.5 * board.ladder)
    return np.where((scores >= low - 2 * slack) & (scores <= high + 2 * slack), 0.0, -np.inf)


def spread_groups(rates: ArrayLike, size: int) -> list[list[int]]:
    """Divide classes into groups of `size`, each from the rarest to the most frequent.

    >>> spread_groups([0.5, 0.1, 0.3, 0.2], 2)
    [[1, 2], [3, 0]]
    """
    order = np.argsort(np.asarray(rates), kind="stable")
    groups = -(-order.size // size)
    return [order[start::groups].tolist() for start in range(groups)]


def write_probes(sample_submission: Path, folder: Path) -> list[Path]:
    """Write one probe file per class from a competition's sample submission; return the paths.

    The first column holds the ids, every other column is a class. `scores.csv` is written beside the probes,
    with an empty score per probe to fill in from the leaderboard.
    """
    sample = pd.read_csv(sample_submission)
    ids, *classes = sample.columns
    if not classes or sample[ids].duplicated().any():
        raise ValueError(f"{sample_submission}: expected a column of unique ids, then one column per class")
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for name in classes:
        blank = {other: int(other == name) for other in classes}
        paths.append(folder / f"probe_{len(paths):02d}.csv")
        sample.assign(**blank).to_csv(paths[-1], index=False)
    sheet = pd.DataFrame({"file": [path.name for path in paths], "class": classes, "score": ""})
    sheet.to_csv(folder / "scores.csv", index=False)
    return paths


def read_scores(path: Path) -> dict[str, float]:
    """Read the filled-in `scores.csv` back as {class: score}; refuse gaps and what is no score."""
    sheet = pd.read_csv(path, dtype={"class": str, "score": str})
    if missing := {"class", "score"} - set(sheet.columns):
        raise ValueError(
            f"{path}: no column {', '.join(sorted(missing))}; keep the header write_probes wrote"
        )
    scores = pd.to_numeric(sheet["score"], errors="coerce")
    bad = sheet.loc[~scores.between(0, 1), "class"].tolist()
    if bad:
        raise ValueError(f"{path}: expected a score between 0 and 1 for every probe; check {', '.join(bad)}")
    return dict(zip(sheet["class"], scores.tolist(), strict=True))


def _printed(score: float, n_rows: int, n_classes: int, decimals: int) -> tuple[Fraction, Fraction]:
    """Return the closed interval of F1 sums (over classes) that print as `score`."""
    if n_rows < 1 or n_classes < 1 or decimals < 0:
        raise ValueError(
            f"expected n_rows and n_classes of at least 1 and decimals of at least 0, "
            f"got {n_rows}, {n_classes}, {decimals}"
        )
    if not math.isfinite(score):
        raise ValueError(f"score: expected a finite number, got {score!r}")
    exact = Fraction(str(score))  # the decimal digits that were printed, not their nearest double
    half = Fraction(1, 2 * 10**decimals) + SLACK
    return n_classes * (exact - half), n_classes * (exact + half)


def _count(f1: Fraction, n_rows: int) -> Fraction:
    """Invert F1 = 2b / (n + b)."""
    return f1 * n_rows / (2 - f1)


def _impossible(name: str, score: float, n_rows: int, n_classes: int, decimals: int) -> str:
    f1 = min(max(Fraction(str(score)) * n_classes, Fraction(0)), Fraction(1))
    below = min(math.floor(_count(f1, n_rows)), n_rows - 1)
    near = (f"{probe_score(b, n_rows, n_classes):.{decimals}f} ({b} positives)" for b in (below, below + 1))
    return (
        f"{name}: no whole number of positives among {n_rows} rows and {n_classes} classes prints {score} at "
        f"{decimals} decimals; the nearest are {' and '.join(near)}. "
        f"Check the score, the row count and the number of decimals"
    )


def _joint(priors: Sequence[Mapping[int, float]], n_rows: int) -> tuple[NDArray, NDArray, NDArray]:
    """Return all count vectors of the priors' product, their F1 sums and their weights."""
    vectors = np.array(list(product(*priors)), dtype=int)
    f1 = [2.0 * vectors[:, i] / (n_rows + vectors[:, i]) for i in range(len(priors))]
    weights = np.array([math.prod(w) for w in product(*(prior.values() for prior in priors))])
    return vectors, np.sum(f1, axis=0), weights
