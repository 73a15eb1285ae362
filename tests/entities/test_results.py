"""The NER study from plan to verdict, on a study small enough to train in seconds."""

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from helpers.corpora.labels import TAGS
from helpers.entities import audit, ensembles, errors, experiment, scores
from helpers.entities import results as entity_results
from helpers.entities.results import Study
from helpers.entities.scores import Tagged
from helpers.statistics import Interval

TINY = {
    "architectures": ["bilstm + train:character", "roberta + train:wordpiece"],
    "seeds": [1, 2], "hidden": 32, "layers": 1, "bigrams": 64, "dropout": 0.0, "peak_lr": 0.02, "epochs": 3,
    "batch_size": 8, "swa_start": 2, "ema_decay": 0.5, "lawa_last": 2, "outside_weights": [0.5],
    "ablation_epochs": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def parts():
    return entity_results.load_parts("sample", train_rows=60, dev_rows=30, valid_share=0.2, seed=0)


@pytest.fixture(scope="module")
def study():
    return Study(**TINY)


@pytest.fixture(scope="module")
def encodings(parts, study):
    return experiment.encode_parts(parts, study.tokenizers, size=500)


@pytest.fixture(scope="module")
def runs(parts, study, encodings, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUNCHI_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("OMP_NUM_THREADS", "1")
        return entity_results.train(study, parts, encodings)


@pytest.fixture(scope="module")
def results(runs, parts):
    return entity_results.collect(runs, parts)


@pytest.fixture(scope="module")
def members(runs, encodings):
    return ensembles.load_members(runs, encodings)


@pytest.fixture(scope="module")
def built(members, parts):
    return {w: ensembles.build_ensembles(group, parts["dev"]) for w, group in members.items()}


def test_the_plan(study):
    runs = study.runs()
    assert [run["role"] for run in runs] == ["main"] * 4 + ["decay"] * 2 + ["O weight 0.5", "head only"]
    assert study.names == ["bilstm, character", "roberta, wordpiece"]
    assert {run["schedule"] for run in runs if run["role"] == "decay"} == {"linear"}
    assert [run["epochs"] for run in runs] == [3] * 6 + [2, 2]


def test_a_pretrained_model_brings_its_tokenizer():
    study = Study(**TINY | {"architectures": ["klue/roberta-base", "klue/roberta-large"]})
    assert study.names == study.tokenizers == ["klue/roberta-base", "klue/roberta-large"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"swa_start": 4}, "swa_start"),
        ({"ablation_epochs": 0}, "ablation_epochs"),
        ({"seeds": [1]}, "seeds"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"architectures": []}, "architectures"),
    ],
)
def test_a_study_that_cannot_be_run_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Study(**TINY | change)


def test_validation_is_split_off_train(parts):
    train, valid = (set(parts[name].sentences) for name in ("train", "valid"))
    assert not train & valid
    assert len(parts["train"].sentences) + len(parts["valid"].sentences) == 60
    assert len(parts["dev"].sentences) == 30


def _scored(part, *, wrong):
    """A prediction that misses the entities of the first `wrong` sentences."""
    ids = part.gold.ids.copy()
    ids[: part.gold.bounds[wrong]] = TAGS.index("O")
    return entity_results.score_tags(Tagged(ids, part.gold.bounds), part)


def test_perfect_tags_have_perfect_figures(parts):
    assert set(_scored(parts["dev"], wrong=0).figures().values()) == {100.0}


def test_mean_over_seeds_is_the_mean_of_plain_scores(parts):
    part, some = parts["dev"], [_scored(parts["dev"], wrong=n) for n in (3, 9)]
    plain = [
        scores.entity_f1(*(scores.without_spaces(t, part.sentences) for t in (part.gold, s.tags)))
        for s in some
    ]
    assert entity_results.mean_f1(some).value == approx(np.mean(plain))


def test_comparisons(parts):
    good, bad = (_scored(parts["dev"], wrong=n) for n in (2, 15))
    assert entity_results.compare([bad, bad], [bad, bad]).difference == Interval(0.0, 0.0, 0.0)
    lone, both = entity_results.compare([bad, bad], [good]), entity_results.compare([bad], [good])
    assert lone.difference.value == approx(both.difference.value)
    assert lone.difference.low > 0 and lone.p < 0.01


def test_results_hold_every_system_and_epoch(results, study):
    frame = results.frame()
    first = frame[frame.architecture == study.names[0]]
    assert set(first.system) >= {
        *experiment.SYSTEMS,
        "epoch 1",
        "epoch 3",
        "decay",
        "O weight 0.5",
        "head only",
    }
    assert len(results.of(study.names[1], "swa")) == 2
    for name in study.names:  # the last weights are those of the last epoch, and best is one of the epochs
        for last, epoch in zip(results.of(name, "last"), results.of(name, "epoch 3"), strict=True):
            assert np.array_equal(last.tags.ids, epoch.tags.ids)


def test_best_is_chosen_on_validation(results, runs):
    for run in runs[runs.role == "main"].itertuples():
        chosen = results.valid[run.architecture, "best", run.seed]
        assert chosen == approx(max(run.epoch_valid))


def test_tables_of_averaging(results, study):
    table = entity_results.averaging_table(results, study)
    assert len(table) == 2 * len(experiment.SYSTEMS) + 1
    assert table.loc[table.system == "last", "difference"].isna().all()
    assert table.loc[table.system != "last", "p, Holm"].between(0, 1).all()
    seeds = entity_results.seed_table(results, study)
    assert seeds[["seed 1", "seed 2"]].mean(axis=1).tolist() == approx([f.value for f in table["entity F1"]])


def test_ensembles(results, study, built, parts):
    assert [len(found) for found in built["swa"].values()] == [2, 1, 1, 1, 1, 1, 1]
    table = ensembles.ensemble_table(results, study, built)
    assert len(table) == 2 * (1 + len(built["swa"]))
    row = ensembles.pick(table, "all members", "swa")
    assert row["entity F1"].value == approx(built["swa"]["all members"][0].figures()["entity F1"])
    with pytest.raises(ValueError, match="0 rows are"):
        ensembles.pick(table, "nobody")


def test_an_ensemble_of_copies_is_its_member(members, parts, results, study):
    (key, member), *_ = members["swa"].items()
    copies = {(key[0], seed): member for seed in (1, 2)}
    found = ensembles.build_ensembles(copies, parts["dev"])["all members, temperature 1"]
    assert np.array_equal(found[0].tags.ids, results.dev[key[0], "swa", key[1]].tags.ids)


def test_shared_subwords_are_averaged_per_seed(members, parts, study):
    shared = {(name, seed): members["swa"][study.names[0], seed] for name in "ab" for seed in (1, 2)}
    found = ensembles.build_ensembles(shared, parts["dev"])
    assert len(found["legacy: mean of logits, per seed"]) == 2


def test_the_verdict(results, study, built):
    table = ensembles.verdict_table(results, study, built)
    assert table.decision[0] == "baseline"
    assert set(table.decision) <= {"baseline", "keep", "drop", "no evidence"}
    assert table.models.tolist() == [1] * 7 + [2, 2, 4]
    gain = ensembles.pick(table, "swa").difference
    assert f"SWA changes entity F1 by {gain:+.2f} (" in ensembles.verdict(table)
    assert all(row["low"] <= row["value"] <= row["high"] for row in ensembles.headline(table))


@pytest.mark.parametrize(
    ("value", "p", "decision"), [(1.0, 0.01, "keep"), (-1.0, 0.01, "drop"), (1.0, 0.2, "no evidence")]
)
def test_decisions(value, p, decision):
    row = {"difference": Interval(value, value - 1, value + 1), "p, Holm": p}
    assert ensembles._decision(row) == decision


def test_published_rows_are_tested():
    table = audit.published_table()
    means = [figure.value for figure in table["entity F1"]]
    assert means == approx([88.98, 89.1975, 89.51, 0.2175, 0.3125], abs=1e-9)
    assert table["t"].tolist()[3:] == approx([1.3, 4.0], abs=0.05)
    assert table["p"].tolist()[3:] == approx([0.233, 0.005], abs=0.001)
    assert (round(table["char F1"][2].value, 2), round(table.sd[2], 2)) == (94.00, 0.20)


def test_choosing_the_epoch_on_the_test_set_never_subtracts(results, runs):
    choice = audit.epoch_choice(results, runs)
    assert len(choice) == 4 and (choice.optimism >= 0).all()
    curves = audit.learning_curves(results, runs)
    assert len(curves) == 2 * 2 * 3 and (curves.low <= curves["entity F1"]).all()
    assert len(audit.draw_curves(curves).axes) == 2


def test_scorers_and_ablations(results, parts, runs, encodings, study):
    table = audit.scorer_table(results, parts, runs, encodings).set_index("scorer")
    assert table.shape == (5, 2)
    # Tokens of the character tokenizer are the non-space characters: two ways to the same number.
    named = table[study.names[0]]
    same = [named["subwords, every sentence"], named["official: non-space characters, token by token"]]
    assert tuple(same[0]) == approx(tuple(same[1]))
    ablations = audit.ablation_table(results, study)
    assert ablations.variant.tolist() == ["plain", "O weight 0.5", "head only"]
    plain = results.dev[study.names[0], "epoch 2", 1].figures()["entity F1"]
    assert ablations["entity F1"][0].value == approx(plain)


def test_ceilings(parts, encodings):
    tokenizers = {name: encoding.tokenizer for name, encoding in encodings.items()}
    table = audit.ceilings(parts["dev"], tokenizers).set_index(["tokenizer", "decoder"])["entity F1"]
    assert table["train:character", "exact offsets"].value == 100.0
    assert table["train:wordpiece", "exact offsets"].value < 100.0
    legacy = "legacy: KLUE's baseline decoder"
    assert table["train:wordpiece", legacy].value <= table["train:wordpiece", "exact offsets"].value
    assert ("train:character", legacy) not in table.index


def test_legacy_scorer_does_not_see_the_longest_sentence(parts, encodings):
    encoded = encodings["train:character"].parts["dev"]
    said = np.eye(len(TAGS))[np.maximum(encoded.labels, 0)]
    counts = audit.legacy_counts(said, encoded)
    bounds = encoded.characters.token_bounds
    longest = int(np.argmax(np.diff(bounds)))  # 30 sentences are one batch
    assert counts[longest].sum() == 0 and scores.entity_score(counts.sum(0)) == 100.0
    said[bounds[longest] : bounds[longest + 1]] = np.eye(len(TAGS))[TAGS.index("O")]
    assert scores.entity_score(audit.legacy_counts(said, encoded).sum(0)) == 100.0
    assert scores.entity_score(audit.legacy_counts(said, encoded, drop=False).sum(0)) < 100.0


def test_what_the_legacy_scorer_drops(parts, encodings):
    dropped = audit.dropped_by_legacy(parts["dev"], encodings["train:character"], batch_rows=10)
    assert dropped["of_sentences"] == 30 and dropped["sentences"] >= 3
    assert 0 < dropped["entities"] < dropped["of_entities"]


def test_new_sentences_are_tagged(runs, encodings):
    sentences = ["김철수는 3월 5일 서울에 갔다.", "비가 온다."]
    found = errors.tag_sentences(sentences, runs, encodings)
    assert len(found) == 2
    assert "김철수" in errors.draw(sentences, [[(0, 3, "PS")], []]).data


def test_a_failed_run_stops_the_study(parts, study, encodings, tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    missing = Study(**TINY | {"architectures": ["no-such-folder + train:character"]})
    with pytest.raises(RuntimeError, match=r"cannot load .no-such-folder"):
        entity_results.train(missing, parts, encodings)


def test_frames_are_json_ready(results, study):
    records = entity_results.seed_table(results, study).to_dict("records")
    assert pd.DataFrame(records).notna().all().all()
