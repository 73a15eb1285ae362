"""Span taggers: tokens and characters agree, windows lose nothing, a planted trigger is learned."""

import numpy as np
import pytest

from helpers import statistics
from helpers.multilabel import results, span_experiment
from helpers.multilabel.experiment import Network
from helpers.multilabel.results import Posts
from helpers.multilabel.spans import char_counts, characters, mask_of
from helpers.text.alignment import Encoded


def test_token_labels_need_half_the_characters():
    encoded = Encoded([0, 1, 2, 3], np.array([[0, 0], [0, 4], [4, 7], [8, 9]]))
    mask = mask_of([(2, 5)], 9)
    assert span_experiment.token_labels(encoded, mask) == [-100, 1, 0, 0]


def test_the_space_between_trigger_words_belongs_to_the_trigger():
    # "ab cd  e": the outer characters and gaps next to an unlikely token stay low.
    offsets = np.array([[0, 0], [0, 2], [3, 5], [7, 8]])
    chars = span_experiment.characters_of(np.array([0.5, 0.9, 0.8, 0.1]), offsets, 9)
    assert chars.tolist() == [0.9, 0.9, 0.8, 0.8, 0.8, 0.1, 0.1, 0.1, 0.0]
    assert span_experiment.characters_of(np.array([0.7]), np.array([[0, 0]]), 3).tolist() == [0.0] * 3


@pytest.mark.parametrize("length", [0, 1, 7, 8, 17])
def test_windows_cover_every_token_once(length):
    encoded = Encoded(list(range(length)), np.zeros((length, 2), dtype=int))
    pieces = span_experiment.windows(encoded, 8)
    assert [i for piece in pieces for i in piece.input_ids] == encoded.input_ids
    assert all(len(piece.input_ids) <= 8 and len(piece.input_ids) == len(piece.offsets) for piece in pieces)


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
    scores = results.score_characters({"one": config}, planted, assigned, without=[0])["one"]
    post, gold = characters(planted.texts, planted.spans, np.arange(0, 120, 4))
    counts = char_counts(gold, scores >= 0.5, post=post)
    assert statistics.f1(counts.sum(axis=0)) > 0.75, "windows of five tokens still see most pairs"
    monkeypatch.setattr(span_experiment, "fit_tagger", None)  # a second training would fail
    again = results.score_characters({"one": config}, planted, assigned, without=[0])["one"]
    assert (again == scores).all()
