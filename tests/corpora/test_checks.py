"""Enough to learn and to score, said before anything trains; what would mean nothing is refused."""

import pytest

from helpers import corpora
from helpers.corpora import checks
from tests import own_data

from .rows import relation, write_json, write_lines


def results(frame):
    return dict(zip(frame["check"], frame["result"], strict=True))


def found(frame):
    return dict(zip(frame["check"], frame["found"], strict=True))


@pytest.fixture
def sides(tmp_path):
    def load(loader, train, dev):
        own_data.write(tmp_path, train, "mine_train")
        own_data.write(tmp_path, dev, "mine_dev")
        return [loader(tmp_path, split) for split in ("train", "dev")]

    return load


def test_the_sample_passes():
    for check, load in ((checks.relations, corpora.load_relations), (checks.entities, corpora.load_entities)):
        frame = check(load("sample", "train", rows=400), load("sample", "dev", rows=200))
        assert results(frame)["dev rows whose sentence is in train"] == "ok"
    assert set(
        checks.documents(*(corpora.load_documents("sample", s, rows=30) for s in ("train", "dev")))["result"]
    ) == {"ok"}


class TestRelations:
    def test_labels_that_cannot_be_learned(self, sides):
        train, dev = own_data.relations(120), own_data.relations(120, seed=1)
        train = [row for row in train if row["label"] != "처방"] + [
            row | {"guid": "x"} for row in train if row["label"] == "처방"
        ][:1]
        frame = checks.relations(*sides(corpora.load_relations, train, dev))
        assert found(frame)["10 of each label in train"] == "not 처방 (1)"
        frame = checks.relations(*sides(corpora.load_relations, train[:-1], dev))
        assert found(frame)["labels of dev in train"] == "not 처방"
        assert results(frame)["labels of dev in train"] == results(frame)["train rows"] == "weak"

    def test_nothing_to_find_and_a_copy_are_refused(self, sides):
        rows = own_data.relations(40)
        none = [row for row in rows if row["label"] == "관계없음"]
        with pytest.raises(ValueError, match="no row of dev has a relation"):
            checks.relations(*sides(corpora.load_relations, rows, none))
        with pytest.raises(ValueError, match="cannot be scored: 100 % of the dev texts are in train"):
            checks.relations(*sides(corpora.load_relations, rows, rows))

    def test_too_little_to_divide_and_one_label_are_refused(self, sides):
        rows, dev = own_data.relations(40), own_data.relations(40, seed=1)
        three = [next(row for row in rows if row["label"] == name) for name in ("복용", "처방", "관계없음")]
        with pytest.raises(ValueError, match="3 train rows, at least 8 are needed"):
            checks.relations(*sides(corpora.load_relations, three, dev))
        same = [row for row in own_data.relations(80) if row["label"] == "복용"]
        with pytest.raises(ValueError, match="every row of train has the label 복용"):
            checks.relations(*sides(corpora.load_relations, same, dev))

    def test_the_leak_is_a_row(self, tmp_path):
        rows = [relation(i, f"하람{i}은 나래상사의 사장이다.", "나래상사", f"하람{i}") for i in range(8)]
        rows[1]["label"] = "no_relation"
        train = corpora.load_relations(write_json(tmp_path / "a_train.json", rows), "train")
        others = [relation(i, f"솔{i}은 바다사의 사장이다.", "바다사", f"솔{i}") for i in range(10, 19)]
        dev = corpora.load_relations(write_json(tmp_path / "a_dev.json", [rows[0], *others]), "dev")
        assert found(checks.relations(train, dev))["dev rows whose entity pair is in train"] == "10.0 %"


def test_types_that_dev_lacks(sides):
    rows = own_data.entities(30)
    without = [
        row | {"ner_tags": [t if "약물" not in t else "O" for t in row["ner_tags"]]}
        for row in own_data.entities(20, seed=1)
    ]
    frame = checks.entities(*sides(corpora.load_entities, rows, without))
    assert found(frame)["types in dev"] == "dev has no entities of 약물"
    bare = [row | {"ner_tags": ["O"] * len(row["tokens"])} for row in without]
    with pytest.raises(ValueError, match="dev has no entities at all"):
        checks.entities(*sides(corpora.load_entities, rows, bare))
    with pytest.raises(ValueError, match="train has no entities at all"):
        checks.entities(*sides(corpora.load_entities, bare, rows))
    with pytest.raises(ValueError, match="3 train rows and 2 dev rows, at least 8 are needed"):
        checks.entities(*sides(corpora.load_entities, rows[:3], own_data.entities(2, seed=1)))


def test_posts_in_folds(tmp_path):
    rows = own_data.posts(200)
    rows[0]["techniques"], rows[1]["content"] = ["종교"], rows[0]["content"]
    posts = corpora.load_techniques(own_data.write(tmp_path, rows, "mine_train"), "train")
    frame = checks.posts(posts, folds=5)
    assert found(frame)["a post of each class, and one without, in 5 folds"] == "not of 종교 (1)"
    assert found(frame)["copies of a text, which folds would separate"] == "1"
    bare = [row | {"techniques": []} for row in rows]
    with pytest.raises(ValueError, match="no post has a class"):
        checks.posts(corpora.load_techniques(own_data.write(tmp_path / "b", bare, "train"), "train"), folds=5)


def test_classes_that_no_fold_can_tell_apart(tmp_path):
    rows = [row | {"techniques": ["종교"]} for row in own_data.posts(40)]
    posts = corpora.load_techniques(own_data.write(tmp_path, rows, "mine_train"), "train")
    with pytest.raises(ValueError, match=r"no class has a post with it and one without .*종교 \(40\) of 40"):
        checks.posts(posts, folds=5)


def test_documents_that_are_too_few(tmp_path):
    path = write_lines(tmp_path / "mine.jsonl", [{"text": f"글 {i}"} for i in range(40)])
    train, dev = (corpora.load_documents(path, split) for split in ("train", "dev"))
    with pytest.raises(ValueError, match=f"dev has {len(dev)} documents .* 30 are needed for Real@k"):
        checks.documents(train, dev)
    some = corpora.load_documents("sample", "dev", rows=10)
    assert results(checks.documents(train, some))["dev documents, 30 needed for Real@k"] == "weak"
