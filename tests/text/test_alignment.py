"""Offsets against what each token says it is, on any Unicode string and for every family of tokenizer."""

import unicodedata
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from helpers.text.alignment import _trimmed, compatibility_jamo, encode_with_offsets, spread, token_of_char
from helpers.text.tokenizers import KINDS, train_tokenizer

TEXTS = [
    "세종은 조선의 네 번째 왕이다.",
    "가나다 라마바 사아자, 차카타 파하!",
    "The Å ﬁ café — Ｆｕｌｌ １２３ №5 ㎏",
    "ㅋㅋㅋ ㅠㅠ 한글과 漢字 그리고 😀",
] * 3
TRICKY = (
    "가각힣ㄱㅋㅠᄒ핳ᅲ ᆨ\u3000\u00a0\u200b\u200d\ufe0f\u0301\u0345\x00\x07\n\t"
    "İßﬁÅÅ㈜㎏漢豈😀👩‍👧🇰🇷▁##[UNK]ＡＢ１①ﷺ"
)
UNICODE = st.text(st.one_of(st.sampled_from(TRICKY), st.characters(exclude_categories=["Cs"])), max_size=24)
NORMALIZED = {"nfkc": normalizers.NFKC(), "uncased": normalizers.BertNormalizer(lowercase=True)}


@cache
def tokenizer(name):
    if name in KINDS:
        return train_tokenizer(name, TEXTS, size=120)
    backend = Tokenizer(models.BPE() if name == "bytes" else models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = NORMALIZED.get(name)
    backend.pre_tokenizer = (
        pre_tokenizers.ByteLevel() if name == "bytes" else pre_tokenizers.BertPreTokenizer()
    )
    options = {"special_tokens": ["[UNK]"], "show_progress": False}
    trainer = (
        trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **options)
        if name == "bytes"
        else trainers.WordPieceTrainer(vocab_size=150, **options)
    )
    backend.train_from_iterator(TEXTS, trainer=trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")


def plain(token, name):
    """The letters of a token, without the marks that say where in a word it stands."""
    return (token.removeprefix("##") if name in ("wordpiece", "morpheme", *NORMALIZED) else token).replace(
        "▁", ""
    )


def normalized(tok, text):
    rules = tok.backend_tokenizer.normalizer
    return "".join((rules.normalize_str(text) if rules else text).split())


@pytest.mark.parametrize("name", [*KINDS, *NORMALIZED])
@settings(max_examples=150, deadline=None)
@given(text=UNICODE)
def test_each_token_covers_exactly_the_characters_it_was_made_of(name, text):
    tok = tokenizer(name)
    ((ids, offsets),) = encode_with_offsets(tok, [text], special_tokens=False)
    assert (np.diff(offsets[:, 0]) >= 0).all()
    assert ((offsets[:, 0] >= 0) & (offsets[:, 0] <= offsets[:, 1]) & (offsets[:, 1] <= len(text))).all()
    covering = np.zeros(len(text) + 1, int)
    for start, end in offsets:
        covering[start:end] += 1
    for token, (start, end) in zip(tok.convert_ids_to_tokens(ids), offsets, strict=True):
        made_of, surface = normalized(tok, text[start:end]).replace("▁", ""), plain(token, name)
        if token in tok.all_special_tokens or made_of == surface:
            continue
        # One character may become several tokens: ㈎ is "(", "가", ")" after NFKC.
        assert surface in made_of
        assert covering[start:end].max() > 1


@pytest.mark.parametrize("name", [*KINDS, *NORMALIZED, "bytes"])
@settings(max_examples=100, deadline=None)
@given(text=UNICODE)
def test_every_character_that_survives_normalisation_is_covered(name, text):
    tok = tokenizer(name)
    ((_, offsets),) = encode_with_offsets(tok, [text], special_tokens=False)
    lost = np.flatnonzero(token_of_char(offsets, len(text)) < 0)
    assert all(normalized(tok, text[i]).strip("▁") == "" or unicodedata.combining(text[i]) for i in lost)


@pytest.mark.parametrize("name", [*KINDS, "bytes"])
def test_no_range_begins_or_ends_with_a_space(name):
    text = "  세종은 \u3000 왕이다 \n"
    ((_, offsets),) = encode_with_offsets(tokenizer(name), [text], special_tokens=False)
    pieces = [text[start:end] for start, end in offsets]
    assert all(piece == piece.strip() for piece in pieces)
    assert "".join(dict.fromkeys(zip(pieces, map(tuple, offsets), strict=True)).keys() and pieces).replace(
        " ", ""
    )


def test_special_tokens_stand_for_no_character():
    ((ids, offsets),) = encode_with_offsets(tokenizer("wordpiece"), ["세종은"])
    tok = tokenizer("wordpiece")
    assert (ids[0], ids[-1]) == (tok.cls_token_id, tok.sep_token_id)
    assert offsets[0, 0] == offsets[0, 1]
    assert offsets[-1, 0] == offsets[-1, 1]


def test_the_space_put_before_a_text_does_not_claim_its_first_letter():
    ((ids, offsets),) = encode_with_offsets(tokenizer("character"), ["왕"], special_tokens=False)
    assert tokenizer("character").convert_ids_to_tokens(ids) == ["▁", "왕"]
    assert offsets.tolist() == [[0, 0], [0, 1]]


def test_a_mark_that_stands_in_the_text_keeps_its_place():
    ((ids, offsets),) = encode_with_offsets(tokenizer("character"), ["가▁나"], special_tokens=False)
    assert tokenizer("character").convert_ids_to_tokens(ids)[-2:] == ["▁", "나"]
    assert offsets[-2:].tolist() == [[1, 2], [2, 3]]


def test_spaces_are_cut_off_both_ends_of_a_range():
    text = "  가나다  라 "
    whole = _trimmed(np.array([[0, 7], [2, 7], [0, 5], [5, 7], [7, 9], [7, 8], [3, 3]]), text)
    assert whole.tolist() == [[2, 5], [2, 5], [2, 5], [7, 7], [7, 8], [7, 8], [3, 3]]
    assert _trimmed(np.array([[2, 6]]), text).tolist() == [[2, 5]], "at the end alone"
    assert _trimmed(np.array([[1, 5]]), text).tolist() == [[2, 5]], "at the beginning alone"


def test_max_length_counts_special_tokens():
    ((ids, offsets),) = encode_with_offsets(tokenizer("character"), ["가나다라마바사"], max_length=5)
    assert len(ids) == len(offsets) == 5
    assert ids[-1] == tokenizer("character").sep_token_id


@given(UNICODE)
def test_jamo_map_keeps_every_position(text):
    mapped = compatibility_jamo(text)
    assert len(mapped) == len(text)
    assert all(a == b or "\u1100" <= a <= "\u11ff" for a, b in zip(text, mapped, strict=True))
    assert compatibility_jamo(mapped) == mapped


def test_jamo_map_writes_what_a_reader_sees():
    assert compatibility_jamo("\u110f\u110f\u1172\u1172\u11a8") == "ㅋㅋㅠㅠㄱ"
    modern = [*range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]
    assert all("\u3131" <= compatibility_jamo(chr(code)) <= "\u3163" for code in modern)


def test_jamo_option_saves_the_word_from_unk():
    tok = tokenizer("wordpiece")
    text = "\u110f\u110f\u110f 왕"
    ((plain, _),) = encode_with_offsets(tok, [text], special_tokens=False)
    ((mapped, offsets),) = encode_with_offsets(tok, [text], special_tokens=False, jamo=True)
    assert tok.unk_token_id in plain
    assert tok.unk_token_id not in mapped
    assert offsets[:, 1].max() == len(text)


def test_token_of_char_takes_the_first_of_several_tokens():
    ((_, offsets),) = encode_with_offsets(tokenizer("bytes"), ["😀가"], special_tokens=False)
    owner = token_of_char(offsets, 2)
    assert owner[0] == np.flatnonzero(offsets[:, 0] == 0)[0]
    assert owner[1] == np.flatnonzero(offsets[:, 0] == 1)[0]
    assert token_of_char(np.zeros((0, 2), int), 3).tolist() == [-1, -1, -1]


def test_spread_copies_values_to_characters():
    offsets = np.array([[0, 0], [0, 2], [3, 4], [5, 5]])
    values = np.arange(8.0).reshape(4, 2)
    assert spread(values, offsets, length=5, fill=-1).tolist() == [[2, 3], [2, 3], [-1, -1], [4, 5], [-1, -1]]
    with pytest.raises(ValueError, match="values has 3 tokens but offsets has 4"):
        spread(values[:3], offsets, length=5)


def test_unusable_input_is_refused():
    with pytest.raises(ValueError, match="wrap it in a list"):
        encode_with_offsets(tokenizer("bpe"), "세종")
    with pytest.raises(ValueError, match="gives no offsets"):
        encode_with_offsets(object(), ["세종"])
    assert encode_with_offsets(tokenizer("bpe"), []) == []
    assert encode_with_offsets(tokenizer("bpe"), [""], special_tokens=False)[0].input_ids == []


def test_characters_without_a_token_get_zero_unless_told_otherwise():
    values, offsets = np.array([[2.0], [3.0]]), np.array([[0, 1], [2, 3]])
    assert spread(values, offsets, length=4).ravel().tolist() == [2.0, 0.0, 3.0, 0.0]
    assert spread(values, offsets, length=4, fill=-1.0).ravel().tolist() == [2.0, -1.0, 3.0, -1.0]
    assert spread(np.array([2, 3]), offsets, length=4, fill=-1.0).dtype.kind == "i", "the values' own type"
