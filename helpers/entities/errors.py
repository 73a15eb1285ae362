"""Errors of an entity tagger, sentence by sentence: kinds, novelty, a browser; and tagging of new sentences.

Counts and scores are in `scores`; here an error has a sentence, a span and a reason.
"""

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers.display import highlight
from helpers.entities import voting
from helpers.entities.experiment import Encoding, Part, encode_part, tag
from helpers.entities.tags import Span, TagArray, decode, encode, find_spans
from helpers.statistics import wilson

if TYPE_CHECKING:
    from IPython.display import HTML

KINDS = ("right", "range", "label", "both", "missed", "invented")
SHOWN = 4  # sentences with errors of each entity type


def spans_of(tags: TagArray) -> list[list[Span]]:
    """List the entities of every sentence."""
    return [find_spans(row) for row in decode(tags)]


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


def error_table(errors: pd.DataFrame, seen: np.ndarray) -> pd.DataFrame:
    """Count kinds per entity type, the most frequent type first, with recall in all and on new entities.

    `seen` marks the gold entities whose text is an entity in training, as `novelty` gives it.
    """
    gold = errors[errors.kind != "invented"].assign(seen=seen)
    rows = []
    for kind, group in gold.groupby("type"):
        new, counts = group[~group.seen], errors[errors["type"] == kind]["kind"].value_counts()
        recall = {
            name: wilson(int((some.kind == "right").sum()), len(some)).scaled(100) if len(some) else None
            for name, some in (("recall, %", group), ("of new, %", new))
        }
        rows.append(
            {"type": kind, "gold": len(group)}
            | recall
            | {name: int(counts.get(name, 0)) for name in KINDS[1:]}
        )
    return pd.DataFrame(rows).sort_values("gold", ascending=False, ignore_index=True)


def novelty(part: Part, train: Part) -> np.ndarray:
    """Mark each gold entity of `part` whose exact text is an entity in `train`: (entities,) bool."""
    known = set(_texts(train))
    return np.array([text in known for text in _texts(part)], bool)


def describe(parts: Mapping[str, Part]) -> pd.DataFrame:
    """Tabulate sentences, entities by type, and the share of entities that training has seen."""
    rows = []
    for name, part in parts.items():
        kinds = pd.Series([s.kind for spans in spans_of(part.gold) for s in spans]).value_counts()
        seen = None if name == "train" else novelty(part, parts["train"])
        rows.append(
            {"part": name, "sentences": len(part.sentences), "entities": int(kinds.sum())}
            | {kind: int(kinds.get(kind, 0)) for kind in part.gold.types}
            | {"seen, %": None if seen is None else wilson(int(seen.sum()), len(seen)).scaled(100)}
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
    encoded = {name: encode_part(encoding.tokenizer, part) for name, encoding in encodings.items()}
    main = runs[runs.role == "main"]
    with quiet():
        models = [Classifier.from_pretrained(f"{folder}/model") for folder in main.folder]
    members = [tag(model, encoded[name]) for model, name in zip(models, main.tokenizer, strict=True)]
    return spans_of(voting.decode_ensemble(members))


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


def _texts(part: Part) -> list[str]:
    pairs = zip(part.sentences, spans_of(part.gold), strict=True)
    return [sentence[s.start : s.end] for sentence, spans in pairs for s in spans]


def _varied(wrong: pd.DataFrame, count: int) -> list[int]:
    """Choose sentences that show different kinds of error first."""
    firsts = wrong.drop_duplicates("sentence").drop_duplicates("kind")["sentence"].tolist()
    rest = [row for row in dict.fromkeys(wrong["sentence"]) if row not in firsts]
    return (firsts + rest)[:count]
