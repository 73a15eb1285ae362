"""Training one tagger: labels by offsets, every reading written, frozen bodies, the study's scorer."""

from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
import torch
from pytest import approx

from helpers.corpora import load_entities
from helpers.corpora.labels import TAGS
from helpers.entities import audit, errors, experiment, results, scores, tags, voting
from helpers.entities.experiment import Part, TaggerConfig
from helpers.entities.tags import TagArray
from helpers.learning import checkpointing
from helpers.learning.config import EPOCH
from helpers.learning.heads import Classifier
from tests import own_data

CONFIG = TaggerConfig(
    hidden=16, layers=1, bigrams=64, dropout=0.0, peak_lr=0.05, epochs=3, batch_size=4, seed=1, swa_start=2,
    ema_decay=0.5, lawa_last=1,
)  # fmt: skip


def easy(rows, seed):
    """Sentences in which 김 or 이 and the next character are a person, and nothing else is an entity."""
    rng = np.random.default_rng(seed)
    sentences, gold = [], []
    for _ in range(rows):
        before, after = ("".join(rng.choice(list("가나다 라마"), size=rng.integers(1, 5))) for _ in range(2))
        name = rng.choice(["김", "이"]) + rng.choice(list("바사아"))
        sentences.append(f"가{before}{name}{after}라")
        gold.append(tags.tag_spans([(len(before) + 1, len(before) + 3, "PS")], len(sentences[-1])))
    return Part(sentences, tags.encode(gold))


@pytest.fixture(scope="module")
def parts():
    return {"train": easy(60, 0), "valid": easy(15, 1), "dev": easy(20, 2)}


@pytest.fixture(scope="module")
def encodings(parts):
    return experiment.encode_parts(parts, ["train:character"], size=100)


def train(parts, encodings, folder, **changes):
    settings = asdict(replace(CONFIG, **changes))
    result = experiment.train_tagger(**settings, parts=parts, encodings=encodings, folder=folder)
    with np.load(folder / "predictions.npz", allow_pickle=False) as arrays:
        return result, dict(arrays)


@pytest.fixture(scope="module")
def trained(parts, encodings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return *train(parts, encodings, folder), folder


def test_an_architecture_is_encoder_and_tokenizer():
    scratch, pretrained = CONFIG.of("roberta + local:klue-roberta"), CONFIG.of("klue/roberta-large")
    assert (scratch.encoder, scratch.tokenizer) == ("roberta", "local:klue-roberta")
    assert pretrained.encoder == pretrained.tokenizer == "klue/roberta-large"
    names = [config.architecture for config in (CONFIG, scratch, pretrained)]
    assert names == ["bilstm, character", "roberta, klue-roberta", "klue/roberta-large"]
    assert CONFIG.of("pretrained + local:klue-roberta").architecture == "pretrained, klue-roberta"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"swa_start": 4}, "swa_start must lie in 1 to epochs"),
        ({"swa_start": 0}, "swa_start"),
        ({"epochs": 0, "averages": False}, "epochs must be positive"),
        ({"batch_size": 0}, "batch"),
        ({"schedule": "step"}, "schedule"),
    ],
)
def test_settings_that_cannot_be_trained_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **change)
    assert replace(CONFIG, epochs=1, averages=False).swa_start == 2  # an ablation has no SWA to start


def test_tokens_carry_the_tag_of_their_first_character(parts, encodings):
    encoded = encodings["train:character"].parts["dev"]
    solid = tags.without_spaces(parts["dev"].gold, parts["dev"].sentences)
    assert np.array_equal(encoded.labels[encoded.labels >= 0], solid.ids)


def test_it_learns_and_writes_every_reading(parts, trained):
    result, arrays, folder = trained
    systems = ["last", "swa", "ema", "lawa", "soup", "epoch_1", "epoch_2"]
    written = {f"{part}_{system}" for part in ("valid", "dev") for system in systems}
    logits = {f"{part}_{system}_logits" for part in ("valid", "dev") for system in experiment.ENSEMBLED}
    assert set(arrays) == written | logits
    assert len(result["epoch_valid"]) == 3 and result["epoch_valid"][-1] > 90
    last = TagArray(arrays["dev_last"], parts["dev"].gold.bounds)
    assert scores.entity_f1(parts["dev"].gold, last) > 90
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoints", "model", "predictions.npz"]


def test_types_of_the_data_are_learned_scored_and_shown(tmp_path):
    for name, count, seed in (("train", 80, 0), ("valid", 20, 1), ("dev", 30, 2)):
        own_data.write(tmp_path / name, own_data.entities(count, seed=seed), "mine_train")
    own = {name: Part.of(load_entities(tmp_path / name, "train")) for name in ("train", "valid", "dev")}
    encodings = experiment.encode_parts(own, ["train:character"], size=200)
    (tmp_path / "run").mkdir()
    result, _ = train(own, encodings, tmp_path / "run")
    runs = pd.DataFrame([asdict(CONFIG) | result | {"role": "main", "folder": str(tmp_path / "run")}])
    runs = runs.assign(architecture=CONFIG.architecture)
    scored = results.collect(runs, own).set_index("system")
    assert scored.loc["last", "entity F1"] > 80
    tagged = scored.loc["last", "scored"].tags
    assert tagged.types == ("약물", "질병")
    assert errors.describe(own)[["약물", "질병"]].iloc[2].tolist() == [30, 30]
    assert set(errors.find_errors(own["dev"], tagged)["type"]) == {"약물", "질병"}
    assert audit.ceilings(own["dev"], {"characters": encodings["train:character"].tokenizer}).shape[0] >= 1
    members = results.load_members(runs, encodings)["swa"]
    voted = voting.decode_ensemble(list(members.values()))
    assert voted.types == tagged.types and scores.entity_f1(own["dev"].gold, voted) > 80
    found = errors.tag_sentences(own["dev"].sentences[:2], runs, encodings)
    assert {span.kind for spans in found for span in spans} == {"약물", "질병"}


def test_validation_f1_is_that_of_the_written_tags(parts, trained):
    result, arrays, _ = trained
    found = TagArray(arrays["valid_last"], parts["valid"].gold.bounds)
    gold, solid = (tags.without_spaces(t, parts["valid"].sentences) for t in (parts["valid"].gold, found))
    assert scores.entity_f1(gold, solid) == approx(result["epoch_valid"][-1])


def test_averages_of_one_checkpoint_are_that_checkpoint(parts, encodings, tmp_path):
    _, arrays = train(parts, encodings, tmp_path, epochs=2)  # SWA starts at the last epoch, LAWA keeps one
    for system in ("swa", "lawa"):
        assert np.array_equal(arrays[f"dev_{system}"], arrays["dev_last"])
    assert np.array_equal(arrays["dev_swa_logits"], arrays["dev_last_logits"])


def test_the_same_seed_gives_the_same_bits(parts, encodings, tmp_path, trained):
    _, arrays = train(parts, encodings, tmp_path)
    assert all(np.array_equal(arrays[name], trained[1][name]) for name in arrays)


def test_an_interrupted_run_goes_on_from_its_checkpoint(parts, encodings, tmp_path, trained, monkeypatch):
    scored, score = [], experiment.official_f1

    def interrupted(*arguments, **named):
        scored.append(score(*arguments, **named))
        if len(scored) == 3:
            raise KeyboardInterrupt
        return scored[-1]

    monkeypatch.setattr(checkpointing, "due", lambda moment, **_: EPOCH(moment))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(experiment, "official_f1", interrupted)
        train(parts, encodings, tmp_path)
    result, arrays = train(parts, encodings, tmp_path)
    assert result["resumed_from"] == 2 * 15  # 60 sentences, 4 a step: two epochs were saved
    assert result["epoch_valid"] == trained[0]["epoch_valid"]
    assert set(arrays) == set(trained[1])
    assert all(np.array_equal(arrays[name], trained[1][name]) for name in arrays)


def test_a_plain_run_keeps_the_last_weights_only(parts, encodings, tmp_path):
    _, arrays = train(parts, encodings, tmp_path, epochs=1, averages=False)
    assert set(arrays) == {"valid_last", "dev_last", "valid_last_logits", "dev_last_logits"}


def test_a_frozen_tagger_trains_its_head_only(encodings):
    tokenizer = encodings["train:character"].tokenizer
    net = experiment.build_tagger(replace(CONFIG, frozen=True), tokenizer)
    assert {n.split(".")[0] for n, p in net.named_parameters() if p.requires_grad} == {"head"}


@pytest.fixture(scope="module")
def encoder_folder(encodings, tmp_path_factory):
    """A masked LM over the characters of the easy sentences, saved as pretraining saves it."""
    from helpers.learning import encoders

    tokenizer, folder = encodings["train:character"].tokenizer, tmp_path_factory.mktemp("encoder")
    size = {"vocab_size": len(tokenizer), "pad_id": tokenizer.pad_token_id, "hidden": 24, "bigrams": 32}
    encoders.masked_lm("bilstm", **size, dropout=0.1, seed=5).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def test_a_tagger_starts_from_a_pretrained_encoder_or_from_its_shape_alone(encodings, encoder_folder):
    from helpers.learning import encoders

    tokenizer, config = encodings["train:character"].tokenizer, replace(CONFIG, encoder=encoder_folder)
    read = encoders.load_encoder(encoder_folder).state_dict()
    first, other, new = (
        experiment.build_tagger(replace(config, dropout=0.4, **change), tokenizer).encoder
        for change in ({}, {"seed": 2}, {"from_scratch": True})
    )
    for net in (first, other, new):
        assert {name: weights.shape for name, weights in net.state_dict().items()} == {
            name: weights.shape for name, weights in read.items()
        }
        assert net.config.dropout == net.dropout.p == 0.4  # fine-tuning chooses, not what was saved
    for name, weights in read.items():
        assert torch.equal(first.state_dict()[name], weights) and torch.equal(
            other.state_dict()[name], weights
        )
        assert not torch.equal(new.state_dict()[name], weights) or not weights.any()
    again = experiment.build_tagger(replace(config, from_scratch=True), tokenizer).encoder.state_dict()
    assert all(torch.equal(again[name], weights) for name, weights in new.state_dict().items())
    another = experiment.build_tagger(replace(config, from_scratch=True, seed=2), tokenizer).encoder
    assert not torch.equal(another.embeddings.weight, new.embeddings.weight)


def test_states_of_a_bilstm_are_dropped_once(encodings):
    net = experiment.build_tagger(replace(CONFIG, dropout=0.4), encodings["train:character"].tokenizer)
    assert net.config.encoder.dropout == 0.4 and net.config.head_dropout == 0.0


def test_a_sentence_too_long_for_the_model_is_an_error_that_names_it(encodings):
    data = encodings["train:character"]
    long = experiment.encode_part(data.tokenizer, Part(["가", "가" * 600], tags.encode([["O"], ["O"] * 600])))
    net = experiment.build_tagger(replace(CONFIG, encoder="roberta"), data.tokenizer)
    with pytest.raises(ValueError, match=r"dev, sentence 1: 60\d tokens but the model reads"):
        experiment.check_lengths(net, experiment.Encoding(data.tokenizer, {"dev": long}))
    experiment.check_lengths(experiment.build_tagger(CONFIG, data.tokenizer), data)


def test_the_weight_of_outside_is_in_the_loss(encodings):
    tokenizer, losses = encodings["train:character"].tokenizer, []
    for weight in (1.0, 0.5):
        net = experiment.build_tagger(replace(CONFIG, outside_weight=weight), tokenizer)
        ids, labels = torch.tensor([[5, 6]]), torch.full((1, 2), TAGS.index("O"))
        losses.append(float(net.eval()(ids, torch.ones_like(ids), labels=labels).loss.detach()))
    assert losses[1] == approx(losses[0] / 2)


def test_a_saved_encoder_is_loaded_with_its_own_tokenizer(parts, tmp_path):
    from helpers.learning import encoders
    from helpers.text import tokenizers

    saved = tmp_path / "encoder"
    tokenizer = tokenizers.load_tokenizer("train:wordpiece", texts=parts["train"].sentences, size=100)
    size = {"vocab_size": len(tokenizer), "pad_id": tokenizer.pad_token_id, "hidden": 32, "layers": 1}
    body = encoders.encoder("roberta", **size, seed=3)
    body.save_pretrained(saved)
    tokenizer.save_pretrained(saved)
    encodings = experiment.encode_parts(parts, [str(saved)], size=0)
    config = CONFIG.of(str(saved))
    net = experiment.build_tagger(config, encodings[str(saved)].tokenizer)
    loaded = net.encoder.get_input_embeddings().weight
    assert torch.equal(loaded, body.get_input_embeddings().weight)
    (run := tmp_path / "run").mkdir()
    changes = {"encoder": config.encoder, "tokenizer": config.tokenizer, "epochs": 1, "averages": False}
    assert "dev_last" in train(parts, encodings, run, **changes)[1]


def test_word_classes_are_an_input_that_begins_at_zero_and_helps_where_tokens_do_not_tell(tmp_path):
    """Tokens are drawn at random and the class alone says what is a person."""
    rng = np.random.default_rng(0)

    def drawn(rows):
        sentences = ["".join(rng.choice(list("가나다라"), size=6)) for _ in range(rows)]
        starts = rng.integers(5, size=rows).tolist()
        gold = [tags.tag_spans([(at, at + 2, "PS")], 6) for at in starts]
        classes = [[1 + (at <= i < at + 2) * (1 + (i > at)) for i in range(6)] for at in starts]
        return Part(sentences, tags.encode(gold)), classes

    made = {"train": drawn(80), "valid": drawn(20), "dev": drawn(40)}
    parts = {name: part for name, (part, _) in made.items()}
    tokenizer = experiment.encode_parts(parts, ["train:character"], size=100)["train:character"].tokenizer
    encoded = {k: experiment.encode_part(tokenizer, part, classes=own) for k, (part, own) in made.items()}
    encodings = {"train:character": experiment.Encoding(tokenizer, encoded)}
    plain, reading = (
        experiment.build_tagger(replace(CONFIG, word_classes=reads), tokenizer) for reads in (False, True)
    )
    logits = [experiment.tag(model, encoded["dev"]).logits for model in (plain, reading)]
    assert np.array_equal(*logits)
    found = {}
    for reads in (False, True):
        (tmp_path / f"{reads}").mkdir()
        found[reads], _ = train(parts, encodings, tmp_path / f"{reads}", word_classes=reads, epochs=8)
    assert found[True]["epoch_valid"][-1] > 90 > 60 > found[False]["epoch_valid"][-1]


def test_a_tagger_that_reads_word_classes_tags_new_sentences_alike(parts, tmp_path):
    encodings = experiment.encode_parts(parts, ["train:character"], size=100, word_classes=True)
    train(parts, encodings, tmp_path, word_classes=True)
    model = Classifier.from_pretrained(tmp_path / "model")
    encoded = encodings["train:character"].parts["dev"]
    classes = experiment.classes_for(model, parts["dev"].sentences)
    again = experiment.encode_part(encodings["train:character"].tokenizer, parts["dev"], classes=classes)
    assert np.array_equal(experiment.tag(model, encoded).logits, experiment.tag(model, again).logits)
    plain = experiment.encode_part(encodings["train:character"].tokenizer, parts["dev"])
    with pytest.raises(ValueError, match="word_classes"):
        experiment.tag(model, plain)


def test_word_classes_are_refused_where_no_bilstm_reads_them(parts, encodings):
    with pytest.raises(ValueError, match="input of BiLSTMs, and roberta is none"):
        experiment.build_tagger(
            replace(CONFIG, encoder="roberta", hidden=32, word_classes=True),
            encodings["train:character"].tokenizer,
        )
