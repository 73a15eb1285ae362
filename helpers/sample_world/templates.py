"""Sentence templates: `{slot}` takes a filler, `[은]` a particle that agrees with whatever came before it.

A `Draft` grows one template at a time and remembers where each labelled filler landed. What fills a
slot is the caller's business.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from .particles import FORMS, particle

TEXT, SLOT, PARTICLE = range(3)
_PIECE = re.compile(r"\{([^{}]+)\}|\[([가-힣]+)\]")


class Mention(NamedTuple):
    """A labelled stretch of text, half-open; `key` is whatever the caller needs to tell mentions apart."""

    start: int
    end: int
    label: str
    key: object = None


class Filler(NamedTuple):
    """What goes into a slot; without a label it is plain text."""

    text: str
    label: str = ""
    key: object = None


class Draft:
    """A sentence under construction."""

    def __init__(self) -> None:
        self.text = ""
        self.mentions: list[Mention] = []

    def write(self, text: str) -> None:
        self.text += text

    def mention(self, filler: Filler) -> None:
        start = len(self.text)
        self.text += filler.text
        if filler.label:
            self.mentions.append(Mention(start, len(self.text), filler.label, filler.key))

    def add(self, template: str, fill: Callable[[str], Filler]) -> None:
        """Append a template; slots are filled from left to right."""
        for kind, value in parse(template):
            if kind == TEXT:
                self.text += value
            elif kind == SLOT:
                self.mention(fill(value))
            else:
                self.text += particle(self.text, value)


@cache
def parse(template: str) -> tuple[tuple[int, str], ...]:
    """Split a template into (kind, value) pieces; an unknown particle is an error, found on first use."""
    pieces, position = [], 0
    for match in _PIECE.finditer(template):
        if match.start() > position:
            pieces.append((TEXT, template[position : match.start()]))
        if match[2] and match[2] not in FORMS:
            raise ValueError(f"expected a particle as after a consonant, got [{match[2]}] in {template!r}")
        pieces.append((SLOT, match[1]) if match[1] else (PARTICLE, match[2]))
        position = match.end()
    if position < len(template):
        pieces.append((TEXT, template[position:]))
    return tuple(pieces)


def slots(template: str) -> tuple[str, ...]:
    """Names of a template's slots, in order, repeats included."""
    return tuple(value for kind, value in parse(template) if kind == SLOT)
