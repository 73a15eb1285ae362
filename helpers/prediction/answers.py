"""Answers of kept models: as JSON records, as the rows of a table, or as what a competition wants.

Offsets are half-open ranges of characters of the text as it came in. A span's probability is the lowest of
its characters', so that one weak end shows. Entries are checked and written by `entries`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers import entries
from helpers.entities.tags import find_spans
from helpers.prediction.recipes import Recipe

DIGITS = 6  # of a probability in a file
Record = dict[str, Any]


@dataclass(frozen=True)
class Relations:
    """A label and all probabilities, (rows, labels), of each pair of entities."""

    rows: Sequence[dict]
    recipe: Recipe
    probs: NDArray

    @property
    def names(self) -> list[str]:
        """The labels as the data call them."""
        return [self.recipe.none or self.recipe.labels[0], *self.recipe.labels[1:]]

    def records(self) -> list[Record]:
        best = self.probs.argmax(axis=1)
        return [
            {
                "id": row["guid"],
                "subject": _range(row["subject_entity"]),
                "object": _range(row["object_entity"]),
                "label": self.names[top],
                "probability": _rounded(p[top]),
                "probabilities": dict(zip(self.names, map(_rounded, p), strict=True)),
            }
            for row, p, top in zip(self.rows, self.probs, best.tolist(), strict=True)
        ]

    def table(self) -> list[Record]:
        return [
            {
                "id": one["id"],
                "subject_start": one["subject"]["start"],
                "subject_end": one["subject"]["end"],
                "object_start": one["object"]["start"],
                "object_end": one["object"]["end"],
                "label": one["label"],
                **{f"p({name})": p for name, p in one["probabilities"].items()},
            }
            for one in self.records()
        ]

    def write_entry(self, path: Path, sample: Path | None) -> None:
        """Write Boostcamp's CSV, or for .json KLUE's dev file."""
        if path.suffix == ".json":
            predicted = [self.names[top] for top in self.probs.argmax(axis=1)]
            entries.write_klue(path, self.rows, predicted)
        else:
            columns = entries.relations(self.probs, self.recipe.labels, none=self.names[0])
            entries.write(path, [row["guid"] for row in self.rows], columns, sample=sample)


@dataclass(frozen=True)
class Entities:
    """A tag of each character, and how probable it is."""

    rows: Sequence[dict]
    recipe: Recipe
    tags: list[list[str]]
    probs: list[NDArray]

    def records(self) -> list[Record]:
        found = []
        for row, tags, p in zip(self.rows, self.tags, self.probs, strict=True):
            spans = [
                _span(row["sentence"], one.start, one.end, p, label=one.kind) for one in find_spans(tags)
            ]
            found.append({"id": row["guid"], "text": row["sentence"], "entities": spans})
        return found

    def table(self) -> list[Record]:
        return [{"id": one["id"], **span} for one in self.records() for span in one["entities"]]

    def write_entry(self, path: Path, sample: Path | None) -> None:
        """Write KLUE's dev file."""
        _without_sample(sample)
        entries.write_klue(path, self.rows, self.tags)


@dataclass(frozen=True)
class Classes:
    """Which classes each text has, (rows, classes), and how probable each is."""

    rows: Sequence[dict]
    recipe: Recipe
    probs: NDArray
    decided: NDArray

    def records(self) -> list[Record]:
        names = np.array(self.recipe.labels, dtype=object)
        return [
            {
                "id": row["id"],
                "text": row["content"],
                "labels": names[own].tolist(),
                "probabilities": dict(zip(self.recipe.labels, map(_rounded, p), strict=True)),
            }
            for row, p, own in zip(self.rows, self.probs, self.decided, strict=True)
        ]

    def table(self) -> list[Record]:
        return [
            {
                "id": one["id"],
                "labels": ";".join(one["labels"]),
                **{f"p({name})": p for name, p in one["probabilities"].items()},
            }
            for one in self.records()
        ]

    def write_entry(self, path: Path, sample: Path | None) -> None:
        """Write one 0/1 column a class."""
        columns = entries.classes(self.decided.astype(int), self.recipe.labels)
        entries.write(path, [row["id"] for row in self.rows], columns, sample=sample)


@dataclass(frozen=True)
class Spans:
    """Ranges of characters in each text, and how probable each character is."""

    rows: Sequence[dict]
    recipe: Recipe
    found: list[list[tuple[int, int]]]
    probs: list[NDArray]

    def records(self) -> list[Record]:
        return [
            {
                "id": row["id"],
                "text": row["content"],
                "spans": [_span(row["content"], a, b, p) for a, b in spans],
            }
            for row, spans, p in zip(self.rows, self.found, self.probs, strict=True)
        ]

    def table(self) -> list[Record]:
        return [{"id": one["id"], **span} for one in self.records() for span in one["spans"]]

    def write_entry(self, path: Path, sample: Path | None) -> None:
        """Write UNLP's column of ranges."""
        ids = [row["id"] for row in self.rows]
        entries.write(path, ids, entries.spans(self.found), sample=sample)


Answers = Relations | Entities | Classes | Spans


def _range(entity: dict) -> Record:
    return {"start": entity["start_idx"], "end": entity["end_idx"] + 1, "text": entity["word"]}


def _span(text: str, start: int, end: int, probs: NDArray, **more: str) -> Record:
    return {"start": start, "end": end, **more, "text": text[start:end]} | {
        "probability": _rounded(probs[start:end].min())
    }


def _rounded(value: float) -> float:
    return round(float(value), DIGITS)


def _without_sample(sample: Path | None) -> None:
    if sample is not None:
        raise ValueError("a sample_submission.csv has one row an id; entities go into KLUE's .tsv")
