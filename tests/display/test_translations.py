"""A notebook's words in another language, filled with the figures that were computed; none is missing."""

import re

import pytest

from helpers.display import translations
from helpers.display.tables import say
from tests import translatable

EFFECT = {"name": "a − none", "value": -1.25, "low": -2.0, "high": -0.5, "than": "none", "decision": "worse"}
METRICS = {"question": "Does it?", "verdict": "It loses by −1.2.", "headline": [EFFECT], "more": 1}


def cell(kind, source, *outputs, tags=()):
    made = {"cell_type": kind, "id": "x", "source": source, "metadata": {"tags": list(tags)}}
    return made | ({"outputs": list(outputs)} if kind == "code" else {})


def said(sentence):
    bundle = {"data": {"text/markdown": sentence.data}, "metadata": {"text/markdown": sentence.metadata}}
    return {"output_type": "display_data", **bundle}


def translated(pairs, *cells):
    return translations.Catalogue([], pairs.items()).notebook({"cells": list(cells)})["cells"]


def test_prose_is_translated_line_by_line_and_cell_by_cell():
    source = "## Data\n\nTwo words.\n- an item\n\n| name | `code` |\n|---|---|\n| last weights | 3 |"
    pairs = {
        "Data": "데이터",
        "Two words.": "두 낱말.",
        "an item": "항목",
        "name": "이름",
        "last weights": "끝",
    }
    (shown,) = translated(pairs, cell("markdown", source))
    assert shown["source"] == "## 데이터\n\n두 낱말.\n- 항목\n\n| 이름 | `code` |\n|---|---|\n| 끝 | 3 |"
    assert shown["metadata"]["translated"]
    (partly,) = translated({"Data": "데이터"}, cell("markdown", source))
    assert not partly["metadata"]["translated"] and "Two words." in partly["source"]


def test_a_sentence_is_filled_with_the_same_figures_and_its_words_stay_escaped():
    sentence = say(
        "It {verb} by {gain:+.1f} on {who}.", verb="helps a_b", gain=2.25, who="[x] & last weights"
    )
    pairs = {"It {verb} by {gain:+.1f} on {who}.": "{who}에서 {gain}점 {verb}.",
             "helps {1}": "{1}[을/를] 돕는다", "{1} & last weights": "{1} & 끝"}  # fmt: skip
    (shown,) = translated(pairs, cell("code", "x", said(sentence)))
    assert shown["outputs"][0]["data"]["text/markdown"] == r"\[x\] &amp; 끝에서 +2.2점 a\_b를 돕는다."


def test_tables_figures_and_drawn_sentences_are_translated():
    table = '<table><caption>All scores</caption><th scope="col">F1</th><td>All scores</td><td>1</td></table>'
    drawn = '<div><span style="opacity:.8;font-size:.8em">the words </span><span lang="ko">글</span></div>'
    figure = {
        "data": {"image/svg+xml": '<text x="1">It &amp; us rise</text>'},
        "metadata": {"image/svg+xml": {"title": "It rises"}},
    }
    pairs = {"All scores": "점수", "It rises": "오른다", "the words": "말", "It & us rise": "함께 & 오른다"}
    (shown,) = translated(
        pairs, cell("code", "x", {"data": {"text/html": table}}, {"data": {"text/html": drawn}}, figure)
    )
    html, words, svg = shown["outputs"]
    assert html["data"]["text/html"] == table.replace("All scores", "점수")
    assert "말 </span>" in words["data"]["text/html"]
    assert svg["data"]["image/svg+xml"] == '<text x="1">함께 &amp; 오른다</text>'
    assert svg["metadata"]["image/svg+xml"] == {"title": "오른다"}


def test_decisions_of_tables_are_the_pages_own_words():
    table = '<td class="decision better"><span aria-hidden="true">▲ </span>better</td><td>undecided</td>'
    (shown,) = translations.Catalogue(translations.shared("ko").items()).notebook(
        {"cells": [cell("code", "x", {"data": {"text/html": table}})]}
    )["cells"]
    assert "▲ </span>우세</td><td>판단 보류</td>" in shown["outputs"][0]["data"]["text/html"]
    assert not shown["metadata"]["translated"], (
        "without pairs of its own, a notebook is not called translated"
    )


def test_the_comments_of_parameters_are_translated_and_other_code_stays():
    source = 'rows: int = 3  # rows to score\nname: str = "rows to score"  # unknown words'
    first, second = translated(
        {"rows to score": "채점할 행"}, cell("code", source, tags=["parameters"]), cell("code", source)
    )
    assert first["source"] == source.replace("# rows to score", "# 채점할 행")
    assert second["source"] == source


def test_what_is_empty_stays_empty_beside_the_words_of_the_page():
    words = {"title": "", "description": "", "alt": "EMA"}
    figure = {"output_type": "display_data", "data": {}, "metadata": {"image/svg+xml": words}}
    catalogue = translations.Catalogue(translations.shared("ko").items())
    (shown,) = catalogue.notebook({"cells": [cell("code", "x", figure)]})["cells"]
    assert shown["outputs"][0]["metadata"]["image/svg+xml"] == words


def test_the_record_is_translated_and_what_is_missing_stays():
    pairs = {
        "Does it?": "그런가?",
        "It loses by {1:.1f}.": "{1} 낮다.",
        "a − none": "가 − 없음",
        "none": "없음",
    }
    shown = translations.Catalogue([], pairs.items()).metrics(METRICS)
    assert shown["question"] == "그런가?" and shown["verdict"] == "−1.2 낮다."
    assert (shown["headline"][0]["name"], shown["headline"][0]["than"], shown["more"]) == (
        "가 − 없음",
        "없음",
        1,
    )
    assert translations.Catalogue([]).metrics(METRICS) == METRICS


def test_a_catalogue_that_is_none_is_named(tmp_path):
    assert translations.pairs(tmp_path / "none.yaml") == []
    (tmp_path / "odd.yaml").write_text("- {en: a}")
    with pytest.raises(ValueError, match=r"odd.yaml is not a list of `en` and `ko`"):
        translations.pairs(tmp_path / "odd.yaml")


def test_the_catalogues_are_complete():
    lacking = translatable.missing("ko")
    told = "\n".join(f"# {name}\n{translatable.to_fill_in(texts)}" for name, texts in lacking.items())
    assert not lacking, f"translate these (python -m tests.translatable):\n{told}"


def test_the_catalogues_hold_nothing_that_is_gone():
    assert not translatable.stale("ko"), "no longer in the notebooks: delete or adapt"


@pytest.mark.parametrize("path", translatable.catalogues("ko"), ids=lambda path: path.stem)
def test_translations_have_the_fields_of_their_originals_and_are_korean(path):
    for english, korean in translations.pairs(path):
        fields = [{field[0] for field in translations.FIELD.findall(text)} for text in (english, korean)]
        assert fields[1] <= fields[0], english
        words = translations.FIELD.sub("", korean)
        assert re.search("[가-힣]", words) or english == korean or not translations.WORD.search(words), (
            english
        )
