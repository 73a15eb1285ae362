"""Evaluation of many checkpoints: documents, answers, choices."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers.coreference import checkpoints, evaluation
from helpers.coreference.items import build_items
from tests.coreference.conftest import PASSAGES, TEXTS, small


def test_small_genres_come_whole_and_the_rest_is_shared():
    genres = ["wiki"] * 3 + ["novel"] * 50 + ["petition"] * 100
    chosen = evaluation._evenly(genres, 23, seed=0)
    assert [genres[at] for at in chosen] == ["wiki"] * 3 + ["novel"] * 10 + ["petition"] * 10
    assert chosen == sorted(set(chosen)) != evaluation._evenly(genres, 23, seed=1)
    assert evaluation._evenly(genres, 1000, seed=0) == list(range(153))


def test_articles_with_numbers_for_ids_are_of_one_genre_that_of_their_source(tmp_path):
    """As the hub has them: Wikipedia's ids are page numbers."""
    texts = [f"문서 {at}의 본문이다. 본문은 짧다." for at in range(60)]
    lines = [json.dumps({"id": str(at), "text": text}) for at, text in enumerate(texts)]
    (tmp_path / "wikipedia.jsonl").write_text("\n".join(lines))
    assert set(evaluation.load_genres(str(tmp_path), "train", rows=10)["genre"]) == {tmp_path.name}
    assert evaluation.genre("kowiki-0012", source="local") == "kowiki"
    assert evaluation.genre("12-0012", source="hub") == evaluation.genre("0012", source="hub") == "hub"


def test_numeric_ids_and_odd_nouns_are_read_back_as_they_were_written(run, tokenizer):
    documents = [{"id": f"{number:03d}", "text": TEXTS[number]} for number in (0, 1, 2)]
    items = build_items(documents)
    table = pd.DataFrame([{"run": "a", "step": 0, "length": 64, "checkpoint": str(run / "checkpoint-0")}])
    _, answers = evaluation.evaluate(table, items=items, lambada=PASSAGES)
    assert set(answers["document"]) <= {"000", "001", "002"} and not answers.empty
    frame = pd.DataFrame({"document": ["007"], "noun": ["NA"], "prediction": [""], "hit1": [True]})
    frame.to_csv(run / "items.csv", index=False)
    assert evaluation.read_rows(run / "items.csv").equals(frame)


def test_a_bad_checkpoint_is_an_error_row_not_the_end(run, items):
    configs = [{"checkpoint": str(folder), "seq_len": None} for folder in checkpoints.find_checkpoints(run)]
    frame = evaluation.evaluate_checkpoints(configs, items=items, lambada=PASSAGES)
    assert frame["status"].tolist() == ["ok", "failed", "ok"]
    assert frame["evaluated_length"].dropna().tolist() == [64, 64]
    score = checkpoints.composite(frame["real1"], frame["real5"], frame["lambada1"])
    assert np.allclose(frame["score"], score, equal_nan=True)


def test_evaluation_is_kept_until_the_weights_change(run, items, tokenizer):
    configs = [{"checkpoint": str(run / "checkpoint-0"), "seq_len": None}]
    first = evaluation.evaluate_checkpoints(configs, items=items, lambada=PASSAGES)
    again = evaluation.evaluate_checkpoints(configs, items=items, lambada=PASSAGES)
    assert first.equals(again), "even the time of evaluation is that of the first"
    small("bert", tokenizer, seed=77).save_pretrained(run / "checkpoint-0")
    changed = evaluation.evaluate_checkpoints(configs, items=items, lambada=PASSAGES)
    assert changed["folder"][0] != first["folder"][0]


def test_answers_are_read_back_with_their_checkpoint(tmp_path):
    pd.DataFrame({"id": ["a", "b"], "hit1": [True, False]}).to_csv(tmp_path / "items.csv", index=False)
    rows = [{"run": "a", "step": 7, "folder": str(tmp_path), "status": "ok"}]
    rows += [{"run": "a", "step": 9, "folder": "nowhere", "status": "failed"}]
    frame = evaluation.read_answers(pd.DataFrame(rows))
    assert frame["step"].tolist() == [7, 7] and frame["hit1"].tolist() == [True, False]
    with pytest.raises(ValueError, match="error"):
        evaluation.read_answers(pd.DataFrame(rows[1:]))


def test_every_checkpoint_answers_the_same_items(world):
    groups = world["answers"].groupby(["run", "step"])["id"].apply(lambda ids: tuple(sorted(ids)))
    assert groups.nunique() == 1
    assert len(groups) == len(world["evaluated"])


def test_choosing_and_reporting_halves_are_apart(world):
    documents = [f"d{at}" for at in range(2000)]
    half = evaluation.to_choose_on(documents)
    assert half.mean() == pytest.approx(0.5, abs=0.05)
    assert np.array_equal(half, evaluation.to_choose_on(documents))
    reported = set(world["answers"]["document"])
    assert reported and not evaluation.to_choose_on(sorted(reported)).any()
    assert len(reported) < len(set(world["items"]["document"]))


def test_equal_epochs_and_equal_steps_are_different_comparisons():
    rows = [("mlm_v2 24", 5, 0.5), ("mlm_v2 24", 10, 1.0), ("combined 24", 10, 0.5), ("combined 24", 20, 1.0)]
    evaluated = pd.DataFrame(rows, columns=["run", "step", "epoch"])
    frame = evaluated.assign(id="i0")
    steps = {
        what: [
            side["step"].iloc[0]
            for side in evaluation.at_equal(frame, evaluated, ("mlm_v2 24", "combined 24"), what)
        ]
        for what in ("epoch", "step")
    }
    assert steps == {"epoch": [10, 20], "step": [10, 10]}


def test_choices_are_the_best_on_the_documents_to_choose_on(world):
    evaluated = world["evaluated"]
    by_run = evaluation.choose(evaluated, "run").set_index("run")
    assert list(by_run.index) == list(dict.fromkeys(evaluated["run"]))
    assert by_run["chosen_by"].equals(evaluated.groupby("run", sort=False)["chosen_by"].max())
    kinds = evaluation.choose(evaluated, "curriculum")
    assert kinds["curriculum"].tolist() == ["base", "mlm_v2", "combined", "entity"]


def test_a_longer_window_shows_more_mentions_whoever_looks(world):
    chosen = evaluation.choose(world["evaluated"], "run")
    rows = chosen.loc[chosen["curriculum"] == "combined", list(world["listed"].columns)]
    crossed = [rows.assign(run=rows["run"] + f" at {length}", length=length) for length in (24, 48)]
    table = pd.concat(crossed, ignore_index=True)
    _, answers = evaluation.evaluate(table, items=world["items"], lambada=PASSAGES)
    seen = answers.groupby("run", sort=False)["antecedent"].mean().tolist()
    assert len(seen) == 4 and seen[0] == seen[1] < seen[2] == seen[3]


def test_close_looks_are_at_the_documents_to_report_on(world):
    chosen = evaluation.choose(world["evaluated"], "curriculum").tail(2)
    asked = {"items": world["items"], "legacy_items": world["items"].select(range(3)), "lambada": PASSAGES}
    examined = evaluation.examine(chosen, choices=3, **asked)
    assert list(examined) == chosen["run"].tolist()
    for frames in examined.values():
        assert set(frames) == {"ablated", "ranked", "legacy", "exact", "legacy_lambada"}
        assert set(frames["ablated"]["id"]) == set(world["answers"]["id"]) == set(frames["ranked"]["id"])
        assert len(frames["legacy"]) == len(frames["exact"]) == 3
        assert frames["ranked"]["chance"].between(1 / 3, 1).all()
