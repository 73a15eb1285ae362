"""Baselines look at what they say and nothing else; the real figures are reproduced."""

import numpy as np
import pytest

from helpers import corpora
from helpers.relations import baselines
from helpers.relations.scores import micro_f1


@pytest.fixture(scope="module")
def rows():
    return corpora.load_relations("sample", "train", rows=400), corpora.load_relations(
        "sample", "dev", rows=200
    )


@pytest.mark.parametrize("name", baselines.BASELINES)
def test_every_baseline_gives_probabilities(rows, name):
    probs = baselines.BASELINES[name](*rows)
    assert probs.shape == (200, 30)
    assert (probs >= 0).all()
    assert probs.sum(axis=1) == pytest.approx(np.ones(200), abs=1e-6)
    assert np.array_equal(probs, baselines.BASELINES[name](*rows))


def blank(dataset, change):
    return dataset.map(change, load_from_cache_file=False)


def test_type_pair_reads_no_text(rows):
    train, dev = rows
    masked = blank(dev, lambda row: {"sentence": "x" * len(row["sentence"])})
    assert np.array_equal(baselines.type_pair(train, dev), baselines.type_pair(train, masked))
    assert not np.array_equal(
        baselines.structured_tfidf(train, dev), baselines.structured_tfidf(train, masked)
    )


def test_sentence_reads_no_entity(rows):
    train, dev = rows
    swapped = blank(
        dev, lambda row: {"subject_entity": row["object_entity"], "object_entity": row["subject_entity"]}
    )
    assert np.array_equal(baselines.sentence_tfidf(train, dev), baselines.sentence_tfidf(train, swapped))
    assert not np.array_equal(
        baselines.structured_tfidf(train, dev), baselines.structured_tfidf(train, swapped)
    )


def test_entities_read_no_context(rows):
    train, dev = rows
    masked = blank(dev, lambda row: {"sentence": "x" * len(row["sentence"])})
    assert np.array_equal(baselines.entities_tfidf(train, dev), baselines.entities_tfidf(train, masked))


def test_unseen_type_pairs_get_the_overall_shares(rows):
    train, dev = rows
    only = train.filter(lambda row: row["subject_entity"]["type"] == "PER")
    organisations = dev.filter(lambda row: row["subject_entity"]["type"] == "ORG")
    assert np.allclose(baselines.type_pair(only, organisations), baselines.majority(only, organisations))


def test_cross_fitting_never_scores_a_row_by_itself(rows):
    train, _ = rows
    seen = []

    def spy(fit, score):
        seen.append(not set(fit["guid"]) & set(score["guid"]))
        return np.tile(np.arange(30.0), (len(score), 1))

    probs = baselines.cross_fitted(spy, train)
    assert seen == [True] * 3
    assert (probs == np.arange(30)).all()


@pytest.mark.real
def test_real_type_pair_lookup(real_data):
    train, dev = (corpora.load_relations(str(real_data), split) for split in ("train", "dev"))
    got = [
        micro_f1(part["label"][:], baselines.type_pair(train, part).argmax(axis=1)) for part in (train, dev)
    ]
    assert got == pytest.approx([57.1, 37.1], abs=0.05)
