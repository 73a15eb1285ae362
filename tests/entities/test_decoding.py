"""Projection by offsets, the ceilings it gives on real data, and Viterbi against brute force."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from helpers.corpora.labels import OUTSIDE, TAG_TYPES, TAGS
from helpers.entities import decoding
from helpers.entities.scores import char_f1, entity_f1
from helpers.entities.tags import ID as ID_TYPE
from helpers.entities.tags import decode, without_spaces

ID = {tag: i for i, tag in enumerate(TAGS)}


def _flat(labels):
    """Labels of all tokens, the ignored ones as O: what a perfect tagger would predict."""
    flat = np.concatenate([np.array(row, int) for row in labels])
    return np.where(flat == decoding.IGNORED, OUTSIDE, flat)


def _map(sentence, offsets):
    return decoding.map_characters([len(sentence)], [np.array(offsets)])


def test_a_space_belongs_to_the_entity_that_goes_on_after_it():
    sentence = "김 철수 서울"  # 김 철수 is a person, 서울 a place
    tags = ["B-PS", "I-PS", "I-PS", "I-PS", "O", "B-LC", "I-LC"]
    characters = _map(sentence, [(0, 0), (0, 1), (2, 4), (5, 7), (7, 7)])
    assert decoding.token_labels([tags], characters) == [[-100, ID["B-PS"], ID["I-PS"], ID["B-LC"], -100]]
    back = decoding.project_tags(_flat(decoding.token_labels([tags], characters)), characters)
    assert decode(back) == [tags]


def test_an_entity_that_starts_inside_a_token_is_lost_and_nothing_else_is():
    tags = ["O", "B-PS", "I-PS", "O"]
    characters = _map("저김씨가", [(0, 3), (3, 4)])
    back = decoding.project_tags(_flat(decoding.token_labels([tags], characters)), characters)
    assert decode(back) == [["O"] * 4]


def test_uncovered_ends_are_outside():
    characters = _map(" 가 ", [(1, 2)])
    assert decode(decoding.project_tags([ID["I-PS"]], characters)) == [["I-PS", "I-PS", "O"]]
    assert decode(decoding.project_tags([ID["B-PS"]], characters)) == [["O", "B-PS", "O"]]


def test_the_first_of_overlapping_tokens_wins():
    characters = _map("가나", [(0, 2), (1, 2)])  # as byte-level pieces of one character do
    assert decode(decoding.project_tags([ID["B-PS"], ID["O"]], characters)) == [["B-PS", "I-PS"]]


def test_sentences_do_not_mix():
    characters = decoding.map_characters(
        [2, 0, 1], [np.array([(0, 1)]), np.zeros((0, 2)), np.array([(0, 1)])]
    )
    projected = decoding.project_tags([ID["O"], ID["I-PS"]], characters)
    assert decode(projected) == [["O", "O"], [], ["I-PS"]]


def test_sentences_of_any_length_keep_their_own_tokens():
    offsets = [np.array(ranges) for ranges in ([(0, 1)], [(0, 0), (2, 4)], [(0, 2)])]
    characters = decoding.map_characters([1, 4, 2], offsets)
    assert characters.token.tolist() == [0, 2, 2, 2, 2, 3, 3]
    assert characters.first.tolist() == [0, -1, 3, 5] and characters.token_bounds.tolist() == [0, 1, 3, 4]
    said = [ID["B-PS"], ID["O"], ID["I-LC"], ID["B-OG"]]
    assert decode(decoding.project_tags(said, characters)) == [["B-PS"], ["I-LC"] * 4, ["B-OG", "I-OG"]]


@pytest.mark.parametrize("kind", TAG_TYPES)
def test_what_goes_on_goes_on_across_a_space_whatever_its_type(kind):
    characters = _map("가 나다", [(0, 1), (2, 4)])
    goes_on = decoding.project_tags([ID[f"B-{kind}"], ID[f"I-{kind}"]], characters)
    assert decode(goes_on) == [[f"B-{kind}", *[f"I-{kind}"] * 3]]
    begins = decoding.project_tags([ID[f"B-{kind}"]] * 2, characters)
    assert decode(begins) == [[f"B-{kind}", "O", f"B-{kind}", f"I-{kind}"]]
    assert begins.ids.dtype == ID_TYPE and len(begins.ids) == 4


def test_other_types_keep_their_names():
    types = ("질병", "약물")
    characters = _map("감기약", [(0, 2), (2, 3)])
    assert decode(decoding.project_tags([0, 4], characters, types)) == [["B-질병", "I-질병", "O"]]
    scores = np.log(np.eye(5)[[2, 3, 4]] + 0.01)
    assert decode(decoding.viterbi(scores, np.array([0, 3]), types)) == [["B-약물", "I-약물", "O"]]


def test_errors_name_the_sentence():
    with pytest.raises(ValueError, match="sentence 1: a token ends at 3, beyond its 2"):
        decoding.map_characters([2, 2], [np.array([(0, 2)]), np.array([(0, 3)])])
    with pytest.raises(ValueError, match="2 sentences but 1"):
        decoding.map_characters([2, 2], [np.array([(0, 2)])])
    with pytest.raises(ValueError, match="same sentences"):
        decoding.token_labels([["O"]], _map("가나", [(0, 2)]))


@st.composite
def corpora(draw):
    """Sentence lengths with ordered, disjoint token ranges, some of them empty."""
    lengths, offsets = [], []
    for _ in range(draw(st.integers(1, 4))):
        cuts = sorted(draw(st.lists(st.integers(0, 9), max_size=8)))
        ranges = [(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
        lengths.append(9 if ranges else draw(st.integers(0, 3)))
        offsets.append(np.array(ranges, int).reshape(-1, 2))
    return decoding.map_characters(lengths, offsets)


@settings(max_examples=150, deadline=None)
@given(characters=corpora(), seed=st.integers(0, 2**16))
def test_probabilities_move_as_tags_do(characters, seed):
    tokens = characters.token_bounds[-1]
    if tokens == 0:
        return
    rng = np.random.default_rng(seed)
    said = rng.integers(len(TAGS), size=tokens)
    certain = decoding.project_probabilities(np.eye(len(TAGS))[said], characters)
    assert np.array_equal(certain.argmax(1), decoding.project_tags(said, characters).ids)
    mixed = decoding.project_probabilities(rng.dirichlet(np.ones(len(TAGS)), tokens), characters)
    assert mixed.sum(1) == approx(np.ones(len(mixed)))


def _valid(tags):
    steps = zip((OUTSIDE, *tags), tags, strict=False)
    return all(tag % 2 == 0 or tag == OUTSIDE or before in (tag, tag - 1) for before, tag in steps)


@settings(max_examples=40, deadline=None)
@given(lengths=st.lists(st.integers(0, 3), min_size=1, max_size=4), seed=st.integers(0, 2**16))
def test_viterbi_equals_brute_force(lengths, seed):
    scores = np.random.default_rng(seed).normal(size=(sum(lengths), len(TAGS)))
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    found = decoding.viterbi(scores, bounds)
    for a, b in pairwise(bounds):
        paths = [path for path in product(range(len(TAGS)), repeat=b - a) if _valid(path)]
        best = max(paths, key=lambda path: scores[np.arange(a, b), list(path)].sum())
        assert tuple(found.ids[a:b]) == best


def test_viterbi_keeps_a_valid_argmax_and_repairs_an_invalid_one():
    gold = ["B-PS", "I-PS", "O", "B-LC"]
    scores = np.log(np.eye(len(TAGS))[[ID[tag] for tag in gold]] * 0.9 + 0.1 / 13)
    assert decode(decoding.viterbi(scores, np.array([0, 4]))) == [gold]
    orphan = np.log(np.array([[0.4, 0.6]])) @ np.eye(len(TAGS))[[ID["B-PS"], ID["I-PS"]]] - 5
    assert decode(decoding.viterbi(orphan, np.array([0, 1])))[0] != ["I-PS"]


def test_of_two_equally_probable_readings_the_entity_begins_later():
    scores = np.full((3, len(TAGS)), -9.0)
    scores[0, ID["B-PS"]] = scores[2, ID["I-PS"]] = 0.0
    scores[1, [ID["B-PS"], ID["I-PS"]]] = 0.0
    assert decode(decoding.viterbi(scores, np.array([0, 3]))) == [["B-PS", "B-PS", "I-PS"]]


def test_viterbi_of_nothing():
    assert decoding.viterbi(np.zeros((0, 13)), np.array([0])).ids.tolist() == []
    assert decoding.viterbi(np.zeros((0, 13)), np.array([0, 0])).ids.tolist() == []


@pytest.mark.real
@pytest.mark.parametrize(("jamo", "entity", "char"), [(False, 98.34, 99.72), (True, 98.45, 99.80)])
def test_ceiling_of_exact_offsets(klue_dev, klue_tokenizer, jamo, entity, char):
    from helpers.text.alignment import encode_with_offsets

    sentences, gold = klue_dev
    encoded = encode_with_offsets(klue_tokenizer, sentences, jamo=jamo)
    characters = decoding.map_characters([len(s) for s in sentences], [row.offsets for row in encoded])
    perfect = decoding.project_tags(_flat(decoding.token_labels(gold, characters)), characters)
    solid, pred = (without_spaces(rows, sentences) for rows in (gold, perfect))
    assert entity_f1(solid, pred) == approx(entity, abs=0.005)
    assert char_f1(solid, pred) == approx(char, abs=0.005)
    if not jamo:
        assert entity_f1(gold, perfect) == approx(98.33, abs=0.005)
