"""Relation and entity files: what is wrong in a row or a line is named, never mended."""

import pytest

from helpers import corpora

from .rows import NER, post, refused, relation, tsv, write_csv, write_json, write_lines


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
                "unknown type 'PERSON'; did you mean 'PER'.*labels.yaml",
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

    @pytest.mark.parametrize("comment", ["하람 #", "<하람:PS> #"])
    @pytest.mark.parametrize("cut", [0, 1, 2])
    def test_a_whole_last_sentence_needs_no_empty_line(self, tmp_path, comment, cut):
        text = tsv(NER).replace("ner-0\t하람 #", f"ner-0\t{comment}")
        (path := tmp_path / "train.tsv").write_text(text[: len(text) - cut])
        assert corpora.load_entities(path, "train")["sentence"][:] == ["하람 #"]

    @pytest.mark.parametrize("cut", [1, 2, 5])
    def test_without_its_text_in_the_comment_a_last_sentence_needs_an_empty_line(self, tmp_path, cut):
        """Nothing else would tell a whole sentence from one that was cut at the end of a line."""
        text = tsv(NER).replace("ner-0\t하람 #", "ner-0")
        (path := tmp_path / "train.tsv").write_text(text[: len(text) - cut])
        match = r"line [67] \(ner-0\): no empty line after the last sentence: add one"
        assert str(path) in refused(match, corpora.load_entities, path, "train")

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


def test_entity_types_are_the_six_of_klue():
    assert corpora.ENTITY_TYPES == ("PER", "ORG", "LOC", "DAT", "POH", "NOH")
