"""Sizes from fake tensors against real ones."""

import pytest
import torch

from helpers.planning import footprints
from helpers.planning.shapes import shape
from helpers.planning.trainings import Training

SIZE = (("hidden", 32), ("layers", 6), ("vocabulary", 500))


def training(**changes) -> Training:
    base = {"sweep": "s", "task": "entities", "model": "roberta", "length": 24, "tokens": 10, "rows": 64,
            "scored": 0, "batch": 4, "epochs": 2, "size": SIZE}  # fmt: skip
    return Training(**base | changes)


def counted(model, batch) -> int:
    """Bytes that autograd keeps of a real forward pass."""
    own, kept = {p.untyped_storage()._cdata for p in model.parameters()}, {}

    def keep(tensor):
        if (key := tensor.untyped_storage()._cdata) not in own:
            kept[key] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.train()(**batch)
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


@pytest.mark.parametrize("task", ["entities", "relations", "labels", "masked"])
@pytest.mark.parametrize("kind", ["roberta", "deberta-v2"])
def test_six_layers_follow_from_two_and_four(kind, task):
    one = training(model=kind, task=task)
    real = footprints.build(shape(kind, length=24, **dict(SIZE)), task)
    found = footprints.footprint(one, on="cpu")
    assert found.parameters == found.trained == sum(p.numel() for p in real.parameters())
    assert found.activations == pytest.approx(counted(real, footprints.inputs(task, 4, 24)), rel=0.02)


def test_a_step_holds_weights_moments_and_the_larger_of_gradients_and_activations():
    found = footprints.Footprint(parameters=100, trained=100, weights=400, activations=1000, flops=1.0)
    assert found.peak(training()) == 400 + 800 + 1000
    assert found.peak(training(accumulate=2)) == 400 + 800 + 400 + 1000
    assert found.peak(training(averages=5)) == 400 + 800 + 400 + 1000  # one average is beside the model


def test_recomputing_keeps_a_fraction_and_costs_a_forward_pass():
    plain, again = training(length=64), training(length=64, recompute=True)
    first, second = (footprints.footprint(one) for one in (plain, again))
    assert second.activations < first.activations / 2
    assert footprints.operations(again, second) == pytest.approx(4 / 3 * footprints.operations(plain, first))


def test_a_gpu_keeps_probabilities_in_32_bits_and_dropout_in_a_byte():
    scores, kept = torch.randn(3, 5, dtype=torch.bfloat16, requires_grad=True), []
    saved = torch.autograd.graph.saved_tensors_hooks(lambda one: kept.append(one) or one, lambda one: one)
    with saved, footprints.as_on_cuda():
        probabilities = torch.nn.functional.softmax(scores, dim=-1)
        torch.nn.Dropout(0.5)(probabilities)
    assert [(one.dtype, one.numel()) for one in kept] == [(torch.float32, 15), (torch.bool, 15)]


def test_a_frozen_encoder_trains_its_head():
    found = footprints.footprint(training(frozen=True))
    assert found.trained == 32 * 13 and found.activations == 0


@pytest.mark.parametrize(
    ("settings", "low", "high"),
    [  # as audited: about 41 GB for the decoder at 1,024 tokens, over 100 for 16 windows of 2,048
        ({"task": "labels", "model": "google/gemma-2-27b-it", "length": 1024, "batch": 8, "accumulate": 4,
          "lora_rank": 64, "four_bit": True, "recompute": True}, 38, 44),
        ({"task": "masked", "model": "kakaobank/kf-deberta-base", "length": 2048, "batch": 16}, 75, 130),
    ],
)  # fmt: skip
def test_large_models_need_what_they_need(settings, low, high):
    one = training(**settings, size=())
    assert low < footprints.footprint(one).peak(one) / 1e9 < high


def test_a_bilstm_has_its_own_parameters():
    found = footprints.footprint(
        training(model="bilstm", size=(("hidden", 16), ("layers", 1), ("vocabulary", 50)))
    )
    assert found.parameters > 50 * 16 / 2


def test_an_unknown_model_is_named():
    with pytest.raises(ValueError, match="the shape of 'some/model' is not known"):
        shape("some/model")
