"""A notebook's own words in another language, put in when its report is rendered: nothing is computed again.

Catalogues are lists of pairs, `en` and `ko`: `notebooks/<language>/<notebook>.yaml` for one notebook, and
`<language>.yaml` beside this module for what the package says in all of them. A pair is a line of Markdown,
or a template of the code with its fields; `phrases` finds those that a computed sentence was made from.
`python -m tests.translatable` lists what is missing.

    - en: "{words} beats it by {gap:+.1f}"
      ko: "{words}[이/가] {gap}만큼 앞선다"
"""

from __future__ import annotations

import copy
import html
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from helpers.display import messages, notation
from helpers.display.phrases import FIELD, WORD, Phrasebook, filled

SHARED = Path(__file__).parent
FIGURE = ("title", "description", "alt")  # what a figure says of itself; see `captions`
MARKER = re.compile(r"\s*(?:#{1,6} |[-*] (?:\[.\] )?|\d+\. |> )?")  # of a heading, an item, a quotation
CELL = re.compile(r"(?<!\\)\|")  # of a table in Markdown
SHOWN = re.compile(r"(<(?:caption|th|td)\b[^>]*>(?:<span aria-hidden[^>]*>[^<]*</span>)?)([^<]+)")
DRAWN = re.compile(r'(<span style="opacity:\.8;font-size:\.8em">)([^<]+)')  # a caption of `highlight`
COMMENT = re.compile(r"(?m)(  # )(.+)$")  # of a parameter
INERT = re.compile(r"\\([\\`*_{}\[\]$|])")


class Catalogue:
    """The translations that one notebook's report uses: the package's, and its own if it has any."""

    def __init__(self, shared: Iterable[tuple[str, str]], own: Iterable[tuple[str, str]] = ()) -> None:
        every, particular = dict(shared), dict(own)
        self.complete = bool(particular)
        self.pairs = {english: other for english, other in (every | particular).items() if other}
        self.phrases = Phrasebook(self.pairs.items())

    def notebook(self, notebook: Mapping[str, Any]) -> dict[str, Any]:
        """Return the notebook with its prose and its outputs translated; cells that are wholly say so."""
        changed = copy.deepcopy(dict(notebook))
        for cell in changed["cells"]:
            prose = lines(cell["source"]) if cell["cell_type"] == "markdown" else []
            cell["metadata"]["translated"] = self.complete and all(text in self.pairs for text in prose)
            if prose:
                cell["source"] = "\n".join(map(self.line, cell["source"].split("\n")))
            elif "parameters" in cell["metadata"].get("tags", ()):
                cell["source"] = COMMENT.sub(lambda match: match[1] + self._within(match[2]), cell["source"])
            for output in cell.get("outputs", ()):
                self._output(output)
        return changed

    def metrics(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record with question, verdict and the names of headline figures translated."""
        told = {name: self.phrases(metrics[name]) for name in ("question", "verdict") if name in metrics}
        rows = [
            row | {name: self.phrases(row[name]) for name in ("name", "than") if name in row}
            for row in metrics.get("headline", [])
        ]
        return {**metrics, **told, "headline": rows}

    def line(self, text: str) -> str:
        """Translate one line of Markdown: what stands behind its marker, or in the cells of a table."""
        if text.lstrip().startswith("|"):
            return "|".join(self._within(cell) for cell in CELL.split(text))
        marker = MARKER.match(text)
        at = marker.end() if marker else 0
        return text[:at] + self._within(text[at:])

    def _within(self, text: str) -> str:
        core = text.strip()
        return text.replace(core, self.pairs.get(core, core), 1) if core else text

    def _output(self, output: dict[str, Any]) -> None:
        data = output.get("data", {})
        for kind, way in (("text/html", self._table), ("image/svg+xml", self._drawing)):
            if kind in data:
                data[kind] = way("".join(data[kind]))
        words = output.get("metadata", {})
        if "text/markdown" in data:
            data["text/markdown"] = self._sentence(
                "".join(data["text/markdown"]), words.get("text/markdown", {})
            )
        for own in words.values():
            if isinstance(own, dict):
                own |= {name: self.phrases(own[name]) for name in FIGURE if name in own}
        if output.get("output_type") == "stream":
            output["text"] = "\n".join(map(self.phrases, "".join(output["text"]).split("\n")))

    def _sentence(self, text: str, made: Mapping[str, Any]) -> str:
        """Fill a sentence of `tables.say` anew, in the other language."""
        template = made.get("template", "")
        if not template or (template not in self.pairs and WORD.search(FIELD.sub("", template))):
            return self.phrases(text)
        fields = {
            match[1]: self._field(written)
            for field, written in made["fields"].items()
            if (match := FIELD.fullmatch(field))
        }
        return filled(self.pairs.get(template, template), fields)

    def _field(self, written: str) -> str:
        plain = INERT.sub(r"\1", html.unescape(written))
        return notation.inert(self.phrases(plain)) if WORD.search(plain) else written

    def _table(self, markup: str) -> str:
        for place in (SHOWN, DRAWN):
            markup = place.sub(
                lambda match: match[1] + html.escape(self.phrases(html.unescape(match[2])), quote=False),
                markup,
            )
        return markup

    def _drawing(self, svg: str) -> str:
        said = re.compile(r"(<text\b[^>]*>)([^<]+)")
        return said.sub(lambda match: match[1] + html.escape(self.phrases(html.unescape(match[2]))), svg)


def lines(source: str) -> list[str]:
    """Return the texts of a Markdown cell, one for each line or cell of a table, without code."""
    found, code = [], False
    for line in source.split("\n"):
        code ^= line.lstrip().startswith("```")
        marker = MARKER.match(line)
        parts = CELL.split(line) if line.lstrip().startswith("|") else [line[marker.end() if marker else 0 :]]
        found += [part.strip() for part in parts if not (code or part.startswith("$$"))]
    return [text for text in found if WORD.search(text)]


def pairs(path: Path, language: str = "ko") -> list[tuple[str, str]]:
    """Return the pairs of a catalogue; none where there is no file."""
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
        return [(entry["en"], entry[language]) for entry in entries]
    except FileNotFoundError:
        return []
    except (yaml.YAMLError, TypeError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is not a list of `en` and `{language}`: {reason}") from error


def shared(language: str) -> dict[str, str]:
    """Return what the package says in every notebook: words of its pages, texts of tables and figures."""
    column = messages.LANGUAGES.index(language)
    # A word that English does without would stand for every empty text.
    words = {said[0]: said[column] for said in messages.MESSAGES.values() if said[0] and "{" not in said[0]}
    return words | dict(pairs(SHARED / f"{language}.yaml", language))


def load(folder: Path, notebook: str) -> Catalogue:
    """Return the catalogue of a notebook in `notebooks/<language>`, with the package's own pairs."""
    return Catalogue(shared(folder.name).items(), pairs(folder / f"{notebook}.yaml", folder.name))
