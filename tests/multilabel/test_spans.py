"""Spans: masks and runs are inverse, tokens and characters agree, a tagger learns a planted trigger."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from helpers import statistics
from helpers.multilabel import spans as label_spans
from helpers.multilabel.experiment import Network, Posts
from helpers.text.alignment import Encoded


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


def test_char_counts_by_hand():
    gold = [np.array([1, 1, 0, 0], bool), np.array([0, 0], bool)]
    predicted = [np.array([0, 1, 1, 0], bool), np.array([1, 0], bool)]
    counts = label_spans.char_counts(gold, predicted)
    assert counts.tolist() == [[1, 2, 2], [0, 1, 0]]
    assert statistics.f1(counts.sum(axis=0)) == pytest.approx(2 * 1 / (3 + 2))
    with pytest.raises(ValueError, match="post 1: 2 gold characters but 3"):
        label_spans.char_counts(gold, [predicted[0], np.zeros(3, bool)])


def test_token_labels_need_half_the_characters():
    encoded = Encoded([0, 1, 2, 3], np.array([[0, 0], [0, 4], [4, 7], [8, 9]]))
    mask = label_spans.mask_of([(2, 5)], 9)
    assert label_spans.token_labels(encoded, mask) == [-100, 1, 0, 0]


def test_the_space_between_trigger_words_belongs_to_the_trigger():
    # "ab cd  e": the outer characters and gaps next to an unlikely token stay low.
    offsets = np.array([[0, 0], [0, 2], [3, 5], [7, 8]])
    chars = label_spans.characters_of(np.array([0.5, 0.9, 0.8, 0.1]), offsets, 9)
    assert chars.tolist() == [0.9, 0.9, 0.8, 0.8, 0.8, 0.1, 0.1, 0.1, 0.0]
    assert label_spans.characters_of(np.array([0.7]), np.array([[0, 0]]), 3).tolist() == [0.0] * 3


@pytest.mark.parametrize("length", [0, 1, 7, 8, 17])
def test_windows_cover_every_token_once(length):
    encoded = Encoded(list(range(length)), np.zeros((length, 2), dtype=int))
    pieces = label_spans.windows(encoded, 8)
    assert [i for piece in pieces for i in piece.input_ids] == encoded.input_ids
    assert all(len(piece.input_ids) <= 8 and len(piece.input_ids) == len(piece.offsets) for piece in pieces)


def test_members_are_averaged_per_character():
    merged = label_spans.average([{3: np.array([0.2, 0.4])}, {3: np.array([0.4, 0.8])}])
    assert merged[3].tolist() == pytest.approx([0.3, 0.6])
    with pytest.raises(ValueError, match="different posts"):
        label_spans.average([{3: np.zeros(1)}, {4: np.zeros(1)}])


@pytest.fixture(scope="module")
def planted() -> Posts:
    """Posts of plain words; the word "shameful" and its neighbour are the trigger."""
    rng = np.random.default_rng(0)
    words = ["river", "budget", "meeting", "school", "report", "bridge"]
    texts, spans = [], []
    for _ in range(120):
        chosen = [words[i] for i in rng.integers(0, 6, 6)]
        at = int(rng.integers(0, 5))
        chosen[at] = "shameful"
        start = len(" ".join(chosen[:at])) + (at > 0)
        texts.append(" ".join(chosen))
        spans.append([(start, start + len(" ".join(chosen[at : at + 2])))])
    return Posts([str(i) for i in range(120)], texts, ["en"] * 120, spans, np.zeros((120, 1), int), ("x",))


def test_a_tagger_learns_the_planted_trigger(planted, tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assigned = np.arange(120) % 4
    config = Network(
        encoder="bilstm", vocabulary=120, hidden=32, layers=1, epochs=12, peak_lr=1e-2, max_tokens=5
    )
    members = label_spans.score_spans([config], planted, assigned, without=[0])
    scores = members[0]
    assert sorted(scores) == list(range(0, 120, 4))
    assert all(len(scores[i]) == len(planted.texts[i]) for i in scores)
    gold = [label_spans.mask_of(planted.spans[i], len(planted.texts[i])) for i in scores]
    counts = label_spans.char_counts(gold, [scores[i] >= 0.5 for i in scores])
    assert statistics.f1(counts.sum(axis=0)) > 0.75, "windows of five tokens still see most pairs"
    again = label_spans.score_spans([config], planted, assigned, without=[0])
    assert all((again[0][i] == scores[i]).all() for i in scores), "the second call reads the first one's file"


def test_thresholds_come_from_the_tuning_fold_and_decisions_are_about_the_others(planted):
    assigned = np.arange(120) % 4
    gold = {i: label_spans.mask_of(planted.spans[i], len(planted.texts[i])) for i in range(120)}
    near = {i: np.where(gold[i], 0.012, 0.006) for i in range(120) if assigned[i] < 2}
    flat = {i: np.full(len(gold[i]), 0.2) for i in near}
    decisions = label_spans.decide({"good": near, "flat": flat}, planted, assigned, tune=0)
    assert all(set(own) == {i for i in near if assigned[i] == 1} for own in decisions.values())
    frame = label_spans.compare(decisions, planted, samples=100).set_index("system")["character_f1"]
    assert frame["good"].value == 1.0 and frame["average, exact"].value == 1.0
    assert frame["flat"].value == frame["every character (control)"].value
    assert frame["average, grid (legacy)"].value < 1.0, "a hundred fixed points miss a narrow gap"
