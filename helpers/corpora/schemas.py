"""Which labels a data set has, and in which order: KLUE's, UNLP's, the data's own, or those of a labels.yaml.

The official set is the schema of data whose labels all belong to it, used or not. Data that share none of its
labels have a schema of their own: their labels by name. A mixture is taken for a mistake, unless a file
`labels.yaml` beside the data names the labels:

    labels: [소속, 설립자, 관계없음]   # relations, entity types or classes; ids count along this list
    none: 관계없음                     # relations: the label that means "no relation"
    types: [인물, 단체]                # relations: the types of their entities

A relation schema always begins with `no_relation`, so that id 0 means the same everywhere; the label that the
data use for it is read as `no_relation`.
"""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import yaml

from helpers import settings
from helpers.corpora.files import SHOWN, listed, read_text, shown
from helpers.corpora.labels import ENTITY_TYPES, RELATIONS, TAG_TYPES, TECHNIQUES, tags_of

FILE = "labels.yaml"
NONE = RELATIONS[0]
TYPE_IN_TEXT = re.compile(r"""["']type["']\s*:\s*["']([^"']+)""")
NONE_WORDS = {"norelation", "norel", "none", "other", "na", "nota", "null", "unknown", "unrelated"} | {
    "관계없음", "무관", "없음", "해당없음",
}  # fmt: skip


class Schema(NamedTuple):
    """The labels of a data set in the order of their ids."""

    labels: tuple[str, ...]
    numbers: tuple[str, ...] = ()  # what numbers in the data stand for
    types: tuple[str, ...] = ()  # of the entities of a relation
    none: str = NONE  # what the data call no_relation
    note: str = ""  # what was guessed, to be said

    def id_of(self, label: object, where: str) -> int:
        """Return the id of a label, which the data give by name or by number."""
        if isinstance(label, int) and 0 <= label < len(self.numbers):
            label = self.numbers[label]
        label = NONE if label == self.none else label
        try:
            return self.labels.index(label)
        except ValueError:
            raise ValueError(f"{where}: {unknown('label', label, self.labels)}") from None


def relations(rows: Iterable[Mapping], folder: Path | None) -> Schema:
    """Read the labels of relation rows and the types of their entities."""
    rows = list(rows)
    given = read(folder, ("labels", "none", "types"))
    labels = given.get("labels") or _own((row.get("label") for row in rows), RELATIONS, also=NONE_WORDS)
    types = given.get("types") or _own(_types(rows), ENTITY_TYPES)
    schema = of_relations(labels, types, none=given.get("none", ""))
    return schema if labels == RELATIONS else schema._replace(numbers=given.get("labels", ()))


def of_relations(labels: tuple[str, ...], types: tuple[str, ...], *, none: str = "") -> Schema:
    """Put the label that means "no relation" first; without its name it is guessed."""
    if labels == RELATIONS:
        return Schema(RELATIONS, RELATIONS, types)
    none, note = (none, "") if none else _none(labels)
    first = (NONE, *(name for name in labels if name not in (none, NONE)))
    return Schema(first, types=types, none=none, note=note)


def entities(rows: Iterable[Mapping], folder: Path | None) -> Schema:
    """Read the entity types of tagged rows."""
    given = read(folder, ("labels",))
    given_tags = (row["ner_tags"] for row in rows if isinstance(row.get("ner_tags"), list))
    tags: set[str] = set()
    for own in given_tags:
        with suppress(TypeError):  # a list among the tags is named with its row later
            tags.update(own)
    found = (tag[2:] for tag in tags if isinstance(tag, str) and tag[:2] in ("B-", "I-"))
    types = given.get("labels") or _own(found, TAG_TYPES)
    return Schema(types, tags_of(types))


def classes(rows: Iterable[Mapping], folder: Path | None) -> Schema:
    """Read the classes of posts."""
    given = read(folder, ("labels",))
    return Schema(given.get("labels") or _own(_techniques(rows), TECHNIQUES))


def unknown(what: str, label: object, names: Sequence[str]) -> str:
    """Say that a label is not in the schema, and what to do."""
    near = get_close_matches(str(label)[:SHOWN], names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"expected one of {listed(names)}."
    return (
        f"unknown {what} {shown(label)}; {hint} Labels of your own: list them all in {FILE} beside the data"
    )


def read(folder: Path | None, keys: Sequence[str]) -> dict:
    """Return what the labels.yaml of a folder says, checked; nothing where there is none."""
    path = folder and folder / FILE
    if not path or not path.is_file():
        return {}
    try:
        given = settings.read_yaml(read_text(path))
    except ValueError as error:
        raise ValueError(f"{path}: {str(error).removeprefix(f'{path}, ')}") from None
    if not isinstance(given, dict) or not set(given) <= set(keys) or not given:
        raise ValueError(f"{path}: expected lines of `{keys[0]}: [name, name]`, with keys {', '.join(keys)}")
    return {
        key: _text(value, path) if key == "none" else _names(value, path, key) for key, value in given.items()
    }


def write(folder: Path, schema: Schema) -> None:
    """Write the labels.yaml that gives this schema."""
    labels = [schema.none if name == NONE else name for name in schema.labels]
    given: dict[str, object] = {"labels": labels}
    if NONE in schema.labels:
        given |= {"none": schema.none, "types": list(schema.types)}
    text = yaml.safe_dump(given, allow_unicode=True, sort_keys=False, default_flow_style=None, width=100)
    (folder / FILE).write_text(text, encoding="utf-8")


def _own(found: Iterable[object], official: Sequence[str], *, also: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the labels found by name if none of them is official, else the official ones."""
    names = {name for name in found if isinstance(name, str) and name}
    telling = {name for name in names if _plain(name) not in also}
    return tuple(official) if not telling or telling & set(official) else tuple(sorted(names))


def _none(labels: Sequence[str]) -> tuple[str, str]:
    """Guess which label means "no relation", and say what was guessed."""
    could = [name for name in labels if _plain(name) in NONE_WORDS]
    if len(could) > 1:
        raise ValueError(
            f"{' and '.join(map(repr, could))} could both mean that there is no relation; "
            f"write `none: {could[0]}` in {FILE} beside the data"
        )
    if could and could[0] != NONE:
        return could[0], f"The label {could[0]!r} is read as {NONE}, which micro-F1 leaves out."
    if could:
        return NONE, ""
    return NONE, (
        f"No label means that there is no relation: {NONE} is added as one without rows (50 in AUPRC). "
        f"If there is one, write `none: <label>` in {FILE} beside the data; --map none=<label> imports it so."
    )


def _types(rows: Iterable[Mapping]) -> Iterable[object]:
    for row in rows:
        for entity in (row.get("subject_entity"), row.get("object_entity")):
            if isinstance(entity, dict):
                yield entity.get("type")
            elif isinstance(entity, str):  # a CSV's spelling of the mapping
                yield from TYPE_IN_TEXT.findall(entity)


def _techniques(rows: Iterable[Mapping]) -> Iterable[object]:
    for row in rows:
        names = row.get("techniques")
        if isinstance(names, str):  # a CSV's spelling of the list; a bad one is named with its row later
            with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                names = ast.literal_eval(names)
        if isinstance(names, list):
            yield from names


def _plain(name: str) -> str:
    """Reduce a name to its letters: "No_Relation" and "no relation" are one."""
    return "".join(character for character in name.casefold() if character.isalnum())


def _names(value: object, path: Path, key: str) -> tuple[str, ...]:
    names = [_text(name, path) for name in value] if isinstance(value, list) else []
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{path}: expected `{key}: [name, name]` with each name once, got {shown(value)}")
    return tuple(names)


def _text(value: object, path: Path) -> str:
    if not isinstance(value, (str, int)) or isinstance(value, bool) or value == "":
        raise ValueError(f'{path}: {shown(value)} is no name; put quotes around it, as in "no"')
    return str(value)
