"""Trigger spans as characters: masks, runs, and the counts behind the shared task's character F1."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]
"""Half-open range of characters."""


def mask_of(spans: Sequence[Span], length: int) -> NDArray[np.bool_]:
    """Return which of `length` characters lie in a span; overlaps count once, ends beyond the text are cut.

    >>> mask_of([(1, 3), (2, 9)], 5).tolist()
    [False, True, True, True, True]
    """
    mask = np.zeros(length, dtype=bool)
    for start, end in spans:
        mask[max(start, 0) : max(end, 0)] = True
    return mask


def spans_of(mask: NDArray[np.bool_]) -> list[Span]:
    """Return the runs of true characters, in order: the inverse of `mask_of`.

    >>> spans_of(np.array([False, True, True, False, True]))
    [(1, 3), (4, 5)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(mask, dtype=np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def characters(
    texts: Sequence[str], spans: Sequence[Sequence[Span]], rows: NDArray[np.integer]
) -> tuple[NDArray[np.integer], NDArray[np.bool_]]:
    """Return, for the characters of some posts one after the other, their post and whether a span has them.

    >>> characters(["ab", "c", "de"], [[(1, 2)], [], [(0, 2)]], np.array([0, 2]))
    (array([0, 0, 2, 2]), array([False,  True,  True,  True]))
    """
    post = np.repeat(rows, [len(texts[i]) for i in rows])
    return post, np.concatenate([mask_of(spans[i], len(texts[i])) for i in rows])


def char_counts(
    gold: NDArray[np.bool_], predicted: NDArray[np.bool_], *, post: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return (posts, 3): characters right, predicted, gold; `statistics.f1` of the sum is the task score.

    `gold`, `predicted` and `post` have one entry per character, as `characters` gives them.
    """
    if not gold.shape == predicted.shape == post.shape:
        raise ValueError(
            f"{gold.size} gold characters, {predicted.size} predicted, {post.size} of known posts; "
            "score the same texts"
        )
    _, row = np.unique(post, return_inverse=True)
    return np.stack([np.bincount(row, weights=own) for own in (gold & predicted, predicted, gold)], axis=1)
