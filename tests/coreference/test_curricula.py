"""Rows to train on: windows, masked mentions, and the head at the targets only."""

import numpy as np
import pytest
import torch

from helpers.coreference import cloze, curricula
from helpers.learning.batching import IGNORED, Features
from tests.coreference.conftest import DOCUMENTS, TEXTS, small


def test_every_item_contributes_a_labelled_target(tokenizer, items):
    rows = curricula.mention_rows(tokenizer, items, length=64)
    assert len(rows) == len(items)
    for row, masked in zip(rows, cloze.encode_items(tokenizer, items, max_length=64), strict=True):
        ids, labels = np.array(row["input_ids"]), np.array(row["labels"])
        assert tuple(labels[list(masked.positions)]) == masked.gold
        assert ((ids == tokenizer.mask_token_id) == (labels != IGNORED)).all(), "masked means labelled"


def test_other_items_in_sight_are_masked_but_not_what_they_repeat(tokenizer, items):
    for row, item in zip(curricula.mention_rows(tokenizer, items, length=64), items, strict=True):
        asked = sum(1 for document in items["document"] if document == item["document"])
        assert sum(label != IGNORED for label in row["labels"]) >= asked
        assert item["noun"] in tokenizer.decode(row["input_ids"]).replace("##", "").replace(" ", ""), (
            "one mention stays in sight"
        )


def test_masking_touches_only_rows_without_labels(tokenizer, items):
    rows = curricula.training_rows("combined", tokenizer, documents=DOCUMENTS, items=items, length=32)
    batch = Features(rows).batch(range(len(rows)), pad_id=tokenizer.pad_token_id)
    masked = curricula.masking(tokenizer, rate=0.15)(batch, np.random.default_rng(0))
    own = (batch["labels"] != IGNORED).any(axis=1)
    assert 0 < own.sum() < len(rows)
    assert (masked["input_ids"][own] == batch["input_ids"][own]).all()
    assert (masked["labels"][own] == batch["labels"][own]).all()
    assert (masked["labels"] != IGNORED).any(axis=1).all(), "every row has a target"


def test_windows_cover_documents_once(tokenizer):
    rows = curricula.windows(tokenizer, DOCUMENTS, length=16, shortest=1)
    assert max(len(row["input_ids"]) for row in rows) <= 16
    inner = [token for row in rows for token in row["input_ids"][1:-1]]
    whole = [token for text in TEXTS for token in tokenizer(text, add_special_tokens=False)["input_ids"]]
    assert inner == whole
    assert curricula.windows(tokenizer, [], length=16) == []
    with pytest.raises(ValueError, match="curriculum"):
        curricula.training_rows("mlm_v3", tokenizer, documents=[], items=[], length=16)


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra", "deberta-v2"])
def test_the_head_at_targets_only_gives_the_same_loss_and_gradients(kind, tokenizer, items):
    rows = curricula.mention_rows(tokenizer, items, length=64)
    arrays = Features(rows).batch(range(len(rows)), pad_id=tokenizer.pad_token_id)
    batch = {name: torch.tensor(values) for name, values in arrays.items()}
    full, sparse = small(kind, tokenizer, dropout=0.0), small(kind, tokenizer, dropout=0.0)
    losses = [full(**batch).loss]
    with curricula.targets_only(sparse):
        losses.append(sparse(**batch).loss)
    for loss in losses:
        loss.backward()
    assert losses[0].item() == pytest.approx(losses[1].item(), abs=1e-5)
    for (name, a), (_, b) in zip(full.named_parameters(), sparse.named_parameters(), strict=True):
        if a.grad is not None:
            torch.testing.assert_close(a.grad, b.grad, atol=1e-5, rtol=1e-3, msg=name)
    assert sparse(**batch).logits.shape[:2] == batch["input_ids"].shape, "the hooks are gone afterwards"


def test_the_loss_of_guessing_is_the_entropy_of_what_is_to_be_predicted(tokenizer):
    ordinary = [token for token in range(len(tokenizer)) if token not in tokenizer.all_special_ids]
    a, b, mask = ordinary[0], ordinary[1], tokenizer.mask_token_id
    labelled = {"input_ids": [mask, mask], "labels": [a, b]}
    assert curricula.guessing_loss(tokenizer, [labelled], rate=0.5) == pytest.approx(np.log(2))
    text = {"input_ids": [tokenizer.cls_token_id, a, a], "labels": [IGNORED] * 3}
    assert curricula.guessing_loss(tokenizer, [text], rate=0.5) == 0, "special tokens are never predicted"
    both = curricula.guessing_loss(tokenizer, [labelled, text], rate=0.5)  # a twice, b once
    assert both == pytest.approx(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)))
