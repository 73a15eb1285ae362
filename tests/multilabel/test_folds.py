"""Folds: a partition, proportional in every label, and the winners' own split on the real file."""

import numpy as np
import pandas as pd
import pytest

from helpers.corpora import TECHNIQUES
from helpers.multilabel import folds
from helpers.multilabel.scores import indicators


@pytest.fixture(scope="module")
def labels():
    return (np.random.default_rng(0).random((600, 5)) < [0.04, 0.08, 0.1, 0.3, 0.5]).astype(int)


def test_every_row_has_one_fold_and_every_fold_its_share(labels):
    assigned = folds.assign(labels, folds=4)
    assert set(assigned) == {0, 1, 2, 3} and len(assigned) == 600
    counts = np.stack([labels[assigned == fold].sum(axis=0) for fold in range(4)])
    assert (np.abs(counts - labels.sum(axis=0) / 4) <= 2).all()


def test_stratified_folds_are_closer_than_random_ones(labels):
    stratified = folds.spread(labels, folds.assign(labels)).max()
    at_random = [folds.spread(labels, folds.random_assign(600, seed=s)).max() for s in range(20)]
    assert stratified < min(at_random) / 2


def test_folds_repeat_with_their_seed_and_differ_with_another(labels):
    assert (folds.assign(labels, seed=1) == folds.assign(labels, seed=1)).all()
    assert (folds.assign(labels, seed=1) != folds.assign(labels, seed=2)).any()


def test_a_language_column_is_balanced_when_asked_for(labels):
    language = np.where(np.random.default_rng(1).random(600) < 0.44, "ru", "uk")
    diagnosis = folds.diagnose(
        {"labels": folds.assign(labels), "labels + language": folds.assign(labels, by=language)},
        labels=labels,
        languages=language,
        lengths=np.arange(600),
    ).set_index("split")
    assert diagnosis.loc["labels + language", "language"] < 1.0
    assert diagnosis.loc["labels + language", "language"] < diagnosis.loc["labels", "language"]


def test_spread_by_hand():
    assert folds.spread([[1], [1], [0], [0]], [0, 0, 1, 1]).tolist() == [0.5]
    assert folds.spread([[1], [0], [1], [0]], [0, 0, 1, 1]).tolist() == [0.0]


def test_holdout_takes_its_share_of_every_label(labels):
    mask = folds.holdout(labels, share=0.3)
    assert abs(mask.sum() - 180) <= 3
    assert (np.abs(labels[mask].sum(axis=0) - 0.3 * labels.sum(axis=0)) <= 2).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y: folds.assign(y, folds=1), "expected 2 to 600"),
        (lambda y: folds.assign(y[:, 0]), "matrix of 0 and 1"),
        (lambda y: folds.assign(y * 2), "matrix of 0 and 1"),
        (lambda y: folds.assign(y, by=["uk"]), "expected 600 names"),
        (lambda y: folds.holdout(y, share=1.0), "both excluded"),
    ],
)
def test_bad_input_is_refused(labels, call, message):
    with pytest.raises(ValueError, match=message):
        call(labels)


def test_random_folds_have_equal_sizes():
    sizes = np.bincount(folds.random_assign(103, folds=5))
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.real
def test_the_default_is_the_winners_split(real_data):
    posts = pd.read_parquet(real_data / "unlp" / "train.parquet")
    theirs = pd.read_csv(real_data / "unlp" / "cv_split.csv").set_index("id")["fold"]
    names = [[] if row is None else list(row) for row in posts["techniques"]]
    ours = folds.assign(indicators(names, TECHNIQUES))
    assert (ours == theirs.loc[posts["id"]].to_numpy()).all()


def test_a_single_class_has_no_pairs():
    labels = np.array([[0], [1], [0], [1]])
    table = folds.diagnose({"x": [0, 0, 1, 1]}, labels=labels, languages=[""] * 4, lengths=[1] * 4)
    assert table[["label", "pair"]].iloc[0].tolist() == [0, 0]
