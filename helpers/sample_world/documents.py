"""Documents whose nouns come back: a small cast, introduced once and mentioned again near and far.

Planted truth (`PLANTED`): names of people, places and organisations in dev never occur in train, and a
share of the things neither, so the later mention of a noun can be copied from its document but not
remembered; some documents contain pronouns, the others none. Facts hold through a document: who leads
what, where it stands.
"""

from collections.abc import Iterator
from random import Random

from . import document_templates as templates
from . import lexicon, quantities
from .streams import check, stream
from .templates import Draft, Filler
from .wordlists import BODY_SUFFIXES, CRAFTS, EVENTS, FIRM_SUFFIXES, SURNAMES, THINGS

PLANTED = {
    "sentences": (5, 25),  # shortest and longest document
    "pronoun_share": 0.4,  # documents with at least one pronoun
    "held_out_things": 0.3,  # share of things kept for dev
}

_SURNAMES = tuple(name for name in SURNAMES if name not in ("나", "여"))  # taggers read them as pronouns


def documents(split: str, rows: int, seed: int = 0) -> Iterator[dict]:
    """Yield `rows` documents: id, title, text; a newline ends a paragraph."""
    check(split, rows)
    for index in range(rows):
        rng = stream("documents", split, seed, index)
        names = cast(rng, split)
        yield {
            "id": f"sample-doc-{split}-{index:05d}",
            "title": names[rng.choice("ALOE")],
            "text": _paragraphs(rng, [sentence(t, names) for t in _outline(rng)]),
        }


def cast(rng: Random, split: str) -> dict[str, str]:
    """Draw the names that a document keeps to: see `document_templates` for the slots."""
    surname = rng.sample(_SURNAMES, 2)
    first, second = rng.sample(things(split), 2)
    return {
        "A": surname[0] + lexicon.given_name(rng, split),
        "B": surname[1] + lexicon.given_name(rng, split),
        "L": lexicon.town(rng, split),
        "M": lexicon.town(rng, split),
        "O": lexicon.stem(rng, split) + rng.choice((*FIRM_SUFFIXES, *BODY_SUFFIXES[3:])),
        "E": f"{lexicon.stem(rng, split)} {rng.choice(EVENTS)}",
        "N": first,
        "K": second,
        "T": rng.choice(CRAFTS),
        "Y": quantities.year(rng),
        "D": f"{rng.randrange(1, 13)}월 {rng.randrange(1, 29)}일",
    }


def things(split: str) -> tuple[str, ...]:
    """Things that a split talks about; dev knows them all."""
    kept = round(len(THINGS) * (1 - PLANTED["held_out_things"]))
    return THINGS if split == "dev" else THINGS[:kept]


def sentence(template: str, names: dict[str, str]) -> str:
    draft = Draft()
    draft.add(template, lambda slot: Filler(names[slot]))
    return draft.text


def _outline(rng: Random) -> list[str]:
    """Choose the templates of a document: opening, introductions, body in any order, closing."""
    low, high = PLANTED["sentences"]
    size = min(high, low + int(rng.expovariate(1 / 8)))
    opening = rng.choice(templates.OPENINGS[rng.choice(tuple(templates.OPENINGS))])
    pronouns = []
    if rng.random() < PLANTED["pronoun_share"]:
        pronouns = rng.sample(templates.PRONOUNS, min(rng.randrange(1, 4), size - 4))
    body = _body(rng, size - 4 - len(pronouns))
    for line in pronouns:
        body.insert(rng.randint(0, len(body)), line)
    return [opening, *rng.sample(templates.INTRODUCTIONS, 2), *body, rng.choice(templates.CLOSINGS)]


def _body(rng: Random, size: int) -> list[str]:
    """Draw beats and single sentences without repeats until there are enough lines."""
    pool = [*templates.BEATS, *((line,) for line in templates.BODIES)]
    lines: list[str] = []
    for beat in rng.sample(pool, len(pool)):
        if len(lines) + len(beat) <= size:
            lines += [(rng.choice(templates.ADVERBS) if rng.random() < 0.15 else "") + beat[0], *beat[1:]]
    return lines


def _paragraphs(rng: Random, sentences: list[str]) -> str:
    text = sentences[0]
    for place, following in enumerate(sentences[1:], 1):
        text += ("\n" if place % rng.randrange(4, 7) == 0 else " ") + following
    return text
