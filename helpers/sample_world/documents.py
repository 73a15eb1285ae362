"""Documents whose nouns come back: a small cast, introduced once and mentioned again near and far.

Planted truth (`PLANTED`): names of people, places and organisations in dev never occur in train, and a
share of the things neither, so the later mention of a noun can be copied from its document but not
remembered; some documents contain pronouns, the others none. Facts hold through a document: who leads
what, where it stands. `chained` adds who is meant where: a person is one chain of mentions, and a pronoun
(`그`, `그녀`) means whoever was named last before its sentence and is not named in it.
"""

import re
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from . import lexicon, quantities
from .streams import check, stream
from .tables import table, words
from .templates import Draft, Filler

PLANTED: dict[str, Any] = {
    "sentences": (5, 25),  # shortest and longest document
    "pronoun_share": 0.4,  # documents with at least one pronoun
    "held_out_things": 0.3,  # share of things kept for dev
}
PEOPLE = ("A", "B")  # slots
_PRONOUN = re.compile(r"(?<!\S)(?:그녀|그)(?=는|에게)")


def documents(split: str, rows: int, seed: int = 0) -> Iterator[dict]:
    """Yield `rows` documents: id, title, text; a newline ends a paragraph."""
    for row, _ in _written(split, rows, seed):
        yield row


def chained(split: str, rows: int, seed: int = 0) -> Iterator[dict]:
    """Yield the same documents with `chains`: per person, the (start, end) of every mention, in order."""
    for row, sentences in _written(split, rows, seed):
        chains: dict[str, list[tuple[int, int]]] = {name: [] for name in PEOPLE}
        told: list[str] = []  # whom the text has named, in its order
        at = 0
        for draft in sentences:
            found = [mention[:3] for mention in draft.mentions]
            named = [name for _, _, name in found]
            if meant := next((name for name in reversed(told) if name not in named), ""):
                found += [(*match.span(), meant) for match in _PRONOUN.finditer(draft.text)]
            for start, end, name in sorted(found):
                chains[name].append((at + start, at + end))
            told += named
            at += len(draft.text) + 1
        yield row | {"chains": [chain for chain in chains.values() if chain]}


def _written(split: str, rows: int, seed: int) -> Iterator[tuple[dict, list[Draft]]]:
    """Yield each document with its sentences, in which people are labelled."""
    check(split, rows)
    for index in range(rows):
        rng = stream("documents", split, seed, index)
        names = cast(rng, split)
        title = names[rng.choice("ALOE")]
        sentences = [_draft(template, names) for template in _outline(rng)]
        text = _paragraphs(rng, [draft.text for draft in sentences])
        yield {"id": f"sample-doc-{split}-{index:05d}", "title": title, "text": text}, sentences


def cast(rng: Random, split: str) -> dict[str, str]:
    """Draw the names that a document keeps to: see `data/documents.yaml` for the slots."""
    surname = rng.sample(_surnames(), 2)
    first, second = rng.sample(things(split), 2)
    return {
        "A": surname[0] + lexicon.given_name(rng, split),
        "B": surname[1] + lexicon.given_name(rng, split),
        "L": lexicon.town(rng, split),
        "M": lexicon.town(rng, split),
        "O": lexicon.stem(rng, split) + rng.choice((*words("firm_suffixes"), *words("body_suffixes")[3:])),
        "E": f"{lexicon.stem(rng, split)} {rng.choice(words('events'))}",
        "N": first,
        "K": second,
        "T": rng.choice(words("crafts")),
        "Y": quantities.year(rng),
        "D": f"{rng.randrange(1, 13)}월 {rng.randrange(1, 29)}일",
    }


def things(split: str) -> tuple[str, ...]:
    """Things that a split talks about; dev knows them all."""
    known = words("things")
    return known if split == "dev" else known[: round(len(known) * (1 - PLANTED["held_out_things"]))]


@cache
def _surnames() -> tuple[str, ...]:
    """All but those that taggers read as pronouns."""
    return tuple(name for name in words("surnames") if name not in ("나", "여"))


def sentence(template: str, names: dict[str, str]) -> str:
    return _draft(template, names).text


def _draft(template: str, names: dict[str, str]) -> Draft:
    draft = Draft()
    draft.add(template, lambda slot: Filler(names[slot], slot if slot in PEOPLE else ""))
    return draft


def _outline(rng: Random) -> list[str]:
    """Choose the templates of a document: opening, introductions, body in any order, closing."""
    low, high = PLANTED["sentences"]
    size = min(high, low + int(rng.expovariate(1 / 8)))
    lines = table("documents")
    opening = rng.choice(lines["openings"][rng.choice(tuple(lines["openings"]))])
    pronouns = []
    if rng.random() < PLANTED["pronoun_share"]:
        pronouns = rng.sample(lines["pronouns"], min(rng.randrange(1, 4), size - 4))
    body = _body(rng, size - 4 - len(pronouns))
    for line in pronouns:
        body.insert(rng.randint(0, len(body)), line)
    return [opening, *rng.sample(lines["introductions"], 2), *body, rng.choice(lines["closings"])]


def _body(rng: Random, size: int) -> list[str]:
    """Draw beats and single sentences without repeats until there are enough lines."""
    beats, bodies, adverbs = (table("documents")[name] for name in ("beats", "bodies", "adverbs"))
    pool = [*beats, *([line] for line in bodies)]
    lines: list[str] = []
    for beat in rng.sample(pool, len(pool)):
        if len(lines) + len(beat) <= size:
            lines += [(rng.choice(adverbs) if rng.random() < 0.15 else "") + beat[0], *beat[1:]]
    return lines


def _paragraphs(rng: Random, sentences: list[str]) -> str:
    text = sentences[0]
    for place, following in enumerate(sentences[1:], 1):
        text += ("\n" if place % rng.randrange(4, 7) == 0 else " ") + following
    return text
