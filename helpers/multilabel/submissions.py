"""A simulated competition: an organiser hides posts, models are validated locally and submitted.

`stage` divides the posts the way a competition does. `submit_models` trains each system once and writes down
what local validation, the public and the private leaderboard say; `agreement` asks how well the first
predicts the others. Probes of the same leaderboard live in `helpers.probing`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from helpers import statistics
from helpers.multilabel import folds
from helpers.multilabel.cross_fitting import RULES, Rule, cuts_for
from helpers.multilabel.ensembles import decide
from helpers.multilabel.experiment import Model, Posts, score_models
from helpers.multilabel.probing import Leaderboard, stratification_test
from helpers.multilabel.scores import f1_counts, macro_f1_of_counts
from helpers.statistics import Interval

TRAIN, VALIDATION, HIDDEN = 0, 1, 2


class Stage(NamedTuple):
    """Who sees what."""

    part: NDArray  # (posts,): TRAIN, VALIDATION or HIDDEN
    public: NDArray[np.bool_]  # (hidden posts,): those behind the public score


def stage(
    labels: NDArray,
    *,
    hidden: float,
    public: float,
    validation: float = 0.25,
    stratified: bool,
    seed: int = 0,
) -> Stage:
    """Hide a share of the posts, make a share of those public, and hold out some of the others."""

    def choose(rows: NDArray, share: float) -> NDArray:
        if stratified:
            return rows[folds.holdout(labels[rows], share=share, seed=seed)]
        return np.random.default_rng(seed).permutation(rows)[: round(share * rows.size)]

    part = np.full(len(labels), TRAIN)
    part[choose(np.arange(len(labels)), hidden)] = HIDDEN
    rest, secret = np.flatnonzero(part != HIDDEN), np.flatnonzero(part == HIDDEN)
    part[rest[folds.holdout(labels[rest], share=validation, seed=seed)]] = VALIDATION
    return Stage(part, np.isin(secret, choose(secret, public)))


def compare_organisers(labels: NDArray, *, hidden: float, public: float, seed: int = 0) -> pd.DataFrame:
    """Let one organiser stratify and one draw lots; return what the public counts give away of each."""
    rows = []
    for name, stratified in (("stratified", True), ("at random", False)):
        staged = stage(labels, hidden=hidden, public=public, stratified=stratified, seed=seed)
        secret = staged.part == HIDDEN
        counts, n_rows = labels[secret][staged.public].sum(axis=0), int(staged.public.sum())
        test = stratification_test(counts, n_rows=n_rows, labels=labels[~secret])
        rows.append({"organiser splits": name, "distance": test.distance, "p if random": test.p_random})
    return pd.DataFrame(rows)


def submit_models(
    systems: Mapping[str, Model],
    posts: Posts,
    staged: Stage,
    board: Leaderboard,
    *,
    rule: Rule = RULES["plug-in, Platt"],
    samples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return one row per system: local macro-F1 with its interval, public and private score.

    Thresholds are fitted on the validation posts. The local score is cross-fitted inside them, so it does not
    flatter; the submission uses the thresholds of all of them.
    """
    rows = []
    validation, hidden = staged.part == VALIDATION, staged.part == HIDDEN
    inner = folds.assign(posts.labels[validation], seed=seed)
    left_out = (VALIDATION, HIDDEN)
    scored = score_models(systems, posts, staged.part, left_out=[left_out], seed=seed)
    for name in systems:
        scores = scored[name][left_out]
        gold, own = posts.labels[validation], scores[validation]
        counts = f1_counts(gold, decide(rule, gold, own, inner))
        if board.today == board.daily_limit:
            board.next_day()
        public = board.submit(scores[hidden] >= cuts_for(rule, gold, own), name=name)
        local = statistics.bootstrap(counts, macro_f1_of_counts, samples=samples)
        rows.append({"system": name, "local": local, "public": public, "private": board.history[-1][2]})
    return pd.DataFrame(rows)


def agreement(frame: pd.DataFrame) -> pd.DataFrame:
    """Return Pearson's r, with Fisher's interval, and the mean gap between each two of the three scores."""
    scores = {
        "local": [interval.value for interval in frame["local"]],
        "public": frame["public"].tolist(),
        "private": frame["private"].tolist(),
    }
    rows = []
    for one, other in (("local", "public"), ("local", "private"), ("public", "private")):
        a, b = np.array(scores[one]), np.array(scores[other])
        gap = statistics.mean_interval(b - a)
        rows.append({"scores": f"{one} ↔ {other}", "correlation": correlation(a, b), "gap": gap})
    return pd.DataFrame(rows)


def correlation(a: NDArray, b: NDArray, *, level: float = 0.95) -> Interval:
    """Return Pearson's r with its interval by Fisher's transformation; needs four pairs that vary."""
    from scipy.stats import pearsonr

    if len(a) < 4 or np.ptp(a) == 0 or np.ptp(b) == 0:
        raise ValueError(f"a correlation needs at least 4 pairs of varying scores, got {len(a)}")
    result = pearsonr(a, b)
    return Interval(float(result.statistic), *map(float, result.confidence_interval(level)))
