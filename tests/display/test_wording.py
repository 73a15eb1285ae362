import pandas as pd
import pytest

from helpers.display import wording
from helpers.statistics import Interval


def row(decision, *difference):
    return {"system": "a", "than": "b", "difference": Interval(*difference), "decision": decision}


def test_every_outcome_has_its_own_words():
    told = [
        wording.finding(row("better", 2, 1, 3)),
        wording.finding(row("worse", -2, -3, -1)),
        wording.finding(row("equivalent", 0.1, -0.2, 0.4)),
        wording.finding(row("undecided", 0.1, -2, 2.2)),
        wording.finding(row("oracle", 5, 4, 6)),
    ]
    assert told == [
        "a beats b by 2.0 [1.0, 3.0]",
        "a loses to b by 2.0 [1.0, 3.0]",
        "a and b are equivalent: +0.1 [-0.2, +0.4]",
        "a against b is undecided: +0.1 [-2.0, +2.2]",
        "a (oracle) differs from b by +5.0 [+4.0, +6.0]",
    ]


def test_words_of_ones_own():
    words = {"better": "helps", "worse": "hurts", "undecided": "is open"}
    assert [wording.outcome(one, **words) for one in wording.OUTCOMES] == [
        "helps", "hurts", "is open", "is open"
    ]  # fmt: skip
    with pytest.raises(ValueError, match="'real'"):
        wording.outcome("real", **words)


def test_an_interval_has_a_direction_only_off_zero():
    words = {"above": "rises", "below": "falls", "unclear": "stays"}
    cases = [Interval(1, 0.5, 2), Interval(-1, -2, -0.5), Interval(1, -1, 2)]
    assert [wording.direction(one, **words) for one in cases] == ["rises", "falls", "stays"]


def test_decisions_are_counted_in_a_fixed_order():
    frame = pd.DataFrame({"decision": ["undecided", "better", "undecided", "oracle"]})
    assert wording.tally(frame) == "1 better, 2 undecided"
    assert wording.tally(frame.tail(1)) == "nothing to decide"
