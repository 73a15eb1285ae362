"""Posts with manipulation techniques: ten labels, two languages, trigger spans (half-open, in characters).

Planted truth (`PLANTED`): the class rates, the share of posts without any technique and the language
balance of the UNLP 2025 training file. Labels are correlated through two hidden moods: a dark one
(fear, doubt, cherry-picking, whataboutism, straw men) and a bright one (glittering generalities,
euphoria); English posts are darker. Triggers are sometimes missing and sometimes appear without their
label, so no model can be perfect.
"""

from collections.abc import Callable, Iterator
from functools import cache
from math import prod
from random import Random
from typing import Any

from . import lexicon
from .streams import check, seen_in, stream
from .tables import table
from .templates import Draft, Filler

_POSTS = 3822  # size of the UNLP training file, whose counts these are
_COUNTS = {
    "straw_man": 138,
    "appeal_to_fear": 300,
    "fud": 385,
    "bandwagon": 157,
    "whataboutism": 158,
    "loaded_language": 1973,
    "glittering_generalities": 483,
    "euphoria": 462,
    "cherry_picking": 512,
    "cliche": 463,
}
_DARKNESS = {  # P(technique | dark) / P(technique); the bright mood makes up the difference
    "straw_man": 1.6,
    "appeal_to_fear": 1.6,
    "fud": 1.7,
    "bandwagon": 1.0,
    "whataboutism": 1.5,
    "loaded_language": 1.05,
    "glittering_generalities": 0.4,
    "euphoria": 0.45,
    "cherry_picking": 1.5,
    "cliche": 1.0,
}
PLANTED: dict[str, Any] = {
    "rates": {name: count / _POSTS for name, count in _COUNTS.items()},
    "none": 1233 / _POSTS,
    "cardinality": sum(_COUNTS.values()) / _POSTS,
    "languages": {"ko": 2147 / _POSTS, "en": 1675 / _POSTS},
    "dark": {"ko": 0.38, "en": 0.66},  # share of dark posts among the manipulative ones, by language
    "darkness": _DARKNESS,
    "silent": 0.3,  # labels whose triggers are missing from the text; one always speaks
    "echo": 0.4,  # chance of a further trigger for the same label, and of another after that
    "decoys": 0.6,  # chance of a trigger that nobody labelled, and of another after that
    "overlapping": 0.013,  # posts with overlapping spans
    "unsorted": 0.011,  # posts with spans out of order
}


def posts(split: str, rows: int, seed: int = 0) -> Iterator[dict]:
    """Yield `rows` posts: id, content, lang, manipulative, techniques, trigger_words [start, end)."""
    check(split, rows)
    for index in range(rows):
        rng = stream("posts", split, seed, index)
        lang = "ko" if rng.random() < PLANTED["languages"]["ko"] else "en"
        techniques = _techniques(rng, lang)
        content, spans = _text(rng, split, lang, techniques)
        yield {
            "id": f"sample-post-{split}-{index:05d}",
            "content": content,
            "lang": lang,
            "manipulative": bool(techniques),
            "techniques": techniques,
            "trigger_words": _as_annotated(rng, spans),
        }


def _techniques(rng: Random, lang: str) -> list[str]:
    """Draw a label set: none, or at least one under the mood of the post."""
    if rng.random() < PLANTED["none"]:
        return []
    chances = mood_chances()["dark" if rng.random() < PLANTED["dark"][lang] else "bright"]
    while True:
        drawn = [name for name, chance in chances.items() if rng.random() < chance]
        if drawn:
            return drawn


@cache
def mood_chances() -> dict[str, dict[str, float]]:
    """Independent chances per mood that give the planted rates once empty sets are drawn again.

    With target rates b and e = prod(1 - a) the chance of an empty draw, a = b (1 - e); solved by iteration.
    """
    dark = sum(PLANTED["languages"][lang] * PLANTED["dark"][lang] for lang in PLANTED["languages"])
    chances = {}
    for mood in ("dark", "bright"):
        target = {}
        for name, rate in PLANTED["rates"].items():
            lift = _DARKNESS[name] if mood == "dark" else (1 - dark * _DARKNESS[name]) / (1 - dark)
            target[name] = lift * rate / (1 - PLANTED["none"])
        chance = dict(target)
        for _ in range(50):
            empty = prod(1 - c for c in chance.values())
            chance = {name: rate * (1 - empty) for name, rate in target.items()}
        chances[mood] = chance
    return chances


def _text(rng: Random, split: str, lang: str, techniques: list[str]) -> tuple[str, list[list[int]]]:
    """Mix neutral sentences with the triggers of the techniques; return the text and the trigger spans."""
    spoken = [name for name in techniques if rng.random() >= PLANTED["silent"]]
    if techniques and not spoken:
        spoken = [rng.choice(techniques)]
    units = [(True, t) for name in spoken for t in _triggers(rng, split, lang, name, PLANTED["echo"])]
    units += [(False, t) for t in rng.sample(table("posts")["neutral"][lang], rng.randrange(2, 9))]
    while rng.random() < PLANTED["decoys"]:
        name = rng.choices(tuple(PLANTED["rates"]), [rate**0.5 for rate in PLANTED["rates"].values()])[0]
        units.append((False, rng.choice(_bank(name, lang, split))))
    rng.shuffle(units)
    return _join(units, _filler(rng, split, lang))


@cache
def _bank(name: str, lang: str, split: str) -> tuple[str, ...]:
    return tuple(seen_in(table("posts")["triggers"][name][lang], split))


def _triggers(rng: Random, split: str, lang: str, name: str, echo: float) -> list[str]:
    count = 1
    while rng.random() < echo:
        count += 1
    bank = _bank(name, lang, split)
    return rng.sample(bank, min(count, len(bank)))


def _join(units: list[tuple[bool, str]], fill: Callable[[str], Filler]) -> tuple[str, list[list[int]]]:
    draft, spans = Draft(), []
    for place, (trigger, template) in enumerate(units):
        draft.write(" " if place else "")
        start = len(draft.text)
        draft.add(template, fill)
        if trigger:
            spans.append([start, len(draft.text)])
        draft.text = draft.text[:start] + draft.text[start].upper() + draft.text[start + 1 :]
        draft.write("?" if draft.text.endswith(("까", "죠")) else ".")
    return draft.text, spans


def _filler(rng: Random, split: str, lang: str) -> Callable[[str], Filler]:
    names = {"L": lexicon.town, "O": lexicon.firm, "P": lexicon.person} if lang == "ko" else lexicon.ENGLISH

    def fill(slot: str) -> Filler:
        if slot == "N":
            return Filler(str(rng.randrange(1, 12)))
        if slot in names:
            return Filler(names[slot](rng, split))
        return Filler(rng.choice(table("posts")["vocabulary"][lang][slot]))

    return fill


def _as_annotated(rng: Random, spans: list[list[int]]) -> list[list[int]]:
    """Spans as annotators leave them: a few overlap, a few are out of order."""
    draw = rng.random()
    if spans and draw < PLANTED["overlapping"]:
        start, end = spans[0]
        return [*spans, [start + (end - start) // 2, end]]
    if len(spans) > 1 and draw < PLANTED["overlapping"] + PLANTED["unsorted"]:
        return spans[::-1]
    return spans
