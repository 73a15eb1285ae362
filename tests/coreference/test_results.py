"""Curves, breakdown, verdict and drawn items."""

import numpy as np
import pandas as pd
import pytest

from helpers.coreference import checkpoints, results
from helpers.coreference import items as coreference_items


def answers(run, right, *, step=1):
    n = len(right)
    frame = {"run": run, "step": step, "id": [f"i{at}" for at in range(n)]}
    frame |= {"document": [f"d{at // 2}" for at in range(n)], "hit1": right, "hit5": right}
    return pd.DataFrame(frame)


def test_runs_from_the_base_start_at_its_score(world):
    curve = results.curves(world["answers"], world["evaluated"])
    runs = dict(list(curve.groupby("run")))
    assert set(runs) == set(world["runs"]["run"])
    for length in (24, 48):
        base = world["answers"].query(f"run == 'base {length}'")["hit1"].mean() * 100
        for name in ("mlm_v2", "combined"):
            first = runs[f"{name} {length}"].iloc[0]
            assert (first["step"], first["tokens"], first["value"]) == (0, 0, pytest.approx(base))
    assert runs["entity"]["step"].min() > 0, "its parent is not the base"


def test_the_cheapest_that_is_not_worse_is_kept():
    good, equal, bad = np.arange(200) % 2 == 0, np.arange(200) % 2 == 0, np.arange(200) % 10 == 0
    equal[[1, 3]] = True
    best = {"long": answers("long", good), "short": answers("short", equal), "base": answers("base", bad)}
    rows = [("long", 9, 9000, 0.6), ("short", 3, 3000, 0.5), ("base", 0, 0, 0.1)]
    look = pd.DataFrame(rows, columns=["run", "step", "tokens", "chosen_by"])
    passages = dict.fromkeys(best, pd.DataFrame({"hit1": [True, False]}))
    table = results.verdict_table(best, look, passages).set_index("run")
    assert table["decision"].to_dict() == {"long": "drop", "short": "keep", "base": "drop"}
    want = 100 * checkpoints.composite(0.5, 0.5, 0.5)
    assert table.loc["long", "score"].value == pytest.approx(want)


def test_breakdown_covers_every_item_once_per_way():
    frame = answers("r", [True, False, True, False]).assign(
        distance=[0, 30, 150, 900],
        tag=["NNG", "NNP", "NNG", "NNP"],
        pieces=[1, 0, 9, 2],
        antecedent=[True] * 4,
    )
    table = results.breakdown(frame)
    assert table.groupby("by", sort=False).size().to_dict() == {
        "distance": 4,
        "part of speech": 2,
        "pieces": 4,
        "antecedent": 1,
    }
    assert table.query("by == 'distance'")["group"].tolist() == [
        f"{label} characters away" for label in coreference_items.distance_labels()
    ]
    at = table.set_index("group")["value"]
    assert at["common noun"] == 100 and at["proper noun"] == 0


def test_drawn_items_are_cropped_and_escaped():
    text = "가나 <b>굵게</b> " + "아 " * 300 + "가나"
    item = {"text": text, "start": len(text) - 2, "end": len(text), "antecedents": [[0, 2]], "noun": "가나"}
    drawn = results.draw_item(item, "hidden").data
    assert "<b>" not in drawn and "hidden" in drawn and "earlier" not in drawn
    near = {**item, "text": "<i> 가나 가나", "start": 7, "end": 9, "antecedents": [[4, 6]]}
    drawn = results.draw_item(near, "hidden").data
    assert "&lt;i&gt;" in drawn and "earlier" in drawn
