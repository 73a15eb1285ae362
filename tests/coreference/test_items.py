"""Items: later mentions at their offsets, balanced distances, documents kept apart."""

import numpy as np
import pytest

from helpers.coreference import items as coreference_items
from tests.coreference.conftest import DOCUMENTS, TEXTS


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


def test_documents_with_a_pronoun_can_be_left_out(items):
    without = coreference_items.build_items(DOCUMENTS, pronouns=False)
    assert set(items["document"]) - set(without["document"]) == {"d4"}
    assert list(without["id"]) == list(coreference_items.build_items(DOCUMENTS[:4])["id"])


def test_no_documents_and_no_repeats_give_an_empty_dataset_with_columns():
    for documents in ([], DOCUMENTS[3:4]):
        items = coreference_items.build_items(documents)
        assert len(items) == 0 and "antecedents" in items.column_names


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


def test_texts_are_tagged_once_all_of_them_together_by_every_core(monkeypatch):
    """One at a time and twice, Wikipedia took two nights."""
    asked = []

    class Tagger:
        def tokenize(self, texts):
            asked.append(list(texts))
            return [[] for _ in texts]

    monkeypatch.setattr(coreference_items, "kiwi", lambda workers: asked.append(workers) or Tagger())
    monkeypatch.setattr(coreference_items, "_TAGGED", {})
    for texts in (["가", "나", "가"], ["나", "다"], ["가"]):
        assert len(coreference_items.find_nouns(texts)) == len(texts)
    assert asked == [coreference_items.WORKERS, ["가", "나"], coreference_items.WORKERS, ["다"]]
