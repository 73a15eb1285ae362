"""Scores, paired tests and the stopping rule, on answers item by item."""

import numpy as np
import pandas as pd
import pytest

from helpers.coreference import trajectories


def answers(step, right, documents=None):
    n = len(right)
    documents = documents if documents is not None else [f"d{at // 2}" for at in range(n)]
    return pd.DataFrame(
        {"run": "r", "step": step, "id": [f"i{at}" for at in range(n)], "document": documents, "hit1": right}
    )


def test_a_curve_has_a_value_and_an_interval_per_step():
    frame = pd.concat([answers(0, [False] * 40), answers(5, [True, False] * 20)])
    curve = trajectories.scores(frame, ["run", "step"], {"Real@1": "hit1"})
    assert curve[["run", "step"]].values.tolist() == [["r", 0], ["r", 5]]
    none, half = curve["Real@1"]
    assert none.value == none.low == 0.0 and 10 < none.high < 20, "20 documents without a hit prove little"
    assert half == (50, 50, 50), "each document has one hit: nothing varies between them"


def test_pairs_are_aligned_by_item_and_must_be_the_same():
    before, after = answers(0, [True, False] * 30), answers(1, [True, True] * 30)
    gain, p = trajectories.difference(before, after.sample(frac=1, random_state=1))
    assert gain.value == 50 and p < 0.01
    assert trajectories.difference(before, before).p == 1.0
    with pytest.raises(ValueError, match="same items"):
        trajectories.difference(before, after.iloc[:-1])


def test_holm_counts_all_questions():
    same, better = answers(0, [True, False] * 30), answers(1, [True, True] * 30)
    frame = trajectories.differences({"better": (same, better), "same": (same, same)})
    assert frame["stands"].tolist() == [True, False]
    assert (frame["holm"] >= frame["p"]).all()


def test_one_standard_error_takes_the_earliest_that_is_as_good():
    rng = np.random.default_rng(0)
    base = rng.random(400) < 0.6
    flipped = base.copy()
    flipped[np.flatnonzero(~base)[:2]] = True  # two items better: less than one standard error
    frame = pd.concat([answers(1, rng.random(400) < 0.2), answers(2, base), answers(3, flipped)])
    documents_apart = frame.assign(document=frame["id"])
    assert trajectories.one_standard_error(documents_apart) in (2, 3)
    noisy = pd.concat([answers(1, rng.random(400) < 0.59), answers(2, rng.random(400) < 0.61)])
    assert trajectories.one_standard_error(noisy) == 1


def test_clustered_error_matches_its_definition():
    assert trajectories.clustered_error(np.array([1.0, 1.0, 0.0, 0.0]), list("aabb")) == 0.5
    values = np.random.default_rng(0).random(500)
    independent = trajectories.clustered_error(values, range(500))
    assert independent == pytest.approx(values.std(ddof=1) / np.sqrt(500), rel=1e-9)
    assert trajectories.clustered_error(np.array([1.0]), ["a"]) == 0.0
