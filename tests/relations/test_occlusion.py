"""Interventions on a model that can be read by eye, and on one that was trained and saved."""

from dataclasses import asdict

import pytest
import torch

from helpers.relations import experiment, occlusion
from helpers.relations.data import load_splits
from tests.relations.test_slices import ROWS, logits


def reader(rows):
    """A model that answers 3 when the word 세웠다 is there and the subject comes first, else 0."""
    rows = list(rows)
    first = [r["subject_entity"]["start_idx"] < r["object_entity"]["start_idx"] for r in rows]
    return logits([3 if "세웠다" in r["sentence"] and ok else 0 for r, ok in zip(rows, first, strict=True)])


def test_the_word_that_decides_carries_the_prediction():
    words, effects, label = occlusion.word_effects(reader, ROWS[2])
    assert words == ["솔은", "바다사를", "세웠다"] and label == 3
    assert effects.tolist() == [0, 0, pytest.approx(1, abs=0.01)]
    assert "세웠다" in occlusion.draw(reader, ROWS).data


def test_counterfactuals_count_changed_predictions():
    table = occlusion.counterfactuals(reader, ROWS).set_index("change")
    assert table["rows"].to_dict() == {"markers on another pair": 2, "other types": 3, "roles swapped": 3}
    changed = {name: share.value for name, share in table["prediction changes, %"].items()}
    assert changed["markers on another pair"] == 0 and changed["other types"] == 0
    assert changed["roles swapped"] == pytest.approx(100 / 3)


def test_twins_share_their_sentence():
    rows = [{"sentence": text, "n": n} for n, text in enumerate("abacb")]
    assert [row["n"] for row in occlusion.twins(rows, number=4)] == [0, 2, 1, 4]
    assert occlusion.twins(rows[3:4], number=2) == rows[3:4]


def test_the_kept_model_says_what_was_scored(tmp_path):
    splits = load_splits("sample", train_rows=150, dev_rows=40)
    config = experiment.RelationConfig(
        tokenizer="train:character", vocabulary_size=300, hidden=8, epochs=1, max_length=64, keep_model=True
    )
    experiment.train_and_score(splits=splits, folder=tmp_path, **asdict(config))
    reader = occlusion.load_predictor(tmp_path, config)
    assert reader(list(splits.dev)) == pytest.approx(experiment.load_logits(tmp_path), abs=1e-5)


def test_interventions_run_where_the_gpu_is(tmp_path, monkeypatch):
    """The meta device stands for one: weights and inputs get there, and there is nothing to bring back."""
    splits = load_splits("sample", train_rows=60, dev_rows=10)
    config = experiment.RelationConfig(
        tokenizer="train:character", vocabulary_size=300, hidden=8, epochs=1, max_length=64, keep_model=True
    )
    experiment.train_and_score(splits=splits, folder=tmp_path, **asdict(config))
    monkeypatch.setattr(occlusion, "best_device", lambda: torch.device("meta"))
    reader = occlusion.load_predictor(tmp_path, config)
    assert next(reader.model.parameters()).device.type == "meta"
    with pytest.raises(NotImplementedError, match="meta"):
        reader(list(splits.dev))
