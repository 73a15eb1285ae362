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
    table = slices.gains(gold, [good], [poor], masks).set_index("slice")
    assert table.loc["first half", "inside"].value == 100 and table.loc["first half", "outside"] == (0, 0, 0)
    assert table.loc["first half", "extra"].low > 99
    extra = table.loc["all alike", "extra"]
    assert extra.low < 0 < extra.high and extra.value == pytest.approx(0)


def test_a_slice_that_leaves_too_few_rows_outside_says_nothing():
    gold = np.array([1, 2] * 50)
    table = slices.gains(
        gold, [logits(gold)], [logits(gold)], pd.DataFrame({"nearly all": np.arange(100) < 71})
    )
    assert table["rows"][0] == 71 and table[["inside", "outside", "extra"]].isna().all(axis=None)


def test_identical_systems_gain_nothing_anywhere():
    gold = np.array([0, 1, 2, 3] * 20)
    table = slices.gains(gold, [logits(gold)], [logits(gold)], pd.DataFrame({"odd": np.arange(80) % 2 == 1}))
    assert table[["inside", "outside", "extra"]].iloc[0].tolist() == [(0, 0, 0)] * 3


def test_false_positives_look_at_no_relation_rows_only():
    gold = np.array([0, 0, 0, 0, 5])
    table = slices.false_positives(gold, {"x": [logits([0, 0, 0, 7, 0]), logits([0, 0, 0, 0, 0])]})
    assert table["false positives"][0].value == 12.5


def test_by_class_leaves_absent_labels_out():
    gold = np.array([0, 1, 1])
    table = slices.by_class(gold, logits(gold) / 9)
    assert table["label"].tolist() == list(RELATIONS[:2]) and table["rows"].tolist() == [1, 2]
    assert table["auprc"][1].value == pytest.approx(100)
