"""The official scores against scikit-learn, at random and at the degenerate ends."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from pytest import approx
from sklearn.metrics import auc, f1_score, precision_recall_curve

from helpers.corpora.labels import RELATIONS
from helpers.relations.scores import (
    auprc,
    class_auprc,
    f1_of_counts,
    micro_f1,
    relation_counts,
)

LABELS = st.integers(0, 29)
SIZES = st.sampled_from([2, 5, 30, 41])  # of a label set


def sklearn_micro_f1(gold, pred):
    return f1_score(gold, pred, average="micro", labels=range(1, 30), zero_division=0) * 100


def sklearn_areas(gold, probs):
    """Areas under scikit-learn's curves, one per column."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "No positive class found": the very case under test
        curves = [precision_recall_curve(np.asarray(gold) == c, probs[:, c]) for c in range(probs.shape[1])]
    return np.array([auc(recall, precision) for precision, recall, _ in curves]) * 100


@st.composite
def scored_rows(draw):
    n, labels = draw(st.integers(1, 40)), draw(SIZES)
    gold = draw(npst.arrays(np.int64, n, elements=st.integers(0, labels - 1)))
    levels = draw(st.sampled_from([1, 2, 5, 1000]))  # few levels make many ties
    probs = draw(npst.arrays(np.int64, (n, labels), elements=st.integers(0, levels)))
    return gold, probs / levels


def test_labels_are_the_official_thirty():
    assert len(set(RELATIONS)) == 30
    assert RELATIONS[0] == "no_relation"
    assert {name.split(":")[0] for name in RELATIONS[1:]} == {"org", "per"}


@pytest.mark.real
def test_labels_are_in_the_official_order(real_data):
    official = json.loads((real_data / "klue-re" / "relation_list.json").read_text(encoding="utf-8"))
    assert list(RELATIONS) == official["relations"]


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=60))
def test_micro_f1_is_scikit_learns(pairs):
    gold, pred = zip(*pairs, strict=True)
    assert micro_f1(gold, pred) == approx(sklearn_micro_f1(gold, pred), abs=1e-9)


@pytest.mark.parametrize(
    ("gold", "pred", "want"),
    [
        ([1, 2, 3], [1, 2, 3], 100.0),
        ([0, 0], [0, 0], 0.0),  # nothing to find, nothing found: scikit-learn's 0, not 100
        ([0, 1], [1, 0], 0.0),
        ([0, 1, 2], [0, 1, 0], 200 / 3),
        ([1, 1], [2, 1], 50.0),  # the wrong relation is a false positive and a false negative
    ],
)
def test_micro_f1_by_hand(gold, pred, want):
    assert micro_f1(gold, pred) == approx(want, abs=1e-12)


def test_correct_no_relation_rows_change_nothing():
    gold, pred = [1, 2, 0], [1, 0, 5]
    assert micro_f1(gold + [0] * 50, pred + [0] * 50) == micro_f1(gold, pred)


def test_counts_add_up_to_the_score():
    rng = np.random.default_rng(0)
    gold, pred = rng.integers(0, 30, (2, 500))
    counts = relation_counts(gold, pred)
    assert counts.shape == (500, 3)
    assert f1_of_counts(counts.sum(axis=0)) == micro_f1(gold, pred)
    assert f1_of_counts(np.stack([counts[:250].sum(axis=0), counts[250:].sum(axis=0)])) == approx(
        [micro_f1(gold[:250], pred[:250]), micro_f1(gold[250:], pred[250:])]
    )


@settings(deadline=None, max_examples=60)
@given(scored_rows())
def test_auprc_is_scikit_learns(rows):
    gold, probs = rows
    assert class_auprc(gold, probs) == approx(sklearn_areas(gold, probs), abs=1e-9)
    assert auprc(gold, probs) == approx(sklearn_areas(gold, probs).mean(), abs=1e-9)


def test_auprc_of_an_absent_class_is_fifty():
    probs = np.eye(30)[[0, 0, 1]]
    areas = class_auprc([0, 0, 1], probs)
    assert areas[:2] == approx([100, 100])
    assert areas[2:] == approx([50] * 28)
    assert auprc([0] * 4, np.full((4, 30), 1 / 30)) == approx((100 + 29 * 50) / 30)


def test_auprc_ignores_the_order_of_rows_and_any_increasing_map():
    rng = np.random.default_rng(1)
    gold, probs = rng.integers(0, 30, 300), rng.random((300, 30)).round(2)
    order = rng.permutation(300)
    assert auprc(gold[order], probs[order]) == approx(auprc(gold, probs), abs=1e-12)
    assert auprc(gold, probs**3) == approx(auprc(gold, probs), abs=1e-12)


@pytest.mark.parametrize(
    "scores",
    [
        lambda rng: rng.dirichlet(
            np.full(5, 0.1), size=3000
        ),  # over sixty orders of magnitude, with ties at 0
        lambda rng: rng.normal(size=(3000, 5)) * 10.0 ** rng.integers(-300, 300, (3000, 5)),
        lambda rng: rng.random((3000, 5)).astype(np.float32),
    ],
    ids=["probabilities", "either sign", "single precision"],
)
def test_auprc_of_many_rows_is_scikit_learns(scores):
    rng = np.random.default_rng(2)
    gold, given = rng.integers(0, 5, 3000), scores(rng)
    assert class_auprc(gold, given) == approx(sklearn_areas(gold, given), abs=1e-9)


@pytest.mark.parametrize(
    ("gold", "pred", "message"),
    [
        ([0, 1], [0], "gold has 2 rows but pred has 1"),
        ([-1], [0], "ids from 0 on"),
        ([0, 1], [1, -1], "^pred must hold ids from 0 on, got -1"),
        (["per:title"], [0], "^gold must be a list of label ids"),
        ([0], [[0]], r"^pred must be a list of label ids, got int64 of shape \(1, 1\)"),
        ([], [], "label ids"),
    ],
)
def test_bad_labels_are_refused(gold, pred, message):
    with pytest.raises(ValueError, match=message):
        micro_f1(gold, pred)


def test_bad_probabilities_are_refused():
    with pytest.raises(ValueError, match=r"\(2, 30 or more\).*got \(2, 29\)"):
        auprc([0, 29], np.zeros((2, 29)))
    with pytest.raises(ValueError, match="a row per gold label"):
        auprc([0, 1], np.zeros((3, 30)))
    with pytest.raises(ValueError, match="NaN"):
        auprc([0], np.where(np.arange(30) == 3, np.nan, 0.5)[None])
    with pytest.raises(ValueError, match=r"^gold must hold ids from 0 on"):
        auprc([-1, 1], np.zeros((2, 30)))
