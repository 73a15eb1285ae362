"""Evaluation of many checkpoints: documents, answers, choices."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from helpers.coreference import checkpoints, evaluation, scoring
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
    row = {"run": "a", "seed": 0, "step": 0, "length": 64, "checkpoint": str(run / "checkpoint-0")}
    table = pd.DataFrame([row])
    _, answers = evaluation.evaluate(table, items=items, lambada=PASSAGES)
    assert set(answers["document"]) == {"000", "001", "002"}
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
    rows = [{"run": "a", "seed": 3, "step": 7, "folder": str(tmp_path), "status": "ok"}]
    rows += [{"run": "a", "seed": 3, "step": 9, "folder": "nowhere", "status": "failed"}]
    frame = evaluation.read_answers(pd.DataFrame(rows), "items")
    assert frame["step"].tolist() == [7, 7] and frame["hit1"].tolist() == [True, False]
    assert set(frame["seed"]) == {3}
    with pytest.raises(ValueError, match="error"):
        evaluation.read_answers(pd.DataFrame(rows[1:]), "items")


def test_every_checkpoint_of_every_seed_answers_the_same_items(world):
    groups = world["hints"].groupby(["run", "seed", "step"])["id"].apply(lambda ids: tuple(sorted(ids)))
    assert groups.nunique() == 1
    assert len(groups) == len(world["tried"]) == len(world["listed"])
    assert set(world["hints"]["id"]) == set(world["choosing"]["id"])


def test_choosing_and_reporting_halves_are_apart(world):
    documents = [f"d{at}" for at in range(2000)]
    half = evaluation.to_choose_on(documents)
    assert half.mean() == pytest.approx(0.5, abs=0.05)
    assert np.array_equal(half, evaluation.to_choose_on(documents))
    choosing, reporting = (set(world[name]["document"]) for name in ("choosing", "reporting"))
    assert choosing and reporting and not choosing & reporting
    assert choosing | reporting == set(world["items"]["document"])


def test_choices_are_the_best_over_all_seeds(world):
    chosen = evaluation.choose(world["tried"], world["hints"], "run", declared=world["declared"])
    assert chosen["run"].drop_duplicates().tolist() == world["listed"]["run"].drop_duplicates().tolist()
    assert chosen.groupby("run")["seed"].apply(sorted).tolist() == [[0, 1]] * chosen["run"].nunique()
    ranks = world["hints"].groupby(["run", "step"])["reciprocal_rank"].mean()
    for run, rows in chosen.groupby("run"):
        assert rows["step"].nunique() == 1
        assert rows["chosen_by"].iloc[0] == ranks[run].max() == ranks[run, rows["step"].iloc[0]]
    kinds = evaluation.choose(world["tried"], world["hints"], "curriculum", declared=world["declared"])
    assert kinds["curriculum"].drop_duplicates().tolist() == ["base", "mlm_v2", "combined", "entity"]


def test_nothing_is_chosen_on_the_documents_to_report_on(world):
    _, answers = evaluation.evaluate(world["listed"].head(2), items=world["reporting"])
    with pytest.raises(ValueError, match="reported on"):
        evaluation.choose(world["tried"], answers, "run", declared=world["declared"])


def test_the_nearest_step_is_that_of_every_seed():
    rows = [("a", seed, step) for seed in (0, 1) for step in (5, 10, 20)] + [("b", 0, 11)]
    frame = pd.DataFrame(rows, columns=["run", "seed", "step"])
    for step, want in ((0, 5), (11, 10), (10**6, 20)):
        assert evaluation.nearest(frame, "a", step)[["seed", "step"]].values.tolist() == [
            [0, want],
            [1, want],
        ]


def test_a_longer_window_shows_more_mentions_whoever_looks(world):
    rows = world["listed"].query("curriculum == 'combined' and seed == 0").drop_duplicates("run")
    crossed = [rows.assign(run=rows["run"] + f" at {length}", length=length) for length in (24, 48)]
    _, answers = evaluation.evaluate(pd.concat(crossed), items=world["items"])
    seen = answers.groupby("run", sort=False)["antecedent"].mean().tolist()
    assert len(seen) == 4 and seen[0] == seen[1] < seen[2] == seen[3]


def test_close_looks_give_every_kind_of_answer_of_every_seed(world):
    chosen = evaluation.choose(world["tried"], world["hints"], "curriculum", declared=world["declared"])
    asked = {
        "items": world["reporting"],
        "legacy_items": world["items"].select(range(3)),
        "lambada": PASSAGES,
    }
    looks = evaluation.ablate(chosen.tail(4), items=world["reporting"])
    looks |= evaluation.examine(chosen.tail(4), choices=3, **asked)
    assert list(looks) == ["ablated", "placebo", "ranked", "legacy", "exact", "legacy_lambada"]
    for frame in looks.values():
        assert frame[["run", "seed"]].drop_duplicates().shape == (4, 2)
    for name in ("ablated", "placebo", "ranked"):
        assert set(looks[name]["id"]) == set(world["reporting"]["id"])
    assert len(looks["legacy"]) == len(looks["exact"]) == 3 * 4
    assert looks["ranked"]["chance"].between(1 / 3, 1).all()


def test_a_checkpoint_is_asked_where_the_gpu_is(run, items, tmp_path, monkeypatch):
    """The meta device stands for one: weights and inputs get there, and there is nothing to bring back."""
    asked = {"checkpoint": str(run / "checkpoint-0"), "items": items, "folder": tmp_path}
    with pytest.raises(RuntimeError, match="meta"):
        scoring.evaluate_checkpoint(seq_len=None, lambada=[], device="meta", **asked)
    monkeypatch.setattr(scoring, "best_device", lambda: torch.device("meta"))
    with pytest.raises(RuntimeError, match="meta"):
        scoring.evaluate_checkpoint(seq_len=None, lambada=[], **asked)
    with pytest.raises(RuntimeError, match="meta"):
        scoring.ablate(length=32, **asked)
    found = scoring.evaluate_checkpoint(seq_len=None, lambada=[], device="cpu", **asked)
    assert found["evaluated_length"] == 64


def test_device_and_portions_are_no_part_of_a_result(run, items):
    configs = [{"checkpoint": str(run / "checkpoint-0"), "seq_len": None}]
    first = evaluation.evaluate_checkpoints(configs, items=items, lambada=PASSAGES)
    how = {"device": "cpu", "batch_tokens": 64}
    assert evaluation.evaluate_checkpoints(configs, items=items, lambada=PASSAGES, **how).equals(first)
