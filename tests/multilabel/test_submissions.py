"""The simulated competition: parts are disjoint, the board keeps its rules, correlations have intervals."""

import numpy as np
import pytest

from helpers.multilabel import submissions
from helpers.multilabel.probing import stratification_test
from helpers.multilabel.scores import macro_f1
from helpers.multilabel.submissions import HIDDEN, TRAIN, VALIDATION, Leaderboard

SHARES = {"hidden": 0.4, "public": 0.5, "validation": 0.25}


@pytest.mark.parametrize("stratified", [True, False])
def test_a_stage_divides_the_posts_as_asked(stratified):
    labels = (np.random.default_rng(0).random((300, 2)) < 0.35).astype(np.int8)
    staged = submissions.stage(labels, **SHARES, stratified=stratified)
    assert abs((staged.part == HIDDEN).sum() - 120) <= 2
    assert abs((staged.part == VALIDATION).sum() - 45) <= 3
    assert len(staged.public) == (staged.part == HIDDEN).sum() and abs(staged.public.sum() - 60) <= 2
    if stratified:
        shares = [labels[staged.part == part].mean(axis=0) for part in (TRAIN, VALIDATION, HIDDEN)]
        assert np.ptp(shares, axis=0).max() < 0.03


def test_the_leaderboard_keeps_its_rules():
    rng = np.random.default_rng(1)
    gold, public = (rng.random((300, 4)) < 0.3).astype(int), np.arange(300) % 3 == 0
    board, ones = Leaderboard(gold=gold, public=public), np.ones_like(gold)
    assert board.submit(ones, "ones") == round(macro_f1(gold[public], ones[public]), 5)
    board.submit(gold, "gold")
    revealed = board.reveal().set_index("submission")
    assert revealed.loc["ones", "private"] == macro_f1(gold[~public], ones[~public]), "private: not rounded"
    assert revealed.loc["gold"].tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="expected shape"):
        board.submit(ones[:, :2])
    with pytest.raises(ValueError, match="some, not all"):
        Leaderboard(gold=gold, public=np.ones(300, dtype=bool))


def test_the_organiser_who_stratifies_is_found_out():
    labels = (np.random.default_rng(0).random((3000, 8)) < 0.15).astype(int)
    found = {}
    for stratified in (True, False):
        staged = submissions.stage(labels, **SHARES, stratified=stratified)
        secret = staged.part == HIDDEN
        counts, n_rows = labels[secret][staged.public].sum(axis=0), int(staged.public.sum())
        found[stratified] = stratification_test(counts, n_rows=n_rows, labels=labels[~secret])
    assert found[True].p_random < 0.001 < 0.01 < found[False].p_random
    assert found[True].distance < found[False].distance


def test_correlation_by_hand():
    up, mixed = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.1, 0.3, 0.2])
    assert submissions.correlation(up, up + 0.1).value == pytest.approx(1.0)
    found = submissions.correlation(up, mixed)
    assert found.value == pytest.approx(np.corrcoef(up, mixed)[0, 1]) and found.low < -0.5
    with pytest.raises(ValueError, match="at least 4"):
        submissions.correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="varying"):
        submissions.correlation(np.ones(5), np.arange(5.0))


def board(**defence):
    gold = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 5)
    return Leaderboard(gold=gold, public=np.arange(20) < 12, **defence)


def test_the_ladder_prints_only_clear_improvements():
    one = board(ladder=0.1)
    half = np.array([[1, 0]] * 20)  # F1 2/3 of one class, 0 of the other: 1/3
    assert one.submit(half) == pytest.approx(0.3)  # rounded to the step
    assert one.submit(np.zeros((20, 2), dtype=int)) == pytest.approx(0.3)  # worse: the best stays
    assert one.submit(np.ones((20, 2), dtype=int)) == pytest.approx(0.7)  # 2/3
    assert one.submit(one.gold) == pytest.approx(1.0)


def test_noise_is_seeded_and_averages_out():
    ones = np.ones((20, 2), dtype=int)
    first, second = board(noise=0.01), board(noise=0.01)
    printed = [first.submit(ones) for _ in range(400)]
    assert printed == [second.submit(ones) for _ in range(400)]
    assert np.mean(printed) == pytest.approx(2 / 3, abs=0.002) and np.std(printed) == pytest.approx(
        0.01, rel=0.2
    )


def test_a_limit_refuses_more():
    one = board(limit=2)
    for _ in range(2):
        one.submit(one.gold)
    with pytest.raises(ValueError, match="takes 2 submissions"):
        one.submit(one.gold)
