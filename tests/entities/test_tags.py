"""Tags and spans as inverses, what the official scorer looks at, errors that name the sentence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.corpora.labels import TAG_TYPES, TAGS
from helpers.entities import tags

tag_rows = st.lists(st.lists(st.sampled_from(TAGS), max_size=12), min_size=1, max_size=8)


@settings(max_examples=100, deadline=None)
@given(rows=tag_rows)
def test_encode_and_decode_are_inverse(rows):
    tagged = tags.encode(rows)
    assert tags.decode(tagged) == rows
    assert tags.encode(tagged) is tagged
    ids = [[TAGS.index(tag) for tag in row] for row in rows]
    again = tags.from_ids(ids)
    assert np.array_equal(again.ids, tagged.ids) and np.array_equal(again.bounds, tagged.bounds)
    assert again.types == tagged.types


def test_other_types_have_tags_of_their_own():
    rows = [["B-약물", "I-약물", "O"], ["B-질병"], []]
    tagged = tags.encode(rows)
    assert tagged.types == ("약물", "질병") and tagged.ids.tolist() == [0, 1, 4, 2]
    assert tags.decode(tagged) == rows
    wider = tags.encode(tagged, ("질병", "증상", "약물"))
    assert wider.ids.tolist() == [4, 5, 6, 0] and tags.decode(wider) == rows
    assert tags.find_spans(rows[0]) == [(0, 2, "약물")]


def test_spans_follow_strict_iob2():
    row = ["I-PS", "B-PS", "I-PS", "I-LC", "B-LC", "B-LC", "I-LC", "O", "I-LC"]
    assert tags.find_spans(row) == [(1, 3, "PS"), (4, 5, "LC"), (5, 7, "LC")]


@settings(max_examples=100, deadline=None)
@given(lengths=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from(TAG_TYPES))))
def test_tags_and_spans_are_inverse(lengths):
    spans, position = [], 0
    for gap, length, kind in lengths:  # gap 0: adjacent entities
        spans.append((position + gap, position + gap + length, kind))
        position += gap + length
    row = tags.tag_spans(spans, position + 1)
    assert tags.find_spans(row) == spans
    assert row[-1] == "O"


@pytest.mark.parametrize("span", [(0, 0, "PS"), (2, 6, "PS"), (-1, 2, "PS"), (1, 3, "PS")])
def test_bad_spans_are_refused(span):
    with pytest.raises(ValueError, match="span"):
        tags.tag_spans([(0, 2, "LC"), span], 5)


def test_official_scorer_drops_spaces_and_what_starts_on_one():
    sentence, row = "가 나 다", ["B-PS", "I-PS", "I-PS", "B-LC", "I-LC"]
    (kept,) = tags.decode(tags.without_spaces([row], [sentence]))
    assert kept == ["B-PS", "I-PS", "I-LC"]
    assert tags.find_spans(kept) == [(0, 2, "PS")]


def test_errors_name_the_sentence():
    for tag, types in (("X-PS", None), ("B-XX", ("PS", "LC")), ("I-", None)):
        with pytest.raises(ValueError, match=f"sentence 2: unknown tag '{tag}'"):
            tags.encode([["O"], [], ["O", tag]], types)
    with pytest.raises(ValueError, match="sentence 0: 1 tags but 2 characters"):
        tags.without_spaces([["O"]], ["가나"])
    with pytest.raises(ValueError, match="expected 0 to 12"):
        tags.from_ids([[0, 13]])
