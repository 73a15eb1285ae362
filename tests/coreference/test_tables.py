"""The coreference notebook's runs, choices, tables and sentences."""

import numpy as np
import pandas as pd
import pytest

from helpers.coreference import checkpoints, evaluation, experiment, story
from helpers.coreference import items as coreference_items
from helpers.coreference import tables as report
from helpers.statistics import Interval

SETTINGS = {
    "model": "deberta-v2",
    "tokenizer": "train:wordpiece",
    "vocabulary": 500,
    "hidden": 32,
    "layers": 1,
    "lengths": (24, 48),
    "base_epochs": 1,
    "base_lr": 1e-3,
    "epochs": 1,
    "peak_lr": 1e-3,
    "entity_epochs": 1,
    "entity_lr": 1e-3,
    "batch_rows": 8,
    "mask_rate": 0.15,
    "seed": 0,
}


def test_small_genres_come_whole_and_the_rest_is_shared():
    genres = ["wiki"] * 3 + ["novel"] * 50 + ["petition"] * 100
    chosen = evaluation._evenly(genres, 23, seed=0)
    assert [genres[at] for at in chosen] == ["wiki"] * 3 + ["novel"] * 10 + ["petition"] * 10
    assert chosen == sorted(set(chosen)) != evaluation._evenly(genres, 23, seed=1)
    assert evaluation._evenly(genres, 1000, seed=0) == list(range(153))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengths": (48, 24)}, "shorter first"),
        ({"base_epochs": 0}, "from scratch"),
        ({"model": "klue/x"}, "none"),
    ],
)
def test_settings_that_cannot_work_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        experiment.Study(**SETTINGS | change)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A whole experiment, tiny: base, four runs, entity runs from three parents, all evaluated."""
    patch = pytest.MonkeyPatch()
    patch.setenv("NUNCHI_CACHE", str(tmp_path_factory.mktemp("cache")))
    study = experiment.Study(**SETTINGS)
    train = evaluation.load_genres("sample", "train", rows=12)
    dev = evaluation.load_genres("sample", "dev", rows=12)
    mentions, items = coreference_items.build_items(train), coreference_items.build_items(dev)
    passages = [
        {"index": 0, "text": "그 사람은 기타를 샀다. 산 것은 _이다.", "answer": "기타", "candidate": "사람"}
    ]
    base_row, base = experiment.train_base(study, train)
    first = experiment.train_runs(study, experiment.continued(study, base), documents=train, items=mentions)
    listed = experiment.list_checkpoints(first, base=base, lengths=study.lengths)
    scored, _ = evaluation.evaluate(listed, items=items, lambada=passages, name="evaluation")
    plan = experiment.entity_runs(scored, study, scores="chosen_by")
    entity = experiment.train_runs(study, plan, documents=train, items=mentions)
    runs = pd.concat([first, entity], ignore_index=True)
    listed = experiment.list_checkpoints(runs, base=base, lengths=study.lengths)
    evaluated, answers = evaluation.evaluate(listed, items=items, lambada=passages, name="evaluation")
    yield {
        "runs": runs, "plan": plan, "evaluated": evaluated, "answers": answers, "items": items,
        "base_row": base_row, "train": train, "mentions": mentions, "passages": passages,
    }  # fmt: skip
    patch.undo()


def test_runs_leave_half_epoch_checkpoints_and_count_their_parents_tokens(world):
    evaluated, runs = world["evaluated"], world["runs"]
    assert (evaluated["status"] == "ok").all()
    for run in runs.to_dict("records"):
        rows = evaluated[evaluated["run"] == run["run"]].sort_values("step")
        assert rows["epoch"].round(1).tolist() == pytest.approx([0.5, 1.0], abs=0.2)
        parent = evaluated.loc[evaluated["checkpoint"] == run["parent"], "tokens"].iloc[0]
        spent = rows["tokens"] - parent
        assert np.allclose(spent, rows["step"] * run["tokens_per_step"])
        assert (parent == 0) == (run["experiment"] != "entity")


def test_every_checkpoint_answers_the_same_items(world):
    groups = world["answers"].groupby(["run", "step"])["id"].apply(lambda ids: tuple(sorted(ids)))
    assert groups.nunique() == 1
    assert len(groups) == len(world["evaluated"])


def test_parents_are_the_best_the_earliest_and_the_best_long(world):
    best, earliest, long = world["plan"]
    evaluated = world["evaluated"].query("experiment == 'mlm_v2'").set_index(["run", "step"])
    for parent, run in ((best, "mlm_v2 24"), (long, "mlm_v2 48")):
        scores = evaluated.loc[run, "chosen_by"]
        assert parent["parent_run"] == run and scores[parent["parent_step"]] == scores.max()
    assert earliest["parent_run"] == "mlm_v2 24"
    assert earliest["parent_step"] == evaluated.loc["mlm_v2 24"].index.min()
    assert [run["length"] for run in world["plan"]] == [24, 24, 48]


def test_choosing_and_reporting_halves_are_apart(world):
    documents = [f"d{at}" for at in range(2000)]
    half = evaluation.to_choose_on(documents)
    assert half.mean() == pytest.approx(0.5, abs=0.05)
    assert half.equals(evaluation.to_choose_on(documents))
    reported = set(world["answers"]["document"])
    assert reported and not evaluation.to_choose_on(sorted(reported)).any()
    assert len(reported) < len(set(world["items"]["document"]))


def test_tables_of_a_whole_experiment(world):
    evaluated, answers = world["evaluated"], world["answers"]
    chosen = evaluation.chosen_steps(evaluated)
    best = evaluation.best_of(answers, chosen)
    assert set(best) == set(evaluated["run"])
    curve = report.curves(answers, evaluated)
    assert (curve.groupby("run")["step"].min()[["mlm_v2 24", "combined 48"]] == 0).all(), (
        "runs start at the base"
    )
    by_run = report.run_table(answers, evaluated)
    assert len(by_run) == 7 and by_run["p"].between(0, 1).all()
    asked = report.questions(answers, evaluated, lengths=(24, 48))
    assert len(asked) == 9 and (asked["holm"] >= asked["p"]).all()
    children = report.parents_table(answers, evaluated, world["plan"])
    assert children["run"].tolist() == [run["run"] for run in world["plan"]]
    copied = evaluation.baseline_answers(world["items"], world["train"])
    assert set(copied["id"]) == set(answers["id"])
    systems = report.score_table(pd.concat([copied, *best.values()]))
    assert len(systems) == 5 + 9
    look = evaluation.selection(evaluated)
    assert {row["experiment"] for row in look.values()} == {"base", "mlm_v2", "combined", "entity"}
    assert len(look) == 4
    legacy = coreference_items.build_items(world["train"].select(range(3)), second_only=True)
    examined = evaluation.examine_all(
        look, items=world["items"], legacy_items=legacy, lambada=world["passages"], choices=3
    )
    copying = report.ablation_table(best, examined)
    assert copying["by chance"].between(33, 100).all()
    gaps = evaluation.lambada_answers(evaluated)
    verdict = report.verdict_table(best, look, gaps)
    assert verdict["decision"].tolist().count("keep") == 1
    sentence = story.verdict(verdict, asked, copying, systems)
    kept = verdict.loc[verdict["decision"] == "keep", "run"].iloc[0]
    assert sentence.startswith(f"Keep {kept} at step")
    figures = story.headline(verdict, copying, systems)
    assert all(figure["low"] <= figure["value"] <= figure["high"] for figure in figures)
    overview = report.describe({"train": (world["train"], world["mentions"])})
    assert overview["documents"].tolist() == [12]
    assert report.cost_table(world["runs"], world["base_row"])["run"].tolist()[0] == "base"
    assert report.legacy_table(examined)["items"].tolist() == [len(legacy)] * 4
    assert len(report.lambada_table(gaps, examined)) == 4
    assert report.genre_table(best[kept], copied)["genre"].unique().tolist() == ["sample"]


def test_lengths_are_crossed_on_the_same_items(world):
    table = report.lengths_table(
        world["evaluated"],
        items=world["items"],
        lambada=world["passages"],
        lengths=(24, 48),
        name="evaluation",
    )
    assert table[["trained at", "evaluated at"]].values.tolist() == [[24, 24], [24, 48], [48, 24], [48, 48]]
    seen = table["earlier mention in the window"].map(lambda interval: interval.value)
    assert seen[0] == seen[2] < seen[1] == seen[3], "a longer window shows more mentions, whoever looks"


def answers(run, right, *, step=1):
    n = len(right)
    frame = {"run": run, "step": step, "id": [f"i{at}" for at in range(n)]}
    frame |= {"document": [f"d{at // 2}" for at in range(n)], "hit1": right, "hit5": right}
    return pd.DataFrame(frame)


def test_the_cheapest_that_is_not_worse_is_kept():
    good, equal, bad = np.arange(200) % 2 == 0, np.arange(200) % 2 == 0, np.arange(200) % 10 == 0
    equal[[1, 3]] = True
    best = {"long": answers("long", good), "short": answers("short", equal), "base": answers("base", bad)}
    look = {
        "long": {"step": 9, "tokens": 9000, "chosen_by": 0.6},
        "short": {"step": 3, "tokens": 3000, "chosen_by": 0.5},
        "base": {"step": 0, "tokens": 0, "chosen_by": 0.1},
    }
    passages = dict.fromkeys(look, pd.DataFrame({"hit1": [True, False]}))
    table = report.verdict_table(best, look, passages).set_index("run")
    assert table["decision"].to_dict() == {"long": "drop", "short": "keep", "base": "drop"}
    want = 100 * checkpoints.composite(0.5, 0.5, 0.5)
    assert table.loc["long", "score"].value == pytest.approx(want)


def test_equal_epochs_and_equal_steps_are_different_comparisons():
    rows = [("mlm_v2 24", 5, 0.5), ("mlm_v2 24", 10, 1.0), ("combined 24", 10, 0.5), ("combined 24", 20, 1.0)]
    evaluated = pd.DataFrame(rows, columns=["run", "step", "epoch"])
    frame = pd.concat([answers(run, [True, False], step=step) for run, step, _ in rows])
    steps = {
        what: [side["step"].iloc[0] for side in report.at_equal(frame, evaluated, 24, what)]
        for what in ("epoch", "step")
    }
    assert steps == {"epoch": [10, 20], "step": [10, 10]}


def test_breakdown_covers_every_item_once_per_way():
    frame = answers("r", [True, False, True, False]).assign(
        distance=[0, 30, 150, 900],
        tag=["NNG", "NNP", "NNG", "NNP"],
        pieces=[1, 0, 9, 2],
        antecedent=[True] * 4,
    )
    table = report.breakdown(frame)
    assert table.groupby("by")["items"].sum().unique().tolist() == [4]
    assert table.query("by == 'distance'")["group"].tolist() == [
        f"{label} characters away" for label in coreference_items.distance_labels()
    ]
    at = table.set_index("group")["value"]
    assert at["common noun"] == 100 and at["proper noun"] == 0
    sentence = story.breakdown_sentence(table)
    assert "**100 %** of common nouns against **0 %** of proper nouns" in sentence


@pytest.mark.parametrize(
    ("model", "title"),
    [
        ((50, 45, 55), "recovers more"),
        ((32, 25, 39), "within noise"),
        ((10, 5, 15), "No run passes"),
    ],
)
def test_the_title_of_the_systems_figure_states_the_finding(model, title):
    rows = [("first to the left", Interval(30, 25, 35)), ("combined 24", Interval(*model))]
    assert title in story.systems_title(pd.DataFrame(rows, columns=["system", "Real@1"]))


def test_drawn_items_are_cropped_and_escaped():
    text = "가나 <b>굵게</b> " + "아 " * 300 + "가나"
    item = {"text": text, "start": len(text) - 2, "end": len(text), "antecedents": [[0, 2]], "noun": "가나"}
    drawn = story.draw_items([item]).data
    assert "<b>" not in drawn and "hidden" in drawn and "earlier" not in drawn
    near = {**item, "text": "<i> 가나 가나", "start": 7, "end": 9, "antecedents": [[4, 6]]}
    drawn = story.draw_items([near]).data
    assert "&lt;i&gt;" in drawn and "earlier" in drawn
