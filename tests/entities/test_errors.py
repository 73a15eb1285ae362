"""Errors by kind, familiarity, and a browser that escapes what it shows."""

import numpy as np
from pytest import approx

from helpers.entities import errors as entity_errors
from helpers.entities.experiment import Part
from helpers.entities.tags import encode, tag_spans

SENTENCE = "김철수가 서울에서 삼성에 20명"


def part(*spans, sentence=SENTENCE):
    """A sentence with these entities, and one without any."""
    return Part([sentence, "비"], encode([tag_spans(spans, len(sentence)), ["O"]]))


def tags(*spans, sentence=SENTENCE):
    return part(*spans, sentence=sentence).gold


GOLD = part((0, 3, "PS"), (5, 7, "LC"), (10, 12, "OG"), (14, 17, "QT"))


def kinds(*spans):
    errors = entity_errors.find_errors(GOLD, tags(*spans))
    return errors["kind"].tolist()


def test_every_kind_of_error():
    assert kinds((0, 3, "PS"), (5, 7, "LC"), (10, 12, "OG"), (14, 17, "QT")) == ["right"] * 4
    found = kinds((0, 4, "PS"), (5, 7, "OG"), (9, 12, "LC"), (7, 8, "TI"))
    assert found == ["range", "label", "both", "missed", "invented"]


def test_touching_is_not_overlapping():
    assert kinds((3, 4, "PS"))[0] == "missed"


def test_table_counts_and_recall():
    errors = entity_errors.find_errors(GOLD, tags((0, 3, "PS"), (5, 7, "OG"), (12, 13, "TI")))
    known = np.array(["seen", "new", "ambiguous", "new"])
    table = entity_errors.error_table(errors, known, sentences=2).set_index("type")
    assert table.loc["PS", "recall, %"].value == approx(100.0)
    assert table.loc["PS", "of new, %"] is None
    assert table.loc["LC", "label"] == 1 and table.loc["QT", "missed"] == 1
    assert "TI" not in table.index  # invented only: it has no gold entity to recall


def test_familiarity_looks_at_text_and_type():
    train = part((0, 2, "LC"), (3, 6, "OG"), (7, 10, "PS"), sentence="서울 김철수 김철수")
    assert entity_errors.familiarity(GOLD, train).tolist() == ["ambiguous", "seen", "new", "new"]


def test_recall_of_names_by_familiarity():
    known = np.array(["ambiguous", "seen", "new", "new"])
    said = [tags((0, 3, "PS"), (5, 7, "LC"), (14, 17, "QT")), tags((10, 12, "OG"))]
    found = entity_errors.recall_of_names(GOLD, said, known)
    assert found["seen"].tolist() == [[[1, 1], [0, 0]], [[0, 1], [0, 0]]]
    assert found["new"].tolist() == [[[0, 1], [0, 0]], [[1, 1], [0, 0]]]  # 20명 is no name


def test_parts_are_described():
    table = entity_errors.describe({"train": GOLD, "dev": GOLD})
    assert table.entities.tolist() == [4, 4]
    assert table["seen, %"][0] is None and table["seen, %"][1].value == 100.0


def test_browser_shows_errors_and_escapes_text():
    sentence = "<script>김</script>"
    gold = part((8, 9, "PS"), sentence=sentence)
    said = tags(sentence=sentence)
    page = entity_errors.browse(gold, said, entity_errors.find_errors(gold, said)).data
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "PS: missed 1<" in page and "LC: no errors<" in page


def test_new_sentences_are_tagged(runs, sample_encodings):
    found = entity_errors.tag_sentences(
        ["김철수는 3월 5일 서울에 갔다.", "비가 온다."], runs, sample_encodings
    )
    assert len(found) == 2
    assert all(0 <= span.start < span.end <= 17 for spans in found for span in spans)
