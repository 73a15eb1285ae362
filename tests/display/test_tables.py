import io
import re

import pandas as pd
import pytest

from helpers.display import highlight, tables
from helpers.statistics import Interval

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
            "against a": [None, Interval(-11.2, -12, -10)],
            "rows": [12345, 7],
            "share": [0.5, float("nan")],
        }
    )
    markup = tables.table(frame, best="F1", digits=1).to_html()
    assert markup == tables.table(frame, best="F1", digits=1).to_html()
    for shown in ("61.2 [59.8, 62.5]", "−11.2 [−12.0, −10.0]", "12,345", ">0.5<", "–"):
        assert shown in markup
    assert markup.count('<tr class="best">') == 1
    assert '<tr class="best"><th scope="row">a</th>' in markup


def test_headings_have_a_scope_and_an_empty_one_is_no_heading():
    frame = pd.DataFrame({"": ["rows"], "n": [3.0]})
    assert '<thead><tr><td></td><th scope="col" class="number">n</th></tr>' in tables.table(frame).to_html()
    by_index = tables.table(frame.set_index(""), caption="c", index=True).to_html()
    assert by_index.count('scope="row"') == 1 and "<caption>c</caption>" in by_index
    assert 'scope="row"' not in tables.table(frame[["n"]]).to_html()


def test_counts_that_became_floats_have_no_decimals():
    shown = tables.table(pd.DataFrame({"parameters": [313054.0, float("nan")], "F1": [50.0, 61.25]})).data
    assert shown["parameters"].tolist() == ["313,054", "–"]
    assert shown["F1"].tolist() == ["50.0", "61.2"]


def test_the_csv_is_the_frame_unrounded():
    frame = pd.DataFrame(
        {
            "system": ["가, 나", 'b"'],
            "F1": [Interval(61.2345, 59.8, 62.5), None],
            "n": [3, 4],
            "x": [1 / 3, None],
        }
    )
    read = pd.read_csv(io.StringIO(tables.table(frame).to_csv()))
    wanted = tables.intervals(frame.head(1), "F1")
    assert read.columns.tolist() == ["system", "F1", "F1 low", "F1 high", "n", "x"]
    assert read["system"].tolist() == frame["system"].tolist() and read["n"].tolist() == [3, 4]
    assert (
        read.loc[0, ["F1", "F1 low", "F1 high"]].tolist() == wanted.loc[0, ["value", "low", "high"]].tolist()
    )
    assert read.loc[0, "x"] == 1 / 3 and read.loc[1, ["F1", "x"]].isna().all()
    assert tables.table(pd.DataFrame({"n": [1]}, index=["a"]), index=True).to_csv() == ",n\na,1\n"


def test_a_frame_by_itself_looks_like_a_table(monkeypatch):
    from IPython.testing.globalipapp import get_ipython

    shell = get_ipython()
    tables.show_frames()
    data, _ = shell.display_formatter.format(pd.DataFrame({"n": [1.0, None]}, index=["a", "b"]))
    assert '<table class="nunchi">' in data["text/html"] and data["text/csv"].startswith(",n\n")
    assert "NaN" not in data["text/html"]


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


def test_say_writes_minus_signs_and_remembers_what_it_filled_in():
    sentence = tables.say(
        "{gain:+.1f} for {row[name]}, {{kept}}", gain=Interval(-1.5, -2, 0.2), row={"name": "a-1"}
    )
    assert sentence.data == "−1.5 [−2.0, +0.2] for a-1, {kept}"
    assert sentence.metadata["fields"] == {"{gain:+.1f}": "−1.5 [−2.0, +0.2]", "{row[name]}": "a-1"}
    assert sentence.metadata["template"].startswith("{gain:+.1f} for")


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


def test_a_korean_sentence_is_marked_as_one_and_its_caption_is_not():
    assert '>gold </span><span lang="ko">서울' in highlight.spans("서울 -5", [], caption="gold").data
    assert "lang=" not in highlight.spans("Seoul", []).data


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
    markup = tables.table(frame).to_html()
    cells = re.findall(r"<td[^>]*>(.*?)</td>", markup)
    assert cells == ["&lt;\xa0.001", "yes", "1", "0.001", "no", "2", "–", "yes", "3"]


def test_a_comparison_shows_its_decision_first_and_no_uncorrected_p():
    row = {"system": "a", "than": "b", "difference": Interval(1.25, 0.5, 2.0), "p": 0.01}
    row |= {"p_holm": 0.02, "detectable": float("inf"), "decision": "undecided", "family": "main"}
    shown = tables.comparison(pd.DataFrame([row | {"trained": True, "epoch": 2}]), caption="x").data
    assert shown.columns.tolist() == [
        "family", "system", "decision", "difference", "trained", "epoch", "against", "p, Holm", "detectable ±"
    ]  # fmt: skip
    values = ["main", "a", "undecided", "+1.2 [+0.5, +2.0]", "yes", "2", "b", "0.020", "–"]
    assert shown.iloc[0].tolist() == values


def test_a_decision_has_a_shape_beside_its_word():
    frame = pd.DataFrame({"system": list("abc"), "decision": ["better", "oracle", "undecided"]})
    markup = tables.table(frame).to_html()
    assert '<td class="decision better"><span aria-hidden="true">▲ </span>better</td>' in markup
    assert '<td class="decision oracle">oracle</td>' in markup
    gap = tables.table(frame.assign(decision=["better", "–", None])).to_html()
    assert "▲" in gap and gap.count('<td class="decision">–</td>') == 2
    other = tables.table(frame.assign(decision="keep")).to_html()  # not one of ours: plain text
    assert "<td>keep</td>" in other


def test_an_interval_ends_where_the_values_end():
    frame = pd.DataFrame({"F1": [Interval(87.2, 73.2, 101.3), Interval(0.4, -0.2, 1.0)], "n": [120, 3]})
    shown = tables.table(frame, within=(0, 100))
    assert shown.data["F1"].tolist() == ["87.2 [73.2, 100.0]", "0.4 [0.0, 1.0]"]
    assert shown.data["n"].tolist() == ["120", "3"] and "101.3" not in shown.to_csv()
    assert tables.table(frame).data["F1"][0] == "87.2 [73.2, 101.3]"
