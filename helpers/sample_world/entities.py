"""NER sentences in KLUE's schema: one tag per character, six types, spaces inside an entity tagged I-.

Planted truth (`PLANTED`): most names in dev never occur in train; names that are also names of another
type or everyday words (labelled O); the same digits as date, time or quantity; entities with inner
spaces, glued to particles or to each other; conjoining jamo; a little annotation noise. Dev also uses
templates train never shows.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from random import Random
from typing import Any

from . import lexicon, quantities
from .streams import check, seen_in, stream, zipf
from .tables import table, words
from .templates import Draft, Filler, Mention

PLANTED: dict[str, Any] = {
    "types": ("PS", "LC", "OG", "DT", "TI", "QT"),
    "noise_rate": 0.02,  # sentences with one entity dropped, retyped or stretched over the next character
    "shares": {"news": 0.42, "remark": 0.28, "riddle": 0.17, "anywhere": 0.13},  # sentences by style
    "squeezed": 0.3,  # remarks that lost a space
    "popular_share": {"train": 0.4, "dev": 0.25},  # names drawn from those known in both splits
    "unseen_name_share": (0.6, 0.85),  # of PS, LC and OG mentions in dev, against 2,000 rows of train
    "bare_share": 0.12,  # names reduced to a stem or an everyday word that fits every type
}
_NAMES = {
    "PS": lexicon.person,
    "LC": lexicon.place,
    "LC.town": lexicon.town,
    "OG": lexicon.organisation,
    "OG.firm": lexicon.firm,
    "OG.club": lexicon.club,
    "OG.school": lexicon.school,
    "OG.body": lexicon.body,
    "OG.press": lexicon.press,
}
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
    "QT.price": lambda rng: f"{rng.randrange(10, 300) * 100:,}원",
    "QT.age": lambda rng: f"{rng.randrange(14, 90)}세",
    "QT.child": lambda rng: f"{rng.randrange(3, 14)}살",
    "QT.bare": lambda rng: str(rng.randrange(15, 80)),
    "QT.times": quantities.times,
    "QT.things": quantities.things,
    "QT.sites": lambda rng: f"{rng.randrange(3, 60)}곳",
    "QT.posts": lambda rng: f"{rng.randrange(2, 300)}건",
    "QT.books": lambda rng: f"{rng.randrange(2, 300)}권",
    "QT.percent": lambda rng: f"{rng.randrange(10, 400) / 10}{rng.choice(('%', '퍼센트'))}",
    "QT.distance": lambda rng: f"{rng.randrange(2, 90)}{rng.choice(('km', '킬로미터', '리'))}",
    "QT.rank": quantities.rank,
    "QT.score": quantities.score,
    "QT.points": lambda rng: f"{rng.randrange(1, 11)}점",
}


def entities(split: str, rows: int, seed: int = 0) -> Iterator[dict]:
    """Yield `rows` sentences: guid, sentence, tokens (characters) and ner_tags (strings)."""
    check(split, rows)
    for index in range(rows):
        rng = stream("entities", split, seed, index)
        draft = sentence(rng, split, templates=split)
        yield {
            "guid": f"sample-ner-v1_{split}_{index:05d}",
            "sentence": draft.text,
            "tokens": list(draft.text),
            "ner_tags": _tags(draft.text, _noisy(rng, draft)),
        }


def sentence(rng: Random, split: str, *, templates: str) -> Draft:
    """Write a sentence with the names of one split and the templates of another, perhaps the same."""
    styles = {"news": _news, "remark": _remark, "riddle": _riddle, "anywhere": _anywhere}
    style = rng.choices(tuple(PLANTED["shares"]), tuple(PLANTED["shares"].values()))[0]
    return styles[style](rng, split, _bank(templates))


@cache
def _bank(split: str) -> dict[str, Sequence[str]]:
    return {name: seen_in(lines, split) for name, lines in table("entities").items()}


def _news(rng: Random, split: str, bank: dict) -> Draft:
    draft, fill = Draft(), _filler(rng, split)
    if rng.random() < 0.5:
        draft.add(rng.choice(bank["openings"]), fill)
    kind = "person" if rng.random() < 0.55 else "group"
    draft.add(rng.choice(bank[f"{kind}_subjects"]), fill)
    for extra in range(1 if rng.random() < 0.6 else 2):
        if extra:
            draft.add(rng.choice(bank["joints"]), fill)
        draft.add(rng.choice(bank[f"{kind}_predicates"]), fill)
    draft.add(rng.choice(bank["endings"]), fill)
    return draft


def _remark(rng: Random, split: str, bank: dict) -> Draft:
    draft, fill = Draft(), _filler(rng, split)
    for place in range(1 if rng.random() < 0.65 else 2):
        draft.write(" " if place else "")
        draft.add(rng.choice(bank["remarks"]), fill)
        draft.write(rng.choice(bank["tails"]))
    return _squeeze(rng, draft) if rng.random() < PLANTED["squeezed"] else draft


def _riddle(rng: Random, split: str, bank: dict) -> Draft:
    label = rng.choice(("PS", "LC", "OG"))
    draft, fill = Draft(), _filler(rng, split)
    cue = Filler(rng.choice(bank[f"cues_{label}"]))
    own = {"Z": lambda: Filler(_name(rng, split, f"{label}.plain"), label), "cue": lambda: cue}
    draft.add(rng.choice(bank["riddles"]), lambda slot: own[slot]() if slot in own else fill(slot))
    return draft


def _anywhere(rng: Random, split: str, bank: dict) -> Draft:
    draft, fill = Draft(), _filler(rng, split)

    def any_name(slot: str) -> Filler:
        label = rng.choice(("PS", "LC", "OG"))
        return Filler(_shaped(rng, split, label), label) if slot == "X" else fill(slot)

    draft.add(rng.choice(bank["anywhere"]), any_name)
    return draft


def _squeeze(rng: Random, draft: Draft) -> Draft:
    """Drop one space outside the entities, as hasty writers do."""
    spaces = [i for i, char in enumerate(draft.text) if char == " " and not _covered(draft.mentions, i)]
    if spaces:
        at = rng.choice(spaces)
        draft.text = draft.text[:at] + draft.text[at + 1 :]
        draft.mentions = [
            m._replace(start=m.start - (m.start > at), end=m.end - (m.end > at)) for m in draft.mentions
        ]
    return draft


def _filler(rng: Random, split: str) -> Callable[[str], Filler]:
    """Fill slots such as `PS`, `OG.short`, `QT.money`, and `O` (an everyday word, unlabelled)."""

    def fill(slot: str) -> Filler:
        if slot in _AMOUNTS:
            return Filler(_AMOUNTS[slot](rng), slot[:2])
        if slot == "O":
            return Filler(rng.choice(words("everyday")))
        return Filler(_name(rng, split, slot), slot[:2])

    return fill


def _name(rng: Random, split: str, slot: str) -> str:
    """A name of a type: famous, made up, or a bare stem or everyday word that could be of any type."""
    if slot == "PS.family":
        return rng.choice(words("surnames"))
    if slot == "OG.short":
        return lexicon.acronym(rng, split)
    if slot == "PS.given":
        return rng.choice(words("everyday")) if rng.random() < 0.3 else lexicon.given_name(rng, split)
    if slot.endswith(".plain") or ("." not in slot and rng.random() < PLANTED["bare_share"]):
        return rng.choice(words("everyday")) if rng.random() < 0.4 else lexicon.stem(rng, split)
    return _shaped(rng, split, slot)


def _shaped(rng: Random, split: str, slot: str) -> str:
    """A name in the form its type usually has, famous or made up."""
    if rng.random() < PLANTED["popular_share"][split]:
        return zipf(rng, lexicon.popular(_NAMES[slot]))
    return _NAMES[slot](rng, split)


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
