"""Slices of a relation data set: on which rows does a system gain, and more there than elsewhere?

A gain on a slice proves little while the same gain shows outside it. `gains` therefore reports both and their
difference, from one bootstrap over whole sentences.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.corpora.labels import NO_RELATION, RELATIONS
from helpers.relations.comparison import percent
from helpers.relations.resampling import auprc_resamples
from helpers.relations.scores import class_auprc, f1_of_counts, relation_counts
from helpers.statistics import Interval, bootstrap
from helpers.text.alignment import encode_with_offsets

FRAGMENTS = 3  # pieces from which on an entity counts as fragmented
FEWEST = 30  # rows that a side of a slice needs before its score says anything


def describe(rows, *, train, tokenizer) -> pd.DataFrame:
    """Mark for each row which slices it belongs to: one boolean column per slice."""
    lengths = np.array([len(sentence) for sentence in rows["sentence"]])
    return pd.DataFrame(
        {
            "long sentence": lengths >= np.percentile(lengths, 75),
            "same type twice": crowded(rows),
            "fragmented entity": entity_pieces(rows, tokenizer).max(axis=1) >= FRAGMENTS,
            "unseen pair": ~seen_pairs(rows, train),
        }
    )


def crowded(rows) -> np.ndarray:
    """Tell which sentences hold two entities of one type: (n,) bool.

    A row names two entities; what else its sentence holds is known from the other rows of that sentence.
    """
    found: dict[str, dict[str, set]] = defaultdict(lambda: defaultdict(set))
    for sentence, *entities in _pairs(rows):
        for entity in entities:
            found[sentence][entity["type"]].add((entity["start_idx"], entity["end_idx"]))
    return np.array([max(map(len, found[sentence].values())) > 1 for sentence in rows["sentence"]])


def seen_pairs(rows, train) -> np.ndarray:
    """Tell which rows repeat a pair of entity words that training had: (n,) bool."""
    known = {(subject["word"], object["word"]) for _, subject, object in _pairs(train)}
    return np.array([(subject["word"], object["word"]) in known for _, subject, object in _pairs(rows)])


def entity_pieces(rows, tokenizer) -> np.ndarray:
    """Count the tokens that touch the subject and the object in the plain sentence: (n, 2)."""
    encoded = encode_with_offsets(tokenizer, list(rows["sentence"]))
    return np.array(
        [
            [
                np.sum((tokens.offsets[:, 0] <= e["end_idx"]) & (tokens.offsets[:, 1] > e["start_idx"]))
                for e in pair
            ]
            for tokens, (_, *pair) in zip(encoded, _pairs(rows), strict=True)
        ]
    )


def gains(
    gold: Sequence[int],
    system: Sequence[np.ndarray],
    than: Sequence[np.ndarray],
    masks: pd.DataFrame,
    *,
    clusters: Sequence | None = None,
) -> pd.DataFrame:
    """Compare micro-F1 of `system` and `than` (logits (n, 30) per seed) inside and outside each slice.

    `extra` is the gain inside minus the gain outside: above zero, the slice is where the system earns more.
    A slice with fewer than FEWEST rows on one side has no intervals.
    """
    counts = np.hstack([_mean_counts(gold, than), _mean_counts(gold, system)])
    rows = []
    for name in masks.columns:
        inside = masks[name].to_numpy()[:, None]
        split = np.hstack([counts * inside, counts * ~inside])
        enough = FEWEST <= inside.sum() <= len(inside) - FEWEST
        measured = {
            key: bootstrap(split, score, clusters=clusters) if enough else None
            for key, score in (("inside", _gain_inside), ("outside", _gain_outside), ("extra", _extra))
        }
        rows.append({"slice": name, "rows": int(inside.sum()), **measured})
    return pd.DataFrame(rows)


def false_positives(
    gold: Sequence[int], runs: Mapping[str, Sequence[np.ndarray]], *, clusters=None
) -> pd.DataFrame:
    """Give the share of no_relation rows, in percent, to which each system assigns a relation."""
    negative = np.asarray(gold) == NO_RELATION
    names = None if clusters is None else np.asarray(clusters)[negative]
    rows = []
    for system, logits in runs.items():
        wrong = np.mean([one[negative].argmax(axis=1) != NO_RELATION for one in logits], axis=0)
        rows.append({"system": system, "false positives": percent(wrong, clusters=names)})
    return pd.DataFrame(rows)


def by_class(gold: Sequence[int], probs: np.ndarray, *, names: Sequence[str] = RELATIONS) -> pd.DataFrame:
    """Give each label's AUPRC with a 95 % interval over rows; labels without a row are left out."""
    areas, drawn = class_auprc(gold, probs), auprc_resamples(gold, probs)
    support = np.bincount(gold, minlength=len(names))
    rows = [
        {
            "label": names[k],
            "rows": int(support[k]),
            "auprc": Interval(float(areas[k]), *map(float, np.percentile(drawn[:, k], [2.5, 97.5]))),
        }
        for k in np.flatnonzero(support).tolist()
    ]
    return pd.DataFrame(rows)


def _pairs(rows):
    return zip(rows["sentence"], rows["subject_entity"], rows["object_entity"], strict=True)


def _mean_counts(gold: Sequence[int], logits: Sequence[np.ndarray]) -> np.ndarray:
    """Average the (tp, predicted, gold) counts (n, 3) over seeds."""
    return np.mean([relation_counts(gold, one.argmax(axis=1)) for one in logits], axis=0)


def _gain_inside(sums: np.ndarray) -> np.ndarray:
    return f1_of_counts(sums[..., 3:6]) - f1_of_counts(sums[..., 0:3])


def _gain_outside(sums: np.ndarray) -> np.ndarray:
    return f1_of_counts(sums[..., 9:12]) - f1_of_counts(sums[..., 6:9])


def _extra(sums: np.ndarray) -> np.ndarray:
    return _gain_inside(sums) - _gain_outside(sums)
