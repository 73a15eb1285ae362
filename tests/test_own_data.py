"""docs/own-data.md, command by command: own labels in Hangul, from the file to a submission.

A command of the page that stops working fails here; so does a file that does not begin as the page shows it.
"""

import csv
import json
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from pytest import approx

from helpers import cli, corpora, entries
from helpers.batch import plans
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?ms)^```(\w+)(?: (\S+))?\n(.*?)^```$")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}


def blocks(text, kind):
    return [(name, body) for found, name, body in BLOCK.findall(text) if found == kind]


def commands(text):
    return [line for _, body in blocks(text, "sh") for line in body.splitlines()]


class Walk(NamedTuple):
    """A folder in which the commands of the page are called, and what each of them said."""

    folder: Path
    said: dict[str, str]

    def call(self, command, capsys=None):
        program, *arguments = shlex.split(command)
        assert program == "nunchi"
        words = [
            found
            for word in arguments
            for found in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
        ]
        assert cli.main(words) == 0, command
        if capsys is not None:
            self.said[command] = capsys.readouterr().out

    def metrics(self, notebook):
        return json.loads((self.folder / "my-reports" / "mine" / notebook / "metrics.json").read_text())


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """The data of all walk-throughs imported, and their parameter files written."""
    folder = tmp_path_factory.mktemp("walk")
    (folder / "docs").symlink_to(ROOT / "docs")
    (folder / "mine").mkdir()
    for name, body in blocks(PAGE, "yaml"):
        (folder / name).write_text(body, encoding="utf-8")
    walk = Walk(folder, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("NUNCHI_CACHE", str(folder / "cache"))
        for command in commands(PAGE):
            if command.startswith("nunchi import"):
                walk.call(command)
        yield walk


def follow(walk, section, capsys):
    """Call the commands of a section, once."""
    capsys.readouterr()
    for command in commands(SECTIONS[section]):
        if not command.startswith("nunchi import") and command not in walk.said:
            walk.call(command, capsys)


def scored(walk, entry):
    """Return what `nunchi score` printed for an entry."""
    said = next(text for command, text in walk.said.items() if f"score {entry}" in command)
    return {name: float(value) for name, value in (line.rsplit("  ", 1) for line in said.splitlines())}


@pytest.mark.parametrize(
    ("name", "shown"), [pair for kind in ("jsonl", "csv") for pair in blocks(PAGE, kind)]
)
def test_the_page_shows_how_the_files_begin(name, shown):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    assert shown.splitlines() == lines[:10] and len(lines) > 10


def test_the_page_has_a_walk_through_for_every_notebook():
    named = {Path(name).stem for name, _ in blocks(PAGE, "yaml")}
    assert named == {path.stem for path in (ROOT / "notebooks").glob("0*.ipynb")}
    assert all(f"--only {name[:2]}" in PAGE or f",{name[:2]} " in PAGE for name in named)


def test_the_parameter_files_of_the_page_fit_their_notebooks(tmp_path):
    (tmp_path / "mine").mkdir()
    for name, body in blocks(PAGE, "yaml"):
        (tmp_path / name).write_text(body, encoding="utf-8")
    assert {plan.values["data"] for plan in plans.make(tmp_path / "mine")} == {"my-data"}


@pytest.mark.slow
class TestWalkThroughs:
    def test_entities(self, walk, capsys):
        follow(walk, "Named entities: notebook 04", capsys)
        kept = {
            Path(one["folder"]).name: one["score"] for one in walk.metrics("04_ner_swa_ensemble")["models"]
        }
        assert set(kept) == {"bilstm-character", "bilstm-wordpiece"}
        assert scored(walk, "entities.tsv")["entity F1"] == approx(kept["bilstm-character"], abs=1e-4)
        found = [json.loads(line) for line in (walk.folder / "found.jsonl").read_text().splitlines()]
        spans = [
            (one["text"][s["start"] : s["end"]], s["text"], s["label"])
            for one in found
            for s in one["entities"]
        ]
        assert len(found) == 30 and all(inside == text for inside, text, _ in spans)
        assert {label for *_, label in spans} <= {"가게", "메뉴", "지역"} and spans

    def test_relations(self, walk, capsys):
        follow(walk, "Relations: notebooks 02 and 03", capsys)
        (kept,) = walk.metrics("03_markers")["models"]
        assert scored(walk, "submission.csv")["micro-F1"] == approx(kept["score"], abs=1e-4)
        header, *rows = csv.reader((walk.folder / "submission.csv").open())
        assert header == ["id", "pred_label", "probs"] and len(rows) == 40
        assert {row[1] for row in rows} <= {"관계없음", "위치", "판매"}
        assert walk.metrics("02_tokenizer_comparison")["verdict"]

    def test_classes_and_spans(self, walk, capsys):
        follow(walk, "Several classes per text, and spans: notebook 05", capsys)
        assert scored(walk, "classes.csv")["macro-F1"] >= 0 and scored(walk, "spans.csv")["character F1"] >= 0
        header = (walk.folder / "classes.csv").read_text().splitlines()[0]
        assert header == "id,맛,가격,친절"

    def test_an_entry_for_fold_0_scores_what_the_notebook_said(self, walk, capsys):
        """The notebook reports on fold 0, whose posts its models have not seen."""
        follow(walk, "Several classes per text, and spans: notebook 05", capsys)
        place = walk.folder / "my-reports" / "mine" / "05_lb_probing_thresholds"
        inside = {
            row["id"] for row in csv.DictReader((place / "out_of_fold.csv").open()) if row["fold"] == "0"
        }
        rows = [
            json.loads(line) for line in (walk.folder / "my-data/unlp/train.jsonl").read_text().splitlines()
        ]
        gold = walk.folder / "fold0" / "gold.jsonl"
        gold.parent.mkdir(exist_ok=True)
        gold.write_text("".join(json.dumps(row) + "\n" for row in rows if row["id"] in inside))
        (gold.parent / "labels.yaml").write_text((walk.folder / "my-data/unlp/labels.yaml").read_text())
        for one in walk.metrics("05_lb_probing_thresholds")["models"]:
            walk.call(f"nunchi predict {place / one['folder']} {gold} --entry --out {gold.parent}/entry.csv")
            found = entries.scored(gold.parent / "entry.csv", gold)
            assert found[one["metric"]] == approx(one["score"], abs=1e-4), one

    def test_documents(self, walk, capsys):
        follow(walk, "Documents: notebook 06", capsys)
        assert walk.metrics("06_mlm_coref_analysis")["headline"]

    def test_all_of_it(self, walk, capsys):
        follow(walk, "Check the data before training: notebook 01", capsys)
        assert walk.metrics("01_eda")["verdict"]

    def test_from_python(self, walk, capsys):
        follow(walk, "Relations: notebooks 02 and 03", capsys)
        namespace = {}
        ((_, code),) = blocks(SECTIONS["A model's folder"], "python")
        exec(code, namespace)
        assert len(namespace["answers"].records()) == 40


@pytest.mark.slow
def test_what_was_imported_has_the_labels_of_the_files(walk):
    assert corpora.load_relations("my-data", "train").features["label"].names == [
        "no_relation",
        "위치",
        "판매",
    ]
    assert corpora.none_label("my-data") == "관계없음"
    tags = corpora.load_entities("my-data", "dev").features["ner_tags"].feature.names
    assert tags[:-1:2] == ["B-가게", "B-메뉴", "B-지역"]
    posts = corpora.load_techniques("my-data", "train")
    assert posts.features["labels"].feature.names == ["맛", "가격", "친절"] and any(posts["trigger_words"])
    assert [len(corpora.load_documents("my-data", split)) for split in ("train", "dev")] == [40, 16]
