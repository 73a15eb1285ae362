"""Predictions read back and scored, means over seeds, comparisons, members of ensembles."""

from dataclasses import asdict

import numpy as np
import pytest
from pytest import approx

from helpers import sweeps
from helpers.corpora.labels import TAGS
from helpers.entities import experiment, results, scores, voting
from helpers.entities.tags import TagArray, without_spaces
from helpers.statistics import Interval
from tests.entities.conftest import CONFIG


def _scored(part, *, wrong):
    """A prediction that misses the entities of the first `wrong` sentences."""
    ids = part.gold.ids.copy()
    ids[: part.gold.bounds[wrong]] = TAGS.index("O")
    return results.score_tags(TagArray(ids, part.gold.bounds), part)


def _of(predictions, architecture, system):
    """One prediction for each seed."""
    chosen = (predictions.architecture == architecture) & (predictions.system == system)
    return predictions.loc[chosen, "scored"].tolist()


def test_perfect_tags_have_perfect_figures(sample):
    assert set(_scored(sample["dev"], wrong=0).figures().values()) == {100.0}


def test_mean_over_seeds_is_the_mean_of_plain_scores(sample):
    part, some = sample["dev"], [_scored(sample["dev"], wrong=n) for n in (3, 9)]
    gold = without_spaces(part.gold, part.sentences)
    plain = [scores.entity_f1(gold, without_spaces(s.tags, part.sentences)) for s in some]
    assert results.mean_f1([s.official for s in some]).value == approx(np.mean(plain))


def test_comparisons(sample):
    good, bad = (_scored(sample["dev"], wrong=n) for n in (2, 15))
    assert results.compare([bad, bad], [bad, bad]).difference == Interval(0.0, 0.0, 0.0)
    lone, both = results.compare([bad, bad], [good]), results.compare([bad], [good])
    assert lone.difference.value == approx(both.difference.value)
    assert lone.difference.low > 0 and lone.p < 0.01


def test_a_table_of_comparisons_corrects_over_its_rows(sample):
    good, bad = (_scored(sample["dev"], wrong=n) for n in (2, 15))
    rows = [
        {"name": "bad", "found": [bad]},
        {"name": "good", "found": [good], "base": [bad]},
        {"name": "bad again", "found": [bad, bad], "base": [bad]},
    ]
    table = results.compared(rows).set_index("name")
    assert list(table) == ["entity F1", "entity F1, exact", "difference", "p", "p, Holm"]
    assert table.loc["bad", ["difference", "p", "p, Holm"]].isna().all()
    assert table.loc["good", "difference"] == results.compare([bad], [good]).difference
    assert table["p, Holm"]["good"] == approx(2 * table["p"]["good"])  # two rows are tested
    assert table["p"]["bad again"] == 1.0
    assert table["entity F1"]["bad again"].value == approx(bad.figures()["entity F1"])


def test_predictions_hold_every_system_and_epoch(predictions, names):
    first = predictions[predictions.architecture == names[0]]
    assert set(first.system) == {*experiment.SYSTEMS, "epoch 1", "epoch 2", "epoch 3", "decay", "head only"}
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
