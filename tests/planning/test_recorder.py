"""A notebook's plan, read from its cells without data."""

from helpers.planning.recorder import Unknown, record

SETUP = """
from dataclasses import replace
import numpy as np
from helpers.relations import results
from helpers.relations.experiment import RelationConfig
"""
CONFIG = "config = RelationConfig(tokenizer='train:wordpiece', epochs=epochs)"


def runs(*plan, **values):
    return record([SETUP, *plan], [*plan], values)


def test_what_a_sweep_would_get_is_written_down_once():
    train = """
grid = [replace(config, seed=k) for k in [*seeds, 1]]
found = results.train(splits, grid, name="some")
found["column"] = np.repeat(list(found), 3)
print(found.groupby("x").mean() - 1, f"{found['a']:.1f}")
"""
    found = runs(CONFIG, train, epochs=2, seeds=[1, 2])
    assert [(run.sweep, run.config.seed, run.config.epochs) for run in found] == [
        ("some", 1, 2),
        ("some", 2, 2),
    ]


def test_encoders_that_are_pretrained_on_the_way_are_written_down():
    both = """
from helpers import pretrained
how = {"sentences": 30, "epochs": 2}
made = pretrained.encoders(data, ["train:bpe 500", "train:character"], how, dev=dev)
again = pretrained.encoder(data, "train:bpe 500", how, dev=dev)
results.train(splits, [replace(config, model=one.folder) for one in made.values()], name="a")
"""
    found = runs(CONFIG, both, epochs=1, data="sample")
    assert [(run.sweep, run.function, run.part) for run in found[:2]] == 2 * [
        ("pretrained", "pretrain", ("sample", 30, ""))
    ]
    assert [(run.config.tokenizer, run.config.vocabulary_size) for run in found[:2]] == [
        ("train:bpe", 500),
        ("train:character", 8000),
    ]
    assert [run.config.model for run in found[2:]] == [
        "pretrained train:bpe 500",
        "pretrained train:character",
    ]


def test_what_follows_the_last_sweep_may_need_results():
    after = "results.train(splits, [config], name='a')\nfirst, second = score(splits)"
    assert len(runs(CONFIG, after, epochs=1)) == 1


def test_a_plan_that_fails_before_its_sweep_says_so():
    import pytest

    with pytest.raises(ZeroDivisionError):
        runs(CONFIG, "1 / 0\nresults.train(splits, [config], name='a')", epochs=1)


def test_a_condition_on_data_is_taken_to_hold():
    guarded = "if any(posts.spans):\n    results.train(splits, [config], name='a')\n    a, b = unpacked(1)"
    assert len(runs(CONFIG, guarded, epochs=1)) == 1


def test_the_unknown_is_empty_and_takes_part_in_anything():
    it = Unknown("data")
    assert list(it) == [] and len(it) == 0 and isinstance((it + 1)["a"](2).b > 3, Unknown)
    assert f"{it.mean():.2f}" == "?"
