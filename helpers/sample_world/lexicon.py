"""Names of the fictional world, put together from syllables: people, places, organisations, works.

Every stem belongs to train or to dev, and a few popular names to both, so dev is full of names that
training never showed. Some names are also everyday words or names of another kind: only context can
tell.
"""

from collections.abc import Callable
from functools import cache
from random import Random
from zlib import crc32

from . import wordlists
from .streams import SPLITS, stream
from .wordlists import EVERYDAY, SURNAMES

_SYLLABLES = {
    "given": (wordlists.GIVEN_FIRST, wordlists.GIVEN_SECOND),
    "stem": (wordlists.STEM_FIRST, wordlists.STEM_SECOND),
    "english": (wordlists.ENGLISH_FIRST, wordlists.ENGLISH_SECOND),
    "foreign": (wordlists.FOREIGN_FIRST, wordlists.FOREIGN_SECOND),
}
_COMMON_WORDS = frozenset(wordlists.REAL_STEMS + EVERYDAY)


def _owner(stem: str) -> str:
    return SPLITS[crc32(stem.encode()) % 2]


@cache
def _pool(kind: str, split: str) -> tuple[str, ...]:
    """All two-syllable stems of a kind that belong to a split, each in exactly one."""
    first, second = _SYLLABLES[kind]
    stems = (a + b for a in first for b in second if a != b)
    return tuple(sorted(s for s in stems if _owner(s) == split and s not in _COMMON_WORDS))


def given_name(rng: Random, split: str) -> str:
    return rng.choice(_pool("given", split))


def stem(rng: Random, split: str) -> str:
    return rng.choice(_pool("stem", split))


def person(rng: Random, split: str) -> str:
    """Full name of a person; now and then the given name is an everyday word, or the person a foreigner."""
    draw = rng.random()
    if draw < 0.06:
        return f"{rng.choice(wordlists.FOREIGN_GIVEN)} {rng.choice(_pool('foreign', split))}"
    surname = SURNAMES[int(len(SURNAMES) * rng.random() ** 1.6)]
    return surname + (rng.choice(EVERYDAY) if draw < 0.10 else given_name(rng, split))


def place(rng: Random, split: str) -> str:
    """A place: mostly a stem with a suffix; also bare stems, everyday words and foreign countries."""
    draw = rng.random()
    if draw < 0.12:
        return rng.choice(_pool("foreign", split)) + rng.choice(wordlists.NATIONS)
    if draw < 0.27:
        return stem(rng, split)
    if draw < 0.32:
        return rng.choice(EVERYDAY) + rng.choice(("마을", "공원", " 광장", " 카페거리"))
    if draw < 0.38:
        return (
            f"{stem(rng, split)}{rng.choice(('시', '군'))} {stem(rng, split)}{rng.choice(('동', '읍', '면'))}"
        )
    return stem(rng, split) + rng.choice(wordlists.PLACE_SUFFIXES)


def town(rng: Random, split: str) -> str:
    """A place where one can be born, live or keep an office."""
    return stem(rng, split) + rng.choice(wordlists.TOWN_SUFFIXES)


def nation(rng: Random, split: str) -> str:
    return rng.choice(_pool("foreign", split)) + rng.choice(wordlists.NATIONS)


def firm(rng: Random, split: str) -> str:
    return stem(rng, split) + rng.choice(wordlists.FIRM_SUFFIXES)


def club(rng: Random, split: str) -> str:
    return stem(rng, split) + rng.choice(wordlists.CLUB_SUFFIXES)


def school(rng: Random, split: str) -> str:
    return stem(rng, split) + rng.choice(wordlists.SCHOOL_SUFFIXES)


def press(rng: Random, split: str) -> str:
    return stem(rng, split) + rng.choice(wordlists.PRESS_SUFFIXES)


def body(rng: Random, split: str) -> str:
    return stem(rng, split) + rng.choice(wordlists.BODY_SUFFIXES)


def acronym(rng: Random, split: str) -> str:
    """Two or three Latin letters whose owner is the split."""
    while True:
        letters = "".join(rng.choices("BCDGHJKLMNPRSTVW", k=rng.choice((2, 3, 3))))
        if _owner(letters) == split:
            return letters


def organisation(rng: Random, split: str) -> str:
    """An organisation: firms, schools, clubs, offices; also acronyms, bare stems and everyday words."""
    draw = rng.random()
    if draw < 0.08:
        return acronym(rng, split) + rng.choice(("", "", "그룹", "엔터테인먼트"))
    if draw < 0.18:
        return stem(rng, split)
    if draw < 0.22:
        return rng.choice(EVERYDAY)
    if draw < 0.52:
        return firm(rng, split)
    make = school if draw < 0.66 else club if draw < 0.76 else body
    return make(rng, split)


def work(rng: Random) -> str:
    """Title of a song, book or film."""
    return f"{rng.choice(wordlists.WORK_HEADS)} {rng.choice(wordlists.WORK_TAILS)}"


def product(rng: Random) -> str:
    """Name of a thing that a firm sells."""
    return (
        rng.choice(wordlists.BRANDS)
        + rng.choice(wordlists.MODELS)
        + rng.choice(("", "", " 2", " X", " 미니"))
    )


def _english(rng: Random, split: str) -> str:
    return rng.choice(_pool("english", split))


# Names for English text, by the slots that posts use.
ENGLISH = {
    "L": _english,
    "O": lambda rng, split: f"{_english(rng, split)} {rng.choice(wordlists.ENGLISH_FIRMS)}",
    "P": lambda rng, split: f"{rng.choice(wordlists.ENGLISH_GIVEN)} {_english(rng, split)}",
}


@cache
def popular(make: Callable[[Random, str], str], size: int = 120) -> tuple[str, ...]:
    """Names of a sort that are known in both splits, the most famous first."""
    rng = stream("popular", make.__name__)
    return tuple(dict.fromkeys(make(rng, rng.choice(SPLITS)) for _ in range(size)))
