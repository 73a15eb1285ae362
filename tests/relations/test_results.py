"""Sweep frames by hand, and two tiny runs of the real thing."""

import json

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from helpers.relations import results
from helpers.relations.experiment import (
    RelationConfig,
    encode_rows,
    load_logits,
    load_splits,
    prepare,
    scores,
    train_and_score,
)
from helpers.relations.markers import register_markers
from helpers.relations.scores import auprc, micro_f1
from helpers.statistics import Interval
from helpers.text.tokenizers import train_tokenizer

TINY = {"tokenizer": "train:wordpiece", "vocab_size": 500, "hidden": 16, "epochs": 1, "batch_rows": 16}


@pytest.fixture(scope="module")
def splits():
    return load_splits("sample", train_rows=150, dev_rows=60)


@pytest.fixture(scope="module")
def frame(splits, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUNCHI_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield results.train(splits, results.factorial(TINY, seed=[2, 1]), name="test")


def test_validation_shares_nothing_with_training(splits):
    table = results.leak_table(splits).set_index("scored")
    assert table.loc["validation, by group"].tolist() == [0, 0]
    assert table.loc["random tenth (legacy)"].max() > 0
    assert len(splits.train) + len(splits.valid) == 150
    assert len(splits.dev) == 60


def test_features_point_at_the_start_markers_even_when_cut(splits):
    tokenizer = train_tokenizer("wordpiece", splits.train["sentence"][:], size=500)
    register_markers(tokenizer, "marker-punct")
    for length in (12, 256):
        for row in encode_rows(splits.dev, tokenizer, scheme="marker-punct", max_length=length):
            assert len(row["input_ids"]) <= length
            assert tokenizer.convert_ids_to_tokens(row["input_ids"][row["subject_start"]]) == "@"
            assert tokenizer.convert_ids_to_tokens(row["input_ids"][row["object_start"]]) == "#"


def test_constraints_reach_the_rows(splits):
    _, rows = prepare(splits, RelationConfig(**TINY, constraint="prefix"))
    blocked = {split: np.array([row["label_bias"] for row in part]) < -1e3 for split, part in rows.items()}
    assert all(part.any() and not part[:, 0].any() for part in blocked.values())
    gold = splits.train["label"][:]
    assert not blocked["train"][np.arange(len(gold)), gold].any()


@pytest.mark.parametrize(
    "settings", [{"sampling": "hard-negatives"}, {"constraint": "pair", "class_weight_power": 0.5}]
)
def test_every_kind_of_training_runs(splits, tmp_path, settings):
    result = train_and_score(splits=splits, folder=tmp_path, **TINY, **settings)
    assert load_logits(tmp_path, "valid").shape == (len(splits.valid), 30)
    assert 0 <= result["micro_f1"] <= 100
    assert not (tmp_path / "checkpoints").exists()


def test_scores_are_those_of_the_saved_logits(frame, splits):
    gold = splits.dev["label"][:]
    logits = load_logits(frame["folder"][0])
    assert frame["micro_f1"][0] == approx(micro_f1(gold, logits.argmax(axis=1)))
    assert scores(gold, logits)["auprc"] == approx(frame["auprc"][0])
    assert frame["status"].tolist() == ["ok", "ok"]


def test_runs_come_in_the_order_of_their_seeds(frame):
    (runs,) = results.runs_by(frame, "tokenizer").values()
    assert np.array_equal(runs[0], load_logits(frame.set_index("seed")["folder"][1]))
    assert np.array_equal(runs[1], load_logits(frame.set_index("seed")["folder"][2]))
    assert not np.array_equal(runs[0], runs[1])


def test_audits_compare_with_the_published_procedures(frame, splits):
    gold = splits.dev["label"][:]
    table = results.grid_table(frame, gold)
    audit = results.choice_audit(table)
    assert audit["optimism"] >= 0
    assert audit["honest"] == table["micro_f1"][0].value  # best on validation comes first
    areas = results.auprc_audit(frame, gold)
    assert areas["legacy_raw_logits"][0] == approx(auprc(gold, load_logits(frame["folder"][0])))
    json.dumps(results.settings_of(table.assign(model="bilstm", peak_lr=1e-3).iloc[0], TINY))


def test_views_have_a_line_per_cell(frame, splits):
    table = results.grid_table(frame.assign(model="bilstm", peak_lr=2e-3), splits.dev["label"][:])
    assert results.score_view(table)["rate"].tolist() == ["0.002", "0.002"]
    assert set(results.cost_view(table)["stopped early"]) == {"no"}


def test_factorial_crosses_every_axis():
    cells = results.factorial({"epochs": 3}, model=["a", "b"], peak_lr=[1, 2, 3])
    assert len(cells) == 6
    assert cells[1] == {"epochs": 3, "model": "a", "peak_lr": 2}


def test_misspelt_settings_are_refused_before_training(splits):
    with pytest.raises(TypeError, match="tokeniser"):
        results.train(splits, [{"tokeniser": "train:bpe"}], name="test")
    with pytest.raises(ValueError, match="has no tokenizer of its own"):
        RelationConfig(model="bilstm")
    with pytest.raises(ValueError, match="constraint must be one of"):
        RelationConfig(tokenizer="train:bpe", constraint="types")


def test_decide_drops_only_what_is_really_worse():
    ranked = pd.DataFrame({"system": ["a", "b", "c"]})
    pairs = pd.DataFrame({"system": ["a", "a", "b"], "than": ["b", "c", "c"], "real": [False, True, True]})
    assert results.decide(ranked, pairs)["decision"].tolist() == ["keep", "keep", "drop"]


def test_rank_correlations_of_a_perfect_order():
    joined = pd.DataFrame(
        {"fertility": [1, 2, 3], "aligned entities, %": [9, 8, 7], "micro-F1": [1.0, 2.0, 5.0]}
    )
    assert results.rank_correlations(joined) == {"n": 3, "fertility": 1, "aligned": -1}


def test_final_model_stands_beside_the_baselines_in_order():
    learned = pd.DataFrame(
        {"system": ["net"], "micro_f1": [Interval(40, 38, 42)], "auprc": [Interval(30, 29, 31)]}
    )
    simple = pd.DataFrame(
        {
            "baseline": ["x", "y"],
            "micro_f1": [Interval(10, 9, 11), Interval(50, 48, 52)],
            "auprc": [Interval(1, 0, 2)] * 2,
        }
    )
    assert results.against_baselines(learned, simple, seconds=1)["system"].tolist() == ["y", "net", "x"]


@pytest.mark.parametrize("scheme", ["marker", "typed-punct"])
def test_a_saved_backbone_brings_its_tokenizer_and_makes_room_for_markers(splits, tmp_path, scheme):
    from helpers.learning import encoders

    tokenizer = train_tokenizer("wordpiece", splits.train["sentence"][:], size=500)
    backbone = encoders.encoder("bert", vocab_size=len(tokenizer), hidden=32, layers=1, max_length=256)
    for part in (backbone, tokenizer):
        part.save_pretrained(tmp_path / "backbone")
    settings = {"model": str(tmp_path / "backbone"), "scheme": scheme, "pooling": "starts", "epochs": 1}
    result = train_and_score(splits=splits, folder=tmp_path / "run", **settings)
    register_markers(tokenizer, scheme)
    added = len(tokenizer) - backbone.config.vocab_size
    unused = sum(p.numel() for name, p in backbone.named_parameters() if "pooler" in name)
    head = 32 * (2 * 32 + 1) + 30 * (32 + 1)
    assert result["parameters"] == backbone.num_parameters() - unused + 32 * added + head
    assert added > 0
