"""Batches: every row once, padded right, similar lengths together, the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.learning.batching import IGNORED, Features, length_buckets, mask_tokens

LENGTHS = st.lists(st.integers(1, 80), min_size=1, max_size=300)


@given(
    LENGTHS,
    st.integers(1, 40),
    st.none() | st.integers(1, 400),
    st.none() | st.integers(0, 9),
    st.integers(0, 3),
)
def test_buckets_hold_each_row_once_and_respect_both_limits(lengths, rows, tokens, seed, epoch):
    batches = length_buckets(lengths, rows=rows, tokens=tokens, seed=seed, epoch=epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= rows
        padded = len(batch) * max(lengths[i] for i in batch)
        assert tokens is None or padded <= tokens or len(batch) == 1


def test_buckets_depend_on_seed_and_epoch_alone():
    lengths = np.random.default_rng(0).integers(1, 60, 500)

    def first(**more):
        return [batch.tolist() for batch in length_buckets(lengths, rows=8, **more)]

    assert first(seed=1, epoch=2) == first(seed=1, epoch=2)
    assert first(seed=1, epoch=2) != first(seed=1, epoch=3) != first(seed=2, epoch=3)


def test_buckets_waste_far_less_than_random_batches():
    lengths = np.random.default_rng(0).integers(10, 120, 4096)

    def padding(batches):
        return sum(len(b) * lengths[b].max() for b in batches) / lengths.sum() - 1

    random = np.random.default_rng(1).permutation(4096).reshape(-1, 32)
    assert padding(length_buckets(lengths, rows=32, seed=0)) < 0.05 < 0.6 < padding(random)


def test_buckets_refuse_empty_batches():
    with pytest.raises(ValueError, match="positive"):
        length_buckets([1, 2], rows=0)


def test_columns_are_padded_by_what_they_hold():
    rows = [
        {
            "input_ids": [5, 6, 7],
            "labels": [0, 1, 2],
            "token_type_ids": [0, 0, 1],
            "subject_start": 1,
            "text": "가",
        },
        {"input_ids": [8], "labels": [2], "token_type_ids": [1], "subject_start": 0, "text": "나"},
    ]
    batch = Features(rows).batch([1, 0], pad_id=9)
    assert batch["input_ids"].tolist() == [[8, 9, 9], [5, 6, 7]]
    assert batch["labels"].tolist() == [[2, IGNORED, IGNORED], [0, 1, 2]]
    assert batch["token_type_ids"].tolist() == [[1, 0, 0], [0, 0, 1]]
    assert batch["attention_mask"].tolist() == [[1, 0, 0], [1, 1, 1]]
    assert batch["subject_start"].tolist() == [0, 1]
    assert "text" not in batch


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=9), min_size=1, max_size=20), st.randoms())
def test_batches_give_back_the_rows(ids, random):
    features = Features([{"input_ids": row} for row in ids])
    chosen = [random.randrange(len(ids)) for _ in range(5)]
    batch = features.batch(chosen, pad_id=0)
    for row, values, mask in zip(chosen, batch["input_ids"], batch["attention_mask"], strict=True):
        assert values[mask == 1].tolist() == ids[row]


def test_floats_are_vectors_and_spans_are_left_out():
    rows = [
        {"input_ids": [1, 2], "labels": [0.0, 1.0, 1.0], "spans": [[0, 2]], "tags": [1, 2, 3], "w": None}
    ] * 2
    batch = Features(rows).batch([0])
    assert batch["labels"].dtype == np.float32 and batch["labels"].tolist() == [[0, 1, 1]]
    assert set(batch) == {"input_ids", "attention_mask", "labels"}


def test_a_dataset_and_arrays_give_the_same_batches():
    from datasets import Dataset

    rows = [{"input_ids": [1, 2], "labels": 1}, {"input_ids": [3], "labels": 0}]
    arrays = [{**row, "input_ids": np.array(row["input_ids"])} for row in rows]
    want = Features(rows).batch([0, 1])
    for other in (Dataset.from_list(rows), arrays):
        got = Features(other).batch([0, 1])
        assert {k: v.tolist() for k, v in got.items()} == {k: v.tolist() for k, v in want.items()}


def test_the_fingerprint_sees_every_value():
    rows = [{"input_ids": [1, 2], "labels": [0, 1]}, {"input_ids": [3], "labels": [1]}]
    changed = [rows[0], {"input_ids": [3], "labels": [0]}]
    moved = [{"input_ids": [1], "labels": [0]}, {"input_ids": [2, 3], "labels": [1, 1]}]
    prints = {Features(r).fingerprint() for r in (rows, changed, moved)}
    assert len(prints) == 3 and Features([dict(r) for r in rows]).fingerprint() in prints


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"text": "가"}], "tokenise"),
        ([], "tokenise"),
        ([{"input_ids": []}], "row 0 has no input_ids"),
        ([{"input_ids": [1, 2], "labels": [0]}], "row 0: labels has 1 values, input_ids 2"),
        (
            [{"input_ids": [1], "labels": [0.0]}, {"input_ids": [1], "labels": [0.0, 1.0]}],
            r"one size.*\[1, 2\]",
        ),
    ],
)
def test_bad_rows_are_named(rows, message):
    with pytest.raises(ValueError, match=message):
        Features(rows)


class Tokenizer:
    mask_token_id, all_special_ids = 4, (0, 1, 2, 3, 4)

    def __len__(self):
        return 1000


def test_masking_labels_what_it_chose_and_nothing_else():
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 1000, (200, 50))
    ids[:, 0], ids[:, -1] = 2, 0
    mask = np.ones_like(ids)
    mask[:, -1] = 0
    got = mask_tokens(Tokenizer(), rate=0.2)({"input_ids": ids, "attention_mask": mask}, rng)
    chosen = got["labels"] != IGNORED
    assert not chosen[:, 0].any() and not chosen[:, -1].any()
    assert (got["labels"][chosen] == ids[chosen]).all() and (got["input_ids"][~chosen] == ids[~chosen]).all()
    assert chosen[:, 1:-1].mean() == pytest.approx(0.2, abs=0.02)
    masked, kept = got["input_ids"][chosen] == 4, got["input_ids"][chosen] == ids[chosen]
    assert masked.mean() == pytest.approx(0.8, abs=0.03) and kept.mean() == pytest.approx(0.1, abs=0.03)


def test_every_row_has_a_target_unless_it_is_all_special():
    rng = np.random.default_rng(0)
    ids = np.array([[2, 7, 3], [2, 3, 0]])
    got = mask_tokens(Tokenizer(), rate=0.01)({"input_ids": ids, "attention_mask": np.ones_like(ids)}, rng)
    assert (got["labels"] != IGNORED).sum(axis=1).tolist() == [1, 0]


def test_masking_needs_a_mask_token():
    tokenizer = Tokenizer()
    tokenizer.mask_token_id = None
    with pytest.raises(ValueError, match="no mask token"):
        mask_tokens(tokenizer)
