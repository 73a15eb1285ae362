"""AUPRC under the bootstrap: it is no function of sums, so resamples weigh rows that are sorted once."""

from collections.abc import Sequence

import numpy as np

from helpers.relations.scores import checked_scores, precision
from helpers.statistics import resamples


def auprc_resamples(
    gold: Sequence[int],
    probs: np.ndarray,
    *,
    samples: int = 200,
    clusters: Sequence | None = None,
    seed: int = 0,
) -> np.ndarray:
    """Bootstrap every class's area ×100: (samples, 30); average over axis 1 for the official score.

    Each class is sorted once and the resamples are weights on the sorted rows. The same seed draws the same
    rows, so two systems' resamples of one test set are paired. `clusters` names the unit that is drawn, one
    per row (a sentence, an entity pair); rows by default.
    """
    labels, probs = checked_scores(gold, probs)
    names, units = np.unique(np.arange(len(labels)) if clusters is None else clusters, return_inverse=True)
    if len(units) != len(gold):
        raise ValueError(f"clusters has {len(units)} entries but gold has {len(gold)} rows; name one per row")
    draws = np.concatenate(list(resamples(len(names), samples, seed)))
    weights = draws[:, units].T.astype(np.float32)
    return 100 * np.stack([_weighted_area(labels == c, p, weights) for c, p in enumerate(probs.T)], axis=1)


def _weighted_area(positive: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Give the area per column of `weights` (n, samples), where row i counts weights[i] times."""
    if not positive.any():
        return np.full(weights.shape[1], 0.5)
    order = np.argsort(-scores, kind="stable")
    ranked, hits = -scores[order], np.unique(-scores[positive])
    starts, stops = np.searchsorted(ranked, hits), np.searchsorted(ranked, hits, side="right")
    before, after = _sums_before(weights[order], np.stack([starts, stops]))
    gained = np.add.reduceat(weights[order] * positive[order, None], starts, axis=0, dtype=float)
    tp = np.cumsum(gained, axis=0)
    heights = precision(tp, after) + precision(tp - gained, before)
    return np.where(tp[-1] > 0, (gained * heights).sum(axis=0) / (2 * np.maximum(tp[-1], 1)), 0.5)


def _sums_before(rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Sum `rows` (n, m) before each index in `at`: (*at.shape, m), without a running sum of every row."""
    cuts = np.unique(at[at > 0])
    parts = np.add.reduceat(rows[: cuts[-1]], np.append(0, cuts[:-1]), axis=0, dtype=float)
    sums = np.concatenate([np.zeros_like(parts[:1]), np.cumsum(parts, axis=0)])
    return sums[np.searchsorted(cuts, at) + (at > 0)]
