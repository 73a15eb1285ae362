"""`nunchi import`: files of other tools to a folder that the loaders read, and what arrived.

The split of a file is in its name (…train…, …dev…), or before it (`dev=ratings_test.txt`). Rows go to
`<split>.jsonl` with the fields of `helpers.corpora`, labels to `labels.yaml`; the folder is read back before
it is kept. What a record means is found in `foreign` and `words`.
"""

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from helpers import corpora
from helpers.corpora import files, foreign, klue, schemas, words
from helpers.corpora.foreign import Reading, Row
from helpers.corpora.labels import ENTITY_TYPES, RELATIONS, TAG_TYPES, TECHNIQUES, ordered

TASKS = ("entities", "relations", "multilabel", "documents")
SPLITS = {"train": "train", "training": "train", "test": "test"} | dict.fromkeys(
    ("dev", "valid", "validation", "val", "eval"), "dev"
)
MAPPED = ("text", "label", "id", "title", "lang", "trigger_words", "subject", "object", "none")
TABLES = {".csv": files.read_csv, ".tsv": files.read_tsv, ".txt": files.read_tsv}
READERS = {**files.READERS, **TABLES}
SHOWN, LONG = 20, 90  # labels, and characters of an example
NAMELESS = {  # what is missing where all records of a file are, and how to name it
    "entities": ("no record has labels under a known name", "label=<field>"),
    "relations": ("no record has a subject and an object, or relations", "subject=<field> object=<field>"),
    "multilabel": ("no record has labels under a known name", "label=<field>"),
}
UNDIVIDED = {
    "entities": "the loaders hold out a fifth of the sentences",
    "relations": "the loaders hold out a fifth of the rows, by sentence and entity pair",
    "multilabel": "posts are cross-validated",
    "documents": "the loaders hold out a tenth of the documents",
}


class Imported(NamedTuple):
    """Rows by split, the schema of their labels, and how they were read."""

    task: str
    rows: dict[str, list[Row]]
    schema: schemas.Schema
    said: list[str]


def read(names: Sequence[str], task: str, fields: Mapping[str, str]) -> Imported:
    """Read files as rows of a task; `fields` maps our names to theirs."""
    rows: dict[str, list[Row]] = {}
    flags: dict[str, None] = {}
    said: list[str] = []
    for name in names:
        for split, path in _parts(name):
            reading = Reading(fields, test=split == "test")
            rows.setdefault(split, []).extend(_rows(path, task, reading))
            flags |= dict.fromkeys(reading.flags)
            said += _said(reading)
    if not any(rows.values()):
        raise ValueError(f"no rows for {task} in {', '.join(names)}. {' '.join(said)}".strip())
    rows = _placed(rows, task, said)
    schema = _schema(rows, task, list(flags), fields.get("none", ""))
    return Imported(task, rows, schema, said)


def mapped(pairs: Sequence[str]) -> dict[str, str]:
    """Return the fields that `--map` names: ours to theirs."""
    fields = dict(pair.partition("=")[::2] for pair in pairs)
    for name, theirs in fields.items():
        if name not in MAPPED or not theirs:
            raise ValueError(f"--map takes NAME=FIELD with NAME out of {', '.join(MAPPED)}; got {name!r}")
    return fields


def unlabelled(path: Path, task: str, fields: Mapping[str, str]) -> list[Row]:
    """Read every record of a file for prediction, in its order; labels are not looked at.

    A .txt file has one text a line; where fields are named, or for relations, it is a table. A record that
    cannot be read is an error: all rows get an answer.
    """
    reading = Reading(fields, test=True)
    if path.suffix == ".txt" and task != "relations" and not fields:
        lines = [line for line in files.read_text(path).split("\n") if line.strip()]
        rows = [row for line in lines for row in READ[task]({"text": line, "label": []}, path.name, reading)]
    else:
        rows = _rows(path, task, reading)
    if reading.dropped or not rows:
        raise ValueError(f"{path}: {'; '.join(_said(reading)) or 'no rows in it'}")
    return _numbered(rows, path.stem, task)


def write(imported: Imported, folder: Path) -> None:
    """Write the rows and their labels to a new folder, after reading them back."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} is already there and not empty; name a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".importing-") as place:
        new = Path(place) / folder.name
        new.mkdir()
        for split, rows in imported.rows.items():
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (new / f"{split}.jsonl").write_text(text, encoding="utf-8")
        if imported.schema.labels:
            schemas.write(new, imported.schema)
        for split in {"train", "dev"} & set(imported.rows):
            LOADERS[imported.task](new, split)
        if folder.exists():
            folder.rmdir()
        shutil.move(new, folder)


def shown(imported: Imported) -> str:
    """Say what arrived: rows by split, labels, three examples, what was repaired or dropped."""
    splits = ", ".join(f"{len(rows):,} {split}" for split, rows in imported.rows.items())
    lines = [f"rows: {splits}"]
    if imported.schema.labels:
        counts = {split: Counter(_labels(rows, imported.task)) for split, rows in imported.rows.items()}
        names = [n for n in imported.schema.labels if n != schemas.NONE or imported.task != "relations"]
        names = [imported.schema.none, *names] if imported.task == "relations" else names
        lines.append(f"labels: {len(names)} ({' / '.join(counts)})")
        lines += [
            f"  {name}  {' / '.join(f'{c[name]:,}' for c in counts.values())}" for name in names[:SHOWN]
        ]
        lines += [f"  … and {len(names) - SHOWN} more in {schemas.FILE}"] if len(names) > SHOWN else []
    first = next(iter(imported.rows.values()))
    lines += ["examples:", *(f"  {_example(row, imported.task)}" for row in first[:3])]
    notes = [*imported.said, *([imported.schema.note] if imported.schema.note else [])]
    return "\n".join([*lines, *(notes or ["nothing had to be repaired or dropped"])])


def _parts(name: str) -> Iterator[tuple[str, Path]]:
    """Yield split and path of what was named: a file, the files of a folder, or saved data sets."""
    given, _, rest = name.partition("=")
    forced = SPLITS.get(given, "") if rest else ""
    path = Path(rest if forced else name).expanduser()
    if not path.exists():
        raise ValueError(f"no such file: {path}")
    inner = [path]
    if path.is_dir() and not (path / files.SAVED[1]).is_file():
        inner = [p for p in sorted(path.iterdir()) if p.suffix in READERS or files.is_saved(p)]
        if not inner:
            raise ValueError(f"{path}: no file in it ends with {', '.join(READERS)}")
    for file in inner:
        if file.name != files.SAVED[0]:
            yield forced or _split(file.name), file


def _split(name: str) -> str:
    """Return the split that a name speaks of, "" for none."""
    found = [re.sub(r"(set|data)$", "", word) for word in re.split(r"[^a-z]+", name.lower())]
    known = [SPLITS[word] for word in found if word in SPLITS]
    return known[-1] if known else "train" if "train" in name.lower() else ""


def _records(path: Path, task: str, fields: Mapping[str, str]) -> list[Row]:
    """Return the records of a file or a saved data set."""
    if path.is_dir():
        return files.read_saved(path, ())[0]
    if task == "documents" and path.suffix == ".txt":
        return [{"id": path.stem, "text": files.read_text(path)}]
    if path.suffix not in READERS:
        raise ValueError(f"{path}: cannot read {path.suffix or 'this'}; expected one of {', '.join(READERS)}")
    if path.suffix == ".json":
        named = [fields["text"]] if "text" in fields else [*foreign.TEXT, *foreign.TOKENS, "data"]
        return list(_nested(files.read_anything(path), named))
    if path.suffix in TABLES and fields.get("text", "").isdigit():
        return TABLES[path.suffix](path, header=False)
    return READERS[path.suffix](path)


def _nested(value: Any, named: Sequence[str]) -> Iterator[Row]:
    """Yield the records in a JSON value: objects with one of the named fields, or pairs [text, labels]."""
    if (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], dict)
    ):
        yield {"text": value[0], **value[1]}  # spaCy's training data
    elif isinstance(value, list):
        for inner in value:
            yield from _nested(inner, named)
    elif isinstance(value, dict):
        lists = [
            one for one in value.values() if isinstance(one, list) and one and not isinstance(one[0], str)
        ]
        own = any(
            isinstance(value.get(name), str) or name in ("data", *foreign.TOKENS)
            for name in named
            if name in value
        )
        if own or not lists:
            yield value
        else:
            yield from (record for one in lists for record in _nested(one, named))


def _rows(path: Path, task: str, reading: Reading) -> list[Row]:
    """Return the rows of one file, without ids where it has none."""
    if task == "entities" and path.is_file() and path.suffix not in files.READERS:
        return _columns(path, reading)
    records = _records(path, task, reading.fields)
    reading.check(records, path.name)
    if task == "multilabel":
        reading.flags = foreign.flag_columns(records, reading.fields)
        reading.joint = "" if reading.flags else foreign.joint_of(records, reading)
    if task == "entities":
        tokens = (reading.get(record, "text", foreign.TOKENS, list) or () for record in records)
        reading.joined_by = words.separator([str(word) for row in tokens for word in row])
    rows = []
    for number, record in enumerate(records, 1):
        key = reading.get(record, "id", ("guid", "id", "ID", "doc_id"))
        own = {} if key is None else {"id": str(key)}
        rows += [row | own for row in _read_record(record, f"{path.name}, record {number}", task, reading)]
    if not rows and records and task in NAMELESS and not set(reading.dropped) - {foreign.BARE}:
        missing, named = NAMELESS[task]
        fields = files.listed(records[0])
        raise ValueError(f"{path.name}: {missing}; fields: {fields}. Name them: --map {named}")
    return rows


def _read_record(record: Row, where: str, task: str, reading: Reading) -> list[Row]:
    """Read a record; one with values where a tool writes lists or objects is an error of the file."""
    try:
        return list(READ[task](record, where, reading))
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
        raise ValueError(
            f"{where}: not built like the records of a tool we know ({type(error).__name__}: "
            f"{error!s:.100}): {files.shown(record)}"
        ) from error


def _columns(path: Path, reading: Reading) -> list[Row]:
    """Return the sentences of a file with one word or character a line."""
    if files.read_text(path).startswith(klue.COMMENT) and "label" not in reading.fields:
        sentences = [
            words.Sentence(row["tokens"], row["ner_tags"], f"{path.name}, line {row['line']}")
            for row in klue.read_ner_tsv(path)
        ]
    else:
        sentences = words.read_columns(path, reading.fields)
    reading.joined_by = words.separator([word for sentence in sentences for word in sentence.words])
    rows = []
    for sentence in sentences:
        row = foreign.tagged(sentence, reading)
        if row["text"]:
            rows.append(_tags(row))
        else:
            reading.dropped["sentence without a word"].append(sentence.where)
    return rows


def _entities(record: Row, where: str, reading: Reading) -> list[Row]:
    found = foreign.entities(record, where, reading)
    return [_tags(found)] if found else []


def _tags(row: Row) -> Row:
    """Return a sentence with spans as characters with tags."""
    tags = ["O"] * len(row["text"])
    for start, end, kind in row["spans"]:
        tags[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return {"tokens": list(row["text"]), "ner_tags": tags}


def _one(function: Callable) -> Callable[[Row, str, Reading], list[Row]]:
    return lambda record, where, reading: [row for row in (function(record, where, reading),) if row]


READ: dict[str, Callable] = {
    "entities": _entities,
    "relations": foreign.relations,
    "multilabel": _one(foreign.posts),
    "documents": _one(foreign.document),
}
LOADERS: dict[str, Callable] = {
    "entities": corpora.load_entities,
    "relations": corpora.load_relations,
    "multilabel": corpora.load_techniques,
    "documents": corpora.load_documents,
}


def _placed(rows: dict[str, list[Row]], task: str, said: list[str]) -> dict[str, list[Row]]:
    """Name the files that rows go to, with an id for each row."""
    parts = {split: part for split, part in rows.items() if part}
    if "dev" not in parts and set(parts) != {"test"}:
        known = [row for split in ("train", "") for row in parts.pop(split, ())]
        parts["train" if task == "multilabel" else "all"] = known
        said.append(f"No file is named after dev: {UNDIVIDED[task]}.")
    elif "dev" in parts and not {"train", ""} & set(parts):
        said.append("No file is named after train, which notebooks need; write train=FILE.")
    if "" in parts:
        raise ValueError("some files are named after a split and some are not; write train=FILE, dev=FILE")
    order = ("train", "all", "dev", "test")
    return {split: _numbered(parts[split], split, task) for split in order if split in parts}


def _numbered(rows: list[Row], split: str, task: str) -> list[Row]:
    """Give each row an id: its own if all have different ones, else its number."""
    name = "guid" if task in ("entities", "relations") else "id"
    keys = [row.pop("id", None) for row in rows]
    own = None not in keys and len(set(keys)) == len(keys)
    return [{name: keys[i] if own else f"{split}-{i:05d}", **row} for i, row in enumerate(rows)]


def _schema(rows: Mapping[str, list[Row]], task: str, flags: list[str], none: str) -> schemas.Schema:
    found = {label for part in rows.values() for label in _labels(part, task)}
    if task == "entities":
        return schemas.Schema(_in_order(found, TAG_TYPES))
    if task == "multilabel":
        own = _in_order(found | set(flags), TECHNIQUES)
        return schemas.Schema(own if own == TECHNIQUES or not flags else tuple(flags))
    if task == "relations":
        types = {
            row[f"{role}_entity"]["type"] for part in rows.values() for row in part for role in foreign.ROLES
        }
        return schemas.of_relations(_in_order(found, RELATIONS), ordered(types, ENTITY_TYPES), none=none)
    return schemas.Schema(())


def _in_order(found: set[str], official: tuple[str, ...]) -> tuple[str, ...]:
    """Return labels as `ordered` does, but numbers by their size."""
    if found and all(name.isdecimal() and len(name) <= 18 for name in found):
        return tuple(sorted(found, key=lambda name: (int(name), name)))
    return ordered(found, official)


def _labels(rows: Sequence[Row], task: str) -> Iterator[str]:
    for row in rows:
        if task == "entities":
            yield from (tag[2:] for tag in row["ner_tags"] if tag[0] == "B")
        elif task == "relations" and "label" in row:
            yield row["label"]
        elif task == "multilabel":
            yield from row.get("techniques", ())


def _said(reading: Reading) -> list[str]:
    """Say what was repaired and dropped, each reason once with the first places."""
    said = []
    for verb, reasons in (("repaired", reading.repaired), ("dropped", reading.dropped)):
        for reason, places in reasons.items():
            shown = "; ".join(places[:3]) + (" …" if len(places) > 3 else "")
            said.append(f"{verb} {len(places):,} × {reason} ({shown})")
    return said


def _example(row: Row, task: str) -> str:
    if task == "entities":
        tags = row["ner_tags"][:LONG]
        pieces = []
        for character, tag, following in zip(row["tokens"][:LONG], tags, [*tags[1:], "O"], strict=True):
            pieces += [f"[{tag[2:]} "] * (tag[0] == "B") + [character]
            pieces += ["]"] * (tag != "O" and following[0] != "I")
        return "".join(pieces) + "…" * (len(row["tokens"]) > LONG)
    if task == "relations":
        pair = " → ".join(
            f"{row[f'{r}_entity']['word']} ({row[f'{r}_entity']['type']})" for r in foreign.ROLES
        )
        return f"{_cut(row['sentence'])}  {pair}: {row.get('label', 'no label')}"
    text = _cut(" ".join(row["text" if task == "documents" else "content"].split()))
    return text if task == "documents" else f"{text}  {', '.join(row.get('techniques', ())) or 'none'}"


def _cut(text: str) -> str:
    return text if len(text) <= LONG else f"{text[:LONG]}…"
