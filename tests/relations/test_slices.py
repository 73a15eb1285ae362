import numpy as np
import pandas as pd
import pytest
from datasets import Dataset

from helpers.corpora.labels import RELATIONS
from helpers.relations import slices
from helpers.text import tokenizers


def row(sentence, subject, object, types=("PER", "ORG"), label=0):
    entities = [
        {
            "word": word,
            "start_idx": sentence.index(word),
            "end_idx": sentence.index(word) + len(word) - 1,
            "type": kind,
        }
        for word, kind in zip((subject, object), types, strict=True)
    ]
    return {
        "guid": sentence + subject, "sentence": sentence, "subject_entity": entities[0],
        "object_entity": entities[1], "label": label, "source": "test",
    }  # fmt: skip


ROWS = [
    row("누리는 가람사에서 하늘과 일한다", "누리", "가람사"),
    row("누리는 가람사에서 하늘과 일한다", "하늘", "가람사"),
    row("솔은 바다사를 세웠다", "솔", "바다사"),
]


def logits(labels):
    return np.eye(len(RELATIONS))[labels] * 9.0


def test_a_sentence_is_crowded_when_its_rows_name_two_entities_of_one_type():
    assert slices.crowded(Dataset.from_list(ROWS)).tolist() == [True, True, False]
    assert slices.crowded(Dataset.from_list(ROWS[1:])).tolist() == [False, False]


def test_seen_pairs_are_ordered():
    train = Dataset.from_list([row("가람사의 누리", "누리", "가람사")])
    turned = row("가람사의 누리", "가람사", "누리")
    assert slices.seen_pairs(Dataset.from_list([ROWS[0], turned]), train).tolist() == [True, False]


def test_entity_pieces_count_tokens_not_characters():
    tokenizer = tokenizers.load_tokenizer("train:character", texts=[r["sentence"] for r in ROWS], size=100)
    assert slices.entity_pieces(Dataset.from_list(ROWS), tokenizer).tolist() == [[2, 3], [2, 3], [1, 3]]


def test_gains_are_split_where_they_happen():
    gold = np.array([1, 2] * 50)
    good, poor = logits(gold), logits(np.where(np.arange(100) < 50, 0, gold))
    masks = pd.DataFrame({"first half": np.arange(100) < 50, "all alike": np.arange(100) % 2 == 0})
    table = slices.gains(gold, [good] * 3, [poor] * 3, masks).set_index("slice")
    assert table.loc["first half", "inside"].value == 100 and table.loc["first half", "outside"] == (0, 0, 0)
    assert table.loc["first half", "difference"] == (100, 100, 100)
    extra = table.loc["all alike", "difference"]
    assert extra.low < 0 < extra.high and extra.value == pytest.approx(0)
    assert table["decision"].tolist() == ["better", "undecided"]


def test_a_gain_that_only_some_seeds_have_is_no_gain():
    gold = np.array([1, 2] * 50)
    masks = pd.DataFrame({"first half": np.arange(100) < 50})
    lucky = [logits(gold), logits(gold), logits(np.zeros(100, dtype=int))]
    (row,) = slices.gains(gold, lucky, lucky[::-1], masks).to_dict("records")
    assert row["inside"].low < 0 < row["inside"].high and row["decision"] == "undecided"


def test_a_slice_that_leaves_too_few_rows_outside_says_nothing():
    gold = np.array([1, 2] * 50)
    masks = pd.DataFrame({"nearly all": np.arange(100) < 71, "enough": np.arange(100) < 70})
    table = slices.gains(gold, [logits(gold)] * 2, [logits(gold)] * 2, masks)
    assert table["slice"].tolist() == ["enough"] and table["rows"].tolist() == [70]
    assert slices.gains(gold, [logits(gold)] * 2, [logits(gold)] * 2, masks[["nearly all"]]).empty


def test_identical_systems_gain_nothing_anywhere():
    gold = np.array([0, 1, 2, 3] * 20)
    masks = pd.DataFrame({"odd": np.arange(80) % 2 == 1})
    table = slices.gains(gold, [logits(gold)], [logits(gold)], masks, margin=1)
    assert table[["inside", "outside", "difference"]].iloc[0].tolist() == [(0, 0, 0)] * 3


def test_only_no_relation_rows_can_be_left_alone():
    gold = np.array([0, 0, 0, 0, 5])
    stats = slices.left_alone(gold, [logits([0, 0, 0, 7, 0]), logits([0, 0, 0, 0, 0])])
    assert stats.sum(axis=1).tolist() == [[3, 4], [4, 4]]
    assert stats[0, 3].tolist() == [0, 1] and stats[:, 4].tolist() == [[0, 0], [0, 0]]


def test_by_class_leaves_absent_labels_out():
    gold = np.array([2, 1, 1, 1, 1])
    table = slices.by_class(gold, [logits(gold), logits([2, 1, 0, 1, 0])])
    assert table["label"].tolist() == [RELATIONS[1], RELATIONS[2]] and table["rows"].tolist() == [4, 1]
    assert [recall.value for recall in table["recognised, %"]] == [75, 100]
    assert table["recognised, %"][1].low < 30, "one row proves little"
