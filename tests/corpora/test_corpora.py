"""Loaders: one schema whatever the source, errors that name the row, splits that do not leak."""

import csv
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import corpora
from helpers.corpora import klue, sources, unlp
from helpers.corpora.documents import in_dev
from helpers.corpora.hub import fetch
from helpers.corpora.labels import RELATIONS, TAGS
from helpers.corpora.splits import connected_groups

LOADERS = {
    "klue-re": corpora.load_relations,
    "klue-ner": corpora.load_entities,
    "unlp": corpora.load_techniques,
    "corpus": corpora.load_documents,
    "lambada": corpora.load_lambada,
}


def relation(i=0, sentence="하람은 나래상사의 사장이다.", subject="나래상사", object_="하람", **changes):
    def entity(word, kind):
        start = sentence.find(word)
        return {"word": word, "start_idx": start, "end_idx": start + len(word) - 1, "type": kind}

    return {
        "guid": f"re-{i}",
        "sentence": sentence,
        "subject_entity": entity(subject, "ORG"),
        "object_entity": entity(object_, "PER"),
        "label": "org:top_members/employees",
        "source": "made-up",
    } | changes


def post(i=0, **changes):
    return {
        "id": f"post-{i}",
        "content": "Усі так кажуть!",
        "lang": "uk",
        "manipulative": True,
        "techniques": ["bandwagon", "straw_man"],
        "trigger_words": [[0, 3]],
    } | changes


def item(i=0, **changes):
    return {"index": i, "text": "배가 고팠다. 그는 _를 먹었다.", "answer": "배", "candidate": "돌"} | changes


def tsv(*sentences, header=True):
    """Write sentences of (guid, characters, tags) as an entity file."""
    head = "## 주석 : ##\n## 컬럼명 : CHAR\tNE_TAG\n" if header else ""
    return head + "".join(
        f"## {guid}\t{''.join(text)}\n"
        + "".join(f"{c}\t{t}\n" for c, t in zip(text, tags, strict=True))
        + "\n"
        for guid, text, tags in sentences
    )


NER = ("ner-0", "하람 #", ["B-PS", "I-PS", "O", "O"])


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


def write_json(path, rows):
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1))
    return path


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def refused(match, load, *arguments):
    with pytest.raises(ValueError, match=match) as error:
        load(*arguments)
    return str(error.value)


class TestSchema:
    def test_folder_in_the_documented_layout(self, folder):
        relations = corpora.load_relations(folder, "train")
        assert relations.features["label"].names == list(RELATIONS)
        assert relations["label"][:] == [RELATIONS.index("org:founded_by"), 0, 0]
        row = relations[0]
        subject = row["subject_entity"]
        assert row["sentence"][subject["start_idx"] : subject["end_idx"] + 1] == subject["word"] == "나래상사"

        entities = corpora.load_entities(folder, "validation")
        assert entities.features["ner_tags"].feature.names == list(TAGS)
        assert entities[0] == {
            "guid": "ner-0",
            "sentence": "하람 #",
            "tokens": ["하", "람", " ", "#"],
            "ner_tags": [6, 7, 12, 12],
        }

        posts = corpora.load_techniques(folder, "train")
        assert posts[0]["techniques"] == ["straw_man", "bandwagon"]  # the order of TECHNIQUES
        assert posts[1]["techniques"] == [] == posts[1]["trigger_words"]
        assert posts.info.description == ""
        assert corpora.load_lambada(folder)[1] == item(1)

    @pytest.mark.parametrize("name", LOADERS)
    def test_same_schema_from_the_sample(self, folder, name):
        split = "dev" if name == "lambada" else "train"
        assert LOADERS[name]("sample", split, rows=5).features == LOADERS[name](folder, split).features

    @pytest.mark.parametrize("name", LOADERS)
    @pytest.mark.parametrize("split", ["train", "dev"])
    def test_sample_rows_pass_the_checks_and_repeat(self, name, split):
        once = LOADERS[name]("sample", split, rows=40, seed=3)
        assert len(once) == 40
        assert once.to_list() == LOADERS[name]("sample", split, rows=40, seed=3).to_list()
        assert once.to_list() != LOADERS[name]("sample", split, rows=40, seed=4).to_list()

    def test_boostcamp_csv_equals_json(self, folder, tmp_path):
        rows = [relation(i) for i in range(3)]
        renamed = [{"id": row.pop("guid")[3:], **row} for row in [dict(row) for row in rows]]
        path = write_csv(tmp_path / "train.csv", renamed)  # csv writes the dicts as str(dict)
        loaded = corpora.load_relations(path, "train")
        assert loaded["guid"][:] == ["0", "1", "2"]
        expected = corpora.load_relations(write_json(tmp_path / "b_train.json", rows), "train")
        assert loaded.remove_columns("guid").to_list() == expected.remove_columns("guid").to_list()

    def test_unlp_csv_and_parquet_equal_json(self, tmp_path):
        from datasets import Dataset

        rows = [post(0), post(1, techniques=[], trigger_words=[[3, 5], [1, 4]]), post(2, lang="ru")]
        paths = [write_json(tmp_path / "train.json", rows), write_csv(tmp_path / "train.csv", rows)]
        paths.append(tmp_path / "train.parquet")
        Dataset.from_list(rows).to_parquet(paths[-1])
        first, *others = [corpora.load_techniques(path, "train").to_list() for path in paths]
        assert all(other == first for other in others)
        assert first[1]["trigger_words"] == [[3, 5], [1, 4]]  # overlapping, unsorted: as annotated

    def test_text_files_are_documents_when_there_are_no_lines(self, tmp_path):
        (tmp_path / "하나.txt").write_text("\ufeff글\r\n\r\n둘째 문단")
        sides = [corpora.load_documents(tmp_path, split).to_list() for split in ("train", "dev")]
        assert sides[0] + sides[1] == [{"id": "하나", "title": "", "text": "글\n\n둘째 문단"}]
        write_lines(tmp_path / "wiki.jsonl", [{"text": "글"}])
        loaded = [row["id"] for split in ("train", "dev") for row in corpora.load_documents(tmp_path, split)]
        assert loaded == ["wiki-00000"]

    def test_rows_is_a_seeded_subset_in_file_order(self, tmp_path):
        path = write_json(tmp_path / "train.json", [relation(i) for i in range(50)])
        chosen = corpora.load_relations(path, "train", rows=10, seed=1)["guid"][:]
        numbers = [int(guid[3:]) for guid in chosen]
        assert len(set(numbers)) == 10 and numbers == sorted(numbers)
        assert chosen == corpora.load_relations(path, "train", rows=10, seed=1)["guid"][:]
        assert chosen != corpora.load_relations(path, "train", rows=10, seed=2)["guid"][:]
        assert len(corpora.load_relations(path, "train", rows=50)) == 50
        with pytest.raises(ValueError, match="asked for 51 rows, but there are 50"):
            corpora.load_relations(path, "train", rows=51)
        with pytest.raises(ValueError, match="at least 1"):
            corpora.load_relations(path, "train", rows=0)

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(
            st.lists(
                st.tuples(st.sampled_from("가힣 #<>a\x7f\x85\u2028ᄀ"), st.sampled_from(TAGS)), min_size=1
            ),
            min_size=1,
            max_size=4,
        )
    )
    def test_entity_file_round_trip(self, tmp_path_factory, sentences):
        valid = [[(c, repaired) for c, repaired in zip(*_repaired(rows), strict=True)] for rows in sentences]
        rows = [(f"s{i}", [c for c, _ in s], [t for _, t in s]) for i, s in enumerate(valid)]
        path = tmp_path_factory.mktemp("ner") / "train.tsv"
        path.write_text(tsv(*rows), newline="")
        loaded = corpora.load_entities(path, "train")
        assert loaded["tokens"][:] == [characters for _, characters, _ in rows]
        assert [[TAGS[i] for i in tags] for tags in loaded["ner_tags"]] == [tags for _, _, tags in rows]
        assert loaded["sentence"][:] == ["".join(characters) for _, characters, _ in rows]


def _repaired(rows):
    """Turn an I- tag that continues nothing into a B- tag."""
    tags, previous = [], "O"
    for _, tag in rows:
        tag = f"B{tag[1:]}" if tag[0] == "I" and previous[1:] != tag[1:] else tag
        tags.append(tag)
        previous = tag
    return [c for c, _ in rows], tags


class TestBadRelations:
    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            (
                {"label": "org:founder_by"},
                "row 2 .*unknown label 'org:founder_by'; did you mean 'org:founded_by'",
            ),
            ({"label": 30}, "unknown label 30"),
            ({"label": None}, "unknown label None"),
            ({"sentence": "  "}, "row 2 .*expected text in 'sentence'"),
            ({"subject_entity": None}, "row 2 .*subject_entity: expected a dict, got None"),
            ({"subject_entity": "{'word'"}, "row 2 .*expected a dict, got the text"),
            ({"object_entity": {"word": "하람"}}, "expected word, start_idx, end_idx and type"),
            (
                {"object_entity": {"word": "하람", "start_idx": 0, "end_idx": 2, "type": "PER"}},
                "characters 0–2 are '하람은', not '하람'; end_idx is inclusive, so '하람' would be 0–1",
            ),
            (
                {"object_entity": {"word": "없음", "start_idx": 90, "end_idx": 91, "type": "PER"}},
                "would be nowhere in this sentence",
            ),
            (
                {"object_entity": {"word": "상사의", "start_idx": 6, "end_idx": 8, "type": "PER"}},
                "overlap, '나래상사' at 4–7 and '상사의' at 6–8",
            ),
            (
                {"object_entity": {"word": "하람", "start_idx": 0, "end_idx": 1, "type": "PERSON"}},
                "unknown type 'PERSON'; expected one of PER, ORG",
            ),
            ({"guid": "re-0"}, "rows 1 and 2 both have the guid 're-0'"),
            ({"guid": ""}, "expected an id in 'guid' or 'id'"),
        ],
    )
    def test_wrong_row(self, tmp_path, changes, match):
        path = write_json(tmp_path / "x_train.json", [relation(0), relation(1, **changes)])
        assert str(path) in refused(match, corpora.load_relations, path, "train")

    def test_negative_offset_is_no_python_index(self, tmp_path):
        entity = {"word": ".", "start_idx": -1, "end_idx": -1, "type": "PER"}
        path = write_json(tmp_path / "x_train.json", [relation(object_entity=entity)])
        refused("characters -1–-1", corpora.load_relations, path, "train")

    @pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
    def test_truncated_json(self, tmp_path, share):
        path = write_json(tmp_path / "x_train.json", [relation(i) for i in range(9)])
        text = path.read_text()
        path.write_text(text[: int(share * len(text))])
        refused(r"line \d+: not JSON .*truncated", corpora.load_relations, path, "train")

    def test_broken_json_is_not_called_truncated(self, tmp_path):
        (path := tmp_path / "x_train.json").write_text('[\n{"guid": 1,,}\n]')
        assert "truncated" not in refused("line 2: not JSON", corpora.load_relations, path, "train")

    def test_json_that_is_no_array(self, tmp_path):
        path = write_json(tmp_path / "x_train.json", {"data": []})
        refused("expected a JSON array of objects, got a dict", corpora.load_relations, path, "train")

    @pytest.mark.parametrize("cut", [20, 60, 90])
    def test_truncated_csv(self, tmp_path, cut):
        path = write_csv(tmp_path / "x_train.csv", [relation(i) for i in range(3)])
        path.write_text(path.read_text()[:-cut])
        refused(r"line \d|row 3", corpora.load_relations, path, "train")

    def test_truncated_parquet(self, tmp_path):
        from datasets import Dataset

        Dataset.from_list([post(i) for i in range(50)]).to_parquet(path := tmp_path / "train.parquet")
        path.write_bytes(path.read_bytes()[:-40])
        refused("not Parquet .*truncated", corpora.load_techniques, path, "train")


class TestBadEntities:
    @pytest.mark.parametrize(
        ("text", "match"),
        [
            (
                tsv(NER).replace("람\tI-PS", "람 I-PS"),
                "line 5 .*expected one character, a tab and a tag, got '람 I-PS'",
            ),
            (tsv(NER).replace("람\tI-PS", "람이\tI-PS"), "line 5 .*expected one character"),
            (tsv(NER).replace("I-PS", "I-LC"), "line 5 .*I-LC follows B-PS.*write B-LC"),
            (tsv(NER).replace("B-PS", "I-PS"), "line 4 .*I-PS follows O"),
            (tsv(("a", "가", ["B-PS"]), ("b", "나", ["I-PS"])), "line 7 .*I-PS follows O"),
            (tsv(NER).replace("I-PS", "I-PER"), "line 5 .*unknown label 'I-PER'; did you mean 'I-PS'"),
            (tsv(NER).replace("I-PS", "?"), "line 5 .*unknown label"),
            (tsv(NER)[:-5], "line 6 .*the file ends at '하람 ', inside the sentence.*truncated"),
            (tsv(NER)[:-4], "line 7 .*expected one character, a tab and a tag, got '#'"),
            (tsv(NER)[:-3], "line 7 .*unknown label ''"),
            (tsv(NER)[:17], "line 2: no rows below the comment .*truncated"),
            (tsv(NER, NER), "rows 1 and 2 both have the guid 'ner-0'"),
            (tsv(NER) + "## empty\n\n", "line 9: no rows below the comment"),
            (tsv(NER) + "가\tO\n\n", "line 9: expected `## <id>` above the rows"),
        ],
    )
    def test_wrong_line(self, tmp_path, text, match):
        (path := tmp_path / "train.tsv").write_text(text)
        assert str(path) in refused(match, corpora.load_entities, path, "train")

    @pytest.mark.parametrize("comment", ["하람 #", "<하람:PS> #", ""])
    @pytest.mark.parametrize("cut", [0, 1, 2])
    def test_a_whole_last_sentence_needs_no_empty_line(self, tmp_path, comment, cut):
        text = tsv(NER).replace("ner-0\t하람 #", f"ner-0\t{comment}")
        (path := tmp_path / "train.tsv").write_text(text[: len(text) - cut])
        assert corpora.load_entities(path, "train")["sentence"][:] == ["하람 #"]

    def test_empty_file(self, tmp_path):
        (path := tmp_path / "train.tsv").write_text("")
        refused("no rows in it", corpora.load_entities, path, "train")

    def test_windows_line_ends_and_byte_order_mark(self, tmp_path):
        (path := tmp_path / "train.tsv").write_bytes(
            b"\xef\xbb\xbf" + tsv(NER).replace("\n", "\r\n").encode()
        )
        assert corpora.load_entities(path, "train")["sentence"][:] == ["하람 #"]

    def test_wrong_encoding_names_the_line_and_the_fix(self, tmp_path):
        (path := tmp_path / "train.tsv").write_bytes(b"## ascii\n" + tsv(NER, header=False).encode("cp949"))
        message = refused(
            "line 2: byte 0x.. is not UTF-8; it reads as CP949", corpora.load_entities, path, "train"
        )
        assert "iconv -f cp949 -t utf-8 train.tsv" in message

    def test_unknown_encoding(self, tmp_path):
        (path := tmp_path / "train.tsv").write_bytes(b"\xff\xff\xff")
        assert "CP949" not in refused("line 1: byte 0xff is not UTF-8", corpora.load_entities, path, "train")

    @pytest.mark.parametrize(
        ("row", "match"),
        [
            ({"tokens": ["가", "나"], "ner_tags": ["O"]}, "2 characters but 1 tags"),
            ({"tokens": ["가나"], "ner_tags": ["O"]}, "'가나' is not one character"),
            ({"tokens": ["가"], "ner_tags": ["I-PS"]}, "row 1 .*character 0: I-PS follows O"),
            ({"tokens": [], "ner_tags": []}, "0 characters"),
        ],
    )
    def test_wrong_row_of_other_formats(self, tmp_path, row, match):
        refused(match, corpora.load_entities, write_lines(tmp_path / "train.jsonl", [row]), "train")


class TestBadPosts:
    def test_spans_out_of_range_are_clipped_and_counted(self, tmp_path):
        rows = [post(0, trigger_words=[[0, 3], [10, 99], [15, 20], [-2, 1]]), post(1)]
        note = "3 of 5 trigger spans reach outside their post; 2 clipped, 1 dropped as empty"
        with pytest.warns(corpora.CorpusWarning, match=note) as caught:
            loaded = corpora.load_techniques(write_json(tmp_path / "train.json", rows), "train")
        assert caught[0].filename == __file__  # the caller's line, not the loader's
        assert loaded[0]["trigger_words"] == [[0, 3], [10, 15], [0, 1]]
        assert note in loaded.info.description
        assert note in loaded.select([1]).info.description

    @settings(deadline=None)
    @given(st.lists(st.tuples(st.integers(-5, 30), st.integers(-5, 30))), st.integers(1, 20))
    def test_clip_keeps_exactly_the_characters_inside(self, spans, length):
        for (start, end), (low, high) in zip(spans, unlp.clip(spans, length), strict=True):
            assert set(range(low, high)) == set(range(start, end)) & set(range(length))

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"techniques": ["strawman"]}, "row 2 .*unknown technique 'strawman'"),
            ({"techniques": "['fud' 'cliche']"}, "unknown technique 'fudcliche'.*separated by commas"),
            ({"trigger_words": "[array([1, 2])]"}, "trigger_words: expected a list, got the text"),
            ({"trigger_words": [[1, 2, 3]]}, r"a trigger span is \[start, end\]"),
            ({"manipulative": "maybe"}, "must be true or false"),
            ({"lang": None}, "expected text in 'lang'"),
            ({"id": "post-0"}, "rows 1 and 2 both have the id"),
        ],
    )
    def test_wrong_row(self, tmp_path, changes, match):
        path = write_json(tmp_path / "train.json", [post(0), post(1, **changes)])
        refused(match, corpora.load_techniques, path, "train")

    def test_no_dev_file_is_not_replaced_by_another_split(self, folder):
        refused("found train.json. .*cross-validate", corpora.load_techniques, folder, "dev")


class TestBadDocuments:
    def test_empty_and_duplicate(self, tmp_path):
        path = write_lines(tmp_path / "a.jsonl", [{"text": "글"}, {"text": " "}])
        refused("document 2 .*expected text in 'text'", corpora.load_documents, path, "train")
        path = write_lines(tmp_path / "b.jsonl", [{"id": 7, "text": "글"}, {"id": "7", "text": "말"}])
        refused("rows 1 and 2 both have the id '7'", corpora.load_documents, path, "train")
        path.write_text('{"text": "글"}\n{"text": "마')
        refused("line 2: not JSON .*truncated", corpora.load_documents, path, "train")
        (tmp_path / "none").mkdir()
        refused("expected documents as .jsonl", corpora.load_documents, tmp_path / "none", "train")

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"text": "빈칸 없음"}, "has no '_'"),
            ({"answer": ""}, "text in 'answer'"),
            ({"index": 0}, "both have"),
        ],
    )
    def test_lambada(self, tmp_path, changes, match):
        path = write_lines(tmp_path / "test.jsonl", [item(0), item(1, **changes)])
        refused(match, corpora.load_lambada, path, "dev")
        refused("evaluation set", corpora.load_lambada, path, "train")


class TestSources:
    def test_local_is_the_folder_of_the_environment(self, folder, monkeypatch):
        monkeypatch.setenv("NUNCHI_DATA", str(folder))
        assert corpora.load_relations("local", "dev")["guid"][:] == ["re-0", "re-1", "re-2"]
        (folder / "klue-ner" / "mine_dev.tsv").unlink()
        refused("expected exactly one file .*found mine_train.tsv", corpora.load_entities, "local", "dev")

    def test_local_without_a_folder_says_how_to_fill_it(self, tmp_path, monkeypatch):
        monkeypatch.delenv("NUNCHI_DATA", raising=False)
        message = refused("NUNCHI_DATA, which is not set", corpora.load_relations, "local", "train")
        assert "nunchi fetch data" in message
        monkeypatch.setenv("NUNCHI_DATA", str(tmp_path / "absent"))
        refused("not a folder", corpora.load_relations, "local", "train")
        monkeypatch.setenv("NUNCHI_DATA", str(tmp_path))
        refused("has no folder unlp/.*--only unlp", corpora.load_techniques, "local", "train")

    def test_one_task_s_folder_or_file_is_a_source_too(self, folder):
        whole = corpora.load_relations(folder, "train").to_list()
        assert corpora.load_relations(folder / "klue-re", "train").to_list() == whole
        assert corpora.load_relations(folder / "klue-re" / "mine_train.json", "train").to_list() == whole

    def test_a_file_named_after_another_split_is_refused(self, folder):
        file = folder / "klue-re" / "mine_train.json"
        refused("named after the split 'train', but 'dev'", corpora.load_relations, file, "dev")

    def test_two_files_of_one_split_are_ambiguous(self, folder):
        write_csv(folder / "klue-re" / "train.csv", [relation()])
        message = refused("exactly one file", corpora.load_relations, folder, "train")
        assert "mine_train.json, train.csv" in message and "Pass the path" in message

    def test_neighbours_that_only_begin_like_a_split_are_ignored(self, folder):
        (folder / "klue-ner" / "train_provenance.tsv").write_text("not an entity file")
        assert len(corpora.load_entities(folder, "train")) == 2

    def test_bad_names(self, folder, tmp_path):
        refused("split must be 'train' or 'dev'", corpora.load_relations, "sample", "test")
        refused("no such source: 'smaple'", corpora.load_relations, "smaple", "train")
        (path := tmp_path / "train.xlsx").write_text("")
        refused("cannot read .xlsx; expected one of .tsv", corpora.load_entities, path, "train")


class Hub:
    """Stands in for `datasets.load_dataset`: serves data sets saved on disk, as the hub would type them."""

    def __init__(self, root, folder):
        from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value

        text, self.root, self.calls = Value("string"), root, []
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

    def __call__(self, *name, split=None):
        from datasets import load_from_disk

        self.calls.append((*name, split))
        saved = load_from_disk(self.root / " ".join(name))
        if split is not None and split not in saved:
            raise ValueError(f'Unknown split "{split}". Should be one of {list(saved)}.')
        return saved if split is None else saved[split]


@pytest.fixture
def hub(tmp_path, folder, monkeypatch):
    served = Hub(tmp_path / "hub", folder)
    monkeypatch.setattr("datasets.load_dataset", served)
    return served


class TestHub:
    @pytest.mark.parametrize("name", LOADERS)
    def test_same_schema_as_a_folder(self, hub, folder, name):
        split = "dev" if name == "lambada" else "train"
        assert LOADERS[name]("hub", split).features == LOADERS[name](folder, split).features

    def test_rows(self, hub, folder):
        assert (
            corpora.load_relations("hub", "train").to_list()
            == corpora.load_relations(folder, "train").to_list()
        )
        assert corpora.load_relations("hub", "dev")["guid"][:] == ["re-2"]
        assert hub.calls[-1] == ("klue/klue", "re", "validation")
        row = corpora.load_entities("hub", "dev")[0]
        assert (row["guid"], row["sentence"]) == ("dev-00000", "하람 #")  # the hub's sentence is markup
        assert corpora.load_lambada("hub")[0] == item(0)
        both = [row["id"] for split in ("train", "dev") for row in corpora.load_documents("hub", split)]
        assert sorted(both, key=int) == [str(i) for i in range(50)]

    def test_labels_go_by_name_not_by_the_hub_s_numbers(self, hub, folder):
        from datasets import ClassLabel, DatasetDict

        reversed_ = corpora.load_relations(folder, "train").cast_column(
            "label", ClassLabel(names=RELATIONS[::-1])
        )
        DatasetDict(train=reversed_).save_to_disk(hub.root / "klue/klue re2")
        (hub.root / "klue/klue re").rename(hub.root / "klue/old")
        (hub.root / "klue/klue re2").rename(hub.root / "klue/klue re")
        assert corpora.load_relations("hub", "train")["label"][:] == [29 - i for i in reversed_["label"]]

    def test_missing_split(self, hub):
        refused("Unknown split .*cross-validate", corpora.load_techniques, "hub", "dev")

    def test_offline(self, monkeypatch):
        def unreachable(*_, **__):
            raise ConnectionError("Couldn't reach the Hub")

        monkeypatch.setattr("datasets.load_dataset", unreachable)
        with pytest.raises(ConnectionError, match=r"could not fetch klue/klue re .*NUNCHI_DATA"):
            corpora.load_relations("hub", "train")

    def test_fill_a_folder_then_read_it_as_local(self, hub, tmp_path, monkeypatch, capsys):
        target = tmp_path / "data"
        assert fetch(target) == 0
        monkeypatch.setenv("NUNCHI_DATA", str(target))
        for name, load in LOADERS.items():
            split = "dev" if name == "lambada" else "train"
            assert load("local", split).to_list() == load("hub", split).to_list()
        assert corpora.load_relations("local", "dev")["guid"][:] == ["re-2"]
        capsys.readouterr()
        assert fetch(target, only=["unlp"]) == 0
        assert "already there" in capsys.readouterr().out

    def test_fill_says_what_could_not_be_had(self, tmp_path, monkeypatch, capsys):
        def gated(*_, **__):
            raise FileNotFoundError("gated")

        monkeypatch.setattr("datasets.load_dataset", gated)
        assert fetch(tmp_path / "data", only=["lambada", "unlp"]) == 2
        assert "hf auth login" in capsys.readouterr().err

    def test_parquet_shard_of_the_hub_keeps_its_label_names(self, folder, tmp_path):
        relations = corpora.load_relations(folder, "train")
        relations.to_parquet(path := tmp_path / "train-00000-of-00001.parquet")
        assert corpora.load_relations(path, "train").to_list() == relations.to_list()


class TestSplits:
    @settings(deadline=None)  # the first example imports scipy
    @given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25))
    def test_groups_are_the_transitive_closure(self, keys):
        groups = connected_groups(*zip(*keys, strict=True))
        merged = [{i} for i in range(len(keys))]  # naive union: join sets until nothing changes
        for i, a in enumerate(keys):
            for j, b in enumerate(keys):
                if (a[0] == b[0] or a[1] == b[1]) and merged[i] is not merged[j]:
                    union = merged[i] | merged[j]
                    for k in union:
                        merged[k] = union
        for i in range(len(keys)):
            assert {j for j in range(len(keys)) if groups[j] == groups[i]} == merged[i]

    def test_split_never_divides_a_group(self):
        rows = corpora.load_relations("sample", "train", rows=600)
        groups = corpora.relation_groups(rows)
        train, dev = corpora.split_by_group(rows, groups, share=0.2, seed=1)
        assert len(train) + len(dev) == 600
        assert 0.15 * 600 <= len(dev) <= 0.2 * 600
        assert corpora.leak_report(train, dev)["shared"].tolist() == [0, 0]
        assert corpora.split_by_group(rows, groups, share=0.2, seed=1)[1]["guid"][:] == dev["guid"][:]

    def test_a_group_larger_than_dev_stays_in_train(self):
        rows = corpora.load_documents("sample", "train", rows=20)
        _, dev = corpora.split_by_group(rows, np.array([0] * 12 + list(range(1, 9))), share=0.3)
        assert len(dev) == 6
        with pytest.raises(ValueError, match="19 group ids for 20 rows"):
            corpora.split_by_group(rows, np.zeros(19), share=0.3)
        with pytest.raises(ValueError, match="between 0 and 1"):
            corpora.split_by_group(rows, np.zeros(20), share=1.0)

    def test_leak_report_by_hand(self, tmp_path):
        other = "나래상사는 하람이 세웠다."
        load = corpora.load_relations
        train = load(write_json(tmp_path / "train.json", [relation(0), relation(1)]), "train")
        dev_rows = [relation(0), relation(1, sentence=other), relation(2, other, "하람", "나래상사")]
        dev = load(write_json(tmp_path / "dev.json", dev_rows), "dev")
        report = corpora.leak_report(train, dev).set_index("kind")
        assert report.loc["sentence", ["dev_rows", "shared"]].tolist() == [3, 1]
        assert report.loc["entity pair", "shared"] == 2  # a pair is ordered: (하람, 나래상사) is another
        assert report.loc["entity pair", "share"] == pytest.approx(200 / 3)

    def test_documents_have_sentences_only(self):
        rows = corpora.load_documents("sample", "train", rows=5)
        report = corpora.leak_report(rows, rows)
        assert report["kind"].tolist() == ["sentence"] and report["share"].tolist() == [100.0]
        assert len(set(corpora.document_groups(rows))) == len(set(rows["text"]))

    def test_documents_split_by_content(self, folder):
        train, dev = (set(corpora.load_documents(folder, split)["text"]) for split in ("train", "dev"))
        assert len(train | dev) == 200 and not train & dev
        assert 8 <= len(dev) <= 35  # 20 expected, 3.6 standard deviations either way
        copies = [{"id": str(i), "text": "같은 글"} for i in range(6)]
        path = write_lines(folder / "copies.jsonl", copies)
        assert {len(corpora.load_documents(path, split)) for split in ("train", "dev")} == {0, 6}

    def test_share_of_dev(self):
        assert np.mean([in_dev(str(i)) for i in range(20_000)]) == pytest.approx(0.1, abs=0.01)


def test_import_is_light():
    import subprocess

    code = (
        "import sys, helpers.corpora; print([m for m in ('torch', 'datasets', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.real
class TestRealFiles:
    def test_relation_counts(self, real_data):
        train, dev = (corpora.load_relations(real_data, split) for split in ("train", "dev"))
        assert (len(train), len(dev)) == (32_470, 7_765)
        shares = [100 * np.mean(np.array(rows["label"]) == 0) for rows in (train, dev)]
        assert shares == pytest.approx([29.4, 59.6], abs=0.05)
        official = json.loads((real_data / "klue-re" / "relation_list.json").read_text())["relations"]
        assert train.features["label"].names == official

    def test_relation_leaks(self, real_data):
        train, dev = (corpora.load_relations(real_data, split) for split in ("train", "dev"))
        official = corpora.leak_report(train, dev).set_index("kind")
        assert official.loc["sentence", "shared"] == 132
        assert official.loc["entity pair", "share"] == pytest.approx(2.8, abs=0.05)
        halves = train.train_test_split(0.1, seed=0)
        random = corpora.leak_report(halves["train"], halves["test"]).set_index("kind")["share"]
        # one seed of a random split: 59.7 and 19.6 were published, sd .9 and .7
        assert random["entity pair"] == pytest.approx(59.7, abs=2.5)
        assert random["sentence"] == pytest.approx(19.6, abs=2.0)
        grouped = corpora.split_by_group(train, corpora.relation_groups(train), share=0.1)
        assert len(grouped[1]) == 3_247
        assert corpora.leak_report(*grouped)["shared"].tolist() == [0, 0]

    def test_entities(self, real_data):
        train, dev = (corpora.load_entities(real_data, split) for split in ("train", "dev"))
        assert (len(train), len(dev)) == (21_003, 5_000)
        tags = Counter(TAGS[i] for row in dev["ner_tags"] for i in row)
        begins = {tag[2:]: count for tag, count in tags.items() if tag[0] == "B"}
        assert begins == {"PS": 4418, "QT": 3151, "DT": 2312, "OG": 2182, "LC": 1649, "TI": 545}
        lengths = [len(sentence) for sentence in dev["sentence"]]
        assert (min(lengths), max(lengths)) == (20, 145)
        assert any("#" in sentence for sentence in train["sentence"])

    def test_techniques(self, real_data):
        with pytest.warns(corpora.CorpusWarning, match="14 of 8,978 trigger spans"):
            posts = corpora.load_techniques(real_data, "train")
        assert len(posts) == 3_822
        assert Counter(posts["lang"]) == {"uk": 2147, "ru": 1675}
        counts = Counter(name for names in posts["techniques"] for name in names)
        assert [counts[name] for name in corpora.TECHNIQUES] == [
            138,
            300,
            385,
            157,
            158,
            1973,
            483,
            462,
            512,
            463,
        ]
        assert len({tuple(names) for names in posts["techniques"]}) == 204
        assert "14 of 8,978 trigger spans" in posts.info.description
        assert sum(len(spans) for spans in posts["trigger_words"]) == 8_977

    def test_documents(self, real_data):
        train, dev = (corpora.load_documents(real_data, split) for split in ("train", "dev"))
        assert len(train) + len(dev) == 123 + 865 + 3491
        assert corpora.leak_report(train, dev)["shared"].tolist() == [0]
        assert sources.place(sources.DOCUMENTS, real_data).name == "corpus"


def test_entity_types_are_the_six_of_klue():
    assert klue.ENTITY_TYPES == ("PER", "ORG", "LOC", "DAT", "POH", "NOH")
