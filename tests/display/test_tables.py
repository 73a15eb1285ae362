import re

import pandas as pd
import pytest

from helpers.display import highlight, tables
from helpers.statistics import Comparison, Interval

HOSTILE = "<script>alert(1)</script>"


def test_table_escapes_cells_headers_index_and_caption():
    frame = pd.DataFrame({HOSTILE: [HOSTILE]}, index=[HOSTILE])
    markup = tables.table(frame, caption=HOSTILE, index=True).to_html()
    assert "<script" not in markup
    assert markup.count("&lt;script&gt;") == 4


def test_table_formats_for_people_and_is_the_same_twice():
    frame = pd.DataFrame(
        {
            "system": ["a", "b"],
            "F1": [Interval(61.23, 59.8, 62.5), Interval(50.0, 49.0, 51.0)],
            "against a": [None, Comparison(Interval(-11.2, -12, -10), 0.001)],
            "rows": [12345, 7],
            "share": [0.5, float("nan")],
        }
    )
    markup = tables.table(frame, best="F1", digits=1).to_html()
    assert markup == tables.table(frame, best="F1", digits=1).to_html()
    for shown in ("61.2 [59.8, 62.5]", "-11.2 [-12.0, -10.0], p = 0.001", "12,345", ">0.5<", "–"):
        assert shown in markup
    assert "font-weight: bold" in markup


def test_intervals_spreads_a_column_for_the_plots():
    frame = pd.DataFrame({"system": ["a"], "F1": [Interval(2.0, 1.0, 3.0)]})
    assert tables.intervals(frame, "F1").to_dict("records") == [
        {"system": "a", "value": 2, "low": 1, "high": 3}
    ]


def test_say_computes_numbers_and_defuses_text():
    sentence = tables.say(
        "**{name}** has {f1:.1f}, {n:,} rows.", name="<b>*x*</b>", f1=Interval(1, 0, 2), n=1234
    )
    assert sentence.data == r"**&lt;b&gt;\*x\*&lt;/b&gt;** has 1.0 [0.0, 2.0], 1,234 rows."


def test_spans_keep_every_character_and_label_each_span_once():
    drawn = highlight.spans("김<b>가람 씨는", [(0, 2, "PS"), (1, 4, "LC")]).data
    assert "<b>" not in drawn
    assert drawn.count("> PS<") == 1 and drawn.count("> LC<") == 1
    text = pd.Series(drawn).str.replace(r"<sub.*?</sub>|<[^>]*>", "", regex=True)[0]
    assert text == "김&lt;b&gt;가람 씨는"


@pytest.mark.parametrize("span", [(0, 0, "x"), (2, 9, "x"), (-1, 2, "x")])
def test_spans_outside_the_text_are_refused(span):
    with pytest.raises(ValueError, match="not inside a text of 4"):
        highlight.spans("네글자다", [span])


def test_gold_and_predicted_stand_together():
    drawn = highlight.compared("서울 시", [(0, 2, "LC")], []).data
    assert drawn.index("gold") < drawn.index("predicted")
    assert drawn.count("<mark") == 1


def test_pieces_and_weights_are_escaped_and_bounded():
    assert "<s>" not in highlight.tokens(["<s>", "가"], boundaries=[False, True]).data
    assert highlight.tokens(["a", "b"], boundaries=[False, True]).data.count("#D00000") == 1
    with pytest.raises(ValueError, match="2 pieces but 1"):
        highlight.tokens(["a", "b"], boundaries=[True])
    drawn = highlight.weights(["<i>", "b", "c"], [1.0, -0.5, 0.0]).data
    assert "<i>" not in drawn and ",0.65)" in drawn and "+1.000" in drawn and "-0.500" in drawn
    assert highlight.weights([], []).data.count("<span") == 0
    assert highlight.stack([highlight.spans("가", []), highlight.spans("나", [])]).data.count("<div") == 2


def test_a_label_keeps_its_colour_from_sentence_to_sentence():
    colour = re.compile(r"background:(#\w+)")
    alone = colour.findall(highlight.spans("가나다", [(0, 1, "OG")]).data)
    beside = colour.findall(highlight.spans("가나다", [(0, 1, "OG"), (1, 2, "PS")]).data)
    assert alone[0] == beside[0] != beside[1]
    right, wrong = (
        colour.findall(highlight.spans("가나", [(0, 1, "earlier"), (1, 2, label)]).data)
        for label in ("right", "answered 다")
    )
    assert right[0] == wrong[0] and len({*right, *wrong}) == 3


def test_p_values_and_truth_are_written_for_people():
    frame = pd.DataFrame({"p": [0.0009, 0.0012, float("nan")], "real": [True, False, True], "n": [1, 2, 3]})
    frame["gain"] = [
        None,
        Comparison(Interval(1.0, 0.5, 1.5), 0.0),
        Comparison(Interval(1.0, 0.5, 1.5), 0.02),
    ]
    markup = tables.table(frame).to_html()
    cells = re.findall(r"<td[^>]*>(.*?)</td>", markup)
    assert cells[:4] == ["&lt;\xa0.001", "yes", "1", "–"]
    assert cells[4:8] == ["0.001", "no", "2", "+1.0 [+0.5, +1.5], p &lt;\xa0.001"]
    assert cells[8:] == ["–", "yes", "3", "+1.0 [+0.5, +1.5], p = 0.020"]


def test_a_comparison_shows_its_decision_first_and_no_uncorrected_p():
    row = {"system": "a", "than": "b", "difference": Interval(1.25, 0.5, 2.0), "p": 0.01}
    row |= {"p_holm": 0.02, "detectable": float("inf"), "decision": "undecided"}
    shown = tables.comparison(pd.DataFrame([row]), caption="x").data
    assert shown.columns.tolist() == [
        "system", "against", "decision", "difference", "p, Holm", "detectable ±"
    ]  # fmt: skip
    assert shown.iloc[0].tolist()[2:] == ["undecided", "1.2 [0.5, 2.0]", "0.020", "–"]
