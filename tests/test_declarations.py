import numpy as np
import pytest

from helpers.declarations import Declaration
from helpers.statistics import ratio


def declared(**changes):
    given = {"metric": "accuracy, %", "systems": ("a", "b", "lookup"), "reference": "b", "margin": 1.0}
    given |= {"roles": {"lookup": "baseline"}, "choosing": ["v1", "v2"], "reporting": ["d1", "d2", "d3"]}
    return Declaration(**(given | changes))


def test_choosing_on_rows_that_are_reported_is_refused():
    assert declared().best({"a": 0.3, "b": 0.7}, rows=["v1", "v2"]) == "b"
    with pytest.raises(ValueError, match="from 1 of the 3 rows that are reported on"):
        declared().best({"a": 0.3, "b": 0.7}, rows=["v1", "d3"])
    with pytest.raises(ValueError, match=r"1 rows are declared for choosing and reporting, e\.g\. 'd1'"):
        declared(choosing=["d1", "v1"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reference": "z"}, r"\['z'\] are not among the systems"),
        ({"roles": {"y": "oracle"}}, r"\['y'\] are not among the systems"),
        ({"margin": 0.0}, "margin must be above 0"),
    ],
)
def test_a_declaration_checks_itself(changes, message):
    with pytest.raises(ValueError, match=message):
        declared(**changes)


def test_what_was_not_declared_is_not_compared():
    rng = np.random.default_rng(0)
    runs = {name: np.stack([rng.random((3, 50)), np.ones((3, 50))], axis=-1) for name in ("a", "b", "lookup")}
    frame = declared().compare(runs, ratio)
    assert frame["system"].tolist() == ["a", "lookup"] and frame["decision"].iloc[-1] == "baseline"
    with pytest.raises(ValueError, match=r"\['c'\] are declared and not given, or given and not declared"):
        declared().compare(runs | {"c": runs["a"]}, ratio)


def test_the_table_tells_what_was_declared():
    table = dict(declared().table().to_numpy().tolist())
    assert table["compared"] == "a, b, lookup: each with b" and table["rows to choose on"] == "2"
    table = dict(declared(choosing=(), reference=None, roles={}).table().to_numpy().tolist())
    assert table["rows to choose on"] == "none: nothing is chosen" and table["compared"].endswith(
        "every pair"
    )
