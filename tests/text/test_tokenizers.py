"""Trained tokenizers keep their promises; loaded ones equal the library they came from."""

import pickle

import pytest

from helpers.text.alignment import encode_with_offsets
from helpers.text.morphemes import morphemes
from helpers.text.tokenizers import KINDS, SPECIAL, load_tokenizer, train_tokenizer

NAMES = (("세종", "은"), ("영희", "는"), ("철수", "는"))
TEXTS = [f"{n}{p} {place}에서 태어났다." for n, p in NAMES for place in ("한양", "서울", "부산", "제주")] * 3


@pytest.fixture(scope="module", params=KINDS)
def trained(request):
    tokenizer = train_tokenizer(request.param, TEXTS, size=80)
    tokenizer.kind = request.param
    return tokenizer


def test_special_tokens_are_named_and_wrap_every_text(trained):
    assert [getattr(trained, name) for name in SPECIAL] == list(SPECIAL.values())
    ids = trained("세종은").input_ids
    assert (ids[0], ids[-1]) == (trained.cls_token_id, trained.sep_token_id)
    assert trained.unk_token_id not in ids


def test_training_is_deterministic(trained):
    assert trained.get_vocab() == train_tokenizer(trained.kind, TEXTS, size=80).get_vocab()


def test_pickle_and_save_give_the_same_tokenizer_back(trained, tmp_path):
    trained.save_pretrained(tmp_path)
    for copy in (pickle.loads(pickle.dumps(trained)), load_tokenizer(str(tmp_path))):
        assert copy(TEXTS[0]).input_ids == trained(TEXTS[0]).input_ids
        assert copy.get_vocab() == trained.get_vocab()
        assert copy.pad_token_id == trained.pad_token_id
    assert trained.tokenize("세종은") == load_tokenizer(str(tmp_path)).tokenize("세종은")


def test_size_is_respected_except_by_characters():
    assert (
        len(train_tokenizer("wordpiece", TEXTS, size=45)) == len(train_tokenizer("bpe", TEXTS, size=45)) == 45
    )
    assert len(train_tokenizer("unigram", TEXTS, size=45)) <= 45
    characters = set("".join(TEXTS)) - {" "} | {"▁"}
    assert set(train_tokenizer("character", TEXTS, size=5).get_vocab()) == characters | set(SPECIAL.values())


def test_morpheme_tokenizer_never_crosses_a_morpheme():
    texts = ["세종은 조선의 왕이었다.", "학교에서만 친구를 만났다고 했다!"]
    tokenizer = train_tokenizer("morpheme", texts * 5, size=200)
    for text, (_, offsets) in zip(
        texts, encode_with_offsets(tokenizer, texts, special_tokens=False), strict=True
    ):
        cuts = {cut for span in morphemes(text) for cut in span}
        assert not [span for span in offsets.tolist() if cuts & set(range(span[0] + 1, span[1]))]
    assert tokenizer.tokenize("왕이") != train_tokenizer("wordpiece", texts * 5, size=200).tokenize("왕이")


def test_bare_vocab_file(tmp_path):
    pieces = [*SPECIAL.values(), "세종", "##은", "@", "사람"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    tokenizer = load_tokenizer(str(tmp_path / "vocab.txt"))
    assert tokenizer.tokenize("세종은@") == ["세종", "##은", "@"]
    assert tokenizer("세종").input_ids == [2, 5, 3]
    (tmp_path / "other.txt").write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"no \[UNK\] line"):
        load_tokenizer(str(tmp_path / "other.txt"))


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_sentencepiece_file_gives_sentencepieces_own_ids(kind, tmp_path):
    import sentencepiece

    (tmp_path / "texts").write_text("\n".join(TEXTS), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "texts"), model_prefix=str(tmp_path / "m"), vocab_size=35, model_type=kind,
        user_defined_symbols=["[CLS]", "[SEP]", "[MASK]"], unk_piece="[UNK]", pad_id=3, pad_piece="[PAD]",
        minloglevel=2,
    )  # fmt: skip
    want = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    got = load_tokenizer(str(tmp_path / "m.model"))
    for text in [*TEXTS[:12], "세종이  부산에서", "ＡＢ 제주 ①", "😀 철수"]:
        assert got(text, add_special_tokens=False).input_ids == want.encode(text)
    assert len(got) == 35


def test_mecab_split_models_are_refused(tmp_path):
    import sentencepiece

    texts = "\n".join(" ▃ ".join(text) for text in TEXTS)
    (tmp_path / "texts").write_text(texts, encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "texts"), model_prefix=str(tmp_path / "m"), vocab_size=40, model_type="bpe",
        minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    with pytest.raises(ValueError, match="already split by MeCab"):
        load_tokenizer(str(tmp_path / "m.model"))


def test_errors_say_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="pass texts="):
        load_tokenizer("train:bpe")
    with pytest.raises(ValueError, match="one of wordpiece, bpe"):
        load_tokenizer("train:words", texts=TEXTS)
    with pytest.raises(ValueError, match="cannot load the tokenizer 'nobody/nothing'"):
        load_tokenizer("nobody/nothing")
    monkeypatch.delenv("NUNCHI_DATA", raising=False)
    with pytest.raises(ValueError, match="NUNCHI_DATA is not set"):
        load_tokenizer("local:klue-roberta")
    (tmp_path / "vocabs" / "two").mkdir(parents=True)
    for name in ("a.model", "b.model"):
        (tmp_path / "vocabs" / "two" / name).touch()
    monkeypatch.setenv("NUNCHI_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="no vocabulary 'three'"):
        load_tokenizer("local:three")
    with pytest.raises(ValueError, match="several vocabularies"):
        load_tokenizer("local:two")


@pytest.mark.real
@pytest.mark.parametrize("name", ["kobert", "kortok/sp-8k.model", "kortok/sp-32k.model"])
def test_real_sentencepiece_models_agree_on_real_sentences(real_data, monkeypatch, name):
    import json

    import sentencepiece

    monkeypatch.setenv("NUNCHI_DATA", str(real_data))
    file = next((real_data / "vocabs" / name).glob("*.spiece"), real_data / "vocabs" / name)
    want = sentencepiece.SentencePieceProcessor(model_file=str(file))
    rows = json.loads((real_data / "klue-re" / "klue-re-v1.1_dev.json").read_text(encoding="utf-8"))
    texts = [row["sentence"] for row in rows[:1000]]
    assert load_tokenizer(f"local:{name}")(texts, add_special_tokens=False).input_ids == want.encode(texts)


@pytest.mark.real
def test_real_vocabularies_keep_their_own_special_ids(real_data, monkeypatch):
    monkeypatch.setenv("NUNCHI_DATA", str(real_data))
    ids = {name: load_tokenizer(f"local:{name}")("").input_ids for name in ("klue-roberta", "klue-bert-base")}
    assert ids == {"klue-roberta": [0, 2], "klue-bert-base": [2, 3]}
    with pytest.raises(ValueError, match="MeCab"):
        load_tokenizer("local:kortok/mecab_sp-8k.model")
