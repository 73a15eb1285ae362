"""Glosses on text that is HTML already: the language of Hangul passages, minus signs, explained terms.

One pass over the text between tags; code, formulas and drawings are left as they are. Terms and their
explanations are in `glossary.yaml`; a term is marked where it first occurs in a section.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from helpers.display import notation

GLOSSARY = Path(__file__).with_name("glossary.yaml")
# A tag, with its attributes read as quoted strings: they may hold ">". Comments count as tags.
TAG = re.compile(r"""<!--.*?-->|</?([a-zA-Z][\w-]*)(?:[^<>"']|"[^"]*"|'[^']*')*>""", re.DOTALL)
SYLLABLES = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"
# From the first syllable to the last, over spaces, digits and punctuation between them.
HANGUL = re.compile(rf"[{SYLLABLES}](?:[^<>A-Za-z&]*[{SYLLABLES}])?")
# A line may end before a button; not between a bracket and the term that it opens with.
OPENED = re.compile(r'[(\["“]<button type="button" class="term"[^>]*>[^<]*</button>')
# Inside these nothing is added, or the language alone, or all but terms. What has a language is left alone.
NOTHING = dict.fromkeys(("math", "style", "script", "svg", "button"), "nothing")
LIMITS = NOTHING | dict.fromkeys(("code", "pre", "kbd"), "language")
LIMITS |= dict.fromkeys(("a", "h1", "h2", "h3", "h4", "summary", "mark", "caption"), "no terms")


class Term(NamedTuple):
    """A term of the glossary in one language."""

    id: str
    name: str
    meaning: str


class Annotator:
    """Works through the fragments of one page in order; `used` are the terms it marked."""

    def __init__(self, language: str = "en") -> None:
        self.language = language
        self.pattern, self.terms = _glossary(language)
        self.used: dict[str, Term] = {}
        self.explained: set[str] = set()

    def section(self) -> None:
        """Begin a section: terms are explained again where they occur next."""
        self.explained = set()

    def __call__(self, fragment: str, *, terms: bool = True) -> str:
        """Return an HTML fragment with its text annotated; `terms` False leaves terms alone."""
        out, at = [], 0
        within: list[tuple[str, str]] = []  # open elements that limit what is added, and those of their name
        for tag in TAG.finditer(fragment):
            out += [self._text(fragment[at : tag.start()], {limit for _, limit in within}, terms), tag[0]]
            at, name = tag.end(), (tag[1] or "").lower()
            limit = "nothing" if " lang=" in tag[0] else LIMITS.get(name, "")
            same = [place for place, (opened, _) in enumerate(within) if opened == name]
            if tag[0].startswith("</"):
                if same:
                    del within[same[-1] :]
            elif (limit or same) and not tag[0].endswith("/>"):
                within.append((name, limit))
        out.append(self._text(fragment[at:], {limit for _, limit in within}, terms))
        return "".join(out)

    def _text(self, text: str, limits: set[str], terms: bool) -> str:
        if not text or text.isspace() or "nothing" in limits:
            return text
        if "language" not in limits:
            text = notation.minus(text)
            if terms and not limits - {""}:
                text = OPENED.sub(r'<span class="whole">\g<0></span>', self.pattern.sub(self._mark, text))
        return self._hangul(text)

    def _hangul(self, text: str) -> str:
        """Name the language of Hangul; inside the buttons just made, too, but not in their attributes."""
        if self.language == "ko":
            return text
        parts = re.split(r"(<[^>]*>)", text)
        parts[::2] = [HANGUL.sub(r'<span lang="ko">\g<0></span>', part) for part in parts[::2]]
        return "".join(parts)

    def _mark(self, match: re.Match) -> str:
        term = self.terms[match[0].lower()]
        if term.id in self.explained:
            return match[0]
        self.explained.add(term.id)
        self.used[term.id] = term
        opens = f'popovertarget="{term.id}" popovertargetaction="show"'
        return f'<button type="button" class="term" {opens}>{match[0]}</button>'


@cache
def _glossary(language: str) -> tuple[re.Pattern, dict[str, Term]]:
    """Return the pattern that finds any term, and the terms by their spelling."""
    terms: dict[str, Term] = {}
    spelled: list[str] = []
    for number, entry in enumerate(yaml.safe_load(GLOSSARY.read_text(encoding="utf-8"))):
        name, meaning = entry[language]
        words = [*entry["words"], name] if language != "en" else entry["words"]
        spelled += words
        terms |= {word.lower(): Term(f"term-{number}", name, meaning) for word in words}
    pattern = "|".join(
        re.escape(word) if word[0].isupper() else f"(?i:{re.escape(word)})"
        for word in sorted(spelled, key=len, reverse=True)
    )
    letter = r"\w" if language == "en" else "A-Za-z0-9_"  # in Korean, particles follow a term
    return re.compile(rf"(?<![\w@+/-])(?:{pattern})(?![{letter}@+/]|-\w)"), terms
