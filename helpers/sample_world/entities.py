"""NER sentences in KLUE's schema: one tag per character, six types, spaces inside an entity tagged I-.

Planted truth (`PLANTED`): most names in dev never occur in train; names that are also names of another
type or everyday words (labelled O); the same digits as date, time or quantity; entities with inner
spaces, glued to particles or to each other; conjoining jamo; a little annotation noise. Dev also uses
templates train never shows.
"""

from collections.abc import Iterator
from random import Random

from . import entity_templates as templates
from . import lexicon, quantities
from .streams import check, seen_in, stream, zipf
from .templates import Draft, Filler, Mention

PLANTED = {
    "types": ("PS", "LC", "OG", "DT", "TI", "QT"),
    "noise_rate": 0.015,  # sentences with one entity dropped, retyped or stretched over the next character
    "remark_share": 0.3,  # loose review-style sentences; the rest is news
    "popular_share": {"train": 0.45, "dev": 0.3},  # names drawn from those known in both splits
    "unseen_name_share": (
        0.5,
        0.8,
    ),  # dev mentions of PS, LC, OG whose surface never occurs in 2,000 train rows
    "bare_stem_share": 0.10,  # names of any type reduced to a stem that fits every type
}
_NAMES = {"PS": "person", "LC": "place", "OG": "organisation"}
_MAKERS = {"PS": lexicon.person, "LC": lexicon.place, "OG": lexicon.organisation}
_AMOUNTS = {
    "DT": quantities.day,
    "DT.day": lambda rng: f"{rng.randrange(1, 31)}일",
    "DT.year": quantities.year,
    "DT.span": quantities.span_of_days,
    "DT.bare": lambda rng: str(rng.randrange(1950, 2031)),
    "TI": quantities.clock,
    "TI.span": quantities.span_of_hours,
    "QT.people": quantities.people,
    "QT.guests": lambda rng: f"{rng.randrange(2, 60)}분",
    "QT.money": quantities.money,
    "QT.age": quantities.age,
    "QT.bare": lambda rng: str(rng.randrange(15, 80)),
    "QT.times": quantities.times,
    "QT.things": quantities.things,
    "QT.measure": quantities.measure,
    "QT.rank": quantities.rank,
    "QT.score": quantities.score,
}


def entities(split: str, rows: int, seed: int = 0) -> Iterator[dict]:
    """Yield `rows` sentences: guid, sentence, tokens (characters) and ner_tags (strings)."""
    check(split, rows)
    bank = {name: tuple(seen_in(getattr(templates, name), split)) for name in _LISTS}
    for index in range(rows):
        rng = stream("entities", split, seed, index)
        draft = (
            _remark(rng, split, bank) if rng.random() < PLANTED["remark_share"] else _news(rng, split, bank)
        )
        yield {
            "guid": f"sample-ner-v1_{split}_{index:05d}",
            "sentence": draft.text,
            "tokens": list(draft.text),
            "ner_tags": _tags(draft.text, _noisy(rng, draft)),
        }


_LISTS = (
    "OPENINGS",
    "PERSON_SUBJECTS",
    "GROUP_SUBJECTS",
    "PERSON_PREDICATES",
    "GROUP_PREDICATES",
    "ENDINGS",
    "JOINTS",
    "REMARKS",
    "TAILS",
)


def _news(rng: Random, split: str, bank: dict) -> Draft:
    draft, fill = Draft(), _filler(rng, split)
    if rng.random() < 0.5:
        draft.add(rng.choice(bank["OPENINGS"]), fill)
    kind = "PERSON" if rng.random() < 0.55 else "GROUP"
    draft.add(rng.choice(bank[f"{kind}_SUBJECTS"]), fill)
    for extra in range(1 if rng.random() < 0.6 else 2):
        if extra:
            draft.add(rng.choice(bank["JOINTS"]), fill)
        draft.add(rng.choice(bank[f"{kind}_PREDICATES"]), fill)
    draft.add(rng.choice(bank["ENDINGS"]), fill)
    return draft


def _remark(rng: Random, split: str, bank: dict) -> Draft:
    draft, fill = Draft(), _filler(rng, split)
    for place in range(1 if rng.random() < 0.65 else 2):
        draft.write(" " if place else "")
        draft.add(rng.choice(bank["REMARKS"]), fill)
        draft.write(rng.choice(bank["TAILS"]))
    return draft


def _filler(rng: Random, split: str):
    """Fill slots such as `PS`, `OG.short`, `QT.money`, and `O` (an everyday word, unlabelled)."""

    def fill(slot: str) -> Filler:
        label = slot[:2]
        if slot in _AMOUNTS:
            return Filler(_AMOUNTS[slot](rng), label)
        if slot == "O":
            return Filler(rng.choice(lexicon.EVERYDAY))
        return Filler(_name(rng, split, slot), label)

    return fill


def _name(rng: Random, split: str, slot: str) -> str:
    if slot == "PS.family":
        return rng.choice(lexicon.SURNAMES)
    if slot == "OG.short":
        return lexicon.acronym(rng, split)
    if slot == "PS.given":
        return rng.choice(lexicon.EVERYDAY) if rng.random() < 0.3 else lexicon.given_name(rng, split)
    draw = rng.random()
    if slot.endswith(".plain") or draw < PLANTED["bare_stem_share"]:
        return rng.choice(lexicon.EVERYDAY) if rng.random() < 0.4 else lexicon.stem(rng, split)
    if draw < PLANTED["bare_stem_share"] + PLANTED["popular_share"][split]:
        return zipf(rng, lexicon.popular(_NAMES[slot]))
    return _MAKERS[slot](rng, split)


def _noisy(rng: Random, draft: Draft) -> list[Mention]:
    """Disturb one annotation of a few sentences, as real annotators do."""
    mentions = list(draft.mentions)
    if not mentions or rng.random() >= PLANTED["noise_rate"]:
        return mentions
    place, how = rng.randrange(len(mentions)), rng.randrange(3)
    victim = mentions.pop(place)
    if how == 1:
        mentions.append(victim._replace(label=rng.choice([t for t in PLANTED["types"] if t != victim.label])))
    elif how == 2 and draft.text[victim.end : victim.end + 1].strip() and not _covered(mentions, victim.end):
        mentions.append(victim._replace(end=victim.end + 1))
    return mentions


def _covered(mentions: list[Mention], position: int) -> bool:
    return any(m.start <= position < m.end for m in mentions)


def _tags(text: str, mentions: list[Mention]) -> list[str]:
    tags = ["O"] * len(text)
    for start, end, label, _ in mentions:
        tags[start] = f"B-{label}"
        tags[start + 1 : end] = [f"I-{label}"] * (end - start - 1)
    return tags
