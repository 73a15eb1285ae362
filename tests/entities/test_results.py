"""Predictions read back and scored, the choice of an epoch, members of ensembles."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from helpers import statistics, sweeps
from helpers.corpora.labels import TAGS
from helpers.entities import experiment, results, voting
from helpers.entities.tags import TagArray
from tests.entities.conftest import CONFIG


def _of(predictions, architecture, system):
    """One prediction for each seed."""
    chosen = (predictions.architecture == architecture) & (predictions.system == system)
    return predictions.loc[chosen, "scored"].tolist()


def test_perfect_tags_have_perfect_figures(sample):
    part = sample["dev"]
    assert set(results.score_tags(part.gold, part).figures().values()) == {100.0}
    nothing = TagArray(np.full_like(part.gold.ids, TAGS.index("O")), part.gold.bounds)
    assert results.score_tags(nothing, part).figures()["entity F1"] == 0.0


def test_an_epoch_chosen_on_half_the_rows_scores_too_high_there():
    rng = np.random.default_rng(0)
    counts = np.zeros((12, 6, 300, 18))
    counts[..., 1] = counts[..., 2] = 2.0  # one type, two entities a sentence, all of them predicted
    counts[..., 0] = rng.binomial(2, 0.7, size=(12, 6, 300))  # six epochs that are equally good
    found = results.optimism(counts)
    assert found.values.shape == (12,)
    assert statistics.estimate(found).interval().low > 0
    assert (results.optimism(counts[:, :1]).values == 0).all()  # one epoch leaves nothing to choose
    counts[:, 2:3, :, 0] = 2.0  # every half chooses the same
    assert results.optimism(counts).values == approx(np.zeros(12))


def test_optimism_cancels_a_harder_half():
    easy = np.zeros((1, 2, 40, 18))
    easy[..., 1] = easy[..., 2] = 1.0
    easy[:, 1, :20, 0] = 1.0  # the second epoch finds the first 20 sentences, the first epoch nothing
    assert results.optimism(easy, splits=3).values == approx([0.0])


def test_answers_are_the_same_where_two_decisions_agree():
    systems = ["a", "b", "c", "d"]
    first, again = (
        pd.DataFrame(
            {"system": systems, "than": "last", "difference": 1.0, "p": 0.5, "decision": decisions.split()}
        )
        for decisions in ("better worse undecided equivalent", "better better better equivalent")
    )
    found = results.same_answers(first, again[::-1], suffix=", again").set_index("system")
    assert found["same answer"].to_dict() == {"a": "yes", "b": "no", "c": "open", "d": "yes"}
    assert found.loc["b", ["decision", "decision, again"]].tolist() == ["worse", "better"]
    both = first.assign(decision="undecided")
    assert set(results.same_answers(both, both, suffix="'")["same answer"]) == {"open"}
    assert results.same_answers(first, again[:0], suffix="'").empty


def test_predictions_hold_every_system_and_epoch(predictions, names):
    first = predictions[predictions.architecture == names[0]]
    epochs = {"epoch 1", "epoch 2", "epoch 3"}
    assert set(first.system) == {*experiment.SYSTEMS, *epochs, "decay", "control", "head only"}
    assert len(_of(predictions, names[1], "swa")) == 2
    for name in names:  # the last weights are those of the last epoch
        pairs = zip(_of(predictions, name, "last"), _of(predictions, name, "epoch 3"), strict=True)
        assert all(np.array_equal(last.tags.ids, epoch.tags.ids) for last, epoch in pairs)


def test_best_is_chosen_on_validation(predictions, runs):
    best = predictions[predictions.system == "best"].set_index(["architecture", "seed"])["validation F1"]
    for run in runs[runs.role == "main"].itertuples():
        assert best[run.architecture, run.seed] == approx(max(run.epoch_valid))


def test_members_are_the_runs(members, predictions, names):
    assert set(members) == set(experiment.ENSEMBLED)
    assert set(members["swa"]) == {(name, seed) for name in names for seed in (1, 2)}
    assert set(members["last"]) - set(members["swa"]) == {(names[0], 3)}  # the control run has no averages
    for weights, group in members.items():
        raw = group[names[0], 1]._replace(temperature=1.0)
        assert np.array_equal(raw.decode().ids, _of(predictions, names[0], weights)[0].tags.ids)


def test_an_ensemble_of_copies_is_its_member(members, predictions, names):
    member = members["swa"][names[0], 1]._replace(temperature=1.0)
    found = voting.decode_ensemble([member] * 3)
    assert np.array_equal(found.ids, _of(predictions, names[0], "swa")[0].tags.ids)


def test_a_failed_run_stops_the_study(sample, sample_encodings, tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    missing = asdict(CONFIG.of("no-such-folder + train:character"))
    shared = {"parts": sample, "encodings": sample_encodings}
    with pytest.raises(RuntimeError, match=r"cannot load .no-such-folder"):
        sweeps.sweep(experiment.train_tagger, [missing], name="taggers", shared=shared, fingerprint="sample")
