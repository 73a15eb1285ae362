"""Training of a masked LM, as the checkpoint study did it: a base model, then runs that go on from it.

Two functions for `sweeps`. Both leave `checkpoint-<step>` folders, each complete with its tokenizer. What
rows a curriculum has is in `curricula`; evaluation is in `scoring`.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.coreference.checkpoints import load_checkpoint
from helpers.coreference.curricula import CURRICULA, guessing_loss, masking, targets_only, training_rows

SCRATCH = "deberta-v2"
# Content attention, absolute positions and the family's n-gram layer. With random masking, 190 steps of 32
# short windows reach a loss of 5.8; BERT's is still at 6.4, relative attention costs three times as much.
SMALL_DEBERTA = {
    "relative_attention": False,
    "position_biased_input": True,
    "conv_kernel_size": 3,
    "conv_act": "gelu",
    "type_vocab_size": 0,
    "initializer_range": 0.05,
}


@dataclass(frozen=True, kw_only=True)
class MaskedLMConfig:
    """Settings of a run, named as the notebook's parameters; the last five differ between runs.

    `model`: "deberta-v2" (small, from scratch), a folder, or a name on the hub.
    """

    model: str
    tokenizer: str
    vocabulary: int
    hidden: int
    layers: int
    lengths: tuple[int, ...]  # tokens of a window in any run, increasing
    base_epochs: int
    base_lr: float
    epochs: int
    peak_lr: float
    batch_rows: int
    accumulate: int = 1  # batches per step
    recompute: bool = False  # activations in the backward pass
    mask_rate: float
    seed: int = 0  # of weights and masking
    identity: bool = True  # a base from scratch: see `start_from_identity`
    curriculum: str = "mlm_v2"
    length: int = 0  # tokens of a window in this run; 0: the first of `lengths`
    parent: str = ""  # checkpoint to go on from; the base has none

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengths", tuple(self.lengths))
        if not self.lengths or min(self.lengths) < 8 or list(self.lengths) != sorted(set(self.lengths)):
            raise ValueError(
                f"lengths are numbers of tokens from 8 up, the shortest first, got {self.lengths}"
            )
        object.__setattr__(self, "length", self.length or self.lengths[0])
        if self.length not in self.lengths:
            raise ValueError(f"length={self.length} is none of lengths={self.lengths}")
        if self.curriculum not in CURRICULA:
            raise ValueError(f"curriculum is one of {', '.join(CURRICULA)}, got {self.curriculum!r}")
        if (self.model == SCRATCH) != (self.base_epochs > 0):
            raise ValueError(
                f"base_epochs={self.base_epochs} does not fit model={self.model!r}: "
                "a model from scratch needs some, a pretrained one none"
            )


def build_base(*, documents: Sequence[Mapping], folder: Path, **settings) -> dict:
    """Make `checkpoint-0`: a small model trained from scratch with random masking, or a pretrained one."""
    from helpers.learning.encoders import masked_lm
    from helpers.text.tokenizers import load_tokenizer

    config = MaskedLMConfig(**settings)
    words = load_tokenizer(config.tokenizer, texts=[row["text"] for row in documents], size=config.vocabulary)
    result: dict = {"loss": None, "guessing_loss": None, "steps": 0, "resumed_from": 0}
    if config.model == SCRATCH:
        size = {"vocab_size": len(words), "hidden": config.hidden, "layers": config.layers}
        fixed = {"max_length": config.lengths[-1], "pad_id": words.pad_token_id, "dropout": 0.0}
        network = masked_lm(SCRATCH, seed=config.seed, **size, **fixed, **SMALL_DEBERTA)
        if config.identity:
            start_from_identity(network, seed=config.seed)
        rows = training_rows("mlm_v2", words, documents=documents, items=None, length=config.length)
        base = replace(config, epochs=config.base_epochs, peak_lr=config.base_lr)
        fitted = _fit(network, rows, words, base, folder=folder)
        result = _summary(fitted, rows, words, config)
    else:
        network = masked_lm(config.model)
    network.save_pretrained(folder / "checkpoint-0")
    words.save_pretrained(folder / "checkpoint-0")
    return result | {"parameters": sum(p.numel() for p in network.parameters()), "entries": len(words)}


def start_from_identity(network, *, seed: int) -> None:
    """Let attention hand on what it sees: values, their output and the head's transform start near identity.

    Copying a word of the context is then a matter of where to look, and need not be discovered. Picked by its
    outcome, so notebook 06 trains its control too (`identity=False`): in the few hundred steps of the sample,
    a model that starts at random does not learn to copy.
    """
    import torch

    noise = torch.Generator().manual_seed(seed)
    layers = [layer.attention for layer in network.base_model.encoder.layer]
    linear = [part for attention in layers for part in (attention.self.value_proj, attention.output.dense)]
    with torch.no_grad():
        for part in (*linear, network.cls.predictions.transform.dense):
            part.weight.copy_(torch.eye(len(part.weight)))
            part.weight.add_(torch.randn(part.weight.shape, generator=noise), alpha=0.02)


def continue_run(*, documents: Sequence[Mapping], items, folder: Path, **settings) -> dict:
    """Train a checkpoint further on one curriculum; keep the weights of every half epoch."""
    from helpers.learning.averaging import Snapshots
    from helpers.learning.config import Every

    config = MaskedLMConfig(**settings)
    network, words = load_checkpoint(config.parent)
    rows = training_rows(config.curriculum, words, documents=documents, items=items, length=config.length)
    snapshots = Snapshots(folder / "checkpoints" / "snapshots", every=Every(epochs=0.5))
    fitted = _fit(network, rows, words, config, folder=folder, observers=[snapshots])
    for snapshot in snapshots.folders():  # copied: a call that is killed here goes on with the original
        shutil.copytree(snapshot, folder / snapshot.name)
        words.save_pretrained(folder / snapshot.name)
    return {
        "rows": len(rows),
        "steps_per_epoch": fitted.steps / config.epochs,
        "tokens_per_step": config.epochs * sum(len(row["input_ids"]) for row in rows) / fitted.steps,
    } | _summary(fitted, rows, words, config)


def _fit(network, rows: list[dict], words, config: MaskedLMConfig, *, folder: Path, observers: Sequence = ()):
    from helpers.learning.config import TrainConfig
    from helpers.learning.loop import fit

    names = ("epochs", "peak_lr", "batch_rows", "accumulate", "recompute", "seed")
    with targets_only(network):
        return fit(
            network,
            rows,
            config=TrainConfig(**{name: getattr(config, name) for name in names}),
            observers=observers,
            folder=folder / "checkpoints",
            transform=masking(words, rate=config.mask_rate),
        )


def _summary(fitted, rows: list[dict], words, config: MaskedLMConfig) -> dict:
    """Return what a run cost and reached: the mean loss of its last epoch, and that of guessing."""
    return {
        "steps": fitted.steps,
        "loss": fitted.history[-1]["loss"],
        "guessing_loss": guessing_loss(words, rows, rate=config.mask_rate),
        "resumed_from": fitted.resumed_from,
    }
