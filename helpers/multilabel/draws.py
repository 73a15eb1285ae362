"""Draws of the folds: which fold a post is in, and what models that did not see the post say of it.

Another draw of the folds is another run of everything that follows: it stands where other comparisons have a
seed. `regrouped` scores a whole procedure on every draw, and again without each group of posts, thresholds
fitted anew; the result goes into `statistics.compare`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from helpers import statistics
from helpers.statistics import Jackknife

# Of posts, left out in turn. In 200 simulated sets of 1,500 posts, ten classes and three draws, intervals
# hold the truth in .97 (a level), .96 (a difference of two rules) and .95 (optimism) of the cases.
GROUPS = 20


class Draw(NamedTuple):
    """One draw of the folds with its scores, all by models that never saw the post."""

    assigned: NDArray  # (posts,): the fold
    scores: NDArray  # (posts, classes): by the model trained on all other folds
    members: NDArray | None = None  # (folds, posts, classes): by the model without fold j and the post's own
    keep: NDArray | None = None  # (posts, classes): the posts to decide about; None: all

    @property
    def averaged(self) -> NDArray:
        """Return the mean over the members for the post's fold: (posts, classes)."""
        if self.members is None:
            raise ValueError("this draw has no ensemble; train without each pair of folds as well")
        return np.nanmean(self.members, axis=0)

    def only(self, rows: NDArray[np.bool_]) -> "Draw":
        """Return the draw of some of the posts."""
        members = None if self.members is None else self.members[:, rows]
        keep = None if self.keep is None else self.keep[rows]
        return Draw(self.assigned[rows], self.scores[rows], members, keep)


def arrange(scores: Mapping[tuple[int, ...], NDArray], assigned: NDArray) -> Draw:
    """Arrange the scores of trainings without one fold, `(k,)`, and without two, `(j, k)`.

    The ensemble for a fold has one member per fold that is left. A model without j and k serves twice, as
    member j when k is hidden and the other way round: five folds cost ten trainings for it, not twenty.
    `members[j]` is NaN on fold j itself.
    """
    shape = next(iter(scores.values())).shape
    single, members = np.empty(shape), np.full((len(np.unique(assigned)), *shape), np.nan)
    for left_out, own in scores.items():
        if len(left_out) == 1:
            single[assigned == left_out[0]] = own[assigned == left_out[0]]
        else:
            for member, hidden in (left_out, left_out[::-1]):
                members[member, assigned == hidden] = own[assigned == hidden]
    return Draw(assigned, single, None if np.isnan(members).all() else members)


def regrouped(
    score: Callable[[NDArray, Draw], Sequence[float]], labels: NDArray, draws: Sequence[Draw]
) -> list[Jackknife]:
    """Score each draw, and again without each of GROUPS groups of posts; one Jackknife per value of `score`.

    `score(labels, draw)` does the whole procedure on the posts it is given, thresholds included. Models are
    not trained again: what another training set would change shows only as far as draws differ.
    """
    found = statistics.regrouped(
        lambda kept: np.transpose([score(labels[kept], draw.only(kept)) for draw in draws]).ravel(),
        len(labels),
        groups=GROUPS,
    )
    parts = len(found.values) // len(draws)
    return [
        Jackknife(values, left_out)
        for values, left_out in zip(
            np.split(found.values, parts), np.split(found.left_out, parts), strict=True
        )
    ]


def minus(a: Jackknife, b: Jackknife) -> Jackknife:
    """Return the difference as a score of its own, so that differences of several pairs form one family."""
    return Jackknife(a.values - b.values, a.left_out - b.left_out)
