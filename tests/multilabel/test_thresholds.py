"""Threshold rules against brute force over every cut point, with ties, saturation and degenerate classes."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import f1_score

from helpers.multilabel import thresholds
from helpers.multilabel.thresholds import (
    LEGACY_GRID,
    best_f1_threshold,
    expected_f1_threshold,
    hybrid_threshold,
    legacy_brent_threshold,
    legacy_grid_threshold,
    match_rate_threshold,
)

# Few distinct scores make ties the rule, exact floats make saturation and neighbours one ulp apart likely.
TIED = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5000000000000001, 0.9999999999999999, 1.0])
SCORE = st.one_of(TIED, st.floats(0.0, 1.0), st.floats(-1e6, 1e6))


@st.composite
def labelled(draw, scores=SCORE):
    n = draw(st.integers(1, 16))
    p = draw(hnp.arrays(np.float64, n, elements=scores))
    return draw(hnp.arrays(np.int64, n, elements=st.integers(0, 1))), p


def f1_at(y, p, threshold):
    predicted = p >= threshold
    denominator = predicted.sum() + y.sum()
    return 2.0 * (predicted & (y == 1)).sum() / denominator if denominator else 0.0


def every_cut(p):
    return np.append(np.unique(p), np.nextafter(p.max(), np.inf))


@settings(max_examples=2000, deadline=None)
@given(labelled())
@example((np.array([0, 0]), np.array([1.0, 1.0])))
@example((np.array([1, 0]), np.array([1.0, 1.0])))
def test_best_f1_equals_brute_force(case):
    y, p = case
    threshold, f1 = best_f1_threshold(y, p)
    assert f1 == max(f1_at(y, p, cut) for cut in every_cut(p))
    assert f1_at(y, p, threshold) == f1


def test_best_f1_equals_brute_force_on_longer_vectors():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        n = int(rng.integers(2, 200))
        p = rng.random(n).round(int(rng.integers(1, 4)))  # rounding plants ties
        y = (rng.random(n) < rng.random()).astype(int)
        threshold, f1 = best_f1_threshold(y, p)
        hits, predicted = (y @ (p[:, None] >= every_cut(p))), (p[:, None] >= every_cut(p)).sum(0)
        assert f1 == max(2.0 * hits / np.maximum(predicted + y.sum(), 1))
        assert f1_at(y, p, threshold) == f1


@settings(max_examples=300, deadline=None)
@given(labelled(), st.sampled_from([np.float32, np.float16]))
def test_best_f1_survives_a_narrow_comparison(case, dtype):
    """A threshold must decide the same when numpy compares it in the dtype of the scores."""
    y, p = case[0], (case[1] / 2e6).astype(dtype)
    threshold, f1 = best_f1_threshold(y, p)
    assert f1_at(y, p, threshold) == f1_at(y, p.astype(np.float64), threshold) == f1


@settings(max_examples=300, deadline=None)
@given(labelled(st.floats(0.001, 0.999)), st.integers(0, 1000))
def test_best_f1_ignores_row_order_and_monotone_rescaling(case, seed):
    y, p = case
    order = np.random.default_rng(seed).permutation(p.size)
    assert best_f1_threshold(y[order], p[order]) == best_f1_threshold(y, p)
    assert best_f1_threshold(y, p * 4.0) == (best_f1_threshold(y, p)[0] * 4.0, best_f1_threshold(y, p)[1])


def test_best_f1_known_values():
    assert best_f1_threshold([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.9]) == (0.4, 0.8)
    assert best_f1_threshold([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]) == (0.8, 1.0)
    assert best_f1_threshold([True, False], [0.0, 0.0]) == (0.0, 2 / 3)


def test_equal_optima_prefer_the_highest_threshold():
    # Two predictions or four: F1 = 2·1/(1+2) = 2·2/(4+2) = 2/3.
    assert best_f1_threshold([1, 0, 0, 1], [0.9, 0.5, 0.4, 0.3]) == (0.9, 2 / 3)


def test_a_class_without_positives_predicts_nothing():
    p = np.array([0.2, 1.0, 1.0])
    threshold, f1 = best_f1_threshold(np.zeros(3, int), p)
    assert f1 == 0.0 and not (p >= threshold).any()


def test_all_positive_predicts_everything():
    assert best_f1_threshold([1, 1, 1], [0.3, 0.2, 0.7]) == (0.2, 1.0)


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 1], [0.1, np.nan], "finite numbers, got nan at row 1"),
        ([0, 1], [-np.inf, 0.5], "finite numbers, got -inf at row 0"),
        ([0, 2], [0.1, 0.5], "expected 0 or 1, got .*2.* at row 1"),
        ([0, 0.5], [0.1, 0.5], "expected 0 or 1, got .*0.5.* at row 1"),
        ([0, 1, 1], [0.1, 0.5], "expected 2 of them"),
        ([], [], "non-empty vector"),
        ([[0], [1]], [[0.1], [0.5]], "pass one class"),
        ([0, 1], ["a", "b"], "expected numbers"),
    ],
)
def test_bad_input_is_refused(y, p, message):
    for rule in (best_f1_threshold, legacy_grid_threshold):
        with pytest.raises(ValueError, match=message):
            rule(y, p)


def test_integer_scores_are_welcome():
    assert best_f1_threshold([0, 0, 1], [1, 2, 3]) == (3.0, 1.0)


@settings(max_examples=1000, deadline=None)
@given(hnp.arrays(np.float64, st.integers(1, 16), elements=SCORE), st.floats(0.0, 1.0))
@example(np.array([0.5] * 10 + [0.1] * 90), 0.07)
@example(np.full(7, 1.0), 0.5)
def test_match_rate_is_the_nearest_attainable_share(p, rate):
    threshold = match_rate_threshold(p, rate)
    nearest = min(abs((p >= cut).mean() - rate) for cut in every_cut(p))
    assert abs((p >= threshold).mean() - rate) == pytest.approx(nearest, abs=1e-8)


def test_match_rate_is_exact_without_ties():
    p = np.random.default_rng(0).permutation(100) / 100
    for count in range(101):
        assert (p >= match_rate_threshold(p, count / 100)).sum() == count


def test_match_rate_keeps_a_rare_class_alive():
    p = np.random.default_rng(0).beta(0.3, 30, 764)
    rate = 28 / 764
    assert (p >= match_rate_threshold(p, rate)).sum() == 28
    assert (p >= match_rate_threshold(p, 0.5 / 764)).sum() == 1, "halfway, the larger share"


def test_halfway_is_halfway_although_29_hundredths_of_100_rows_are_28_point_9():
    p = np.array([0.9] * 27 + [0.5] * 4 + [0.1] * 69)
    assert 0.29 * 100 < 29 and match_rate_threshold(p, 0.29) == 0.5, "27 rows or 31: the larger share"


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_match_rate_refuses_what_is_no_share(rate):
    with pytest.raises(ValueError, match="between 0 and 1"):
        match_rate_threshold([0.1, 0.2], rate)


def test_hybrid_runs_from_the_rate_match_to_the_optimum():
    rng = np.random.default_rng(1)
    y, p = rng.integers(0, 2, 50), rng.random(50)
    assert hybrid_threshold(y, p, rate=0.3, weight=1.0) == best_f1_threshold(y, p)[0]
    assert hybrid_threshold(y, p, rate=0.3, weight=0.0) == match_rate_threshold(p, 0.3)
    halfway = (best_f1_threshold(y, p)[0] + match_rate_threshold(p, 0.3)) / 2
    assert hybrid_threshold(y, p, rate=0.3) == pytest.approx(halfway, abs=1e-15)
    with pytest.raises(ValueError, match="weight"):
        hybrid_threshold(y, p, rate=0.3, weight=1.5)


@settings(max_examples=500, deadline=None)
@given(hnp.arrays(np.float64, st.integers(1, 30), elements=st.one_of(TIED, st.floats(0.0, 1.0))))
def test_expected_f1_equals_brute_force(p):
    threshold, expected = expected_f1_threshold(p, p)

    def at(cut):
        predicted = p >= cut
        return 2.0 * p[predicted].sum() / max(predicted.sum() + p.sum(), 1e-300)

    assert expected == pytest.approx(max(at(cut) for cut in every_cut(p)), abs=1e-12)
    assert at(threshold) == pytest.approx(expected, abs=1e-12)


def test_expected_f1_cuts_calibrated_scores_at_half_the_optimum():
    """Lipton, Elkan & Naryanaswamy (2014): for calibrated scores the optimal threshold is F*/2."""
    p = np.linspace(0.0, 1.0, 100_001)
    threshold, expected = expected_f1_threshold(p, p)
    assert threshold == pytest.approx(expected / 2, abs=2e-5)


def test_expected_f1_with_hard_probabilities_is_the_f1_optimum():
    rng = np.random.default_rng(2)
    y, p = rng.integers(0, 2, 200), rng.random(200)
    assert expected_f1_threshold(p, y.astype(float)) == pytest.approx(best_f1_threshold(y, p), abs=1e-12)
    assert expected_f1_threshold([0.2, 0.3], [0.0, 0.0]) == (pytest.approx(0.3), 0.0)
    for outside in ([0.2, 1.3], [-0.1, 0.5]):
        with pytest.raises(ValueError, match="between 0 and 1"):
            expected_f1_threshold([0.2, 0.3], outside)


def test_expected_f1_cuts_between_scores_and_never_inside_a_tie():
    # Two predictions would be worth 3.4 / 3.7, but nothing tells the second row from the third.
    assert expected_f1_threshold([0.9, 0.5, 0.5], [0.9, 0.8, 0.0]) == pytest.approx((0.5, 3.4 / 4.7))


@settings(max_examples=8, deadline=None)
@given(labelled(st.one_of(TIED, st.floats(0.0, 1.0))))
def test_legacy_grid_equals_one_sklearn_call_per_point(case):
    y, p = case
    scores = [f1_score(y, p >= cut, zero_division=0.0) for cut in LEGACY_GRID]
    threshold, f1 = legacy_grid_threshold(y, p)
    assert f1 == pytest.approx(max(scores), abs=1e-12)
    assert threshold == LEGACY_GRID[int(np.argmax(scores))]


def test_the_legacy_grid_has_100_points():
    assert LEGACY_GRID.tolist() == pytest.approx([i / 99 for i in range(100)], abs=1e-15)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nothing_is_predicted_in_any_type_of_scores(dtype):
    p = np.array([0.1, 0.7], dtype=dtype)
    for threshold in (best_f1_threshold([0, 0], p)[0], match_rate_threshold(p, 0.0)):
        assert not (p >= threshold).any() and threshold == np.nextafter(p[1], dtype(1))


def test_the_exact_sweep_never_loses_to_the_grid():
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 50, 2000)  # a rare class: nearly all scores below the grid's second point
    y = (rng.random(2000) < p).astype(int)
    assert best_f1_threshold(y, p)[1] > legacy_grid_threshold(y, p)[1]


def test_legacy_brent_silences_a_rare_class():
    """The reason the control exists: its answer on a step function is far from the rate it was asked for."""
    p = np.random.default_rng(0).beta(1.0, 40, 764)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (p >= legacy_brent_threshold(p, 28 / 764)).sum() == 0
    assert (p >= match_rate_threshold(p, 28 / 764)).sum() == 28


def test_legacy_brent_finds_the_rate_of_scores_that_fill_the_scale():
    p = np.linspace(0.0, 1.0, 10_001)
    for rate in (0.3, 0.8):
        assert legacy_brent_threshold(p, rate) == pytest.approx(1 - rate, abs=1e-3)


def test_all_cutoffs_are_scikit_learns_curve():
    from sklearn.metrics import precision_recall_curve

    rng = np.random.default_rng(5)
    y, p = rng.random(300) < 0.2, rng.integers(0, 60, 300) / 60
    frame = thresholds.cutoffs(y, p)
    precision, recall, cuts = precision_recall_curve(y, p)
    assert frame["threshold"].to_numpy() == pytest.approx(cuts)
    assert frame["precision"].to_numpy() == pytest.approx(precision[:-1])
    assert frame["recall"].to_numpy() == pytest.approx(recall[:-1])
    assert frame.columns.tolist() == ["threshold", "true_positives", "predicted", "precision", "recall", "F1"]
    assert frame["predicted"].tolist() == [(p >= cut).sum() for cut in cuts]
    assert frame["true_positives"].tolist() == [(y & (p >= cut)).sum() for cut in cuts]
    best = thresholds.best_f1_threshold(y, p)
    assert frame.loc[frame["F1"].idxmax(), "F1"] == pytest.approx(best[1])


def test_certain_recall_by_hand():
    # Of n positives none may lie below the cut unless .8 ** n <= .05, which takes 14.
    assert thresholds.certain_recall_threshold([1] * 13, range(13), recall=0.8) == -np.inf
    assert thresholds.certain_recall_threshold([1] * 14 + [0], [*range(14), 99], recall=0.8) == 0.0
    assert thresholds.certain_recall_threshold([0, 0], [0.1, 0.2], recall=0.8) == -np.inf
    for shares in (
        {"recall": 1.0},
        {"recall": 0.0},
        *({"recall": 0.5, "confidence": c} for c in (0.0, 1.0, 1.5)),
    ):
        with pytest.raises(ValueError, match="recall and confidence"):
            thresholds.certain_recall_threshold([1], [0.5], **shares)


def test_certain_recall_is_kept_as_often_as_promised():
    """Scores of positives are uniform, so that the recall of a cut is 1 minus the cut."""
    rng = np.random.default_rng(0)
    for positives, recall in ((30, 0.8), (200, 0.9)):
        broken = 0
        for _ in range(2000):
            p = rng.random(positives + 50)
            y = np.arange(p.size) < positives
            broken += 1 - thresholds.certain_recall_threshold(y, p, recall=recall) < recall
        # Exact: the next cut up would break it too often, so the share is .05 at most, and not far below.
        assert 0.01 < broken / 2000 <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5


def test_certain_recall_is_what_learn_then_test_finds():
    from scipy.stats import binomtest

    rng = np.random.default_rng(1)
    y, p = rng.random(400) < 0.3, rng.random(400)
    hits = np.sort(p[y])
    passed = -np.inf
    for k, cut in enumerate(hits):  # from the lowest cut up, until a recall below .7 is not refuted
        missed = binomtest(k, hits.size, 0.3, alternative="less").pvalue
        if missed > 0.05:
            break
        passed = cut
    assert thresholds.certain_recall_threshold(y, p, recall=0.7) == passed
