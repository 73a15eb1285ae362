"""What a series of checkpoints shows, and what is noise: scores, paired tests, a stopping rule.

Everything works on answers item by item: a long frame with `run` and `step` of the checkpoint, `id` and
`document` of the item, and the measures (`hit1`, …). Scores are in percent, with 95 % intervals; items of one
document are drawn together.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers import statistics
from helpers.statistics import Comparison, Interval

REAL = {"Real@1": "hit1", "Real@5": "hit5"}


def percent(answers: pd.DataFrame, measure: str = "hit1") -> Interval:
    """Return the mean of a measure in percent with its interval.

    Where all answers are right or all wrong no resample varies; Wilson's interval over documents then says
    what may have been missed.
    """
    values = answers[measure].astype(float)
    if values.nunique() == 1 and values.iloc[0] in (0.0, 1.0):
        n = answers["document"].nunique() if "document" in answers else len(answers)
        value, low, high = statistics.wilson(int(values.iloc[0]) * n, n)
        interval = Interval(value, min(low, value), max(high, value))  # rounding may put 0 below its bound
    else:
        interval = statistics.bootstrap(_stats(values), clusters=answers.get("document"))
    return interval.scaled(100)


def scores(answers: pd.DataFrame, by: Sequence[str], measures: Mapping[str, str] = REAL) -> pd.DataFrame:
    """Return one row per group, in order of appearance, with an Interval for every measure."""
    rows = []
    for key, group in answers.groupby(list(by), sort=False, observed=True):
        values = {name: percent(group, measure) for name, measure in measures.items()}
        rows.append({**dict(zip(by, key, strict=True)), **values})
    return pd.DataFrame(rows, columns=[*by, *measures])


def difference(before: pd.DataFrame, after: pd.DataFrame) -> Comparison:
    """Return after - before in Real@1, in points, on the same items."""
    a, b = _aligned(before, after)
    paired = statistics.paired_bootstrap(_stats(a["hit1"]), _stats(b["hit1"]), clusters=a["document"])
    return Comparison(paired.difference.scaled(100), paired.p)


def differences(pairs: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]) -> pd.DataFrame:
    """Compare every named pair (before, after); Holm over all of them decides which differences stand."""
    rows = [(name, *difference(*pair)) for name, pair in pairs.items()]
    frame = pd.DataFrame(rows, columns=["question", "difference", "p"])
    adjusted = statistics.holm(frame["p"])
    return frame.assign(holm=adjusted, stands=adjusted < 0.05)


def one_standard_error(answers: pd.DataFrame) -> int:
    """Return the earliest step of a run whose Real@1 is within one standard error of the best one's.

    The error is that of the difference to the best, paired by item and clustered by document: items that both
    get right say nothing about which is better.
    """
    best = answers.groupby("step")["hit1"].mean().idxmax()
    top = answers[answers["step"] == best]
    for step in sorted(answers["step"].unique()):
        a, b = _aligned(answers[answers["step"] == step], top)
        gap = (b["hit1"].astype(float) - a["hit1"].astype(float)).to_numpy()
        if step == best or gap.mean() <= clustered_error(gap, a["document"]):
            return int(step)
    raise AssertionError("the best step is among the steps")


def clustered_error(values: np.ndarray, clusters: Sequence) -> float:
    """Return the standard error of a mean whose values come in clusters.

    >>> clustered_error(np.array([1.0, 1.0, 0.0, 0.0]), ["a", "a", "b", "b"])  # two draws, not four
    0.5
    """
    values = np.asarray(values, dtype=float)
    sums = pd.Series(values - values.mean()).groupby(np.asarray(clusters)).sum().to_numpy()
    count = len(sums)
    if count < 2:
        return 0.0
    return float(np.sqrt((sums**2).sum() * count / (count - 1)) / len(values))


def _stats(values: pd.Series) -> np.ndarray:
    numbers = values.astype(float).to_numpy()
    return np.column_stack([numbers, np.ones(len(numbers))])


def _aligned(before: pd.DataFrame, after: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    a, b = before.sort_values("id", kind="stable"), after.sort_values("id", kind="stable")
    if a["id"].tolist() != b["id"].tolist():
        missing = set(a["id"]) ^ set(b["id"])
        raise ValueError(
            f"the two sides were not asked the same items ({len(missing)} differ); evaluate both on one set"
        )
    return a.reset_index(drop=True), b.reset_index(drop=True)
