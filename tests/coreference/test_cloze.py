"""Masks, logits at the masks, ranks, and likelihoods within a word."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.coreference import cloze
from helpers.coreference import items as coreference_items
from helpers.coreference.cloze import Cloze
from helpers.learning import encoders
from tests.coreference.conftest import TEXTS, small


def test_as_many_masks_as_pieces_and_unmasking_gives_the_text_back(items, tokenizer):
    for item, masked in zip(items, cloze.encode_items(tokenizer, items, max_length=64), strict=True):
        ids = list(masked.ids)
        assert [at for at, token in enumerate(ids) if token == tokenizer.mask_token_id] == list(
            masked.positions
        )
        for place, piece in zip(masked.positions, masked.gold, strict=True):
            ids[place] = piece
        assert ids == tokenizer(item["text"])["input_ids"]


@settings(max_examples=60, deadline=None)
@given(start=st.integers(0, 40), size=st.integers(1, 8), room=st.integers(3, 60))
def test_windows_hold_the_word_or_say_that_they_cut_it(tokenizer, start, size, room):
    text = TEXTS[0]
    (masked,) = cloze.encode_spans(tokenizer, [text], [(start, start + size)], max_length=room)
    (whole,) = cloze.encode_spans(tokenizer, [text], [(start, start + size)], max_length=1000)
    if masked.fault == "cut":
        assert len(whole.gold) > room - 2
    elif not masked.fault:
        assert len(masked.ids) <= room
        assert masked.gold == whole.gold
        assert all(masked.ids[at] == tokenizer.mask_token_id for at in masked.positions)
        assert not text[start : masked.first].strip() and not text[masked.last : start + size].strip()


def test_a_shorter_window_lies_within_the_longer_one(items, tokenizer):
    for short, long in zip(
        cloze.encode_items(tokenizer, items, max_length=16),
        cloze.encode_items(tokenizer, items, max_length=24),
        strict=True,
    ):
        assert long.first <= short.first and short.last <= long.last


def test_a_piece_outside_the_vocabulary_is_reported_not_guessed(tokenizer, model):
    documents = [{"id": "x", "text": "훈민정음은 글이다. 훈민정음은 세종이 만들었다."}]
    items = coreference_items.build_items(documents)
    frame = cloze.score_items(model, tokenizer, items)
    assert set(frame["status"]) == {"unknown"} and not frame["hit5"].any() and (frame["rank"] == 0).all()


def test_a_tokenizer_without_a_mask_is_refused(items, model):
    class Maskless:
        mask_token_id = None

    with pytest.raises(ValueError, match="no mask token"):
        cloze.score_items(model, Maskless(), items)


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra", "deberta-v2"])
def test_logits_at_the_masks_equal_the_full_models(kind, items, tokenizer):
    model = small(kind, tokenizer)
    clozes = cloze.encode_items(tokenizer, items, max_length=24)
    for number, logits in cloze.masked_logits(model, clozes, pad_id=tokenizer.pad_token_id):
        with torch.inference_mode():
            full = model(input_ids=torch.tensor([clozes[number].ids])).logits[
                0, list(clozes[number].positions)
            ]
        assert logits.shape == full.shape
        torch.testing.assert_close(logits, full, atol=1e-5, rtol=0)


def test_relative_positions_run_past_their_number_without_extension(items, tokenizer):
    """DeBERTa-v2 with relative attention only: 16 positions, texts of more tokens."""
    size = {"vocab_size": len(tokenizer), "hidden": 32, "layers": 2, "max_length": 16}
    model = encoders.masked_lm("deberta-v2", pad_id=tokenizer.pad_token_id, **size).eval()
    longest = max(len(masked.ids) for masked in cloze.encode_items(tokenizer, items, max_length=64))
    assert longest > 20
    frame = cloze.score_items(model, tokenizer, items, max_length=64)
    assert (frame["status"] == "ok").all() and (frame["rank"] >= 1).all()


def test_legacy_deberta_heads_work_too(items, tokenizer):
    model = small("deberta-v2", tokenizer, legacy=False)
    clozes = cloze.encode_items(tokenizer, items, max_length=24)
    (number, logits), *_ = cloze.masked_logits(model, clozes, pad_id=tokenizer.pad_token_id)
    full = model(input_ids=torch.tensor([clozes[number].ids])).logits[0, list(clozes[number].positions)]
    torch.testing.assert_close(logits, full.detach(), atol=1e-5, rtol=0)


def test_a_model_without_a_separate_encoder_is_run_in_full(model, items, tokenizer):
    class Whole(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner, self.config = inner, inner.config

        base_model = property(lambda self: self)

        def forward(self, input_ids, attention_mask):
            return self.inner(input_ids=input_ids, attention_mask=attention_mask)

    mine = cloze.score_items(model, tokenizer, items)
    assert cloze.score_items(Whole(model).eval(), tokenizer, items).equals(mine)


def test_ranks_hits_and_predictions_equal_a_full_forward(model, items, tokenizer):
    frame = cloze.score_items(model, tokenizer, items, k=(1, 3, 5))
    for row, masked in zip(
        frame.itertuples(), cloze.encode_items(tokenizer, items, max_length=64), strict=True
    ):
        with torch.inference_mode():
            full = model(input_ids=torch.tensor([masked.ids])).logits[0]
        for k in (1, 3, 5):
            top = full[list(masked.positions)].topk(k).indices.tolist()
            want = all(gold in best for gold, best in zip(masked.gold, top, strict=True))
            assert getattr(row, f"hit{k}") == want
        assert row.prediction == tokenizer.decode(full[list(masked.positions)].argmax(-1).tolist())
        assert row.reciprocal_rank == 1 / row.rank


def test_scoring_does_not_depend_on_batches_or_order(model, items, tokenizer):
    whole = cloze.score_items(model, tokenizer, items)
    assert cloze.score_items(model, tokenizer, items, batch_tokens=1).equals(whole)
    backwards = cloze.score_items(model, tokenizer, items.select(range(len(items))[::-1]))
    assert backwards["rank"].tolist() == whole["rank"].tolist()[::-1]


def test_out_of_memory_halves_the_batches_and_goes_on(model, items, tokenizer, monkeypatch, capsys):
    whole, ask, sizes = cloze.score_items(model, tokenizer, items), cloze.logits_at, []

    def on_a_small_card(model, input_ids, *more):
        sizes.append(input_ids.numel())
        if input_ids.numel() > room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate more")
        return ask(model, input_ids, *more)

    monkeypatch.setattr(cloze, "logits_at", on_a_small_card)
    room = 100
    assert cloze.score_items(model, tokenizer, items).equals(whole)
    assert f"{sizes[0]} tokens a batch: going on with {sizes[0] // 2}" in capsys.readouterr().out
    assert sizes[0] > room and max(sizes[-3:]) <= room
    room = 10
    with pytest.raises(ValueError, match="does not fit into memory: ask for shorter"):
        cloze.score_items(model, tokenizer, items)


def test_a_model_that_knows_the_words_scores_perfectly(items, tokenizer):
    """An oracle model: its logits are the gold pieces', so every measure is at its best."""
    clozes = cloze.encode_items(tokenizer, items, max_length=64)
    gold = {masked.ids: masked for masked in clozes}

    class Oracle(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.config = torch.nn.Parameter(torch.zeros(1)), small("bert", tokenizer).config

        base_model = property(lambda self: self)

        def forward(self, input_ids, attention_mask):
            logits = torch.zeros(*input_ids.shape, len(tokenizer))
            for row, ids in enumerate(input_ids):
                masked = gold[tuple(ids[attention_mask[row] == 1].tolist())]
                logits[row, list(masked.positions), list(masked.gold)] = 1.0
            return type("Output", (), {"logits": logits})

    frame = cloze.score_items(Oracle(), tokenizer, items)
    assert frame["hit1"].all() and (frame["reciprocal_rank"] == 1).all()


def test_sequence_length_counts_usable_positions(tokenizer):
    for kind in ("bert", "roberta", "deberta-v2"):
        assert cloze.sequence_length(small(kind, tokenizer).config) == 64
    with pytest.raises(ValueError, match="--seq-len"):
        cloze.sequence_length(small("bilstm", tokenizer).config)


def test_word_likelihood_shows_earlier_pieces_and_hides_later_ones(model, tokenizer):
    text, span = TEXTS[1], (3, 13)
    (masked,) = cloze.encode_spans(tokenizer, [text], [span], max_length=64)
    assert len(masked.gold) >= 3
    want, ids = 0.0, list(masked.ids)
    for place, piece in zip(masked.positions, masked.gold, strict=True):
        with torch.inference_mode():
            want += float(model(input_ids=torch.tensor([ids])).logits[0, place].log_softmax(-1)[piece])
        ids[place] = piece
    got = cloze.word_log_likelihoods(model, tokenizer, [masked, Cloze(fault="cut"), masked])
    assert got[0] == pytest.approx(want, abs=1e-4) and got[2] == got[0]
    assert np.isnan(got[1])


def test_context_nouns_are_ranked_with_the_right_one_among_them(model, tokenizer, items):
    frame = cloze.rank_context_nouns(model, tokenizer, items, choices=3, max_length=64)
    assert len(frame) == len(items)
    assert frame["rank"].between(1, frame["choices"]).all()
    assert (frame["chance"] == 1 / frame["choices"]).all()
    assert (frame["right"] == (frame["rank"] == 1)).all()
    assert frame["choices"].max() <= 3


def test_kiwi_finds_what_one_eats_likelier_and_reads_only_what_is_near():
    filled = [
        f"{'멀리 있는 말. ' * far}아침에 {word}을 먹었다." for far in (9, 30) for word in ("밥", "철학")
    ]
    spans = [
        (text.index("을 먹") - len(word), text.index("을 먹"))
        for text, word in zip(filled, ["밥", "철학"] * 2, strict=True)
    ]
    rice, philosophy, rice_again, _ = cloze.kiwi_likelihoods(filled, spans)
    assert rice > philosophy and rice == rice_again


def test_nouns_are_ranked_by_any_score(items):
    def shortest(texts, spans):
        return np.array([-float(end - start) for start, end in spans])

    frame = cloze.rank_nouns(items, shortest, choices=4)
    lengths = [[len(word) for word in cloze._choices(item, 4)] for item in items]
    assert frame["rank"].tolist() == [sum(one <= own[0] for one in own) for own in lengths]


def test_choices_prefer_nouns_that_fit_the_particle(items):
    for item in items:
        noun, *others = cloze._choices(item, 10)
        fits = [cloze.has_final_consonant(word) == cloze.has_final_consonant(noun) for word in others]
        assert noun == item["noun"] and noun not in others
        assert fits == sorted(fits, reverse=True)


@pytest.mark.parametrize(("word", "closed"), [("학교", False), ("서울", True), ("K", False), ("책", True)])
def test_final_consonants(word, closed):
    assert cloze.has_final_consonant(word) == closed
