"""The study's own measures, kept as controls."""

from helpers.coreference import legacy
from tests.coreference.conftest import PASSAGES, TEXTS


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
    frame = legacy.score_items_legacy(model, tokenizer, items, max_length=64)
    for row, noun in zip(frame.itertuples(), items["noun"], strict=True):
        # "울" is contained in 서울, and 서울시장 contains 서울 and 시장.
        assert row.hit5 == (noun in ("서울", "시장"))
    assert frame["id"].tolist() == list(items["id"])


def test_legacy_lambada_hides_the_first_mention_and_keeps_the_gap(model, tokenizer):
    frame = legacy.score_lambada_legacy(model, tokenizer, PASSAGES, max_length=64)
    assert frame["status"].tolist() == ["ok", "ok"]
    absent = [{**PASSAGES[0], "answer": "하늘"}]
    frame = legacy.score_lambada_legacy(model, tokenizer, absent, max_length=64)
    assert frame["status"].tolist() == ["absent"] and not frame["hit1"].any()
