"""Character-level ensembles: members with different tokens, calibration, and the control."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from helpers.corpora.labels import OUTSIDE, TAGS
from helpers.entities import tags, voting
from helpers.entities.decoding import IGNORED, map_characters
from helpers.entities.voting import Member

SENTENCE = "김철수는 서울로"
WORDS = map_characters([8], [np.array([(0, 3), (3, 4), (5, 7), (7, 8)])])
CHARACTERS = map_characters([8], [np.array([(i, i + 1) for i in range(8)])])
GOLD = [["B-PS", "I-PS", "I-PS", "O", "O", "B-LC", "I-LC", "O"]]


def _logits(row, sure=5.0):
    return sure * np.eye(len(TAGS), dtype=np.float32)[[TAGS.index(tag) for tag in row]]


def test_members_with_different_tokenizers_agree_on_characters():
    by_word = Member(_logits(["B-PS", "O", "B-LC", "O"]), WORDS)
    by_character = Member(_logits(GOLD[0]), CHARACTERS)
    assert by_word.probabilities().shape == by_character.probabilities().shape == (8, 13)
    assert tags.decode(voting.decode_ensemble([by_word, by_character])) == GOLD
    assert tags.decode(by_word.greedy()) == tags.decode(by_character.decode()) == GOLD


def test_a_hot_member_is_outvoted_only_once_cooled():
    sure_but_wrong = _logits(["B-LC", "I-LC", "I-LC", "O", "O", "O", "O", "O"], sure=6.0)
    right = [Member(_logits(GOLD[0], sure=3.5), CHARACTERS)] * 2
    loud = voting.decode_ensemble([*right, *[Member(sure_but_wrong, CHARACTERS)] * 2])
    cooled = voting.decode_ensemble([*right, *[Member(sure_but_wrong, CHARACTERS, temperature=4.0)] * 2])
    assert tags.decode(cooled) == GOLD
    assert tags.decode(loud) != GOLD


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**16), copies=st.integers(1, 4))
def test_averaging_copies_changes_nothing(seed, copies):
    one = np.random.default_rng(seed).dirichlet(np.ones(13), size=6)
    assert voting.average([one] * copies) == approx(one)


def test_average_refuses_other_shapes_and_nothing():
    with pytest.raises(ValueError, match="member 1 has shape"):
        voting.average([np.zeros((2, 13)), np.zeros((3, 13))])
    with pytest.raises(ValueError, match="at least one member"):
        voting.average([])


@pytest.mark.parametrize("true", [0.5, 1.0, 2.5])
def test_temperature_is_recovered(true):
    rng = np.random.default_rng(0)
    honest = rng.normal(scale=2.0, size=(20_000, 13))
    drawn = (honest + rng.gumbel(size=honest.shape)).argmax(1)  # labels follow softmax(honest)
    drawn[:100] = IGNORED
    assert voting.fit_temperature(honest * true, drawn) == approx(true, rel=0.03)


def test_temperature_needs_labels():
    with pytest.raises(ValueError, match="no labelled tokens"):
        voting.fit_temperature(np.zeros((2, 13)), np.array([IGNORED, IGNORED]))


def test_probabilities_are_stable_and_in_single_precision():
    logits = np.zeros((8, 13))
    logits[0, 0], logits[1] = 1e4, -1e4
    probabilities = Member(logits, CHARACTERS).probabilities()
    assert probabilities.dtype == np.float32
    assert probabilities[0].tolist() == [1.0] + [0.0] * 12
    assert probabilities[1] == approx(np.full(13, 1 / 13))


def test_mean_of_logits_needs_shared_subwords():
    shared = [Member(_logits(["B-PS", "O", "B-LC", "O"]), WORDS), Member(_logits(["O"] * 4, 4.0), WORDS)]
    assert tags.decode(voting.decode_mean_logits(shared)) == GOLD
    with pytest.raises(ValueError, match="same subwords"):
        voting.decode_mean_logits([shared[0], Member(_logits(GOLD[0]), CHARACTERS)])


def test_decoding_is_always_valid_where_greedy_is_not():
    orphans = Member(_logits(["I-PS", "O", "I-LC", "O"], sure=1.0), WORDS)
    assert tags.find_spans(tags.decode(orphans.greedy())[0]) == []
    valid = orphans.decode().ids
    before = np.concatenate([[OUTSIDE], valid[:-1]])
    inner = (valid % 2 == 1) & (valid != OUTSIDE)
    assert np.isin(before[inner] - valid[inner], (0, -1)).all()
