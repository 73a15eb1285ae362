"""Train one entity tagger and keep every version of its weights: last, best, SWA, EMA, LAWA, greedy soup.

`train_tagger` is what `helpers.sweeps` calls once per config. It selects on the validation part alone; the
dev part is predicted for the record, never looked at. Tokenisation is done once, outside, by `encode_parts`.
Reading the predictions back and scoring them is left to `results`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from helpers.corpora.labels import TAG_TYPES, tags_of
from helpers.entities.decoding import CharacterMap, map_characters, token_labels
from helpers.entities.scores import entity_f1
from helpers.entities.tags import TagArray, from_ids, without_spaces
from helpers.entities.voting import Member
from helpers.learning.batching import Features
from helpers.learning.config import TrainConfig
from helpers.text import morphemes
from helpers.text.alignment import encode_with_offsets
from helpers.text.tokenizers import load_tokenizer

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import nn
    from transformers import PreTrainedTokenizerFast

    from helpers.learning.heads import Classifier

SYSTEMS = ("last", "best", "swa", "ema", "lawa", "soup")  # "best" is the epoch with the best validation F1
ENSEMBLED = ("last", "swa")  # systems whose logits are kept, for ensembles


@dataclass(frozen=True, kw_only=True)
class TaggerConfig:
    """One run. `hidden`, `layers` and `bigrams` size an encoder from scratch, `dropout` is for all.

    Without `averages` only the last weights of the run are kept.
    """

    encoder: str = "bilstm"  # one of `learning.encoders.KINDS`, or a pretrained model
    from_scratch: bool = False  # a pretrained model's shape without its weights: a control
    tokenizer: str = "train:character"
    hidden: int
    layers: int = 1
    bigrams: int  # hash buckets for pairs of tokens, BiLSTM only
    word_classes: bool = False  # kiwi's, as a further input, BiLSTM only
    dropout: float
    peak_lr: float
    encoder_lr: float = 1.0  # the encoder's share of it
    schedule: str = "cosine-first-epoch"  # the study's
    warmup: float = 0.06  # share of all steps; the study has none, no weight decay and no clipping
    weight_decay: float = 0.01
    clip: float = 1.0
    epochs: int
    batch_size: int
    seed: int
    outside_weight: float = 1.0  # of the tag O in the loss
    frozen: bool = False  # train the head alone
    averages: bool = True
    swa_start: int
    ema_decay: float
    lawa_last: int

    def __post_init__(self) -> None:
        self.training()  # checks its own settings
        if self.averages and not 1 <= self.swa_start <= self.epochs:
            raise ValueError(f"swa_start must lie in 1 to epochs ({self.epochs}), got {self.swa_start}")

    def of(self, architecture: str) -> "TaggerConfig":
        """Return these settings for "<encoder> + <tokenizer>", or for a model that brings its tokenizer.

        The encoder "pretrained" stands for one that the caller makes: put its folder in the name's place.
        """
        encoder, _, tokenizer = architecture.partition(" + ")
        return replace(self, encoder=encoder, tokenizer=tokenizer or encoder)

    @property
    def architecture(self) -> str:
        """What tables call encoder and tokenizer."""
        if self.encoder == self.tokenizer:
            return self.encoder
        return f"{self.encoder}, {self.tokenizer.removeprefix('train:').removeprefix('local:')}"

    def training(self) -> TrainConfig:
        return TrainConfig(
            epochs=self.epochs, peak_lr=self.peak_lr, encoder_lr=self.encoder_lr, batch_rows=self.batch_size,
            schedule=self.schedule, warmup=self.warmup, weight_decay=self.weight_decay, clip=self.clip,
            seed=self.seed, metric="f1", restore_best=False,
        )  # fmt: skip


class Part(NamedTuple):
    """A part of the data: sentences and their gold tags."""

    sentences: list[str]
    gold: TagArray

    @classmethod
    def of(cls, rows: "Dataset") -> "Part":
        tags = rows.features["ner_tags"].feature.names
        types = tuple(tag[2:] for tag in tags[:-1:2])
        return cls(list(rows["sentence"]), from_ids(list(rows["ner_tags"]), types))


class EncodedPart(NamedTuple):
    """A part as a tokenizer sees it."""

    features: Features  # input_ids and labels
    labels: np.ndarray  # (tokens,) tag ids, IGNORED for tokens that stand for no character
    characters: CharacterMap
    types: tuple[str, ...] = TAG_TYPES


class Encoding(NamedTuple):
    """A tokenizer, and all parts encoded with it."""

    tokenizer: "PreTrainedTokenizerFast"
    parts: dict[str, EncodedPart]


def encode_parts(
    parts: Mapping[str, Part], tokenizers: Iterable[str], *, size: int, word_classes: bool = False
) -> dict[str, Encoding]:
    """Encode all parts once per tokenizer; those to be trained learn from the training sentences only."""
    classes = {key: morphemes.word_classes(part.sentences) for key, part in parts.items() if word_classes}
    encodings = {}
    for name in dict.fromkeys(tokenizers):
        tokenizer = load_tokenizer(name, texts=parts["train"].sentences, size=size)
        encoded = {key: encode_part(tokenizer, part, classes=classes.get(key)) for key, part in parts.items()}
        encodings[name] = Encoding(tokenizer, encoded)
    return encodings


def encode_part(
    tokenizer: "PreTrainedTokenizerFast",
    part: Part,
    *,
    classes: Sequence[Sequence[int]] | None = None,
    jamo: bool = False,
) -> EncodedPart:
    """Tokenise whole sentences (nothing is truncated) and give each token the tag of its first character.

    `classes`, a number for every character, become a column `word_classes` in the same way.
    """
    encoded = encode_with_offsets(tokenizer, part.sentences, jamo=jamo)
    characters = map_characters([len(s) for s in part.sentences], [row.offsets for row in encoded])
    labels = token_labels(part.gold, characters)
    rows = [{"input_ids": row.input_ids, "labels": tags} for row, tags in zip(encoded, labels, strict=True)]
    for row, tokens, own in zip(rows, encoded, classes or (), strict=classes is not None):
        row["word_classes"] = [own[start] if end > start else 0 for start, end in tokens.offsets]
    flat = np.concatenate([np.array(tags) for tags in labels])
    return EncodedPart(Features(rows), flat, characters, part.gold.types)


def classes_for(model: "Classifier", sentences: Sequence[str]) -> list[list[int]] | None:
    """Return the word classes of sentences, if the tagger reads them."""
    reads = getattr(model.config.encoder, "word_classes", 0)
    return morphemes.word_classes(sentences) if reads else None


def train_tagger(
    *, parts: Mapping[str, Part], encodings: Mapping[str, Encoding], folder: Path, **settings: Any
) -> dict:
    """Train one tagger and write what it says about valid and dev to `folder`; return its learning curve.

    `settings` are those of a TaggerConfig. `predictions.npz` holds tag ids per character as
    `<part>_<system>`, for the SYSTEMS and for every epoch, and for ENSEMBLED systems logits per token.
    `model/` holds the SWA weights, or else the last ones, and the tokenizer.
    """
    from helpers.learning import averaging, loop

    config = TaggerConfig(**settings)
    data = encodings[config.tokenizer]
    model = build_tagger(config, data.tokenizer, data.parts["train"].types)
    check_lengths(model, data)
    observers = _observers(config, folder / "checkpoints" / "snapshots")
    score = partial(official_f1, part=parts["valid"], encoded=data.parts["valid"])
    result = loop.fit(
        model,
        data.parts["train"].features,
        config=config.training(),
        evaluate=lambda net: {"f1": score(net)},
        observers=list(observers.values()),
        folder=folder / "checkpoints",
    )
    _write_predictions(folder, model, _readings(model, observers, score), data)
    with averaging.applied(model, observers["swa"].weights() if observers else {}):
        model.save_pretrained(folder / "model")
    data.tokenizer.save_pretrained(folder / "model")
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "examples_per_second": result.examples_per_second,
        "epoch_valid": [row["f1"] for row in result.history],
        "resumed_from": result.resumed_from,
    }


def build_tagger(
    config: TaggerConfig, tokenizer: "PreTrainedTokenizerFast", types: tuple[str, ...] = TAG_TYPES
) -> "Classifier":
    """Put a head for the tags of `types` on an encoder, from scratch or loaded."""
    from helpers.learning import encoders, heads
    from helpers.learning.bilstm import BiLSTMModel

    size: dict[str, Any] = {"hidden": config.hidden, "layers": config.layers, "dropout": config.dropout}
    if config.encoder == "bilstm":
        size |= {"bigrams": config.bigrams, "embedding_size": 64}
    body = encoders.build_encoder(config.encoder, tokenizer, seed=config.seed, **size)
    if config.word_classes:
        if not isinstance(body, BiLSTMModel):
            raise ValueError(
                f"word_classes are an input of BiLSTMs, and {config.encoder} is none: leave them out"
            )
        body.read_word_classes(morphemes.CLASSES)
    if config.from_scratch:
        with heads.seeded(config.seed):
            body = type(body)(body.config)
    weights = {"O": config.outside_weight}
    net = heads.classifier(body, tags_of(types), task="tokens", class_weights=weights, seed=config.seed)
    if config.frozen:
        heads.freeze_encoder(net)
    return net


def check_lengths(model: "Classifier", data: Encoding) -> None:
    """Refuse sentences that are longer than the model can read, rather than truncate them."""
    limit = getattr(model.config.encoder, "max_position_embeddings", None)
    if limit is None:  # a BiLSTM reads sentences of any length
        return
    for name, encoded in data.parts.items():
        row = int(encoded.features.lengths.argmax())
        if encoded.features.lengths[row] > limit - 2:  # RoBERTa numbers positions from pad_id + 1
            raise ValueError(
                f"{name}, sentence {row}: {encoded.features.lengths[row]} tokens but the model reads "
                f"{limit - 2}; split the sentence or choose a model with more positions"
            )


def tag(model: "nn.Module", encoded: EncodedPart) -> Member:
    """Predict a part: logits of all tokens in one array, with the map to characters."""
    from helpers.learning import inference

    logits = np.concatenate(inference.predict(model, encoded.features))
    return Member(logits, encoded.characters, types=encoded.types)


def official_f1(model: "nn.Module", part: Part, encoded: EncodedPart) -> float:
    """Score a model on a part as KLUE does: entity F1 over non-space characters."""
    gold, said = (without_spaces(t, part.sentences) for t in (part.gold, tag(model, encoded).decode()))
    return entity_f1(gold, said)


def _observers(config: TaggerConfig, snapshots: Path) -> dict[str, Any]:
    from helpers.learning import averaging

    if not config.averages:
        return {}
    return {
        "swa": averaging.SWA(start=config.swa_start),
        "ema": averaging.EMA(decay=config.ema_decay),
        "lawa": averaging.LAWA(k=config.lawa_last),
        "snapshots": averaging.Snapshots(snapshots),
    }


def _readings(model: "Classifier", observers: Mapping, score: Callable) -> Iterator[tuple[str, Mapping]]:
    """Yield (system, weights), one at a time: a large model's epochs do not fit in memory together."""
    from helpers.learning import averaging

    yield "last", {}
    if observers:
        saved = observers["snapshots"].folders()
        for name in ("swa", "ema", "lawa"):
            yield name, observers[name].weights()
        yield "soup", averaging.greedy_soup(saved, model, score)[0]
        for epoch, path in enumerate(saved[:-1], 1):
            yield f"epoch_{epoch}", averaging.read_weights(path)


def _write_predictions(folder: Path, model: "Classifier", readings: Iterable, data: Encoding) -> None:
    from helpers.learning import averaging

    arrays: dict[str, Any] = {}
    for system, weights in readings:
        with averaging.applied(model, weights):
            members = {key: tag(model, data.parts[key]) for key in ("valid", "dev")}
        for key, member in members.items():
            arrays[f"{key}_{system}"] = member.decode().ids
            if system in ENSEMBLED:
                arrays[f"{key}_{system}_logits"] = member.logits.astype(np.float16)
    np.savez(folder / "predictions.npz", **arrays)
