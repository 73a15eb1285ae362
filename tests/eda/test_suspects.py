"""Suspect labels: confident learning as it is defined, and planted errors that it finds."""

import numpy as np
import pandas as pd

from helpers import corpora
from helpers.eda import entities as eda_entities
from helpers.eda import suspects


def by_definition(labels, probs):
    """The off-diagonal of the confident joint, example by example (Northcutt et al. 2021, equation 1)."""
    classes = sorted(set(labels))
    bars = {j: np.mean([p[j] for p, given in zip(probs, labels, strict=True) if given == j]) for j in classes}
    found = {}
    for row, (p, given) in enumerate(zip(probs, labels, strict=True)):
        above = [j for j in classes if p[j] >= bars[j]]
        best = max(above, key=lambda j: p[j], default=given)
        if best != given:
            found[row] = best
    return found


def test_the_confident_joint_as_it_is_defined():
    rng = np.random.default_rng(0)
    for classes in (3, 5):
        probs = rng.dirichlet(np.ones(classes) * 0.6, size=300)
        labels = np.array([rng.choice(classes, p=p) for p in probs])
        labels[labels == classes - 1] = 0  # a class that nobody has is never suggested
        frame = suspects.confident_errors(labels, probs)
        assert dict(zip(frame["row"], frame["suggested"], strict=True)) == by_definition(labels, probs)
        assert frame["margin"].is_monotonic_increasing and len(frame) > 20


def test_right_labels_raise_no_suspicion():
    labels = np.arange(90) % 3
    assert suspects.confident_errors(labels, np.eye(3)[labels] * 0.7 + 0.1).empty


def test_nobody_is_scored_by_a_model_that_saw_its_group():
    groups = np.arange(60) // 4
    seen = {}

    def predict(learn, score):
        assert not set(groups[learn]) & set(groups[score])
        seen.update(dict.fromkeys(score.tolist(), True))
        return np.column_stack([score, score])

    assert np.array_equal(suspects.out_of_fold(predict, groups)[:, 0], np.arange(60)) and len(seen) == 60


def test_planted_errors_are_labels_of_rows_that_are_alike():
    labels = np.array([0, 1] * 50 + [2] * 20)
    alike = ["a"] * 100 + ["b"] * 20
    changed, wrong = suspects.plant(labels, alike, share=0.5, seed=1)
    assert 30 < wrong.sum() <= 60 and not wrong[100:].any()  # nothing else is like b
    assert set(changed[:100]) == {0, 1} and np.array_equal(wrong, changed != labels)
    again, _ = suspects.plant(labels, alike, share=0.5, seed=1)
    assert np.array_equal(changed, again) and not suspects.plant(labels, alike, share=0.0, seed=1)[1].any()


def test_planted_errors_of_the_sample_world_are_found():
    """Blind suspicion has the planted share as precision, and the share of suspects as recall."""
    rows = corpora.load_relations("sample", "train", rows=1500, seed=0)
    checked = suspects.relations(rows, share=0.05)
    blind = 100 * len(checked.suspects) / checked.rows
    assert checked.planted > 50 and checked.recall.low > 2 * blind
    assert checked.precision.low > 2 * 100 * checked.planted / checked.rows
    assert not checked.own()["planted"].any()


def test_planted_types_of_entities_are_found():
    rows = corpora.load_entities("sample", "train", rows=800, seed=0)
    mentions = eda_entities.mentions(rows)
    checked = suspects.entities(rows["sentence"][:], mentions, share=0.05)
    assert checked.recall.low > 50 and checked.precision.low > 40
    assert set(checked.suspects["given"]) <= set(mentions["type"])


def test_planted_techniques_are_found_more_often_than_by_chance():
    rows = corpora.load_techniques("sample", "train", rows=800, seed=0)
    checked = suspects.posts(rows, share=0.1)
    assert checked.rows == 800 * len(rows.features["labels"].feature.names)
    assert checked.recall.low > 2 * 100 * len(checked.suspects) / checked.rows
    assert (checked.suspects["given"] != checked.suspects["suggested"]).all()


def test_precision_and_recall_by_hand():
    frame = pd.DataFrame({"row": [3, 5], "planted": [True, False]})
    found = suspects._checked(frame, np.arange(10) < 4)
    assert (found.precision.value, found.recall.value) == (50.0, 25.0)
    assert suspects._checked(frame.head(0), np.zeros(10, dtype=bool)).recall.value == 0.0
