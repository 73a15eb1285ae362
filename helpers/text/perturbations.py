"""Korean text with the errors that people and programs make, and where each character went.

Every kind is generated: which characters change, and into what, is known. Labels move with the text by
`Perturbed.span`; moving the rows of a task is left to the task's room, and what a change does to a model to
an experiment.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from helpers.statistics import Score
from helpers.text.alignment import compatibility_jamo
from helpers.text.morphemes import kiwi

KEYBOARD = ("ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔ", "ㅁㄴㅇㄹㅎㅗㅓㅏㅣ", "ㅋㅌㅊㅍㅠㅜㅡ")  # dubeolsik, row by row
SLANT = (0.0, 0.25, 0.75)  # widths of a key by which each row is moved to the right
LETTERS = (
    "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ",
    "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ",
    " ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ",
)  # of a syllable: initials, vowels, finals; a space stands for no final
PARTICLES = dict(zip("은는이가을를", "는은가이를을", strict=True))  # and the form that does not agree
PARTICLE_TAGS = ("JX", "JKS", "JKC", "JKO")  # kiwi's for topic, subject, complement and object
WIDTHS = dict(zip("0123456789０１２３４５６７８９", "０１２３４５６７８９0123456789", strict=True))
KINDS = ("spaces dropped", "spaces inserted", "typos", "particles", "jamo", "NFD", "digits")


class Perturbed(NamedTuple):
    """A changed text: character j was character `origin[j]` of the original, or -1 where it is new."""

    text: str
    origin: np.ndarray  # (characters,) int64

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Move a half-open range; what was put in at its edges stays outside, what is gone is empty.

        >>> rewritten("ab", {}, before={1: " "}).span(1, 2)
        (2, 3)
        """
        held = np.flatnonzero((self.origin >= start) & (self.origin < end))
        return (int(held[0]), int(held[-1]) + 1) if len(held) else (0, 0)


def perturb(text: str, kind: str, *, rng: np.random.Generator, rate: float = 0.1) -> Perturbed:
    """Change a text by one of KINDS at the share `rate` of the places that the kind can change.

    "typos" hit a neighbouring key of one letter of a syllable; "particles" take the form that does not agree;
    "jamo" spells a syllable out. "NFD" and "digits" (half width ↔ full width) change the whole text.
    """
    if kind not in KINDS or not 0 <= rate <= 1:
        raise ValueError(f"expected one of {', '.join(KINDS)} and a rate in 0 to 1; got {kind!r} and {rate}")
    if kind == "NFD":
        return rewritten(text, {i: unicodedata.normalize("NFD", char) for i, char in enumerate(text)})
    if kind == "digits":
        return rewritten(text, {i: WIDTHS[char] for i, char in enumerate(text) if char in WIDTHS})
    chosen = [place for place in _places(text, kind) if rng.random() < rate]
    if kind == "spaces inserted":
        return rewritten(text, {}, before=dict.fromkeys(chosen, " "))
    return rewritten(text, {place: _changed(text[place], kind, rng) for place in chosen})


def change(score: Score, width: int) -> Score:
    """Make a score of sums (…, width × blocks): the mean of all blocks but the first, minus the first."""

    def gap(sums: np.ndarray) -> np.ndarray:
        found = score(sums.reshape(*sums.shape[:-1], -1, width))
        return found[..., 1:].mean(axis=-1) - found[..., 0]

    return gap


def rewritten(text: str, changes: Mapping[int, str], *, before: Mapping[int, str] = {}) -> Perturbed:
    """Replace single characters, by position, and put new text in front of others."""
    pieces = [(before.get(i, ""), changes.get(i, char)) for i, char in enumerate(text)]
    origin = [at for i, (put, own) in enumerate(pieces) for at in [-1] * len(put) + [i] * len(own)]
    return Perturbed("".join(put + own for put, own in pieces), np.array(origin, dtype=np.int64))


def _places(text: str, kind: str) -> Sequence[int]:
    """Find the characters that a kind can change, or in front of which it can put something."""
    if kind == "particles":
        return [
            token.start
            for token in kiwi().tokenize(text)
            if token.tag in PARTICLE_TAGS and text[token.start : token.end] in PARTICLES
        ]
    if kind == "spaces dropped":
        return [i for i, char in enumerate(text) if char == " "]
    if kind == "spaces inserted":
        return [i for i in range(1, len(text)) if not text[i - 1 : i + 1].count(" ")]
    return [i for i, char in enumerate(text) if "가" <= char <= "힣"]


def _changed(char: str, kind: str, rng: np.random.Generator) -> str:
    if kind == "spaces dropped":
        return ""
    if kind == "particles":
        return PARTICLES[char]
    if kind == "jamo":
        return compatibility_jamo(unicodedata.normalize("NFD", char))
    options = _slips(char)
    return options[rng.integers(len(options))] if options else char


@cache
def _slips(syllable: str) -> tuple[str, ...]:
    """List the syllables that one slip to a neighbouring key makes of it; it stays one syllable."""
    code = ord(syllable) - ord("가")
    slots = zip(LETTERS, (code // 588, code // 28 % 21, code % 28), (588, 28, 1), strict=True)
    return tuple(
        chr(ord(syllable) + (letters.index(other) - own) * step)
        for letters, own, step in slots
        for other in _neighbours(letters[own])
        if other in letters
    )


@cache
def _neighbours(letter: str) -> tuple[str, ...]:
    """List the letters whose keys touch that of `letter`; none for letters typed with two keys or Shift."""
    at = {key: (SLANT[row] + i, row) for row, keys in enumerate(KEYBOARD) for i, key in enumerate(keys)}
    if letter not in at:
        return ()
    x, y = at[letter]
    return tuple(key for key, (a, b) in at.items() if key != letter and np.hypot(a - x, b - y) < 1.3)
