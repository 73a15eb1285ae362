"""Names of the fictional world, put together from syllables: people, places, organisations, works.

Every stem belongs to train or to dev, and a few popular names to both, so dev is full of names that
training never showed. Some names are also everyday words or names of another kind: only context can
tell.
"""

from collections.abc import Callable
from functools import cache
from random import Random
from zlib import crc32

from .streams import SPLITS, stream
from .tables import words


def _owner(stem: str) -> str:
    return SPLITS[crc32(stem.encode()) % 2]


@cache
def _pool(kind: str, split: str) -> tuple[str, ...]:
    """All two-syllable stems of a kind (given, stem, english, foreign) that belong to a split."""
    common = {*words("real_stems"), *words("everyday")}
    stems = {a + b for a in words(f"{kind}_first") for b in words(f"{kind}_second") if a != b}
    return tuple(sorted(s for s in stems - common if _owner(s) == split))


def given_name(rng: Random, split: str) -> str:
    return rng.choice(_pool("given", split))


def stem(rng: Random, split: str) -> str:
    return rng.choice(_pool("stem", split))


def person(rng: Random, split: str) -> str:
    """Full name of a person; now and then the given name is an everyday word, or the person a foreigner."""
    draw = rng.random()
    if draw < 0.06:
        return f"{rng.choice(words('foreign_given'))} {rng.choice(_pool('foreign', split))}"
    surnames = words("surnames")
    surname = surnames[int(len(surnames) * rng.random() ** 1.6)]
    return surname + (rng.choice(words("everyday")) if draw < 0.10 else given_name(rng, split))


def place(rng: Random, split: str) -> str:
    """A place: mostly a stem with a suffix; also bare stems, everyday words and foreign countries."""
    draw = rng.random()
    if draw < 0.12:
        return rng.choice(_pool("foreign", split)) + rng.choice(words("nations"))
    if draw < 0.27:
        return stem(rng, split)
    if draw < 0.32:
        return rng.choice(words("everyday")) + rng.choice(("마을", "공원", " 광장", " 카페거리"))
    if draw < 0.38:
        return (
            f"{stem(rng, split)}{rng.choice(('시', '군'))} {stem(rng, split)}{rng.choice(('동', '읍', '면'))}"
        )
    return stem(rng, split) + rng.choice(words("place_suffixes"))


def town(rng: Random, split: str) -> str:
    """A place where one can be born, live or keep an office."""
    return stem(rng, split) + rng.choice(words("town_suffixes"))


def nation(rng: Random, split: str) -> str:
    return rng.choice(_pool("foreign", split)) + rng.choice(words("nations"))


def firm(rng: Random, split: str) -> str:
    return stem(rng, split) + rng.choice(words("firm_suffixes"))


def club(rng: Random, split: str) -> str:
    return stem(rng, split) + rng.choice(words("club_suffixes"))


def school(rng: Random, split: str) -> str:
    return stem(rng, split) + rng.choice(words("school_suffixes"))


def press(rng: Random, split: str) -> str:
    return stem(rng, split) + rng.choice(words("press_suffixes"))


def body(rng: Random, split: str) -> str:
    return stem(rng, split) + rng.choice(words("body_suffixes"))


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
        return rng.choice(words("everyday"))
    if draw < 0.52:
        return firm(rng, split)
    make = school if draw < 0.66 else club if draw < 0.76 else body
    return make(rng, split)


def work(rng: Random) -> str:
    """Title of a song, book or film."""
    return f"{rng.choice(words('work_heads'))} {rng.choice(words('work_tails'))}"


def product(rng: Random) -> str:
    """Name of a thing that a firm sells."""
    return (
        rng.choice(words("brands")) + rng.choice(words("models")) + rng.choice(("", "", " 2", " X", " 미니"))
    )


def _english(rng: Random, split: str) -> str:
    return rng.choice(_pool("english", split))


# Names for English text, by the slots that posts use.
ENGLISH = {
    "L": _english,
    "O": lambda rng, split: f"{_english(rng, split)} {rng.choice(words('english_firms'))}",
    "P": lambda rng, split: f"{rng.choice(words('english_given'))} {_english(rng, split)}",
}


@cache
def popular(make: Callable[[Random, str], str]) -> tuple[str, ...]:
    """About a hundred names of a sort that are known in both splits, the most famous first."""
    rng = stream("popular", make.__name__)
    return tuple(dict.fromkeys(make(rng, rng.choice(SPLITS)) for _ in range(120)))
