"""`nunchi predict`: files in, answers out, and entries that score what the model scored."""

import csv
import io
import json

import pytest
from pytest import approx

from helpers import cli, entries

METRICS = {"relations": "micro-F1", "posts": "macro-F1", "triggers": "character F1"}


def run(*arguments):
    return cli.main(["predict", *map(str, arguments)])


@pytest.mark.parametrize("name", METRICS)
def test_an_entry_scores_what_the_model_scored(name, request, tmp_path):
    kept = request.getfixturevalue(name)
    assert run(kept.folder, kept.gold, "--entry", "--out", tmp_path / "entry.csv") == 0
    assert entries.scored(tmp_path / "entry.csv", kept.gold)[METRICS[name]] == approx(kept.score, abs=1e-9)


def test_so_do_klue_s_forms(relations, taggers, tmp_path):
    for kept, file, metric in (
        (relations, "entry.json", "micro-F1"),
        (taggers[0], "lstm.tsv", "entity F1"),
        (taggers[1], "roberta.tsv", "entity F1"),
    ):
        assert run(kept.folder, kept.gold, "--entry", "--out", tmp_path / file) == 0
        assert entries.scored(tmp_path / file, kept.gold)[metric] == approx(kept.score, abs=1e-9)


def test_an_entry_follows_a_sample_submission(posts, tmp_path):
    ids = [json.loads(line)["id"] for line in posts.gold.read_text().splitlines()]
    sample = tmp_path / "sample_submission.csv"
    sample.write_text("post,지역,연령,성별\n" + "".join(f"{key},0,0,0\n" for key in reversed(ids)))
    assert run(posts.folder, posts.gold, "--entry", "--sample", sample, "--out", tmp_path / "e.csv") == 0
    rows = list(csv.reader((tmp_path / "e.csv").open()))
    assert rows[0] == ["post", "지역", "연령", "성별"] and [row[0] for row in rows[1:]] == ids[::-1]
    assert {cell for row in rows[1:] for cell in row[1:]} <= {"0", "1"}


def test_lines_and_tables_hold_offsets_labels_and_probabilities(taggers, tmp_path, capsys):
    folders = [kept.folder for kept in taggers]
    assert run(*folders, taggers[0].gold, "--out", tmp_path / "found.jsonl") == 0
    assert capsys.readouterr().out == f"30 rows predicted: {tmp_path}/found.jsonl\n"
    assert run(*folders, taggers[0].gold, "--out", tmp_path / "found.csv") == 0
    lines = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    flat = [{"id": one["id"], **span} for one in lines for span in one["entities"]]
    table = list(csv.DictReader((tmp_path / "found.csv").open()))
    assert flat and table == [{key: str(value) for key, value in row.items()} for row in flat]


@pytest.mark.parametrize(("name", "columns"), [("relations", 9), ("posts", 5), ("triggers", 5)])
def test_every_task_has_a_table(name, columns, request, tmp_path):
    kept = request.getfixturevalue(name)
    assert run(kept.folder, kept.gold, "--out", tmp_path / "found.csv") == 0
    table = list(csv.DictReader((tmp_path / "found.csv").open()))
    assert len(table[0]) == columns and table[0]["id"]


@pytest.mark.parametrize("text", ["[서울] 사는 노인\n부산 남자\n", '{"text": "서울"}\n{"text": "부산"}\n'])
def test_standard_input(posts, text, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert run(posts.folder, "-") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(found) == 2 and "서울" in found[0]["text"] and set(found[0]["probabilities"]) == {
        "성별", "연령", "지역"
    }  # fmt: skip


def test_nothing_on_standard_input(posts, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n \n"))
    assert run(posts.folder, "-") == 2
    assert "no rows on standard input" in capsys.readouterr().err


def test_answers_are_no_entry(posts, tmp_path, capsys):
    assert run(posts.folder, posts.gold, "--out", tmp_path / "answers.jsonl") == 0
    assert cli.main(["score", str(tmp_path / "answers.jsonl"), str(posts.gold)]) == 2
    assert "write one by nunchi predict --entry" in capsys.readouterr().err


def test_a_relation_on_standard_input(relations, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(relations.gold.read_text().splitlines()[0]))
    assert run(relations.folder, "-") == 0
    assert json.loads(capsys.readouterr().out)["label"] in ("관계없음", "복용", "처방")


def test_other_field_names(posts, tmp_path, capsys):
    (tmp_path / "mine.csv").write_text("no,body\n7,서울 노인\n")
    assert run(posts.folder, tmp_path / "mine.csv", "--map", "text=body", "id=no") == 0
    assert json.loads(capsys.readouterr().out)["id"] == "7"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "x.xlsx"], "expected a name that ends with .jsonl or .csv"),
        (["--out", "nowhere/x.csv"], "there is no folder nowhere"),
        (["--entry"], "--entry needs --out"),
        (["--entry", "--out", "x.tsv"], "ends with .csv for an entry of multilabel"),
        (["--sample", "s.csv"], "--sample belongs to --entry"),
        (["--map", "text"], "--map takes NAME=FIELD"),
    ],
)
def test_what_cannot_be_written_is_one_message(posts, arguments, words, capsys):
    assert run(posts.folder, posts.gold, *arguments) == 2
    assert words in capsys.readouterr().err


def test_what_cannot_be_read_is_one_message(posts, taggers, tmp_path, capsys):
    (tmp_path / "empty.txt").write_text("")
    assert run(posts.folder, tmp_path / "empty.txt") == 2
    assert run(tmp_path, posts.gold) == 2
    said = capsys.readouterr().err
    assert "no rows in it" in said and "no nunchi.json" in said
    assert run(posts.folder, tmp_path) == 2
    assert f"{tmp_path} is a folder: name a file in it" in capsys.readouterr().err
    sample = ["--entry", "--sample", posts.gold, "--out", tmp_path / "x.tsv"]
    assert run(taggers[0].folder, taggers[0].gold, *sample) == 2
    assert "entities go into KLUE's .tsv" in capsys.readouterr().err


def test_export(taggers, tmp_path, capsys):
    assert cli.main(["export", str(taggers[1].folder), str(tmp_path / "plain")]) == 0
    assert "transformers.AutoModelForTokenClassification" in capsys.readouterr().out
