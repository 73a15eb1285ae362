"""What one training step needs: parameters, bytes of activations, floating-point operations.

Nothing is computed and no memory is taken: the real model classes run on fake tensors, once with two layers
and once with four, and the rest is a straight line, because layers are alike. What autograd would keep is
counted as it is handed over; operations are counted by torch's own counter.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from helpers.planning.shapes import shape

if TYPE_CHECKING:
    from helpers.planning.trainings import Training

FEW, MORE = 2, 4  # layers that are tried; Gemma's come in pairs
LABELS = {"relations": 30, "entities": 13, "labels": 10, "spans": 2}
MASKED = 0.15  # of a window's tokens are predicted
QUANTISED = 0.5 + 4 / 64  # bytes of a 4-bit weight, with a float32 scale for every 64
SCORED_ROWS = 32  # of a batch that is only read
BACKWARD = 2  # times the operations of the forward pass; through frozen weights, once


@dataclass(frozen=True)
class Footprint:
    """Sizes in bytes, operations of one row's forward pass."""

    parameters: int
    trained: int
    weights: int
    activations: int  # that the backward pass waits for
    flops: float

    def peak(self, training: Training) -> float:
        """Return the bytes that training holds at its fullest moment, on the device that computes.

        Activations go as gradients come, so that one or the other is the larger; with accumulation the
        gradients of earlier batches are there all the time.
        """
        gradients, moments = 4 * self.trained, 8 * self.trained
        average = 4 * self.trained if training.averages else 0
        held = self.weights + moments + average
        if training.accumulate > 1:
            return held + gradients + self.activations
        return held + max(gradients, self.activations)


def footprint(training: Training, *, on: str = "gpu") -> Footprint:
    """Return what a step needs on a "gpu" (16-bit products, fused attention) or a "cpu" (all in 32 bits)."""
    config = _config(training)
    layers = config.num_hidden_layers
    if config.model_type == "nunchi-bilstm":
        return _recurrent(training, config)
    size = (training.model, training.task, training.size, training.lora_rank)
    short, long = (_measured(*size, n, training.batch, training.length, on) for n in (FEW, MORE))
    one, two = (_measured(*size, n, 1, min(training.tokens, training.length), "cpu") for n in (FEW, MORE))
    line = {name: _extended(short[name], long[name], layers) for name in short}
    activations = line["activations"]
    if training.recompute:
        layer = (long["activations"] - short["activations"]) / (MORE - FEW)
        kept = training.batch * training.length * config.hidden_size * 4  # what goes into each layer
        activations = short["activations"] - FEW * layer + layers * kept + layer
    weights, trained = 4 * line["parameters"], line["trained"]
    if training.four_bit:
        weights = QUANTISED * line["quantised"] + 4 * (line["parameters"] - line["quantised"])
    if training.frozen:
        activations, trained = 0, config.hidden_size * LABELS[training.task]
    flops = _extended(one["flops"], two["flops"], layers)
    return Footprint(int(line["parameters"]), int(trained), int(weights), int(activations), flops)


def operations(training: Training, found: Footprint) -> float:
    """Return the floating-point operations of a whole run, evaluation included."""
    backward = BACKWARD / 2 if training.lora_rank else 0 if training.frozen else BACKWARD
    per_row = found.flops * (1 + backward + training.recompute)
    return training.rows * training.epochs * per_row + training.scored * found.flops


def launches(training: Training) -> float:
    """Return how often a run starts a layer: in training forward, backward and for its update, else once."""
    backward = 0 if training.frozen else BACKWARD
    batches = math.ceil(training.rows / training.batch) * training.epochs
    per_batch = 1 + backward + training.recompute
    return _config(training).num_hidden_layers * (batches * per_batch + training.scored / SCORED_ROWS)


def _config(training: Training) -> Any:
    return shape(training.model, length=training.length, **dict(training.size))


def _extended(few: float, more: float, layers: int) -> float:
    return few + (layers - FEW) * (more - few) / (MORE - FEW)


@lru_cache(maxsize=256)
def _measured(
    name: str, task: str, size: tuple, lora_rank: int, layers: int, batch: int, length: int, on: str
) -> dict[str, float]:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils.flop_counter import FlopCounterMode

    config = shape(name, length=length, **dict(size))
    config.num_hidden_layers = layers
    if getattr(config, "layer_types", None):
        config.layer_types = (config.layer_types * layers)[:layers]
    if on == "gpu" and config.model_type != "deberta-v2":  # one kernel computes attention with its dropout
        _set(config, 0.0)
    kept: dict[int, Any] = {}
    with FakeTensorMode(allow_non_fake_inputs=True):
        model = build(config, task, lora_rank=lora_rank).train()
        own = {weights.untyped_storage()._cdata for weights in model.parameters()}

        def keep(tensor):
            if (key := tensor.untyped_storage()._cdata) not in own:
                kept[key] = tensor  # alive, so that no other tensor gets its place
            return tensor

        counter = FlopCounterMode(display=False)
        saved = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
        half = torch.autocast("cpu", torch.bfloat16, enabled=on == "gpu")
        with counter, saved, half, as_on_cuda() if on == "gpu" else contextlib.nullcontext():
            model(**inputs(task, batch, length))
        counts = {
            "parameters": sum(p.numel() for p in model.parameters()),
            "trained": sum(p.numel() for p in model.parameters() if p.requires_grad),
            "quantised": sum(
                part.weight.numel()
                for part in model.modules()
                if isinstance(part, torch.nn.Linear) and not part.weight.requires_grad
            ),
        }
    stored = sum(tensor.untyped_storage().nbytes() for tensor in kept.values())
    return {"activations": stored, "flops": counter.get_total_flops() / batch, **counts}


def as_on_cuda() -> Any:
    """Keep what CUDA's autocast keeps and a CPU's does not: softmax in 32 bits, a byte for each dropout."""
    import torch
    from torch.nn import functional
    from torch.overrides import TorchFunctionMode

    def dropout(states, p=0.5, training=True, inplace=False):
        return torch.native_dropout(states, p, True)[0] if p and training else states

    class Cuda(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function is functional.softmax:
                args = (args[0].float(), *args[1:])
            called = dropout if function is functional.dropout else function
            return called(*args, **(kwargs or {}))

    return Cuda()


def _set(config: Any, dropout: float) -> None:
    for name in ("attention_probs_dropout_prob", "attention_dropout"):
        if hasattr(config, name):
            setattr(config, name, dropout)


def build(config: Any, task: str, *, lora_rank: int = 0) -> Any:
    """Return a model of this shape with the head of the task, with random weights."""
    import torch
    from transformers import AutoModel, AutoModelForMaskedLM

    if task == "masked":
        model = AutoModelForMaskedLM.from_config(config)
        model.base_model.register_forward_hook(_masked_places)
        return model
    if not lora_rank:
        return classifier(AutoModel.from_config(config), task)
    # Frozen weights in 16 bits; what leaves the embeddings is in 32, as after 4-bit loading.
    body = AutoModel.from_config(config, dtype=torch.bfloat16).requires_grad_(False)
    body.get_input_embeddings().register_forward_hook(lambda module, given, output: output.float())
    _add_adapters(body, lora_rank)
    return classifier(body, task, decoder=True)


def _add_adapters(body: Any, rank: int) -> None:
    """Add what LoRA would: peft converts modules in place, which fake tensors do not allow."""
    import torch
    from torch import nn

    from helpers.learning.lora import TARGETS

    class Adapted(nn.Module):
        def __init__(self, linear: nn.Linear):
            super().__init__()
            self.linear, self.dropout = linear, nn.Dropout(0.05)
            self.down = nn.Linear(linear.in_features, rank, bias=False)
            self.up = nn.Linear(rank, linear.out_features, bias=False)

        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return self.linear(states) + 2.0 * self.up(self.down(self.dropout(states)))

    for module in list(body.modules()):
        for name, part in list(module.named_children()):
            if name in TARGETS:
                setattr(module, name, Adapted(part))


def classifier(body: Any, task: str, *, decoder: bool = False) -> Any:
    """Put the head of a task on an encoder, as its notebook does."""
    from helpers.learning import heads

    names = [str(number) for number in range(LABELS[task])]
    if task == "relations":
        return heads.classifier(body, names, task="sequence", pooling="starts+max")
    if task == "labels":
        how: dict[str, Any] = {"pooling": "last", "head": "linear"} if decoder else {"pooling": "first"}
        return heads.classifier(body, names, task="multilabel", **how)
    return heads.classifier(body, names, task="tokens")


def inputs(task: str, batch: int, length: int) -> dict[str, Any]:
    """Return a batch of full rows that a model of the task takes, as tensors."""
    import torch

    ids = torch.ones(batch, length, dtype=torch.long)
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    one = torch.zeros(batch, dtype=torch.long)
    match task:
        case "relations":
            return given | {"subject_start": one, "object_start": one, "labels": one}
        case "labels":
            return given | {"labels": torch.zeros(batch, LABELS[task])}
    labelled = _places(length) if task == "masked" else length
    return given | {"labels": torch.zeros(batch, labelled, dtype=torch.long)}


def _places(length: int) -> int:
    return math.ceil(MASKED * length)


def _masked_places(module: Any, given: Any, output: Any) -> Any:
    """Let the vocabulary's head see as many states as there are masks, as training does."""
    output.last_hidden_state = output.last_hidden_state[:, : _places(output.last_hidden_state.shape[1])]
    return output


def _recurrent(training: Training, config: Any) -> Footprint:
    """Return what a BiLSTM needs, by its formula: it is small, and recurrent layers are not alike."""
    import torch

    with torch.device("meta"):
        count = sum(p.numel() for p in build(config, training.task).parameters())
    matrices = 2 * config.num_hidden_layers * 4 * 3 * config.hidden_size * config.hidden_size // 2
    kept = training.batch * training.length * config.hidden_size * 4 * 12 * config.num_hidden_layers
    return Footprint(count, count, 4 * count, kept, 2.0 * matrices * min(training.tokens, training.length))
