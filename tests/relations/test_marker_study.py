import numpy as np
import pandas as pd
import pytest

from helpers.corpora.labels import RELATIONS
from helpers.relations import constraints, experiment, marker_study
from helpers.statistics import Comparison, Interval


def study(**changes):
    settings = {
        "schemes": ["none", "typed-punct"], "poolings": ["first", "starts+max"], "seeds": [1, 2],
        "model": "bilstm", "tokenizer": "train:character", "vocab_size": 300, "hidden": 8, "epochs": 1,
        "peak_lr": 1e-3, "batch_rows": 8, "max_length": 64,
    }  # fmt: skip
    return marker_study.Study(**settings | changes)


@pytest.fixture(scope="module")
def splits():
    return experiment.load_splits("sample", train_rows=300, dev_rows=120)


def test_the_grid_is_a_full_factorial_plus_the_legacy_inputs():
    configs = study().marker_runs()
    assert len(configs) == 2 * 2 * 2 + 2 * 2
    assert len({tuple(sorted(config.items())) for config in configs}) == len(configs)
    legacy = [config for config in configs if config["scheme"] in marker_study.LEGACY]
    assert len(legacy) == 4 and {config["pooling"] for config in legacy} == {"starts+max"}


def test_the_plain_variant_is_a_run_of_the_grid_so_it_costs_nothing():
    plain = study().variant_runs()[0]
    assert plain in study().marker_runs()


def test_the_kept_model_says_what_was_scored(splits, tmp_path):
    kept = [config for config in study().marker_runs() if config.get("keep_model")]
    assert kept == [study().kept]
    experiment.train_and_score(splits=splits, folder=tmp_path, **kept[0])
    frame = pd.DataFrame([{"folder": "elsewhere"}, {"folder": str(tmp_path), "keep_model": True}])
    reader = marker_study.load_reader(frame, study())
    scored = experiment.load_logits(tmp_path)
    assert reader(list(splits.dev)) == pytest.approx(scored, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schemes": ["typed-punct"]}, "'none'"),
        ({"poolings": ["first"]}, "starts"),
        ({"tokenizer": ""}, "tokenizer"),
    ],
)
def test_a_study_without_its_controls_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        study(**change)


def test_overview_counts_what_train_and_dev_share(splits):
    table = marker_study.overview(splits).set_index("split")
    assert table["rows"].tolist() == [len(splits.train), len(splits.valid), 120]
    assert table.loc["valid", "pair in train, %"] == 0  # the split keeps pairs together
    assert table.loc["dev", "no_relation, %"] > table.loc["train", "no_relation, %"] + 15


def test_every_scheme_is_shown_once(splits):
    table = marker_study.examples(splits.train[0])
    assert table["scheme"].is_unique and {"typed-punct", *marker_study.LEGACY} <= set(table["scheme"])


def test_masks_at_decoding_remove_every_illegal_prediction(splits):
    noise = np.random.default_rng(0).normal(size=(120, len(RELATIONS)))
    decoded = marker_study.decoding(splits, noise)
    table = marker_study.constraint_table(splits, decoded).set_index("decoding")
    assert table.loc["no constraint", "illegal, %"].value > 50
    assert table.loc["pair mask, seen ≥ 1", "illegal, %"] == (0, 0, 0)
    assert table.loc["pair mask, seen ≥ 1", "micro_f1"].value > table.loc["no constraint", "micro_f1"].value
    assert table.loc["no constraint", "gain"] is None
    assert (decoded["prefix mask"] >= constraints.BLOCKED + noise.min()).all()


def test_moving_the_prior_reaches_the_known_shares(splits):
    gold = np.array(splits.dev["label"])
    logits = np.log(np.full((120, len(RELATIONS)), 1e-3)) + 4 * np.eye(len(RELATIONS))[gold]
    table = marker_study.prior_table(splits, logits).set_index("label shares")
    known = 100 * (np.sum(gold == 0) + 1) / (len(gold) + len(RELATIONS))
    assert table.loc["known dev shares (oracle)", "no_relation, %"] == pytest.approx(known)
    assert table.loc["as trained", "gain"] is None


def test_twins_share_their_sentence():
    rows = [{"sentence": text, "n": n} for n, text in enumerate("abacb")]
    assert [row["n"] for row in marker_study.twins(rows, number=4)] == [0, 2, 1, 4]
    assert marker_study.twins(rows[3:4], number=2) == rows[3:4]


def test_only_a_whole_interval_decides():
    inputs = pd.DataFrame(
        {
            "system": ["good", "bad", "open"],
            "difference": [Interval(2, 1, 3), Interval(-2, -3, -1), Interval(1, -1, 3)],
            "p_holm": [0.01, 0.02, 0.5],
        }
    )
    decoded = pd.DataFrame(
        {
            "decoding": ["none", "mask"],
            "gain": [None, Comparison(Interval(3, 2, 4), 0.001)],
            "illegal, %": [1.0, 0.0],
        }
    )
    priors = pd.DataFrame({"label shares": ["as trained"], "gain": [None]})
    table = marker_study.verdict(inputs, inputs.head(1), decoded, priors)
    assert table["decision"].tolist() == ["keep", "drop", "no difference shown", "keep", "keep"]
    assert table["variant"].tolist() == ["good", "bad", "open", "good", "mask"]
