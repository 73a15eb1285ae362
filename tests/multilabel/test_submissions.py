"""The simulated competition: parts are disjoint, hidden labels stay hidden, correlations have intervals."""

import numpy as np
import pandas as pd
import pytest

from helpers.multilabel import submissions
from helpers.multilabel.experiment import NGrams, Posts
from helpers.multilabel.probing import Leaderboard
from helpers.multilabel.scores import macro_f1
from helpers.multilabel.submissions import HIDDEN, TRAIN, VALIDATION
from helpers.statistics import Interval


@pytest.fixture(scope="module")
def posts() -> Posts:
    rng = np.random.default_rng(0)
    labels = (rng.random((300, 2)) < 0.35).astype(np.int8)
    words = ["river", "budget", "meeting", "school", "report"]
    texts = [
        " ".join(
            rng.permutation([*(words[i] for i in rng.integers(0, 5, 4)), *["panic"] * a, *["glory"] * b])
        )
        for a, b in labels
    ]
    return Posts([str(i) for i in range(300)], texts, ["en"] * 300, [[]] * 300, labels, ("fear", "joy"))


@pytest.mark.parametrize("stratified", [True, False])
def test_a_stage_divides_the_posts_as_asked(posts, stratified):
    staged = submissions.stage(posts.labels, hidden=0.4, public=0.5, stratified=stratified)
    assert abs((staged.part == HIDDEN).sum() - 120) <= 2
    assert abs((staged.part == VALIDATION).sum() - 45) <= 3
    assert len(staged.public) == (staged.part == HIDDEN).sum() and abs(staged.public.sum() - 60) <= 2
    if stratified:
        shares = [posts.labels[staged.part == part].mean(axis=0) for part in (TRAIN, VALIDATION, HIDDEN)]
        assert np.ptp(shares, axis=0).max() < 0.03


def test_submissions_score_what_the_board_scores(posts, tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    staged = submissions.stage(posts.labels, hidden=0.4, public=0.5, stratified=True)
    board = Leaderboard(gold=posts.labels[staged.part == HIDDEN], public=staged.public, daily_limit=1)
    systems = {"good": NGrams(), "poor": NGrams(share=0.05)}
    frame = submissions.submit_models(systems, posts, staged, board, samples=200).set_index("system")
    assert frame.loc["good", "local"].value > frame.loc["poor", "local"].value
    assert frame.loc["good", "public"] > 0.9 and board.days == 2
    assert board.reveal()["private"].tolist() == frame["private"].tolist()
    ones = macro_f1(
        posts.labels[staged.part == HIDDEN], np.ones((staged.part == HIDDEN).sum() * 2).reshape(-1, 2)
    )
    assert frame.loc["good", "private"] > ones


def test_hidden_labels_change_nothing_but_the_scores(posts, tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    staged = submissions.stage(posts.labels, hidden=0.4, public=0.5, stratified=True)
    secret = staged.part == HIDDEN
    flipped = posts._replace(labels=np.where(secret[:, None], 1 - posts.labels, posts.labels).astype(np.int8))
    local = []
    for version in (posts, flipped):
        board = Leaderboard(gold=version.labels[secret], public=staged.public)
        local.append(
            submissions.submit_models({"m": NGrams()}, version, staged, board, samples=50)["local"][0]
        )
    assert local[0] == local[1]


def test_the_organiser_who_stratifies_is_found_out():
    labels = (np.random.default_rng(0).random((3000, 8)) < 0.15).astype(int)
    found = submissions.compare_organisers(labels, hidden=0.5, public=0.5).set_index("organiser splits")
    assert found.loc["stratified", "p if random"] < 0.001 < 0.01 < found.loc["at random", "p if random"]
    assert found.loc["stratified", "distance"] < found.loc["at random", "distance"]


def test_agreement_by_hand():
    local = [Interval(v, v - 0.1, v + 0.1) for v in (0.1, 0.2, 0.3, 0.4)]
    frame = pd.DataFrame({"local": local, "public": [0.2, 0.3, 0.4, 0.5], "private": [0.4, 0.1, 0.3, 0.2]})
    found = submissions.agreement(frame).set_index("scores")
    assert found.loc["local ↔ public", "correlation"].value == pytest.approx(1.0)
    assert found.loc["local ↔ public", "gap"].value == pytest.approx(0.1)
    assert found.loc["local ↔ private", "correlation"].low < -0.5
    with pytest.raises(ValueError, match="at least 4"):
        submissions.correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="varying"):
        submissions.correlation(np.ones(5), np.arange(5.0))
