"""A sweep of two tiny runs, and what is read back."""

import numpy as np
import pandas as pd
import pytest

from helpers.relations import results
from helpers.relations.data import load_splits
from helpers.relations.experiment import RelationConfig, load_logits


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    splits = load_splits("sample", train_rows=150, dev_rows=60)
    tiny = {"vocabulary_size": 500, "hidden": 16, "epochs": 1, "batch_size": 16}
    configs = [RelationConfig(tokenizer="train:wordpiece", seed=seed, **tiny) for seed in (2, 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUNCHI_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield results.train(splits, configs, name="test")


def test_a_run_is_a_row_with_its_settings_and_scores(frame):
    assert frame["status"].tolist() == ["ok", "ok"]
    assert frame["seed"].tolist() == [2, 1] and not frame["keep_model"].any()
    assert frame["micro_f1"].between(0, 100).all()


def test_logits_come_in_the_order_of_their_seeds(frame):
    (runs,) = results.logits_by(frame, "tokenizer").values()
    assert np.array_equal(runs[0], load_logits(frame.set_index("seed")["folder"][1]))
    assert np.array_equal(runs[1], load_logits(frame.set_index("seed")["folder"][2]))
    assert not np.array_equal(runs[0], runs[1])


def test_logits_are_grouped_by_several_settings_in_the_order_of_the_runs(frame):
    assert list(results.logits_by(frame, "scheme", "seed")) == ["typed-punct 2", "typed-punct 1"]
    assert list(results.logits_by(frame.head(1), "scheme")) == ["typed-punct"]


def test_a_grid_of_nothing_has_no_logits():
    """`training_changes: []` of 03, for a model that is not pretrained here."""
    assert results.logits_by(pd.DataFrame({"variant": []}), "variant") == {}
