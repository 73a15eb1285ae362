"""One comparison for all notebooks: systems × seeds × items in, a decision out."""

import numpy as np
import pytest
from pytest import approx

from helpers import statistics
from helpers.statistics import Design, compare, contrast, estimate, regrouped, share


def runs(values, *, items=200, seed=0):
    """Statistics (seeds, items, 2) of runs whose share of hits is about these values, in percent."""
    rng = np.random.default_rng(seed)
    hits = rng.random((len(values), items)) < np.array(values)[:, None] / 100
    return np.stack([100.0 * hits, np.ones(hits.shape)], axis=-1)


def test_a_figure_by_hand_has_the_spread_of_its_rows_and_of_its_seeds():
    stats = np.array([[[1, 1], [0, 1], [1, 1], [0, 1]], [[1, 1], [1, 1], [1, 1], [1, 1]]], dtype=float)
    design = estimate(stats)
    assert design.value == approx(0.75)
    assert design.seeds == approx(np.var([0.5, 1.0], ddof=1) / 2)
    mean = stats[..., 0].mean(axis=0)
    together = mean.var(ddof=1) / 4  # the jackknife of a mean is the variance of the mean
    both = (np.mean([stats[s, :, 0].var(ddof=1) / 4 for s in (0, 1)]) - together) / 1
    assert design.interaction == approx(both)
    assert design.rows == approx(together - both)


def test_one_run_has_the_rows_alone_and_never_decides():
    frame = compare({"good": runs([90]), "bad": runs([10], seed=1)}, margin=200)
    assert frame["decision"].tolist() == ["undecided"]
    assert frame["difference"][0].low > 60 and frame["p"][0] < 1e-6
    assert estimate(runs([90])).interval() == estimate(runs([90])[0]).interval()


def test_every_pair_is_compared_or_each_with_the_reference():
    systems = {name: runs([50, 51, 52], seed=i) for i, name in enumerate("abc")}
    every = compare(systems)
    assert list(zip(every["system"], every["than"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    against = compare(systems, reference="b")
    assert list(zip(against["system"], against["than"], strict=True)) == [("a", "b"), ("c", "b")]
    assert against["p_holm"].tolist() == approx(statistics.holm(against["p"]))
    with pytest.raises(ValueError, match="'z' is not among the systems"):
        compare(systems, reference="z")


def test_the_decision_has_four_outcomes():
    low, high = runs([30, 31, 29], items=4000), runs([60, 59, 61], items=4000, seed=1)
    assert compare({"a": high, "b": low})["decision"].tolist() == ["better"]
    assert compare({"a": low, "b": high})["decision"].tolist() == ["worse"]
    twin = runs([30, 31, 29], items=4000, seed=2)
    assert compare({"a": low, "b": twin})["decision"].tolist() == ["undecided"]
    assert compare({"a": low, "b": twin}, margin=10)["decision"].tolist() == ["equivalent"]
    assert compare({"a": low, "b": low})["p"].tolist() == [1.0]


def test_exchanging_the_systems_turns_the_difference_round():
    a, b = runs([50, 53, 47]), runs([55, 58, 50], seed=3)
    there, back = compare({"a": a, "b": b}), compare({"b": b, "a": a})
    assert tuple(there["difference"][0]) == approx([-x for x in np.array(back["difference"][0])[[0, 2, 1]]])
    assert there["p"][0] == approx(back["p"][0]) and there["detectable"][0] == approx(back["detectable"][0])


def test_items_and_seeds_must_match():
    with pytest.raises(ValueError, match=r"a has \(seeds, items\) \(2, 200\), b \(3, 200\)"):
        compare({"a": runs([50, 50]), "b": runs([50, 50, 50])})
    with pytest.raises(ValueError, match="no spread"):
        estimate(np.ones((3, 1, 2)))


def test_clusters_are_left_out_whole():
    stats = runs([40, 45, 50], items=60)
    copies = np.repeat(stats, 5, axis=1)
    names = np.repeat(np.arange(60), 5)
    plain, clustered = estimate(stats), estimate(copies, clusters=names)
    assert clustered == approx(plain)
    assert estimate(copies).rows < plain.rows


def test_p_and_interval_agree():
    rng = np.random.default_rng(0)
    for _ in range(50):
        design = Design(rng.normal(), *rng.random(2), 0.0, int(rng.integers(5, 500)), 4)
        low, high = design.interval()[1:]
        assert (design.p() < 0.05) == (low > 0 or high < 0)
        assert design.p_above(low) == approx(0.025, abs=1e-6)
        assert design.p_above(high) == approx(0.975, abs=1e-6)


def test_p_of_one_source_is_students():
    from scipy.stats import t

    rows_only = Design(1.3, rows=0.36, seeds=0.0, interaction=0.0, row_units=12, seed_units=1)
    assert rows_only.p() == approx(2 * t.sf(1.3 / 0.6, 11))
    assert rows_only._replace(value=1e6).p() <= 1e-10
    assert Design(0.0, 0.0, 0.0, 0.0, 9, 3).p() == 1 and Design(2.0, 0.0, 0.0, 0.0, 9, 3).p() == 0


def test_a_system_is_compared_with_itself_in_every_cut_of_its_seeds():
    frame = statistics.against_itself(runs([50, 51, 49, 50, 52, 48]))
    assert len(frame) == 10 and frame["alarm"].sum() <= 2
    shifted = runs([20, 20, 80, 80], items=2000)
    assert statistics.against_itself(shifted)["difference"][0].value == approx(-60, abs=4)
    with pytest.raises(ValueError, match="got 3"):
        statistics.against_itself(runs([50, 50, 50]))


def test_power_grows_with_the_difference_and_is_point_eight_at_the_detectable_one():
    design = Design(0.0, rows=0.4, seeds=0.3, interaction=0.1, row_units=100, seed_units=3)
    assert design.power(design.detectable()) == approx(statistics.POWER, abs=1e-3)
    assert design.power(0.0) <= 0.05 < design.power(1.0) < design.power(3.0) < design.power(9.0)
    assert (
        design._replace(seed_units=1).power(100.0) == 0
        and design._replace(seed_units=1).detectable() == np.inf
    )
    assert Design(0.0, 0.0, 0.0, 0.0, 9, 3).power(0.1) == 1


def test_power_of_one_source_is_students():
    from scipy.stats import nct, t

    seeds_only = Design(0.0, rows=0.0, seeds=1.0, interaction=0.0, row_units=500, seed_units=5)
    want = nct.sf(t.isf(0.025, 4), 4, 3.0) + nct.cdf(-t.isf(0.025, 4), 4, 3.0)
    assert seeds_only.power(3.0) == approx(want, abs=2e-3)


def test_a_bias_stretches_a_level_to_its_side_and_leaves_differences_alone():
    scores = np.random.default_rng(0).normal(size=40)

    def biased(kept):  # the variance without its correction is too small, by one part in n
        return float(scores[kept].var())

    level = estimate(regrouped(biased, 40, groups=40))
    assert level.bias == approx(-scores.var(ddof=1) / 40, rel=1e-6)
    plain = level._replace(bias=0.0).interval()
    assert level.interval() == approx((plain.value, plain.low, plain.high - level.bias))
    assert contrast(*[regrouped(biased, 40)] * 2).interval() == (0, 0, 0)


def test_the_plan_scales_with_rows_and_seeds():
    design = Design(1.0, rows=0.4, seeds=0.3, interaction=0.1, row_units=100, seed_units=3)
    assert design.planned(rows=100, seeds=3) == approx(design)
    more = design.planned(rows=400, seeds=6)
    assert more.rows == approx(0.1) and more.interaction == approx(0.1 / 8)
    assert more.seeds == approx(0.1 + 0.1 / 8)
    assert more.detectable() < design.detectable()


def test_a_share_without_clusters_is_close_to_wilsons():
    stats = np.stack([np.r_[np.ones(30), np.zeros(270)], np.ones(300)], axis=1)
    assert tuple(share(stats)) == approx(tuple(statistics.wilson(30, 300)), abs=0.002)
    in_ten = np.repeat(np.arange(10), 5)
    none = np.stack([np.zeros(50), np.ones(50)], axis=1)
    assert share(none, clusters=in_ten).high > 3 * share(none).high  # ten documents, not fifty items
    nothing = share(none)
    assert nothing.value == 0 and nothing.low == approx(0) and 0.05 < nothing.high < 0.1


def test_scoring_again_without_groups_equals_the_jackknife_of_single_rows():
    stats = runs([40, 55], items=30)
    by_hand = regrouped(lambda kept: statistics.ratio(stats[:, kept].sum(axis=1)), 30, groups=30)
    assert by_hand.design() == approx(estimate(stats))
    with pytest.raises(ValueError, match="0/0"):
        regrouped(lambda kept: np.nan, 10)


def test_groups_keep_clusters_whole():
    clusters = np.repeat(list("abcdef"), 5)
    seen = []
    regrouped(
        lambda kept: seen.append(set(clusters[~kept]) & set(clusters[kept])) or 0.0, 30, clusters=clusters
    )
    assert len(seen) == 7 and not any(seen)


def test_a_fitted_threshold_carries_its_own_uncertainty():
    rng = np.random.default_rng(2)
    scores = rng.random(60)
    gold = rng.random(60) < scores

    def refitted(kept):
        cuts = np.quantile(scores[kept], np.linspace(0, 0.9, 10))
        return max(np.mean((scores[kept] >= cut) == gold[kept]) for cut in cuts)

    cut = max(np.quantile(scores, np.linspace(0, 0.9, 10)), key=lambda c: np.mean((scores >= c) == gold))
    fixed = np.stack([(scores >= cut) == gold, np.ones(60)], axis=1)
    assert regrouped(refitted, 60, groups=60).design().rows > 1.1 * estimate(fixed).rows


def test_systems_with_a_role_get_no_verdict_and_leave_the_family_alone():
    low, high = runs([30, 31, 29], items=4000), runs([60, 59, 61], items=4000, seed=1)
    systems = {"a": low, "b": high, "told the answer": high}
    frame = compare(systems, reference="a", roles={"told the answer": "oracle"})
    assert frame["decision"].tolist() == ["better", "oracle"]
    assert frame["p_holm"].tolist() == approx([frame["p"][0], np.nan], nan_ok=True)
    with pytest.raises(ValueError, match="roles must be of baseline, control, oracle"):
        compare(systems, roles={"a": "judge"})


def test_the_plan_asks_for_more_rows_or_seeds_the_smaller_the_difference():
    design = Design(0.0, rows=0.4, seeds=0.3, interaction=0.1, row_units=1000, seed_units=3)
    table = statistics.plan(design, differences=(1, 3), seeds=(3, 8))
    assert table["difference"].tolist() == ["±1", "±3"]
    assert table["rows, 3 seeds"].isna().tolist() == [True, False], "seeds alone hide one point"
    needed = int(table["rows, 8 seeds"][1])
    assert needed < table["rows, 3 seeds"][1]
    assert design.planned(rows=needed, seeds=8).detectable() <= 3
    assert design.planned(rows=needed - 1, seeds=8).detectable() > 3


def test_the_quantile_is_cochrans_mean_of_two_of_students():
    from scipy.stats import t

    design = Design(1.0, rows=3.0, seeds=1.0, interaction=0.0, row_units=21, seed_units=4)
    want = 0.75 * t.isf(0.025, 20) + 0.25 * t.isf(0.025, 3)
    assert design.error == 2.0 and design.critical(0.025) == approx(want)
    assert design.interval() == approx((1, 1 - 2 * want, 1 + 2 * want))
    assert design._replace(bias=0.5).interval() == approx((1, 0.5 - 2 * want, 1 + 2 * want))
    assert design._replace(bias=-0.5).interval() == approx((1, 1 - 2 * want, 1.5 + 2 * want))
    one_seed = design._replace(seeds=0.0, seed_units=1)
    assert one_seed.critical(0.025) == approx(t.isf(0.025, 20))
    assert design._replace(rows=0.0, row_units=2).critical(0.1) == approx(t.isf(0.1, 3))
    assert Design(0.0, 0.0, 0.0, 0.0, 21, 4).critical(0.025) == approx(t.isf(0.025, 20))


def test_one_sided_p_values():
    from scipy.stats import t

    design = Design(2.0, rows=1.0, seeds=0.0, interaction=0.0, row_units=16, seed_units=1)
    assert design.p_above(1.0) == approx(t.sf(1.0, 15)) and design.p_above(3.0) == approx(t.sf(-1.0, 15))
    assert design.p_above(2.0) == approx(0.5) and design.p() == approx(2 * t.sf(2.0, 15))
    assert design.p_above(-1e9) == statistics.TINY == 1e-15
    sure = Design(2.0, 0.0, 0.0, 0.0, 9, 3)
    assert (sure.p_above(1.9), sure.p_above(2.0), sure.p_above(2.1)) == (0.0, 1.0, 1.0)


def test_power_is_how_often_a_difference_is_found():
    """Draw the value and both variances many times, and decide each time as `compare` does."""
    rng, n = np.random.default_rng(0), 200_000
    design = Design(0.0, rows=0.4, seeds=0.3, interaction=0.0, row_units=30, seed_units=4)
    rows, seeds = 0.4 * rng.chisquare(29, n) / 29, 0.3 * rng.chisquare(3, n) / 3
    needed = design._critical(0.025, rows, seeds) * np.sqrt(rows + seeds)
    for difference in (0.0, 1.0, 2.5):
        found = np.abs(difference + design.error * rng.normal(size=n)) > needed
        assert design.power(difference) == approx(found.mean(), abs=0.006)
    sure = Design(0.0, 0.0, 0.0, 0.0, 9, 3)
    assert sure.power(0.0) == 0 and sure.power(-0.1) == 1 and sure.detectable() == 0
    two = design._replace(seed_units=2)
    assert two.power(100.0) > 0.9 and two.detectable() < 100, "two seeds may decide"


def test_seeds_that_disagree_on_rows_leave_nothing_to_the_rows():
    hits = np.array([[1, 0] * 10, [0, 1] * 10], dtype=float)  # one is right where the other is wrong
    design = estimate(np.stack([hits, np.ones_like(hits)], axis=-1))
    assert design.rows == 0 and design.seeds == 0 and design.interaction == approx(0.25 / 19)
    assert design.planned(rows=40, seeds=2) == approx(Design(0.5, 0.0, 0.125 / 19, 0.125 / 19, 40, 2)), (
        "the seeds' own part is never below 0"
    )


def wilson_by_hand(share, items, z):
    middle = (share + z**2 / (2 * items)) / (1 + z**2 / items)
    half = z / (1 + z**2 / items) * np.sqrt(share * (1 - share) / items + z**2 / (4 * items**2))
    return share, max(0, middle - half), min(1, middle + half)


def hits_and_items(*hits, of):
    return np.stack([np.concatenate([np.arange(of) < k for k in hits]), np.ones(of * len(hits))], axis=1)


def test_a_share_counts_as_many_items_as_its_spread_amounts_to():
    from scipy.stats import t

    plain = np.stack([np.arange(300) < 30, np.ones(300)], axis=1)
    assert share(plain) == approx(wilson_by_hand(0.1, 299, t.isf(0.025, 299)))
    assert share(plain * [0, 1]) == approx(wilson_by_hand(0.0, 300, t.isf(0.025, 299)))
    everything = share(np.ones((300, 2)))
    assert everything == approx(wilson_by_hand(1.0, 300, t.isf(0.025, 299))) and everything.high <= 1
    # Ten items in each of 20 documents: hits in two of them, or misses in two of them.
    documents = np.repeat(np.arange(20), 10)
    rare = hits_and_items(5, 4, *[0] * 18, of=10)
    variance = np.var([0.5, 0.4, *[0] * 18], ddof=1) / 20
    want = wilson_by_hand(0.045, 0.045 * 0.955 / variance, t.isf(0.025, 5))
    assert share(rare, clusters=documents) == approx(want)
    often = np.stack([rare[:, 1] - rare[:, 0], rare[:, 1]], axis=1)
    mirrored = (1 - want[0], 1 - want[2], 1 - want[1])
    assert share(often, clusters=documents) == approx(mirrored)


def test_a_share_of_nothing_counts_documents_where_they_hold_two_items_or_more():
    from scipy.stats import t

    pairs, documents = np.tile([0.0, 1.0], (20, 1)), np.repeat(np.arange(10), 2)
    assert share(pairs, clusters=documents) == approx(wilson_by_hand(0.0, 10, t.isf(0.025, 9)))
    fewer = share(pairs[:-1], clusters=documents[:-1])
    assert fewer == approx(wilson_by_hand(0.0, 19, t.isf(0.025, 9)))


def test_a_share_that_is_the_same_in_every_document_counts_documents():
    from scipy.stats import t

    stats, documents = hits_and_items(*[1] * 10, of=2), np.repeat(np.arange(10), 2)
    assert share(stats, clusters=documents) == approx(wilson_by_hand(0.5, 10, t.isf(0.025, 9)))


def test_a_share_of_several_seeds_is_that_of_their_mean():
    stats = np.stack([hits_and_items(2, 0, 3, 1, of=4), hits_and_items(2, 2, 3, 3, of=4)])
    assert share(stats).value == approx(0.5)
    clusters = np.repeat(np.arange(4), 4)
    assert share(np.stack([stats[0]] * 2), clusters=clusters).value == approx(6 / 16)


def test_fifty_groups_of_nearly_one_size_are_left_out_by_chance():
    masks = []
    found = regrouped(lambda kept: masks.append(kept) or float(kept.sum()), 120)
    assert found.values.tolist() == [120] and found.left_out.shape == (1, 50)
    left_out = 120 - np.array(masks).sum(axis=1)
    assert sorted(left_out.tolist()) == [0, *[2] * 30, *[3] * 20]
    assert (~np.array(masks)).sum(axis=0).tolist() == [1] * 120, "every row once"
    first = np.flatnonzero(~masks[1])
    assert len(set(np.diff(first))) == 2 or np.diff(first)[0] != 50, "not every fiftieth"
    again, other = [], []
    regrouped(lambda kept: again.append(kept) or 0.0, 120)
    regrouped(lambda kept: other.append(kept) or 0.0, 120, seed=1)
    assert np.array_equal(again, masks) and not np.array_equal(other, masks)


def test_every_cut_of_the_seeds_by_hand():
    hits = np.zeros((4, 10))
    for seed, count in enumerate((1, 2, 4, 8)):
        hits[seed, :count] = 1
    stats = np.stack([hits, np.ones_like(hits)], axis=-1)
    frame = statistics.against_itself(stats)
    assert [round(one.value, 9) for one in frame["difference"]] == [-0.45, -0.25, 0.15]
    assert frame["alarm"].tolist() == (frame["p"] < 0.05).tolist()
    want = contrast(stats[:2], stats[2:])
    assert frame["p"][0] == approx(want.p()) and frame["difference"][0] == approx(want.interval())
    for count in (2, 5):
        with pytest.raises(ValueError, match=f"got {count}"):
            statistics.against_itself(runs([50] * count))


def test_the_decision_at_its_boundaries():
    sure = Design(1.0, rows=1e-6, seeds=1e-6, interaction=0.0, row_units=100, seed_units=2)
    decide = statistics._decision
    assert decide(sure, 0.0499, None) == "better" and decide(sure, 0.05, None) == "undecided"
    assert decide(sure._replace(value=-1.0), 0.01, None) == "worse"
    assert decide(sure, 0.01, 2.0) == "equivalent", "a difference that does not matter, however sure"
    assert decide(sure._replace(value=-1.0), 0.01, 2.0) == "equivalent"
    assert (
        decide(sure, 0.01, 0.5) == "better" and decide(sure._replace(seed_units=1), 0.0, 2.0) == "undecided"
    )
    # Two one-sided tests at .05: the 90 % interval must lie within the margin.
    edge = sure.critical(0.05) * sure.error
    assert decide(sure, 0.5, 1 + 1.001 * edge) == "equivalent"
    assert decide(sure, 0.5, 1 + 0.999 * edge) == "undecided"
    assert decide(sure._replace(value=-1.0), 0.5, 1 + 0.999 * edge) == "undecided"


def test_the_plan_unless_told_otherwise():
    design = Design(0.0, rows=0.4, seeds=1e-6, interaction=0.0, row_units=1000, seed_units=3)
    table = statistics.plan(design)
    assert list(table.columns) == ["difference", *(f"rows, {n} seeds" for n in (3, 5, 8, 16))]
    assert table["difference"].tolist() == ["±0.3", "±1", "±3"]
    assert set(table.dtypes[1:].astype(str)) == {"Int64"}, "whole rows, and none where none would do"
    assert statistics.plan(design, differences=[1e9], seeds=[3]).iloc[0, 1] == 2, "rows that can differ"
    hopeless = design._replace(seeds=9.0)
    assert statistics.plan(hopeless, differences=[0.1], seeds=[3]).isna().iloc[0, 1]


def test_bad_clusters_and_scores_are_counted():
    with pytest.raises(ValueError, match="score is NaN in 1 of 2 cases"):
        estimate(np.ones((2, 3, 2)), lambda sums: np.where(np.arange(2) == 1, np.nan, 1.0))
    with pytest.raises(ValueError, match="stats has 3 rows but clusters has 2"):
        share(np.ones((3, 2)), clusters=[0, 1])
