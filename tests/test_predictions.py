"""The items behind headline figures: written once, read back, and scored as the headline was."""

import numpy as np
import pytest

from helpers import predictions, statistics


def test_what_is_written_is_read_back(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_OUT", str(tmp_path))
    swa, last = np.arange(12).reshape(2, 2, 3), np.ones((2, 2, 3))
    path = predictions.write(
        "04", {"SWA": (swa, last), "F1": (swa,)}, items=["a", "b"], clusters=[1, 1],
        predictions={"SWA": [["x", "y"], ["x", "z"]]},
    )  # fmt: skip
    assert path == tmp_path / "predictions.parquet"
    frame = predictions.read(tmp_path)
    assert len(frame) == 12 and set(frame["side"]) == {"system", "than"}
    row = frame[
        (frame["headline"] == "SWA")
        & (frame["seed"] == 1)
        & (frame["item"] == "b")
        & (frame["side"] == "system")
    ]
    assert row[["s0", "s1", "s2", "prediction", "cluster"]].iloc[0].tolist() == [9, 10, 11, "z", "1"]
    assert predictions.read(tmp_path / "nowhere") is None


def test_statistics_of_other_items_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_OUT", str(tmp_path))
    with pytest.raises(ValueError, match="SWA, system: 2 rows of statistics but 3 items"):
        predictions.write("04", {"SWA": (np.ones((1, 2, 2)),)}, items=["a", "b", "c"])


def test_the_score_goes_by_the_number_of_statistics():
    assert predictions.score(np.array([3.0, 4.0])) == 0.75
    one, other = np.array([1.0, 2.0, 2.0]), np.array([0.0, 0.0, 5.0])
    assert predictions.score(one) == statistics.f1(one) == 0.5
    assert predictions.score(np.concatenate([one, other])) == 0.25  # macro: the mean of .5 and 0
    with pytest.raises(ValueError, match="4 statistics an item"):
        predictions.score(np.ones(4))
