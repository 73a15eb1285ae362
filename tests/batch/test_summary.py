"""The answer on one screen: effects around their zero, levels below, rows that fit on one scale together."""

import re

import pytest

from helpers.batch import summary
from helpers.display.messages import Words

EN, KO = Words("en"), Words("ko")


def level(name, value, low=None, high=None):
    return {"name": name, "value": value, "low": low, "high": high}


def effect(name, value, low, high, decision="better", than="none"):
    return level(name, value, low, high) | {"decision": decision, "than": than}


def groups(*rows, words=EN):
    return summary.summary({"question": "Q?", "verdict": "V.", "headline": rows}, words)["groups"]


def test_effects_come_first_with_a_chip_and_levels_below():
    first, second = groups(level("F1", 61.0, 60.0, 62.0), effect("typed", 2.0, 1.0, 3.0))
    assert [first["kind"], second["kind"]] == ["effects", "levels"]
    row = first["rows"][0]
    assert (row["shape"], row["word"], row["against"]) == ("▲", "better", "against none")
    assert (row["value"], row["interval"]) == ("+2.0", "+1.0 to +3.0")
    assert second["rows"][0]["shape"] == "" and second["rows"][0]["value"] == "61.0"


@pytest.mark.parametrize(
    ("decision", "shape", "korean"),
    [("better", "▲", "우세"), ("worse", "▼", "열세"), ("equivalent", "≈", "동등"),
     ("undecided", "?", "판단 보류"),
     ("oracle", "", "상한(정답 참조)"), ("control", "", "대조군"), ("baseline", "", "기준선")],
)  # fmt: skip
def test_each_decision_has_shape_word_and_mark(decision, shape, korean):
    for words, word in ((EN, decision), (KO, korean)):
        (group,) = groups(effect("a", 1.0, 0.5, 1.5, decision), words=words)
        row = group["rows"][0]
        assert (row["shape"], row["word"]) == (shape, word)
        assert f'class="plot {decision}"' in row["plot"]
    marks = {summary.MARKS.get(name) for name in ("better", "worse", "equivalent", "undecided", "")}
    assert len(marks) == 5


def test_the_zero_of_an_effect_is_always_drawn_where_it_is():
    (group,) = groups(effect("a", 3.0, 2.0, 4.0), effect("b", -1.0, -2.0, 0.5, "undecided"))
    zeros = {re.search(r'class="zero" x1="([\d.]+)%"', row["plot"])[1] for row in group["rows"]}
    assert len(zeros) == 1 and 30 < float(zeros.pop()) < 40  # of -2.3 … 4.3
    low, high = re.search(r'class="range" x1="([\d.]+)%" x2="([\d.]+)%"', group["rows"][0]["plot"]).groups()
    assert float(low) == pytest.approx(100 * 4.3 / 6.6, abs=0.1) and float(high) == pytest.approx(
        100 * 6.3 / 6.6, abs=0.1
    )


def test_rows_of_other_magnitudes_get_a_scale_of_their_own():
    several = groups(
        effect("points", 20.0, 15.0, 25.0), effect("share", 0.02, 0.01, 0.03), effect("more", 8.0, 4.0, 9.0)
    )
    assert [[row["name"] for row in group["rows"]] for group in several] == [["points", "more"], ["share"]]
    assert [group["first"] for group in several] == [True, False]
    count = groups(level("rows", 32470))
    assert (
        count[0]["rows"][0]["plot"] == ""
        and count[0]["ticks"] == []
        and count[0]["rows"][0]["value"] == "32,470"
    )


@pytest.mark.parametrize(
    ("name", "against"),
    [("typed markers", "against none at all"), ("typed markers against none", ""), ("own over mean", ""),
     ("SWA − last", ""), ("유형 표지 대 무표지", "")],
)  # fmt: skip
def test_what_an_effect_is_compared_with_is_said_once(name, against):
    (group,) = groups(effect(name, 1.0, 0.5, 1.5, than="none at all"))
    assert group["rows"][0]["against"] == against


def test_what_all_names_share_is_said_above_them():
    effects = [effect(f"Real@1: {name}, points", 1.0, 0.5, 1.5) for name in ("a − b, c", "a − d")]
    first, levels = groups(*effects, level("F1, one", 60.0, 59.0, 61.0), level("F1, two", 61.0, 60.0, 62.0))
    assert (first["unit"], [row["name"] for row in first["rows"]]) == (
        "Real@1, points",
        ["a − b, c", "a − d"],
    )
    assert (levels["unit"], [row["name"] for row in levels["rows"]]) == ("F1", ["one", "two"])
    (alone,) = groups(effect("Real@1: a, points", 1.0, 0.5, 1.5))
    assert (alone["unit"], alone["rows"][0]["name"]) == ("", "Real@1: a, points")


def test_ticks_are_round_and_inside():
    (group,) = groups(effect("a", 20.0, 15.0, 25.0))
    assert [text for text, _ in group["ticks"]] == ["0", "10", "20"]
    (levels,) = groups(level("a", 83.4, 81.7, 85.1), level("b", 87.2, 85.3, 89.1))
    assert [text for text, _ in levels["ticks"]] == ["82", "84", "86", "88"], "one number makes no scale"
    (alone,) = groups(level("a", 14.2, 10.1, 19.6))
    assert [text for text, _ in alone["ticks"]] == ["12", "14", "16", "18"]
    assert all(4 <= float(at.rstrip("%")) <= 96 for _, at in group["ticks"])


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (level("x", 71.134, 69.0, 73.2), ("71.1", "69.0 to 73.2")),
        (level("x", 0.41234, 0.4, 0.42), ("0.412", "0.400 to 0.420")),
        (level("x", -0.00012, -0.0002, 0.0), ("−0.000120", "−0.000200 to 0.000000")),
        (level("x", 9.96, 9.5, 10.2), ("10.0", "9.5 to 10.2")),
        (level("x", 32470), ("32,470", "")),
        (level("x", 1234.5, 1200.0, 1300.0), ("1,234", "1,200 to 1,300")),
        (level("x", 0.0, 0.0, 0.0), ("0.0", "0.0 to 0.0")),
        (level("x", 5, 4, 6), ("5", "4 to 6")),
        (effect("x", 0.024, 0.015, 0.032), ("+0.024", "+0.015 to +0.032")),
    ],
)
def test_a_figure_and_its_interval_share_their_decimals(row, shown):
    assert summary.figures(row, EN) == shown


def test_a_small_effect_in_points_is_written_as_points():
    rows = groups(effect("SWA", 0.18, -0.48, 0.8, "undecided"), level("F1", 70.0, 69.0, 71.0))
    assert rows[0]["rows"][0]["interval"] == "−0.5 to +0.8"


def test_a_run_without_a_record_has_no_answer():
    assert summary.summary({}, EN) == {"question": "", "verdict": "", "groups": []}


def test_names_and_verdicts_are_inert():
    shown = summary.summary({"question": "<script>", "verdict": "**b** <img src=x>", "headline": []}, EN)
    assert shown["question"] == "&lt;script&gt;" and "<strong>b</strong> &lt;img" in shown["verdict"]
