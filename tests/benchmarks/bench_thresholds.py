"""F1 thresholds: the exact sweep against the study's grid and against scikit-learn's own tuner."""

from functools import lru_cache

import numpy as np

from tests.benchmarks.harness import Limit, Race

CLASSES = 10
SEED = 0


@lru_cache(maxsize=4)
def data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten classes of 4 to 50 % positives with overlapping scores: labels (rows, 10), scores (rows, 10)."""
    from scipy.special import expit

    rng = np.random.default_rng(SEED)
    margin = rng.normal(0, 1.5, (rows, CLASSES)) - np.linspace(3.5, 0.0, CLASSES)
    return (rng.random(margin.shape) < expit(margin)).astype(np.int64), expit(margin)


def ours(given: tuple[np.ndarray, np.ndarray]) -> list[tuple[float, float]]:
    """The exact optimum of each class."""
    from helpers.multilabel.thresholds import best_f1_threshold

    return [best_f1_threshold(y, p) for y, p in zip(given[0].T, given[1].T, strict=True)]


def ours_on_grid(given: tuple[np.ndarray, np.ndarray]) -> list[tuple[float, float]]:
    """The study's answer, counted by two sorts."""
    from helpers.multilabel.thresholds import legacy_grid_threshold

    return [legacy_grid_threshold(y, p) for y, p in zip(given[0].T, given[1].T, strict=True)]


def legacy(given: tuple[np.ndarray, np.ndarray]) -> list[tuple[float, float]]:
    """The study's procedure: 100 points, one scikit-learn call each, for every class."""
    from sklearn.metrics import f1_score

    from helpers.multilabel.thresholds import LEGACY_GRID

    found = []
    for y, p in zip(given[0].T, given[1].T, strict=True):
        scores = [f1_score(y, (p >= cut).astype(int), zero_division=0) for cut in LEGACY_GRID]
        best = int(np.argmax(scores))
        found.append((float(LEGACY_GRID[best]), scores[best]))
    return found


def peer(given: tuple[np.ndarray, np.ndarray]) -> list[tuple[float, float]]:
    """scikit-learn's TunedThresholdClassifierCV on a fitted model whose probabilities are the scores."""
    from sklearn.model_selection import TunedThresholdClassifierCV

    found = []
    for y, p in zip(given[0].T, given[1].T, strict=True):
        tuner = TunedThresholdClassifierCV(
            _Scores().fit(p[:, None], y), scoring="f1", cv="prefit", refit=False
        )
        tuner.fit(p[:, None], y)
        found.append((float(tuner.best_threshold_), float(tuner.best_score_)))
    return found


def never_worse(exact: list[tuple[float, float]], other: list[tuple[float, float]]) -> bool:
    """The exact optimum is at least the other's on every class, and within a hundredth of it."""
    gaps = [ours_f1 - other_f1 for (_, ours_f1), (_, other_f1) in zip(exact, other, strict=True)]
    return min(gaps) >= -1e-12 and max(gaps) < 0.01


def same(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> bool:
    return bool(np.allclose(one, other, atol=1e-12))


def a_million_rows() -> float:
    """Seconds for ten classes of a million rows each."""
    from time import perf_counter

    given = data(1_000_000)
    started = perf_counter()
    ours(given)
    return perf_counter() - started


def cases() -> list[Race | Limit]:
    return [
        Race(
            name="F1 thresholds",
            work="best F1 threshold of ten classes, exact over all cut points",
            data=data,
            ours=ours,
            others={"100-point grid (legacy)": legacy, "TunedThresholdClassifierCV": peer},
            sizes=(10_000,),
            unit="rows",
            equal=never_worse,
            targets={"100-point grid (legacy)": 300.0, "TunedThresholdClassifierCV": 50.0},
            repeats=3,
            explanation="equal: the exact optimum is never below the other's, nor a hundredth above it",
        ),
        Race(
            name="F1 thresholds on the grid",
            work="the study's own 100-point answer for ten classes, counted by two sorts",
            data=data,
            ours=ours_on_grid,
            others={"100-point grid (legacy)": legacy},
            sizes=(10_000,),
            unit="rows",
            equal=same,
            targets={"100-point grid (legacy)": 300.0},
            repeats=3,
        ),
        Race(
            name="F1 thresholds, scaling",
            work="ten classes at a hundred thousand rows; the slope is over three sizes",
            data=data,
            ours=ours,
            others={"argsort and cumulative sums": by_argsort},
            sizes=(10_000, 30_000, 100_000),
            unit="rows",
            equal=same,
            explanation="the other sweep is as exact; it shows what leaving out the argsort is worth",
        ),
        Limit(
            name="F1 thresholds, 1,000,000 × 10",
            work="best F1 threshold of ten classes of a million rows",
            measure=a_million_rows,
            limit=3.0,
            unit="s",
        ),
    ]


def by_argsort(given: tuple[np.ndarray, np.ndarray]) -> list[tuple[float, float]]:
    """The textbook sweep: sort rows by score, accumulate, look at the last of equal scores."""
    found = []
    for y, p in zip(given[0].T, given[1].T, strict=True):
        order = np.argsort(-p)
        ranked, hits = p[order], np.cumsum(y[order])
        f1 = np.where(np.append(ranked[1:] != ranked[:-1], True), 2.0 * hits, 0.0)
        f1 /= np.arange(1, p.size + 1) + hits[-1]
        best = int(np.argmax(f1))
        found.append((float(ranked[best]), float(f1[best])))
    return found


def _Scores():  # noqa: N802 - a class whose base is imported late
    """Return an estimator whose probability of the positive class is its only feature."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Scores(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.array([0, 1])
            return self

        def predict_proba(self, X):
            return np.column_stack([1 - X[:, 0], X[:, 0]])

        def predict(self, X):
            return (X[:, 0] >= 0.5).astype(int)

    return Scores()
