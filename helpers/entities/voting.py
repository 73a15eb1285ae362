"""Ensembles of taggers: average probabilities per character, whatever tokenizer each member has.

A member's temperature is fitted on validation data, so that an over-confident member does not outvote the
others. The mean of logits over shared subwords, which the published study uses, is kept as a control.
Training members and choosing them is done elsewhere.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from helpers.corpora.labels import TAG_TYPES
from helpers.entities.decoding import IGNORED, CharacterMap, project_probabilities, project_tags, viterbi
from helpers.entities.tags import TagArray

FLOOR = 1e-12  # of a probability before its logarithm


class Member(NamedTuple):
    """What one tagger says about a corpus, and how to read it."""

    logits: np.ndarray  # (tokens, tags), all sentences one after the other
    characters: CharacterMap
    temperature: float = 1.0
    types: tuple[str, ...] = TAG_TYPES

    def probabilities(self) -> np.ndarray:
        """Return calibrated probabilities per character, in single precision: (characters, tags)."""
        from scipy.special import softmax

        cooled = np.asarray(self.logits / self.temperature, np.float32)
        return project_probabilities(softmax(cooled, axis=1), self.characters)

    def greedy(self) -> TagArray:
        """Decode token by token, without constraints: the study's way."""
        return project_tags(self.logits.argmax(1), self.characters, self.types)

    def decode(self) -> TagArray:
        """Decode to the most probable valid tags."""
        return best_tags(self.probabilities(), self.characters.bounds, self.types)


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """Find the temperature that minimises cross-entropy on labelled tokens; above 1 means over-confident.

    `logits: (tokens, labels)`, `labels: (tokens,)`, tokens labelled IGNORED are left out.
    """
    from scipy.optimize import minimize_scalar

    labels = np.asarray(labels)
    logits, labels = np.asarray(logits, np.float32)[labels != IGNORED], labels[labels != IGNORED]
    if not len(labels):
        raise ValueError("no labelled tokens to fit a temperature on; pass validation labels")
    centred = logits - logits.max(1, keepdims=True)
    target = float(centred[np.arange(len(labels)), labels].mean(dtype=np.float64))

    def loss(log_temperature: float) -> float:
        scale = np.float32(np.exp(-log_temperature))
        return float(np.log(np.exp(centred * scale).sum(1)).mean(dtype=np.float64)) - target * float(scale)

    return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x))


def average(arrays: Iterable[np.ndarray]) -> np.ndarray:
    """Average arrays of one shape, one at a time, so that an ensemble needs the memory of two members."""
    members = iter(arrays)
    total, count = next(members, None), 1
    if total is None:
        raise ValueError("an ensemble needs at least one member")
    for array in members:
        if array.shape != total.shape:
            raise ValueError(
                f"member {count} has shape {array.shape}, member 0 {total.shape}; use the same sentences"
            )
        total, count = total + array, count + 1
    return total / count


def best_tags(probabilities: np.ndarray, bounds: np.ndarray, types: tuple[str, ...] = TAG_TYPES) -> TagArray:
    """Decode probabilities per character (characters, tags) to the most probable valid tags."""
    return viterbi(np.log(np.maximum(probabilities, FLOOR)), bounds, types)


def decode_ensemble(members: Sequence[Member]) -> TagArray:
    """Average the members per character and decode: tokenizers may differ."""
    first = members[0]
    mean = average(member.probabilities() for member in members)
    return best_tags(mean, first.characters.bounds, first.types)


def decode_mean_logits(members: Sequence[Member]) -> TagArray:
    """Average raw logits per subword and take the largest (control): all members share one tokenizer."""
    first = members[0].characters
    if not all(np.array_equal(first.token_bounds, member.characters.token_bounds) for member in members):
        raise ValueError("a mean of logits needs members with the same subwords; use decode_ensemble instead")
    return members[0]._replace(logits=average(member.logits for member in members)).greedy()
