"""The parts of the data share what they may share, and nothing else."""

import pytest

from helpers import corpora
from helpers.corpora.splits import leak_report
from helpers.relations.data import load_splits, overview


@pytest.fixture(scope="module")
def splits():
    return load_splits("sample", train_rows=300, dev_rows=120)


def test_validation_shares_nothing_with_training(splits):
    assert leak_report(splits.train, splits.valid)["shared"].tolist() == [0, 0]
    random = splits.labelled.train_test_split(test_size=len(splits.valid), seed=0)
    assert leak_report(random["train"], random["test"])["shared"].max() > 0
    assert len(splits.train) + len(splits.valid) == len(splits.labelled) == 300
    assert len(splits.dev) == 120


def test_no_limit_takes_all_rows():
    splits = load_splits("sample", train_rows=0, dev_rows=1)
    assert len(splits.labelled) == len(corpora.load_relations("sample", "train"))


def test_overview_counts_what_the_parts_share(splits):
    table = overview(splits).set_index("part")
    assert table["rows"].tolist() == [len(splits.train), len(splits.valid), 120]
    assert table.loc["validation", "pair in train, %"] == 0  # the split keeps pairs together
    assert table.loc["dev", "no_relation, %"].value > table.loc["train", "no_relation, %"].value + 15
    assert table.loc["train", "labels"] == len(set(splits.train["label"]))
