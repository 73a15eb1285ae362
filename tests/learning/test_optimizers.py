"""The optimizer without a schedule: its package as the oracle, exact points, exact resume."""

import pytest
import torch

from helpers.learning.averaging import EMA, trained_weights
from helpers.learning.config import Every, TrainConfig
from helpers.learning.loop import fit
from helpers.learning.optimizers import ScheduleFree
from tests.learning.test_loop import accuracy, equal, saved, tagger, tagging_rows

CONFIG = TrainConfig(epochs=3, peak_lr=1e-2, batch_rows=8, schedule="schedule-free", restore_best=False)


def problem(seed=0):
    """Two parameters in double precision, and a loss that is not symmetric in them."""
    draw = torch.Generator().manual_seed(seed)
    matrix, bias = (torch.randn(size, generator=draw, dtype=torch.float64) for size in ((3, 4), (3,)))
    data = torch.randn(20, 4, generator=draw, dtype=torch.float64)
    weights = [matrix.requires_grad_(), bias.requires_grad_()]
    return weights, lambda at: (data[at % 20] @ matrix.T + bias - at % 3).pow(2).sum()


def groups(weights):
    return [{"params": weights[:1], "weight_decay": 0.1}, {"params": weights[1:], "weight_decay": 0.0}]


def test_it_is_the_published_optimizer():
    """Both points, y to train at and x to evaluate, after each of forty steps, ten of them to warm up."""
    from schedulefree import AdamWScheduleFree

    (ours, our_loss), (theirs, their_loss) = problem(), problem()
    own = ScheduleFree(groups(ours), lr=0.05)
    oracle = AdamWScheduleFree(groups(theirs), lr=0.05, warmup_steps=10)
    for at in range(40):
        own.train(), oracle.train()
        assert all(torch.allclose(a, b, rtol=0, atol=1e-12) for a, b in zip(ours, theirs, strict=True))
        for group in own.param_groups:
            group["lr"] = 0.05 * min(1, (at + 1) / 10)
        for optimizer, loss in ((own, our_loss), (oracle, their_loss)):
            optimizer.zero_grad()
            loss(at).backward()
            optimizer.step()
        own.eval(), oracle.eval()
        assert all(torch.allclose(a, b, rtol=0, atol=1e-12) for a, b in zip(ours, theirs, strict=True))
    start, _ = problem()
    assert all((a - b).abs().max() > 0.3 for a, b in zip(ours, start, strict=True))


def test_at_a_constant_rate_x_is_the_mean_of_every_z():
    weights, loss = problem()
    own, passed = ScheduleFree(groups(weights), lr=0.05), []
    for at in range(15):
        own.train()
        own.zero_grad()
        loss(at).backward()
        own.step()
        own.eval()
        passed.append(own.state[weights[0]]["z"].clone())
    assert torch.allclose(weights[0], torch.stack(passed).mean(0), atol=1e-12)


def test_there_and_back_is_exact_and_leaves_nothing_behind():
    weights, loss = problem()
    own = ScheduleFree(groups(weights), lr=0.05)
    for at in range(3):
        own.train()
        loss(at).backward()
        own.step()
        own.eval()
    before = [w.detach().clone() for w in weights]
    own.train()
    assert not torch.equal(weights[0], before[0])
    own.eval()
    assert all(torch.equal(a, b) for a, b in zip(weights, before, strict=True))
    assert set(own.state[weights[0]]) == {"step", "z", "exp_avg_sq"}


def run(folder=None, stop_at=0, **changes):
    model, average, seen = tagger(), EMA(0.8), []

    def watch(net, moment):
        seen.append({name: value.clone() for name, value in trained_weights(net).items()})
        if moment.step == stop_at:
            raise ZeroDivisionError

    with saved(Every(steps=4)):
        result = fit(
            model,
            tagging_rows(),
            config=TrainConfig(**{**CONFIG.__dict__, **changes}),
            evaluate=lambda net: accuracy(net, tagging_rows()),
            observers=[average, watch],
            folder=folder,
        )
    return result, model, average.weights(), seen


def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path):
    result, model, average, _ = run()
    for step in (5, 9, 14):
        with pytest.raises(ZeroDivisionError):
            run(tmp_path, stop_at=step)
    again, resumed, own, _ = run(tmp_path)
    assert again.resumed_from == 12 and again.history == result.history
    assert equal(trained_weights(resumed), trained_weights(model)) and equal(own, average)


def test_observers_evaluation_and_the_result_see_x_and_looking_changes_nothing():
    often, model, _, seen = run(evaluate=Every(steps=1))
    once, other, _, _ = run()
    assert equal(trained_weights(model), trained_weights(other)) and equal(seen[-1], trained_weights(model))
    assert often.history[-1]["accuracy"] == once.history[-1]["accuracy"] > 0.9
    assert often.history[-1]["accuracy"] == accuracy(model, tagging_rows())["accuracy"]
