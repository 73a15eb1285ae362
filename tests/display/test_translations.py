"""A notebook's prose in another language, filled with the figures that were computed."""

import pytest

from helpers.display import translations
from helpers.display.tables import say

EFFECT = {"name": "a − b", "value": -1.25, "low": -2.0, "high": -0.5, "than": "b", "decision": "worse"}
METRICS = {"question": "Does it?", "verdict": "No.", "headline": [EFFECT], "more": 1}


def cell(kind, name, source, *outputs):
    made = {"cell_type": kind, "id": name, "source": source, "metadata": {}}
    return made | ({"outputs": list(outputs)} if kind == "code" else {})


def said(sentence):
    bundle = {"data": {"text/markdown": sentence.data}, "metadata": {"text/markdown": sentence.metadata}}
    return {"output_type": "display_data", **bundle}


def test_cells_and_sentences_are_translated_by_their_id():
    sentence = say("It {verb} by {gain:+.1f}.", verb="helps", gain=2.25)
    notebook = {
        "cells": [
            cell("markdown", "a", "## Data"),
            cell("code", "b", "x", said(sentence)),
            cell("code", "c", "x"),
        ]
    }
    catalogue = translations.Catalogue(
        {"cells": {"a": "## 데이터", "b": "{gain:+.1f}점 {verb}."}, "words": {"helps": "도움이 된다"}}
    )
    first, second, third = catalogue.notebook(notebook)["cells"]
    assert first["source"] == "## 데이터"
    assert second["outputs"][0]["data"]["text/markdown"] == "+2.2점 도움이 된다."
    assert [one["metadata"].get("translated") for one in (first, second, third)] == [True, True, None]
    assert notebook["cells"][0]["source"] == "## Data", "the notebook itself is left alone"


def test_captions_headings_and_titles_are_translated_as_whole_texts():
    table = {"text/html": '<table><caption>Scores</caption><th scope="col">F1</th><td>Scores</td></table>'}
    figure = {"data": {"image/png": ""}, "metadata": {"image/png": {"title": "It rises", "crop": 0.0}}}
    notebook = {"cells": [cell("code", "a", "x", {"data": table}, {"output_type": "display_data", **figure})]}
    (shown,) = translations.Catalogue({"words": {"Scores": "점수", "It rises": "오른다"}}).notebook(notebook)[
        "cells"
    ]
    assert shown["outputs"][0]["data"]["text/html"] == table["text/html"].replace("Scores", "점수", 1)
    assert shown["outputs"][1]["metadata"]["image/png"] == {"title": "오른다", "crop": 0.0}


def test_the_record_is_translated_and_the_verdict_follows_the_decision():
    catalogue = translations.Catalogue(
        {
            "question": "도움이 되는가?",
            "verdict": {"better": "낫다.", "worse": "{a − b}만큼 못하다."},
            "names": {"a − b": "가", "b": "나"},
        }
    )
    shown = catalogue.metrics(METRICS)
    assert shown["question"] == "도움이 되는가?" and shown["verdict"] == "−1.2 [−2.0, −0.5]만큼 못하다."
    assert (shown["headline"][0]["name"], shown["headline"][0]["than"], shown["more"]) == ("가", "나", 1)
    undecided = {**METRICS, "headline": [EFFECT | {"decision": "undecided"}]}
    assert catalogue.metrics(undecided)["verdict"] == "No.", "no words for that outcome: the English stays"


def test_what_is_missing_stays_english_and_what_is_wrong_is_named(tmp_path):
    assert translations.load(tmp_path, "none").metrics(METRICS) == METRICS
    (tmp_path / "odd.yaml").write_text("sells: {}")
    with pytest.raises(ValueError, match=r"odd.yaml is not a catalogue: unknown \['sells'\]"):
        translations.load(tmp_path, "odd")
