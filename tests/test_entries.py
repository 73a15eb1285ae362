"""Entries: checked before they are written, and the same score when they are read back."""

import json

import numpy as np
import pytest
from pytest import approx
from scipy.special import softmax

from helpers import cli, corpora, entries
from helpers.corpora.labels import RELATIONS, TAGS, TECHNIQUES
from helpers.entities.scores import char_f1, entity_f1
from helpers.entities.tags import without_spaces
from helpers.multilabel.scores import indicators, macro_f1
from helpers.relations.scores import auprc, micro_f1
from tests import own_data


def save(path, rows):
    path.write_text(json.dumps(rows, ensure_ascii=False))
    return path


@pytest.fixture
def relations(tmp_path):
    """Gold rows of the sample as KLUE's dev file has them, and made-up probabilities."""
    gold = corpora.load_relations("sample", "dev", rows=60)
    names = gold.features["label"].names
    path = save(tmp_path / "gold_dev.json", [row | {"label": names[row["label"]]} for row in gold])
    logits = np.random.default_rng(0).normal(size=(60, 30)) + 2 * np.eye(30)[gold["label"][:]]
    return gold, path, softmax(logits, axis=1)


class TestRelations:
    def test_the_round_trip_gives_the_scores(self, relations, tmp_path, capsys):
        gold, path, probs = relations
        entry = entries.write(tmp_path / "entry.csv", gold["guid"][:], entries.relations(probs, RELATIONS))
        header, first = entry.read_text().splitlines()[:2]
        assert header == "id,pred_label,probs" and first.startswith(gold["guid"][0])
        found = entries.scored(entry, path)
        assert found["micro-F1"] == approx(micro_f1(gold["label"][:], probs.argmax(axis=1)), abs=1e-9)
        assert found["AUPRC"] == approx(auprc(gold["label"][:], probs), abs=1e-9)
        assert cli.main(["score", str(entry), str(path)]) == 0
        assert f"micro-F1  {found['micro-F1']:.4f}" in capsys.readouterr().out

    def test_probabilities_go_in_the_competition_s_order(self):
        probs = np.eye(30)[[RELATIONS.index("org:top_members/employees")]]
        columns = entries.relations(probs, RELATIONS)
        assert columns["pred_label"] == ["org:top_members/employees"]
        assert json.loads(columns["probs"][0]) == [0.0, 1.0, *[0.0] * 28]
        assert sorted(entries.BOOSTCAMP) == sorted(RELATIONS)
        some = {4: "per:title", 9: "org:number_of_employees/members", 18: "org:founded", 29: "per:religion"}
        assert {i: entries.BOOSTCAMP[i] for i in some} == some

    def test_own_labels_keep_their_order_and_their_name_for_none(self, tmp_path):
        rows = own_data.relations(30)
        path = own_data.write(tmp_path, rows, "mine") / "mine.jsonl"
        gold = corpora.load_relations(path, "all")
        names = gold.features["label"].names
        assert len(gold) == 30 and names == ["no_relation", "복용", "처방"]
        probs = np.eye(3)[gold["label"][:]]
        columns = entries.relations(probs, names, none="관계없음")
        assert columns["pred_label"] == [row["label"] for row in rows]
        entry = entries.write(tmp_path / "entry.csv", gold["guid"][:], columns)
        assert entries.scored(entry, path) == {"micro-F1": 100.0, "accuracy": 100.0, "AUPRC": 100.0}

    def test_klue_s_own_form(self, relations, tmp_path):
        gold, path, probs = relations
        predicted = [RELATIONS[i] for i in probs.argmax(axis=1)]
        entry = entries.write_klue(tmp_path / "entry.json", gold, predicted)
        assert entries.scored(entry, path)["micro-F1"] == approx(
            micro_f1(gold["label"][:], probs.argmax(axis=1))
        )
        assert corpora.load_relations(entry, "all")["sentence"][:] == gold["sentence"][:]

    def test_what_cannot_be_handed_in(self, relations, tmp_path):
        gold, _, probs = relations
        for wrong, words in ((probs * 2, "row 0: probabilities sum to 2.0"), (probs[:, :5], r"\(rows, 30\)")):
            with pytest.raises(ValueError, match=words):
                entries.relations(wrong, RELATIONS)
        columns = entries.relations(probs, RELATIONS)
        for ids, words in ((gold["guid"][1:], "59 ids but 60 rows"), (["a"] * 60, "'a' comes twice")):
            with pytest.raises(ValueError, match=words):
                entries.write(tmp_path / "x.csv", ids, columns)
        assert not (tmp_path / "x.csv").exists()


class TestSample:
    def test_header_ids_and_order_are_the_sample_s(self, tmp_path):
        (tmp_path / "sample_submission.csv").write_text("ID,b,a\n7,0,0\n3,0,0\n")
        columns = entries.classes(np.array([[1, 0], [0, 1]]), ["a", "b"])
        entry = entries.write(tmp_path / "x.csv", [3, 7], columns, sample=tmp_path / "sample_submission.csv")
        assert entry.read_text().split() == ["ID,b,a", "7,1,0", "3,0,1"]

    @pytest.mark.parametrize(
        ("sample", "words"),
        [
            ("id,a\n3,0\n", r"1 unknown \['7'\]"),
            ("id,a\n3,0\n7,0\n9,0\n", r"1 missing \['9'\]"),
            ("id,c\n3,0\n7,0\n", "no predictions for its columns c; there are a, b"),
            ("id,a\n", "2 unknown"),
        ],
    )
    def test_a_sample_that_does_not_fit(self, tmp_path, sample, words):
        (tmp_path / "s.csv").write_text(sample)
        columns = entries.classes(np.array([[1, 0], [0, 1]]), ["a", "b"])
        with pytest.raises(ValueError, match=words):
            entries.write(tmp_path / "x.csv", ["3", "7"], columns, sample=tmp_path / "s.csv")


class TestEntities:
    def test_the_round_trip_gives_the_scores(self, tmp_path):
        gold = corpora.load_entities("sample", "dev", rows=30)
        wanted = [[TAGS[i] for i in row] for row in gold["ner_tags"]]
        rng = np.random.default_rng(0)
        said = [[t if rng.random() < 0.95 else TAGS[rng.integers(13)] for t in row] for row in wanted]
        path = entries.write_klue(tmp_path / "gold_dev.tsv", gold, wanted)
        entry = entries.write_klue(tmp_path / "entry.tsv", gold, said)  # I- after O too
        found = entries.scored(entry, path)
        solid = [without_spaces(tags, gold["sentence"][:]) for tags in (wanted, said)]
        assert found["entity F1"] == approx(entity_f1(*solid)) and found["character F1"] == approx(
            char_f1(*solid)
        )
        assert found["entity F1, exact"] == approx(entity_f1(wanted, said))
        assert entries.scored(path, path)["entity F1"] == 100.0

    def test_own_types_and_what_does_not_fit(self, tmp_path):
        path = own_data.write(tmp_path, own_data.entities(5), "mine") / "mine.jsonl"
        gold = corpora.load_entities(path, "all")
        names = gold.features["ner_tags"].feature.names
        tags = [[names[i] for i in row] for row in gold["ner_tags"]]
        assert entries.scored(entries.write_klue(tmp_path / "a.tsv", gold, tags), path)["entity F1"] == 100.0
        tags[0][0] = "B-기타"
        with pytest.raises(ValueError, match="e0-0: unknown tag 'B-기타'"):
            entries.scored(entries.write_klue(tmp_path / "b.tsv", gold, tags), path)
        with pytest.raises(ValueError, match=r"e0-0: \d+ characters but 1 tags"):
            entries.write_klue(tmp_path / "c.tsv", gold, [["O"]] * 5)
        with pytest.raises(ValueError, match="5 rows but 1 predictions"):
            entries.write_klue(tmp_path / "c.tsv", gold, [["O"]])


class TestPosts:
    @pytest.fixture
    def posts(self, tmp_path):
        rows = corpora.load_techniques("sample", "train", rows=40)
        return rows, save(tmp_path / "gold_train.json", rows.remove_columns("labels").to_list())

    def test_techniques(self, posts, tmp_path):
        rows, path = posts
        gold = indicators(rows["techniques"][:], TECHNIQUES)
        said = np.where(np.random.default_rng(0).random(gold.shape) < 0.8, gold, 1 - gold)
        entry = entries.write(tmp_path / "entry.csv", rows["id"][:], entries.classes(said, TECHNIQUES))
        assert entries.scored(entry, path) == {"macro-F1": approx(100 * macro_f1(gold, said), abs=1e-10)}

    def test_spans(self, posts, tmp_path):
        rows, path = posts
        found = [[tuple(span) for span in spans] for spans in rows["trigger_words"]]
        entry = entries.write(tmp_path / "entry.csv", rows["id"][:], entries.spans(found))
        assert entry.read_text().splitlines()[0] == "id,trigger_words"
        assert entries.scored(entry, path) == {"character F1": 100.0}
        none = entries.write(tmp_path / "none.csv", rows["id"][:], entries.spans([[]] * 40))
        assert entries.scored(none, path) == {"character F1": 0.0}
        with pytest.raises(ValueError, match="row 1: a span is"):
            entries.spans([[(0, 1)], [(3, 3)]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,pred_label\nre-0,per:title\n", "ids of gold and entry differ: 1 missing"),
        ("id,pred_label\nre-0,per:title\nre-0,per:title\n", "come more than once"),
        (
            "id,pred_label\nre-0,per:tilte\nre-1,per:title\n",
            "id re-0: unknown label 'per:tilte'; did you mean",
        ),
        (
            "id,pred_label,probs\nre-0,per:title,[1]\nre-1,per:title,[1]\n",
            "probs: expected 30 numbers, got 1",
        ),
        ("id,pred_label\nre-0\n", "line 2: expected 2 cells"),
        ("id,a\nre-0,1\n", "gold.json, row 1: expected an id in 'id'"),
    ],
)
def test_an_entry_that_does_not_fit_is_one_message(tmp_path, capsys, text, words):
    from tests.corpora.rows import relation

    gold = save(tmp_path / "gold.json", [relation(i) for i in range(2)])
    (tmp_path / "entry.csv").write_text(text)
    assert cli.main(["score", str(tmp_path / "entry.csv"), str(gold)]) == 2
    assert words in capsys.readouterr().err
