"""Four scores of one prediction: by hand, and as nervaluate has them."""

import nervaluate
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.entities.overlaps import SCHEMES, overlap_counts
from helpers.entities.scores import entity_f1
from helpers.entities.tags import tag_spans
from helpers.statistics import f1

KINDS = ("PS", "LC", "OG")


def scores(gold, pred):
    return {name: 100 * float(f1(counts.sum(0))) for name, counts in overlap_counts(gold, pred).items()}


def test_by_hand():
    gold = [tag_spans([(0, 2, "PS"), (3, 6, "LC"), (7, 9, "OG")], 10)]
    pred = [tag_spans([(0, 2, "PS"), (3, 5, "LC"), (7, 9, "PS")], 10)]
    found = {name: counts.tolist() for name, counts in overlap_counts(gold, pred).items()}
    assert found == {
        "strict": [[1, 3, 3]],  # the first
        "exact": [[2, 3, 3]],  # and the third, whose type is wrong
        "partial": [[2.5, 3, 3]],  # and half of the second
        "type": [[2, 3, 3]],  # the first and the second
    }


def test_nothing_and_perfection():
    empty, one = [["O"] * 3], [tag_spans([(0, 2, "PS")], 3)]
    assert set(scores(empty, empty).values()) == {0.0}
    assert set(scores(one, one).values()) == {100.0}
    assert set(scores(one, empty).values()) == {0.0}


@st.composite
def sentences(draw):
    cuts = sorted(draw(st.sets(st.integers(0, 14), max_size=8)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    return tag_spans([(a, b, draw(st.sampled_from(KINDS))) for a, b in pairs], 14)


@given(st.lists(st.tuples(sentences(), sentences()), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_as_nervaluate_has_them(pairs):
    gold, pred = (list(some) for some in zip(*pairs, strict=True))
    theirs = nervaluate.Evaluator(gold, pred, tags=list(KINDS), loader="list").evaluate()["overall"]
    names = dict(zip(SCHEMES, ("strict", "exact", "partial", "ent_type"), strict=True))
    for name, value in scores(gold, pred).items():
        result = theirs[names[name]]
        assert value == pytest.approx(100 * result.f1)
        counts = overlap_counts(gold, pred)[name].sum(0)
        assert counts.tolist() == [result.correct + result.partial / 2, result.actual, result.possible]


@given(st.lists(st.tuples(sentences(), sentences()), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_the_strict_score_is_the_official_one_and_the_lowest(pairs):
    gold, pred = (list(some) for some in zip(*pairs, strict=True))
    found = scores(gold, pred)
    assert found["strict"] == pytest.approx(entity_f1(gold, pred, "micro"))
    assert found["strict"] <= found["exact"] + 1e-9 and found["exact"] <= found["partial"] + 1e-9
    assert found["strict"] <= found["type"] + 1e-9
    assert all(np.isfinite(value) for value in found.values())
