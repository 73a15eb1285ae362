"""A computed English text in another language, found through the templates that it was made from.

A notebook makes its sentences from templates, one inside another. A phrasebook knows each template's
translation; it finds which ones a text was made from, translates what was filled in by the same rule, and
fills it in again. Numbers, names and code stay as they are. Nothing has to be computed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from helpers.sample_world.particles import FORMS, particle

FIELD = re.compile(r"\{([\w.\[\]]+)(?:![rs])?(?::([^{}]*))?\}")
NUMBER = r"[+−-]?(?:[\d,]*\.?\d+|–|nan)(?: ?%)?(?: \[[^\]]*\])?"
NUMERIC = re.compile(r"[+,\d.]*[dfg%,]|\+?,?\.?\d*")  # a format that only numbers have
FIGURES = ("size", "signed")  # fields of `wording.finding` that hold a number without such a format
EDGE = " \n.,;:!?*"  # what may stand around a phrase without belonging to it
# Where a text may be cut: between sentences, in lists, around numbers and brackets.
JOINT = re.compile(
    r"[.?!] |; |, (?:and )?(?![+−-]?[\d.]+\])|: | · | and | → | ↔ | − |\n+| \(|\)(?: |(?=[.,;:])|$)"
    r"|(?<=[\d\])%]) (?=[A-Za-z])|(?<!,) (?=[+−-]?\d)"
)
JOINED = {" and ": ", ", ", and ": ", ", " (": "("}
# Of two ways that leave as much, the one with fewer parts, then with smaller fields: in letters left.
CUT, SWALLOWED = 0.05, 0.01
LONGEST = 30  # parts of a text that are taken for one phrase
# An ordinary word: letters alone, at most the first of them large. All else is a name, a number or code.
WORD = re.compile(r"(?<![\w`@:/.+=<>#-])[A-Za-z]?[a-z]+(?:'s|s')?(?:-[a-z]+)*(?![\w`@/+=-]|[.:]\w)")
PARTICLE = re.compile(r"\[(" + "|".join(sorted(FORMS, key=len, reverse=True)) + r")/\w*\]")


Told = tuple[float, str]
"""What a translation costs, and the text."""


class Template(NamedTuple):
    """One phrase with fields, and how it is found: with fields as short, and as long, as can be."""

    english: str
    other: str
    literal: str  # its longest part without a field, which any text made from it holds
    patterns: tuple[re.Pattern, ...]


class Phrasebook:
    """Translates texts by pairs of phrases; a phrase without fields is found as a whole, in any case."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.whole: dict[str, str] = {}
        self.templates: list[Template] = []
        for english, other in pairs:
            if FIELD.search(english):
                if WORD.search(FIELD.sub(" ", english)):  # else it would fit anything
                    self.templates.append(_template(english.strip(EDGE), other.strip(EDGE)))
            else:
                self.whole[english.strip(EDGE)] = other.strip(EDGE)
        self.templates.sort(key=lambda template: -len(FIELD.sub("", template.english)))
        self.known: dict[str, Told] = {}
        self._phrase = cache(self._phrase)  # type: ignore[method-assign]  # the same part is tried again and again

    def __call__(self, text: str) -> str:
        """Return the text translated as far as it can be."""
        return self.best(text)[1]

    def left(self, text: str) -> int:
        """Return how many letters of ordinary words a text would keep."""
        return int(self.best(text)[0])

    def best(self, text: str) -> Told:
        """Return the translation that costs least: letters left, and joints that a field has swallowed."""
        if not WORD.search(text) and text.strip(EDGE) not in self.whole:
            return 0, text
        if text not in self.known:
            core = text.strip(EDGE)
            start = text.index(core)
            left, told = self._joined(core)
            self.known[text] = left, text[:start] + told + text[start + len(core) :]
        return self.known[text]

    def _joined(self, text: str) -> Told:
        """Translate neighbouring parts of a text, each run of them as one phrase where that leaves less."""
        found = self._phrase(text)
        cuts = [match.span() for match in JOINT.finditer(text)]
        if found[0] == 0 or not cuts:
            return found
        starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
        best: list[Told] = [(0, "")]
        for last, end in enumerate(ends):
            ways = []
            for first in range(max(0, last - LONGEST), last + 1):
                if (first, last) == (0, len(ends) - 1):
                    continue
                left, told = self._phrase(text[starts[first] : end])
                joint = text[ends[first - 1] : starts[first]] if first else ""
                before = best[first]
                ways.append(
                    (before[0] + left + CUT * bool(first), before[1] + JOINED.get(joint, joint) + told)
                )
            best.append(min(ways, key=lambda way: way[0]))
        return min(found, best[-1], key=lambda way: way[0])

    def _phrase(self, text: str) -> Told:
        """Translate a text as one phrase: known as a whole, or made from a template."""
        core = text.strip(EDGE)
        if core != text and core:
            left, told = self._phrase(core)
            return left, text.replace(core, told, 1)
        for spelled in (text, text[:1].lower() + text[1:], text[:1].upper() + text[1:]):
            if spelled in self.whole:
                return 0, self.whole[spelled]
        best: Told = sum(map(len, WORD.findall(text))), text
        for template in self.templates:
            if best[0] == 0:
                break
            if template.literal in text:
                best = min([best, *self._filled(template, text)], key=lambda way: way[0])
        return best

    def _filled(self, template: Template, text: str) -> Iterable[Told]:
        for match in {
            match.regs: match for pattern in template.patterns if (match := pattern.fullmatch(text))
        }.values():
            parts = {name: self.best(part) for name, part in match.groupdict().items()}
            told = {field[1]: parts[_group(field[1])][1] for field in FIELD.finditer(template.english)}
            joints = sum(len(JOINT.findall(part)) for part in match.groupdict().values())
            yield sum(left for left, _ in parts.values()) + SWALLOWED * joints, filled(template.other, told)


def filled(template: str, fields: dict[str, str]) -> str:
    """Fill a translated template; `[은/는]` and the like agree with what stands before them.

    >>> filled("{system}[이/가] {than}[을/를] 앞선다", {"system": "SWA", "than": "마지막 가중치"})
    'SWA가 마지막 가중치를 앞선다'
    """
    return agreed(FIELD.sub(lambda field: fields.get(field[1], field[0]), template))


def agreed(text: str) -> str:
    """Choose the form of every particle written as `[은/는]`."""
    while match := PARTICLE.search(text):
        try:
            chosen = particle(text[: match.start()].rstrip("*`"), match[1])
        except ValueError:  # it follows neither a letter nor a digit
            chosen = match[1]
        text = text[: match.start()] + chosen + text[match.end() :]
    return text


def _template(english: str, other: str) -> Template:
    literals = [part for part in FIELD.split(english)[::3] if part]
    return Template(
        english, other, max(literals, key=len, default=""), tuple(dict.fromkeys(_patterns(english)))
    )


def _patterns(english: str) -> Iterable[re.Pattern]:
    for wanted in (r"(?:(?![.?!] ).)+?", r"(?:(?![.?!] ).)+"):
        parts: list[str] = []
        seen: set[str] = set()
        at = 0
        for field in FIELD.finditer(english):
            name, form = _group(field[1]), field[2] or ""
            figure = field[1] in FIGURES or (form and NUMERIC.fullmatch(form))
            kind = NUMBER if figure else wanted
            group = f"(?P={name})" if name in seen else f"(?P<{name}>{kind})"
            parts += [re.escape(english[at : field.start()]), group]
            at, seen = field.end(), seen | {name}
        yield re.compile("".join([*parts, re.escape(english[at:])]), re.DOTALL)


def _group(field: str) -> str:
    """Return a name that a regular expression accepts for a field, also for `own[guide]`."""
    return "f_" + re.sub(r"\W", "_", field)
