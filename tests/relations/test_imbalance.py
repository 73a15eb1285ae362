"""Weights and draws do what they say on average; priors move and are found again."""

import numpy as np
import pytest
from scipy.special import softmax

from helpers.relations.imbalance import (
    adjust_prior,
    class_weights,
    draw_by_weight,
    hard_negative_weights,
    label_shares,
)
from helpers.statistics import estimate_shares


def test_class_weights_keep_the_mean_and_favour_the_rare():
    gold = [0] * 90 + [1] * 9 + [2]
    weights = np.array(class_weights(gold, power=0.5))
    assert weights[gold].mean() == pytest.approx(1)
    assert weights[2] > weights[1] > weights[0]
    assert class_weights(gold, power=0) == [1.0] * 30
    assert weights[1] / weights[0] == pytest.approx((91 / 10) ** 0.5)


def test_hard_negatives_change_only_the_negatives():
    gold = np.array([0, 0, 0, 5])
    probs = np.full((4, 30), 0.0)
    probs[:, 0] = [0.9, 0.5, 0.1, 0.5]
    weights = hard_negative_weights(gold, probs)
    assert weights[3] == 1
    assert weights[:3] == pytest.approx(np.array([0.1, 0.5, 0.9]) / 0.5)
    assert hard_negative_weights([3, 4], probs[:2]).tolist() == [1, 1]


def test_draws_follow_the_weights_and_the_epoch():
    weights = np.array([0.25, 2.5, 1.0, 0.25])
    draw = draw_by_weight(weights, seed=3)
    counts = np.mean([np.bincount(draw(epoch), minlength=4) for epoch in range(4000)], axis=0)
    assert counts == pytest.approx(weights, abs=0.03)
    assert draw(7).tolist() == draw(7).tolist()
    assert sorted(draw_by_weight(np.ones(5))(0).tolist()) == [0, 1, 2, 3, 4]


def test_hard_negatives_change_what_an_epoch_draws():
    rng = np.random.default_rng(0)
    gold = np.where(rng.random(2000) < 0.6, 0, rng.integers(1, 30, 2000))
    probs = softmax(rng.normal(size=(2000, 30)) + 3 * np.eye(30)[0], axis=1)
    drawn = np.bincount(draw_by_weight(hard_negative_weights(gold, probs))(0), minlength=2000)
    negatives = np.flatnonzero(gold == 0)
    by_doubt = negatives[np.argsort(probs[negatives, 0])]
    assert drawn[by_doubt[:300]].mean() > 2 * drawn[by_doubt[-300:]].mean()
    assert drawn[gold > 0].sum() == pytest.approx((gold > 0).sum(), rel=0.02)


def test_prior_adjustment_is_bayes_rule():
    old, new = np.full(30, 1 / 30), label_shares([0] * 60 + [1] * 10)
    logits = np.log(np.random.default_rng(1).dirichlet(np.ones(30), size=5))
    want = np.exp(logits) * new / old
    assert softmax(adjust_prior(logits, old=old, new=new), axis=1) == pytest.approx(
        want / want.sum(axis=1, keepdims=True)
    )
    assert adjust_prior(logits, old=old, new=old) == pytest.approx(logits)


def test_shares_are_found_again_from_calibrated_logits():
    rng = np.random.default_rng(2)
    old, new = np.full(30, 1 / 30), np.append(0.6, np.full(29, 0.4 / 29))
    gold = rng.choice(30, size=8000, p=new)
    centres = rng.normal(size=(30, 12)) * 1.5
    seen = centres[gold] + rng.normal(size=(8000, 12))
    logits = -0.5 * ((seen[:, None, :] - centres) ** 2).sum(axis=2)  # exact log-likelihoods, prior `old`
    assert estimate_shares(softmax(logits, axis=1), old=old)[0] == pytest.approx(0.6, abs=0.02)
    assert softmax(logits, axis=1).mean(axis=0)[0] < 0.58
