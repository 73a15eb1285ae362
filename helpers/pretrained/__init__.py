"""Encoders pretrained here, once for all notebooks: what the parameter `model: pretrained` stands for.

The text is all that the data source has without labels, less its dev sentences. An encoder is known by its
text, settings and code, so whichever notebook needs it first makes it and the others find it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from helpers import sweeps
from helpers.corpora.texts import SAMPLE_ROWS, dev_sentences, load_texts, read_texts
from helpers.learning.averaging import Snapshots
from helpers.learning.pretraining import PretrainingConfig, pretrain, rows
from helpers.statistics import Interval, estimate, ratio, share

NAME = "pretrained"  # what a notebook's parameter says
FACTS = ("texts", "exact_copies", "near_copies", "tokens", "steps", "pseudo_perplexity", "masked_accuracy")
TEXTS = ("sentences", "without", "only")  # settings that choose what is read
GENERATED = "texts.txt"
CHARACTERS = {"span": 3, "bigrams": 2**15}  # one masked character is told by its neighbours


class Encoder(NamedTuple):
    """A pretrained encoder: the folder to load, what to show of it, and the models on the way to it."""

    folder: str
    facts: dict[str, Any]
    snapshots: tuple[str, ...] = ()  # folders, the last is as far as `folder`


def encoders(
    data: str,
    tokenizers: Iterable[str],
    settings: Mapping[str, Any],
    *,
    dev: Iterable[str],
    texts: Sequence[str] | None = None,
) -> dict[str, Encoder]:
    """Pretrain one encoder for each tokenizer on the unlabelled text of `data`, or take it from the cache.

    A tokenizer is named as for `load_tokenizer`, with a size of its own behind it if need be: "train:bpe
    4000". `settings` are fields of PretrainingConfig, alike for all, and TEXTS: `sentences`, how many to
    read, drawn at random (by default all, in the sample world SAMPLE_ROWS), and `without` or `only`, the
    names in `load_texts` of what to leave out or of all to read. Characters are masked in runs, and pairs of
    them have embeddings of their own. All dev sentences of the source are taken out of the text; one of
    `dev`, those of the caller, that would still be read is an error. The caller's own `texts` are read
    instead of the source's, less what repeats one of `dev`.
    """
    own, unseen = dict(settings), list(dev)
    if texts is None:
        texts = _texts(data, **{name: own.pop(name) for name in TEXTS if name in own})
        unseen = dev_sentences(data)
        if read := (set(dev) - set(unseen)) & set(texts):
            raise ValueError(
                f"{len(read)} dev sentences are in the text to pretrain on: use the seed of the suite"
            )
    names = list(dict.fromkeys(tokenizers))
    made = sweeps.sweep(
        pretrain,
        [asdict(settings_of(name, own)) for name in names],
        name=NAME,
        shared={"texts": texts, "unseen": unseen},
        fingerprint=sweeps.fingerprint(texts, unseen),
    )
    return {name: _encoder(name, row) for name, row in zip(names, made.to_dict("records"), strict=True)}


def encoder(data: str, tokenizer: str, settings: Mapping[str, Any], **text: Any) -> Encoder:
    """Pretrain an encoder for one tokenizer: see `encoders`."""
    return encoders(data, [tokenizer], settings, **text)[tokenizer]


def recovered(folder: str, texts: Iterable[str], *, length: int = 128) -> Interval:
    """Return how many tokens of the texts a masked LM recovers: percent, one in eight hidden at a time."""
    from helpers.learning.batching import Features
    from helpers.learning.encoders import masked_lm
    from helpers.learning.masked import recover
    from helpers.text.tokenizers import load_tokenizer

    tokenizer = load_tokenizer(folder)
    found = recover(masked_lm(folder), Features(rows(tokenizer, texts, length=length)), tokenizer)
    return share(found[:, [1, 2]]).scaled(100)


def sized(tokenizer: str, *, size: int) -> tuple[str, int]:
    """Take a name apart: "train:bpe 4000" is ("train:bpe", 4000), and one without a size has `size`."""
    name, _, own = tokenizer.partition(" ")
    if own and not own.isdecimal():
        raise ValueError(f"expected a tokenizer and perhaps a size, 'train:bpe 4000', got {tokenizer!r}")
    return name, int(own or size)


def settings_of(tokenizer: str, settings: Mapping[str, Any]) -> PretrainingConfig:
    """Return how the encoder for one tokenizer is pretrained."""
    name, size = sized(tokenizer, size=settings.get("vocabulary_size", PretrainingConfig.vocabulary_size))
    kind = CHARACTERS if name.endswith("character") else {}
    return PretrainingConfig(**{"tokenizer": name, **kind, **settings, "vocabulary_size": size})


def generate(*, rows: int, folder: Path) -> dict[str, int]:
    """Write the sample world's text into a file: notebooks that read it need not generate it again."""
    (texts,) = load_texts("sample", rows=rows).values()
    (folder / GENERATED).write_text("\n".join(texts), encoding="utf-8")
    return {"texts": len(texts)}


def _texts(
    data: str,
    *,
    sentences: int | None = None,
    without: Sequence[str] = (),
    only: Sequence[str] | None = None,
) -> list[str]:
    if data == "sample":
        made = sweeps.sweep(
            generate, [{"rows": sentences or SAMPLE_ROWS}], name="sample-texts", engine="local"
        )
        read = {"sample world": read_texts(Path(made["folder"].iloc[0]) / GENERATED)}
    else:
        read = load_texts(data)
    if strange := {*without, *(only or ())} - set(read):
        raise ValueError(f"no texts {sorted(strange)} to read or leave out: {data!r} has {list(read)}")
    wanted = set(read if only is None else only) - set(without)
    found = [text for name, some in read.items() if name in wanted for text in some]
    if sentences is None or len(found) <= sentences:
        return found
    return [found[i] for i in np.sort(np.random.default_rng(0).permutation(len(found))[:sentences])]


def _encoder(tokenizer: str, row: Mapping[str, Any]) -> Encoder:
    found = np.load(Path(row["folder"]) / "held_out.npy")
    facts = {"tokenizer": tokenizer} | {name: row[name] for name in FACTS}
    if len(found) > 1:  # one row, of a few texts, has no spread
        facts["pseudo_perplexity"] = estimate(found[:, [0, 2]], lambda sums: np.exp(ratio(sums))).interval()
        facts["masked_accuracy"] = share(found[:, [1, 2]]).scaled(100)
    snapshots = Snapshots(row["folder"]).folders()
    return Encoder(str(Path(row["folder"]) / "model"), facts, tuple(map(str, snapshots)))
