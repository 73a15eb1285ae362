"""Slices of a relation data set: on which rows does a system gain, and more there than elsewhere?

A gain on a slice proves little while the same gain shows outside it. `gains` therefore reports both and their
difference, over whole sentences and seeds.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers.corpora.labels import NO_RELATION, RELATIONS
from helpers.relations.comparison import counts, extra, gain
from helpers.statistics import compare, estimate, share
from helpers.text.alignment import encode_with_offsets

FRAGMENTS = 3  # pieces from which on an entity counts as fragmented
FEWEST = 30  # rows that a side of a slice needs before its score says anything
OUTSIDE = "elsewhere"


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
    margin: float | None = None,
) -> pd.DataFrame:
    """Compare micro-F1 of `system` and `than` (logits (n, 30) per seed) inside and outside each slice.

    `inside` and `outside` are gains with their intervals over rows and seeds. The other columns are those of
    `statistics.compare`: `difference` is the gain inside minus the gain outside, and `decision` says whether
    the slice is where the system earns more. A slice with fewer than FEWEST rows on one side is left out.
    """
    both = np.concatenate([counts(gold, system), counts(gold, than)], axis=-1)
    inside = {name: masks[name].to_numpy() for name in masks.columns}
    told = {name: mask for name, mask in inside.items() if FEWEST <= mask.sum() <= len(mask) - FEWEST}
    parts = {name: (both * mask[:, None], both * ~mask[:, None]) for name, mask in told.items()}
    nothing = np.zeros((*both.shape[:-1], 12))
    frame = compare(
        {OUTSIDE: nothing} | {name: np.concatenate(two, axis=-1) for name, two in parts.items()},
        extra,
        reference=OUTSIDE,
        clusters=clusters,
        margin=margin,
    ).rename(columns={"system": "slice"})
    levels = [[estimate(one, gain, clusters=clusters).interval() for one in two] for two in parts.values()]
    frame.insert(1, "rows", [int(mask.sum()) for mask in told.values()])
    frame.insert(2, "inside", [one for one, _ in levels])
    frame.insert(3, "outside", [one for _, one in levels])
    return frame.drop(columns="than")


def left_alone(gold: Sequence[int], logits: Sequence[np.ndarray]) -> np.ndarray:
    """Count no_relation rows that are given no relation, and no_relation rows: (seeds, n, 2)."""
    negative = np.asarray(gold) == NO_RELATION
    right = [negative & (one.argmax(axis=1) == NO_RELATION) for one in logits]
    return np.stack([np.stack([one, negative], axis=-1) for one in right]).astype(float)


def by_class(
    gold: Sequence[int],
    logits: Sequence[np.ndarray],
    *,
    clusters: Sequence | None = None,
    names: Sequence[str] = RELATIONS,
) -> pd.DataFrame:
    """Give the share of each label's rows that are recognised, in percent; the label with most rows first."""
    labels, found = np.asarray(gold), np.stack([one.argmax(axis=1) for one in logits])
    rows = []
    for label in np.unique(labels):
        own = np.broadcast_to(labels == label, found.shape)
        stats = np.stack([own & (found == label), own], axis=-1).astype(float)
        recall = share(stats, clusters=clusters).scaled(100)
        rows.append({"label": names[label], "rows": int(own[0].sum()), "recognised, %": recall})
    return pd.DataFrame(rows).sort_values("rows", ascending=False, kind="stable", ignore_index=True)


def _pairs(rows):
    return zip(rows["sentence"], rows["subject_entity"], rows["object_entity"], strict=True)
