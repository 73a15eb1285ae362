"""From what a tagger says about tokens to one BIO tag per character: projection and constrained decoding.

Tokens and characters meet through exact offsets (`text.alignment`). The first character of a token takes
the token's tag; the others continue it; a character that no token covers, such as a space, belongs to an
entity only if the next token continues one (KLUE tags the spaces inside an entity `I-`). The same rule moves
probabilities, so that taggers with different tokenizers can be averaged per character (`voting`).
The baseline code of KLUE decodes differently: see `audit`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from helpers.corpora.labels import TAG_TYPES
from helpers.entities.tags import ID, TagArray, Tags, encode

IGNORED = -100  # label of a token that stands for no character

_FIRST, _LATER, _GAP, _NOBODY = range(4)


class CharacterMap(NamedTuple):
    """Which token speaks for each character of a corpus, and in which role."""

    token: np.ndarray  # (characters,) position in the concatenation of all sentences' tokens
    role: np.ndarray  # (characters,) first or later character of the token, gap before it, or nobody's
    bounds: np.ndarray  # (sentences + 1,) characters
    first: np.ndarray  # (tokens,) the token's first character, -1 where it stands for none
    token_bounds: np.ndarray  # (sentences + 1,) tokens


def map_characters(lengths: Sequence[int], offsets: Sequence[np.ndarray]) -> CharacterMap:
    """Match the characters of sentences of these `lengths` with tokens at `offsets`: (t, 2) per sentence.

    Empty ranges (special tokens) cover nothing; where tokens overlap, the first wins.
    """
    if len(lengths) != len(offsets):
        raise ValueError(
            f"{len(lengths)} sentences but {len(offsets)} arrays of offsets; pass one per sentence"
        )
    bounds, token_bounds = _bounds(lengths), _bounds([len(rows) for rows in offsets])
    ranges = np.concatenate([np.asarray(rows, np.int64).reshape(-1, 2) for rows in offsets])
    owner = np.repeat(np.arange(len(lengths)), np.diff(token_bounds))
    outside = np.flatnonzero(ranges[:, 1] > np.diff(bounds)[owner])
    if len(outside):
        row = owner[outside[0]]
        raise ValueError(
            f"sentence {row}: a token ends at {ranges[outside[0], 1]}, beyond its {lengths[row]} characters"
        )
    starts, ends = (ranges + bounds[owner][:, None]).T
    token, role = _cover(starts, ends, bounds)
    return CharacterMap(token, role, bounds, np.where(ends > starts, starts, -1), token_bounds)


def token_labels(tags: Tags, characters: CharacterMap) -> list[list[int]]:
    """Give each token the tag id of its first character, IGNORED where it has none: training targets."""
    tagged = encode(tags)
    if not np.array_equal(tagged.bounds, characters.bounds):
        raise ValueError(
            "tags and character map disagree on sentence lengths; build both from the same sentences"
        )
    labels = np.where(characters.first < 0, IGNORED, tagged.ids[characters.first].astype(np.int64)).tolist()
    return [labels[a:b] for a, b in pairwise(characters.token_bounds)]


def project_tags(
    token_tags: np.ndarray, characters: CharacterMap, types: tuple[str, ...] = TAG_TYPES
) -> TagArray:
    """Spread predicted tag ids `(tokens,)` over the characters."""
    said = np.asarray(token_tags)[characters.token].astype(ID)
    continued, before = _becomes(2 * len(types))
    by_role = [said, continued[said], before[said], np.full_like(said, 2 * len(types))]
    return TagArray(np.choose(characters.role, by_role), characters.bounds, types)


def project_probabilities(token_probabilities: np.ndarray, characters: CharacterMap) -> np.ndarray:
    """Spread probabilities `(tokens, tags)` over the characters: `(characters, tags)`, rows sum to one."""
    spread = token_probabilities[characters.token]
    tags = spread.shape[1]
    for role, becomes in zip((_LATER, _GAP), _becomes(tags - 1), strict=True):
        moved = np.zeros((tags, tags), spread.dtype)
        moved[np.arange(tags), becomes] = 1
        spread[characters.role == role] = spread[characters.role == role] @ moved
    spread[characters.role == _NOBODY] = np.eye(tags, dtype=spread.dtype)[-1]
    return spread


def viterbi(
    log_probabilities: np.ndarray, bounds: np.ndarray, types: tuple[str, ...] = TAG_TYPES
) -> TagArray:
    """Find the most probable valid BIO sequence of each sentence: `(characters, tags)` in, tags out.

    `I-X` may only follow `B-X` or `I-X`; nothing else is constrained, so that a step needs the best of all
    predecessors once and of two for each `I-`: linear in the tags, all sentences side by side.
    """
    scores, lengths = np.asarray(log_probabilities), np.diff(bounds)
    outside = 2 * len(types)
    order = np.argsort(-lengths, kind="stable")
    firsts, lengths = np.asarray(bounds)[:-1][order], lengths[order]
    alive = np.searchsorted(-lengths, -np.arange(max(lengths, default=0))).tolist()  # longer than step
    back, last = np.empty(scores.shape, ID), np.empty(len(order), ID)
    best = np.where(np.arange(outside + 1) == outside, 0.0, -np.inf) * np.ones((len(order), 1))  # as after O
    inner = np.arange(1, outside, 2)
    for step, n in enumerate(alive):
        last[n : len(best)], best = best[n:].argmax(1), best[:n]
        came = np.repeat(best.argmax(1)[:, None], outside + 1, axis=1)
        came[:, inner] = inner - (best[:, inner - 1] >= best[:, inner])
        back[firsts[:n] + step] = came
        best = np.take_along_axis(best, came, 1) + scores[firsts[:n] + step]
    last[: len(best)] = best.argmax(1)
    return TagArray(_walk_back(back, last, firsts=firsts, alive=alive), np.asarray(bounds), types)


def _walk_back(back: np.ndarray, tag: np.ndarray, *, firsts: np.ndarray, alive: list[int]) -> np.ndarray:
    """Follow the pointers from each sentence's last tag; the longest sentences come first."""
    ids = np.empty(len(back), ID)
    for step in reversed(range(len(alive))):
        at = firsts[: alive[step]] + step
        ids[at] = tag[: alive[step]]
        tag[: alive[step]] = back[at, ids[at]]
    return ids


def _becomes(outside: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what a tag becomes on a later character of its token, and on an uncovered one before it."""
    tags = np.arange(outside + 1, dtype=ID)
    return np.where(tags == outside, tags, tags | 1), np.where(tags % 2 == 1, tags, outside).astype(ID)


def _bounds(lengths: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _cover(starts: np.ndarray, ends: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find token and role of every character from the tokens' ranges in the whole corpus."""
    widths = ends - starts
    within = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
    token = np.full(bounds[-1] + 1, -1)
    token[(np.repeat(starts, widths) + within)[::-1]] = np.repeat(np.arange(len(starts)), widths)[::-1]
    token = token[:-1]
    covered = np.flatnonzero(token >= 0)
    role = np.full(len(token), _NOBODY, np.int8)
    role[covered] = np.where(starts[token[covered]] == covered, _FIRST, _LATER)
    bare = np.flatnonzero(token < 0)
    following = np.append(covered, len(token))[np.searchsorted(covered, bare)]
    same = following < bounds[np.searchsorted(bounds, bare, side="right")]
    role[bare[same]], token[bare[same]] = _GAP, token[following[same]]
    return np.maximum(token, 0), role
