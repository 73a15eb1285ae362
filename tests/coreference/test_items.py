"""Coreference items, scoring at the masks, LAMBADA, the study's controls and the copy baselines."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.coreference import cloze, copying, lambada, legacy
from helpers.coreference import items as coreference_items
from helpers.coreference.cloze import Cloze
from helpers.learning import encoders
from helpers.text import tokenizers

TEXTS = [
    "서울의 시장은 서울에서 회의를 열었다. 회의에는 시장과 의원이 참석했다. 의원은 서울을 떠났다.",
    "학교 앞 도서관에 학생이 모였다. 학생은 도서관에서 책을 읽고 학교로 돌아갔다.",
    "바다를 본 어부는 배를 띄웠다. 배는 바다로 나갔고 어부는 노래를 불렀다.",
    "하늘이 맑다.",
    "그는 공장에 갔다. 공장은 그의 것이다.",
]
DOCUMENTS = [{"id": f"d{number}", "title": "", "text": text} for number, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizers.load_tokenizer("train:wordpiece", texts=TEXTS * 3, size=130)


@pytest.fixture(scope="module")
def items():
    return coreference_items.build_items(DOCUMENTS)


def small(kind, tokenizer, **more):
    size = {"vocab_size": len(tokenizer), "hidden": 32, "layers": 2, "max_length": 64}
    return encoders.masked_lm(kind, pad_id=tokenizer.pad_token_id, seed=3, **size, **more).eval()


@pytest.fixture(scope="module")
def model(tokenizer):
    return small("bert", tokenizer)


# --- items -----------------------------------------------------------------------------------------------


def test_every_item_is_a_later_mention_at_its_offsets(items):
    for item in items:
        assert item["text"][item["start"] : item["end"]] == item["noun"]
        assert item["antecedents"], "a later mention has an earlier one"
        for start, end in item["antecedents"]:
            assert item["text"][start:end] == item["noun"] and end <= item["start"]
        assert item["distance"] == item["start"] - max(end for _, end in item["antecedents"])
        assert [item["start"], item["end"]] not in item["context"]
        assert item["tag"] in coreference_items.NOUN_TAGS and len(item["noun"]) >= 2


def test_a_noun_is_asked_once_a_document_and_documents_are_capped(items):
    asked = list(zip(items["document"], items["noun"], strict=True))
    assert len(set(asked)) == len(asked)
    assert max(np.unique(items["document"], return_counts=True)[1]) <= 3
    assert len(coreference_items.build_items(DOCUMENTS, per_document=1)) == 4


def test_documents_that_give_no_item_are_counted():
    counts = coreference_items.item_counts(coreference_items.build_items(DOCUMENTS, pronouns=False))
    assert counts["documents"] == 5
    assert counts["documents without a repeated noun"] == 1
    assert counts["documents with a pronoun"] == 1
    assert counts["items"] == len(coreference_items.build_items(DOCUMENTS[:4]))


def test_no_documents_and_no_repeats_give_an_empty_dataset_with_columns():
    for documents in ([], DOCUMENTS[3:4]):
        items = coreference_items.build_items(documents)
        assert len(items) == 0 and "antecedents" in items.column_names
        assert coreference_items.item_counts(items)["items"] == 0


def test_the_studys_selection_takes_second_mentions_in_order():
    (first, *_) = coreference_items.build_items(DOCUMENTS[:1], second_only=True)
    assert (first["noun"], first["start"], len(first["antecedents"])) == ("서울", 8, 1)


def test_items_are_versioned_by_content_and_seed(items):
    again = coreference_items.build_items(DOCUMENTS)
    assert again["id"] == items["id"]
    moved = [{**DOCUMENTS[0], "text": "오늘 " + TEXTS[0]}]
    assert set(coreference_items.build_items(moved)["id"]).isdisjoint(items["id"])


def test_distances_are_balanced_over_documents():
    near, far = "공장 공장 ", "나무" + " 아주 좋은 날에" * 30 + " 나무 "
    documents = [{"id": str(n), "text": far + near} for n in range(6)]
    items = coreference_items.build_items(documents, per_document=1)
    bins = [coreference_items.distance_bin(distance) for distance in items["distance"]]
    assert sorted(np.unique(bins, return_counts=True)[1].tolist()) == [3, 3]


def test_distance_bins_have_the_labels_of_their_edges():
    assert [coreference_items.distance_bin(d) for d in (0, 24, 25, 99, 100, 399, 400, 10**6)] == [
        0,
        0,
        1,
        1,
        2,
        2,
        3,
        3,
    ]
    assert coreference_items.distance_labels() == ["0–24", "25–99", "100–399", "400+"]


def test_items_of_training_documents_are_refused(items):
    coreference_items.check_disjoint(items, [{"id": "other", "text": "다른 글"}])
    with pytest.raises(ValueError, match="split by document"):
        coreference_items.check_disjoint(items, DOCUMENTS)
    with pytest.raises(ValueError, match="1 training documents"):
        coreference_items.check_disjoint(items, [{"id": "copy of d0", "text": TEXTS[0]}])


# --- masking ---------------------------------------------------------------------------------------------


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


def test_ablation_deletes_every_other_mention_and_nothing_else(items, tokenizer):
    plain = cloze.encode_items(tokenizer, items, max_length=64)
    for item, full, ablated in zip(
        items, plain, cloze.encode_items(tokenizer, items, max_length=64, ablate=True), strict=True
    ):
        shown = tokenizer.decode(ablated.ids, skip_special_tokens=True)
        assert item["noun"] not in shown.replace(" ", "")
        assert ablated.gold == full.gold and len(ablated.ids) < len(full.ids)
        assert set(ablated.ids) <= set(full.ids)


def test_other_mentions_are_found_even_inside_other_words():
    item = {"noun": "바다", "text": "바다 바닷가 바다에 푸른바다", "start": 7, "end": 9}
    assert [item["text"][start:end] for start, end in cloze.other_mentions(item)] == ["바다", "바다"]
    assert (7, 9) not in cloze.other_mentions(item)


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


# --- logits ----------------------------------------------------------------------------------------------


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


def test_scoring_does_not_depend_on_batches_or_order(model, items, tokenizer, monkeypatch):
    whole = cloze.score_items(model, tokenizer, items)
    monkeypatch.setattr(cloze, "BATCH_TOKENS", 1)
    assert cloze.score_items(model, tokenizer, items).equals(whole)
    backwards = cloze.score_items(model, tokenizer, items.select(range(len(items))[::-1]))
    assert backwards["rank"].tolist() == whole["rank"].tolist()[::-1]


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


# --- likelihoods -----------------------------------------------------------------------------------------


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
    frame = cloze.rank_context_nouns(model, tokenizer, items, choices=3)
    assert len(frame) == len(items)
    assert frame["rank"].between(1, frame["choices"]).all()
    assert (frame["chance"] == 1 / frame["choices"]).all()
    assert (frame["right"] == (frame["rank"] == 1)).all()
    assert frame["choices"].max() <= 3


def test_choices_prefer_nouns_that_fit_the_particle(items):
    for item in items:
        noun, *others = cloze._choices(item, 10, seed=0)
        fits = [cloze.has_final_consonant(word) == cloze.has_final_consonant(noun) for word in others]
        assert noun == item["noun"] and noun not in others
        assert fits == sorted(fits, reverse=True)


@pytest.mark.parametrize(("word", "closed"), [("학교", False), ("서울", True), ("K", False), ("책", True)])
def test_final_consonants(word, closed):
    assert cloze.has_final_consonant(word) == closed


# --- LAMBADA ---------------------------------------------------------------------------------------------

PASSAGES = [
    {
        "index": 0,
        "text": "어부는 배를 보았다. 학생은 책을 보았다. 책을 읽은 것은 _이다.",
        "answer": "학생",
        "candidate": "의원",
    },
    {"index": 1, "text": "서울에 바다는 없다. 어부가 간 곳은 _이다.", "answer": "바다", "candidate": "학교"},
]


def test_lambada_masks_the_gap_and_compares_answer_with_candidate(model, tokenizer):
    frame = lambada.score_lambada(model, tokenizer, PASSAGES)
    assert frame["status"].tolist() == ["ok", "ok"]
    assert (frame["right"] == (frame["answer_log_likelihood"] > frame["candidate_log_likelihood"])).all()
    swapped = [{**row, "answer": row["candidate"], "candidate": row["answer"]} for row in PASSAGES]
    assert (lambada.score_lambada(model, tokenizer, swapped)["right"] != frame["right"]).all()
    filled = PASSAGES[0]["text"].replace("_", "학생")
    ids = tokenizer(filled)["input_ids"]
    (masked, _) = lambada._filled(tokenizer, PASSAGES, "answer", max_length=64)
    shown = [token for at, token in enumerate(ids) if at not in masked.positions]
    assert [token for at, token in enumerate(masked.ids) if at not in masked.positions] == shown


def test_a_passage_without_a_gap_is_refused(model, tokenizer):
    with pytest.raises(ValueError, match="no gap"):
        lambada.score_lambada(model, tokenizer, [{**PASSAGES[0], "text": "빈칸 없음"}])


# --- the study's controls --------------------------------------------------------------------------------


def test_legacy_puts_one_mask_whatever_the_word(tokenizer):
    text = TEXTS[1]
    masked = legacy._single_mask(tokenizer, text, (5, 8), max_length=64)
    assert masked.ids.count(tokenizer.mask_token_id) == 1
    assert masked.ids[masked.positions[0]] == tokenizer.mask_token_id
    cut = legacy._single_mask(tokenizer, text, (len(text) - 2, len(text)), max_length=8)
    assert cut.fault == "cut"


def test_legacy_counts_containment_and_lower_nouns_as_hits(model, tokenizer, items, monkeypatch):
    monkeypatch.setattr(legacy, "_surface", lambda tokenizer, token: ["울", "서울시장", "은"][token % 3])
    monkeypatch.setattr(legacy, "_is_noun", lambda word: word != "은")
    frame = legacy.score_items_legacy(model, tokenizer, items)
    for row, noun in zip(frame.itertuples(), items["noun"], strict=True):
        # "울" is contained in 서울, and 서울시장 contains 서울 and 시장.
        assert row.hit5 == (noun in ("서울", "시장"))
    assert frame["id"].tolist() == list(items["id"])


def test_legacy_lambada_hides_the_first_mention_and_keeps_the_gap(model, tokenizer):
    frame = legacy.score_lambada_legacy(model, tokenizer, PASSAGES)
    assert frame["status"].tolist() == ["ok", "ok"]
    absent = [{**PASSAGES[0], "answer": "하늘"}]
    frame = legacy.score_lambada_legacy(model, tokenizer, absent)
    assert frame["status"].tolist() == ["absent"] and not frame["hit1"].any()


# --- copy baselines --------------------------------------------------------------------------------------


def test_baselines_guess_from_the_context_in_their_order():
    text = "가나 다라 가나 마바 사아 가나"
    spans = [[at, at + 2] for at in range(0, 15, 3)]
    item = {"id": "0f", "document": "d", "noun": "가나", "text": text, "start": 15, "context": spans}
    guesses = copying.context_guesses(item)
    assert guesses["nearest to the left"] == ["사아", "마바", "가나", "다라"]
    assert guesses["first to the left"] == ["가나", "다라", "마바", "사아"]
    assert guesses["most frequent in the context"][0] == "가나"
    assert sorted(guesses["random from the context"]) == ["가나", "다라", "마바", "사아"]
    frame = copying.score_baselines([item], frequent=["다라", "가나"]).set_index("baseline")
    assert frame["hit1"].to_dict() == {
        "frequent everywhere": False,
        "random from the context": guesses["random from the context"][0] == "가나",
        "nearest to the left": False,
        "first to the left": True,
        "most frequent in the context": True,
    }
    assert frame["hit5"].all()


def test_global_frequency_counts_nouns_of_documents():
    assert copying.global_frequency(DOCUMENTS)[0] == "서울"


@pytest.mark.real
@pytest.mark.slow
def test_copy_baselines_on_klue_ner_sentences(real_data):
    """The figures of the study's own selection on 5,000 sentences, @1 and @5, within tie-breaking."""
    from helpers.corpora import load_entities

    sentences = load_entities(real_data, "dev")
    documents = [{"id": row["guid"], "text": row["sentence"]} for row in sentences]
    items = coreference_items.build_items(documents, pronouns=False, second_only=True)
    assert len(items) == pytest.approx(1447, abs=3)
    scores = copying.score_baselines(items, frequent=copying.global_frequency(documents))
    got = scores.groupby("baseline")[["hit1", "hit5"]].mean()
    want = {
        "frequent everywhere": (0.083, 0.100),
        "random from the context": (0.122, 0.507),
        "nearest to the left": (0.097, 0.647),
        "first to the left": (0.194, 0.715),
    }
    for baseline, (at_1, at_5) in want.items():
        assert got.loc[baseline, "hit1"] == pytest.approx(at_1, abs=0.02)
        assert got.loc[baseline, "hit5"] == pytest.approx(at_5, abs=0.02)
