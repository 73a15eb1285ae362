"""Files without labels, for prediction: every row, in order, whatever the format."""

import pytest

from helpers import corpora

from .rows import NER, refused, relation, tsv, write_csv, write_json, write_lines


def test_relations_without_labels_or_with_a_placeholder(tmp_path):
    rows = [relation(i) for i in range(3)]
    bare = [{name: cell for name, cell in row.items() if name != "label"} for row in rows]
    paths = [
        write_json(tmp_path / "a.json", bare),
        write_csv(tmp_path / "test_data.csv", [r | {"label": 100} for r in rows]),
    ]
    for path in paths:
        loaded = corpora.load_unlabelled(path, "relations")
        assert loaded.column_names == ["guid", "sentence", "subject_entity", "object_entity", "source"]
        assert loaded["guid"][:] == ["re-0", "re-1", "re-2"]
        assert loaded[0]["subject_entity"] == rows[0]["subject_entity"]


def test_texts_of_every_kind(tmp_path):
    (tmp_path / "a.txt").write_text("첫 문장\n\n[둘째] 문장\n")
    (tmp_path / "b.tsv").write_text(tsv(NER))
    write_lines(tmp_path / "c.jsonl", [{"id": 7, "text": "첫 문장"}, {"id": 9, "text": "둘"}])
    write_json(tmp_path / "d.json", [{"data": {"text": "첫 문장"}, "annotations": []}])
    write_csv(tmp_path / "e.csv", [{"no": 1, "body": "글", "lang": "ko"}])
    entities = corpora.load_unlabelled(tmp_path / "a.txt", "entities")
    assert entities["sentence"][:] == ["첫 문장", "[둘째] 문장"] and entities["tokens"][0] == list("첫 문장")
    assert corpora.load_unlabelled(tmp_path / "b.tsv", "entities")["sentence"][:] == ["하람 #"]
    assert corpora.load_unlabelled(tmp_path / "c.jsonl", "entities")["guid"][:] == ["7", "9"]
    assert corpora.load_unlabelled(tmp_path / "d.json", "entities")["sentence"][:] == ["첫 문장"]
    posts = corpora.load_unlabelled(tmp_path / "e.csv", "multilabel", fields={"text": "body", "id": "no"})
    assert posts.to_list() == [{"id": "1", "content": "글", "lang": "ko"}]
    assert corpora.load_unlabelled(tmp_path / "a.txt", "multilabel")["content"][:] == [
        "첫 문장",
        "[둘째] 문장",
    ]


def test_a_txt_with_named_columns_is_a_table(tmp_path):
    path = tmp_path / "test.txt"
    path.write_text("하람\t나래\t하람은 나래를 만났다.\n")
    fields = {"subject": "1", "object": "2", "text": "3"}
    (row,) = corpora.load_unlabelled(path, "relations", fields=fields)
    assert (row["sentence"], row["object_entity"]["start_idx"]) == ("하람은 나래를 만났다.", 4)
    (post,) = corpora.load_unlabelled(path, "multilabel", fields={"text": "3"})
    assert post["content"] == "하람은 나래를 만났다."


def test_no_row_is_left_out_quietly(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", [{"text": "글"}, {"text": " "}])
    refused(
        r"x.jsonl: dropped 1 × record without text \(x.jsonl, record 2\)",
        corpora.load_unlabelled,
        path,
        "entities",
    )
    refused("no such file", corpora.load_unlabelled, tmp_path / "y.jsonl", "entities")
    refused("task must be 'relations', 'entities' or", corpora.load_unlabelled, path, "documents")
    with pytest.raises(ValueError, match="no rows in it"):
        corpora.load_unlabelled(write_lines(tmp_path / "z.jsonl", []), "relations")
