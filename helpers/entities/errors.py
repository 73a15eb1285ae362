"""Errors of an entity tagger, sentence by sentence: kinds, familiarity, a browser; tagging of new sentences.

Counts and scores are in `scores`; here an error has a sentence, a span and a reason.
"""

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers import statistics
from helpers.display import highlight
from helpers.entities import voting
from helpers.entities.experiment import Encoding, Part, classes_for, encode_part, tag
from helpers.entities.tags import Span, TagArray, decode, encode, find_spans
from helpers.statistics import Interval

if TYPE_CHECKING:
    from IPython.display import HTML

KINDS = ("right", "range", "label", "both", "missed", "invented")
NAMES = ("PS", "LC", "OG")  # the types whose entities are names
FAMILIARITY = ("new", "seen", "ambiguous")  # what training shows of an entity's text
SHOWN = 4  # sentences with errors of each entity type


def spans_of(tags: TagArray) -> list[list[Span]]:
    """List the entities of every sentence."""
    return [find_spans(row) for row in decode(tags)]


def told(tags: TagArray) -> list[str]:
    """Say the entities of every sentence by type and characters: `PS 0–3, LC 9–11`."""
    return [", ".join(f"{kind} {start}–{end}" for start, end, kind in row) or "–" for row in spans_of(tags)]


def find_errors(part: Part, pred: TagArray) -> pd.DataFrame:
    """Classify every gold entity, and every predicted one that touches none: one row each.

    Wrong `range`: the right type on an overlapping range; wrong `label`: the right range; `both` wrong, but
    overlapping; `missed`: nothing overlaps; `invented`: predicted where there is no entity.
    """
    rows = []
    pairs = zip(part.sentences, spans_of(part.gold), spans_of(pred), strict=True)
    for row, (sentence, gold, said) in enumerate(pairs):
        rows += [(row, s.kind, _kind(s, said), sentence[s.start : s.end]) for s in gold]
        rows += [(row, s.kind, "invented", sentence[s.start : s.end]) for s in said if not _touching(s, gold)]
    return pd.DataFrame(rows, columns=["sentence", "type", "kind", "text"])


def recall_of_names(part: Part, predictions: Sequence[TagArray], known: np.ndarray) -> dict[str, np.ndarray]:
    """Count found and all names by `known`, their FAMILIARITY: (predictions, sentences, 2) of each."""
    found = [find_errors(part, tags) for tags in predictions]
    gold = [errors[errors.kind != "invented"].assign(known=known) for errors in found]
    names = [errors[errors["type"].isin(NAMES)] for errors in gold]
    return {
        one: np.stack([_recall(errors[errors.known == one], len(part.sentences)) for errors in names])
        for one in FAMILIARITY
    }


def error_table(errors: pd.DataFrame, known: np.ndarray, *, sentences: int) -> pd.DataFrame:
    """Count kinds per entity type, the most frequent type first, with recall in all and on new entities.

    `known` is what `familiarity` says of the gold entities. Intervals are over the `sentences` of the part.
    """
    gold = errors[errors.kind != "invented"].assign(known=known)
    rows = []
    for kind, group in gold.groupby("type"):
        new, counts = group[group.known == "new"], errors[errors["type"] == kind]["kind"].value_counts()
        recall = {
            name: _percent(_recall(some, sentences)) if len(some) else None
            for name, some in (("recall, %", group), ("of new, %", new))
        }
        rows.append(
            {"type": kind, "gold": len(group)}
            | recall
            | {name: int(counts.get(name, 0)) for name in KINDS[1:]}
        )
    return pd.DataFrame(rows).sort_values("gold", ascending=False, ignore_index=True)


def familiarity(part: Part, train: Part) -> np.ndarray:
    """Say of each gold entity of `part` what training shows of its text: (entities,) of FAMILIARITY.

    `ambiguous`: the same text is an entity of another type in training, whether or not of this one too.
    """
    types: dict[str, set[str]] = {}
    for text, kind in _names(train):
        types.setdefault(text, set()).add(kind)
    known = [(types.get(text, set()), kind) for text, kind in _names(part)]
    return np.array(
        ["new" if not shown else "ambiguous" if shown - {kind} else "seen" for shown, kind in known]
    )


def describe(parts: Mapping[str, Part]) -> pd.DataFrame:
    """Tabulate sentences, entities by type, and the share of entities that training has seen."""
    rows = []
    for name, part in parts.items():
        spans = spans_of(part.gold)
        kinds = pd.Series([s.kind for row in spans for s in row]).value_counts()
        seen = None
        if name != "train":
            owner = np.repeat(np.arange(len(spans)), [len(row) for row in spans])
            seen = _percent(_counts(familiarity(part, parts["train"]) != "new", owner, len(spans)))
        rows.append(
            {"part": name, "sentences": len(part.sentences), "entities": int(kinds.sum())}
            | {kind: int(kinds.get(kind, 0)) for kind in part.gold.types}
            | {"seen, %": seen}
        )
    return pd.DataFrame(rows)


def browse(part: Part, pred: TagArray, errors: pd.DataFrame) -> "HTML":
    """Draw sentences with gold and predicted spans for each entity type: one in sight, the others folded."""
    from IPython.display import HTML

    gold, said = spans_of(part.gold), spans_of(pred)
    frequency = errors.loc[errors["kind"] != "invented", "type"].value_counts()
    blocks = []
    for kind in sorted(part.gold.types, key=lambda name: -frequency.get(name, 0)):
        wrong = errors[(errors["type"] == kind) & (errors["kind"] != "right")]
        counts = ", ".join(f"{name} {count}" for name, count in wrong["kind"].value_counts().items())
        rows = _varied(wrong, SHOWN)
        drawn = [highlight.compared(part.sentences[row], gold[row], said[row]).data for row in rows]
        more = f"<details><summary>{len(drawn) - 1} more</summary>{''.join(drawn[1:])}</details>"
        blocks.append(f"<h4>{kind}: {html.escape(counts) or 'no errors'}</h4>{''.join(drawn[:1])}")
        blocks += [more] if len(drawn) > 1 else []
    return HTML("".join(blocks))


def tag_sentences(
    sentences: Sequence[str], runs: pd.DataFrame, encodings: Mapping[str, Encoding]
) -> list[list[Span]]:
    """Tag new sentences with the ensemble of all main runs."""
    from helpers.learning.encoders import quiet
    from helpers.learning.heads import Classifier

    types = next(iter(encodings.values())).parts["train"].types
    part = Part(list(sentences), encode([["O"] * len(s) for s in sentences], types))
    main = runs[runs.role == "main"]
    with quiet():
        models = [Classifier.from_pretrained(f"{folder}/model") for folder in main.folder]
    members = []
    for model, name in zip(models, main.tokenizer, strict=True):
        classes = classes_for(model, part.sentences)
        members.append(tag(model, encode_part(encodings[name].tokenizer, part, classes=classes)))
    return spans_of(voting.decode_ensemble(members))


def _recall(gold: pd.DataFrame, sentences: int) -> np.ndarray:
    return _counts(gold["kind"] == "right", gold["sentence"], sentences)


def _counts(hits: np.ndarray | pd.Series, sentence: np.ndarray | pd.Series, sentences: int) -> np.ndarray:
    """Sum hits and items by sentence: (sentences, 2)."""
    counts = np.zeros((sentences, 2))
    np.add.at(counts, np.asarray(sentence), np.column_stack([hits, np.ones(len(hits))]))
    return counts


def _percent(counts: np.ndarray) -> Interval:
    return statistics.share(counts).scaled(100)


def _kind(span: Span, said: Sequence[Span]) -> str:
    touching = _touching(span, said)
    if span in touching:
        return "right"
    if any(other.kind == span.kind for other in touching):
        return "range"
    if any((other.start, other.end) == (span.start, span.end) for other in touching):
        return "label"
    return "both" if touching else "missed"


def _touching(span: Span, others: Sequence[Span]) -> list[Span]:
    return [other for other in others if other.start < span.end and span.start < other.end]


def _names(part: Part) -> list[tuple[str, str]]:
    """List text and type of all entities."""
    pairs = zip(part.sentences, spans_of(part.gold), strict=True)
    return [(sentence[s.start : s.end], s.kind) for sentence, spans in pairs for s in spans]


def _varied(wrong: pd.DataFrame, count: int) -> list[int]:
    """Choose sentences that show different kinds of error first."""
    firsts = wrong.drop_duplicates("sentence").drop_duplicates("kind")["sentence"].tolist()
    rest = [row for row in dict.fromkeys(wrong["sentence"]) if row not in firsts]
    return (firsts + rest)[:count]
