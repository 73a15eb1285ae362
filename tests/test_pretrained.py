"""Encoders pretrained for a notebook: what they read, what they must not, and what another notebook finds."""

from functools import partial
from pathlib import Path

import pytest

from helpers import pretrained
from helpers.corpora import load_relations
from helpers.corpora.texts import load_texts

TINY = {"sentences": 60, "vocabulary_size": 420, "hidden": 8, "epochs": 1, "batch_tokens": 512, "length": 32}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path))
    return tmp_path / "sweeps" / pretrained.NAME


def finished(cache):
    return sorted(path.parent.name for path in cache.glob("*/row.json"))


def test_each_tokenizer_gets_its_encoder_and_its_own_size(cache):
    from helpers.learning.encoders import load_encoder
    from helpers.text.tokenizers import load_tokenizer

    made = pretrained.encoders("sample", ["train:bpe 440", "train:bpe", "train:bpe 440"], TINY, dev=[])
    assert list(made) == ["train:bpe 440", "train:bpe"]
    for (name, one), size in zip(made.items(), (440, 420), strict=True):
        assert one.facts["tokenizer"] == name and set(pretrained.FACTS) < set(one.facts)
        assert len(load_tokenizer(one.folder)) == size
        assert load_encoder(one.folder).config.vocab_size == size


def test_another_notebook_finds_what_one_has_made(cache):
    pretrained.encoders("sample", ["train:bpe", "train:wordpiece"], TINY, dev=[])
    made = finished(cache)
    alone = pretrained.encoder("sample", "train:wordpiece", TINY, dev=[])
    assert finished(cache) == made and len(made) == 2
    assert alone.facts["tokenizer"] == "train:wordpiece"


def test_characters_are_masked_in_runs_and_know_their_pairs():
    from helpers.learning.encoders import load_encoder

    one = pretrained.encoder("sample", "train:character", TINY, dev=[])
    assert load_encoder(one.folder).config.bigrams == pretrained.CHARACTERS["bigrams"]


def test_a_dev_sentence_that_would_be_read_is_an_error():
    known = set(load_relations("sample", "dev")["sentence"])
    (text,) = [text for text in load_texts("sample", rows=60)["sample world"] if text not in known][:1]
    with pytest.raises(ValueError, match="1 dev sentences are in the text to pretrain on"):
        pretrained.encoder("sample", "train:bpe", TINY, dev=[text])


def test_a_callers_own_texts_are_read_less_what_repeats_dev():
    texts = load_texts("sample", rows=60)["sample world"]
    how = {name: value for name, value in TINY.items() if name != "sentences"}
    one = pretrained.encoder("sample", "train:bpe", how, dev=texts[:3], texts=[*texts, *texts[:2]])
    assert one.facts["exact_copies"] == 5 and one.facts["texts"] < len(texts) - 3


def test_a_few_texts_are_enough_though_they_have_no_interval():
    how = {name: value for name, value in TINY.items() if name != "sentences"}
    texts = load_texts("sample", rows=60)["sample world"][:12]
    found = pretrained.encoder("sample", "train:bpe", how | {"length": 128}, dev=[], texts=texts).facts
    assert isinstance(found["pseudo_perplexity"], float) and 0 <= found["masked_accuracy"] <= 100


def test_a_number_of_texts_is_drawn_from_a_folder(tmp_path):
    folder = tmp_path / "data" / "unlabelled"
    folder.mkdir(parents=True)
    lines = [f"{number}번 문장은 다른 문장과 다릅니다" for number in range(50)]
    (folder / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    read = partial(pretrained._texts, str(tmp_path / "data"))
    drawn = read(sentences=20)
    assert len(drawn) == len(set(drawn)) == 20 and set(drawn) < set(lines)
    assert drawn == read(sentences=20) != lines[:20]
    assert read() == lines


def test_texts_are_chosen_or_left_out_by_name(tmp_path):
    folder = tmp_path / "unlabelled"
    folder.mkdir()
    for name in ("news", "reviews"):
        (folder / f"{name}.txt").write_text(f"{name} 문장입니다", encoding="utf-8")
    for how in ({"without": ["reviews"]}, {"only": ["news"]}):
        assert pretrained._texts(str(tmp_path), **how) == ["news 문장입니다"]
    for how in ({"without": ["films"]}, {"only": ["news", "films"]}):
        with pytest.raises(ValueError, match=r"no texts \['films'\] .*has \['news', 'reviews'\]"):
            pretrained._texts(str(tmp_path), **how)


def test_encoders_of_different_texts_read_equally_much(tmp_path):
    folder = tmp_path / "unlabelled"
    folder.mkdir()
    for name, words in (("news", "장관은 회의에서 새 계획을 밝혔다"), ("films", "영화가 참 재미있었다")):
        lines = [f"{number}번째로 {words}" for number in range(60)]
        (folder / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    how = {name: value for name, value in TINY.items() if name != "sentences"} | {"token_budget": 300}
    read = partial(pretrained.encoder, str(tmp_path), "train:bpe", dev=[])
    facts = [read(settings=how | {"only": [name]}).facts for name in ("news", "films")]
    assert all(300 - 32 < one["tokens"] <= 300 for one in facts)
    assert facts[0]["pseudo_perplexity"] != facts[1]["pseudo_perplexity"]
    with pytest.raises(RuntimeError, match="tokens to read, not 100,000: ask for fewer"):
        read(settings=how | {"only": ["news"], "token_budget": 100_000})


def test_the_models_on_the_way_are_named_in_their_order():
    from helpers.learning.encoders import load_encoder

    one = pretrained.encoder("sample", "train:bpe", TINY | {"batch_tokens": 64, "snapshots": 3}, dev=[])
    steps = [int(Path(folder).name.removeprefix("checkpoint-")) for folder in one.snapshots]
    assert len(steps) == 3 and steps == sorted(steps) and steps[-1] == one.facts["steps"] > 20
    texts = load_texts("sample", rows=30)["sample world"]
    assert pretrained.recovered(one.snapshots[-1], texts) == pretrained.recovered(one.folder, texts)
    first, last = (load_encoder(folder).get_input_embeddings().weight for folder in one.snapshots[::2])
    assert not first.equal(last)


@pytest.mark.parametrize(
    ("given", "wanted"), [("train:bpe", ("train:bpe", 10)), ("train:bpe 400", ("train:bpe", 400))]
)
def test_a_name_may_carry_a_size(given, wanted):
    assert pretrained.sized(given, size=10) == wanted


def test_a_size_that_is_none_is_refused():
    with pytest.raises(ValueError, match="'train:bpe 4000', got 'train:bpe large'"):
        pretrained.sized("train:bpe large", size=10)
