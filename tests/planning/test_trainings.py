"""How many runs of what a suite has, and how many steps."""

from collections import Counter
from dataclasses import replace

import pytest

from helpers.batch import plans
from helpers.planning import estimates
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def paper() -> dict[str, Counter]:
    return {plan.name[:2]: plans.trainings(plan) for plan in plans.make(ROOT / "params" / "paper")}


def runs(found: Counter) -> Counter:
    counted: Counter = Counter()
    for training, number in found.items():
        counted[training.sweep] += number
    return counted


def test_the_paper_suite_has_the_studies_runs(paper):
    assert not paper["01"]
    # 7 tokenizers and the legacy input with 5 seeds, 5 more for the control; 29 published cells
    assert runs(paper["02"]) == {"02-tokenizers": 45, "02-grid": 145, "02-legacy": 29, "02-final": 5}
    # 9 schemes, 4 other poolings, 2 legacy inputs, 5 variants with 3 seeds, and 3 for the control
    assert runs(paper["03"]) == {"markers": 63}
    # two architectures with 8 seeds, again with a decaying rate, head only and two weights of O
    assert runs(paper["04"]) == {"entity-taggers": 56}
    # 4 draws of 5 folds, 3 with 10 pairs; 2 more seeds of decoder and 3 of encoder; 3 taggers
    assert runs(paper["05"]) == {"techniques": 55, "trigger-spans": 3}
    # two curricula at two lengths with 3 seeds and one control, three parents with 3 seeds
    assert runs(paper["06"]) == {"06-runs": 22}


def test_steps_are_those_of_the_studies(paper):
    steps = {(t.sweep, t.length, t.epochs, t.batch): t.steps for t in paper["04"]}
    assert steps["entity-taggers", 108, 10, 32] == 10 * 591  # nine tenths of 21,008 sentences
    by_curriculum = sorted({t.steps for t in paper["06"] if not t.phase})
    assert by_curriculum[0] == pytest.approx(655, rel=0.05)
    assert by_curriculum[-1] == pytest.approx(1980, rel=0.05)


def test_what_the_studies_published_of_their_settings_is_in_the_paper_suite(paper):
    cells: Counter = Counter()
    for training, number in paper["02"].items():
        if training.sweep == "02-legacy":
            cells[training.epochs] += number
    assert cells == {5: 26, 10: 3}
    values = {plan.name[:2]: plan.values for plan in plans.make(ROOT / "params" / "paper")}
    assert not any(values["04"]["recipe"].values())  # warm-up, decay, clipping
    decoder = values["05"]["decoder"]
    assert (decoder["max_tokens"], decoder["head"], decoder["pooling"]) == (2560, "linear", "last")
    assert {t.batch * t.accumulate for t in paper["05"] if t.lora_rank} == {32}


def test_the_masked_models_of_the_paper_suite_fit_80_gb_and_recomputed_24(paper):
    (longest,) = {replace(t, rows=1, epochs=1, scored=0, phase="") for t in paper["06"] if t.length == 2048}
    assert estimates.cost(longest).peak < 40e9
    assert estimates.cost(replace(longest, recompute=True)).fits("L4")


def test_the_longest_notebook_of_the_small_suite_takes_less_than_an_hour_on_a_t4(tmp_path, monkeypatch):
    monkeypatch.setenv("NUNCHI_CACHE", str(tmp_path))  # no measured efficiency
    (plan,) = plans.make(ROOT / "params" / "small-gpu", only=["03"])
    costs = [estimates.cost(*pair) for pair in plans.trainings(plan).items()]
    assert all(one.fits("T4") for one in costs)
    assert estimates.makespan(costs, card="T4", gpus=1) < 50 / 60  # the rest reads and intervenes


def test_a_notebook_without_a_plan_trains_nothing():
    (plan,) = plans.make(ROOT / "params" / "smoke", only=["template"])
    assert plans.trainings(plan) == Counter()


def test_pretraining_counts_its_tokens():
    (plan,) = plans.make(ROOT / "params" / "smoke", only=["03"])
    (one,) = [training for training in plans.trainings(plan) if training.sweep == "pretrained"]
    assert (one.model, one.rows, one.epochs) == ("bilstm", 300, 1)
    assert one.batch * one.length == pytest.approx(1024, rel=0.05)  # tokens of a step


def test_fine_tuned_snapshots_are_scored_on_the_rows_that_the_notebook_asks_for():
    (plan,) = plans.make(ROOT / "params" / "smoke", only=["06"])
    scored = []
    for dev_rows in (2000, 500):
        plan.values["fine_tuning"]["dev_rows"] = dev_rows
        (one,) = {t.scored for t in plans.trainings(plan) if t.sweep == "06-reading"}
        scored.append(one)
    assert scored[0] - scored[1] == 1500


def test_encoders_of_one_kind_of_text_and_what_is_fine_tuned_on_them_are_counted():
    (plan,) = plans.make(ROOT / "params" / "klue", only=["06"])
    found = plans.trainings(plan)
    counted, (one,) = runs(found), [t for t in found if t.sweep == "pretrained" and t.epochs == 8]
    # five kinds of text, and nothing, for three seeds; 03's encoder is the sixth
    assert counted["06-domains"] == counted["06-domain-taggers"] == 18 and counted["pretrained"] == 6
    assert one.rows * one.length == pytest.approx(140_000, rel=0.01)
    (tagger,) = {(t.rows, t.epochs, t.averages) for t in found if t.sweep == "06-domain-taggers"}
    assert tagger == (3600, 4, 0)


def test_a_schedule_free_optimizer_holds_one_more_copy_of_the_weights():
    (plan,) = plans.make(ROOT / "params" / "small-gpu", only=["04"])
    averages = Counter()
    for training, number in plans.trainings(plan).items():
        averages[training.averages] += number
    # 2 architectures with 3 seeds and one more run average their weights; the optimizer of 6 more runs does
    assert averages[5] == 7 and averages[1] == 6
