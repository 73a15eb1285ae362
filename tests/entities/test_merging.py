"""One tagger of two runs: what merges must be equal to, and that runs from one encoder can be merged."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.entities import merging, results
from helpers.entities.scores import entity_score
from helpers.learning.heads import Classifier
from tests.entities.test_experiment import CONFIG, encodings, parts, train  # noqa: F401


@pytest.fixture(scope="module")
def config(parts, encodings, tmp_path_factory):  # noqa: F811
    """Settings of taggers on one encoder, which has learned to tag a little."""
    folder = tmp_path_factory.mktemp("encoder")
    train(parts, encodings, folder, epochs=2, averages=False)
    Classifier.from_pretrained(folder / "model").encoder.save_pretrained(folder / "body")
    return replace(CONFIG, encoder=str(folder / "body"), peak_lr=0.01)


@pytest.fixture(scope="module")
def kept(parts, encodings, config, tmp_path_factory):  # noqa: F811
    """Two runs that differ in their seed: settings and folder."""
    found = []
    for seed in (1, 2):
        folder = tmp_path_factory.mktemp(f"run-{seed}")
        train(parts, encodings, folder, encoder=config.encoder, peak_lr=config.peak_lr, seed=seed)
        found.append((replace(config, seed=seed), str(folder)))
    return found


def f1(tags, part):
    return entity_score(results.score_tags(tags, part).official.sum(0))


def test_merging_a_run_with_itself_is_that_run(parts, encodings, kept):  # noqa: F811
    found = merging.tag_merged([kept[0], kept[0]], encodings["train:character"])
    with np.load(f"{kept[0][1]}/predictions.npz") as arrays:
        assert all(np.array_equal(tags.ids, arrays["dev_swa"]) for tags in found.values())
    assert tuple(found) == merging.MERGES


def test_two_runs_from_one_encoder_make_one_tagger_that_still_tags(parts, encodings, kept):  # noqa: F811
    found = merging.tag_merged(kept, encodings["train:character"])
    assert f1(found["mean of weights"], parts["dev"]) > 90
    assert f1(found["model stock"], parts["dev"]) > 90


def test_runs_start_alike_where_an_encoder_is_loaded(config):
    assert merging.starts_alike(config)
    assert not merging.starts_alike(replace(config, from_scratch=True)) and not merging.starts_alike(CONFIG)
