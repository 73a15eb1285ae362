"""Masked LMs: the head at masked places gives the loss of the whole, sampled or not."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from helpers.learning import encoders
from helpers.learning.batching import IGNORED, Features, mask_tokens
from helpers.learning.masked import Candidates, MaskedLM, recover
from helpers.text.tokenizers import train_tokenizer

TEXTS = ["가나다 라마바", "나다 라마 가나", "라마바 가나다 나다", "마바 라마"] * 5


def masked_lm(kind: str, vocabulary: int = 60):
    return encoders.masked_lm(
        kind, vocab_size=vocabulary, hidden=32, layers=1, max_length=32, dropout=0.0, seed=1
    )


def batch(rows: int = 4, length: int = 9, vocabulary: int = 60, seed: int = 0):
    rng = np.random.default_rng(seed)
    ids = rng.integers(5, vocabulary, (rows, length))
    labels = np.where(rng.random(ids.shape) < 0.3, ids, IGNORED)
    labels[0, 0] = ids[0, 0]
    mask = np.ones_like(ids)
    mask[1, 6:] = 0
    labels[1, 6:] = IGNORED
    return {
        name: torch.from_numpy(x)
        for name, x in (("input_ids", ids), ("attention_mask", mask), ("labels", labels))
    }


def full_loss(model, inputs):
    """The loss as everybody computes it: logits everywhere, cross-entropy where there are labels."""
    logits = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
    return torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), inputs["labels"].flatten(), ignore_index=IGNORED
    )


@pytest.mark.parametrize("kind", encoders.MASKED)
def test_the_loss_at_masked_places_is_the_loss_of_the_whole(kind):
    model, inputs = masked_lm(kind), batch()
    wanted = full_loss(model, inputs).detach()
    found = MaskedLM(model)(**inputs).loss.detach()
    assert float(found) == approx(float(wanted), abs=1e-5)
    assert float(full_loss(model, inputs)) == approx(float(wanted), abs=1e-6), "the model is as it was"


@pytest.mark.parametrize("kind", encoders.MASKED)
def test_with_all_candidates_the_sampled_loss_and_its_gradient_are_exact(kind):
    model, inputs = masked_lm(kind), batch()
    exact = full_loss(model, inputs)
    wanted = torch.autograd.grad(exact, model.get_input_embeddings().weight)[0]
    everything = MaskedLM(model, Candidates(np.full(60, 10), draws=20_000)).train()
    sampled = everything(**inputs).loss
    found = torch.autograd.grad(sampled, model.get_input_embeddings().weight)[0]
    assert float(sampled) == approx(float(exact), abs=1e-5)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)


def test_few_candidates_estimate_the_whole_sum():
    """The mean of sum(exp(logit) / chance) over draws is the sum over the vocabulary."""
    counts = np.arange(500, 0, -1)
    candidates, logits = (
        Candidates(counts, draws=60),
        torch.randn(500, generator=torch.Generator().manual_seed(0)),
    )
    torch.manual_seed(0)
    targets = torch.multinomial(candidates.shares.float(), 3000 * 20, replacement=True).view(3000, 20)
    found = []
    for some in targets:
        ids, chance = candidates.draw(some)
        found.append(float((logits[ids].exp() / chance.exp()).sum()))
    assert np.mean(found) == approx(float(logits.exp().sum()), rel=0.02)
    assert set(targets[0].tolist()) <= set(candidates.draw(targets[0])[0].tolist())


def test_evaluation_never_samples():
    model, inputs = masked_lm("bilstm"), batch()
    few = MaskedLM(model, Candidates(np.ones(60), draws=2)).eval()
    assert float(few(**inputs).loss) == approx(float(full_loss(model, inputs)), abs=1e-5)


@given(st.integers(1, 5), st.floats(0.05, 0.5), st.integers(0, 10_000))
def test_spans_never_touch_special_tokens_nor_padding(span, rate, seed):
    tokenizer = TOKENIZER
    rows = Features([{"input_ids": tokenizer(text)["input_ids"]} for text in TEXTS])
    whole = rows.batch(np.arange(len(rows)), pad_id=tokenizer.pad_token_id)
    masked = mask_tokens(tokenizer, rate=rate, span=span)(whole, np.random.default_rng(seed))
    special = np.isin(whole["input_ids"], tokenizer.all_special_ids) | (whole["attention_mask"] == 0)
    assert (masked["labels"][special] == IGNORED).all()
    assert (masked["input_ids"][special] == whole["input_ids"][special]).all()
    asked = masked["labels"] != IGNORED
    assert (masked["labels"][asked] == whole["input_ids"][asked]).all() and asked.any(axis=1).all()


def test_spans_have_the_rate_and_the_length_that_were_asked_for():
    class Plain:
        mask_token_id, all_special_ids = 1, (0, 1)

        def __len__(self):
            return 1000

    ids = np.random.default_rng(0).integers(5, 1000, (200, 100))
    masked = mask_tokens(Plain(), rate=0.15, span=3)(
        {"input_ids": ids, "attention_mask": np.ones_like(ids)}, np.random.default_rng(1)
    )
    asked = masked["labels"] != IGNORED
    runs = np.diff(np.pad(asked, ((0, 0), (1, 1))).astype(int), axis=1)
    assert asked.mean() == approx(0.15, abs=0.015)
    assert asked.sum() / (runs == 1).sum() == approx(3.3, abs=0.3), "runs that touch count as one"


def test_every_ordinary_token_is_asked_for_once():
    model = masked_lm("bilstm", len(TOKENIZER))
    rows = Features([{"input_ids": TOKENIZER(text)["input_ids"]} for text in TEXTS])
    found = recover(model, rows, TOKENIZER, rounds=3)
    assert found[:, 2].tolist() == [
        len(TOKENIZER(text, add_special_tokens=False)["input_ids"]) for text in TEXTS
    ]
    assert (found[:, 1] <= found[:, 2]).all() and (found[:, 0] > 0).all()
    assert np.array_equal(found, recover(model, rows, TOKENIZER, rounds=3)), (
        "the same tokens in the same turns"
    )


def test_a_uniform_model_has_the_vocabulary_as_its_perplexity():
    model = masked_lm("bilstm", len(TOKENIZER))
    with torch.no_grad():
        model.transform[2].weight.zero_()
        model.transform[2].bias.zero_()
        model.decoder.bias.zero_()
    rows = Features([{"input_ids": TOKENIZER(text)["input_ids"]} for text in TEXTS])
    loss, _, tokens = recover(model, rows, TOKENIZER).sum(axis=0)
    assert np.exp(loss / tokens) == approx(len(TOKENIZER), rel=1e-5)


TOKENIZER = train_tokenizer("wordpiece", TEXTS, size=60)
