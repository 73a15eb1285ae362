"""One relation classifier, trained and scored: the function that every sweep of notebooks 02 and 03 calls.

The official dev set is only ever scored. Early stopping looks at a validation part of the training rows that
shares no sentence and no entity pair with the rest. Logits are saved per row, so that constraints, priors and
comparisons can be worked out later without training again.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset, concatenate_datasets
from scipy.special import softmax

from helpers import corpora
from helpers.corpora.labels import RELATIONS
from helpers.learning import encoders, loop
from helpers.relations import constraints, imbalance, markers
from helpers.relations.scores import auprc, micro_f1
from helpers.text import tokenizers
from helpers.text.alignment import Encoded, encode_with_offsets

CONSTRAINTS = ("none", "prefix", "pair", "prior")
SAMPLINGS = ("all", "hard-negatives")
FIRST_MATCH = "legacy-first-match"  # typed-punct where the study's search finds the words, if it does


@dataclass(frozen=True, kw_only=True)
class RelationConfig:
    """Everything that can vary in a relation experiment, with the defaults of the controlled comparisons."""

    model: str = "bilstm"  # a kind of models.KINDS, from scratch, or a folder or hub name
    tokenizer: str = ""  # as for vocabularies.load_tokenizer; empty: the model's own
    vocab_size: int = 8000  # of a tokenizer trained here
    hidden: int = 128
    layers: int = 1
    scheme: str = "typed-punct"
    pooling: str = "starts+max"
    max_length: int = 256
    peak_lr: float = 2e-3
    batch_rows: int = 32
    epochs: int = 3
    patience: int = 0  # epochs without a better validation micro-F1 before stopping; 0: never
    constraint: str = "none"  # what biases the logits while training: one of CONSTRAINTS
    class_weight_power: float = 0.0  # see imbalance.class_weights
    sampling: str = "all"  # one of SAMPLINGS
    keep_model: bool = False  # save the weights beside the logits
    seed: int = 0

    def __post_init__(self):
        markers.scheme_parts(_written(self.scheme))
        for name, allowed in (("constraint", CONSTRAINTS), ("sampling", SAMPLINGS)):
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
    def labelled(self) -> Dataset:
        """All rows of the training file."""
        return concatenate_datasets([self.train, self.valid])


def load_splits(
    source: str,
    *,
    train_rows: int | None = None,
    dev_rows: int | None = None,
    share: float = 0.1,
    seed: int = 0,
) -> Splits:
    """Load relation data and set a validation part aside, with no sentence or entity pair on both sides."""
    rows = corpora.load_relations(source, "train", rows=train_rows, seed=seed)
    train, valid = corpora.split_by_group(rows, corpora.relation_groups(rows), share=share, seed=seed)
    return Splits(train, valid, corpora.load_relations(source, "dev", rows=dev_rows, seed=seed))


def train_and_score(*, splits: Splits, folder: Path, **settings) -> dict:
    """Train one configuration, save its logits in `folder`, return its scores.

    `settings` are the fields of RelationConfig. Scores are of the dev rows; those named valid_… are not.
    """
    config = RelationConfig(**settings)
    tokenizer, features = prepare(splits, config)
    model = build_model(config, tokenizer, splits.train["label"][:])
    result = loop.fit(
        model,
        features["train"],
        config=train_config(config),
        evaluate=validator(features["valid"], splits.valid["label"][:]),
        folder=folder / "checkpoints",
        draw=_drawer(config, splits),
        progress=None,
    )
    logits = {split: np.stack(loop.predict(model, features[split])) for split in ("valid", "dev")}
    np.savez_compressed(folder / "logits.npz", **logits)
    if config.keep_model:
        model.save_pretrained(folder / "model")
        tokenizer.save_pretrained(folder / "model")
    _forget_checkpoints(folder / "checkpoints")
    return {
        **scores(splits.dev["label"][:], logits["dev"].astype(float)),
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
    """Read the logits (n, 30) that `train_and_score` saved for "dev" or "valid", in the rows' order."""
    with np.load(Path(folder) / "logits.npz", allow_pickle=False) as saved:
        return saved[split].astype(float)


def scores(gold: list[int], logits: np.ndarray) -> dict[str, float]:
    """Score logits (n, 30): micro_f1, auprc and accuracy, in percent."""
    pred = np.argmax(logits, axis=1)
    return {
        "micro_f1": micro_f1(gold, pred),
        "auprc": auprc(gold, softmax(logits, axis=1)),
        "accuracy": 100 * float(np.mean(pred == np.asarray(gold))),
    }


def prepare(splits: Splits, config: RelationConfig):
    """Return the tokenizer, with the scheme's markers registered, and the features of each split."""
    tokenizer, encoded = _encoded(
        splits, config.tokenizer or config.model, config.vocab_size, config.scheme, config.max_length
    )
    if config.constraint != "none":
        pairs = constraints.type_pairs(splits.train)
        table = _constraint(config.constraint, pairs, splits.train["label"][:])
        encoded = {
            split: _biased(rows, table.bias(constraints.type_pairs(getattr(splits, split))))
            for split, rows in encoded.items()
        }
    return tokenizer, encoded


def encode_rows(rows: Dataset, tokenizer, *, scheme: str, max_length: int) -> list[dict]:
    """Mark and tokenise rows: input_ids, subject_start and object_start (token positions), labels."""
    marked = [mark_row(row, scheme=scheme) for row in rows]
    encoded = encode_with_offsets(tokenizer, [sentence.text for sentence in marked])
    return [
        _features(sentence, tokens, label, max_length=max_length)
        for sentence, tokens, label in zip(marked, encoded, rows["label"], strict=True)
    ]


def mark_row(row: dict, *, scheme: str) -> markers.MarkedSentence:
    """Mark one row of a relation data set, whose end_idx is inclusive.

    The scheme "legacy-first-match" is the published procedure, a control: where its search misses a word, the
    sentence stays unmarked and both starts point at its beginning.
    """
    subject, object = row["subject_entity"], row["object_entity"]
    places = [(subject["start_idx"], subject["end_idx"] + 1), (object["start_idx"], object["end_idx"] + 1)]
    if scheme == FIRST_MATCH:
        places = markers.legacy_first_match(row["sentence"], subject["word"], object["word"])
        if None in places or max(places)[0] < min(places)[1]:
            return markers.MarkedSentence(row["sentence"], 0, 0, (0, 1), (0, 1), ())
    return markers.mark(
        row["sentence"],
        *places,
        scheme=_written(scheme),
        subject_type=subject["type"],
        object_type=object["type"],
    )


def build_model(config: RelationConfig, tokenizer, gold: list[int]) -> encoders.Classifier:
    """Put a relation head on the encoder that the config names."""
    scratch = config.model in encoders.KINDS
    size = {"hidden": config.hidden, "layers": config.layers, "max_length": config.max_length}
    encoder = encoders.build_encoder(config.model, tokenizer, seed=config.seed, **size)
    weights = (
        imbalance.class_weights(gold, power=config.class_weight_power) if config.class_weight_power else None
    )
    model = encoders.classifier(
        encoder, RELATIONS, task="sequence", pooling=config.pooling, class_weights=weights, seed=config.seed
    )
    return _widened(model, seed=config.seed) if scratch else model


def _widened(model: encoders.Classifier, *, seed: int) -> encoders.Classifier:
    """Draw the head's weights by its width.

    A standard deviation of .02 suits the 768 states of a pretrained encoder; on a narrow one from scratch it
    leaves the loss where it is for the first five epochs.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for layer in model.head:
            if isinstance(layer, torch.nn.Linear):
                layer.reset_parameters()
    return model


def train_config(config: RelationConfig) -> loop.TrainConfig:
    """Translate to the training loop's settings; the best epoch on the validation rows is restored."""
    return loop.TrainConfig(
        epochs=config.epochs,
        peak_lr=config.peak_lr,
        batch_rows=config.batch_rows,
        metric="valid_f1",
        tie_break="valid_loss",  # while F1 is still 0, a lower loss is progress
        patience=config.patience,
        seed=config.seed,
    )


def validator(rows: list[dict], gold: list[int]):
    """Return what `training.fit` calls to choose the best epoch: model → valid_f1, valid_loss."""
    return partial(_validate, rows=rows, gold=gold)


def _validate(model, *, rows: list[dict], gold: list[int]) -> dict[str, float]:
    logits = np.stack(loop.predict(model, rows)).astype(float)
    shifted = logits - logits.max(axis=1, keepdims=True)
    losses = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(gold)), gold]
    return {"valid_f1": micro_f1(gold, logits.argmax(axis=1)), "valid_loss": float(losses.mean())}


@lru_cache(maxsize=2)
def _encoded(splits: Splits, spec: str, vocab_size: int, scheme: str, max_length: int):
    """Tokenise all splits; seeds and learning rates share the result."""
    tokenizer = tokenizers.load_tokenizer(spec, texts=splits.train["sentence"][:], size=vocab_size)
    markers.register_markers(tokenizer, _written(scheme))
    encode = partial(encode_rows, tokenizer=tokenizer, scheme=scheme, max_length=max_length)
    return tokenizer, {split: encode(getattr(splits, split)) for split in ("train", "valid", "dev")}


def _written(scheme: str) -> str:
    """Name the scheme whose marks are written, wherever they are put."""
    return "typed-punct" if scheme == FIRST_MATCH else scheme


def _features(marked: markers.MarkedSentence, encoded: Encoded, label: int, *, max_length: int) -> dict:
    kept = markers.window(marked, encoded, length=max_length)
    subject, object = markers.start_tokens(marked, encoded.offsets)
    return {
        "input_ids": [encoded.input_ids[i] for i in kept],
        "subject_start": int(np.searchsorted(kept, subject)),
        "object_start": int(np.searchsorted(kept, object)),
        "labels": int(label),
    }


def _constraint(name: str, pairs: list[tuple[str, str]], gold: list[int]) -> constraints.TypeConstraint:
    return {
        "prefix": partial(constraints.prefix_constraint, pairs),
        "pair": partial(constraints.learned_constraint, pairs, gold),
        "prior": partial(constraints.log_prior, pairs, gold),
    }[name]()


def _biased(rows: list[dict], bias: np.ndarray) -> list[dict]:
    return [row | {"label_bias": values.tolist()} for row, values in zip(rows, bias, strict=True)]


def _drawer(config: RelationConfig, splits: Splits):
    if config.sampling == "all":
        return None
    weights = imbalance.hard_negative_weights(splits.train["label"][:], _suspicion(splits))
    return imbalance.draw_by_weight(weights, seed=config.seed)


@lru_cache(maxsize=1)
def _suspicion(splits: Splits) -> np.ndarray:
    """Score the training rows (n, 30) by a cheap model that did not see them: cross-fitted TF-IDF."""
    from helpers.relations import baselines

    return baselines.cross_fitted(baselines.structured_tfidf, splits.train)


def _forget_checkpoints(folder: Path) -> None:
    """Delete the weights of a finished run: a sweep of hundreds keeps only its logits."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
