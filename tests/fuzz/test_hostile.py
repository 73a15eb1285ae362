"""Hostile files: each hole that was once found, and a few mutations of every valid file."""

import functools
import json
import random
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import corpora
from tests.corpora import rows
from tests.corpora.rows import refused
from tests.fuzz import mutations, targets


@functools.cache
def _targets() -> tuple[Path, list[targets.Target]]:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    return folder, targets.all_targets(folder)


@settings(max_examples=150, derandomize=True, database=None)
@given(st.integers(0, 30), st.integers(0, 10**6))
def test_a_mutated_file_is_valid_or_refused_by_name(number, seed):
    folder, known = _targets()
    target = known[number % len(known)]
    data = mutations.mutated(target.seed, random.Random(seed))
    start = time.process_time()
    targets.outcome(target, data, folder / str(number))
    assert time.process_time() - start < 10


def test_the_files_that_mutations_begin_with_are_valid(tmp_path):
    for number, target in enumerate(_targets()[1]):
        assert not isinstance(targets.outcome(target, target.seed, tmp_path / str(number)), targets.Refused)


def test_labels_of_more_digits_than_python_reads_are_labels(tmp_path):
    (conll,) = (target for target in targets.all_targets(tmp_path) if target.name == "import conll")
    targets.outcome(conll, f"하람\tNNP\tB-{'9' * 5_000}\n".encode(), tmp_path)


def spelled(value):
    """JSON as other programs write it, with NaN and lone surrogates."""
    return json.dumps(value, ensure_ascii=True)


def relation_with(**changes):
    return spelled([rows.relation(), rows.relation(1, **changes)])


def entity_with(**changes):
    return relation_with(subject_entity=rows.relation()["subject_entity"] | changes)


def digits(count):
    return spelled([rows.relation()]).replace('"start_idx": 0', f'"start_idx": {"9" * count}', 1)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (entity_with(start_idx=float("inf")), "expected an ordinary number, got Infinity"),
        (entity_with(start_idx=float("nan")), "expected an ordinary number, got NaN"),
        (digits(5000), "expected an ordinary number, got one of thousands of digits"),
        (digits(20), "row 1 .*object_entity: characters 9{20}–1 are '', not '하람'"),
        (entity_with(start_idx=0.5), "row 2 .*expected a whole number, got 0.5"),
        (entity_with(start_idx=True), "row 2 .*expected a whole number, got True"),
        (entity_with(word="가" * 100_000), "row 2 .*characters 4–7 are '나래상사', not '가{70,80}…"),
        ("[" * 100_000, "lists in lists without end"),
        (relation_with(guid=["x"]), "row 2: expected an id of at most 80 characters, got \\['x'\\]"),
        (relation_with(guid="가" * 100_000), "row 2: expected an id of at most 80 characters"),
        (relation_with(sentence="하람은 나래상사의\0 사장이다."), "row 2: a NUL"),
        (relation_with(source="\ud800"), r"row 2: half a character, '\\ud800'"),
        (relation_with(source={"a": 1}), "row 2 .*expected text in 'source', got"),
        (relation_with(label=["x"]), r"row 2 .*unknown label \['x'\]"),
        (relation_with(**{"가" * 100_000: 1, "sentence": ""}), "row 2 .*fields: .*가{40}…"),
    ],
)
def test_relations_name_file_and_row_within_a_screen(tmp_path, text, match):
    (path := tmp_path / "mine_train.json").write_text(text)
    said = refused(match, corpora.load_relations, path, "train")
    assert str(path) in said and len(said) < 1000


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"tokens": [1], "ner_tags": ["O"]}, "characters and tags are texts, got 1"),
        ({"tokens": ["가"], "ner_tags": [3]}, "characters and tags are texts, got 3"),
        ({"tokens": ["가"], "ner_tags": [["O"]]}, r"characters and tags are texts, got \['O'\]"),
        ({"tokens": ["가"], "ner_tags": 7}, "ner_tags: expected a list, got 7"),
        ({"tokens": ["가" * 100_000], "ner_tags": ["O"]}, "is not one character"),
    ],
)
def test_entities_name_file_and_row_within_a_screen(tmp_path, changes, match):
    path = rows.write_lines(tmp_path / "mine_train.jsonl", [{"guid": "a", **changes}])
    said = refused(f"row 1 .*{match}", corpora.load_entities, path, "train")
    assert str(path) in said and len(said) < 1000


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"manipulative": [1]}, r"manipulative must be true or false, got \[1\]"),
        ({"trigger_words": [[0, 2**40]]}, "expected a whole number, got 1099511627776"),
        ({"trigger_words": [[3, 1]]}, "ends before it starts"),
        ({"techniques": ["가" * 100_000]}, "unknown technique"),
        ({"content": "a\0b"}, "row 1: a NUL"),
    ],
)
def test_posts_name_file_and_row_within_a_screen(tmp_path, changes, match):
    path = rows.write_json(tmp_path / "mine_train.json", [rows.post(**changes), rows.post(1)])
    said = refused(match, corpora.load_techniques, path, "train")
    assert str(path) in said and "row 1" in said and len(said) < 1000


@pytest.mark.parametrize(
    ("load", "row", "match"),
    [
        (
            corpora.load_documents,
            {"id": "a", "text": "가", "title": 5},
            "document 1 .*expected text in 'title'",
        ),
        (corpora.load_documents, {"id": "a", "text": "\ud800"}, "line 1: half a character"),
        (corpora.load_lambada, rows.item(index="a"), "row 1, index: expected a whole number, got 'a'"),
        (corpora.load_lambada, rows.item(index=10**20), "row 1, index: expected a whole number"),
    ],
)
def test_running_text_names_file_and_row(tmp_path, load, row, match):
    (path := tmp_path / "mine_dev.jsonl").write_text(spelled(row) + "\n")
    assert str(path) in refused(match, load, path, "dev")


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_get_their_own_advice(tmp_path, codec):
    (path := tmp_path / "mine_train.json").write_bytes(spelled([rows.relation()]).encode(codec))
    said = refused(
        "line 1: this is UTF-(16|32)(LE|BE)?, expected UTF-8", corpora.load_relations, path, "train"
    )
    assert (
        codec.upper().replace("-LE", "LE").replace("-BE", "BE").removesuffix("16") in said
        and "iconv -f UTF" in said
    )


def test_a_nul_byte_is_damage(tmp_path):
    (path := tmp_path / "mine_train.tsv").write_text(rows.tsv(rows.NER).replace("#\tO", "\0\tO"))
    refused("line 7: a NUL byte; text has none, so the file is damaged", corpora.load_entities, path, "train")


def test_a_loop_of_links_is_named(tmp_path):
    (path := tmp_path / "mine_train.json").symlink_to(path)
    refused(
        r"mine_train\.json: cannot be read \(Too many levels of symbolic links\)",
        corpora.load_relations,
        tmp_path,
        "train",
    )
    refused("no such source", corpora.load_relations, path, "train")


@pytest.mark.parametrize("name", ["state.json", "dataset_dict.json"])
def test_a_damaged_saved_data_set_is_named(tmp_path, name):
    (tmp_path / name).write_text("{}")
    refused(
        f"{tmp_path.name}.*not what save_to_disk writes|holds the splits",
        corpora.load_relations,
        tmp_path,
        "train",
    )


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("labels: " + "[" * 5000, "more than 8 levels"),
        ("labels: &a [x]\nnone: *a", "aliases are not supported"),
    ],
)
def test_bombs_in_a_label_file_are_refused(tmp_path, text, match):
    rows.write_json(tmp_path / "mine_train.json", [rows.relation()])
    (tmp_path / "labels.yaml").write_text(text)
    assert "labels.yaml" in refused(match, corpora.load_relations, tmp_path, "train")
