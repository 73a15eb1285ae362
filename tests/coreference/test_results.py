"""Curves, breakdown, verdict and drawn items."""

import numpy as np
import pandas as pd
import pytest

from helpers.coreference import checkpoints, results, trajectories
from helpers.coreference import items as coreference_items


def answers(run, *right, step=1):
    n = len(right[0])
    frame = {"run": run, "step": step, "id": [f"i{at:03d}" for at in range(n)]}
    frame |= {"document": [f"d{at // 2}" for at in range(n)]}
    seeds = [pd.DataFrame({**frame, "seed": at, "hit1": hit, "hit5": hit}) for at, hit in enumerate(right)]
    return pd.concat(seeds)


def test_runs_from_the_base_start_at_its_score(world):
    curve = results.curves(world["hints"], world["tried"])
    runs = dict(list(curve.groupby("run")))
    assert set(runs) == set(world["runs"]["run"])
    for length in (24, 48):
        base = world["hints"].query(f"run == 'base {length}'")["hit1"].mean() * 100
        for name in ("mlm_v2", "combined"):
            first = runs[f"{name} {length}"].iloc[0]
            assert (first["step"], first["tokens"], first["value"]) == (0, 0, pytest.approx(base))
    assert runs["entity"]["step"].min() > 0, "its parent is not the base"


def test_a_run_trained_if_no_seed_is_as_bad_as_guessing():
    def rows(run, losses):
        return pd.DataFrame({"run": run, "loss": losses, "guessing_loss": 5.0, "steps": 9})

    table = results.training(rows("base", [4.0, 4.5]), rows("a", [4.0, 5.1])).set_index("run")
    assert table["trained"].to_dict() == {"base": True, "a": False}
    assert table.loc["a", "last loss"] == pytest.approx(4.55) and table.loc["a", "seeds"] == 2
    pretrained = rows("base", [None]).assign(guessing_loss=None)
    assert results.training(pretrained, rows("a", [4.0]))["trained"].all()


@pytest.fixture
def candidates():
    """Three runs: one cheap and bad, one in the middle as good as the best, which costs most."""
    good = np.arange(400) % 2 == 0
    close, bad = good.copy(), np.arange(400) % 10 == 0
    close[0] = False
    frames = {"long": answers("long", good, good), "short": answers("short", close, close)}
    frames |= {"base": answers("base", bad, bad)}
    rows = [("long", 1, 9000, 0.6), ("short", 1, 3000, 0.5), ("base", 1, 0, 0.1)]
    looked = pd.DataFrame(rows, columns=["run", "step", "tokens", "chosen_by"])
    declared = trajectories.declare(
        [("long", "short")], margin=2, choosing=frames["long"]["document"], reporting=["r"]
    )
    return looked, frames, declared


def test_the_cheapest_that_is_equivalent_to_the_best_is_kept(candidates):
    looked, frames, declared = candidates
    assert results.keep(looked, pd.concat(frames.values()), declared=declared) == "short"


def test_not_shown_to_be_worse_is_not_equal(candidates):
    looked, frames, declared = candidates
    rng = np.random.default_rng(0)
    noisy = answers("short", rng.random(400) < 0.5, rng.random(400) < 0.48)
    frames = frames | {"short": noisy}
    assert results.keep(looked, pd.concat(frames.values()), declared=declared) == "long"


def test_nothing_is_kept_by_the_documents_to_report_on(candidates):
    looked, frames, declared = candidates
    elsewhere = pd.concat(frames.values()).assign(document="r")
    with pytest.raises(ValueError, match="reported on"):
        results.keep(looked, elsewhere, declared=declared)


def test_the_verdict_puts_the_kept_run_first_and_compares_the_others_with_it(candidates):
    looked, frames, declared = candidates
    gaps = pd.concat([answers(run, [True, False], [True, False]) for run in frames])
    table = results.verdict_table(looked, frames, gaps, kept="short", declared=declared)
    assert table.columns[0] == "decision"
    assert table[["decision", "run"]].values.tolist()[0] == ["keep", "short"]
    assert set(table["decision"][1:]) == {"drop"}
    told = table.set_index("run")["against the kept"]
    assert told.to_dict() == {"short": "–", "long": "equivalent", "base": "worse"}
    want = 100 * checkpoints.composite(0.5, 0.5, 0.5)
    assert table.set_index("run").loc["long", "score"].value == pytest.approx(want)


def test_breakdown_covers_every_item_once_per_way():
    frame = answers("r", [True, False, True, False]).assign(
        distance=[0, 30, 150, 900],
        tag=["NNG", "NNP", "NNG", "NNP"],
        pieces=[1, 0, 9, 2],
        antecedent=[True] * 4,
        seen=[True, True, True, False],
        genre="novel",
    )
    table = results.breakdown(frame)
    assert table.groupby("by", sort=False).size().to_dict() == {
        "training": 2,
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
    several = results.breakdown(frame.assign(genre=["novel", "novel", "wiki", "wiki"]))
    assert several.query("by == 'genre'")["group"].tolist() == ["novel", "wiki"]


def test_drawn_items_are_cropped_and_escaped():
    text = "가나 <b>굵게</b> " + "아 " * 300 + "가나"
    item = {"text": text, "start": len(text) - 2, "end": len(text), "antecedents": [[0, 2]], "noun": "가나"}
    drawn = results.draw_item(item, "hidden").data
    assert "<b>" not in drawn and "hidden" in drawn and "earlier" not in drawn
    near = {**item, "text": "<i> 가나 가나", "start": 7, "end": 9, "antecedents": [[4, 6]]}
    drawn = results.draw_item(near, "hidden").data
    assert "&lt;i&gt;" in drawn and "earlier" in drawn
