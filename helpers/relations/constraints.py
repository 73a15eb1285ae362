"""What the two entity types say about the relation: masks and priors, added to the logits.

A constraint gives each row a bias (n, labels): 0 where a label is allowed, BLOCKED elsewhere, or a log prior.
The same array serves at training (`label_bias` of a row) and at decoding (added to saved logits).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from helpers.corpora.labels import NO_RELATION, RELATIONS

BLOCKED = -1e4  # minus infinity that still multiplies: exp(BLOCKED) is 0 in float32 and float64
KINDS = ("prefix", "pair", "prior")  # see `learn`
PREFIX = {"PER": "per", "ORG": "org"}
Pair = tuple[str, str]


@dataclass(frozen=True)
class TypeConstraint:
    """A bias (labels,) per pair of subject and object type.

    Pairs that the training data never showed take `unseen`: by default everything is allowed, because a mask
    learned elsewhere has no ground to forbid anything there.
    """

    biases: Mapping[Pair, np.ndarray]
    labels: int
    unseen: float = 0.0

    def bias(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Look the rows' biases up: (n, labels)."""
        unseen = np.full(self.labels, self.unseen)
        return np.stack([self.biases.get(pair, unseen) for pair in pairs])

    def without_fallback(self) -> "TypeConstraint":
        """Block every label of an unseen pair: the published rule, as a control."""
        return TypeConstraint(self.biases, self.labels, BLOCKED)


def type_pairs(rows) -> list[Pair]:
    """List the (subject type, object type) of every row of a relation data set."""
    return [
        (subject["type"], object["type"])
        for subject, object in zip(rows["subject_entity"][:], rows["object_entity"][:], strict=True)
    ]


def learn(kind: str, train) -> TypeConstraint:
    """Take one of KINDS from training rows: the mask of prefixes or of pairs, or the log prior."""
    pairs, gold, names = type_pairs(train), train["label"][:], train.features["label"].names
    if kind == "prefix":
        return prefix_constraint(pairs, names=names)
    fit = learned_constraint if kind == "pair" else log_prior
    return fit(pairs, gold, names=names)


def prefix_constraint(pairs: Sequence[Pair], *, names: Sequence[str] = RELATIONS) -> TypeConstraint:
    """Allow a person per:… and an organisation org:…, for every pair that occurs in `pairs`.

    Labels without such prefixes are left alone.
    """
    allowed = {kind: [name.startswith(f"{prefix}:") for name in names] for kind, prefix in PREFIX.items()}
    known = {pair for pair in set(pairs) if any(allowed.get(pair[0], ()))}
    return TypeConstraint({pair: _mask(allowed[pair[0]]) for pair in known}, len(names))


def learned_constraint(
    pairs: Sequence[Pair], gold: Sequence[int], *, at_least: int = 1, names: Sequence[str] = RELATIONS
) -> TypeConstraint:
    """Allow the labels that a type pair carried `at_least` times in training, and always no_relation."""
    counts = _counts(pairs, gold, len(names))
    return TypeConstraint({pair: _mask(row >= at_least) for pair, row in counts.items()}, len(names))


def log_prior(
    pairs: Sequence[Pair], gold: Sequence[int], *, smoothing: float = 0.5, names: Sequence[str] = RELATIONS
) -> TypeConstraint:
    """Give each type pair the log of its smoothed label shares: the soft form of the mask."""
    counts = {pair: row + smoothing for pair, row in _counts(pairs, gold, len(names)).items()}
    return TypeConstraint({pair: np.log(row / row.sum()) for pair, row in counts.items()}, len(names))


def blocked(gold: Sequence[int], bias: np.ndarray) -> np.ndarray:
    """Tell which rows can no longer be right: (n,) bool, the ceiling that a mask puts on recall."""
    return bias[np.arange(len(gold)), np.asarray(gold)] <= BLOCKED


def _mask(allowed: Sequence[bool] | np.ndarray) -> np.ndarray:
    bias = np.where(allowed, 0.0, BLOCKED)
    bias[NO_RELATION] = 0.0
    return bias


def _counts(pairs: Sequence[Pair], gold: Sequence[int], labels: int) -> dict[Pair, np.ndarray]:
    if len(pairs) != len(gold):
        raise ValueError(f"{len(pairs)} type pairs for {len(gold)} labels; take both from the same rows")
    counts: dict[Pair, np.ndarray] = {}
    for pair, label in zip(pairs, gold, strict=True):
        counts.setdefault(pair, np.zeros(labels))[label] += 1
    return counts
