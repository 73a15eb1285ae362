"""A source without a split of its own never gives the same rows for train and for dev."""

import pytest

from helpers import corpora
from helpers.corpora import splits

from .rows import LOADERS, item, post, refused, relation, tsv, write_csv, write_json, write_lines

ROWS = 60
TASKS = ("klue-re", "klue-ner")


def sentence(i):
    return f"하람{i}은 나래상사{i}의 사장이다."


def rows_of(name):
    """Rows of one task, every fifth a copy of the sentence before."""
    numbers = [i - (i % 5 == 4) for i in range(ROWS)]
    if name == "klue-re":
        return [
            relation(i, sentence(k), f"나래상사{k}", f"하람{k}") | {"guid": f"re-{i}"}
            for i, k in enumerate(numbers)
        ]
    return [
        {
            "guid": f"ner-{i}",
            "tokens": list(sentence(k)),
            "ner_tags": ["B-PS"] + ["O"] * (len(sentence(k)) - 1),
        }
        for i, k in enumerate(numbers)
    ]


def as_lines(folder, name):
    return write_lines(folder / "mine.jsonl", rows_of(name))


def as_folder_of_one_file(folder, name):
    as_lines(folder, name)
    return folder


def as_saved(folder, name):
    from datasets import Dataset

    Dataset.from_list(rows_of(name)).save_to_disk(folder / "mine")
    return folder / "mine"


@pytest.mark.parametrize("write", [as_lines, as_folder_of_one_file, as_saved])
@pytest.mark.parametrize("name", TASKS)
def test_it_is_divided_by_group_and_says_so(tmp_path, capsys, write, name):
    source = write(tmp_path, name)
    train, dev = (LOADERS[name](source, split) for split in ("train", "dev"))
    assert len(train) + len(dev) == ROWS and 6 <= len(dev) <= 12
    assert splits.leak_report(train, dev)["shared"].tolist() == [0] * (2 if name == "klue-re" else 1)
    said = capsys.readouterr().out.splitlines()
    assert f"{len(train)} rows are for training and {len(dev)} are dev" in said[0] and said[0] == said[1]
    assert said[0] in dev.info.description


def test_a_test_file_beside_it_is_left_alone(tmp_path):
    as_lines(tmp_path, "klue-ner")
    write_lines(tmp_path / "test.jsonl", [{"tokens": ["가"]}])
    train, dev = (corpora.load_entities(tmp_path, split) for split in ("train", "dev"))
    assert len(train) + len(dev) == ROWS


def test_the_division_does_not_depend_on_the_seed_of_a_subset(tmp_path):
    source = as_lines(tmp_path, "klue-ner")
    everything = set(corpora.load_entities(source, "dev")["guid"])
    some = [set(corpora.load_entities(source, "dev", rows=4, seed=seed)["guid"]) for seed in range(3)]
    assert all(part < everything for part in some) and some[0] != some[1]


def test_the_entity_file_of_the_layout(tmp_path):
    texts = [(f"s{i}", f"하람 {i}", ["B-PS", "I-PS", "O", *"O" * len(str(i))]) for i in range(30)]
    (path := tmp_path / "mine.tsv").write_text(tsv(*texts))
    train, dev = (set(corpora.load_entities(path, split)["guid"]) for split in ("train", "dev"))
    assert len(train | dev) == 30 and not train & dev


def test_rows_that_all_hang_together_cannot_be_divided(tmp_path):
    path = write_json(tmp_path / "mine.json", [relation(i) for i in range(8)])
    refused(
        "mine.json: .*share a sentence or an entity pair.*_train.*_dev", corpora.load_relations, path, "dev"
    )


def test_posts_are_cross_validated_so_an_undivided_file_is_all_training(tmp_path, capsys):
    path = write_csv(tmp_path / "mine.csv", [post(i) for i in range(9)])
    assert len(corpora.load_techniques(path, "train")) == 9
    refused("mine.csv .*cross-validate", corpora.load_techniques, path, "dev")
    assert capsys.readouterr().out == ""


def test_an_evaluation_set_is_all_dev(tmp_path):
    path = write_lines(tmp_path / "mine.jsonl", [item(0), item(1)])
    assert len(corpora.load_lambada(path)) == 2


def test_a_saved_folder_named_after_its_split_is_that_split(tmp_path):
    from datasets import Dataset

    for split, part in (("train", rows_of("klue-re")[:40]), ("dev", rows_of("klue-re")[40:])):
        Dataset.from_list(part).save_to_disk(tmp_path / f"mine_{split}")
    assert len(corpora.load_relations(tmp_path, "train")) == 40
    assert len(corpora.load_relations(tmp_path, "dev")) == 20
    assert len(corpora.load_relations(tmp_path / "mine_dev", "dev")) == 20
    refused("named after the split 'train'", corpora.load_relations, tmp_path / "mine_train", "dev")


def test_shards_are_one_file(tmp_path):
    from datasets import Dataset

    rows = Dataset.from_list(rows_of("klue-re"))
    for i in range(3):
        rows.shard(3, i, contiguous=True).to_parquet(tmp_path / f"train-{i:05d}-of-00003.parquet")
    assert corpora.load_relations(tmp_path, "train")["guid"][:] == rows["guid"][:]
    (tmp_path / "train-00001-of-00003.parquet").unlink()
    refused("2 of 3 shards", corpora.load_relations, tmp_path, "train")
