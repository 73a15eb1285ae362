"""Calibration and prior shift on data whose true probabilities are planted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from helpers import statistics
from helpers.multilabel.calibration import cross_fitted, estimate_prior, isotonic, platt, shift_prior


@pytest.fixture(scope="module")
def planted():
    """Scores that overstate the truth: the true log-odds are half the scores' minus one."""
    rng = np.random.default_rng(0)
    x = rng.normal(0, 2, 20_000)
    truth = expit(0.5 * x - 1)
    return (rng.random(x.size) < truth).astype(int), expit(x), truth


@pytest.mark.parametrize(("fit", "error"), [(platt, 0.01), (isotonic, 0.03)])
def test_calibration_finds_the_planted_probabilities(planted, fit, error):
    y, p, truth = planted
    curve = fit(y[:10_000], p[:10_000])
    assert np.abs(curve(p[10_000:]) - truth[10_000:]).mean() < error
    assert (np.diff(curve(np.linspace(0, 1, 500))) >= -1e-12).all(), "the order of the scores is kept"


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.9])
def test_platt_equals_an_unpenalised_logistic_regression_on_softened_targets(rate):
    rng = np.random.default_rng(4)
    p = rng.beta(0.5, 2, 400)
    y = (rng.random(400) < expit(logit(rate) + 3 * p)).astype(int)
    soft = np.where(y == 1, (y.sum() + 1) / (y.sum() + 2), 1 / ((y == 0).sum() + 2))
    x = logit(np.clip(p, 1e-6, 1 - 1e-6))[:, None]
    oracle = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(
        np.vstack([x, x]), np.repeat([1, 0], 400), sample_weight=np.concatenate([soft, 1 - soft])
    )
    curve = platt(y, p)
    assert oracle.coef_[0, 0] > 0, "planted: the scores point the right way"
    assert curve(p) == pytest.approx(oracle.predict_proba(x)[:, 1], abs=1e-5)


@pytest.mark.parametrize("decimals", [1, 16], ids=["ties", "all different"])
def test_isotonic_equals_scikit_learn(decimals):
    rng = np.random.default_rng(2)
    p = rng.random(300).round(decimals)
    y = (rng.random(300) < p).astype(int)
    oracle = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(p, y)
    asked = np.linspace(-0.1, 1.1, 400)
    assert isotonic(y, p)(asked) == pytest.approx(oracle.predict(asked), abs=1e-12)


def test_cross_fitted_probabilities_are_out_of_sample(planted):
    y, p, truth = planted
    assert np.abs(cross_fitted(y, p) - truth).mean() < 0.01
    rng = np.random.default_rng(1)
    noise, labels = rng.random(200), rng.integers(0, 2, 200)
    inside = isotonic(labels, noise)(noise)
    outside = cross_fitted(labels, noise, fit=isotonic)
    assert np.corrcoef(inside, labels)[0, 1] > 0.1 > np.corrcoef(outside, labels)[0, 1]


@pytest.mark.parametrize("label", [0, 1])
def test_a_constant_class_stays_short_of_certainty(label):
    p = np.linspace(0.1, 0.9, 50)
    q = platt(np.full(50, label), p)(p)
    assert ((q > 0.0) & (q < 1.0)).all() and abs(q.mean() - label) < 0.05


def test_saturated_scores_have_finite_odds():
    q = platt([0, 1, 0, 1], [0.0, 1.0, 0.2, 0.8])(np.array([0.0, 1.0]))
    assert np.isfinite(q).all() and q[0] < q[1]


def test_reversed_scores_are_not_flipped():
    """A calibrator may flatten scores that point the wrong way, but never turns their order round."""
    p = np.linspace(0.01, 0.99, 400)
    q = platt((p < 0.5).astype(int), p)(p)
    assert q == pytest.approx(np.full(400, 0.5), abs=0.01)


@settings(max_examples=100, deadline=None)
@given(st.floats(0.001, 0.999), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_shifting_there_and_back_changes_nothing(q, old, new):
    there = shift_prior([q], old=old, new=new)
    assert shift_prior(there, old=new, new=old)[0] == pytest.approx(q, abs=1e-9)
    assert shift_prior([q], old=old, new=old)[0] == pytest.approx(q, abs=1e-12)
    assert (there[0] > q) == (new > old) or there[0] == pytest.approx(q)


def test_shift_prior_by_hand():
    # Odds 1 at balance 1/2; at balance 1/5 the prior odds are 1/4, so the odds become 1/4.
    assert shift_prior([0.5], old=0.5, new=0.2).tolist() == pytest.approx([0.2])
    assert shift_prior([0.0, 1.0], old=0.5, new=0.2).tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="cannot be re-weighted"):
        shift_prior([0.5], old=0.0, new=0.2)


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.6])
def test_em_recovers_a_planted_shift(planted, rate):
    y, p, _ = planted
    half = y.size // 2
    curve, old = platt(y[:half], p[:half]), y[:half].mean()
    positives, negatives = half + np.flatnonzero(y[half:]), half + np.flatnonzero(y[half:] == 0)
    size = min(positives.size / rate, negatives.size / (1 - rate))
    rows = np.concatenate([positives[: int(size * rate)], negatives[: int(size * (1 - rate))]])
    assert estimate_prior(curve(p[rows]), old=old) == pytest.approx(rate, abs=0.025)
    uncorrected = curve(p[rows]).mean()
    assert min(old, rate) < uncorrected < max(old, rate), "without EM the estimate stays near the old balance"


@pytest.mark.parametrize("old", [0.05, 0.5])
def test_the_estimated_rate_is_where_em_ends(old):
    rng = np.random.default_rng(3)
    for q in (rng.beta(0.5, 3, 500), rng.beta(3, 1, 500), np.full(50, 0.001), np.full(50, 0.999)):
        em = statistics.estimate_shares(np.stack([1 - q, q], axis=1), old=np.array([1 - old, old]))[1]
        assert estimate_prior(q, old=old) == pytest.approx(em, abs=1e-3)
