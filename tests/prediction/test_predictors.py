"""Kept models say what they said in training, alone and together, and only to rows that they understand."""

import functools
import itertools
import operator

import numpy as np
import pytest
from pytest import approx
from scipy.special import softmax

from helpers import corpora
from helpers.entities.tags import decode
from helpers.multilabel.spans import spans_of
from helpers.prediction import folders, predictors


def rows_of(kept, task):
    return list(corpora.load_unlabelled(kept.gold, task))


def test_relations_have_the_logits_of_training(relations):
    member, rows = folders.load(relations.folder), rows_of(relations, "relations")
    logits = predictors.logits_of_relations(member, rows)
    assert np.abs(logits - relations.said).max() < 1e-5
    found = predictors.answer([member], rows)
    assert found.probs == approx(softmax(relations.said / member.recipe.temperature, axis=1), abs=1e-6)
    assert found.names == ["관계없음", "복용", "처방"]
    one = found.records()[0]
    assert one["label"] in found.names and sum(one["probabilities"].values()) == approx(1, abs=1e-5)
    subject = rows[0]["subject_entity"]
    assert one["subject"] == {
        "start": subject["start_idx"], "end": subject["end_idx"] + 1, "text": subject["word"]
    }  # fmt: skip
    assert rows[0]["sentence"][one["subject"]["start"] : one["subject"]["end"]] == subject["word"]


def test_entities_have_the_tags_of_training(taggers):
    for kept in taggers:
        found = predictors.answer([folders.load(kept.folder)], rows_of(kept, "entities"))
        assert found.tags == decode(kept.said)
        for one in found.records():
            for span in one["entities"]:
                assert one["text"][span["start"] : span["end"]] == span["text"]
                assert 0 < span["probability"] <= 1 and span["label"] in ("약물", "질병")


def test_an_ensemble_averages_per_character_whatever_the_tokenizers(taggers):
    members = [folders.load(kept.folder) for kept in taggers]
    rows = rows_of(taggers[0], "entities")
    both, (one, other) = predictors.answer(members, rows), (predictors.answer([m], rows) for m in members)
    tags = [functools.reduce(operator.iadd, found.tags, []) for found in (both, one, other)]
    agreed = np.array([a == b == c for a, b, c in zip(*tags, strict=True)])
    mean, first, second = (np.concatenate(found.probs)[agreed] for found in (both, one, other))
    assert agreed.mean() > 0.5 and not np.allclose(first, second)
    assert mean == approx((first + second) / 2, abs=1e-6)


def test_classes_have_the_scores_of_training_and_probabilities_by_the_curves(posts):
    member = folders.load(posts.folder)
    found = predictors.answer([member], rows_of(posts, "multilabel"))
    cuts = np.array(member.recipe.thresholds)
    assert (found.decided == (posts.said >= cuts)).all()
    order = posts.said[:, 0].argsort()
    assert (np.diff(found.probs[order, 0]) >= 0).all() and not np.allclose(found.probs, posts.said)
    assert set(found.records()[0]["probabilities"]) == {"성별", "연령", "지역"}
    twice = predictors.answer([member, member], rows_of(posts, "multilabel"))
    assert (twice.decided == found.decided).all() and twice.probs == approx(found.probs)


def test_spans_are_those_of_training(triggers):
    found = predictors.answer([folders.load(triggers.folder)], rows_of(triggers, "multilabel"))
    cut = folders.load(triggers.folder).recipe.thresholds[0]
    bounds = np.cumsum([0, *map(len, triggers.texts)])
    wanted = [spans_of((triggers.said >= cut)[a:b]) for a, b in itertools.pairwise(bounds)]
    assert found.found == wanted and any(wanted)
    span = next(span for one in found.records() for span in one["spans"])
    assert {"start", "end", "text", "probability"} == set(span)


def test_members_must_answer_the_same_question(relations, posts):
    members = [folders.load(kept.folder) for kept in (relations, posts)]
    with pytest.raises(ValueError, match=r"relations and posts cannot be averaged: one answers relations"):
        predictors.answer(members, [])
    with pytest.raises(ValueError, match="at least one"):
        predictors.answer([], [])
