"""The copy baselines' guesses and scores."""

import pytest

from helpers.coreference import copying
from helpers.coreference import items as coreference_items
from tests.coreference.conftest import DOCUMENTS


def test_baselines_guess_from_the_context_in_their_order():
    text = "가나 다라 가나 마바 사아 가나"
    spans = [[at, at + 2] for at in range(0, 15, 3)]
    item = {"id": "0f", "document": "d", "noun": "가나", "text": text, "start": 15, "context": spans}
    guesses = copying.context_guesses(item)
    assert guesses["nearest to the left"] == ["사아", "마바", "가나", "다라"]
    assert guesses["first to the left"] == ["가나", "다라", "마바", "사아"]
    assert guesses["most frequent in the context"][0] == "가나"
    assert sorted(guesses["random from the context"]) == ["가나", "다라", "마바", "사아"]
    frame = copying.score_baselines([item], frequent=["다라", "가나"]).set_index("run")
    assert frame["hit1"].to_dict() == {
        "frequent everywhere": False,
        "random from the context": guesses["random from the context"][0] == "가나",
        "nearest to the left": False,
        "first to the left": True,
        "most frequent in the context": True,
    }
    assert frame["hit5"].all()


def test_global_frequency_counts_nouns_of_documents():
    assert copying.global_frequency(DOCUMENTS)[0] == "서울"


@pytest.mark.real
@pytest.mark.slow
def test_copy_baselines_on_klue_ner_sentences(real_data):
    """The figures of the study's own selection on 5,000 sentences, @1 and @5, within tie-breaking."""
    from helpers.corpora import load_entities

    sentences = load_entities(real_data, "dev")
    documents = [{"id": row["guid"], "text": row["sentence"]} for row in sentences]
    items = coreference_items.build_items(documents, pronouns=False, second_only=True)
    assert len(items) == pytest.approx(1447, abs=3)
    scores = copying.score_baselines(items, frequent=copying.global_frequency(documents))
    got = scores.groupby("run")[["hit1", "hit5"]].mean()
    want = {
        "frequent everywhere": (0.083, 0.100),
        "random from the context": (0.122, 0.507),
        "nearest to the left": (0.097, 0.647),
        "first to the left": (0.194, 0.715),
    }
    for baseline, (at_1, at_5) in want.items():
        assert got.loc[baseline, "hit1"] == pytest.approx(at_1, abs=0.02)
        assert got.loc[baseline, "hit5"] == pytest.approx(at_5, abs=0.02)
