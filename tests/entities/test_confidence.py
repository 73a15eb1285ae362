"""Confidence of entities by hand, and calibration errors that were put there."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve

from helpers.entities import confidence
from helpers.entities.experiment import Part
from helpers.entities.scores import entity_counts
from helpers.entities.tags import encode, tag_spans


def part_of(sentences, spans):
    tags = [tag_spans(some, len(text)) for text, some in zip(sentences, spans, strict=True)]
    return Part(sentences, encode(tags))


def probabilities(tags, said, kind=3):
    """Give each character's tag the probability `said`, the rest to I-PS, or to O where the tag is I-PS."""
    table = np.zeros((len(tags.ids), 13))
    other = np.where(tags.ids == 2 * kind + 1, 12, 2 * kind + 1)
    table[np.arange(len(said)), other] = 1 - np.array(said)
    table[np.arange(len(said)), tags.ids] = said
    return table


def test_an_entity_is_as_sure_as_its_least_sure_tag_and_its_end():
    part = part_of(["가 나다라", "마"], [[(0, 3, "PS")], [(0, 1, "LC")]])
    pred = part_of(["가 나다라", "마"], [[(0, 3, "PS")], [(0, 1, "PS")]]).gold
    # the space's .1 does not count; 다 continues the entity with 1 - .7
    table = probabilities(pred, [0.9, 0.1, 0.8, 0.7, 0.6, 0.95])
    found = confidence.confident_entities(table, pred, part)
    assert found["sentence"].tolist() == [0, 1] and found["type"].tolist() == ["PS", "PS"]
    assert found["confidence"].tolist() == [pytest.approx(0.7), pytest.approx(0.95)]
    assert found["right"].tolist() == [True, False]
    assert confidence.confident_sentences(table, pred).tolist() == [pytest.approx(0.1), pytest.approx(0.95)]


def test_no_entity_and_wrong_lengths():
    part = part_of(["가나"], [[]])
    silent = confidence.confident_entities(np.eye(13)[[12, 12]], part.gold, part)
    assert len(silent) == 0 and len(confidence.calibration(silent)) == 0
    sure = drawn(np.random.default_rng(0), n=40, excess=0.2)
    alone, beside = (confidence.calibration_error(runs, sentences=20) for runs in ([sure], [sure, silent]))
    assert beside.value == pytest.approx(alone.value / 2)  # who says nothing makes no error
    with pytest.raises(ValueError, match="3 rows of probabilities for 2 characters"):
        confidence.confident_sentences(np.eye(13)[[12, 12, 12]], part.gold)


def drawn(rng, n=4000, excess=0.0):
    """Entities that are right with probability confidence - excess."""
    sure = rng.uniform(0.5, 1, n)
    frame = {"sentence": np.arange(n) // 2, "type": "PS", "confidence": sure}
    return pd.DataFrame(frame | {"right": rng.random(n) < sure - excess})


def test_a_calibration_error_is_found_in_size():
    rng = np.random.default_rng(0)
    for excess in (0.2, 0.1):
        found = confidence.calibration_error([drawn(rng, excess=excess) for _ in range(3)], sentences=2000)
        assert found.low <= 100 * excess <= found.high and found.half_width < 2
    honest = confidence.calibration_error([drawn(rng)], sentences=2000)
    assert honest.value < 3 and honest.low < 1


def test_bins_as_scikit_learn_has_them():
    frame = drawn(np.random.default_rng(1), n=500, excess=0.1)
    table = confidence.calibration(frame)
    right, sure = calibration_curve(frame["right"], frame["confidence"], n_bins=10, strategy="quantile")
    assert table["entities"].tolist() == [50] * 10
    assert table["confidence"].to_numpy() == pytest.approx(100 * sure)
    assert [one.value for one in table["right, %"]] == pytest.approx(100 * right)
    weighted = np.abs(right - sure) @ table["entities"] / 500
    assert confidence.calibration_error([frame], sentences=250).value == pytest.approx(100 * weighted)


def test_equal_confidence_is_one_bin():
    frame = pd.DataFrame({"sentence": [0, 1, 2], "confidence": [0.9] * 3, "right": [True, True, False]})
    assert confidence.calibration(frame)["entities"].tolist() == [3]


def test_the_sure_sentences_are_kept_first():
    part = part_of(["가나"] * 10, [[(0, 1, "PS")]] * 10)
    wrong = part_of(["가나"] * 10, [[(0, 1, "PS")]] * 8 + [[(0, 2, "PS")]] * 2).gold
    counts = entity_counts(part.gold, wrong)[None]
    sure = np.linspace(1, 0.5, 10)[None]
    table = confidence.by_coverage(counts, sure, shares=(1.0, 0.8))
    assert [one.value for one in table["entity F1"]] == pytest.approx([80, 100])
    assert table["minus all"][1].value == pytest.approx(20) and table["minus all"][0].value == 0
    worst = confidence.by_coverage(counts, sure[:, ::-1], shares=(0.2,))
    assert worst["entity F1"][0].value == 0
