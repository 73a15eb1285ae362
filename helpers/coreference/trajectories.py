"""What a series of checkpoints shows, and what is noise: curves, paired tests, a stopping rule.

Everything works on answers item by item: a long frame with `run` and `step` of the checkpoint, `id` and
`document` of the item, and the measures (`hit1`, …). Items of one document are drawn together.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import statistics
from helpers.statistics import Interval


def read_answers(evaluations: pd.DataFrame, *, file: str = "items.csv") -> pd.DataFrame:
    """Read the per-item files of evaluated checkpoints (rows with `folder`) into one long frame.

    The columns of `evaluations` that identify a checkpoint (`run`, `step`, …) are repeated on every item.
    """
    keys = [name for name in ("run", "experiment", "length", "epoch", "step") if name in evaluations]
    parts = []
    for row in evaluations[evaluations["status"] == "ok"].to_dict("records"):
        parts.append(pd.read_csv(Path(row["folder"], file)).assign(**{key: row[key] for key in keys}))
    if not parts:
        raise ValueError("no checkpoint could be evaluated; see the column `error`")
    return pd.concat(parts, ignore_index=True)


def interval(answers: pd.DataFrame, measure: str = "hit1") -> Interval:
    """Return the mean of a measure with its 95 % interval, documents drawn as a whole.

    Where all answers are right or all wrong no resample varies; Wilson's interval over documents then says
    what may have been missed.
    """
    values = answers[measure].astype(float)
    if values.nunique() == 1 and values.iloc[0] in (0.0, 1.0):
        n = answers["document"].nunique() if "document" in answers else len(answers)
        value, low, high = statistics.wilson(int(values.iloc[0]) * n, n)
        return Interval(value, min(low, value), max(high, value))  # rounding may put 0 below its own bound
    return statistics.bootstrap(_stats(answers[measure]), clusters=answers.get("document"))


def intervals(answers: pd.DataFrame, by: Sequence[str], measure: str = "hit1") -> pd.DataFrame:
    """Return one row per group: value, low, high, items."""
    rows = []
    for key, group in answers.groupby(list(by), sort=True, observed=True):
        value = interval(group, measure)
        rows.append({**dict(zip(by, key, strict=True)), **value._asdict(), "items": len(group)})
    return pd.DataFrame(rows, columns=[*by, "value", "low", "high", "items"])


def compare(before: pd.DataFrame, after: pd.DataFrame, measure: str = "hit1") -> dict:
    """Return after - before on the same items: value, low, high, p (documents drawn whole), McNemar's p."""
    a, b = _aligned(before, after)
    paired = statistics.paired_bootstrap(_stats(a[measure]), _stats(b[measure]), clusters=a["document"])
    exact = {"mcnemar": statistics.mcnemar(a[measure], b[measure])} if a[measure].isin([0, 1]).all() else {}
    return {
        "before": a[measure].mean(),
        "after": b[measure].mean(),
        **paired.difference._asdict(),
        "p": paired.p,
        **exact,
    }


def compare_all(pairs: dict[str, tuple[pd.DataFrame, pd.DataFrame]], measure: str = "hit1") -> pd.DataFrame:
    """Compare every named pair; Holm over all of them decides which differences stand."""
    frame = pd.DataFrame([{"question": name, **compare(*pair, measure)} for name, pair in pairs.items()])
    adjusted = statistics.holm(frame["p"])
    return frame.assign(holm=adjusted, stands=adjusted < 0.05)


def best_step(answers: pd.DataFrame, measure: str = "hit1") -> int:
    """Return the step with the highest mean; the earlier one of equals."""
    means = answers.groupby("step")[measure].mean()
    return int(means.idxmax())


def one_standard_error(answers: pd.DataFrame, measure: str = "hit1") -> int:
    """Return the earliest step whose mean is within one standard error of the best one's.

    The error is that of the difference to the best, paired by item and clustered by document: items that both
    get right say nothing about which is better.
    """
    best = best_step(answers, measure)
    top = answers[answers["step"] == best]
    for step in sorted(answers["step"].unique()):
        a, b = _aligned(answers[answers["step"] == step], top)
        difference = (b[measure].astype(float) - a[measure].astype(float)).to_numpy()
        if step == best or difference.mean() <= clustered_error(difference, a["document"]):
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


def overfitting(answers: pd.DataFrame, measure: str = "hit1") -> dict:
    """Compare the best step with the last one; a drop that does not stand is no overfitting.

    The best step was chosen for its score, so even a null effect looks like a drop: p is optimistic.
    """
    best, last = best_step(answers, measure), int(answers["step"].max())
    at = {step: answers[answers["step"] == step] for step in (best, last)}
    return {"best_step": best, "last_step": last, **compare(at[best], at[last], measure)}


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
