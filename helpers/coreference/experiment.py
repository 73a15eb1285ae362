"""Continued training of a masked LM, as the checkpoint study did it: a base model, then runs from it.

One call per run, made for `sweeps`: a run leaves `checkpoint-<step>` folders at every half epoch and the
tokenizer beside them. What rows a curriculum has is in `curricula`; evaluation is in `checkpoints`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from helpers.coreference.checkpoints import find_checkpoints, step_of
from helpers.coreference.curricula import masking, targets_only, training_rows

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
class Study:
    """What all runs share. `model`: "deberta-v2" (small, from scratch), a folder, or a name on the hub."""

    model: str
    tokenizer: str
    vocabulary: int
    hidden: int
    layers: int
    lengths: tuple[int, int]
    base_epochs: int
    base_lr: float
    epochs: int
    peak_lr: float
    entity_epochs: int
    entity_lr: float
    batch_rows: int
    mask_rate: float
    seed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengths", tuple(self.lengths))
        if len(self.lengths) != 2 or not 8 <= self.lengths[0] < self.lengths[1]:
            raise ValueError(f"lengths are two numbers of tokens, the shorter first, got {self.lengths}")
        if self.from_scratch != (self.base_epochs > 0):
            raise ValueError(
                f"base_epochs={self.base_epochs} does not fit model={self.model!r}: "
                "a model from scratch needs some, a pretrained one none"
            )

    @property
    def from_scratch(self) -> bool:
        return self.model == "deberta-v2"


def base_config(study: Study) -> dict:
    """Return the sweep configuration of the base model."""
    names = ("model", "tokenizer", "vocabulary", "hidden", "layers", "base_epochs", "base_lr", "batch_rows")
    settings = asdict(study)
    length, longest = study.lengths
    shared = {"length": length, "max_length": longest, "mask_rate": study.mask_rate, "seed": study.seed}
    return {name: settings[name] for name in names} | shared


def build_base(
    model: str,
    tokenizer: str,
    vocabulary: int,
    hidden: int,
    layers: int,
    base_epochs: int,
    base_lr: float,
    batch_rows: int,
    length: int,
    max_length: int,
    mask_rate: float,
    seed: int,
    *,
    documents: Sequence[Mapping],
    folder: Path,
) -> dict:
    """Make `checkpoint-0`: a small model trained from scratch with random masking, or a pretrained one."""
    from helpers.learning.encoders import masked_lm
    from helpers.text.tokenizers import load_tokenizer

    words = load_tokenizer(tokenizer, texts=[row["text"] for row in documents], size=vocabulary)
    size = {"vocab_size": len(words), "hidden": hidden, "layers": layers, "max_length": max_length}
    scratch = size | {"pad_id": words.pad_token_id, "dropout": 0.0, "seed": seed} | SMALL_DEBERTA
    network = masked_lm(model, **scratch if base_epochs else {})
    if base_epochs:
        start_from_identity(network, seed=seed)
    result = {"loss": None, "steps": 0, "resumed_from": 0}
    if base_epochs:
        rows = training_rows("mlm_v2", words, documents=documents, items=None, length=length)
        config = {"epochs": base_epochs, "peak_lr": base_lr, "batch_rows": batch_rows, "seed": seed}
        fitted = _fit(network, rows, words, mask_rate=mask_rate, folder=folder, **config)
        result = {"loss": fitted.history[-1]["loss"], "steps": fitted.steps}
        result["resumed_from"] = fitted.resumed_from
    words.save_pretrained(folder)
    network.save_pretrained(folder / "checkpoint-0")
    return result | {"parameters": sum(p.numel() for p in network.parameters()), "entries": len(words)}


def start_from_identity(network, *, seed: int) -> None:
    """Let attention hand on what it sees: values, their output and the head's transform start near identity.

    Copying a word of the context is then a matter of where to look, and need not be discovered. After 328
    steps of mention masking: Real@1 .20, and .07 without the other mentions; from noise .08 and .09.
    """
    import torch

    noise = torch.Generator().manual_seed(seed)
    layers = [layer.attention for layer in network.base_model.encoder.layer]
    linear = [part for attention in layers for part in (attention.self.value_proj, attention.output.dense)]
    with torch.no_grad():
        for part in (*linear, network.cls.predictions.transform.dense):
            part.weight.copy_(torch.eye(len(part.weight)))
            part.weight.add_(torch.randn(part.weight.shape, generator=noise), alpha=0.02)


def continue_run(
    experiment: str,
    parent: str,
    length: int,
    epochs: int,
    peak_lr: float,
    batch_rows: int,
    mask_rate: float,
    seed: int,
    *,
    documents: Sequence[Mapping],
    items,
    folder: Path,
) -> dict:
    """Train a checkpoint further on one curriculum; keep the weights of every half epoch."""
    from helpers.coreference.checkpoints import load_checkpoint
    from helpers.learning.averaging import Snapshots
    from helpers.learning.loop import Every

    network, words = load_checkpoint(parent)
    rows = training_rows(experiment, words, documents=documents, items=items, length=length)
    snapshots = Snapshots(folder / "checkpoints" / "snapshots", every=Every(epochs=0.5))
    config = {"epochs": epochs, "peak_lr": peak_lr, "batch_rows": batch_rows, "seed": seed}
    fitted = _fit(network, rows, words, mask_rate=mask_rate, folder=folder, observers=[snapshots], **config)
    for snapshot in snapshots.folders():  # only here, so that what a killed run leaves cannot be half of it
        snapshot.rename(folder / snapshot.name)
    words.save_pretrained(folder)
    return {
        "rows": len(rows),
        "steps": fitted.steps,
        "steps_per_epoch": fitted.steps / epochs,
        "tokens_per_step": epochs * sum(len(row["input_ids"]) for row in rows) / fitted.steps,
        "loss": fitted.history[-1]["loss"],
        "resumed_from": fitted.resumed_from,
    }


def _fit(
    network, rows: list[dict], words, *, mask_rate: float, folder: Path, observers: Sequence = (), **config
):
    from helpers.learning.loop import TrainConfig, fit

    with targets_only(network):
        return fit(
            network,
            rows,
            config=TrainConfig(**config),
            observers=observers,
            folder=folder / "checkpoints",
            transform=masking(words, rate=mask_rate),
            progress=None,
        )


def train_base(study: Study, documents) -> tuple[pd.DataFrame, Path]:
    """Return the base model's sweep row and its checkpoint."""
    from helpers.sweeps import fingerprint, sweep

    shared, mark = {"documents": list(documents)}, fingerprint(documents)
    frame = sweep(build_base, [base_config(study)], name="06-base", shared=shared, fingerprint=mark)
    return frame, frame["folder"].map(Path)[0] / "checkpoint-0"


def train_runs(study: Study, runs: Sequence[Mapping], *, documents, items) -> pd.DataFrame:
    """Train runs, each `{"run", "experiment", "length", "parent"}`; return a row for each, in order."""
    from helpers.sweeps import fingerprint, sweep

    configs = []
    for run in runs:
        entity = run["experiment"] == "entity"
        config = {name: run[name] for name in ("experiment", "length")} | {"parent": str(run["parent"])}
        config["epochs"] = study.entity_epochs if entity else study.epochs
        config["peak_lr"] = study.entity_lr if entity else study.peak_lr
        configs.append(
            config | {"batch_rows": study.batch_rows, "mask_rate": study.mask_rate, "seed": study.seed}
        )
    shared = {"documents": list(documents), "items": items}
    mark = fingerprint(documents, items)
    frame = sweep(continue_run, configs, name="06-runs", shared=shared, fingerprint=mark)
    frame.insert(0, "run", [run["run"] for run in runs])
    return frame


def continued(study: Study, base: Path) -> list[dict]:
    """Plan the first round: mlm_v2 and combined at both lengths, all from the base."""
    return [
        {"run": f"{experiment} {length}", "experiment": experiment, "length": length, "parent": base}
        for experiment in ("mlm_v2", "combined")
        for length in study.lengths
    ]


def entity_runs(evaluated: pd.DataFrame, study: Study, *, scores: str) -> list[dict]:
    """Plan entity fine-tuning from three parents, as the study proposed.

    The best mlm_v2 checkpoint at the shorter length, the earliest one of that run, and the best at the longer
    length. `scores` names the column to choose by: of documents that the final report leaves out.
    """
    trained = evaluated[(evaluated["step"] > 0) & (evaluated["experiment"] == "mlm_v2")]
    short, long = (trained[trained["length"] == length] for length in study.lengths)
    parents = {
        "best": short.loc[short[scores].idxmax()],
        "earliest": short.loc[short["step"].idxmin()],
        "best long": long.loc[long[scores].idxmax()],
    }
    return [
        {
            "run": f"entity from {name}",
            "experiment": "entity",
            "length": int(parent["length"]),
            "parent": parent["checkpoint"],
            "parent_run": parent["run"],
            "parent_step": int(parent["step"]),
        }
        for name, parent in parents.items()
    ]


def list_checkpoints(runs: pd.DataFrame, *, base: Path, lengths: Sequence[int]) -> pd.DataFrame:
    """Return one row per checkpoint: run, experiment, length, step, epoch, tokens seen, path.

    The base is listed as step 0 once per length, as the run "base <length>".
    """
    rows = [
        {
            "run": f"base {length}",
            "experiment": "base",
            "length": length,
            "step": 0,
            "epoch": 0.0,
            "tokens": 0.0,
        }
        | {"checkpoint": str(base)}
        for length in lengths
    ]
    seen = {str(base): 0.0}  # tokens behind a checkpoint, those of its parents included
    for run in runs.to_dict("records"):
        for path in find_checkpoints(run["folder"]):
            step = step_of(path)
            seen[str(path)] = seen[run["parent"]] + step * run["tokens_per_step"]
            rows.append(
                {name: run[name] for name in ("run", "experiment", "length")}
                | {"step": step, "epoch": step / run["steps_per_epoch"], "tokens": seen[str(path)]}
                | {"checkpoint": str(path)}
            )
    return pd.DataFrame(rows)
