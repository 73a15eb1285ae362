"""Folds for rows with many labels: iterative stratification, and how well it kept every proportion.

`assign` gives the fold of each row, one vector for classification and spans alike; `holdout` gives a single
part to hold out, such as a simulated test set. Splits by group live with the corpora that need them.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray


def assign(labels: ArrayLike, *, folds: int = 5, seed: int = 42, by: Sequence[str] | None = None) -> NDArray:
    """Return the fold (0 … folds − 1) of each row, by iterstrat's MultilabelStratifiedKFold.

    `labels: (rows, classes)` of 0/1. `by` is one more column of names to stratify, such as the language. The
    defaults are the shared task winners' own split.
    """
    from iterstrat.ml_stratifiers import MultilabelStratifiedKFold

    strata = _strata(labels, by)
    if not 2 <= folds <= len(strata):
        raise ValueError(f"folds: expected 2 to {len(strata)} (the rows), got {folds}")
    assigned = np.empty(len(strata), dtype=np.int64)
    splitter = MultilabelStratifiedKFold(n_splits=folds, shuffle=True, random_state=seed)
    for fold, (_, held_out) in enumerate(splitter.split(strata, strata)):
        assigned[held_out] = fold
    return assigned


def random_assign(rows: int, *, folds: int = 5, seed: int = 42) -> NDArray:
    """Return folds of equal size that look at no label: the control for `assign`."""
    return np.random.default_rng(seed).permutation(np.arange(rows) % folds)


def holdout(labels: ArrayLike, *, share: float, seed: int = 42) -> NDArray:
    """Return a mask of about `share` of the rows, stratified: a single-fold holdout or a hidden test set."""
    from iterstrat.ml_stratifiers import MultilabelStratifiedShuffleSplit

    if not 0.0 < share < 1.0:
        raise ValueError(f"share: expected a number between 0 and 1, both excluded, got {share!r}")
    strata = _strata(labels, None)
    splitter = MultilabelStratifiedShuffleSplit(n_splits=1, test_size=share, random_state=seed)
    _, held_out = next(splitter.split(strata, strata))
    mask = np.zeros(len(strata), dtype=bool)
    mask[held_out] = True
    return mask


def spread(values: ArrayLike, assigned: ArrayLike) -> NDArray:
    """Return, per column of `values: (rows, k)`, the largest gap between the mean of a fold and of all."""
    values, assigned = np.asarray(values, dtype=float), np.asarray(assigned)
    means = np.stack([values[assigned == fold].mean(axis=0) for fold in np.unique(assigned)])
    return np.abs(means - values.mean(axis=0)).max(axis=0)


def diagnose(
    splits: dict[str, ArrayLike], *, labels: NDArray, languages: Sequence[str], lengths: Sequence[int]
) -> pd.DataFrame:
    """Compare ways to split: one row each, with the worst departure of any fold from the whole.

    `label`, `pair` (of labels) and `language`: percentage points of rows; `length`: characters of the mean;
    `rows`: largest minus smallest fold.
    """
    both = [labels[:, a] * labels[:, b] for a, b in combinations(range(labels.shape[1]), 2)]
    pairs = np.stack(both or [np.zeros(len(labels))], axis=1)
    language = pd.get_dummies(pd.Series(list(languages))).to_numpy()
    length = np.asarray(lengths, dtype=float)[:, None]
    rows = {}
    for name, assigned in splits.items():
        sizes = np.unique(np.asarray(assigned), return_counts=True)[1]
        rows[name] = {
            "label": 100 * spread(labels, assigned).max(),
            "pair": 100 * spread(pairs, assigned).max(),
            "language": 100 * spread(language, assigned).max(),
            "length": spread(length, assigned).max(),
            "rows": int(sizes.max() - sizes.min()),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("split").reset_index()


def _strata(labels: ArrayLike, by: Sequence[str] | None) -> NDArray:
    labels = np.asarray(labels)
    if labels.ndim != 2 or not np.isin(labels, (0, 1)).all():
        raise ValueError(f"labels: expected a (rows, classes) matrix of 0 and 1, got shape {labels.shape}")
    if by is None:
        return labels
    if len(by) != len(labels):
        raise ValueError(f"by: expected {len(labels)} names, one per row, got {len(by)}")
    return np.hstack([labels, pd.get_dummies(pd.Series(list(by))).to_numpy(dtype=labels.dtype)])
