"""Features by eye, and tiny runs of every kind of training."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.special import softmax

from helpers.learning import checkpointing, encoders
from helpers.relations import baselines, results, slices
from helpers.relations.data import load_splits
from helpers.relations.experiment import RelationConfig, encode, encode_rows, load_logits, train_and_score
from helpers.relations.markers import register_markers
from helpers.relations.scores import auprc, micro_f1
from helpers.text.tokenizers import train_tokenizer
from tests import own_data

TINY = {"tokenizer": "train:wordpiece", "vocabulary_size": 500, "hidden": 16, "epochs": 1, "batch_size": 16}


@pytest.fixture(scope="module")
def splits():
    return load_splits("sample", train_rows=150, dev_rows=60)


def test_features_point_at_the_start_markers_even_when_cut(splits):
    tokenizer = train_tokenizer("wordpiece", splits.train["sentence"][:], size=500)
    register_markers(tokenizer, "marker-punct")
    for length in (12, 256):
        for row in encode_rows(splits.dev, tokenizer, scheme="marker-punct", max_length=length):
            assert len(row["input_ids"]) <= length
            assert tokenizer.convert_ids_to_tokens(row["input_ids"][row["subject_start"]]) == "@"
            assert tokenizer.convert_ids_to_tokens(row["input_ids"][row["object_start"]]) == "#"


def test_constraints_reach_the_rows(splits):
    _, rows = encode(splits, RelationConfig(**TINY, constraint="prefix"))
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


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    for name, count, seed in (("train", 260, 0), ("dev", 60, 1)):
        own_data.write(folder, own_data.relations(count, seed=seed), f"mine_{name}")
    return load_splits(folder, train_rows=0, dev_rows=0)


@pytest.mark.parametrize(
    "settings",
    [
        {"scheme": "typed", "epochs": 6, "peak_lr": 1e-2},
        {"sampling": "hard-negatives", "constraint": "pair"},
        {"class_weight_power": 0.5, "constraint": "prefix"},
    ],
)
def test_labels_and_types_of_the_data_are_learned(own, tmp_path, settings):
    assert own.labels == ["no_relation", "복용", "처방"]
    result = train_and_score(splits=own, folder=tmp_path, **TINY | settings)
    assert load_logits(tmp_path).shape == (60, 3)
    tokenizer, _ = encode(own, RelationConfig(**TINY | settings))
    if settings.get("scheme"):
        assert result["micro_f1"] > 80
        assert tokenizer.tokenize("[SUBJ-인물]가[/OBJ-약물]")[::2] == ["[SUBJ-인물]", "[/OBJ-약물]"]


def test_the_cache_knows_the_names_of_the_labels(own, monkeypatch):
    from datasets import ClassLabel

    monkeypatch.setattr(results.sweeps, "sweep", lambda *_, fingerprint, **__: fingerprint)
    more = ClassLabel(names=[*own.labels, "never seen"])
    wider = replace(own, train=own.train.cast_column("label", more))
    assert results.train(own, [], name="x") != results.train(wider, [], name="x")


def test_every_baseline_knows_the_labels_of_the_data(own):
    for baseline in baselines.BASELINES.values():
        assert baseline(own.train, own.dev).sum(axis=1) == approx(np.ones(60), abs=1e-6)
    gold, probs = own.dev["label"][:], baselines.structured_tfidf(own.train, own.dev)
    assert probs.shape == (60, 3) and micro_f1(gold, probs.argmax(axis=1)) > 80
    found = slices.by_class(gold, [probs], names=own.labels)
    assert sorted(found["label"]) == sorted(own.labels)
    assert found["rows"].tolist() == [gold.count(own.labels.index(label)) for label in found["label"]]
    assert found["rows"].is_monotonic_decreasing


def test_scores_are_those_of_the_saved_logits(splits, tmp_path):
    result = train_and_score(splits=splits, folder=tmp_path, **TINY)
    gold, logits = splits.dev["label"][:], load_logits(tmp_path)
    assert result["micro_f1"] == approx(micro_f1(gold, logits.argmax(axis=1)))
    assert result["auprc"] == approx(auprc(gold, softmax(logits, axis=1)))
    assert result["accuracy"] == approx(100 * np.mean(logits.argmax(axis=1) == gold))
    valid = load_logits(tmp_path, "valid").argmax(axis=1)  # the best weights are restored before predicting
    assert result["valid_f1"] == approx(micro_f1(splits.valid["label"][:], valid))


def test_a_second_call_goes_on_from_the_checkpoints_of_the_first(splits, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpointing, "due", lambda moment, **_: moment.step % 2 == 0)
    first = train_and_score(splits=splits, folder=tmp_path, **TINY)
    logits = load_logits(tmp_path)
    again = train_and_score(splits=splits, folder=tmp_path, **TINY)
    assert first["resumed_from"] == 0 < again["resumed_from"] < first["steps"]
    assert np.array_equal(load_logits(tmp_path), logits)


def test_misspelt_settings_are_refused():
    with pytest.raises(TypeError, match="tokeniser"):
        RelationConfig(tokeniser="train:bpe")
    with pytest.raises(ValueError, match="has no tokenizer of its own"):
        RelationConfig(model="bilstm")
    with pytest.raises(ValueError, match="constraint must be one of"):
        RelationConfig(tokenizer="train:bpe", constraint="types")
    with pytest.raises(ValueError, match=r"pooling must be one of first, .*; got 'pieces'"):
        RelationConfig(tokenizer="train:bpe", pooling="pieces")
    with pytest.raises(ValueError, match="scheme must be one of"):
        RelationConfig(tokenizer="train:bpe", scheme="typed punct")


@pytest.mark.parametrize("scheme", ["marker", "typed-punct"])
def test_a_saved_backbone_brings_its_tokenizer_and_makes_room_for_markers(splits, tmp_path, scheme):
    tokenizer = train_tokenizer("wordpiece", splits.train["sentence"][:], size=500)
    backbone = encoders.encoder("bert", vocab_size=len(tokenizer), hidden=32, layers=1, max_length=256)
    for part in (backbone, tokenizer):
        part.save_pretrained(tmp_path / "backbone")
    settings = {"model": str(tmp_path / "backbone"), "scheme": scheme, "pooling": "starts", "epochs": 1}
    result = train_and_score(splits=splits, folder=tmp_path, **settings)
    register_markers(tokenizer, scheme)
    added = len(tokenizer) - backbone.config.vocab_size
    unused = sum(p.numel() for name, p in backbone.named_parameters() if "pooler" in name)
    head = 32 * (2 * 32 + 1) + 30 * (32 + 1)
    assert result["parameters"] == backbone.num_parameters() - unused + 32 * added + head
    assert added > 0
