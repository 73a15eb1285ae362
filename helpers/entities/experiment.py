"""Train one entity tagger and keep every reading of its trajectory: last, best, SWA, EMA, LAWA, greedy soup.

`train_tagger` is what `helpers.sweeps` calls once per architecture and seed. It selects on the validation
part alone; the dev part is predicted for the record, never looked at. Tokenisation is done once, outside, by
`encode_parts`. What the predictions are worth is the business of `results`.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from helpers.corpora.labels import TAGS
from helpers.entities.decoding import CharacterMap, map_characters, token_labels
from helpers.entities.scores import Tagged, entity_f1, from_ids, without_spaces
from helpers.entities.voting import Member
from helpers.learning.batching import Features
from helpers.text.alignment import encode_with_offsets
from helpers.text.tokenizers import load_tokenizer

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import nn
    from transformers import PreTrainedTokenizerFast

SYSTEMS = ("last", "best", "swa", "ema", "lawa", "soup")  # "best" is the epoch with the best validation F1
ENSEMBLED = ("last", "swa")  # systems whose logits are kept, for ensembles


class Part(NamedTuple):
    """A part of the data: sentences and their gold tags."""

    sentences: list[str]
    gold: Tagged

    @classmethod
    def of(cls, rows: "Dataset") -> "Part":
        return cls(list(rows["sentence"]), from_ids(list(rows["ner_tags"])))


class Encoded(NamedTuple):
    """A part as a tokenizer sees it."""

    features: Features  # input_ids and labels
    labels: np.ndarray  # (tokens,) tag ids, IGNORED for tokens that stand for no character
    characters: CharacterMap


class Encoding(NamedTuple):
    """A tokenizer, and all parts encoded with it."""

    tokenizer: "PreTrainedTokenizerFast"
    parts: dict[str, Encoded]


def encode_parts(parts: Mapping[str, Part], tokenizers: Sequence[str], *, size: int) -> dict[str, Encoding]:
    """Encode all parts once per tokenizer; those to be trained learn from the training sentences only."""
    encodings = {}
    for name in dict.fromkeys(tokenizers):
        tokenizer = load_tokenizer(name, texts=parts["train"].sentences, size=size)
        encodings[name] = Encoding(
            tokenizer, {key: encode_part(tokenizer, part) for key, part in parts.items()}
        )
    return encodings


def encode_part(tokenizer: "PreTrainedTokenizerFast", part: Part) -> Encoded:
    """Tokenise whole sentences (nothing is truncated) and give each token the tag of its first character."""
    encoded = encode_with_offsets(tokenizer, part.sentences)
    characters = map_characters([len(s) for s in part.sentences], [row.offsets for row in encoded])
    labels = token_labels(part.gold, characters)
    rows = [{"input_ids": row.input_ids, "labels": tags} for row, tags in zip(encoded, labels, strict=True)]
    return Encoded(Features(rows), np.concatenate([np.array(tags) for tags in labels]), characters)


def train_tagger(
    *,
    encoder: str,
    tokenizer: str,
    hidden: int,
    layers: int,
    bigrams: int,
    dropout: float,
    peak_lr: float,
    schedule: str,
    epochs: int,
    batch_rows: int,
    seed: int,
    outside_weight: float,
    frozen: bool,
    averages: Mapping,
    parts: Mapping[str, Part],
    encodings: Mapping[str, Encoding],
    folder: Path,
) -> dict:
    """Train one tagger and write what it says about valid and dev to `folder`; return its learning curve.

    `averages` is {"swa_start", "ema_decay", "lawa_last"}, or empty for a run of which only the last weights
    count. `predictions.npz` holds tag ids per character as `<part>_<system>`, for the SYSTEMS and for every
    epoch, and for ENSEMBLED systems logits per token. `model/` holds the SWA weights, or else the last ones.
    """
    from helpers.learning import averaging, loop

    data = encodings[tokenizer]
    model = build_tagger(
        encoder, data.tokenizer, hidden=hidden, layers=layers, bigrams=bigrams, dropout=dropout,
        outside_weight=outside_weight, frozen=frozen, seed=seed,
    )  # fmt: skip
    check_lengths(model, data)
    observers = _observers(averages, folder / "checkpoints" / "snapshots")
    score = partial(official_f1, part=parts["valid"], encoded=data.parts["valid"])
    result = loop.fit(
        model,
        data.parts["train"].features,
        config=loop.TrainConfig(
            epochs=epochs, peak_lr=peak_lr, batch_rows=batch_rows, schedule=schedule, seed=seed,
            metric="f1", restore_best=False,
        ),
        evaluate=lambda net: {"f1": score(net)},
        observers=list(observers.values()),
        folder=folder / "checkpoints",
        progress=None,
    )  # fmt: skip
    _write_predictions(folder, model, _readings(model, observers, score), data)
    with averaging.applied(model, observers["swa"].weights() if observers else {}):
        model.save_pretrained(folder / "model")
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "examples_per_second": result.examples_per_second,
        "epoch_valid": [row["f1"] for row in result.history],
        "resumed_from": result.resumed_from,
    }


def build_tagger(
    encoder: str,
    tokenizer: "PreTrainedTokenizerFast",
    *,
    hidden: int,
    layers: int,
    bigrams: int,
    dropout: float,
    outside_weight: float,
    frozen: bool,
    seed: int,
) -> "nn.Module":
    """Put a tagging head on an encoder: from scratch if `encoder` is a kind of `models.KINDS`, else loaded.

    The other arguments size what is from scratch; `bigrams` are the BiLSTM's hash buckets for token pairs.
    """
    from helpers.learning import encoders

    more = {"bigrams": bigrams, "embedding_size": 64} if encoder == "bilstm" else {}
    size = {"hidden": hidden, "layers": layers, "dropout": dropout, **more}
    body = encoders.build_encoder(encoder, tokenizer, seed=seed, **size)
    net = encoders.classifier(body, TAGS, task="tokens", class_weights={"O": outside_weight}, seed=seed)
    if frozen:
        encoders.freeze_encoder(net)
    return net


def check_lengths(model: "nn.Module", data: Encoding) -> None:
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


def tag(model: "nn.Module", encoded: Encoded, *, temperature: float = 1.0) -> Member:
    """Predict a part: logits of all tokens in one array, with the map to characters."""
    from helpers.learning import loop

    return Member(np.concatenate(loop.predict(model, encoded.features)), encoded.characters, temperature)


def official_f1(model: "nn.Module", part: Part, encoded: Encoded) -> float:
    """Score a model on a part as KLUE does: entity F1 over non-space characters."""
    tags = tag(model, encoded).decode()
    return entity_f1(*(without_spaces(rows, part.sentences) for rows in (part.gold, tags)))


def _observers(averages: Mapping, snapshots: Path) -> dict:
    from helpers.learning import averaging

    if not averages:
        return {}
    return {
        "swa": averaging.SWA(start=averages["swa_start"]),
        "ema": averaging.EMA(decay=averages["ema_decay"]),
        "lawa": averaging.LAWA(k=averages["lawa_last"]),
        "snapshots": averaging.Snapshots(snapshots),
    }


def _readings(model: "nn.Module", observers: Mapping, score: Callable) -> Iterator[tuple[str, Mapping]]:
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


def _write_predictions(folder: Path, model: "nn.Module", readings: Iterable, data: Encoding) -> None:
    from helpers.learning import averaging

    arrays = {}
    for system, weights in readings:
        with averaging.applied(model, weights):
            members = {key: tag(model, data.parts[key]) for key in ("valid", "dev")}
        for key, member in members.items():
            arrays[f"{key}_{system}"] = member.decode().ids
            if system in ENSEMBLED:
                arrays[f"{key}_{system}_logits"] = member.logits.astype(np.float16)
    np.savez(folder / "predictions.npz", **arrays)
