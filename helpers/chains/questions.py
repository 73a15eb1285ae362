"""Questions about gold chains, and what one checkpoint answers: what `sweeps` runs.

A *choice* hides a mention and offers the names of everybody in sight; a *repeat* is an item of Real@k, with
what could give it away: its own word (to copy), and the other mentions of whom it means (to refer).
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.chains.passages import Passage, Span
from helpers.coreference import cloze, copying
from helpers.coreference.checkpoints import load_checkpoint
from helpers.coreference.items import build_items
from helpers.learning.inference import best_device
from helpers.sample_world.particles import FORMS, particle

LONGEST = 8  # characters of a name that is offered; longer mentions are descriptions
# What is deleted before a repeat is asked: a word and its placebo, a person and as much of another.
DELETED = {
    "whole": None,
    "word": copying.other_mentions,
    "another word": copying.placebo,
    "person": lambda item: [tuple(span) for span in item["person"]],
    "another person": lambda item: [tuple(span) for span in item["rival"]],
}
FILES = ("choices", *DELETED)


def build_choices(passages: Sequence[Passage], *, per_passage: int) -> list[dict]:
    """Return mentions whose person was named before: `start`, `end`, `kind`, `gold` and everybody's names.

    `named` lists, per person, the earlier mentions by name, kinship term or description; `gold` says which
    person is meant. `distance`: characters since that person was last named. People nobody can be told apart
    from, and places where no name can stand, are not asked.
    """
    questions = []
    for passage in passages:
        found = [
            question
            for person, chain in enumerate(passage.chains)
            for span in chain
            if (question := _choice(passage, person, span))
        ]
        order = np.random.default_rng(int(_digest(passage.id), 16)).permutation(len(found))
        questions += [found[at] for at in sorted(order[:per_passage])]
    return questions


def _choice(passage: Passage, person: int, span: Span) -> dict | None:
    start, end = span
    named = [
        [list(other) for other in chain if other[1] <= start and _offers(passage, other)]
        for chain in passage.chains
    ]
    if not passage.kind(span) or not named[person] or sum(map(bool, named)) < 2:
        return None
    return {
        "id": _digest(f"{passage.id}\t{start}\t{end}"),
        "passage": passage.id,
        "document": passage.work,
        "text": passage.text,
        "start": start,
        "end": end,
        "kind": passage.kind(span),
        "names": sorted(passage.names),
        "gold": person,
        "named": named,
        "distance": start - max(end for _, end in named[person]),
    }


def _offers(passage: Passage, span: Span) -> bool:
    return passage.kind(span) not in ("", "pronoun") and span[1] - span[0] <= LONGEST


def build_repeats(passages: Sequence[Passage], *, per_passage: int):
    """Return Real@k's items of the passages, with whom each means: `coreferent`, `kind`, `person`, `rival`.

    `coreferent`: the word, and an earlier one like it, name the same person; else it is just a word again.
    `person` and `rival`: mentions of that person by another word, and as many of somebody else, the nearest.
    """
    from datasets import Dataset, Features, Value

    by_id = {passage.id: passage for passage in passages}
    items = build_items([{"id": one.id, "text": one.text} for one in passages], per_document=per_passage)
    added = dict.fromkeys(("work", "kind"), Value("string")) | {"coreferent": Value("bool")}
    added |= dict.fromkeys(("person", "rival"), items.features["antecedents"])
    rows = [{**item, **_referent(item, by_id[item["document"]])} for item in items]
    features = Features(items.features | added)
    return Dataset.from_dict({name: [row[name] for row in rows] for name in features}, features=features)


def _referent(item: Mapping, passage: Passage) -> dict:
    target = (item["start"], item["end"])
    own = _person_of(passage, target)
    before = {_person_of(passage, tuple(span)) for span in item["antecedents"]}
    found = {"work": passage.work, "kind": passage.kind(target)}
    if own is None or own not in before:
        return found | {"coreferent": False, "person": [], "rival": []}
    shown = [target, *copying.other_mentions(item)]  # the word itself is another question
    chains = [
        sorted(
            ([*span] for span in chain if not any(span[0] < end and start < span[1] for start, end in shown)),
            key=lambda span: abs(span[0] - item["start"]),
        )
        for chain in passage.chains
    ]
    person = chains.pop(own)
    rival = max(chains, key=lambda spans: min(len(spans), len(person)), default=[])
    count = min(len(person), len(rival))
    return found | {"coreferent": True, "person": person[:count], "rival": rival[:count]}


def _person_of(passage: Passage, span: Span) -> int | None:
    """Return whom a noun names: its last syllables end a mention (a diminutive 이 may follow)."""
    covering = [
        (end - start, person)
        for person, chain in enumerate(passage.chains)
        for start, end in chain
        if start <= span[0] and 0 <= end - span[1] <= 1
    ]
    return min(covering)[1] if covering else None


def answer(checkpoint: str, length: int, *, choices: Sequence[Mapping], repeats, folder: Path) -> dict:
    """Ask one checkpoint; `folder` receives `choices.csv` and a file for each way to delete (FILES)."""
    model, tokenizer = load_checkpoint(checkpoint)
    model.to(best_device())
    offered = offer(tokenizer, choices, length=length)
    clozes = cloze.encode_spans(tokenizer, offered.pop("text"), offered.pop("span"), max_length=length)
    offered["log_likelihood"] = cloze.word_log_likelihoods(model, tokenizer, clozes)
    offered.to_csv(folder / "choices.csv", index=False)
    for name, delete in DELETED.items():
        asked = cloze.score_items(model, tokenizer, repeats, max_length=length, delete=delete)
        asked.to_csv(folder / f"{name}.csv", index=False)
    return {"offered": len(offered)}


def offer(tokenizer, choices: Sequence[Mapping], *, length: int) -> pd.DataFrame:
    """Return one row per choice and person in sight: `name`, `gold`, `count`, `last`, and the `text` to read.

    A person is offered by name, or else by what they were most often called within the window. Choices
    without a rival in sight, or without the right person, are left out. A particle after the gap is made to
    fit each name.
    """
    spans = [(one["start"], one["end"]) for one in choices]
    windows = cloze.encode_spans(tokenizer, [one["text"] for one in choices], spans, max_length=length)
    rows: list[dict] = []
    for one, window in zip(choices, windows, strict=True):
        seen = [[span for span in named if span[0] >= window.first] for named in one["named"]]
        people = {person: spans for person, spans in enumerate(seen) if spans}
        names = {person: _name(one, spans) for person, spans in people.items()}
        if window.fault or one["gold"] not in names or len(set(names.values())) < 2:
            continue
        for person, name in names.items():
            after = refit(one["text"][one["end"] :], one["text"][one["start"] : one["end"]], name)
            rows.append(
                {key: one[key] for key in ("id", "document", "kind", "distance")}
                | {"name": name, "gold": name == names[one["gold"]], "count": len(people[person])}
                | {"last": max(end for _, end in people[person]) - one["start"]}
                | {"text": one["text"][: one["start"]] + name + after}
                | {"span": (one["start"], one["start"] + len(name))}
            )
    columns = ("id", "document", "kind", "distance", "name", "gold", "count", "last", "text", "span")
    return pd.DataFrame(rows, columns=list(columns))


def _name(choice: Mapping, spans: Sequence[Sequence[int]]) -> str:
    names = Counter(choice["text"][start:end] for start, end in spans)
    return min(names, key=lambda name: (name not in choice["names"], -names[name], len(name), name))


def refit(after: str, old: str, new: str) -> str:
    """Make a particle that agrees with `old` agree with `new`.

    >>> refit("는 웃었다", "문호", "병일")
    '은 웃었다'
    """
    for form in sorted(FORMS, key=len, reverse=True):
        shown = particle(old, form)
        if after.startswith(shown):
            return particle(new, form) + after[len(shown) :]
    return after


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
