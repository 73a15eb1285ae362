"""Encoders and heads: every kind trains, saves and loads; losses and poolings equal their definitions."""

import json
import math
import os

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from peft import PeftModel
from torch import nn
from torch.nn.functional import cross_entropy, logsigmoid
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoModelForMaskedLM

from helpers.learning import encoders, heads, lora
from helpers.learning.bilstm import BiLSTMModel
from helpers.learning.config import TrainConfig
from helpers.learning.inference import predict
from helpers.learning.loop import fit
from tests.learning.test_loop import mean_loss

SMALL = {"vocab_size": 60, "hidden": 32, "layers": 1, "max_length": 24, "dropout": 0.0}
IDS = torch.tensor([[5, 6, 7, 8], [9, 5, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])


def sequence_rows(count=32, seed=0):
    """The label is whether the token at subject_start is larger than the one at object_start."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        ids = rng.integers(5, 60, size=rng.integers(3, 9)).tolist()
        subject, object_ = rng.choice(len(ids), 2, replace=False).tolist()
        rows.append(
            {
                "input_ids": ids,
                "subject_start": subject,
                "object_start": object_,
                "labels": int(ids[subject] > ids[object_]),
            }
        )
    return rows


@pytest.mark.parametrize("kind", encoders.KINDS)
def test_every_kind_is_seeded_and_survives_saving(kind, tmp_path):
    model = heads.classifier(
        encoders.encoder(kind, **SMALL, seed=3), ["a", "b", "c"], task="tokens", seed=3
    ).eval()
    twin = heads.classifier(
        encoders.encoder(kind, **SMALL, seed=3), ["a", "b", "c"], task="tokens", seed=3
    ).eval()
    other = encoders.encoder(kind, **SMALL, seed=4)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), twin.parameters(), strict=True))
    assert any(
        not torch.equal(a, b) for a, b in zip(model.encoder.parameters(), other.parameters(), strict=True)
    )
    model.save_pretrained(tmp_path)
    loaded = encoders.load_classifier(tmp_path).eval()
    assert torch.equal(model(IDS, MASK).logits, loaded(IDS, MASK).logits)
    assert loaded.config.id2label == {0: "a", 1: "b", 2: "c"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


@pytest.mark.parametrize("kind", encoders.KINDS)
def test_padding_never_changes_a_result(kind):
    model = heads.classifier(encoders.encoder(kind, **SMALL), ["a", "b"], task="tokens").eval()
    alone = model(IDS[1:, :2], MASK[1:, :2]).logits
    assert torch.allclose(model(IDS, MASK).logits[1:, :2], alone, atol=1e-5)


@pytest.mark.parametrize("kind", encoders.KINDS)
def test_every_parameter_is_trained(kind):
    """A parameter without a gradient would stop distributed training."""
    model = heads.classifier(
        encoders.encoder(kind, **SMALL), ["a", "b"], task="sequence", pooling="starts+max"
    )
    starts = torch.tensor([0, 1])
    model(IDS, MASK, subject_start=starts, object_start=starts, labels=torch.tensor([0, 1])).loss.backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("kind", ["roberta", "bert", "electra", "deberta-v2"])
def test_masked_language_models_are_transformers_own(kind, tmp_path):
    model = encoders.masked_lm(kind, **SMALL, pad_id=1).eval()
    model.save_pretrained(tmp_path)
    with encoders.quiet():
        loaded = AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    assert torch.equal(model(IDS, MASK).logits, loaded(IDS, MASK).logits)
    again = encoders.masked_lm(tmp_path).eval()
    assert torch.equal(model(IDS, MASK).logits, again(IDS, MASK).logits)
    body = encoders.load_encoder(tmp_path)
    assert body.dtype == torch.float32 and body.config.model_type == kind


def test_roberta_reaches_its_full_length_for_any_pad_id():
    for pad_id in (0, 1, 7):
        model = encoders.encoder("roberta", **SMALL, pad_id=pad_id)
        assert model(torch.full((1, 24), 9)).last_hidden_state.shape == (1, 24, 32)


def test_poolings_by_hand():
    body, states = encoders.encoder("bert", **SMALL).eval(), None
    with torch.no_grad():
        states = body(IDS, MASK).last_hidden_state
    want = {
        "first": states[:, 0],
        "last": torch.stack([states[0, 3], states[1, 1]]),
        "mean": torch.stack([states[0].mean(0), states[1, :2].mean(0)]),
        "starts": torch.stack(
            [torch.cat([states[0, 2], states[0, 1]]), torch.cat([states[1, 0], states[1, 1]])]
        ),
    }
    top = torch.stack([states[0].amax(0), states[1, :2].amax(0)])
    want["starts+max"] = torch.cat([want["starts"], top], dim=1)
    cut = [((0, 2), (1, 3), (2, 4)), ((0, 1), (0, 2), (1, 2))]  # the second row is padded from 2 on
    pieces = [torch.cat([states[i, a:b].amax(0) for a, b in row]) for i, row in enumerate(cut)]
    want["starts+pieces"] = torch.cat([want["starts"], torch.stack(pieces)], dim=1)
    for pooling, pooled in want.items():
        model = heads.classifier(body, ["a", "b"], task="sequence", pooling=pooling).eval()
        got = model(IDS, MASK, subject_start=torch.tensor([2, 0]), object_start=torch.tensor([1, 1])).logits
        assert torch.allclose(got, model.head(pooled), atol=1e-6), pooling


def test_entity_starts_are_required_where_pooled():
    model = heads.classifier(encoders.encoder("bert", **SMALL), ["a", "b"], task="sequence", pooling="starts")
    with pytest.raises(ValueError, match="subject_start"):
        model(IDS, MASK)


def test_losses_by_definition():
    body = encoders.encoder("bilstm", **SMALL).eval()
    weights = [0.5, 2.0, 1.0]
    tokens = heads.classifier(body, "abc", task="tokens", class_weights={"a": 0.5, "b": 2.0}).eval()
    labels = torch.tensor([[0, 1, -100, 2], [1, 0, -100, -100]])
    out = tokens(IDS, MASK, labels=labels)
    each = cross_entropy(out.logits.flatten(0, 1), labels.flatten(), torch.tensor(weights), reduction="none")
    assert float(out.loss) == pytest.approx(float(each.sum() / 5), abs=1e-6)
    multi = heads.classifier(body, "abc", task="multilabel", class_weights=weights).eval()
    targets = torch.tensor([[0.0, 1, 1], [1, 0, 0]])
    out = multi(IDS, MASK, labels=targets)
    log, rest = logsigmoid(out.logits), logsigmoid(-out.logits)
    want = -(torch.tensor(weights) * targets * log + (1 - targets) * rest).mean()
    assert float(out.loss) == pytest.approx(float(want), abs=1e-6)


def test_a_batch_without_targets_has_no_loss_rather_than_nan():
    model = heads.classifier(encoders.encoder("bilstm", **SMALL), "ab", task="tokens")
    assert float(model(IDS, MASK, labels=torch.full((2, 4), -100)).loss) == 0.0


def test_a_label_bias_blocks_labels_in_loss_and_logits():
    model = heads.classifier(encoders.encoder("bert", **SMALL), "abc", task="sequence").eval()
    bias = torch.tensor([[0.0, -1e4, 0.0], [0.0, 0.0, -1e4]])
    free, bound = model(IDS, MASK), model(IDS, MASK, label_bias=bias, labels=torch.tensor([0, 0]))
    assert torch.equal(bound.logits, free.logits + bias)
    assert float(bound.loss) == pytest.approx(float(cross_entropy(free.logits + bias, torch.tensor([0, 0]))))


def test_pretrained_weights_are_not_initialised_again():
    body = encoders.encoder("roberta", **SMALL, seed=1)
    before = {name: value.clone() for name, value in body.state_dict().items() if "pooler" not in name}
    model = heads.classifier(body, "ab", task="tokens", seed=2)
    after = model.encoder.state_dict()
    assert before.keys() == after.keys() and all(torch.equal(after[name], before[name]) for name in before)


def test_bigrams_see_the_neighbours_and_only_them():
    model = BiLSTMModel(encoders.encoder_config("bilstm", **SMALL, bigrams=1000)).eval()
    ids = torch.tensor([[5, 6, 7, 8]])
    changed = torch.tensor([[9, 6, 7, 8]])
    mask = torch.ones_like(ids)
    differs = (model._embed(ids, mask) != model._embed(changed, mask)).any(dim=2)
    assert differs.tolist() == [[True, True, False, False]]
    padded = model._embed(torch.tensor([[5, 6, 0]]), torch.tensor([[1, 1, 0]]))
    assert torch.equal(padded[:, :2], model._embed(ids[:, :2], mask[:, :2]))


def test_bilstm_equals_packed_sequences_in_torch():
    model = BiLSTMModel(encoders.encoder_config("bilstm", **SMALL | {"layers": 2}, bigrams=64)).eval()
    lengths = torch.tensor([9, 1, 5, 7])
    ids, mask = torch.randint(1, 30, (4, 9)), (torch.arange(9) < lengths[:, None]).long()
    states = model._embed(ids, mask)
    half = model.config.hidden_size // 2
    oracle = nn.LSTM(states.shape[2], half, num_layers=2, bidirectional=True, batch_first=True)
    ours = [pair for ahead_and_back in model.layers for pair in ahead_and_back]
    for name, value in oracle.named_parameters():  # weight_ih_l0, …, weight_ih_l0_reverse, …
        layer, back = int(name.split("_l")[1][0]), name.endswith("_reverse")
        value.data = getattr(ours[2 * layer + back], name.split("_l")[0] + "_l0").data
    packed = pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False)
    want, _ = pad_packed_sequence(oracle(packed)[0], batch_first=True)
    assert torch.allclose(model(ids, mask).last_hidden_state, want, atol=1e-6)


def test_bigram_buckets_spread():
    model = BiLSTMModel(encoders.encoder_config("bilstm", **SMALL, bigrams=4096))
    first, second = torch.meshgrid(torch.arange(200), torch.arange(200), indexing="ij")
    load = torch.bincount(model._bucket(first, second).flatten(), minlength=4096).float()
    assert load.max() < 4 * load.mean() and (load == 0).float().mean() < 0.02


@pytest.mark.parametrize(
    ("kind", "pooling"), [("bilstm", "starts"), ("bert", "starts+max"), ("bilstm", "starts+pieces")]
)
def test_entity_start_heads_learn_what_cls_cannot(kind, pooling):
    rows, unseen, losses = sequence_rows(300), sequence_rows(100, seed=1), {}
    for used in (pooling, "first"):
        model = heads.classifier(encoders.encoder(kind, **SMALL), "ab", task="sequence", pooling=used)
        fit(model, rows, config=TrainConfig(epochs=6, peak_lr=5e-3, batch_rows=20))
        losses[used] = mean_loss(model, unseen)
    assert losses[pooling] < 0.4 < 0.6 < losses["first"]  # chance is 0.69


def test_lora_trains_adapters_and_head_only_and_survives_saving(tmp_path):
    def build():
        return heads.classifier(
            encoders.encoder("gemma-2", **SMALL), "abc", task="multilabel", pooling="last"
        )

    rng = np.random.default_rng(0)
    rows = [
        {"input_ids": rng.integers(5, 60, 6).tolist(), "labels": rng.integers(0, 2, 3).astype(float).tolist()}
    ] * 12
    model = lora.add_lora(build(), r=4, alpha=8)
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    adapted = {name.split(".lora_")[0].rsplit(".", 1)[-1] for name in trained if "lora_" in name}
    assert adapted == set(lora.TARGETS) and all("lora_" in n or ".head." in n for n in trained)
    before = predict(model, rows)
    fit(model, rows, config=TrainConfig(epochs=3, peak_lr=1e-2, batch_rows=4))
    after = predict(model, rows)
    assert np.abs(after[0] - before[0]).max() > 1e-3
    model.save_pretrained(tmp_path)
    loaded = PeftModel.from_pretrained(build(), tmp_path)
    assert np.allclose(predict(loaded, rows), after, atol=1e-6)
    assert (tmp_path / "adapter_model.safetensors").exists() and not list(tmp_path.glob("*.bin"))


@pytest.mark.parametrize("kind", ["roberta", "gemma-2"])
def test_activations_can_be_recomputed_to_save_memory(kind):
    gradients = []
    for recompute in (False, True):
        model = heads.classifier(encoders.encoder(kind, **SMALL), "ab", task="tokens", dropout=0.0)
        if recompute:
            model.gradient_checkpointing_enable()
            assert model.is_gradient_checkpointing
        model.train()(IDS, MASK, labels=IDS % 2).loss.backward()
        gradients.append([p.grad for p in model.parameters()])
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*gradients, strict=True))


def test_lora_is_for_decoders():
    model = heads.classifier(encoders.encoder("bert", **SMALL), "ab", task="sequence")
    with pytest.raises(ValueError, match="BertModel has no"):
        lora.add_lora(model)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: encoders.encoder("gpt", vocab_size=10), "kind must be one of roberta"),
        (lambda: encoders.masked_lm("gemma-2", **SMALL), "no masked-language-model head"),
        (
            lambda: heads.classifier(encoders.encoder("bilstm", **SMALL), "ab", task="ner"),
            "task must be one of",
        ),
        (
            lambda: heads.classifier(
                encoders.encoder("bilstm", **SMALL), "ab", task="tokens", class_weights={"O": 2}
            ),
            r"class_weights names \['O'\]",
        ),
        (
            lambda: heads.classifier(
                encoders.encoder("bilstm", **SMALL), "ab", task="tokens", class_weights=[1.0]
            ),
            "1 values for 2 labels",
        ),
    ],
)
def test_bad_models_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_four_bit_says_what_it_needs(tmp_path):
    with pytest.raises(ValueError, match="bitsandbytes"):
        encoders.load_encoder(tmp_path, four_bit=True)


def test_a_missing_model_says_how_to_get_it():
    with pytest.raises(OSError, match=r"cannot load 'klue/no-such-model'.*hf download klue/no-such-model"):
        encoders.load_encoder("klue/no-such-model")


def test_remote_code_is_never_run(tmp_path):
    model = encoders.encoder("bert", **SMALL)
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"auto_map": {"AutoModel": "evil.Model", "AutoConfig": "evil.Config"}, "model_type": "evil"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(ValueError, match="custom code"):
        encoders.load_encoder(tmp_path)
    assert not (tmp_path / "ran").exists()


# --- what published models come with ---


def test_weights_in_a_pickle_are_converted_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "cache"))
    model = encoders.masked_lm("bert", **SMALL)
    model.save_pretrained(tmp_path / "model")
    torch.save(model.state_dict(), tmp_path / "model" / "pytorch_model.bin")
    (tmp_path / "model" / "model.safetensors").unlink()
    loaded = encoders.masked_lm(tmp_path / "model")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), loaded.parameters(), strict=True))
    assert "converted once" in capsys.readouterr().out
    encoders.load_encoder(tmp_path / "model")
    assert not capsys.readouterr().out and len(list((tmp_path / "cache" / "converted").iterdir())) == 1


def test_a_pickle_that_holds_code_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path / "cache"))
    encoders.encoder("bert", **SMALL).save_pretrained(tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").unlink()
    torch.save({"weight": os.system}, tmp_path / "model" / "pytorch_model.bin")
    with pytest.raises(Exception, match=r"[Ww]eights"):
        encoders.load_encoder(tmp_path / "model")
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").rglob("model.safetensors"))


def test_a_model_without_the_head_that_is_asked_for_is_refused(tmp_path):
    encoders.encoder("bert", **SMALL).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"has no weights for cls\.predictions"):
        encoders.masked_lm(tmp_path)
    assert encoders.load_encoder(tmp_path).config.hidden_size == SMALL["hidden"], (
        "the encoder itself is there"
    )


def test_a_decoder_keeps_no_keys_in_memory():
    body = encoders.encoder("gemma-2", **SMALL, use_cache=True)
    model = heads.classifier(body, "ab", task="sequence", pooling="last").eval()
    ids = torch.ones((2, 5), dtype=torch.long)
    assert model.encoder(input_ids=ids, attention_mask=ids).past_key_values is None


def test_a_linear_head_is_one_matrix():
    body = encoders.encoder("roberta", vocab_size=50, hidden=16, layers=1, max_length=32, pad_id=1)
    net = heads.classifier(body, ["a", "b"], task="multilabel", pooling="last", head="linear")
    assert [tuple(weights.shape) for weights in net.head.parameters()] == [(2, 16)]
    with pytest.raises(ValueError, match="head must be one of tanh, linear"):
        heads.classifier(body, ["a", "b"], task="multilabel", head="cubic")


@given(p=st.floats(0, 1), rows=st.integers(1, 7))
def test_dropout_drops_or_scales_and_its_gradient_is_the_same_mask(p, rows):
    states = torch.full((rows, 3), 2.0, dtype=torch.float64, requires_grad=True)
    module, kept = encoders.QuickDropout(p), 1 - round(p * 2**16) / 2**16
    out = module(states)
    (gradient,) = torch.autograd.grad(out.sum(), states)
    assert out.dtype == states.dtype and torch.equal(out, 2 * gradient)
    assert all(one == pytest.approx(1 / kept, rel=1e-6) for one in gradient.flatten().tolist() if one)
    assert gradient.all() if kept == 1 else gradient.any() <= (kept > 0)
    assert torch.equal(module.eval()(states), states)


@pytest.mark.parametrize("p", [0.05, 0.1, 0.5, 0.9])
def test_dropout_drops_its_share_everywhere_and_independently(p):
    torch.manual_seed(0)
    dropped = encoders.QuickDropout(p)(torch.ones(1000, 1000)) == 0
    bound = 4 * math.sqrt(p * (1 - p) / 1e6)
    assert dropped.float().mean() == pytest.approx(p, abs=bound)
    for neighbours in (dropped[:, 1:] & dropped[:, :-1], dropped[1:] & dropped[:-1]):
        assert neighbours.float().mean() == pytest.approx(p * p, abs=2 * bound)
    for lane in range(4):  # of the four numbers that one draw of 64 bits gives
        assert dropped[:, lane::4].float().mean() == pytest.approx(p, abs=2 * bound)
