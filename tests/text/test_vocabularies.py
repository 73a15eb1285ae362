"""Entries of vocabularies by hand, and of the real ones."""

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from helpers.text import vocabularies
from helpers.text.tokenizers import SPECIAL, load_tokenizer

PIECES = [
    *SPECIAL.values(), "[unused7]", "세종", "##은", "ㅋㅋ", "\u1112\u1161", "ㅋㅋㅋㅋ", "www", "##.com",
    "a.co.kr", "a@b", "Association",
    "가나다라마바사아자차", "가나다라마바사아자차카", "##" + "가" * 3, "a", "<0xEA>", "세1",
]  # fmt: skip


@pytest.fixture
def tokenizer(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    return load_tokenizer(str(tmp_path / "vocab.txt"))


def test_kinds_by_hand(tokenizer):
    found = vocabularies.kinds(tokenizer)
    by_kind = {kind: [PIECES[i] for i in sorted(found) if found[i] == kind] for kind in vocabularies.KINDS}
    assert by_kind == {
        "special": [*SPECIAL.values(), "[unused7]"],
        "bytes": ["<0xEA>"],
        "spam": ["ㅋㅋㅋㅋ", "www", "##.com", "a.co.kr", "a@b", "가나다라마바사아자차카"],
        "jamo": ["ㅋㅋ", "\u1112\u1161"],
        "hangul": ["세종", "##은", "가나다라마바사아자차", "##가가가"],
        "other": ["Association", "a", "세1"],
    }


def test_a_vocabulary_over_morphemes_is_audited_too():
    tokenizer = load_tokenizer("train:morpheme", texts=["세종은 서울에 산다"] * 3, size=60)
    assert set(vocabularies.kinds(tokenizer).values()) == {"special", "hangul"}


def test_an_audit_adds_up_and_counts_what_a_text_leaves_unused(tokenizer):
    (line,) = vocabularies.audit({"tiny": tokenizer}, ["세종은", "a"]).to_dict("records")
    assert sum(line[kind] for kind in vocabularies.KINDS) == pytest.approx(100)
    assert line["entries"] == len(PIECES)
    assert line["unused"] == pytest.approx(100 * (1 - 5 / len(PIECES)))  # [CLS] [SEP] 세종 ##은 a


def test_bytes_of_a_syllable_are_incomplete_and_its_three_together_are_hangul():
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=260, initial_alphabet=alphabet, show_progress=False)
    backend.train_from_iterator(["한한한 한 a"] * 9, trainer=trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    found = vocabularies.kinds(tokenizer)
    letters = tokenizer.tokenize("한")
    assert len(letters) == 1 and found[tokenizer.convert_tokens_to_ids(letters[0])] == "hangul"
    single = [i for piece, i in tokenizer.get_vocab().items() if len(piece) == 1]
    assert sum(found[i] == "bytes" for i in single) == 128  # half of all bytes are no character
    assert found[tokenizer.convert_tokens_to_ids("a")] == "other"


@pytest.mark.real
def test_real_vocabularies_differ_in_jamo(real_data, monkeypatch):
    monkeypatch.setenv("NUNCHI_DATA", str(real_data))
    specs = ("local:klue-roberta", "local:kcbert-base", "local:bert-base-multilingual-cased")
    loaded = {spec: load_tokenizer(spec) for spec in specs}
    frame = vocabularies.audit(loaded, ["세종은 왕이다."]).set_index("tokenizer")
    assert frame["hangul"][specs[2]] < 5 < 70 < frame["hangul"][specs[1]]
    assert frame["jamo"][specs[1]] > frame["jamo"][specs[0]]  # comments on the web
    assert (frame["bytes"] == 0).all()
