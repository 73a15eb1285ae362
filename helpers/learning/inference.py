"""Run a model over rows, on the GPU if there is one: logits in the original order.

Batches are sorted by length, shared out among processes and gathered without duplicates. Turning logits
into predictions and metrics is left to the callers.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from helpers.learning.batching import IGNORED, Batch, Features, length_buckets

Rows = Features | Sequence[Mapping[str, Any]]


def predict(
    model: nn.Module, rows: Rows, *, batch_rows: int = 256, batch_tokens: int = 16384
) -> list[np.ndarray]:
    """Return the logits of every row, in order, as float32: `(labels,)`, or `(t, labels)` for token heads.

    With several processes each computes a share and all receive everything, no row twice.
    """
    share: list[tuple[int, np.ndarray]] = []
    for chosen, batch, outputs in _forward(model, rows, batch_rows, batch_tokens):
        logits = outputs.logits.float().cpu().numpy()
        if logits.ndim == 3:
            logits = [x[:n].copy() for x, n in zip(logits, batch["attention_mask"].sum(axis=1), strict=True)]
        share += zip(chosen.tolist(), logits, strict=True)
    return [logits for _, logits in sorted(_gather(share), key=lambda pair: pair[0])]


def best_device() -> torch.device:
    """Return where models run unless told otherwise: the GPU, if there is one."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def precision() -> str:
    """Return bf16 where the card computes in it, fp16 on older ones (which only emulate it), else no."""
    if not torch.cuda.is_available():
        return "no"
    return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"


def as_features(rows: Rows) -> Features:
    """Return the rows in columns, unless they are already."""
    return rows if isinstance(rows, Features) else Features(rows)


def input_names(model: nn.Module) -> set[str]:
    """Return the columns that the model takes; rows may hold more."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return set(inspect.signature(type(base).forward).parameters)


def pad_id_of(model: nn.Module) -> int:
    """Return the id that fills up input_ids."""
    return getattr(model.config, "pad_token_id", None) or 0


def to_tensors(batch: Batch, inputs: set[str], device: torch.device) -> dict[str, Tensor]:
    return {k: torch.from_numpy(v).to(device, non_blocking=True) for k, v in batch.items() if k in inputs}


def count_targets(batch: Batch) -> int:
    """Count what the loss averages over: labelled tokens or rows; of a multi-label batch, its rows."""
    labels = batch.get("labels")
    if labels is None:
        raise ValueError("rows have no labels: add a labels column, or a transform that makes one")
    return len(labels) if labels.dtype.kind == "f" else int((labels != IGNORED).sum())


@torch.inference_mode()
def _forward(
    model: nn.Module, rows: Rows, batch_rows: int, batch_tokens: int
) -> Iterator[tuple[np.ndarray, Batch, Any]]:
    """Yield row indices, batch and outputs for this process's share of the batches."""
    from accelerate import PartialState

    if not len(rows):
        return
    process, features = PartialState(), as_features(rows)
    inputs = input_names(model) - {"labels"}
    device, was_training = next(model.parameters()).device, model.training
    batches = length_buckets(features.lengths, rows=batch_rows, tokens=batch_tokens)
    model.eval()
    try:
        for chosen in batches[process.process_index :: process.num_processes]:
            batch = features.batch(chosen, pad_id=pad_id_of(model))
            yield chosen, batch, model(**to_tensors(batch, inputs, device))
    finally:
        model.train(was_training)


def _gather(share: list[Any]) -> list[Any]:
    from accelerate.utils import gather_object

    return gather_object(share)
