"""The last layer at the first token alone gives the logits of the whole layer."""

import pytest
import torch

from helpers.learning import encoders, heads, inference
from helpers.prediction.first_state import first_state_only

ROWS = [{"input_ids": [2, *range(5, 5 + length), 3]} for length in (1, 4, 9, 9, 17)]
SIZE = {"vocab_size": 40, "pad_id": 1, "hidden": 64, "layers": 2}


def logits(model):
    return torch.tensor(inference.predict(model, ROWS, batch_rows=2))  # some batches padded, one not


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_logits_are_those_of_the_whole_layer(kind, attention, monkeypatch):
    model = heads.classifier(encoders.encoder(kind, **SIZE), "abc", task="sequence")
    model.encoder.set_attn_implementation(attention)
    for name, weights in model.named_parameters():
        if name.endswith("bias"):  # zero in a new model
            torch.nn.init.normal_(weights, std=0.1)
    whole, seen = logits(model), []
    last = model.encoder.encoder.layer[-1]
    with first_state_only(model):
        last.output.register_forward_hook(lambda module, given, out: seen.append(out.shape[1]))
        narrow = logits(model)
    assert set(seen) == {1} and model.encoder.encoder.layer[-1] is last
    assert not torch.equal(whole[0], whole[-1]) and (narrow - whole).abs().max() < 1e-6


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        ("roberta", {"task": "sequence", "pooling": "mean"}),
        ("roberta", {"task": "tokens"}),
        ("bilstm", {"task": "sequence"}),
        ("deberta-v2", {"task": "sequence"}),
    ],
)
def test_other_heads_and_encoders_are_left_alone(kind, head):
    model = heads.classifier(encoders.encoder(kind, **SIZE), "abc", **head)
    before = list(model.modules())
    with first_state_only(model):
        assert list(model.modules()) == before


def test_the_layer_is_put_back_after_an_error():
    model = heads.classifier(encoders.encoder("bert", **SIZE), "abc", task="multilabel")
    before = list(model.modules())
    with pytest.raises(RuntimeError), first_state_only(model):
        raise RuntimeError
    assert list(model.modules()) == before
