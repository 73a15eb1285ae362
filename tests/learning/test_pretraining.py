"""Pretraining: text in, a folder out that everything here, and plain transformers, can load and build on."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from helpers import sample_world
from helpers.learning import encoders
from helpers.learning.pretraining import PretrainingConfig, pretrain, rows
from helpers.text.tokenizers import load_tokenizer, train_tokenizer

SMALL = {"vocabulary_size": 400, "hidden": 32, "epochs": 2, "batch_tokens": 512}


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(sample_world.unlabelled(300))


@pytest.fixture(scope="module")
def made(texts, tmp_path_factory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("made")
    return folder, pretrain(texts=texts, unseen=texts[:3], folder=folder, snapshots=2, **SMALL)


def test_the_folder_is_complete_and_tells_what_was_done(made):
    folder, facts = made
    held = {path.name for path in (folder / "model").iterdir()}
    assert held >= {"config.json", "model.safetensors", "tokenizer.json", "README.md"}
    card = (folder / "model" / "README.md").read_text()
    assert "pseudo-perplexity" in card and "| seed | 0 |" in card and f"| texts | {facts['texts']} |" in card
    assert facts["exact_copies"] == 3 and facts["texts"] < 297
    assert json.loads((folder / "model" / "config.json").read_text())["architectures"] == [
        "BiLSTMForMaskedLM"
    ]


def test_unseen_sentences_are_not_read(texts, tmp_path):
    facts = pretrain(texts=texts, unseen=texts[:280], folder=tmp_path, **SMALL | {"epochs": 1})
    assert facts["texts"] <= 20
    with pytest.raises(ValueError, match="0 texts are left"):
        pretrain(texts=texts, unseen=texts, folder=tmp_path / "none", **SMALL)


def test_everything_loads_it_with_the_same_weights(made):
    place = made[0] / "model"
    plain, ours = AutoModel.from_pretrained(place), encoders.load_encoder(place)
    whole, tokenizer = AutoModelForMaskedLM.from_pretrained(place), AutoTokenizer.from_pretrained(place)
    inputs = tokenizer(["가람은 누리에서 일한다."], return_tensors="pt")
    with torch.no_grad():
        states = [
            m.eval()(inputs["input_ids"], inputs["attention_mask"]) for m in (plain, ours, whole.bilstm)
        ]
    assert all(torch.equal(states[0].last_hidden_state, other.last_hidden_state) for other in states[1:])
    assert whole.decoder.weight is whole.bilstm.embeddings.weight, "the vocabulary's weights are shared"


def test_an_encoder_grows_with_its_tokenizer_by_the_seed_and_takes_the_dropout_of_fine_tuning(made):
    place = str(made[0] / "model")
    tokenizer = load_tokenizer(place)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<S>", "</S>"]})
    first, again, other = (
        encoders.build_encoder(place, tokenizer, seed=seed, dropout=0.4) for seed in (1, 1, 2)
    )
    assert first.get_input_embeddings().weight.shape[0] == len(tokenizer)
    assert torch.equal(first.embeddings.weight, again.embeddings.weight)
    assert not torch.equal(first.embeddings.weight[-2:], other.embeddings.weight[-2:])
    assert first.dropout.p == 0.4 and first.config.dropout == 0.4


def test_snapshots_are_models_too(made):
    folder, facts = made
    places = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    assert [int(path.name.split("-")[1]) for path in places] == [facts["steps"] // 2, facts["steps"]]
    assert torch.equal(
        encoders.load_encoder(places[-1]).embeddings.weight,
        encoders.load_encoder(folder / "model").embeddings.weight,
    )
    assert load_tokenizer(str(places[0])).get_vocab() == load_tokenizer(str(folder / "model")).get_vocab()


def test_a_pretrained_model_goes_on_learning(made, texts, tmp_path):
    place = made[0] / "model"
    facts = pretrain(
        texts=texts, unseen=[], folder=tmp_path, model=str(place), tokenizer="", epochs=2, peak_lr=2e-3
    )
    assert facts["vocabulary"] == made[1]["vocabulary"]
    assert facts["pseudo_perplexity"] < made[1]["pseudo_perplexity"]


@pytest.mark.parametrize("kind", ["roberta", "bert", "electra", "deberta-v2"])
def test_small_transformers_are_pretrained_alike(kind, texts, tmp_path):
    facts = pretrain(texts=texts[:60], unseen=[], folder=tmp_path, model=kind, **SMALL | {"epochs": 1})
    assert np.isfinite(facts["pseudo_perplexity"])
    assert encoders.load_encoder(tmp_path / "model").config.hidden_size == 32


def test_a_large_vocabulary_is_sampled_and_learns(texts, tmp_path, monkeypatch):
    from helpers.learning import pretraining

    monkeypatch.setattr(pretraining, "EXACT", 10)
    facts = pretrain(texts=texts, unseen=[], folder=tmp_path, candidates=50, **SMALL | {"epochs": 6})
    assert facts["pseudo_perplexity"] < 0.6 * facts["vocabulary"]


def test_rows_hold_every_token_once_and_no_scraps():
    tokenizer = train_tokenizer("character", ["가나다라마바사아자차카타파하"] * 3, size=50)
    found = rows(tokenizer, ["가나다라마바사아자차카타파하", "가나"], length=8)
    inner = [token for row in found for token in row["input_ids"][1:-1]]
    assert inner == tokenizer("가나다라마바사아자차카", add_special_tokens=False)["input_ids"], (
        "타파하 is a scrap"
    )
    assert all(row["input_ids"][0] == tokenizer.cls_token_id for row in found)
    with pytest.raises(ValueError, match="no text has 4 tokens"):
        rows(tokenizer, ["가나"], length=8)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"tokenizer": ""}, "has no tokenizer of its own"),
        ({"length": 4}, "length must be at least 8"),
        ({"epochs": 0}, "epochs must be positive"),
        ({"batch_tokens": 0}, "must be positive"),
    ],
)
def test_settings_are_checked_first(wrong, complaint):
    with pytest.raises(ValueError, match=complaint):
        PretrainingConfig(**wrong)
