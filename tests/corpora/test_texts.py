"""Unlabelled text: all of a source, none of its dev sentences, errors that name the file."""

import json

import pytest

from helpers import sample_world
from helpers.corpora.texts import dev_sentences, load_texts, read_texts
from helpers.sample_world import lexicon
from helpers.sample_world.tables import words
from tests import own_data


def test_the_sample_writes_sentences_about_the_names_of_train():
    texts = load_texts("sample", rows=400)["sample world"]
    assert len(texts) == len(set(texts)) > 380
    assert texts[:50] == list(dict.fromkeys(sample_world.unlabelled(50)))
    people = {split: _people(texts, split) for split in ("train", "dev")}
    assert people["train"] > 100 and people["dev"] < 0.1 * people["train"], "syllables may meet by chance"


def _people(texts, split) -> int:
    """Count the words that begin with a surname and a given name of the split."""
    given, surnames = set(lexicon._pool("given", split)), set(words("surnames"))
    return sum(word[0] in surnames and word[1:3] in given for text in texts for word in text.split())


def test_a_folder_gives_documents_lines_and_training_sentences(tmp_path):
    (tmp_path / "corpus").mkdir()
    rows = [{"id": str(i), "text": f"문서 {i}번은 길다."} for i in range(40)]
    (tmp_path / "corpus" / "news.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (tmp_path / "unlabelled").mkdir()
    (tmp_path / "unlabelled" / "talk.txt").write_text("한 줄이다.\n\n두 줄이다.\n")
    (tmp_path / "klue-ner").mkdir()
    for split in ("train", "dev"):
        (tmp_path / "klue-ner" / f"mine_{split}.tsv").write_text(
            f"## {split}\n누\tB-PS\n리\tI-PS\n{split[0]}\tO\n\n"
        )
    found = load_texts(str(tmp_path))
    assert list(found) == ["news", "talk", "klue-ner, training sentences"]
    assert 25 <= len(found["news"]) < 40, "a tenth of the documents, by hash, is dev"
    assert found["talk"] == ["한 줄이다.", "두 줄이다."]
    assert found["klue-ner, training sentences"] == ["누리t"]
    assert dev_sentences(str(tmp_path)) == ["누리d"]


@pytest.mark.parametrize(("task", "folder"), [("entities", "klue-ner"), ("relations", "klue-re")])
def test_a_folder_of_one_data_set_gives_its_training_sentences(tmp_path, task, folder):
    written = {}
    for name, count, seed in (("train", 30, 0), ("dev", 10, 1)):
        rows = getattr(own_data, task)(count, seed=seed)
        own_data.write(tmp_path, rows, f"mine_{name}")
        written[name] = [row.get("sentence") or "".join(row["tokens"]) for row in rows]
    assert load_texts(str(tmp_path)) == {f"{folder}, training sentences": written["train"]}
    assert dev_sentences(str(tmp_path)) == written["dev"]


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ValueError, match="holds no text"):
        load_texts(str(tmp_path))
    (tmp_path / "a.pdf").write_text("x")
    with pytest.raises(ValueError, match=r"cannot read \.pdf"):
        read_texts(tmp_path / "a.pdf")
    with pytest.raises(ValueError, match="found none"):
        read_texts(tmp_path)
    (tmp_path / "b.txt").write_text("\n \n")
    with pytest.raises(ValueError, match="it holds no text"):
        read_texts(tmp_path / "b.txt")
