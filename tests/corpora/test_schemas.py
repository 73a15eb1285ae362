"""Labels come from the data: official, own, mixed by mistake, or named in labels.yaml."""

import pytest

from helpers import corpora
from helpers.corpora import schemas
from helpers.corpora.labels import RELATIONS, TAGS, TECHNIQUES

from .rows import post, refused, relation, tsv, write_csv, write_json

OWN = ("설립자", "소속", "관계없음")
TYPED = {"word": "하람", "start_idx": 0, "end_idx": 1}


def own_relations(folder, train=OWN, dev=OWN[:1], **changes):
    for split, labels in (("train", train), ("dev", dev)):
        rows = [relation(i, label=label, **changes) for i, label in enumerate(labels)]
        write_json(folder / f"mine_{split}.json", rows)
    return folder


def own_entities(folder, *kinds, name="train"):
    rows = [(f"s{i}", "하람 #", [f"B-{kind}", f"I-{kind}", "O", "O"]) for i, kind in enumerate(kinds)]
    (folder / f"mine_{name}.tsv").write_text(tsv(*rows))


def names(dataset):
    return dataset.features["label"].names


class TestRelations:
    def test_own_labels_by_name_after_the_one_that_means_none(self, tmp_path, capsys):
        train = corpora.load_relations(own_relations(tmp_path), "train")
        assert names(train) == ["no_relation", "설립자", "소속"]
        assert train["label"][:] == [1, 2, 0]
        said = "The label '관계없음' is read as no_relation"
        assert said in capsys.readouterr().out and said in train.info.description

    def test_both_splits_have_the_labels_of_both(self, tmp_path):
        folder = own_relations(tmp_path, train=("소속", "없는관계"), dev=("none", "가족"))
        loaded = [names(corpora.load_relations(folder, split)) for split in ("train", "dev")]
        assert loaded == [["no_relation", "가족", "소속", "없는관계"]] * 2

    def test_an_official_dev_file_beside_own_labels_is_a_mixture(self, tmp_path):
        own_relations(tmp_path, train=OWN, dev=("per:title",))
        refused("mine_train.json, row 1 .*unknown label '설립자'", corpora.load_relations, tmp_path, "train")

    def test_a_saved_folder_with_splits(self, tmp_path):
        from datasets import Dataset, DatasetDict

        parts = {
            split: Dataset.from_list([relation(i, label=label) for i, label in enumerate(labels)])
            for split, labels in (("train", OWN), ("validation", ("가족",)))
        }
        DatasetDict(parts).save_to_disk(tmp_path / "mine")
        wanted = ["no_relation", "가족", "설립자", "소속"]
        assert [names(corpora.load_relations(tmp_path / "mine", s)) for s in ("train", "dev")] == [wanted] * 2

    def test_without_a_label_that_means_none_one_is_added_and_said(self, tmp_path, capsys):
        train = corpora.load_relations(own_relations(tmp_path, train=("가족", "소속")), "train")
        assert names(train)[0] == "no_relation" and 0 not in train["label"][:]
        assert "is added as one without rows" in capsys.readouterr().out

    @pytest.mark.parametrize("none", ["unknown", "Unrelated", "없음", "No-Rel"])
    def test_what_is_usually_called_none_is_guessed_and_said(self, tmp_path, capsys, none):
        train = corpora.load_relations(own_relations(tmp_path, train=(none, "소속")), "train")
        assert train["label"][:] == [0, 2] and f"The label {none!r} is read" in capsys.readouterr().out

    def test_two_labels_that_could_mean_none_are_a_question(self, tmp_path):
        folder = own_relations(tmp_path, train=("none", "Other", "소속"))
        refused("'Other' and 'none' could both mean.*labels.yaml", corpora.load_relations, folder, "train")
        (folder / "labels.yaml").write_text("none: Other")
        loaded = corpora.load_relations(folder, "train")
        assert names(loaded) == ["no_relation", "none", "설립자", "소속"] and loaded["label"][:] == [1, 0, 3]

    def test_labels_yaml_gives_order_and_what_never_occurs(self, tmp_path, capsys):
        folder = own_relations(tmp_path)
        (folder / "labels.yaml").write_text("labels: [소속, 가족, 설립자, 관계없음]\nnone: 관계없음\n")
        train = corpora.load_relations(folder, "train")
        assert names(train) == ["no_relation", "소속", "가족", "설립자"] and train["label"][:] == [3, 1, 0]
        assert capsys.readouterr().out == ""
        (folder / "labels.yaml").write_text("labels: [소속, 가족]")
        refused(
            "row 1 .*unknown label '설립자'; expected one of no_rel", corpora.load_relations, folder, "train"
        )

    def test_numbers_count_along_labels_yaml_not_along_our_ids(self, tmp_path):
        folder = own_relations(tmp_path, train=(0, 1), dev=(1,))
        (folder / "labels.yaml").write_text("labels: [소속, 무관]")
        train = corpora.load_relations(folder, "train")
        assert [names(train)[i] for i in train["label"]] == ["소속", "no_relation"]

    def test_numbers_mean_nothing_beside_own_names(self, tmp_path):
        refused(
            "row 2 .*unknown label 3",
            corpora.load_relations,
            own_relations(tmp_path, train=("소속", 3)),
            "train",
        )

    def test_own_entity_types(self, tmp_path):
        folder = own_relations(
            tmp_path,
            subject_entity={"word": "나래상사", "start_idx": 4, "end_idx": 7, "type": "회사"},
            object_entity=TYPED | {"type": "인물"},
        )
        assert corpora.load_relations(folder, "train")[0]["subject_entity"]["type"] == "회사"
        (folder / "labels.yaml").write_text("types: [회사, 사람]")
        refused("unknown type '인물'", corpora.load_relations, folder, "train")

    def test_own_types_in_the_cells_of_a_csv(self, tmp_path):
        row = relation(
            label="소속",
            subject_entity={"word": "나래상사", "start_idx": 4, "end_idx": 7, "type": "회사"},
            object_entity=TYPED | {"type": "인물"},
        )
        path = write_csv(tmp_path / "mine_train.csv", [row])
        assert corpora.load_relations(path, "train")[0]["object_entity"]["type"] == "인물"

    def test_a_subset_of_the_official_labels_keeps_their_order(self, tmp_path):
        folder = own_relations(tmp_path, train=("per:title", "no_relation"), dev=("org:members",))
        assert names(corpora.load_relations(folder, "train")) == list(RELATIONS)


class TestEntities:
    def test_own_types_by_name(self, tmp_path):
        own_entities(tmp_path, "질병", "약물")
        own_entities(tmp_path, "증상", name="dev")
        train, dev = (corpora.load_entities(tmp_path, split) for split in ("train", "dev"))
        tags = ["B-약물", "I-약물", "B-증상", "I-증상", "B-질병", "I-질병", "O"]
        assert train.features["ner_tags"].feature.names == dev.features["ner_tags"].feature.names == tags
        assert train["ner_tags"][:] == [[4, 5, 6, 6], [0, 1, 6, 6]]

    def test_a_mixture_is_refused_until_named(self, tmp_path):
        own_entities(tmp_path, "PS", "질병")
        refused("line 10 .*unknown label 'B-질병'.*labels.yaml", corpora.load_entities, tmp_path, "train")
        (tmp_path / "labels.yaml").write_text("labels: [PS, 질병]")
        assert corpora.load_entities(tmp_path, "train")["ner_tags"][:] == [[0, 1, 4, 4], [2, 3, 4, 4]]

    def test_official_types_keep_their_tags(self, tmp_path):
        own_entities(tmp_path, "PS")
        assert corpora.load_entities(tmp_path, "train").features["ner_tags"].feature.names == list(TAGS)

    def test_more_types_than_a_byte_holds(self, tmp_path):
        own_entities(tmp_path, *(f"type-{i:03d}" for i in range(100)))
        assert len(corpora.load_entities(tmp_path, "train").features["ner_tags"].feature.names) == 201


class TestClasses:
    def test_own_classes_without_language_or_spans(self, tmp_path):
        rows = [
            {"id": i, "content": "글", "techniques": names}
            for i, names in enumerate([["연령", "지역"], [], ["인종"]])
        ]
        posts = corpora.load_techniques(write_json(tmp_path / "train.json", rows), "train")
        assert posts.features["labels"].feature.names == ["연령", "인종", "지역"]
        assert posts["labels"][:] == [[0, 2], [], [1]] and posts["techniques"][0] == ["연령", "지역"]
        assert set(posts["lang"]) == {""} and posts["trigger_words"][:] == [[], [], []]

    def test_official_classes_keep_their_order(self, tmp_path):
        posts = corpora.load_techniques(write_json(tmp_path / "train.json", [post()]), "train")
        assert posts.features["labels"].feature.names == list(TECHNIQUES)
        assert posts["labels"][:] == [[0, 3]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("labels: [a", "not readable as YAML"),
        ("- a", "expected lines of `labels: "),
        ("", "expected lines of `labels: "),
        ("classes: [a]", "with keys labels"),
        ("labels: [a, a]", "each name once"),
        ("labels: a", "each name once"),
        ("labels: []", "each name once"),
        ("labels: [no, yes]", 'put quotes around it, as in "no"'),
    ],
)
def test_a_bad_labels_yaml_is_one_message(tmp_path, text, words):
    (tmp_path / "labels.yaml").write_text(text)
    with pytest.raises(ValueError) as error:
        schemas.read(tmp_path, ("labels",))
    assert words in str(error.value) and str(tmp_path / "labels.yaml") in str(error.value)


@pytest.mark.parametrize(
    "schema",
    [
        schemas.Schema(("no_relation", "no", "소속: 1"), types=("on", "2"), none="관계없음"),
        schemas.Schema(("PER", "약물")),
    ],
)
def test_what_is_written_is_read_back(tmp_path, schema):
    schemas.write(tmp_path, schema)
    given = schemas.read(tmp_path, ("labels", "none", "types"))
    labels = [schema.none if name == "no_relation" else name for name in schema.labels]
    assert list(given["labels"]) == labels
    assert given.get("types", ()) == schema.types and given.get("none", schemas.NONE) == schema.none
