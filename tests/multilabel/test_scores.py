"""Macro-F1 against scikit-learn, and the sums it is a function of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import f1_score

from helpers.multilabel.scores import (
    class_f1_of_counts,
    f1_counts,
    indicators,
    macro_f1,
    macro_f1_of_counts,
)

BITS = hnp.arrays(np.int8, st.tuples(st.integers(2, 12), st.just(3)), elements=st.integers(0, 1))


@settings(max_examples=40, deadline=None)
@given(BITS, st.integers(0, 99))
def test_macro_f1_equals_scikit_learn(gold, seed):
    predicted = np.random.default_rng(seed).integers(0, 2, gold.shape)
    wanted = f1_score(gold, predicted, average=None, zero_division=0)
    assert class_f1_of_counts(f1_counts(gold, predicted).sum(axis=0)) == pytest.approx(wanted, abs=1e-12)
    assert macro_f1(gold, predicted) == pytest.approx(wanted.mean(), abs=1e-12)


def test_perfect_inverted_and_absent():
    gold = np.array([[1, 0], [0, 1], [1, 1]])
    assert macro_f1(gold, gold) == 1.0
    assert macro_f1(gold, 1 - gold) == 0.0
    assert macro_f1([[1, 0]], [[1, 0]]) == 0.5, "a class that is nowhere scores 0, as the task counts it"


def test_counts_add_up_to_the_score_of_repeated_rows():
    rng = np.random.default_rng(0)
    gold, predicted = rng.integers(0, 2, (2, 50, 4))
    drawn = rng.integers(0, 50, 50)
    times = np.bincount(drawn, minlength=50)
    got = macro_f1_of_counts(times @ f1_counts(gold, predicted))
    assert got == pytest.approx(macro_f1(gold[drawn], predicted[drawn]), abs=1e-12)


def test_indicators_keep_the_order_of_the_classes():
    assert indicators([["b"], [], ["a", "b"]], ["a", "b"]).tolist() == [[0, 1], [0, 0], [1, 1]]
    with pytest.raises(ValueError, match="row 1: unknown label 'c'"):
        indicators([["a"], ["c"]], ["a", "b"])


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="rows, classes"):
        macro_f1([[1, 0]], [[1, 0], [0, 1]])
