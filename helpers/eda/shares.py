"""Shares in percent, with intervals that keep together what was drawn together (a sentence, a document)."""

from collections.abc import Sequence

import numpy as np

from helpers import statistics
from helpers.statistics import Interval


def percentage(flags: Sequence | np.ndarray, clusters: Sequence | None = None) -> Interval:
    """Return how many of the flags are true, in percent; `clusters` names the unit of each, e.g. a document.

    Where there is one unit only, the interval is everything.

    >>> percentage([True, False, False, True]).value
    50.0
    """
    hits = np.asarray(flags, dtype=float)
    if len(np.unique(range(hits.size) if clusters is None else np.asarray(clusters))) < 2:
        return Interval(100 * float(hits.mean()), 0.0, 100.0)
    return statistics.share(np.column_stack([hits, np.ones(hits.size)]), clusters=clusters).scaled(100)


def difference(a: Interval, b: Interval) -> Interval:
    """Return `a - b` of two independent shares, each bound from the shares' own (Newcombe's method 10)."""
    value = a.value - b.value
    return Interval(
        value,
        value - float(np.hypot(a.value - a.low, b.high - b.value)),
        value + float(np.hypot(a.high - a.value, b.value - b.low)),
    )
