"""Encoders pretrained here, once for all notebooks: what the parameter `model: pretrained` stands for.

The text is all that the data source has without labels, less its dev sentences. An encoder is known by its
text, settings and code, so whichever notebook needs it first makes it and the others find it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from helpers import sweeps
from helpers.corpora.texts import SAMPLE_ROWS, dev_sentences, load_texts
from helpers.learning.pretraining import PretrainingConfig, pretrain
from helpers.statistics import estimate, ratio, share

NAME = "pretrained"  # what a notebook's parameter says
FACTS = ("texts", "exact_copies", "near_copies", "tokens", "steps", "pseudo_perplexity", "masked_accuracy")
CHARACTERS = {"span": 3, "bigrams": 2**15}  # one masked character is told by its neighbours


class Encoder(NamedTuple):
    """A pretrained encoder: the folder to load, and what to show of it."""

    folder: str
    facts: dict[str, Any]


def encoder(data: str, tokenizer: str, settings: Mapping[str, Any], *, dev: Iterable[str]) -> Encoder:
    """Pretrain an encoder for a tokenizer on the unlabelled text of `data`, or take it from the cache.

    `settings` are fields of PretrainingConfig, and `sentences`: how many the sample world writes. Characters
    are masked in runs, and pairs of them have embeddings of their own. All dev sentences of the source are
    taken out of the text; one of `dev`, those of the caller, that would still be read is an error.
    """
    own = dict(settings)
    by_origin = load_texts(data, rows=own.pop("sentences", SAMPLE_ROWS))
    texts = [text for some in by_origin.values() for text in some]
    unseen = dev_sentences(data)
    if read := (set(dev) - set(unseen)) & set(texts):
        raise ValueError(
            f"{len(read)} dev sentences are in the text to pretrain on: use the seed of the suite"
        )
    kind = CHARACTERS if tokenizer.endswith("character") else {}
    config = PretrainingConfig(**{"tokenizer": tokenizer, **kind, **own})
    row = sweeps.sweep(
        pretrain,
        [asdict(config)],
        name=NAME,
        shared={"texts": texts, "unseen": unseen},
        fingerprint=sweeps.fingerprint(texts, unseen),
    ).iloc[0]
    found = np.load(Path(row["folder"]) / "held_out.npy")
    facts = {"tokenizer": tokenizer} | {name: row[name] for name in FACTS}
    facts["pseudo_perplexity"] = estimate(found[:, [0, 2]], lambda sums: np.exp(ratio(sums))).interval()
    facts["masked_accuracy"] = share(found[:, [1, 2]]).scaled(100)
    return Encoder(str(Path(row["folder"]) / "model"), facts)
