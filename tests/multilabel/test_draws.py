"""Draws of the folds: scores are arranged by who saw what, and a whole procedure is scored again."""

import numpy as np
import pytest

from helpers.multilabel import draws
from helpers.multilabel.draws import Draw


def test_pairs_of_folds_make_a_nested_ensemble():
    assigned, rng = np.array([0, 1, 2, 0, 1, 2]), np.random.default_rng(0)
    scores = {}
    for left_out in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]:
        scores[left_out] = np.where(np.isin(assigned, left_out)[:, None], rng.random((6, 2)), np.nan)
    draw = draws.arrange(scores, assigned)
    hidden = assigned == 1
    assert (draw.scores[hidden] == scores[1,][hidden]).all()
    assert (draw.members[0][hidden] == scores[0, 1][hidden]).all()
    assert (draw.members[2][hidden] == scores[1, 2][hidden]).all()
    assert np.isnan(draw.members[1][hidden]).all()
    assert draw.averaged[hidden] == pytest.approx((scores[0, 1][hidden] + scores[1, 2][hidden]) / 2)


def test_without_pairs_there_is_no_ensemble():
    assigned = np.array([0, 1, 0, 1])
    draw = draws.arrange({(0,): np.zeros((4, 1)), (1,): np.ones((4, 1))}, assigned)
    assert draw.scores[:, 0].tolist() == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="each pair of folds"):
        _ = draw.averaged


def test_some_posts_of_a_draw_keep_all_that_is_theirs():
    rng = np.random.default_rng(0)
    keep = rng.random((6, 2)) < 0.5
    draw = Draw(np.arange(6) % 3, rng.random((6, 2)), rng.random((3, 6, 2)), keep)
    rows = np.array([True, False, True, True, False, True])
    part = draw.only(rows)
    for name in ("assigned", "scores", "keep"):
        assert (getattr(part, name) == getattr(draw, name)[rows]).all()
    assert (part.members == draw.members[:, rows]).all()


def test_every_value_of_a_procedure_is_scored_on_every_draw_and_without_every_group():
    labels = np.arange(100.0)[:, None]
    two = [Draw(np.arange(100) % 5, labels * scale) for scale in (1.0, 10.0)]
    mean, count = draws.regrouped(lambda y, draw: [draw.scores.mean(), len(y)], labels, two)
    assert mean.values.tolist() == [49.5, 495.0] and mean.left_out.shape == (2, draws.GROUPS)
    assert mean.left_out[1] == pytest.approx(10 * mean.left_out[0])
    assert (count.left_out == 95).all()


def test_the_difference_of_a_score_and_itself_is_nothing():
    labels, draw = np.zeros((40, 1)), Draw(np.arange(40) % 5, np.random.default_rng(0).random((40, 1)))
    (one,) = draws.regrouped(lambda y, draw: [draw.scores.mean()], labels, [draw])
    assert not draws.minus(one, one).values.any() and not draws.minus(one, one).left_out.any()
