"""Spans as characters: masks and runs are inverse, counts are per post."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from helpers import statistics
from helpers.multilabel import spans as label_spans


@settings(max_examples=200, deadline=None)
@given(hnp.arrays(bool, st.integers(0, 30)))
def test_runs_and_masks_are_inverse(mask):
    spans = label_spans.spans_of(mask)
    assert label_spans.mask_of(spans, len(mask)).tolist() == mask.tolist()
    assert all(a < b for a, b in spans)
    assert all(first[1] < second[0] for first, second in pairwise(spans)), "runs never touch"


def test_masks_forgive_what_annotators_do():
    mask = label_spans.mask_of([(4, 9), (1, 3), (2, 5), (-2, 1)], 6)
    assert mask.tolist() == [True] * 6
    assert label_spans.mask_of([], 3).tolist() == [False] * 3
    assert label_spans.mask_of([(-5, -2)], 3).tolist() == [False] * 3


def test_characters_name_their_post_and_whether_a_span_has_them():
    post, gold = label_spans.characters(["ab", "c", "def"], [[(1, 2)], [], [(0, 9)]], np.array([0, 2]))
    assert post.tolist() == [0, 0, 2, 2, 2]
    assert gold.tolist() == [False, True, True, True, True]


def test_char_counts_by_hand():
    post = np.array([4, 4, 4, 4, 7, 7])
    gold, predicted = np.array([1, 1, 0, 0, 0, 0], bool), np.array([0, 1, 1, 0, 1, 0], bool)
    counts = label_spans.char_counts(gold, predicted, post=post)
    assert counts.tolist() == [[1, 2, 2], [0, 1, 0]]
    assert statistics.f1(counts.sum(axis=0)) == pytest.approx(2 * 1 / (3 + 2))
    with pytest.raises(ValueError, match="6 gold characters, 5 predicted"):
        label_spans.char_counts(gold, predicted[:5], post=post)
