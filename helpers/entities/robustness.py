"""Sentences with errors, and what taggers still find in them: gold tags move with the text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers.entities.experiment import EncodedPart, Part, classes_for, encode_part, tag
from helpers.entities.results import score_tags
from helpers.entities.tags import decode, encode, find_spans, tag_spans
from helpers.text.perturbations import perturb

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def perturbed(part: Part, kind: str, *, seed: int = 0, rate: float = 0.1) -> Part:
    """Put errors of one of `perturbations.KINDS` into the sentences; an entity that is gone has no tags."""
    rng = np.random.default_rng(seed)
    sentences, tags = [], []
    for sentence, row in zip(part.sentences, decode(part.gold), strict=True):
        changed = perturb(sentence, kind, rng=rng, rate=rate)
        spans = [(*changed.span(span.start, span.end), span.kind) for span in find_spans(row)]
        sentences.append(changed.text)
        tags.append(tag_spans([span for span in spans if span[0] < span[1]], len(changed.text)))
    return Part(sentences, encode(tags, part.gold.types))


def head(part: Part, rows: int) -> Part:
    """Take the first sentences of a part, at most all."""
    bounds = part.gold.bounds[: rows + 1]
    return Part(part.sentences[:rows], part.gold._replace(ids=part.gold.ids[: bounds[-1]], bounds=bounds))


def official_counts(
    folders: Sequence[str], tokenizer: "PreTrainedTokenizerFast", parts: Sequence[Part]
) -> np.ndarray:
    """Let kept models of one kind tag parts of equal size: (models, sentences, types × 3 × parts) counts."""
    from helpers.learning.encoders import quiet
    from helpers.learning.heads import Classifier

    encoded: list[EncodedPart] = []
    found = []
    for folder in folders:
        with quiet():
            model = Classifier.from_pretrained(f"{folder}/model")
        encoded = encoded or [
            encode_part(tokenizer, part, classes=classes_for(model, part.sentences)) for part in parts
        ]
        tagged = [tag(model, one).decode() for one in encoded]
        scored = [score_tags(tags, part).official for tags, part in zip(tagged, parts, strict=True)]
        found.append(np.concatenate(scored, axis=1))
    return np.stack(found)
