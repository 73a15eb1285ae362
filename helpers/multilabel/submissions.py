"""A simulated competition: an organiser hides posts, and a leaderboard scores what is submitted.

`stage` divides the posts the way a competition does, `Leaderboard` prints rounded public scores and keeps the
private ones. Probes of the leaderboard are in `probing`.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from helpers.multilabel import folds
from helpers.multilabel.scores import macro_f1
from helpers.statistics import Interval

TRAIN, VALIDATION, HIDDEN = 0, 1, 2


class Stage(NamedTuple):
    """Who sees what."""

    part: NDArray  # (posts,): TRAIN, VALIDATION or HIDDEN
    public: NDArray[np.bool_]  # (hidden posts,): those behind the public score


def stage(
    labels: NDArray, *, hidden: float, public: float, validation: float, stratified: bool, seed: int = 0
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


@dataclass
class Leaderboard:
    """Rounded public scores, and private scores kept until the end; noise, the Ladder and a limit defend it.

    `gold: (rows, classes)`, `public: (rows,)` true for the rows behind the public score.
    """

    gold: NDArray
    public: NDArray[np.bool_]
    decimals: int = 5
    noise: float = 0.0  # standard deviation of what is added to every score
    ladder: float = 0.0  # step: only a score that is better by it is printed, rounded to it (Blum & Hardt)
    limit: int | None = None  # submissions that are taken
    seed: int = 0  # of the noise
    history: list[tuple[str, float, float]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.gold, self.public = np.asarray(self.gold), np.asarray(self.public, dtype=bool)
        if len(self.gold) != len(self.public) or not self.public.any() or self.public.all():
            raise ValueError("public must mark some, not all, of the rows of gold as public")

    def submit(self, predicted: NDArray, name: str = "") -> float:
        """Return the public score as the board prints it; refuse more submissions than it takes."""
        if self.limit is not None and len(self.history) >= self.limit:
            raise ValueError(f"this board takes {self.limit} submissions, and has them: the attack ends here")
        if np.shape(predicted) != self.gold.shape:
            raise ValueError(f"submission: expected shape {self.gold.shape}, got {np.shape(predicted)}")
        hidden = ~self.public
        score = self._printed(macro_f1(self.gold[self.public], predicted[self.public]))
        self.history.append((name, score, macro_f1(self.gold[hidden], predicted[hidden])))
        return score

    def _printed(self, score: float) -> float:
        if self.noise:
            score += np.random.default_rng([self.seed, len(self.history)]).normal(0.0, self.noise)
        if self.ladder:
            best = max((printed for _, printed, _ in self.history), default=0.0)
            score = self.ladder * round(score / self.ladder) if score > best + self.ladder else best
        return round(float(score), self.decimals)

    def reveal(self) -> pd.DataFrame:
        """Close the competition: public and private score of every submission."""
        return pd.DataFrame(self.history, columns=["submission", "public", "private"])


def correlation(a: NDArray, b: NDArray) -> Interval:
    """Return Pearson's r with its 95 % interval by Fisher's transformation; needs four pairs that vary."""
    from scipy.stats import pearsonr

    if len(a) < 4 or np.ptp(a) == 0 or np.ptp(b) == 0:
        raise ValueError(f"a correlation needs at least 4 pairs of varying scores, got {len(a)}")
    result = pearsonr(a, b)
    return Interval(float(result.statistic), *map(float, result.confidence_interval(0.95)))
