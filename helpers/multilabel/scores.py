"""Macro-F1 of many yes/no labels per row, and the sums it is made of.

Scores lie in [0, 1], as the shared task prints them. A class without a gold and a predicted row scores 0, as
in scikit-learn with `zero_division=0`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helpers import statistics


def indicators(names: Sequence[Sequence[str]], classes: Sequence[str]) -> NDArray[np.int8]:
    """Return one 0/1 row per item, one column per class, refusing unknown names.

    >>> indicators([["b"], [], ["a", "b"]], ["a", "b"]).tolist()
    [[0, 1], [0, 0], [1, 1]]
    """
    column = {name: i for i, name in enumerate(classes)}
    labels = np.zeros((len(names), len(classes)), dtype=np.int8)
    for row, present in enumerate(names):
        for name in present:
            if name not in column:
                raise ValueError(f"row {row}: unknown label {name!r}; expected one of {', '.join(classes)}")
            labels[row, column[name]] = 1
    return labels


def f1_counts(gold: ArrayLike, predicted: ArrayLike) -> NDArray[np.float64]:
    """Return (n, 3 × classes) per row: true positives, predicted and gold of each class in turn."""
    gold, predicted = np.asarray(gold, dtype=bool), np.asarray(predicted, dtype=bool)
    if gold.shape != predicted.shape or gold.ndim != 2:
        raise ValueError(f"expected two (rows, classes) matrices, got {gold.shape} and {predicted.shape}")
    return np.stack([gold & predicted, predicted, gold], axis=2).reshape(len(gold), -1).astype(float)


def class_f1_of_counts(sums: NDArray) -> NDArray:
    """Map summed counts (…, 3 × classes) to the F1 of each class (…, classes)."""
    return statistics.f1(sums.reshape(*sums.shape[:-1], -1, 3))


def macro_f1_of_counts(sums: NDArray) -> NDArray:
    """Map summed counts (…, 3 × classes) to macro-F1 (…)."""
    return class_f1_of_counts(sums).mean(axis=-1)


def points_of_counts(sums: NDArray) -> NDArray:
    """Map summed counts (…, 3 × classes) to macro-F1 × 100, the unit of every table; of one class, its F1."""
    return 100 * macro_f1_of_counts(sums)


def macro_f1(gold: ArrayLike, predicted: ArrayLike) -> float:
    """Return the unweighted mean over classes of their F1."""
    return float(macro_f1_of_counts(f1_counts(gold, predicted).sum(axis=0)))
