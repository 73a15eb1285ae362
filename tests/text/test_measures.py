"""Tokenizer figures by hand on two sentences; the real vocabulary's known ones are claims of the ledger."""

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy.stats import spearmanr

from helpers import corpora
from helpers.relations.markers import mark_row
from helpers.statistics import f1
from helpers.text import measures
from helpers.text.measures import COUNTS, compare, measure, predictors, renyi_efficiency
from helpers.text.morphemes import morphemes
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
    wanted = [morphemes(text) for text in rows["sentence"]]
    got = [
        dict(zip(COUNTS, line, strict=True))
        for line in measure(tokenizer, rows, marked=marked(rows), max_length=17, wanted=wanted).counts
    ]
    assert got[0] == {
        "tokens": 6, "eojeols": 3, "continued": 3, "unknown": 1, "with_unknown": 1, "sentences": 1,
        "entities": 2, "entity_pieces": 2, "single": 2, "aligned": 2, "marker_pieces": 10, "truncated": 1,
        "bytes": 30, "frequent": 0, "frequent_kept": 0,
        # kiwi: 세종 은 | 조선 의 | 왕 이 다 .; pieces cut before 은, 의 and the full stop
        "morphemes": 8, "morphemes_kept": 5, "cuts_right": 3, "cuts": 3, "cuts_wanted": 5,
    }  # fmt: skip
    # [UNK] | 조선 ##의: the second entity ends inside a piece
    assert got[1] == {
        "tokens": 3, "eojeols": 2, "continued": 1, "unknown": 1, "with_unknown": 1, "sentences": 1,
        "entities": 2, "entity_pieces": 2, "single": 1, "aligned": 1, "marker_pieces": 10, "truncated": 0,
        "bytes": 16, "frequent": 0, "frequent_kept": 0,
        # kiwi: 모르 + ㅁ share a syllable | 조선 의; [UNK] keeps nothing
        "morphemes": 3, "morphemes_kept": 2, "cuts_right": 1, "cuts": 1, "cuts_wanted": 1,
    }  # fmt: skip


def test_compare_gives_shares_with_intervals(tokenizer, rows):
    (line,) = compare({"tiny": tokenizer}, rows, marked=marked(rows)).to_dict("records")
    assert line["fertility"].value == approx(9 / 5)
    assert line["aligned_entities"].value == approx(75)
    assert line["unknown_sentences"] == (100, 100, 100)
    assert line["single_token_entities"].value == approx(75)
    assert line["vocabulary"] == len(PIECES)
    assert line["used"] == approx(100 * 6 / len(PIECES))
    assert line["bytes_per_token"].value == approx(46 / 9)
    assert line["cut_precision"].value == 100 and line["cut_recall"].value == approx(100 * 4 / 6)
    assert line["cut_f1"].value == approx(80) == 100 * f1(np.array([4.0, 4, 6]))
    assert line["morphemes_kept"].value == approx(100 * 7 / 11)
    assert line["words_kept"] == (0, 0, 0)  # nothing is frequent in two sentences
    # [UNK] 2, 세종 ##은 . 1 each, 조선 ##의 2 each
    assert line["renyi"].value == approx(100 * renyi_efficiency([2, 1, 1, 1, 2, 2]))


def test_renyi_efficiency_as_the_authors_scorer_has_it():
    # their test: "pick @@ed pick @@l @@ed pick @@les" and "pick @@e @@d pick @@l @@e @@d pick @@l @@e @@s"
    assert renyi_efficiency([3, 2, 1, 1]) == approx(0.8265064834225245)
    assert renyi_efficiency([3, 3, 2, 2, 1]) == approx(0.9204840242168808)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20))
def test_renyi_efficiency_is_a_share_that_no_order_unit_or_absent_token_changes(counts):
    value = renyi_efficiency(counts)
    assert 0 <= value <= 1 + 1e-12
    assert renyi_efficiency([*reversed(counts), 0, 0]) == approx(value)
    assert renyi_efficiency(np.array(counts) * 7) == approx(value)
    alike = [5] * len(counts)
    assert renyi_efficiency(alike) == approx(1 if len(alike) > 1 else 0)


def test_frequent_words_stand_in_many_sentences_and_bytes_keep_no_word(tokenizer):
    assert measures.frequent_words(["가 가 나"] * 4 + ["나 다"]) == {"나"}
    one = measures.Encoded([7, 8], np.array([[0, 1], [0, 1]]))  # two bytes of one character
    assert measures.word_counts(one, "가 나", {"가", "나"}, unknown_id=1) == [2, 0]
    assert measures.word_counts(measures.Encoded([7], np.array([[0, 1]])), "가", {"가"}, unknown_id=1) == [
        1,
        1,
    ]
    assert measures.word_counts(measures.Encoded([1], np.array([[0, 1]])), "가", {"가"}, unknown_id=1) == [
        1,
        0,
    ]


def test_morphemes_cut_where_kiwi_cuts_and_characters_everywhere():
    rows = corpora.load_relations("sample", "dev", rows=60)
    texts = corpora.load_relations("sample", "train", rows=200)["sentence"][:]
    kinds = {name: train_tokenizer(name, texts, size=2000) for name in ("character", "morpheme", "bpe")}
    frame = compare(kinds, rows, marked=marked(rows)).set_index("tokenizer")
    recall = {name: frame["cut_recall"][name].value for name in kinds}
    assert recall["character"] == approx(100) and recall["morpheme"] > 99 and recall["bpe"] < 95
    precision = {name: frame["cut_precision"][name].value for name in kinds}
    assert precision["morpheme"] > precision["bpe"] > precision["character"]


def test_a_measure_that_predicts_is_found_and_noise_is_not():
    rng = np.random.default_rng(0)
    score = rng.normal(50, 2, 12)
    noise = {f"noise {i}": rng.normal(size=12) for i in range(40)}
    columns = {"told": score * -3 + rng.normal(0, 0.5, 12), "flat": np.ones(12)} | noise
    frame = predictors(pd.DataFrame(columns), score).set_index("measure")
    assert frame.index[0] == "told" and "flat" not in frame.index
    assert frame["spearman"]["told"].high < -0.8 and frame["p_holm"]["told"] < 0.01
    assert frame["error"]["told"] < 0.3 * frame["error of the mean"]["told"]
    found = frame.loc[list(noise)]
    assert found["error"].mean() > frame["error of the mean"].mean()
    assert sum(one.low < 0 < one.high for one in found["spearman"]) >= 36


def test_leaving_out_is_refitting_without_the_point():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 9))
    line = [y[i] - np.polyval(np.polyfit(np.delete(x, i), np.delete(y, i), 1), x[i]) for i in range(9)]
    mean = [y[i] - np.delete(y, i).mean() for i in range(9)]
    row = predictors(pd.DataFrame({"x": x}), y).iloc[0]
    assert row["error"] == approx(np.sqrt(np.mean(np.square(line))))
    assert row["error of the mean"] == approx(np.sqrt(np.mean(np.square(mean))))
    theirs = spearmanr(x, y)
    assert row["spearman"].value == approx(theirs.statistic) and row["p"] == approx(theirs.pvalue, abs=0.03)
    assert row["spearman"][1:] == (-1, 1)  # nine points give no interval


def test_the_interval_of_a_rank_correlation_holds_the_truth():
    rng = np.random.default_rng(2)
    truth, held = 6 / np.pi * np.arcsin(0.3), 0  # Spearman of two normals that correlate by .6
    for _ in range(400):
        x, noise = rng.normal(size=(2, 10))
        interval = measures._ranked(spearmanr(x, 0.6 * x + 0.8 * noise).statistic, 10)
        held += interval.low <= truth <= interval.high
    assert 0.93 <= held / 400 <= 0.99


def test_few_tokenizers_have_an_order_and_no_error_and_bad_scores_are_refused():
    (row,) = predictors(pd.DataFrame({"x": [1.0, 2]}), [2.0, 1]).to_dict("records")
    assert row["spearman"] == (-1, -1, 1) and row["p"] == 1 and np.isnan(row["error"])
    (row,) = predictors(pd.DataFrame({"x": [1.0, 2, 3, 4]}), [1.0, 2, 3, 4]).to_dict("records")
    assert row["p"] == approx(2 / 24, abs=0.01)  # two of 24 orders are as extreme
    same = predictors(pd.DataFrame({"x": [1.0, 2]}), [1.0, 1])
    assert same["spearman"][0].value == 0 and same["p_holm"][0] == 1
    with pytest.raises(ValueError, match="got 2 and 3"):
        predictors(pd.DataFrame({"x": [1.0, 2]}), [1.0, 2, 3])


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
