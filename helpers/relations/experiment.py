"""One relation classifier, trained and scored: the function that every sweep of notebooks 02 and 03 calls.

The official dev set is only ever scored. Early stopping looks at a validation part of the training rows that
shares no sentence and no entity pair with the rest. Logits are saved per row, so that constraints, priors and
comparisons can be worked out later without training again. The rows come in as arguments: `data` loads them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset, concatenate_datasets
from scipy.special import log_softmax, softmax

from helpers.corpora.labels import ordered
from helpers.learning import encoders, heads, loop
from helpers.learning.config import TrainConfig
from helpers.learning.inference import predict
from helpers.relations import baselines, constraints, imbalance, markers
from helpers.relations.scores import auprc, micro_f1
from helpers.text import tokenizers
from helpers.text.alignment import Encoded, encode_with_offsets

SAMPLINGS = ("all", "hard-negatives")


@dataclass(frozen=True, kw_only=True)
class RelationConfig:
    """Everything that can vary in a relation experiment, with the defaults of the controlled comparisons."""

    model: str = "bilstm"  # a kind of encoders.KINDS, from scratch, or a folder or hub name
    tokenizer: str = ""  # as for tokenizers.load_tokenizer; empty: the model's own
    vocabulary_size: int = 8000  # of a tokenizer trained here
    hidden: int = 128
    layers: int = 1
    dropout: float = 0.1  # while fine-tuning
    scheme: str = "typed-punct"  # one of markers.SCHEMES, or markers.FIRST_MATCH
    pooling: str = "starts+max"  # one of heads.POOLINGS
    max_length: int = 256
    peak_lr: float = 2e-3
    encoder_lr: float = 1.0  # the encoder's share of it
    batch_size: int = 32
    epochs: int = 3
    patience: int = 0  # epochs without a better validation micro-F1 before stopping; 0: never
    constraint: str = "none"  # what biases the logits while training: "none" or one of constraints.KINDS
    class_weight_power: float = 0.0  # see imbalance.class_weights
    sampling: str = "all"  # one of SAMPLINGS
    keep_model: bool = False  # save the weights beside the logits
    seed: int = 0

    def __post_init__(self):
        markers.scheme_parts(self.scheme)
        choices = {
            "constraint": ("none", *constraints.KINDS),
            "pooling": tuple(heads.POOLINGS),
            "sampling": SAMPLINGS,
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}")
        if self.model in encoders.KINDS and not self.tokenizer:
            raise ValueError(
                f"model {self.model!r} has no tokenizer of its own: name one, e.g. 'train:wordpiece'"
            )


@dataclass(frozen=True, eq=False)  # compared by identity: a key of the caches below
class Splits:
    """Training rows, validation rows out of the same file, and the dev rows that are only scored."""

    train: Dataset
    valid: Dataset
    dev: Dataset

    @property
    def labels(self) -> list[str]:
        """The names of the labels, in the order of ids and logits; the first is no_relation."""
        return self.train.features["label"].names

    @property
    def labelled(self) -> Dataset:
        """All rows of the training file."""
        return concatenate_datasets([self.train, self.valid])


def train_and_score(*, splits: Splits, folder: Path, **settings) -> dict:
    """Train one configuration, save its logits in `folder`, return its scores.

    `settings` are the fields of RelationConfig. Scores are percentages on the dev rows; those named valid_…
    are of the validation rows.
    """
    config = RelationConfig(**settings)
    tokenizer, features = encode(splits, config)
    model = build(config, tokenizer, splits)
    result = loop.fit(
        model,
        features["train"],
        config=_train_config(config),
        evaluate=partial(_validate, rows=features["valid"], gold=splits.valid["label"][:]),
        folder=folder / "checkpoints",
        draw=_drawer(config, splits),
    )
    valid, dev = (np.stack(predict(model, features[split])) for split in ("valid", "dev"))
    np.savez_compressed(folder / "logits.npz", valid=valid, dev=dev)
    if config.keep_model:
        model.save_pretrained(folder / "model")
        tokenizer.save_pretrained(folder / "model")
    gold, pred = splits.dev["label"][:], dev.argmax(axis=1)
    return {
        "micro_f1": micro_f1(gold, pred),
        "auprc": auprc(gold, softmax(dev.astype(float), axis=1)),
        "accuracy": 100 * float(np.mean(pred == np.asarray(gold))),
        "valid_f1": result.best_metric,
        "valid_loss": min(row["valid_loss"] for row in result.history if "valid_loss" in row),
        "best_step": result.best_step,
        "steps": result.steps,
        "resumed_from": result.resumed_from,
        "stopped_early": result.stopped_early,
        "examples_per_second": result.examples_per_second,
        "parameters": sum(weights.numel() for weights in model.parameters()),
    }


def load_logits(folder: str | Path, split: str = "dev") -> np.ndarray:
    """Read the logits (n, labels) that `train_and_score` saved for "dev" or "valid", in the rows' order."""
    with np.load(Path(folder) / "logits.npz", allow_pickle=False) as saved:
        return saved[split].astype(float)


def encode(splits: Splits, config: RelationConfig):
    """Return the tokenizer, with the scheme's markers registered, and the features of each split."""
    tokenizer, encoded = _encoded(
        splits, config.tokenizer or config.model, config.vocabulary_size, config.scheme, config.max_length
    )
    if config.constraint != "none":
        table = constraints.learn(config.constraint, splits.train)
        encoded = {
            split: _biased(rows, table.bias(constraints.type_pairs(getattr(splits, split))))
            for split, rows in encoded.items()
        }
    return tokenizer, encoded


def encode_rows(rows: Iterable[dict], tokenizer, *, scheme: str, max_length: int) -> list[dict]:
    """Mark and tokenise rows: input_ids, subject_start and object_start (token positions), any labels."""
    rows = list(rows)
    marked = [markers.mark_row(row, scheme=scheme) for row in rows]
    encoded = encode_with_offsets(tokenizer, [sentence.text for sentence in marked])
    return [
        _features(sentence, tokens, row.get("label"), max_length=max_length)
        for sentence, tokens, row in zip(marked, encoded, rows, strict=True)
    ]


def build(config: RelationConfig, tokenizer, splits: Splits) -> heads.Classifier:
    """Put a head for the labels of `splits` on the encoder that the config names."""
    encoder = encoders.build_encoder(
        config.model,
        tokenizer,
        seed=config.seed,
        hidden=config.hidden,
        layers=config.layers,
        max_length=config.max_length,
        dropout=config.dropout,
    )
    power = config.class_weight_power
    gold, names = splits.train["label"][:], splits.labels
    weights = imbalance.class_weights(gold, power=power, names=names) if power else None
    model = heads.classifier(
        encoder, names, task="sequence", pooling=config.pooling, class_weights=weights, seed=config.seed
    )
    narrow = encoder.config.hidden_size < 768
    return _widened(model, seed=config.seed) if narrow else model


def _widened(model: heads.Classifier, *, seed: int) -> heads.Classifier:
    """Draw the head's weights by its width.

    A standard deviation of .02 suits the 768 states of a large encoder; on a narrow one it leaves the loss
    where it is for the first five epochs.
    """
    with heads.seeded(seed):
        for layer in model.head:
            if isinstance(layer, torch.nn.Linear):
                layer.reset_parameters()
    return model


def _train_config(config: RelationConfig) -> TrainConfig:
    """Translate to the training loop's settings; the best epoch on the validation rows is restored."""
    return TrainConfig(
        epochs=config.epochs,
        peak_lr=config.peak_lr,
        encoder_lr=config.encoder_lr,
        batch_rows=config.batch_size,
        metric="valid_f1",
        tie_break="valid_loss",  # while F1 is still 0, a lower loss is progress
        patience=config.patience,
        seed=config.seed,
    )


def _validate(model, *, rows: list[dict], gold: list[int]) -> dict[str, float]:
    logits = np.stack(predict(model, rows)).astype(float)
    losses = -log_softmax(logits, axis=1)[np.arange(len(gold)), gold]
    return {"valid_f1": micro_f1(gold, logits.argmax(axis=1)), "valid_loss": float(losses.mean())}


@lru_cache(maxsize=2)
def _encoded(splits: Splits, spec: str, vocabulary_size: int, scheme: str, max_length: int):
    """Tokenise all splits; seeds and learning rates share the result."""
    tokenizer = tokenizers.load_tokenizer(spec, texts=splits.train["sentence"][:], size=vocabulary_size)
    rows = {"train": splits.train, "valid": splits.valid, "dev": splits.dev}
    types = ordered(markers.entity_types(*rows.values()), markers.TYPES)
    markers.register_markers(tokenizer, scheme, types=types)
    return tokenizer, {
        split: encode_rows(part, tokenizer, scheme=scheme, max_length=max_length)
        for split, part in rows.items()
    }


def _features(
    marked: markers.MarkedSentence, encoded: Encoded, label: int | None, *, max_length: int
) -> dict:
    kept = markers.window(marked, encoded, length=max_length)
    subject, object = markers.start_tokens(marked, encoded.offsets)
    row = {
        "input_ids": [encoded.input_ids[i] for i in kept],
        "subject_start": int(np.searchsorted(kept, subject)),
        "object_start": int(np.searchsorted(kept, object)),
    }
    return row if label is None else row | {"labels": int(label)}


def _biased(rows: list[dict], bias: np.ndarray) -> list[dict]:
    return [row | {"label_bias": values.tolist()} for row, values in zip(rows, bias, strict=True)]


def _drawer(config: RelationConfig, splits: Splits) -> Callable[[int], np.ndarray] | None:
    if config.sampling == "all":
        return None
    weights = imbalance.hard_negative_weights(splits.train["label"][:], _suspicion(splits))
    return imbalance.draw_by_weight(weights, seed=config.seed)


@lru_cache(maxsize=1)
def _suspicion(splits: Splits) -> np.ndarray:
    """Score the training rows (n, labels) by a cheap model that did not see them: cross-fitted TF-IDF."""
    return baselines.cross_fitted(baselines.structured_tfidf, splits.train)
