"""Ask kept models about new rows: one answer a row, from one model or the mean of several.

Members of an ensemble may differ in tokenizer and encoder; probabilities meet per row, per class or per
character. Rows are sorted by length into batches. What an answer looks like in a file is left to `answers`.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.prediction.answers import Answers, Classes, Entities, Relations, Spans
from helpers.prediction.folders import KeptModel
from helpers.prediction.recipes import Recipe

Rows = Sequence[dict[str, Any]]
BATCH_TOKENS = 2048  # activations fit the cache of a CPU, and tensors are not mapped into memory anew


def answer(members: Sequence[KeptModel], rows: Rows) -> Answers:
    """Predict rows as `corpora.load_unlabelled` gives them; answers come in their order."""
    together(members)
    predict: dict[str, Callable] = {
        "relations": relations,
        "entities": entities,
        "multilabel": multilabel,
        "spans": spans,
    }
    return predict[members[0].recipe.task](members, list(rows))


def together(members: Sequence[KeptModel]) -> Recipe:
    """Return the recipe of the first member; refuse members that answer different questions."""
    if not members:
        raise ValueError("name at least one model's folder")
    first = members[0].recipe
    for member in members[1:]:
        if (member.recipe.task, member.recipe.labels) != (first.task, first.labels):
            raise ValueError(
                f"{members[0].name} and {member.name} cannot be averaged: one answers {first.task} with "
                f"{', '.join(first.labels)}, the other {member.recipe.task} with "
                f"{', '.join(member.recipe.labels)}"
            )
    return first


def relations(members: Sequence[KeptModel], rows: Rows) -> Relations:
    """Give each pair of entities a label: softmax at the member's temperature, averaged."""
    from scipy.special import softmax

    probs = [softmax(logits_of_relations(m, rows) / m.recipe.temperature, axis=1) for m in members]
    return Relations(rows, members[0].recipe, np.mean(probs, axis=0))


def logits_of_relations(member: KeptModel, rows: Rows) -> NDArray:
    """Return what the model itself says: (rows, labels)."""
    from helpers.relations.experiment import encode_rows

    recipe = member.recipe
    encoded = encode_rows(rows, member.tokenizer, scheme=recipe.scheme, max_length=recipe.max_tokens)
    return _logits(member, encoded)


def _logits(member: KeptModel, encoded: Any) -> NDArray:
    from helpers.learning.inference import predict
    from helpers.prediction.first_state import first_state_only

    with first_state_only(member.model):
        return np.stack(predict(member.model, encoded, batch_tokens=BATCH_TOKENS)).astype(float)


def entities(members: Sequence[KeptModel], rows: Rows) -> Entities:
    """Find entities: probabilities per character, averaged, decoded to the most probable valid tags.

    A member's temperature counts in an ensemble and in the probabilities that are reported; one tagger alone
    decodes as the notebook does, without.
    """
    from helpers.entities.tags import decode
    from helpers.entities.voting import average, best_tags

    sentences, types = [row["sentence"] for row in rows], members[0].recipe.labels
    tagged = [_tagged(member, sentences) for member in members]
    probs = average(one.probabilities() for one in tagged)
    bounds = tagged[0].characters.bounds
    found = (
        tagged[0]._replace(temperature=1.0).decode() if len(tagged) == 1 else best_tags(probs, bounds, types)
    )
    sure = probs[np.arange(len(probs)), found.ids]
    return Entities(rows, members[0].recipe, decode(found), [sure[a:b] for a, b in pairwise(bounds)])


def _tagged(member: KeptModel, sentences: list[str]) -> Any:
    from helpers.entities.experiment import Encoding, Part, check_lengths, classes_for, encode_part, tag
    from helpers.entities.tags import encode

    part = Part(sentences, encode([["O"] * len(text) for text in sentences], member.recipe.labels))
    encoded = encode_part(member.tokenizer, part, classes=classes_for(member.model, sentences))
    check_lengths(member.model, Encoding(member.tokenizer, {"input": encoded}))
    return tag(member.model, encoded)._replace(temperature=member.recipe.temperature)


def multilabel(members: Sequence[KeptModel], rows: Rows) -> Classes:
    """Give each text its classes: mean score against mean threshold; probabilities by the curves."""
    from scipy.special import expit

    from helpers.multilabel.experiment import encode_posts

    texts, scores = [row["content"] for row in rows], []
    for member in members:
        prompt, length = member.recipe.prompt, member.recipe.max_tokens
        encoded = encode_posts(member.tokenizer, texts, prompt=prompt, max_tokens=length)
        scores.append(expit(_logits(member, encoded)))
    probs = np.mean([_calibrated(own, m.recipe) for own, m in zip(scores, members, strict=True)], axis=0)
    cuts = np.mean([member.recipe.thresholds for member in members], axis=0)
    return Classes(rows, members[0].recipe, probs, np.mean(scores, axis=0) >= cuts)


def spans(members: Sequence[KeptModel], rows: Rows) -> Spans:
    """Find the characters whose mean score passes the mean threshold."""
    from helpers.multilabel.span_experiment import score_texts
    from helpers.multilabel.spans import spans_of

    texts = [row["content"] for row in rows]
    bounds = np.cumsum([0, *map(len, texts)])
    scores = [
        np.concatenate(score_texts(m.model, m.tokenizer, texts, max_tokens=m.recipe.max_tokens))
        for m in members
    ]
    probs = np.mean(
        [_calibrated(own[:, None], m.recipe)[:, 0] for own, m in zip(scores, members, strict=True)], axis=0
    )
    cut = np.mean([member.recipe.thresholds[0] for member in members])
    # The notebook keeps scores in single precision, and so does the comparison.
    inside = np.mean(scores, axis=0).astype(np.float32) >= cut
    found = [spans_of(inside[a:b]) for a, b in pairwise(bounds)]
    return Spans(rows, members[0].recipe, found, [probs[a:b] for a, b in pairwise(bounds)])


def _calibrated(scores: NDArray, recipe: Recipe) -> NDArray:
    """Read scores (n, labels) off the curves of the labels."""
    from helpers.multilabel.calibration import on_curve

    columns = [on_curve(p, curve) for p, curve in zip(scores.T, recipe.curves, strict=True)]
    return np.stack(columns, axis=1)
