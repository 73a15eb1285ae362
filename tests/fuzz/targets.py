"""What is fed with hostile files, valid ones to begin with, and which outcomes are allowed.

A target writes bytes to a file and reads it with one of our readers. Allowed is a value that passes a check
of its own, or a ValueError that names the file and fits on a screen.
"""

import csv
import io
import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from helpers import corpora, entries
from helpers.batch import parameters
from helpers.corpora import imports
from helpers.corpora.unlp import CorpusWarning
from helpers.sweeps.store import Store
from tests.corpora import rows

SCREEN = 2000  # characters


class Target(NamedTuple):
    """A reader, the name of the file that it reads, and valid contents of it."""

    name: str
    file: str
    seed: bytes
    read: Callable[[Path], object]


class Refused(NamedTuple):
    """The message of an error that is allowed."""

    message: str


def outcome(target: Target, data: bytes, folder: Path) -> object:
    """Return what the target makes of the data, or Refused; any other error passes through."""
    path = folder / target.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CorpusWarning)
            return target.read(path)
    except ValueError as error:
        said = str(error)
        if isinstance(error, UnicodeError | json.JSONDecodeError):
            raise AssertionError(f"{target.name}: not our error: {error!r}") from error
        if path.name not in said and str(folder) not in said:
            raise AssertionError(
                f"{target.name}: the message does not name the file: {said[:200]}"
            ) from error
        if len(said) > SCREEN:
            raise AssertionError(
                f"{target.name}: a message of {len(said)} characters: {said[:200]}"
            ) from error
        return Refused(said)


def relations(count: int = 12) -> list[dict]:
    return [
        rows.relation(i, f"하람{i}은 나래{i}상사의 사장이다 \U0001f600", f"나래{i}상사", f"하람{i}")
        for i in range(count)
    ]


def sentences() -> list[tuple]:
    return [(f"ner-{i}", f"하람 {i}", ["B-PS", "I-PS", "O", "O"]) for i in range(8)]


def _lines(objects: list[dict]) -> bytes:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects).encode()


def _array(objects: list) -> bytes:
    return json.dumps(objects, ensure_ascii=False, indent=1).encode()


def _csv(objects: list[dict]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, objects[0])
    writer.writeheader()
    writer.writerows(objects)
    return text.getvalue().encode()


def _parquet(objects: list[dict]) -> bytes:
    from datasets import Dataset

    stream = io.BytesIO()
    Dataset.from_list(objects).to_parquet(stream)
    return stream.getvalue()


def _loaded(loader: Callable, split: str = "train") -> Callable[[Path], object]:
    def read(path: Path) -> object:
        found = loader(path, split)
        for row in found:
            _sound(row)
        return found

    return read


def _sound(row: dict) -> None:
    """Check what notebooks rely on: text without NUL, offsets that hold their words, spans in their post."""
    assert "\0" not in json.dumps(row, ensure_ascii=False).encode().decode()
    for role in ("subject_entity", "object_entity"):
        if entity := row.get(role):
            assert row["sentence"][entity["start_idx"] : entity["end_idx"] + 1] == entity["word"]
    if "tokens" in row:
        assert "".join(row["tokens"]) == row["sentence"] and len(row["tokens"]) == len(row["ner_tags"])
    for start, end in row.get("trigger_words", ()):
        assert 0 <= start < end <= len(row["content"])


def _imported(task: str) -> Callable[[Path], object]:
    return lambda path: imports.shown(imports.read([str(path)], task, {}))


def _labelled(path: Path) -> object:
    (path.parent / "mine_train.json").write_bytes(_array(relations()))
    return _loaded(corpora.load_relations)(path.parent)


def _parameters(path: Path) -> object:
    """Parameters carry the file's name in `plans`, not here."""
    known = {
        "epochs": parameters.Parameter("epochs", "int", 1, ""),
        "data": parameters.Parameter("data", "str", "", ""),
    }
    try:
        values, complaints = parameters.resolve(known, parameters.read(path))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    if complaints:
        raise ValueError(f"{path.name}: {complaints[0]}")
    json.dumps(values, allow_nan=False)
    return values


def _notebook(path: Path) -> object:
    try:
        return parameters.declared(parameters.load_notebook(path))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


ROW = {"f1": 71.5, "steps": 30}


def cached(folder: Path) -> tuple[Store, Path]:
    """Publish a row with an array beside it; return its store and folder."""
    store = Store("fuzz")
    store.folder = folder / "fuzz"
    store.discard("key")
    (store.stage("key") / "predictions.npz").write_bytes(b"array " * 50)
    store.publish("key", ROW)
    return store, store.folder / "key"


def _cache(name: str) -> Callable[[Path], object]:
    """Put a file in the place of one in the cache: the row is the one written, or it is not there."""

    def read(path: Path) -> object:
        shutil.rmtree(path.parent / "fuzz", ignore_errors=True)
        store, key = cached(path.parent)
        (key / name).unlink()
        (key / name).write_bytes(path.read_bytes())
        found = store.read("key")
        assert found in (None, ROW), found
        return found

    return read


def _scored(path: Path) -> object:
    gold = path.with_name("gold_dev.json")
    gold.write_bytes(_array(relations()))
    try:
        return entries.scored(path, gold)
    except ValueError as error:  # it names rows of the entry
        raise ValueError(f"{path.name}: {error}") from error


def all_targets(folder: Path) -> list[Target]:
    """Return every reader with a valid file; `folder` is for files that libraries write themselves."""
    tagged = [{"guid": g, "tokens": list(t), "ner_tags": tags} for g, t, tags in sentences()]
    posts = [rows.post(i) for i in range(12)]
    documents = [
        {"id": f"d{i}", "title": "제목", "text": f"하람은 배를 먹었다. 배는 {i}."} for i in range(40)
    ]
    items = [rows.item(i) for i in range(8)]
    spans = [
        {
            "id": i,
            "text": "하람이 왔다",
            "entities": [{"id": 1, "start_offset": 0, "end_offset": 2, "label": "PS"}],
        }
        for i in range(6)
    ]
    studio = [
        {
            "id": i,
            "data": {"text": "하람이 왔다"},
            "annotations": [
                {
                    "result": [
                        {"id": "a", "type": "labels", "value": {"start": 0, "end": 2, "labels": ["PS"]}},
                        {"id": "b", "type": "labels", "value": {"start": 4, "end": 6, "labels": ["PS"]}},
                        {"type": "relation", "from_id": "a", "to_id": "b", "labels": ["x"]},
                    ]
                }
            ],
        }
        for i in range(4)
    ]
    tacred = [
        {
            "id": i,
            "token": ["하람", "은", "나래"],
            "relation": "x",
            "subj_start": 0,
            "subj_end": 0,
            "obj_start": 2,
        }
        | {"obj_end": 2, "subj_type": "PER", "obj_type": "ORG"}
        for i in range(4)
    ]
    wide = [{"text": "하람이 왔다", "기쁨": i % 2, "슬픔": 1} for i in range(6)]
    conll = "".join(f"하람{i}\tNNP\tB-PS\n이\tJKS\tO\n\n" for i in range(6)).encode()
    _, key = cached(folder)
    entry = [
        {"id": f"re-{i}", "pred_label": "no_relation", "probs": str([1.0] + [0.0] * 29)} for i in range(12)
    ]
    load = corpora
    return [
        Target("relations json", "mine_train.json", _array(relations()), _loaded(load.load_relations)),
        Target("relations jsonl", "mine_train.jsonl", _lines(relations()), _loaded(load.load_relations)),
        Target("relations csv", "mine_train.csv", _csv(relations()), _loaded(load.load_relations)),
        Target(
            "relations parquet", "mine_train.parquet", _parquet(relations()), _loaded(load.load_relations)
        ),
        Target("relations undivided", "mine.json", _array(relations()), _loaded(load.load_relations)),
        Target(
            "entities tsv", "mine_train.tsv", rows.tsv(*sentences()).encode(), _loaded(load.load_entities)
        ),
        Target("entities json", "mine_train.json", _array(tagged), _loaded(load.load_entities)),
        Target("entities parquet", "mine_train.parquet", _parquet(tagged), _loaded(load.load_entities)),
        Target("posts json", "mine_train.json", _array(posts), _loaded(load.load_techniques)),
        Target("posts csv", "mine_train.csv", _csv(posts), _loaded(load.load_techniques)),
        Target("posts parquet", "mine_train.parquet", _parquet(posts), _loaded(load.load_techniques)),
        Target("documents jsonl", "mine.jsonl", _lines(documents), _loaded(load.load_documents)),
        Target(
            "documents txt", "mine.txt", "하람은 배를 먹었다.\n".encode() * 5, _loaded(load.load_documents)
        ),
        Target("lambada jsonl", "mine_test.jsonl", _lines(items), _loaded(load.load_lambada, "dev")),
        Target(
            "labels yaml",
            "labels.yaml",
            b"labels: [no_relation, 'org:top_members/employees']\nnone: no_relation\ntypes: [ORG, PER]\n",
            _labelled,
        ),
        Target("import conll", "mine_train.txt", conll, _imported("entities")),
        Target("import doccano", "mine_train.jsonl", _lines(spans), _imported("entities")),
        Target("import tokens", "mine_train.json", _array(tagged), _imported("entities")),
        Target("import tacred", "mine_train.json", _array(tacred), _imported("relations")),
        Target("import studio", "mine_train.json", _array(studio), _imported("entities")),
        Target("import studio relations", "mine_train.json", _array(studio), _imported("relations")),
        Target("import relations csv", "mine_train.csv", _csv(relations()), _imported("relations")),
        Target("import wide csv", "mine_train.csv", _csv(wide), _imported("multilabel")),
        Target("import posts json", "mine_train.json", _array(posts), _imported("multilabel")),
        Target(
            "import documents tsv",
            "mine_train.tsv",
            "id\ttext\n1\t하람\n2\t배\n".encode(),
            _imported("documents"),
        ),
        Target(
            "unlabelled jsonl",
            "mine.jsonl",
            _lines(spans),
            lambda path: load.load_unlabelled(path, "entities"),
        ),
        Target("entry csv", "entry.csv", _csv(entry), _scored),
        Target("parameters yaml", "mine.yaml", b"epochs: 3\ndata: sample\n", _parameters),
        Target(
            "notebook",
            "mine.ipynb",
            b'{"cells": [{"source": ["a: int = 1  # x"], "metadata": {"tags": ["parameters"]}}]}',
            _notebook,
        ),
        Target("cache row", "row.json", (key / "row.json").read_bytes(), _cache("row.json")),
        Target("cache array", "predictions.npz", b"array " * 50, _cache("files/predictions.npz")),
    ]
