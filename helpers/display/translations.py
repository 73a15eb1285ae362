"""A notebook's own prose in another language, put in when its report is rendered.

A catalogue is `notebooks/<language>/<notebook>.yaml`. Nothing is computed again: a sentence of `tables.say`
carries its template and what filled it, so that a translated template is filled with the same figures. What a
catalogue does not hold stays English, and the page says that it is.

    question: 표지가 관계 분류에 도움이 되는가?
    verdict:                                # by the decision of the first effect, or one text for all
      better: "유형 표지는 {typed − none}만큼 낫다."
      undecided: "유형 표지의 효과는 {typed − none}, 판단할 수 없다."
    names: {typed − none: 유형 표지의 효과}    # headline rows
    words: {helps: 도움이 된다}                # whole texts: captions, headings, titles of figures,
                                             # and strings that were filled into sentences
    cells:
      data-heading: "## 데이터\n…"            # Markdown cells by their id
      takeaway: "이득은 **{gain:+.1f}** 점이다."  # a sentence's template, with the fields of the English one
      two-sentences: ["…", "…"]              # one for every sentence of the cell
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from helpers.display import notation

FIGURE = ("title", "description", "alt")  # what a figure says of itself; see `captions`
KEYS = {"question", "verdict", "names", "words", "cells"}


class Catalogue:
    """The translations of one notebook; an empty one translates nothing."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        unknown = set(content) - KEYS
        if unknown:
            raise ValueError(f"unknown {sorted(unknown)}; a catalogue has {', '.join(sorted(KEYS))}")
        self.cells: Mapping[str, str | list[str]] = content.get("cells") or {}
        self.words: Mapping[str, str] = content.get("words") or {}
        self.names: Mapping[str, str] = content.get("names") or {}
        self.question: str = content.get("question", "")
        self.verdict: str | Mapping[str, str] = content.get("verdict", "")

    def notebook(self, notebook: Mapping[str, Any]) -> dict[str, Any]:
        """Return the notebook with what is translated; the metadata of such cells says `translated`."""
        changed = copy.deepcopy(dict(notebook))
        for cell in changed["cells"]:
            for output in cell.get("outputs", ()):
                self._texts(output)
            own = self.cells.get(cell.get("id", ""))
            if own is None:
                continue
            cell["metadata"]["translated"] = True
            if cell["cell_type"] == "markdown":
                cell["source"] = own if isinstance(own, str) else own[0]
            else:
                self._sentences(cell, [own] if isinstance(own, str) else list(own))
        return changed

    def metrics(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record with question, verdict and headline names translated where they are known."""
        headline = [dict(row) for row in metrics.get("headline", [])]
        decided = next((row["decision"] for row in headline if row.get("decision")), "")
        verdict = self.verdict if isinstance(self.verdict, str) else self.verdict.get(decided, "")
        for row in headline:
            verdict = verdict.replace(f"{{{row['name']}}}", _figure(row))
            for field in ("name", "than"):
                if field in row:
                    row[field] = self.names.get(row[field], row[field])
        changed = {"question": self.question, "verdict": verdict}
        return {**metrics, **{key: text for key, text in changed.items() if text}, "headline": headline}

    def _texts(self, output: dict[str, Any]) -> None:
        """Translate captions and headings of a table, and the title and description of a figure."""
        data = output.get("data", {})
        if "text/html" in data:
            whole = re.compile(r"(<(?:caption|th)\b[^>]*>)([^<]*)(?=</)")
            text = "".join(data["text/html"])
            data["text/html"] = whole.sub(lambda match: match[1] + self.words.get(match[2], match[2]), text)
        for words in output.get("metadata", {}).values():
            if isinstance(words, dict):
                words |= {key: self.words.get(words[key], words[key]) for key in FIGURE if key in words}

    def _sentences(self, cell: dict[str, Any], templates: list[str]) -> None:
        told = [output for output in cell.get("outputs", ()) if "text/markdown" in output.get("data", {})]
        for output, template in zip(told, templates, strict=False):
            fields = output.get("metadata", {}).get("text/markdown", {}).get("fields", {})
            for field, text in fields.items():
                template = template.replace(field, self.words.get(text, text))
            output["data"]["text/markdown"] = template


def load(folder: Path, notebook: str) -> Catalogue:
    """Return the catalogue of a notebook in a folder of them, or an empty one."""
    path = folder / f"{notebook}.yaml"
    try:
        return Catalogue(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except FileNotFoundError:
        return Catalogue({})
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{path} is not a catalogue: {' '.join(str(error).split())}") from error


def _figure(row: Mapping[str, Any]) -> str:
    known = [abs(row[side]) for side in ("value", "low", "high") if row[side] is not None]
    digits, signed = notation.decimals(max(known)), bool(row.get("decision"))
    if row["low"] is None:
        return notation.number(row["value"], digits, signed=signed)
    return notation.interval(row["value"], row["low"], row["high"], digits=digits, signed=signed)
