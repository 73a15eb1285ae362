"""A folder in the documented layout, and a stand-in for the hub."""

from pathlib import Path

import pytest

from helpers import corpora
from helpers.corpora.labels import TAGS

from .rows import NER, item, post, relation, tsv, write_json, write_lines


@pytest.fixture
def folder(tmp_path) -> Path:
    """One data set of each kind, in the documented layout."""
    for name in ("klue-re", "klue-ner", "unlp", "corpus", "lambada"):
        (tmp_path / name).mkdir()
    for split in ("train", "dev"):
        rows = [relation(i, label="no_relation" if i else "org:founded_by") for i in range(3)]
        write_json(tmp_path / "klue-re" / f"mine_{split}.json", rows)
        (tmp_path / "klue-ner" / f"mine_{split}.tsv").write_text(tsv(NER, ("ner-1", "나", ["O"])))
    write_json(tmp_path / "unlp" / "train.json", [post(0), post(1, techniques=None, trigger_words=None)])
    write_lines(
        tmp_path / "corpus" / "wiki.jsonl", [{"text": f"글 {i}", "title": "제목"} for i in range(200)]
    )
    write_lines(tmp_path / "lambada" / "test.jsonl", [item(0), item(1)])
    return tmp_path


class Hub:
    """Stands in for `datasets.load_dataset`: serves data sets saved on disk, as the hub would type them."""

    def __init__(self, root, folder):
        from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value

        text, self.root, self.calls, self.revisions = Value("string"), root, [], {}
        relations = corpora.load_relations(folder, "train")
        ner = Dataset.from_list(
            [{"sentence": "<하람:PS> #", "tokens": list("하람 #"), "ner_tags": [6, 7, 12, 12]}],
            features=Features(sentence=text, tokens=List(text), ner_tags=List(ClassLabel(names=list(TAGS)))),
        )
        posts = Dataset.from_list([post(i) for i in range(4)])
        wiki = Dataset.from_list(
            [{"id": str(i), "url": "", "title": "제목", "text": f"글 {i}"} for i in range(50)]
        )
        cloze = Dataset.from_list([item(0)])
        for name, splits in {
            "klue/klue re": {"train": relations, "validation": relations.select([2])},
            "klue/klue ner": {"train": ner, "validation": ner},
            "robinhad/manipulation-detection": {"train": posts},
            "wikimedia/wikipedia 20231101.ko": {"train": wiki},
            "thunder-research-group/SNU_Ko-LAMBADA": {"test": cloze},
        }.items():
            DatasetDict(splits).save_to_disk(root / name)

    def __call__(self, *name, split=None, revision=None):
        from datasets import load_from_disk

        self.calls.append((*name, split))
        self.revisions.setdefault(name[0], set()).add(revision)
        saved = load_from_disk(self.root / " ".join(name))
        if split is not None and split not in saved:
            raise ValueError(f'Unknown split "{split}". Should be one of {list(saved)}.')
        return saved if split is None else saved[split]


@pytest.fixture
def hub(tmp_path, folder, monkeypatch):
    served = Hub(tmp_path / "hub", folder)
    monkeypatch.setattr("datasets.load_dataset", served)
    return served
