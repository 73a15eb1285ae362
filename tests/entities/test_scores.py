"""Entity scores against seqeval and scikit-learn, counts that add up, errors that name the row."""

import warnings
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from helpers.corpora.labels import TAGS, tags_of
from helpers.entities import scores
from helpers.entities.tags import encode

PERFECT = [["B-PS", "I-PS", "O", "B-LC"], ["O", "B-QT"]]


@st.composite
def gold_and_pred(draw, tags=TAGS):
    gold = draw(st.lists(st.lists(st.sampled_from(tags), max_size=12), min_size=1, max_size=8))
    tag = st.sampled_from(tags)
    return gold, [[draw(st.one_of(st.just(t), tag)) for t in row] for row in gold]


@pytest.mark.parametrize("average", ["macro", "micro"])
@settings(max_examples=100, deadline=None)
@given(pair=gold_and_pred())
def test_entity_f1_equals_seqeval(average, pair):
    gold, pred = pair
    ours = scores.entity_f1(gold, pred, average=average)
    if scores.entity_counts(gold, pred).sum() == 0:  # seqeval warns and gives nan
        assert np.isnan(ours) if average == "macro" else ours == 0.0
    else:
        assert ours == approx(_seqeval(gold, pred, average), abs=1e-9)


@pytest.mark.parametrize("average", ["macro", "micro"])
@settings(max_examples=60, deadline=None)
@given(pair=gold_and_pred(tags=tags_of(("질병", "PS", "a-b"))))
def test_entity_f1_of_other_types_equals_seqeval(average, pair):
    if scores.entity_counts(*pair).sum():
        ours = scores.entity_f1(*pair, average=average)
        assert ours == approx(_seqeval(*pair, average), abs=1e-9)


def test_types_that_only_one_side_has():
    gold, pred = [["B-질병", "I-질병", "O"]], [["B-약물", "I-약물", "B-질병"]]
    assert scores.entity_f1(gold, gold) == 100.0 and scores.entity_f1(gold, pred) == 0.0
    assert scores.entity_f1(encode(gold), encode(pred)) == 0.0
    assert scores.char_f1(gold, gold, include_outside=False) == 100.0


@pytest.mark.parametrize("include_outside", [True, False])
@settings(max_examples=100, deadline=None)
@given(pair=gold_and_pred())
def test_char_f1_equals_scikit_learn(include_outside, pair):
    from sklearn.metrics import f1_score

    gold, pred = (list(chain.from_iterable(rows)) for rows in pair)
    labels = list(TAGS if include_outside else TAGS[:-1])
    ours = scores.char_f1(*pair, include_outside=include_outside)
    if not gold:
        assert ours == 100.0
    else:
        wanted = 100 * f1_score(gold, pred, labels=labels, average="macro", zero_division=1)
        assert ours == approx(wanted, abs=1e-9)


def _seqeval(gold, pred, average="macro"):
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    return 100 * f1_score(gold, pred, average=average, mode="strict", scheme=IOB2, zero_division=0)


def test_by_hand():
    pred = [["B-PS", "O", "O", "B-LC"], ["O", "B-QT"]]
    assert scores.entity_f1(PERFECT, pred) == approx(200 / 3)  # PS 0, LC 100, QT 100
    assert scores.entity_f1(PERFECT, pred, average="micro") == approx(200 / 3)
    # I-PS is missed and O gains one: ten tags right or absent, I-PS 0, O 2·2 / (2 + 3), B- tags 100.
    assert scores.char_f1(PERFECT, pred) == approx((11 * 100 + 0 + 80) / 13)
    assert scores.char_f1(PERFECT, pred, include_outside=False) == approx(1100 / 12)


def test_perfect_and_hopeless():
    nothing = [["O"] * len(row) for row in PERFECT]
    assert scores.entity_f1(PERFECT, PERFECT) == scores.char_f1(PERFECT, PERFECT) == 100.0
    assert scores.entity_f1(PERFECT, nothing) == 0.0


def test_what_is_absent_is_scored_without_a_warning():
    absent = [["O", "O"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(scores.entity_f1(absent, absent)) and scores.char_f1(absent, absent) == 100.0


def test_characters_are_scored_with_the_outside_ones_unless_told_otherwise():
    counts = scores.char_counts([["B-PS", "O"]], [["B-PS", "B-PS"]]).sum(0)
    assert scores.char_score(counts) == scores.char_score(counts, True) == approx((200 / 3 + 11 * 100) / 13)


def test_an_entity_never_crosses_into_the_next_sentence():
    assert scores.entity_f1([["B-PS"], ["I-PS"]], [["B-PS"], ["O"]]) == 100.0


def test_empty_sentences_are_counted_as_rows():
    counts = scores.entity_counts([[], ["B-PS"], []], [[], ["B-PS"], []])
    assert counts.shape == (3, 18)
    assert counts.sum(1).tolist() == [0, 3, 0]


@settings(max_examples=100, deadline=None)
@given(pair=gold_and_pred())
def test_counts_add_up_over_sentences(pair):
    gold, pred = pair
    for count in (scores.entity_counts, scores.char_counts):
        together = count(gold, pred)
        alone = [count([g], [p])[0] for g, p in zip(gold, pred, strict=True)]
        assert np.array_equal(together, np.array(alone).reshape(together.shape))
    assert scores.char_counts(gold, pred).sum() >= 2 * sum(map(len, gold))


def test_errors_name_the_sentence():
    with pytest.raises(ValueError, match="sentence 1: 2 gold tags but 1 predicted tags; "):
        scores.entity_f1([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="1 sentences of gold tags but 2 of predicted"):
        scores.char_f1([["O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="sentence 2: unknown tag 'X-PS'"):
        scores.entity_f1([["O"], [], ["O", "X-PS"]], [["O"], [], ["O", "O"]])
    with pytest.raises(ValueError, match="'macro' or 'micro'"):
        scores.entity_f1(PERFECT, PERFECT, average="weighted")


def test_an_estimate_reproduces_the_plain_score():
    from helpers.statistics import estimate

    rng = np.random.default_rng(0)
    gold = [[TAGS[i] for i in rng.integers(13, size=20)] for _ in range(60)]
    pred = [[t if rng.random() < 0.7 else "O" for t in row] for row in gold]
    interval = estimate(scores.entity_counts(gold, pred), scores.entity_score).interval()
    assert interval.value == approx(scores.entity_f1(gold, pred))
    assert interval.low < interval.value < interval.high


@pytest.mark.real
def test_scores_on_real_tags_equal_the_libraries(klue_dev):
    from sklearn.metrics import f1_score

    _, gold = klue_dev
    rng = np.random.default_rng(0)
    pred = [[t if rng.random() < 0.97 else TAGS[rng.integers(13)] for t in row] for row in gold]
    assert scores.entity_f1(gold, pred) == approx(_seqeval(gold, pred), abs=1e-9)
    flat = [list(chain.from_iterable(rows)) for rows in (gold, pred)]
    wanted = 100 * f1_score(*flat, labels=list(TAGS), average="macro", zero_division=1)
    assert scores.char_f1(gold, pred) == approx(wanted, abs=1e-9)
