"""Averages of a trajectory equal the averages of its recorded weights; memory does not grow with it."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from helpers.learning.averaging import (
    EMA,
    LAWA,
    SWA,
    Snapshots,
    applied,
    average_weights,
    greedy_soup,
    load_weights,
    model_stock,
    read_weights,
    trained_weights,
)
from helpers.learning.config import Every, Moment, TrainConfig
from helpers.learning.loop import fit
from tests.learning.test_loop import accuracy, equal, tagger, tagging_rows


@given(st.lists(st.lists(st.floats(-1e3, 1e3, width=32), min_size=3, max_size=3), min_size=1, max_size=6))
def test_the_mean_is_the_mean_and_the_rest_comes_from_the_last(values):
    states = [
        {"w": torch.tensor(v), "half": torch.tensor(v).half(), "n": torch.tensor(i)}
        for i, v in enumerate(values)
    ]
    got = average_weights(iter(states))
    want = torch.tensor(values, dtype=torch.float64).mean(0)
    assert torch.allclose(got["w"].double(), want, atol=1e-4, rtol=1e-6)
    assert got["half"].dtype == torch.float16 and int(got["n"]) == len(values) - 1
    back, largest = average_weights(states[::-1]), float(want.abs().max() + torch.tensor(values).abs().max())
    for name in ("w", "half"):  # the order may show in the last bit, and where large values cancel
        last_bit = torch.finfo(got[name].dtype).eps
        assert torch.allclose(
            back[name].double(),
            got[name].double(),
            rtol=last_bit,
            atol=1e-15 * largest + 1e-7 * (name == "half"),
        )


def test_averaging_one_state_is_the_identity_and_copies():
    state = {"w": torch.randn(4, 3), "steps": torch.tensor(7)}
    got = average_weights([state])
    assert equal(got, state)
    got["w"].zero_()
    got["steps"].zero_()
    assert state["w"].abs().sum() > 0 and int(state["steps"]) == 7


def test_averages_refuse_nothing_and_strangers():
    with pytest.raises(ValueError, match="at least one"):
        average_weights([])
    with pytest.raises(ValueError, match=r"other entries.*'b'"):
        average_weights([{"a": torch.ones(1)}, {"a": torch.ones(1), "b": torch.ones(1)}])


def trajectory(observers, epochs=4):
    """Train on 40 rows in 5 steps an epoch; return every step's weights."""
    seen = []

    def record(model, _):
        seen.append({name: value.clone() for name, value in trained_weights(model).items()})

    config = TrainConfig(epochs=epochs, peak_lr=5e-3, batch_rows=8)
    model = tagger()
    fit(model, tagging_rows(), config=config, observers=[*observers, record])
    return model, seen


def close(a, b):
    return a.keys() == b.keys() and all(torch.allclose(a[name], b[name], atol=1e-6) for name in a)


def test_all_averages_come_from_one_trajectory():
    swa, late, stepwise = SWA(), SWA(start=2.0), SWA(Every(steps=3), start=0)
    ema, lawa = EMA(0.9), LAWA(3, Every(epochs=0.4))
    _, seen = trajectory([swa, late, stepwise, ema, lawa])
    assert len(seen) == 20
    assert close(swa.weights(), average_weights(seen[4::5]))
    assert close(late.weights(), average_weights(seen[9::5]))
    assert close(stepwise.weights(), average_weights(seen[2::3]))
    assert close(lawa.weights(), average_weights([seen[15], seen[17], seen[19]]))
    slow = seen[0]
    for weights in seen[1:]:
        slow = {name: 0.9 * slow[name] + 0.1 * weights[name] for name in slow}
    assert close(ema.weights(), slow)


STEPWISE = Every(steps=1)


@pytest.mark.parametrize(
    "make",
    [
        partial(SWA, STEPWISE, start=0),
        partial(EMA, 0.7),
        partial(LAWA, 3, STEPWISE),
        partial(LAWA, 99, STEPWISE),
    ],
)
def test_an_average_that_is_resumed_goes_on_where_it_stopped(make):
    """Entries come back in another order, as safetensors sorts them: 10 before 2."""
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(11)))

    def step(number, *averages):
        with torch.no_grad():
            for weight in model.parameters():
                weight.copy_(torch.full_like(weight, float(number**2)))
        for average in averages:
            average(model, Moment(number, number / 10, (number - 1) / 10, 30))

    whole, first = make(), make()
    for number in range(1, 13):
        step(number, whole, first)
    resumed = make()
    resumed.load_state_dict(dict(sorted(first.state_dict().items())))
    assert equal(resumed.weights(), whole.weights())
    for number in range(13, 15):
        step(number, whole, resumed)
    assert equal(resumed.weights(), whole.weights())
    assert resumed.state_dict().keys() == whole.state_dict().keys()


def test_what_averages_do_unless_told_otherwise():
    model = nn.Linear(1, 1)
    swa, ema, lawa = SWA(), EMA(), LAWA()
    for step in range(1, 41):  # ten steps an epoch
        nn.init.constant_(model.weight, float(step))
        for average in (swa, ema, lawa):
            average(model, Moment(step, step / 10, (step - 1) / 10, 40))
    assert float(swa.weights()["weight"]) == 25.0, "every epoch from the first: 10, 20, 30, 40"
    assert float(lawa.weights()["weight"]) == 30.0, "five half epochs: 20, 25, 30, 35, 40"
    slow = 1.0
    for step in range(2, 41):
        slow = 0.999 * slow + 0.001 * step
    assert float(ema.weights()["weight"]) == pytest.approx(slow, rel=1e-5)
    only = LAWA(1, STEPWISE)
    for step in (1, 2):
        only(model, Moment(step, step / 10, (step - 1) / 10, 2))
    assert float(only.weights()["weight"]) == 40.0


def test_memory_does_not_depend_on_the_length_of_the_run():
    model = nn.Linear(10, 10)
    averages = [SWA(Every(steps=1), start=0), EMA(), LAWA(3, Every(steps=1))]

    def held(steps):
        for step in range(1, steps + 1):
            for average in averages:
                average(model, Moment(step, step / 10, (step - 1) / 10, steps))
        return [sum(value.numel() for value in average.state_dict().values()) for average in averages]

    assert held(5) == held(100) == [111, 111, 330]


def test_an_average_that_never_ran_says_so():
    for average in (SWA(start=9), EMA(), LAWA()):
        with pytest.raises(ValueError, match="never"):
            average.weights()
    with pytest.raises(ValueError, match="k counts"):
        LAWA(0)


def test_applied_weights_are_put_back_even_after_an_error():
    model = tagger()
    before = {name: value.clone() for name, value in trained_weights(model).items()}
    zeros = {name: torch.zeros_like(value) for name, value in before.items()}
    with pytest.raises(RuntimeError), applied(model, zeros):
        assert equal(trained_weights(model), zeros)
        raise RuntimeError
    assert equal(trained_weights(model), before)
    with pytest.raises(ValueError, match="no other"):
        load_weights(model, {"other": torch.ones(1)})


def test_frozen_weights_are_not_averaged():
    model = tagger()
    model.encoder.requires_grad_(False)
    ema = EMA()
    ema(model, Moment(1, 0.1, 0.0, 10))
    assert all(name.startswith("head.") for name in ema.weights())


def test_snapshots_are_complete_models_in_the_order_of_steps(tmp_path):
    snapshots = Snapshots(tmp_path, Every(epochs=0.5))
    model = tagger()
    snapshots.save(model, 0)
    fit(
        model,
        tagging_rows(),
        config=TrainConfig(epochs=2, batch_rows=4),
        observers=[snapshots],
    )
    assert [path.name for path in snapshots.folders()] == [f"checkpoint-{n}" for n in (0, 5, 10, 15, 20)]
    last = read_weights(snapshots.folders()[-1])
    assert close({name: last[name] for name in trained_weights(model)}, trained_weights(model))
    assert not list(tmp_path.glob(".*"))


def test_a_snapshot_takes_the_place_of_an_earlier_one_and_of_what_a_kill_left(tmp_path):
    model = nn.Linear(1, 1, bias=False)
    model.save_pretrained = partial(_save_linear, model)
    for left in ("checkpoint-3", ".checkpoint-3.partial"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "old").touch()
    nn.init.constant_(model.weight, 5.0)
    place = Snapshots(tmp_path).save(model, 3)
    assert place == tmp_path / "checkpoint-3" and float(read_weights(place)["weight"]) == 5.0
    assert [path.name for path in place.iterdir()] == ["model.safetensors"]
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-3"]


def test_greedy_soup_keeps_what_helps(tmp_path):
    """Wanted is 3: 2.5 comes first, 2 leads away, 4 brings the mean to 3.25, 9 leads away."""
    model = nn.Linear(1, 1, bias=False)
    model.save_pretrained = partial(_save_linear, model)
    snapshots = Snapshots(tmp_path)
    for step, value in enumerate([2.0, 4.0, 9.0, 2.5]):
        nn.init.constant_(model.weight, value)
        snapshots.save(model, step)
    nn.init.constant_(model.weight, 7.0)
    soup, chosen = greedy_soup(snapshots.folders(), model, lambda m: -abs(m.weight.item() - 3.0))
    assert [path.name for path in chosen] == ["checkpoint-3", "checkpoint-1"]
    assert float(soup["weight"]) == 3.25
    assert model.weight.item() == 7.0


def test_a_soup_takes_all_that_score_alike_and_the_second_best(tmp_path):
    model = nn.Linear(1, 1, bias=False)
    model.save_pretrained = partial(_save_linear, model)
    snapshots = Snapshots(tmp_path)
    for step, value in enumerate([2.0, 4.5, 9.0]):
        nn.init.constant_(model.weight, value)
        snapshots.save(model, step)
    soup, chosen = greedy_soup(snapshots.folders(), model, lambda m: 1.0)
    assert len(chosen) == 3 and float(soup["weight"]) == pytest.approx(15.5 / 3)
    soup, chosen = greedy_soup(snapshots.folders(), model, lambda m: -abs(m.weight.item() - 3.0))
    assert len(chosen) == 2 and float(soup["weight"]) == 3.25


def test_weights_that_are_shared_are_known_by_both_names():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    before = model[0].weight.detach().clone()
    with applied(model, {"1.weight": torch.full((2, 2), 7.0)}):
        assert torch.equal(model[0].weight, torch.full((2, 2), 7.0))
    assert torch.equal(model[0].weight, before)


def _save_linear(model, folder):
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    save_file(model.state_dict(), folder / "model.safetensors")


def test_a_soup_is_never_worse_than_its_best_ingredient(tmp_path):
    rows, valid = tagging_rows(80), tagging_rows(40, seed=5)
    snapshots, model = Snapshots(tmp_path), tagger()
    fit(model, rows, config=TrainConfig(epochs=4, peak_lr=1e-2), observers=[snapshots])

    def score(model):
        return accuracy(model, valid)["accuracy"]

    soup, chosen = greedy_soup(snapshots.folders(), model, score)
    singles = []
    for folder in snapshots.folders():
        with applied(model, read_weights(folder)):
            singles.append(score(model))
    with applied(model, soup):
        assert score(model) >= max(singles) and 1 <= len(chosen) <= 4
    with pytest.raises(ValueError, match="at least one checkpoint"):
        greedy_soup([], model, score)


# --- model stock ---


def stock(moved, start=(1.0, 2.0, 3.0)):
    """Merge models that have added `moved` to one start."""
    start = torch.tensor(start)
    return model_stock([{"w": start + torch.tensor(some)} for some in moved], [{"w": start}] * len(moved))[
        "w"
    ]


def test_model_stock_by_hand():
    """At 60°, cos θ is .5: two models keep 2/3 of their mean, three 3/4."""
    half = 0.75**0.5
    two = stock([(1.0, 0.0, 0.0), (0.5, half, 0.0)])
    assert torch.allclose(two, torch.tensor((1 + 2 / 3 * 0.75, 2 + 2 / 3 * half / 2, 3.0)))
    third = (0.5, half / 3, (2 / 3) ** 0.5)  # the corners of a tetrahedron
    moved = [(1.0, 0.0, 0.0), (0.5, half, 0.0), third]
    want = torch.tensor((1.0, 2.0, 3.0)) + 0.75 * torch.tensor(moved).mean(0)
    assert torch.allclose(stock(moved), want)


@given(st.lists(st.floats(-9, 9, width=32), min_size=3, max_size=3), st.integers(2, 5))
def test_model_stock_of_models_that_moved_alike_is_their_mean(values, number):
    moved = [tuple(values)] * number
    assert torch.allclose(stock(moved), torch.tensor((1.0, 2.0, 3.0)) + torch.tensor(values), atol=1e-4)


def test_model_stock_goes_back_where_models_disagree_or_did_not_move():
    start = torch.tensor((1.0, 2.0, 3.0))
    assert torch.equal(stock([(5.0, 0.0, 0.0), (0.0, 7.0, 0.0)]), start)
    assert torch.equal(stock([(5.0, 0.0, 0.0), (-5.0, 1.0, 0.0)]), start)  # beyond a right angle
    assert torch.equal(stock([(0.0, 0.0, 0.0), (0.0, 0.0, 0.0)]), start)


def test_model_stock_takes_the_mean_of_what_did_not_start_alike_and_looks_at_each_layer_alone():
    starts = [
        {"body": torch.zeros(2), "head": torch.full((2,), float(k)), "n": torch.tensor(0)} for k in (0, 1)
    ]
    tuned = [
        {"body": torch.tensor([1.0, 0.0]), "head": torch.tensor([4.0, 0.0]), "n": torch.tensor(3)},
        {"body": torch.tensor([0.0, 1.0]), "head": torch.tensor([0.0, 4.0]), "n": torch.tensor(3)},
    ]
    merged = model_stock(tuned, starts)
    assert merged["body"].tolist() == [0, 0] and merged["head"].tolist() == [2, 2] and int(merged["n"]) == 3
    for wrong in ((tuned[:1], starts[:1]), (tuned, starts[:1])):
        with pytest.raises(ValueError, match="two models or more and the start of each"):
            model_stock(*wrong)


def test_one_model_with_another_start_is_enough_for_the_mean():
    starts = [{"w": torch.tensor([value, 0.0])} for value in (1.0, 1.0, 2.0)]
    tuned = [{"w": torch.tensor(some)} for some in ([3.0, 0.0], [0.0, 3.0], [0.0, 0.0])]
    assert model_stock(tuned, starts)["w"].tolist() == [1.0, 1.0]
