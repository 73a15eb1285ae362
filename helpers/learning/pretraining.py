"""Pretrain an encoder on plain text, by masked tokens: what every fine-tuning here starts from.

`pretrain` is what a sweep calls: text in, a Hugging Face folder out (weights, tokenizer, model card) that
`encoders.load_encoder` and plain `AutoModel` read. The model is a small one from scratch, or any masked LM
from a folder or the hub, which then goes on learning on this text. Collecting the text is left to the caller.
"""

import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from helpers.learning import averaging, encoders, loop
from helpers.learning.batching import Features, mask_tokens
from helpers.learning.config import Every, TrainConfig
from helpers.learning.masked import Candidates, MaskedLM, recover
from helpers.text.copies import without_copies
from helpers.text.tokenizers import load_tokenizer

SHORTEST = 4  # ordinary tokens that a row needs to be worth reading
HELD_OUT = 400  # texts, at most, on which a model is measured
EXACT = 8000  # entries up to which the loss of training looks at the whole vocabulary


@dataclass(frozen=True, kw_only=True)
class PretrainingConfig:
    """How to pretrain; sizes are for a model from scratch."""

    model: str = "bilstm"  # one of encoders.MASKED, or a masked LM in a folder or on the hub
    tokenizer: str = "train:wordpiece"  # as for load_tokenizer; empty: the model's own
    vocabulary_size: int = 8000  # of a tokenizer that is trained here
    hidden: int = 128
    layers: int = 1
    bigrams: int = 0  # hash buckets for pairs of tokens, BiLSTM only
    dropout: float = 0.1
    length: int = 128  # tokens of a row; longer texts are cut into several
    token_budget: int = 0  # to read in an epoch, to within a row; 0: all there are
    epochs: int = 3
    peak_lr: float = 3e-3
    batch_tokens: int = 8192  # of a step
    mask_rate: float = 0.2  # share of the tokens to recover
    span: int = 1  # mean length of what is masked, in tokens
    candidates: int = 4096  # sampled for each step where the vocabulary has more than EXACT entries
    snapshots: int = 0  # models to keep on the way, equally far apart
    seed: int = 0

    def __post_init__(self) -> None:
        if self.model in encoders.MASKED and not self.tokenizer:
            raise ValueError(
                f"model {self.model!r} has no tokenizer of its own: name one, e.g. 'train:wordpiece'"
            )
        if self.length < 2 * SHORTEST or self.snapshots < 0 or 0 != self.token_budget < self.length:
            raise ValueError(
                f"length must be at least {2 * SHORTEST} tokens, snapshots not negative and token_budget 0 "
                f"or at least that, got {self.length}, {self.snapshots} and {self.token_budget}"
            )
        self.training()  # checks its own settings

    def training(self) -> TrainConfig:
        return TrainConfig(
            epochs=self.epochs,
            peak_lr=self.peak_lr,
            batch_rows=self.batch_tokens // 8,
            batch_tokens=self.batch_tokens,
            evaluate=Every(epochs=1),
            seed=self.seed,
        )


def pretrain(
    *, texts: Sequence[str], unseen: Sequence[str], folder: Path, progress: str = "", **settings: Any
) -> dict:
    """Pretrain on `texts`, less what repeats an `unseen` sentence; leave the model in `folder / "model"`.

    `settings` are the fields of PretrainingConfig. A random part of the texts is held out: `held_out.npy` has
    loss, hits and tokens of each of its rows, see `masked.recover`. `checkpoint-<step>` are the models on the
    way.
    """
    config = PretrainingConfig(**settings)
    kept, copies = without_copies(texts, unseen)
    read, asked = _divided(kept)
    tokenizer = load_tokenizer(config.tokenizer or config.model, texts=read, size=config.vocabulary_size)
    wanted = ((read, config.token_budget), (asked, 0))
    train, held_out = (
        Features(_first(rows(tokenizer, part, length=config.length), tokens)) for part, tokens in wanted
    )
    model = build(config, tokenizer)
    candidates = None
    if len(tokenizer) > EXACT:
        candidates = Candidates(train.counts("input_ids", size=len(tokenizer)), config.candidates)
    snapshots = averaging.Snapshots(folder / "checkpoints" / "snapshots", every=_rhythm(config))
    started = time.perf_counter()
    result = loop.fit(
        MaskedLM(model, candidates),
        train,
        config=config.training(),
        transform=mask_tokens(tokenizer, rate=config.mask_rate, span=config.span),
        observers=[snapshots] if config.snapshots else [],
        folder=folder / "checkpoints",
        progress=progress,
    )
    seconds = time.perf_counter() - started
    facts = {
        "texts": len(read),
        "exact_copies": copies.exact,
        "near_copies": copies.near,
        "tokens": int(train.lengths.sum()),
        "vocabulary": len(tokenizer),
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "steps": result.steps,
        "loss": result.history[-1]["loss"],
        "resumed_from": result.resumed_from,
    }
    facts |= _measured(model, held_out, tokenizer, folder / "held_out.npy")
    with encoders.quiet():
        model.save_pretrained(folder / "model")
    for snapshot in snapshots.folders():  # copied: a call that is killed here goes on with the original
        shutil.copytree(snapshot, folder / snapshot.name)
    for place in [folder / "model", *folder.glob("checkpoint-*")]:
        tokenizer.save_pretrained(place)
    (folder / "model" / "README.md").write_text(card(config, facts, seconds=seconds), encoding="utf-8")
    return facts


def _measured(model: Any, rows: Features, tokenizer: Any, file: Path) -> dict[str, float]:
    """Ask for every token of the held-out rows; keep the answers by row in `file`."""
    found = recover(model, rows, tokenizer)
    np.save(file, found)
    loss, hits, tokens = found.sum(axis=0)
    return {
        "pseudo_perplexity": float(np.exp(loss / tokens)),
        "masked_accuracy": 100 * float(hits / tokens),
    }


def _divided(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Hold a few texts out, at random: at most a twentieth, and no more than are needed to measure."""
    if len(texts) < 2:
        raise ValueError(f"{len(texts)} texts are left to pretrain on: give more")
    order = np.random.default_rng(0).permutation(len(texts))
    held_out = max(1, min(HELD_OUT, len(texts) // 20))
    return [texts[i] for i in order[held_out:]], [texts[i] for i in order[:held_out]]


def _first(rows: list[dict], tokens: int) -> list[dict]:
    """Take whole rows of at most so many tokens together; 0: all of them."""
    ends = np.cumsum([len(row["input_ids"]) for row in rows])
    if ends[-1] < tokens:
        raise ValueError(f"the text has {ends[-1]:,} tokens to read, not {tokens:,}: ask for fewer")
    return rows[: int(np.searchsorted(ends, tokens, side="right"))] if tokens else rows


def build(config: PretrainingConfig, tokenizer: Any) -> Any:
    """Return the masked LM to train: from scratch, or loaded."""
    if config.model not in encoders.MASKED:
        return encoders.masked_lm(config.model)
    size = {"hidden": config.hidden, "layers": config.layers, "dropout": config.dropout}
    if config.model == "bilstm" and config.bigrams:
        size |= {"bigrams": config.bigrams, "embedding_size": 64}
    return encoders.masked_lm(
        config.model,
        vocab_size=len(tokenizer),
        pad_id=tokenizer.pad_token_id,
        max_length=max(512, config.length),
        seed=config.seed,
        **size,
    )


def rows(tokenizer: Any, texts: Iterable[str], *, length: int) -> list[dict]:
    """Cut texts into rows of at most `length` tokens, special ones included; scraps are left out."""
    frame = tokenizer("")["input_ids"]
    before, after = frame[: len(frame) // 2], frame[len(frame) // 2 :]
    room, found = length - len(frame), []
    for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]:
        pieces = [ids[at : at + room] for at in range(0, len(ids), room)]
        found += [[*before, *piece, *after] for piece in pieces if len(piece) >= SHORTEST]
    if not found:
        raise ValueError(f"no text has {SHORTEST} tokens or more: give longer texts")
    return [{"input_ids": row} for row in found]


def card(config: PretrainingConfig, facts: Mapping[str, Any], *, seconds: float) -> str:
    """Return a model card: what was read, for how long, and what came out."""
    told = {
        "texts": "texts",
        "exact_copies": "left out: copies of dev",
        "near_copies": "left out: near copies",
    }
    told |= {"tokens": "tokens in an epoch", "vocabulary": "vocabulary", "steps": "steps"}
    lines = [f"| {title} | {facts[name]:,} |" for name, title in told.items()]
    lines += [f"| {name} | {value} |" for name, value in asdict(config).items()]
    return "\n".join(
        [
            "---",
            "library_name: transformers",
            "pipeline_tag: fill-mask",
            "---",
            "",
            "# A masked language model pretrained with nunchi",
            "",
            f"Trained for {seconds:,.0f} seconds, {facts['parameters']:,} parameters. On held-out text, one "
            f"token in eight hidden at a time: pseudo-perplexity {facts['pseudo_perplexity']:.2f}, "
            f"{facts['masked_accuracy']:.1f} % of the tokens recovered. Last training loss: "
            f"{facts['loss']:.3f}.",
            "",
            "`import helpers.learning.encoders` first, then `AutoModel.from_pretrained` reads this folder.",
            "",
            "| | |",
            "|---|---|",
            *lines,
            "",
        ]
    )


def _rhythm(config: PretrainingConfig) -> Every:
    return Every(epochs=config.epochs / (config.snapshots or 1))
