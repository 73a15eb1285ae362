"""Ceilings of perfect taggers, KLUE's decoder, the study's scorer, and its published rows."""

import numpy as np
import pytest
from pytest import approx
from scipy.stats import ttest_1samp

from helpers import statistics
from helpers.corpora.labels import TAGS
from helpers.entities import audit, decoding, scores
from helpers.entities.voting import Member


class _Words:
    """A stand-in tokenizer: known words, an unknown one, punctuation split off."""

    unk_token = "[UNK]"

    def tokenize(self, word):
        return {"김철수는": ["김철수", "##는"], "쀍쀍!": ["[UNK]", "!"], "서울로": ["서울", "##로"]}[word]


def test_baseline_decoder_slips_after_an_unknown_word():
    known = audit.klue_character_tags(_Words(), "김철수는 서울로", ["B-PS", "O", "B-LC", "O"])
    assert known == ["B-PS", "I-PS", "I-PS", "O", "B-LC", "I-LC", "O"]
    slipped = audit.klue_character_tags(_Words(), "쀍쀍! 서울로", ["O", "O", "B-LC", "O"])
    assert slipped == ["O", "O", "O", "O", "O", "B-LC"]  # 서울 reads the tag of "!"


def test_ceilings(sample, sample_encodings):
    tokenizers = {name: encoding.tokenizer for name, encoding in sample_encodings.items()}
    table = audit.ceilings(sample["dev"], tokenizers).set_index(["tokenizer", "decoder"])["entity F1"]
    assert table["train:character", "exact offsets"] == (100.0, 100.0, 100.0)
    assert table["train:wordpiece", "exact offsets"].value < 100.0
    legacy = "legacy: KLUE's baseline decoder"
    assert table["train:wordpiece", legacy].value <= table["train:wordpiece", "exact offsets"].value
    assert ("train:character", legacy) not in table.index


def test_legacy_scorer_skips_the_longest_of_each_batch():
    assert audit.legacy_kept([3, 5, 5, 1, 2, 4], 4).tolist() == [True, False, False, True, True, False]
    assert audit.legacy_kept([], 4).tolist() == []


def test_legacy_scorer_does_not_see_the_longest_sentence(sample_encodings):
    encoded = sample_encodings["train:character"].parts["dev"]
    said = np.eye(len(TAGS))[np.maximum(encoded.labels, 0)]
    member = Member(said, encoded.characters)
    counts = audit.legacy_counts(member, encoded.labels)
    bounds = encoded.characters.token_bounds
    longest = int(np.argmax(np.diff(bounds)))  # 30 sentences are one batch
    assert counts[longest].sum() == 0 and scores.entity_score(counts.sum(0)) == 100.0
    said[bounds[longest] : bounds[longest + 1]] = np.eye(len(TAGS))[TAGS.index("O")]
    assert scores.entity_score(audit.legacy_counts(member, encoded.labels).sum(0)) == 100.0
    assert scores.entity_score(audit.legacy_counts(member, encoded.labels, drop=False).sum(0)) < 100.0


def test_what_the_legacy_scorer_drops(sample, sample_encodings):
    dropped = audit.dropped_by_legacy(sample["dev"], sample_encodings["train:character"].parts["dev"])
    assert dropped["of_sentences"] == 30 and dropped["sentences"] >= 1  # one batch
    assert 0 < dropped["entities"] < dropped["of_entities"]


def test_published_rows_and_what_they_show():
    theirs = audit.published()
    means = [some.design().value for some in theirs.values()]
    assert list(theirs) == ["ensemble", "klue/roberta-large", "klue/roberta-base"]
    assert means == approx([89.51, 89.1975, 88.98], abs=1e-9)
    assert audit.published("char_f1")["ensemble"].design().value == approx(94.00, abs=0.005)
    found = statistics.compare(theirs).set_index(["system", "than"])
    for (later, earlier), row in found.iterrows():  # seeds alone: the paired t-test
        test = ttest_1samp(theirs[later].values - theirs[earlier].values, 0.0)
        assert row["p"] == approx(test.pvalue, rel=1e-6)
    assert found["decision"].tolist() == ["better", "better", "undecided"]


@pytest.mark.real
def test_legacy_scorer_on_klue_dev(klue_dev, klue_tokenizer):
    sentences, gold = klue_dev
    kept = audit.legacy_kept([len(ids) for ids in klue_tokenizer(sentences)["input_ids"]], 32)
    wanted = scores.entity_counts(gold, gold).reshape(len(gold), -1, 3)[:, :, 2].sum(1)
    assert (len(kept), (~kept).sum()) == (5000, 176)
    assert (wanted.sum(), wanted[~kept].sum()) == (14257, 995)


@pytest.mark.real
def test_ceiling_of_the_baseline_decoder(klue_dev, klue_tokenizer):
    from helpers.text.alignment import encode_with_offsets

    sentences, tags = klue_dev
    encoded = encode_with_offsets(klue_tokenizer, sentences)
    characters = decoding.map_characters([len(s) for s in sentences], [row.offsets for row in encoded])
    labels = decoding.token_labels(tags, characters)
    gold, pred = [], []
    for sentence, wanted, row in zip(sentences, tags, labels, strict=True):
        said = audit.klue_character_tags(klue_tokenizer, sentence, [TAGS[i] for i in row if i >= 0])
        solid = [tag for character, tag in zip(sentence, wanted, strict=True) if character != " "]
        gold.append(
            ["O", *solid[: len(said)], "O"]
        )  # it cuts what it cannot align, and scores [CLS] and [SEP]
        pred.append(["O", *said, "O"])
    assert scores.entity_f1(gold, pred) == approx(95.20, abs=0.005)
    assert scores.char_f1(gold, pred) == approx(97.78, abs=0.005)
