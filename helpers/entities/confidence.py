"""How sure a tagger is of an entity, and whether it should be: calibration, and what is left of the doubtful.

An entity's confidence is the probability of the least probable of its tags, its end included; a sentence's is
that of the least probable tag of all. Both need no gold tags. Fitting a temperature is in `voting`.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers import statistics
from helpers.entities.experiment import Part
from helpers.entities.scores import entity_score
from helpers.entities.tags import TagArray, entity_ranges, without_spaces

BINS = 10


def confident_entities(probabilities: np.ndarray, tags: TagArray, part: Part) -> pd.DataFrame:
    """List the predicted entities: sentence, type, confidence, and whether range and type are right.

    `probabilities: (characters, tags)` of the characters of `part`; spaces do not count, as in the official
    score.
    """
    solid = np.array([char != " " for sentence in part.sentences for char in sentence], dtype=bool)
    gold, said = (without_spaces(rows, part.sentences) for rows in (part.gold, tags))
    certain = np.append(_certainty(probabilities, tags.ids)[solid], 1.0)
    inside = np.append(probabilities[solid][:, 1:-1:2], np.zeros((1, len(tags.types))), axis=0)
    starts, ends, kinds = entity_ranges(said)
    wanted = set(zip(*(array.tolist() for array in entity_ranges(gold)), strict=True))
    edges = np.column_stack([starts, ends]).ravel()
    least = np.minimum.reduceat(certain, edges)[::2] if len(edges) else np.zeros(0)
    stops = np.where(np.isin(ends, said.bounds), 1.0, 1 - inside[ends, kinds])
    return pd.DataFrame(
        {
            "sentence": np.searchsorted(said.bounds, starts, side="right") - 1,
            "type": np.array(said.types)[kinds],
            "confidence": np.minimum(least, stops),
            "right": [
                span in wanted for span in zip(starts.tolist(), ends.tolist(), kinds.tolist(), strict=True)
            ],
        }
    )


def confident_sentences(probabilities: np.ndarray, tags: TagArray) -> np.ndarray:
    """Return the probability of each sentence's least probable tag, 1 for an empty sentence: (sentences,)."""
    certain = _certainty(probabilities, tags.ids)
    return np.array(
        [certain[a:b].min(initial=1.0) for a, b in zip(tags.bounds[:-1], tags.bounds[1:], strict=True)]
    )


def calibration(entities: pd.DataFrame) -> pd.DataFrame:
    """Compare confidence with the share that is right, in BINS bins of as many entities each."""
    rows = []
    for _, group in entities.groupby(_bins(entities["confidence"].to_numpy())):
        hits = np.column_stack([group["right"], np.ones(len(group))])
        right = statistics.share(hits, clusters=group["sentence"]).scaled(100)
        rows.append((len(group), 100 * group["confidence"].mean(), right))
    return pd.DataFrame(rows, columns=["entities", "confidence", "right, %"])


def calibration_error(runs: Sequence[pd.DataFrame], *, sentences: int) -> statistics.Interval:
    """Return the expected calibration error (ECE) in percentage points, mean over runs, with its interval.

    Bins are fixed by all entities of a run. Few entities make the error of a perfect tagger look larger than
    0; the interval reaches down by what leaving sentences out shows of that.
    """
    places = [_bins(run["confidence"].to_numpy()) for run in runs]

    def errors(kept: np.ndarray) -> np.ndarray:
        return np.array([_error(run, at, kept) for run, at in zip(runs, places, strict=True)])

    return statistics.estimate(statistics.regrouped(errors, sentences)).interval().within(0.0, np.inf)


def by_coverage(
    counts: np.ndarray, confidence: np.ndarray, *, shares: Sequence[float] = (1.0, 0.9, 0.8, 0.6, 0.4)
) -> pd.DataFrame:
    """Score the sentences that a tagger is surest of: entity F1 of each share, and its gain over all.

    `counts: (runs, sentences, types × 3)`, `confidence: (runs, sentences)`; every run has its own order.
    """
    order = np.argsort(np.argsort(-confidence, axis=1, kind="stable"), axis=1)
    rows = []
    for share in shares:
        kept = counts * (order < round(share * counts.shape[1]))[:, :, None]
        level = statistics.estimate(kept, entity_score).interval().within(0.0, 100.0)
        gain = statistics.contrast(kept, counts, entity_score).interval()
        rows.append({"sentences, %": round(100 * share), "entity F1": level, "minus all": gain})
    return pd.DataFrame(rows)


def _certainty(probabilities: np.ndarray, ids: np.ndarray) -> np.ndarray:
    if len(probabilities) != len(ids):
        raise ValueError(
            f"{len(probabilities)} rows of probabilities for {len(ids)} characters; take the same sentences"
        )
    return probabilities[np.arange(len(ids)), ids]


def _bins(confidence: np.ndarray) -> np.ndarray:
    """Sort values into BINS bins of as many each; equal values share one."""
    if not len(confidence):  # a tagger that has found nothing
        return np.zeros(0, dtype=np.int64)
    edges = np.unique(np.quantile(confidence, np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.searchsorted(edges, confidence, side="left")


def _error(run: pd.DataFrame, bins: np.ndarray, kept: np.ndarray) -> float:
    inside = kept[run["sentence"].to_numpy()]
    gaps = (run["right"].to_numpy(dtype=float) - run["confidence"].to_numpy())[inside]
    return 100 * float(np.abs(np.bincount(bins[inside], weights=gaps)).sum() / max(len(gaps), 1))
