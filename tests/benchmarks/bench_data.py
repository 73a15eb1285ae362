"""Data: generating the sample world and reading the real files."""

import tempfile
from pathlib import Path

from tests.benchmarks.harness import DATA, Limit, Race

RELATIONS = DATA / "klue-re" / "klue-re-v1.1_train.json"
ENTITIES = DATA / "klue-ner" / "klue-ner-v1.1_train.tsv"


def cases() -> list[Race | Limit]:
    generated = [
        Limit(
            name=f"sample world, {task}",
            work=f"microseconds to generate one of {rows:,} rows",
            measure=lambda task=task, rows=rows: _microseconds_a_row(task, rows),
            limit=limit,
            unit="µs a row",
        )
        # 200 µs are 5,000 rows a second
        for task, rows, limit in (
            ("entities", 10_000, 200),
            ("relations", 5_000, 1000),
            ("posts", 5_000, 200),
        )
    ]
    loaded = [
        Race(
            name="load KLUE-RE json",
            work="read the official file into a Dataset; ours also checks every row",
            data=lambda rows: RELATIONS,
            ours=_load_relations,
            others={
                "datasets.load_dataset": _load_relations_unchecked,
                "a plain loop over rows": _load_relations_by_loop,
            },
            sizes=(32_470,),
            unit="rows",
            equal=lambda a, b: a == b,
            targets={"datasets.load_dataset": 2.0, "a plain loop over rows": 1.0},
        ),
        Race(
            name="load KLUE-NER tsv",
            work="read the official file into a Dataset; ours also checks every row",
            data=lambda rows: ENTITIES,
            ours=_load_entities,
            others={"a plain loop over lines": _load_entities_unchecked},
            sizes=(21_003,),
            unit="sentences",
            equal=lambda a, b: a == b,
            targets={"a plain loop over lines": 1.0},
            explanation="The loop checks nothing; ours cuts and checks each distinct line once.",
        ),
    ]
    return generated + (loaded if RELATIONS.exists() and ENTITIES.exists() else [])


def _microseconds_a_row(task: str, rows: int) -> float:
    import time

    from helpers import sample_world

    start = time.perf_counter()
    made = sum(1 for _ in getattr(sample_world, task)("train", rows, 0))
    return (time.perf_counter() - start) / made * 1e6


def _load_relations(path: Path) -> list[str]:
    from helpers import corpora

    return corpora.load_relations(path, "train")["sentence"][:]


def _load_relations_unchecked(path: Path) -> list[str]:
    from datasets import load_dataset

    with tempfile.TemporaryDirectory() as cache:
        loaded = load_dataset("json", data_files=str(path), split="train", cache_dir=cache)
        return loaded["sentence"][:]


def _load_relations_by_loop(path: Path) -> list[str]:
    """What a notebook would do: parse, gather the columns, check nothing."""
    import json

    from datasets import Dataset

    columns: dict[str, list] = {}
    for row in json.loads(path.read_text(encoding="utf-8")):
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return Dataset.from_dict(columns)["sentence"][:]


def _load_entities(path: Path) -> list[list[str]]:
    from helpers import corpora

    return corpora.load_entities(path, "train")["tokens"][:]


def _load_entities_unchecked(path: Path) -> list[list[str]]:
    from datasets import Dataset

    tokens, tags = [], []
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("## "):
            fresh = True
        elif line:
            if fresh:
                tokens.append([])
                tags.append([])
                fresh = False
            character, tag = line.split("\t")
            tokens[-1].append(character)
            tags[-1].append(tag)
    return Dataset.from_dict({"tokens": tokens, "ner_tags": tags})["tokens"][:]
