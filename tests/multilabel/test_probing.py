"""Probes against planted truth: the true count is never missed, impossible scores are refused."""

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.multilabel.probing import (
    _told,
    attack,
    joint_counts,
    positives_from_score,
    probe,
    probe_bits,
    probe_score,
    read_scores,
    recover,
    rows_from_scores,
    split_prior,
    spread_groups,
    stratification_test,
    write_probes,
)
from helpers.multilabel.submissions import Leaderboard

TRAIN_COUNTS = [138, 300, 385, 157, 158, 1973, 483, 462, 512, 463]


def exact_score(b, n, k):
    return Fraction(2 * b, (n + b) * k)


@st.composite
def probed(draw):
    n = draw(st.integers(1, 6000))
    return draw(st.integers(0, n)), n, draw(st.integers(1, 40)), draw(st.integers(1, 7))


@settings(max_examples=1000, deadline=None)
@given(probed(), st.sampled_from([ROUND_HALF_EVEN, ROUND_HALF_UP]))
def test_the_true_count_is_never_missed(case, rounding):
    b, n, k, decimals = case
    with localcontext(prec=60):
        true = Decimal(2 * b) / Decimal((n + b) * k)
        score = float(true.quantize(Decimal(10) ** -decimals, rounding=rounding))
    assert b in positives_from_score(score, n, k, decimals)


@settings(max_examples=300, deadline=None)
@given(probed())
def test_candidates_are_exactly_the_counts_within_half_a_unit(case):
    b, n, k, decimals = case
    score = round(probe_score(b, n, k), decimals)
    counts = positives_from_score(score, n, k, decimals)
    half = Fraction(1, 2 * 10**decimals)
    for other in {0, n, b, counts[0], counts[-1], max(counts[0] - 1, 0), min(counts[-1] + 1, n)}:
        inside = abs(exact_score(other, n, k) - Fraction(str(score))) <= half + Fraction(1, 10**12)
        assert (other in counts) == inside


def test_a_tie_keeps_both_neighbours_of_the_printed_score():
    # b = 1 of n = 3, one class: F1 = 0.5 exactly prints 0 (half-even) or 1 (half-up) at no decimals.
    assert 1 in positives_from_score(0.0, 3, 1, 0)
    assert 1 in positives_from_score(1.0, 3, 1, 0)


@pytest.mark.parametrize("n", [1147, 1910, 3822])
def test_five_decimals_identify_every_class_and_three_do_not(n):
    for count in TRAIN_COUNTS:
        b = round(count * n / 3822)
        found = {
            decimals: positives_from_score(round(probe_score(b, n, 10), decimals), n, 10, decimals)
            for decimals in (3, 4, 5)
        }
        assert list(found[5]) == [b]
        assert b in found[4] and b in found[3]
        assert len(found[3]) > len(found[4]) >= 1


@pytest.mark.parametrize("score", [0.00001, 0.10001, 0.5, -0.001, 1.0, 0.05433])
def test_impossible_scores_have_no_count(score):
    assert len(positives_from_score(score, 1147, 10, 5)) == 0


def test_the_ends_of_the_scale():
    assert list(positives_from_score(0.0, 1147, 10, 5)) == [0]
    assert list(positives_from_score(0.1, 1147, 10, 5)) == [1147]
    assert [list(positives_from_score(score, 1, 1, 0)) for score in (0.0, 1.0)] == [[0], [1]]


def test_what_is_recovered_from_few_decimals_is_a_range_and_its_middle():
    counts = positives_from_score(0.013, 1147, 10, 3)
    (row,) = recover({"fud": 0.013}, n_rows=1147, n_classes=10, decimals=3).itertuples(index=False)
    assert (row.fewest, row.most, row.candidates) == (
        counts[0],
        counts[-1],
        len(counts),
    ) and row.candidates > 3
    assert row.rate == pytest.approx((counts[0] + counts[-1]) / 2 / 1147)


@pytest.mark.parametrize(
    ("score", "n", "k", "decimals"),
    [
        (float("nan"), 10, 10, 5),
        (float("inf"), 10, 10, 5),
        (0.1, 0, 10, 5),
        (0.1, 10, 0, 5),
        (0.1, 10, 10, -1),
    ],
)
def test_bad_arguments_are_refused(score, n, k, decimals):
    with pytest.raises(ValueError, match="expected"):
        positives_from_score(score, n, k, decimals)


def test_numpy_scores_read_like_python_ones():
    for b in (0, 7, 400, 1147):
        score = np.round(np.float64(probe_score(b, 1147, 10)), 5)
        assert list(positives_from_score(score, np.int64(1147), 10, 5)) == [b]


def planted(rng, n=1200):
    gold = (rng.random((n, 4)) < [0.04, 0.1, 0.3, 0.5]).astype(int)
    public = np.zeros(n, dtype=bool)
    public[rng.permutation(n)[: n // 3]] = True
    return Leaderboard(gold=gold, public=public, decimals=5)


def test_probing_a_leaderboard_recovers_the_planted_balance():
    board = planted(np.random.default_rng(0))
    scores = {f"c{i}": probe(board, [i]) for i in range(4)}
    frame = recover(scores, n_rows=int(board.public.sum()), n_classes=4, decimals=5)
    assert (frame["candidates"] == 1).all()
    assert frame["fewest"].tolist() == board.gold[board.public].sum(axis=0).tolist()
    assert len(board.history) == 4


def test_ten_probes_name_the_size_of_the_public_split():
    n = 1529
    scores = [round(probe_score(round(count * n / 3822), n, 10), 5) for count in TRAIN_COUNTS]
    assert rows_from_scores(scores, n_classes=10, decimals=5, candidates=range(500, 3000)) == [n]
    assert n in rows_from_scores(scores[:1], n_classes=10, decimals=5, candidates=range(500, 3000))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 4000), st.data())
def test_the_true_size_always_survives(n, data):
    counts = data.draw(st.lists(st.integers(0, n), min_size=1, max_size=5))
    scores = [round(probe_score(b, n, 10), 5) for b in counts]
    assert n in rows_from_scores(scores, n_classes=10, decimals=5, candidates=range(max(1, n - 5), n + 5))


def test_two_classes_share_a_probe_under_a_stratified_prior():
    n = 1147
    priors = [split_prior(c, total=3822, n_rows=n, stratified=True) for c in (138, 1973)]
    truth = [round(138 * n / 3822) + 1, round(1973 * n / 3822) - 1]
    score = round(sum(probe_score(b, n, 10) for b in truth), 5)
    frame = joint_counts(score, priors=priors, n_rows=n, n_classes=10, decimals=5)
    assert frame.loc[0, [0, 1]].tolist() == truth
    assert frame["probability"].sum() == pytest.approx(1.0)
    assert joint_counts(0.0, priors=priors, n_rows=n, n_classes=10, decimals=5).empty


def test_bits_are_the_entropy_of_the_printed_score():
    sharp = dict.fromkeys(range(8), 1.0)
    assert probe_bits([sharp], n_rows=1000, n_classes=1, decimals=5) == pytest.approx(3.0)
    assert probe_bits([sharp], n_rows=1000, n_classes=10, decimals=1) == pytest.approx(0.0)
    assert probe_bits([{3: 1.0, 400: 0.0}], n_rows=1000, n_classes=1, decimals=5) == pytest.approx(0.0)
    wide = split_prior(300, total=3822, n_rows=1147, stratified=False)
    narrow = split_prior(300, total=3822, n_rows=1147, stratified=True)
    options = {"n_rows": 1147, "n_classes": 10, "decimals": 5}
    assert probe_bits([wide], **options) > probe_bits([narrow], **options) > 0
    assert probe_bits([narrow, narrow], **options) < 2 * probe_bits([narrow], **options)


def test_split_priors_are_distributions_over_possible_counts():
    wide = split_prior(138, total=3822, n_rows=1147, stratified=False)
    assert sum(wide.values()) == pytest.approx(1.0, abs=1e-3)
    near = split_prior(300, total=3000, n_rows=100, stratified=True)
    assert near == {8: 0.04, 9: 0.25, 10: 1.0, 11: 0.25, 12: 0.04}
    assert split_prior(0, total=3822, n_rows=10, stratified=True) == {0: 1.0, 1: 0.25, 2: 0.04}
    assert split_prior(3822, total=3822, n_rows=10, stratified=True) == {8: 0.04, 9: 0.25, 10: 1.0}


def random_labels(rng, n):
    topic = rng.random((n, 1)) < 0.4  # labels that occur together deviate together
    return (rng.random((n, 6)) < np.where(topic, 0.3, 0.08)).astype(int)


def test_a_stratified_split_is_told_from_a_random_one():
    rng = np.random.default_rng(0)
    labels = random_labels(rng, 3000)
    proportional = np.round(labels.mean(axis=0) * 1000)
    assert stratification_test(proportional, n_rows=1000, labels=labels).p_random < 0.001
    random_p = [
        stratification_test(
            random_labels(rng, 1000).sum(axis=0), n_rows=1000, labels=labels, draws=2000
        ).p_random
        for _ in range(200)
    ]
    assert np.mean(np.array(random_p) < 0.05) < 0.12, "the test keeps its level on random splits"
    assert 0.35 < np.mean(random_p) < 0.65
    with pytest.raises(ValueError, match="says nothing"):
        stratification_test([0] * 6, n_rows=10, labels=np.zeros((50, 6)))
    for column, counts in ((0, [0, 5]), (1, [10, 5])):  # one class is never positive, or always
        with pytest.raises(ValueError, match="says nothing"):
            stratification_test(counts, n_rows=10, labels=np.array([[column, 0], [column, 1]] * 20))


def test_the_distance_of_a_split_by_hand():
    labels = np.zeros((400, 2), dtype=int)
    labels[:100, 0] = labels[50:250, 1] = 1
    exact = stratification_test([25, 50], n_rows=100, labels=labels)
    assert exact.distance == 0 and exact.p_random == pytest.approx(1 / 20_001)
    # The first class is 5 rows off; its pooled rate is 130 / 500.
    off = stratification_test([30, 50], n_rows=100, labels=labels, draws=500)
    assert off.distance == pytest.approx(25 / (100 * 0.26 * 0.74 * (1 + 100 / 400)) / 2)
    assert off == stratification_test([30, 50], n_rows=100, labels=labels, draws=500, seed=0)


def test_probe_files_travel_to_a_competition_and_back(tmp_path):
    sample = tmp_path / "sample.csv"
    pd.DataFrame({"id": ["x", "y"], "fud": [0, 1], "cliché, old": [1, 1]}).to_csv(sample, index=False)
    paths = write_probes(sample, tmp_path / "board" / "probes")
    assert write_probes(sample, tmp_path / "board" / "probes") == paths, "written again in its place"
    first = pd.read_csv(paths[0])
    assert first.columns.tolist() == ["id", "fud", "cliché, old"]
    assert first["fud"].tolist() == [1, 1] and first["cliché, old"].tolist() == [0, 0]
    sheet = tmp_path / "board" / "probes" / "scores.csv"
    with pytest.raises(ValueError, match="check fud"):
        read_scores(sheet)
    filled = pd.read_csv(sheet).assign(score=[0.33333, 0.5])
    filled.to_csv(sheet, index=False)
    assert read_scores(sheet) == {"fud": 0.33333, "cliché, old": 0.5}
    frame = recover(read_scores(sheet), n_rows=2, n_classes=2, decimals=5)
    assert frame["fewest"].tolist() == [1, 2]


def test_scores_that_no_count_explains_name_the_class_and_the_way_out(tmp_path):
    with pytest.raises(ValueError, match=r"fud: no whole number .* 1147 rows .* nearest are 0\.05426 \(427"):
        recover({"fud": 0.05433}, n_rows=1147, n_classes=10, decimals=5)
    with pytest.raises(ValueError, match=r"are 0\.09996 \(1146 positives\) and 0\.10000 \(1147 positives\)"):
        recover({"fud": 0.5}, n_rows=1147, n_classes=10, decimals=5)
    with pytest.raises(ValueError, match=r"are 0\.00000 \(0 positives\) and 0\.00017 \(1 positives\)"):
        recover({"fud": -0.5}, n_rows=1147, n_classes=10, decimals=5)
    (tmp_path / "s.csv").write_text("class,score\nfud,1.01\n")
    with pytest.raises(ValueError, match="check fud"):
        read_scores(tmp_path / "s.csv")
    (tmp_path / "s.csv").write_text("file,score\na,0.1\n")
    with pytest.raises(ValueError, match="no column class"):
        read_scores(tmp_path / "s.csv")
    (tmp_path / "bad.csv").write_text("id,fud\nx,0\nx,0\n")
    with pytest.raises(ValueError, match="unique ids"):
        write_probes(tmp_path / "bad.csv", tmp_path / "out")


def test_joint_probes_recover_a_proportional_split():
    rng = np.random.default_rng(3)
    labels = (rng.random((2600, 4)) < [0.04, 0.1, 0.3, 0.5]).astype(int)
    n_rows, rates = 600, labels.mean(axis=0)
    gold = np.zeros((900, 4), dtype=int)
    for c, rate in enumerate(rates):  # proportional to the row: the prior's centre is the truth
        gold[: round(rate * n_rows), c] = 1
    board, truth = Leaderboard(gold=gold, public=np.arange(900) < n_rows), gold.sum(axis=0)
    priors = [
        split_prior(int(count), total=len(labels), n_rows=n_rows, stratified=True)
        for count in labels.sum(axis=0)
    ]
    options, bits = {"n_rows": n_rows, "n_classes": 4, "decimals": 5}, {}
    for size in (1, 2):
        groups = spread_groups(rates, size)
        for group in groups:
            own = [priors[c] for c in group]
            likeliest = joint_counts(probe(board, group), priors=own, **options).iloc[0]
            assert likeliest[list(range(len(group)))].tolist() == truth[group].tolist()
        bits[size] = sum(probe_bits([priors[c] for c in group], **options) for group in groups)
    assert bits[2] <= bits[1] + 1e-9, "fewer submissions buy no more"
    assert len(board.history) == 6


def test_groups_mix_rare_and_frequent_classes():
    assert spread_groups([0.5, 0.1, 0.3, 0.2], 2) == [[1, 2], [3, 0]]
    assert sorted(c for group in spread_groups(np.arange(10), 3) for c in group) == list(range(10))


def defended(seed=0, rows=900, **defence):
    rng = np.random.default_rng(seed)
    labels = (rng.random((rows, 6)) < [0.4, 0.25, 0.15, 0.1, 0.06, 0.03]).astype(int)
    half = rows // 2
    public = np.arange(half) < half * 2 // 3
    return Leaderboard(gold=labels[:half], public=public, **defence), labels[half:]


def test_an_open_board_gives_all_counts_away_one_each():
    board, labels = defended()
    frame = attack(board, labels=labels, submissions=6)
    assert frame["submissions"].tolist() == [1, 2, 3, 4, 5, 6]
    assert frame["recovered"].iloc[-1] == 6 and frame["bits"].is_monotonic_increasing
    # All that could be known: minus log2 of the prior at the true counts.
    from scipy.stats import betabinom

    truth, n = board.gold[board.public].sum(axis=0), int(board.public.sum())
    positive = labels.sum(axis=0)
    prior = betabinom.logpmf(truth, n, positive + 0.5, len(labels) - positive + 0.5)
    assert frame["bits"].iloc[-1] == pytest.approx(-prior.sum() / np.log(2))


@pytest.mark.parametrize(
    ("earlier", "printed", "low", "high"),
    [
        ([], 0.05, 0.04, 0.06),  # the first: printed to a step
        ([0.05], 0.08, 0.02, 0.04),  # after an improvement
        ([0.05, 0.05], 0.08, 0.015, 0.04),  # after none: it may have grown before, unseen
        ([0.05, 0.05], 0.05, 0.0, 0.015),  # no improvement is seen
    ],
)
def test_what_a_step_of_the_ladder_admits(earlier, printed, low, high):
    board = SimpleNamespace(
        gold=np.zeros((5, 3)), noise=0.0, ladder=0.01, decimals=5, submit=lambda *_, **__: printed
    )
    board.history = [("", score, 0.0) for score in earlier]
    slack = 1e-5  # two roundings to five decimals
    scores = np.array([low - 1.2 * slack, low - 0.8 * slack, high + 0.8 * slack, high + 1.2 * slack])
    told = _told(board, [0, 1, 2], len(earlier), scores)
    assert told.tolist() == [-np.inf, 0.0, 0.0, -np.inf]
    assert _told(board, [0, 1], 2, scores).tolist() == [0.0] * 4, "all classes are in"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("step", [0.004, 0.01, 0.03])
def test_the_truth_is_never_excluded_by_what_the_ladder_prints(seed, step):
    board, labels = defended(seed, ladder=step)
    frame = attack(board, labels=labels, submissions=10)
    assert np.isfinite(frame["bits"]).all() and frame["bits"].is_monotonic_increasing
    open_board, _ = defended(seed)
    assert frame["bits"].iloc[-1] < attack(open_board, labels=labels, submissions=10)["bits"].iloc[-1]


def test_fewer_decimals_and_a_larger_step_leave_fewer_bits():
    def bits(**defence):
        board, labels = defended(**defence)
        return attack(board, labels=labels, submissions=6)["bits"].iloc[-1]

    assert bits() > bits(decimals=3) > bits(decimals=2) >= bits(decimals=1) >= 0
    assert bits(ladder=0.002) > bits(ladder=0.01) > bits(ladder=0.05)


def test_noise_is_averaged_away_and_a_limit_ends_it():
    boards = [defended(seed, noise=0.01) for seed in range(5)]
    runs = [attack(board, labels=labels, submissions=240)["bits"] for board, labels in boards]
    after_one, after_forty = (np.mean([run.iloc[at] for run in runs]) for at in (5, 239))
    # Forty readings are worth an error √40 times smaller: up to ½ log2 40 = 2.7 bits a class.
    assert 1.2 < (after_forty - after_one) / 6 < 2.7
    board, labels = defended(limit=4)
    assert len(attack(board, labels=labels, submissions=50)) == 4


def test_a_random_split_has_the_beta_binomial_between_its_outer_thousandths():
    from scipy.stats import betabinom

    prior = betabinom(100, 30.5, 270.5)
    got = split_prior(30, total=300, n_rows=100, stratified=False)
    assert list(got) == list(range(int(prior.ppf(1e-4)), int(prior.ppf(1 - 1e-4)) + 1))
    assert list(got.values()) == pytest.approx([prior.pmf(k) for k in got])


def test_what_explains_a_joint_probe_is_weighed_by_the_priors():
    priors = [{10: 1.0, 11: 3.0, 30: 9.0}, {10: 2.0, 11: 1.0}]
    score = round(float(exact_score(10, 100, 2) + exact_score(11, 100, 2)), 5)
    frame = joint_counts(score, priors=priors, n_rows=100, n_classes=2, decimals=5)
    assert frame[[0, 1]].to_numpy().tolist() == [[11, 10], [10, 11]], "the likelier first"
    assert frame["probability"].tolist() == pytest.approx([6 / 7, 1 / 7]) and frame.index.tolist() == [0, 1]


def test_a_probe_says_ones_for_its_classes_alone_and_leaves_its_name():
    board = planted(np.random.default_rng(1))
    seen = []
    plain = board.submit
    board.submit = lambda predicted, name: seen.append(predicted) or plain(predicted, name)
    score = probe(board, [0, 2])
    assert np.array_equal(seen[0], np.tile([1, 0, 1, 0], (1200, 1)))
    assert board.history[0][:2] == ("probe [0, 2]", score)


def test_a_sheet_with_scores_at_both_ends_is_read_and_one_without_classes_is_not_written(tmp_path):
    (tmp_path / "s.csv").write_text("class,score\n1,0\n02,1.0\n")
    assert read_scores(tmp_path / "s.csv") == {"1": 0.0, "02": 1.0}, "names stay text"
    (tmp_path / "s.csv").write_text("class,score\na,-0.1\nb,0.5\nc,many\n")
    with pytest.raises(ValueError, match=r"for every probe; check a, c$"):
        read_scores(tmp_path / "s.csv")
    (tmp_path / "s.csv").write_text("klass,skore\na,1\n")
    with pytest.raises(ValueError, match="no column class, score; keep the header"):
        read_scores(tmp_path / "s.csv")
    (tmp_path / "ids.csv").write_text("id\nx\n")
    with pytest.raises(ValueError, match="then one column per class"):
        write_probes(tmp_path / "ids.csv", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "sample.csv").write_text("id,a,b\nx,1,0\n")
    paths = write_probes(tmp_path / "sample.csv", tmp_path / "out")
    assert [path.name for path in paths] == ["probe_00.csv", "probe_01.csv"]
    assert paths[1].read_text() == "id,a,b\nx,0,1\n"
    assert (
        tmp_path / "out" / "scores.csv"
    ).read_text() == "file,class,score\nprobe_00.csv,a,\nprobe_01.csv,b,\n"


def test_a_table_of_what_was_recovered():
    frame = recover({"fud": 0.01258, "none": 0.0}, n_rows=1147, n_classes=10, decimals=5)
    assert frame.columns.tolist() == ["class", "score", "fewest", "most", "candidates", "rate"]
    assert frame.iloc[0].tolist() == ["fud", 0.01258, 77, 77, 1, pytest.approx(77 / 1147)]
    assert frame.iloc[1].tolist() == ["none", 0.0, 0, 0, 1, 0.0]


def test_bits_of_unequal_scores_by_hand():
    prior = {0: 1.0, 10: 2.0, 20: 1.0}
    assert probe_bits([prior], n_rows=100, n_classes=1, decimals=5) == pytest.approx(1.5)
    assert probe_bits([prior, {0: 1.0}], n_rows=100, n_classes=2, decimals=5) == pytest.approx(1.5)
    coarse = probe_bits([prior], n_rows=100, n_classes=1, decimals=0)  # 0, .18 and .33 all print 0
    assert coarse == pytest.approx(0.0)


def test_an_attack_asks_the_frequent_classes_first_and_again_where_there_is_noise():
    board, labels = defended(noise=1e-4)
    attack(board, labels=labels, submissions=8)
    order = np.argsort(-labels.sum(axis=0), kind="stable").tolist()
    assert [name for name, _, _ in board.history] == [f"probe [{c}]" for c in (*order, *order[:2])]
    ladder, labels = defended(ladder=0.01)
    attack(ladder, labels=labels, submissions=8)
    assert [name for name, _, _ in ladder.history] == [f"probe {order[: k + 1]}" for k in range(6)]
