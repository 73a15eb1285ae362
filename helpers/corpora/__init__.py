"""Load the four data sets: one loader per task, one schema per task whatever the source.

A loader checks every row and raises `ValueError` with the file, the row, what was expected and what to do.
It returns a `datasets.Dataset`; tokenising and scoring happen elsewhere.

    load_relations(source, split)   guid, sentence, subject_entity, object_entity, label, source
                                    (an entity is {word, start_idx, end_idx, type}; end_idx is inclusive)
    load_entities(source, split)    guid, sentence, tokens, ner_tags — one token is one character
    load_techniques(source, split)  id, content, lang, manipulative, techniques, labels (the same as ids),
                                    trigger_words ([start, end)); lang and trigger_words may be missing
    load_documents(source, split)   id, title, text
    load_lambada(source, split)     index, text, answer, candidate

`split` is "train" or "dev" ("validation" is another name for dev), or "all": every row of one file, whatever
its name, as the gold of a score. `rows` asks for that many: generated ones
from the sample (4,000 and 1,000 unless said), else a seeded subset in the order of the file.

Sources
-------
"sample" generates rows (`helpers.sample_world`); "hub" downloads them; "local" reads the folder named by the
environment variable NUNCHI_DATA; anything else is the path of such a folder, of one data set's folder, or of
one file. `nunchi fetch FOLDER` fills a folder from the hub.

Your own data
-------------
Make a folder like this one and use it as NUNCHI_DATA or as the parameter `data`. A folder with only one of
the tasks works for the notebooks of that task.

    klue-re/   *train.json  *dev.json    array of objects, the fields of load_relations, labels by name
               or .jsonl, .parquet; or .csv with `id` and the entities as dict literals (Boostcamp)
    klue-ner/  *train.tsv   *dev.tsv     per sentence `## <id>`, rows `character<TAB>tag`, an empty line
               or .json, .jsonl, .parquet with tokens and ner_tags
    unlp/      *train.parquet            or .csv, .json, .jsonl, the fields of load_techniques. No dev
                                         file was published: cross-validate, or add a *dev file of your own
    corpus/    *.jsonl                   {"text"[, "id", "title"]} a line; where there is none, *.txt, each
                                         one document; a tenth of them, by a hash of the text, is dev,
                                         unless files are named *train and *dev
    lambada/   *test.jsonl               or *dev; Ko-LAMBADA's fields
    vocabs/    <name>/                   tokenizers, see helpers.text.tokenizers

`nunchi import` writes such a folder from other formats: CoNLL columns, doccano, Label Studio, spaCy, tables.

The name of a file ends with its split (`mine_train.json`; the shards `train-00000-of-00003.parquet`, … are
one file). Each of the folders, and of the files, may instead be what `Dataset.save_to_disk` wrote. Text is
UTF-8.

Labels may be your own: the data set's features name them (`helpers.corpora.schemas`, `labels.yaml`).

One file, or one saved `Dataset`, without a split in its name: a fifth of its relations or sentences is dev.
Rows that share a sentence or a pair of entities stay on one side, the division is the same in every run, and
a sentence says how many rows are on either side. Posts are cross-validated, so there all rows are train.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from helpers.corpora import documents as _documents
from helpers.corpora import klue as _klue
from helpers.corpora import schemas as _schemas
from helpers.corpora import sources as _sources
from helpers.corpora import splits as _splits
from helpers.corpora import unlp as _unlp
from helpers.corpora.files import READERS, uncollected
from helpers.corpora.labels import ENTITY_TYPES, RELATIONS, TECHNIQUES, tags_of
from helpers.corpora.unlp import CorpusWarning

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset

__all__ = [
    "ENTITY_TYPES",
    "RELATIONS",
    "TECHNIQUES",
    "CorpusWarning",
    "load_documents",
    "load_entities",
    "load_lambada",
    "load_relations",
    "load_techniques",
    "load_unlabelled",
    "none_label",
]

Source = str | os.PathLike
DEV_SHARE = 0.2  # of a source that has no split of its own
LABELS = ("label", "ner_tags", "manipulative", "techniques", "labels", "trigger_words")  # columns to predict


@uncollected()
def load_relations(source: Source, split: str, *, rows: int | None = None, seed: int = 0) -> "Dataset":
    """Load sentences with two entities and the relation between them; label 0 is always no_relation.

    `features["label"].names` are the labels: RELATIONS, unless the data have others.
    """
    raw = _read(_sources.RELATIONS, source, split, rows=rows, seed=seed)
    schema = _schemas.relations((*raw.rows, *raw.others), raw.folder)
    checked = _klue.relations(raw.rows, raw.name, schema)
    pairs = [(row["subject_entity"]["word"], row["object_entity"]["word"]) for row in checked]
    checked, note = _divided(checked, raw, split, pairs)
    if schema.note:
        print(schema.note)
    return _dataset(
        checked, "relations", schema.labels, rows=rows, seed=seed, note=f"{note} {schema.note}".strip()
    )


@uncollected()
def load_entities(source: Source, split: str, *, rows: int | None = None, seed: int = 0) -> "Dataset":
    """Load sentences with one entity tag per character; `sentence` is the tokens joined.

    `features["ner_tags"].feature.names` are the tags: those of KLUE's types, unless the data have others.
    """
    readers = {".tsv": _klue.read_ner_tsv, **READERS}
    raw = _read(_sources.ENTITIES, source, split, rows=rows, seed=seed, readers=readers)
    schema = _schemas.entities((*raw.rows, *raw.others), raw.folder)
    checked = _klue.entities(raw.rows, raw.name, schema, split=_sources.split_name(split))
    checked, note = _divided(checked, raw, split)
    return _dataset(checked, "entities", tags_of(schema.labels), rows=rows, seed=seed, note=note)


def load_techniques(source: Source, split: str, *, rows: int | None = None, seed: int = 0) -> "Dataset":
    """Load posts with their techniques by name, and as `labels` by id.

    `features["labels"].feature.names` are the classes: TECHNIQUES, unless the data have others. Trigger spans
    outside their post are clipped; a CorpusWarning and `info.description` say how many.
    """
    raw = _read(_sources.TECHNIQUES, source, split, rows=rows, seed=seed)
    schema = _schemas.classes((*raw.rows, *raw.others), raw.folder)
    checked, note = _unlp.posts(raw.rows, raw.name, schema)
    return _dataset(checked, "techniques", schema.labels, rows=rows, seed=seed, note=note)


def load_unlabelled(path: Source, task: str, *, fields: Mapping[str, str] | None = None) -> "Dataset":
    """Load rows to predict on from any file that `nunchi import` reads, or a .txt with one text a line.

    `task` is "relations", "entities" or "multilabel". All rows come, in the order of the file, with the
    columns of the task's loader that are no labels; `fields` maps our names to the file's.
    """
    from pathlib import Path

    from helpers.corpora.imports import unlabelled

    kind = "techniques" if task == "multilabel" else task
    if kind not in ("relations", "entities", "techniques"):
        raise ValueError(f"task must be 'relations', 'entities' or 'multilabel', got {task!r}")
    if not Path(path).is_file():
        raise ValueError(f"no such file: {path}")
    rows = unlabelled(Path(path), task, fields or {})
    for row in rows:
        row |= {"sentence": "".join(row["tokens"])} if task == "entities" else {}
        row |= {"source": "", "lang": row.get("lang", "")}
    names = {name: one for name, one in _features(kind, ("",)).items() if name not in LABELS}
    return _built(rows, names, note="")


def none_label(source: Source) -> str:
    """Return what a source of relations calls no_relation."""
    raw = _read(_sources.RELATIONS, source, "train", rows=None, seed=0)
    return _schemas.relations((*raw.rows, *raw.others), raw.folder).none


def load_documents(source: Source, split: str, *, rows: int | None = None, seed: int = 0) -> "Dataset":
    """Load whole documents.

    Outside the sample a hash of the text decides on which side each one is, unless files are named after dev.
    """
    split = _checked(split, rows)
    if source == "sample":
        raw = _sources.from_sample(_sources.DOCUMENTS, split, rows=rows, seed=seed)
    elif source == "hub":
        raw = _sources.from_hub(_sources.DOCUMENTS, "train")
    else:
        raw = _sources.documents(_sources.place(_sources.DOCUMENTS, source), split)
    checked = _documents.documents(raw.rows, raw.name)
    if source == "hub" or not raw.divided:
        checked = [row for row in checked if _documents.in_dev(row["text"]) == (split == "dev")]
    return _dataset(checked, "documents", (), rows=rows, seed=seed)


def load_lambada(source: Source, split: str = "dev", *, rows: int | None = None, seed: int = 0) -> "Dataset":
    """Load last-sentence cloze items; outside the sample there is only an evaluation split."""
    raw = _read(_sources.LAMBADA, source, split, rows=rows, seed=seed)
    checked = _documents.lambada(raw.rows, raw.name)
    return _dataset(checked, "lambada", (), rows=rows, seed=seed)


def _read(task, source: Source, split: str, *, rows: int | None, seed: int, readers=READERS) -> _sources.Rows:
    split = _checked(split, rows, source)
    if source == "sample":
        raw = _sources.from_sample(task, split, rows=rows, seed=seed)
    elif source == "hub":
        raw = _sources.from_hub(task, split)
    else:
        raw = _sources.from_files(task, split, _sources.place(task, source), readers=readers)
    if not raw.rows:
        raise ValueError(f"{raw.name}: no rows in it; is it truncated?")
    return raw


def _divided(checked: list[dict], raw: _sources.Rows, split: str, *keys: list) -> tuple[list[dict], str]:
    """Take the rows of one split out of a source that has none, and say so; others pass through.

    Rows with an equal sentence or an equal entry in `keys` stay together, whatever seed draws subsets.
    """
    if raw.divided:
        return checked, ""
    groups = _splits.connected_groups([row["sentence"] for row in checked], *keys)
    in_dev = _splits.held_out(groups, share=DEV_SHARE)
    linked = "a sentence or an entity pair" if keys else "a sentence"
    if not in_dev.any():
        raise ValueError(
            f"{raw.name}: too few of its {len(checked):,} rows can be set aside as dev, because rows share "
            f"{linked}; divide them yourself into files named …_train and …_dev"
        )
    note = (
        f"{raw.name} has no split of its own: {(~in_dev).sum():,} rows are for training and {in_dev.sum():,} "
        f"are dev, drawn with a fixed seed so that the two sides do not share {linked}. "
        "Name files …_train and …_dev for a split of your own."
    )
    print(note)
    wanted = _sources.split_name(split) == "dev"
    return [row for row, dev in zip(checked, in_dev, strict=True) if dev == wanted], note


def _checked(split: str, rows: int | None, source: Source = "sample") -> str:
    if rows is not None and rows < 1:
        raise ValueError(f"rows must be at least 1, or None for all, got {rows}")
    return _sources.split_name(split, source)


def _dataset(
    checked: list[dict], kind: str, labels: Sequence[str], *, rows: int | None, seed: int, note: str = ""
) -> "Dataset":
    """Build the data set in memory, then take the seeded subset, in order, when fewer rows are asked for."""
    import numpy as np

    if rows is not None and rows > len(checked):
        raise ValueError(f"asked for {rows:,} rows, but there are {len(checked):,}; use rows=None for all")
    if rows is not None and rows < len(checked):
        chosen = np.random.default_rng(seed).choice(len(checked), size=rows, replace=False)
        checked = [checked[i] for i in sorted(chosen)]
    return _built(checked, _features(kind, labels), note=note)


def _built(rows: list[dict], features: dict, *, note: str) -> "Dataset":
    import pyarrow as pa
    from datasets import Dataset, DatasetInfo, Features

    typed = Features(features)
    columns = {name: [row[name] for row in rows] for name in typed}
    if "tokens" in columns:  # one a character, in every row that was checked
        columns["tokens"] = _characters(columns["sentence"])
    table = pa.table(columns, schema=typed.arrow_schema)
    info = DatasetInfo(description=note, features=typed)
    return Dataset(table, info=info, fingerprint=_fingerprint(table, note))


def _fingerprint(table: "pa.Table", note: str) -> str:
    """Hash the content of a table, by which `Dataset.map` knows its results; datasets pickles it first."""
    from datasets.fingerprint import Hasher

    parts = [note.encode(), table.schema.to_string(show_schema_metadata=True).encode()]
    arrays = (chunk for column in table.columns for chunk in column.chunks)
    return Hasher.hash_bytes([*parts, *(memoryview(b) for a in arrays for b in a.buffers() if b)])


def _characters(sentences: list[str]) -> "pa.ListArray":
    """Return the characters of each sentence, cut from its bytes: a million Python strings are not needed."""
    import numpy as np
    import pyarrow as pa

    data = "".join(sentences).encode()
    begins = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80  # other bytes of UTF-8 go on with a character
    offsets = np.append(np.flatnonzero(begins), len(data)).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    characters = pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)
    bounds = np.cumsum([0, *map(len, sentences)]).astype(np.int32)
    return pa.ListArray.from_arrays(bounds, characters)


def _features(kind: str, labels: Sequence[str]) -> dict:
    from datasets import ClassLabel, List, Value

    text, number = Value("string"), Value("int32")
    entity = {"word": text, "start_idx": number, "end_idx": number, "type": text}
    label = ClassLabel(names=list(labels)) if labels else None
    columns = {
        "relations": {
            "guid": text,
            "sentence": text,
            "subject_entity": entity,
            "object_entity": dict(entity),
            "label": label,
            "source": text,
        },
        "entities": {"guid": text, "sentence": text, "tokens": List(text), "ner_tags": List(label)},
        "techniques": {
            "id": text,
            "content": text,
            "lang": text,
            "manipulative": Value("bool"),
            "techniques": List(text),
            "labels": List(label),
            "trigger_words": List(List(number)),
        },
        "documents": {"id": text, "title": text, "text": text},
        "lambada": {"index": Value("int64"), "text": text, "answer": text, "candidate": text},
    }
    return columns[kind]
