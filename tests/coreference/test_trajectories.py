"""Scores, decided questions and the stopping rule, on answers item by item."""

import numpy as np
import pandas as pd
import pytest

from helpers.coreference import trajectories

ROWS = {"choosing": ["x"], "reporting": ["y"]}


def answers(step, *right, documents=None):
    """Answers of one run at one step, a seed for every sequence; two items a document unless told."""
    n = len(right[0])
    documents = documents if documents is not None else [f"d{at // 2}" for at in range(n)]
    items = {"run": "r", "step": step, "id": [f"i{at:04d}" for at in range(n)], "document": documents}
    return pd.concat([pd.DataFrame({**items, "seed": seed, "hit1": hits}) for seed, hits in enumerate(right)])


def ask(pairs, frames, margin=2.0):
    return trajectories.ask(trajectories.declare(pairs, margin=margin, **ROWS), pairs, frames)


def test_statistics_are_in_the_order_of_ids_whatever_the_order_of_rows():
    frame = answers(0, [True, False, True, True], [False, False, True, True])
    got = trajectories.stats(frame.sample(frac=1, random_state=1))
    assert got.shape == (2, 4, 2) and (got[..., 1] == 1).all()
    assert got[..., 0].tolist() == [[1, 0, 1, 1], [0, 0, 1, 1]]
    assert trajectories.documents(frame.sample(frac=1, random_state=2)) == ["d0", "d0", "d1", "d1"]
    with pytest.raises(ValueError, match="1 answers are missing"):
        trajectories.stats(frame.iloc[1:])


def test_a_curve_has_a_value_and_an_interval_per_step():
    frame = pd.concat([answers(0, [False] * 40), answers(5, [True, False] * 20)])
    curve = trajectories.scores(frame, ["run", "step"], {"Real@1": "hit1"})
    assert curve[["run", "step"]].values.tolist() == [["r", 0], ["r", 5]]
    none, half = curve["Real@1"]
    assert none.value == none.low == 0.0 and 5 < none.high < 20, "40 items without a hit prove little"
    assert half.value == 50 and half.low < 50 < half.high


def test_one_document_says_nothing_about_others():
    frame = answers(0, [True, True], documents=["a", "a"])
    assert trajectories.percent(frame) == (100, 0, 100)


def test_seeds_widen_an_interval():
    rng = np.random.default_rng(0)
    same = rng.random(200) < 0.5
    calm = trajectories.percent(answers(0, same, same, same))
    wild = trajectories.percent(answers(0, same, rng.random(200) < 0.3, rng.random(200) < 0.7))
    assert wild.half_width > 1.5 * calm.half_width


def test_questions_are_decided_over_items_and_seeds_and_corrected_together():
    low, high = [True, False] * 60, [True, True, True, False] * 30
    frames = {"low": answers(0, low, low, low), "high": answers(1, high, high, high)}
    frame = ask([("high", "low"), ("low", "high"), ("low", "low")], frames)
    assert frame["decision"].tolist() == ["better", "worse", "equivalent"]
    assert frame[["system", "than"]].values.tolist()[:2] == [["high", "low"], ["low", "high"]]
    assert [gap.value for gap in frame["difference"]] == pytest.approx([25, -25, 0])
    assert (frame["p_holm"] >= frame["p"]).all()


def test_one_seed_decides_nothing():
    frames = {"low": answers(0, [False] * 60), "high": answers(1, [True, False] * 30)}
    assert ask([("high", "low")], frames)["decision"].tolist() == ["undecided"]


def test_seeds_that_disagree_leave_a_question_open():
    rng = np.random.default_rng(1)
    before = [rng.random(400) < 0.4 for _ in range(3)]
    after = [rng.random(400) < share for share in (0.30, 0.45, 0.60)]
    frames = {"before": answers(0, *before), "after": answers(1, *after)}
    assert ask([("after", "before")], frames)["decision"].tolist() == ["undecided"]


def test_sides_must_have_the_same_items_and_seeds():
    before, after = answers(0, [True, False] * 30), answers(1, [True, True] * 30)
    for odd in (after[after["id"] != "i0003"], answers(1, [True] * 60, [True] * 60)):
        with pytest.raises(ValueError, match="same ones"):
            ask([("after", "before")], {"before": before, "after": odd})


def test_answers_of_a_checkpoint_are_picked_by_run_and_step():
    frame = pd.concat([answers(0, [True] * 4), answers(5, [False] * 4)])
    assert not trajectories.pick(frame, "r", 5)["hit1"].any()
    with pytest.raises(ValueError, match="no answers of 'r' at step 7"):
        trajectories.pick(frame, "r", 7)


def test_one_standard_error_takes_the_earliest_that_is_as_good():
    rng = np.random.default_rng(0)
    good = rng.random(400) < 0.6
    touched = good.copy()
    touched[np.flatnonzero(~good)[:2]] = True  # two items better
    bad = [rng.random(400) < 0.2 for _ in range(2)]
    frame = pd.concat([answers(1, *bad), answers(2, good, good), answers(3, touched, good)])
    assert trajectories.one_standard_error(frame) == 2, "one item of 400, in one seed of two"
    assert trajectories.one_standard_error(frame[frame["step"] != 2]) == 3
