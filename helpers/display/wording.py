"""Findings in words: each outcome of a comparison has its own, so that a sentence follows its number.

Rows are those of `statistics.compare`. A sentence that states a finding takes its verb from here, or from
words given for every outcome; what is merely described needs no helper.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from helpers.statistics import ROLES, Interval

OUTCOMES = ("better", "worse", "equivalent", "undecided")


def outcome(decision: str, *, better: str, worse: str, undecided: str, equivalent: str | None = None) -> str:
    """Choose the words for a decision; without words of its own, "equivalent" is told as "undecided"."""
    words = {
        "better": better,
        "worse": worse,
        "equivalent": undecided if equivalent is None else equivalent,
        "undecided": undecided,
    }
    if decision not in words:
        raise ValueError(f"decision must be one of {', '.join(OUTCOMES)}; got {decision!r}")
    return words[decision]


def direction(difference: Interval, *, above: str, below: str, unclear: str) -> str:
    """Choose the words for an interval that lies above 0, below 0, or on both sides."""
    return above if difference.low > 0 else below if difference.high < 0 else unclear


def finding(row: Mapping[str, Any] | pd.Series, *, digits: int = 1) -> str:
    """Tell one row of a comparison: who, against whom, by how much, and what follows.

    >>> finding({"system": "a", "than": "b", "difference": Interval(2, 1, 3), "decision": "better"})
    'a beats b by 2.0 [1.0, 3.0]'
    """
    value, low, high = row["difference"]
    gap = Interval(abs(value), *sorted((low, high) if value >= 0 else (-low, -high)))
    size, signed = f"{gap:.{digits}f}", f"{row['difference']:+.{digits}f}"
    system, than = row["system"], row["than"]
    if row["decision"] in ROLES:
        return f"{system} ({row['decision']}) differs from {than} by {signed}"
    return outcome(
        row["decision"],
        better=f"{system} beats {than} by {size}",
        worse=f"{system} loses to {than} by {size}",
        equivalent=f"{system} and {than} are equivalent: {signed}",
        undecided=f"{system} against {than} is undecided: {signed}",
    )


def tally(frame: pd.DataFrame) -> str:
    """Count the decisions of a comparison: `2 better, 4 undecided`."""
    counts = frame["decision"].value_counts()
    return ", ".join(f"{counts[word]} {word}" for word in OUTCOMES if word in counts) or "nothing to decide"
