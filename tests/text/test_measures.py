"""Tokenizer figures by hand on two sentences, and the real vocabulary's known ones."""

import numpy as np
import pytest
from datasets import Dataset
from pytest import approx

from helpers import corpora
from helpers.relations.markers import mark_row
from helpers.text.measures import COUNTS, compare, measure
from helpers.text.tokenizers import SPECIAL, load_tokenizer, train_tokenizer

PIECES = [
    *SPECIAL.values(),
    "세종",
    "##은",
    "조선",
    "##의",
    "왕",
    "이다",
    ".",
    "@",
    "*",
    "#",
    "^",
    "사람",
    "장소",
]


def entity(word, start, kind):
    return {"word": word, "start_idx": start, "end_idx": start + len(word) - 1, "type": kind}


def marked(rows):
    return [mark_row(row, scheme="typed-punct").text for row in rows]


@pytest.fixture
def rows():
    sentence = "세종은 조선의 왕이다."
    return Dataset.from_list(
        [
            {
                "sentence": sentence,
                "subject_entity": entity("세종", 0, "PER"),
                "object_entity": entity("조선", 4, "LOC"),
            },
            {
                "sentence": "모름 조선의",
                "subject_entity": entity("모름", 0, "PER"),
                "object_entity": entity("조", 3, "LOC"),
            },
        ]
    )


@pytest.fixture
def tokenizer(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    return load_tokenizer(str(tmp_path / "vocab.txt"))


def test_counts_by_hand(tokenizer, rows):
    # 세종 ##은 | 조선 ##의 | [UNK] . — 왕이다 has no split: 이다 is no continuation
    got = [
        dict(zip(COUNTS, line, strict=True))
        for line in measure(tokenizer, rows, marked=marked(rows), max_length=17).counts
    ]
    assert got[0] == {
        "tokens": 6, "eojeols": 3, "continued": 3, "unknown": 1, "with_unknown": 1, "sentences": 1,
        "entities": 2, "entity_pieces": 2, "single": 2, "aligned": 2, "marker_pieces": 10, "truncated": 1,
    }  # fmt: skip
    # [UNK] | 조선 ##의: the second entity ends inside a piece
    assert got[1] == {
        "tokens": 3, "eojeols": 2, "continued": 1, "unknown": 1, "with_unknown": 1, "sentences": 1,
        "entities": 2, "entity_pieces": 2, "single": 1, "aligned": 1, "marker_pieces": 10, "truncated": 0,
    }  # fmt: skip


def test_compare_gives_shares_with_intervals(tokenizer, rows):
    (line,) = compare({"tiny": tokenizer}, rows, marked=marked(rows)).to_dict("records")
    assert line["fertility"].value == approx(9 / 5)
    assert line["aligned_entities"].value == approx(75)
    assert line["unknown_sentences"] == (100, 100, 100)
    assert line["single_token_entities"].value == approx(75)
    assert line["vocabulary"] == len(PIECES)
    assert line["used"] == approx(100 * 6 / len(PIECES))


def test_characters_align_every_entity_and_morphemes_nearly_all():
    rows = corpora.load_relations("sample", "dev", rows=150)
    texts = corpora.load_relations("sample", "train", rows=300)["sentence"][:]
    names = ("character", "morpheme", "wordpiece")
    tokenizers = {name: train_tokenizer(name, texts, size=2000) for name in names}
    frame = compare(tokenizers, rows, marked=marked(rows))
    aligned = dict(zip(frame["tokenizer"], (share.value for share in frame["aligned_entities"]), strict=True))
    assert aligned["character"] == approx(100, abs=0.5)
    assert aligned["character"] >= aligned["morpheme"] > aligned["wordpiece"]
    assert frame["fertility"][0].value > frame["fertility"][2].value


@pytest.mark.real
@pytest.mark.slow
def test_real_figures_of_the_klue_vocabulary(real_data, monkeypatch):
    monkeypatch.setenv("NUNCHI_DATA", str(real_data))
    rows = corpora.load_relations("local", "train")
    measured = measure(load_tokenizer("local:klue-roberta"), rows, marked=rows["sentence"][:])
    total = dict(zip(COUNTS, measured.counts.sum(axis=0), strict=True))
    assert total["tokens"] / total["eojeols"] == approx(2.47, abs=0.005)
    assert total["unknown"] / total["tokens"] == approx(0.0038, abs=0.00005)
    assert total["with_unknown"] / total["sentences"] == approx(0.099, abs=0.0005)
    assert total["aligned"] / total["entities"] == approx(0.989, abs=0.0005)
    assert np.percentile(measured.counts[:, 0] + 2, 99) == 138
