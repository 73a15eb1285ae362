"""The loop: exact resume, honest losses, early stopping that stops, errors that say what to do."""

import contextlib
import math
import os
import resource
import shutil
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.learning import checkpointing, encoders, heads
from helpers.learning.averaging import EMA, LAWA, SWA, trained_weights
from helpers.learning.config import Every, Moment, TrainConfig, learning_rate
from helpers.learning.inference import predict
from helpers.learning.loop import fit
from tests import forked

LABELS = ("low", "high")


def tagging_rows(count: int = 40, seed: int = 0) -> list[dict]:
    """Ids above 25 are "high"; one token in four has no label."""
    rng = np.random.default_rng(seed)
    sentences = [rng.integers(5, 50, size=size) for size in rng.integers(2, 12, size=count)]
    return [
        {"input_ids": ids.tolist(), "labels": np.where(rng.random(len(ids)) < 0.25, -100, ids > 25).tolist()}
        for ids in sentences
    ]


def tagger(dropout: float = 0.1, kind: str = "roberta", seed: int = 0) -> heads.Classifier:
    body = encoders.encoder(
        kind, vocab_size=50, hidden=16, layers=1, max_length=32, dropout=dropout, pad_id=1, seed=seed
    )
    return heads.classifier(body, LABELS, task="tokens", dropout=dropout, seed=seed)


def accuracy(model, rows) -> dict[str, float]:
    gold = np.concatenate([row["labels"] for row in rows])
    guess = np.concatenate([logits.argmax(axis=1) for logits in predict(model, rows)])
    return {"accuracy": float((gold == guess)[gold != -100].mean())}


def mean_loss(model, rows) -> float:
    """The mean cross-entropy over what is labelled, from the logits of tokens or of rows."""
    logits = np.concatenate([np.atleast_2d(logits) for logits in predict(model, rows)])
    labels = np.concatenate([np.atleast_1d(row["labels"]) for row in rows])
    return float(torch.nn.functional.cross_entropy(torch.tensor(logits), torch.tensor(labels)))


CONFIG = TrainConfig(epochs=3, peak_lr=5e-3, batch_rows=8, metric="accuracy")


@contextlib.contextmanager
def saved(every: Every):
    """Save at a rhythm of steps, not by the clock."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpointing, "due", lambda moment, **_: every(moment))
        yield


def complete_run(folder: Path | None, stop_at: int = 0, stop=lambda: os.kill(os.getpid(), signal.SIGKILL)):
    """Train with dropout, evaluation and three averages; with stop_at, end abruptly after that step."""
    model, averages = tagger(), [SWA(Every(steps=2), start=0), EMA(0.8), LAWA(2, Every(steps=3))]

    def watch(_, moment):
        if moment.step == stop_at:
            stop()

    with saved(Every(steps=4)):
        result = fit(
            model,
            tagging_rows(),
            config=CONFIG,
            evaluate=partial(accuracy, rows=tagging_rows(10, seed=1)),
            folder=folder,
            observers=[*averages, watch],
        )
    states = [trained_weights(model), *(average.weights() for average in averages)]  # the first are the best
    return result, states


def equal(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# --- exact resume ---


@pytest.fixture(scope="module")
def undisturbed():
    return complete_run(None)


def assert_same(run, other):
    (result, states), (wanted, wanted_states) = run, other
    assert result.history == wanted.history and result.best_step == wanted.best_step
    assert all(equal(a, b) for a, b in zip(states, wanted_states, strict=True))


@pytest.mark.parametrize("step", [3, 14])
def test_a_killed_run_goes_on_bit_for_bit(tmp_path, undisturbed, step):
    killed = forked.start(complete_run, tmp_path, step)
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    assert (checkpointing.latest(tmp_path) is not None) == (step > 4)
    assert_same(complete_run(tmp_path), undisturbed)


def test_a_run_interrupted_again_and_again_goes_on_bit_for_bit(tmp_path, undisturbed):
    for step in (2, 5, 9, 13):
        with pytest.raises(ZeroDivisionError):
            complete_run(tmp_path, stop_at=step, stop=lambda: 1 / 0)
    assert_same(complete_run(tmp_path), undisturbed)


def test_a_finished_run_is_not_saved_and_goes_on_from_its_last_checkpoint(tmp_path, undisturbed):
    assert complete_run(tmp_path)[0].resumed_from == 0
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000012"]  # of 15 steps
    again = complete_run(tmp_path)
    assert again[0].resumed_from == 12
    assert_same(again, undisturbed)


@pytest.mark.parametrize("file", ["model.safetensors", "state.json", "optimizer.safetensors"])
def test_a_checkpoint_that_cannot_be_read_is_deleted_and_the_one_before_is_used(
    tmp_path, undisturbed, file, capsys
):
    complete_run(tmp_path)
    newest = tmp_path / "step-00000012"
    shutil.copytree(newest, tmp_path / "step-00000013")
    cut = tmp_path / "step-00000013" / file
    cut.write_bytes(cut.read_bytes()[:20])
    again = complete_run(tmp_path)
    assert again[0].resumed_from == 12
    assert_same(again, undisturbed)
    assert "step-00000013 cannot be read" in capsys.readouterr().out
    (newest / file).unlink()
    from_the_start = complete_run(tmp_path)
    assert from_the_start[0].resumed_from == 0
    assert_same(from_the_start, undisturbed)


def test_saving_waits_for_its_share_of_the_time():
    due = partial(checkpointing.due, Moment(5, 0.5, 0.4, 100), processes=1)
    assert not due(waited=0.9, cost=0.001) and due(waited=1.1, cost=0.001)
    assert not due(waited=39, cost=1.0) and due(waited=41, cost=1.0)
    assert not checkpointing.due(Moment(5, 0.5, 0.4, 100), waited=999, cost=0, processes=2)
    assert checkpointing.due(Moment(10, 1.0, 0.9, 100), waited=0, cost=0, processes=2)


def test_saving_costs_little(tmp_path):
    """Of a run of some seconds; the benchmark has a longer one on a larger model."""
    config = TrainConfig(epochs=40, batch_rows=2)
    result = fit(tagger(), tagging_rows(60), config=config, folder=tmp_path)
    assert checkpointing.latest(tmp_path) is not None
    assert 0 < result.saving_seconds < 0.03 * result.seconds


def test_early_stopping_survives_an_interruption(tmp_path):
    scores = {4: 0.5, 8: 0.4, 12: 0.3, 16: 0.9}
    config = TrainConfig(epochs=4, batch_rows=10, metric="f1", patience=2, evaluate=Every(steps=4))

    def run(folder, stop_after=99):
        seen = []

        def observe(_, moment):
            seen.append(moment.step)
            if moment.step > stop_after:
                raise KeyboardInterrupt

        return fit(
            tagger(),
            tagging_rows(),
            config=config,
            evaluate=lambda _: {"f1": scores[seen[-1]]},
            folder=folder,
            observers=[observe],
        )

    with contextlib.suppress(KeyboardInterrupt), saved(Every(steps=4)):
        run(tmp_path, stop_after=9)
    result = run(tmp_path)
    assert result.stopped_early and result.steps == 12 and (result.best_step, result.best_metric) == (4, 0.5)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"config": TrainConfig(epochs=3, batch_rows=8)}, "peak_lr"),
        ({"train": tagging_rows(39)}, "data"),
        ({"draw": lambda epoch: range(40)[::-1]}, "order"),
        ({"model": tagger(seed=9)}, "first weights"),
    ],
)
def test_a_folder_holds_one_run(tmp_path, change, name):
    settings = {"train": tagging_rows(), "config": TrainConfig(epochs=3, batch_rows=8, peak_lr=1e-3)}
    with saved(Every(steps=4)):
        fit(tagger(), **settings, folder=tmp_path)
    with pytest.raises(ValueError, match=rf"another run \({name}: .*own folder"):
        fit(**{"model": tagger()} | settings | change, folder=tmp_path)


# --- losses ---


def test_accumulation_changes_nothing_but_memory():
    """Eight rows in one batch, or in four batches of two with unequal numbers of targets: the same steps."""
    rows, weights = tagging_rows(8), []
    for batch_rows, accumulate in ((8, 1), (2, 4)):
        model = tagger(dropout=0.0)
        config = TrainConfig(epochs=5, batch_rows=batch_rows, accumulate=accumulate)
        result = fit(model, rows, config=config)
        weights.append(torch.cat([value.flatten() for value in trained_weights(model).values()]))
        assert result.steps == 5
    assert torch.allclose(*weights, atol=2e-6)


def test_the_history_has_the_loss_per_target():
    model, rows = tagger(dropout=0.0), tagging_rows(8)
    before = mean_loss(model, rows)
    result = fit(model, rows, config=TrainConfig(epochs=1, batch_rows=8))
    assert result.history[0]["loss"] == pytest.approx(before, abs=1e-6)


def test_labels_are_required():
    rows = [{"input_ids": [5, 6]}]
    with pytest.raises(ValueError, match="no labels"):
        fit(tagger(), rows, config=TrainConfig(epochs=1))


# --- what a run does ---


def test_it_learns_and_reports_its_cost():
    rows = tagging_rows(200)
    config = TrainConfig(epochs=6, peak_lr=1e-2, batch_rows=16, metric="accuracy")
    result = fit(tagger(), rows, config=config, evaluate=partial(accuracy, rows=rows))
    assert result.best_metric > 0.95
    assert [row["epoch"] for row in result.history] == [1, 2, 3, 4, 5, 6]
    assert result.history[-1]["loss"] < result.history[0]["loss"] / 2
    assert result.examples_per_second > 0 and result.seconds > 0 and result.saving_seconds == 0


def test_the_same_seed_gives_the_same_weights_whatever_ran_before():
    weights = []
    for seed in (0, 0, 1):
        torch.rand(len(weights) + 3)
        model = tagger()
        fit(model, tagging_rows(), config=TrainConfig(epochs=1, seed=seed))
        weights.append(trained_weights(model))
    assert equal(weights[0], weights[1]) and not equal(weights[0], weights[2])


def test_the_encoder_can_learn_more_slowly_than_its_head():
    moved = {}
    for share in (1.0, 0.1):
        model = tagger(dropout=0.0)
        before = {name: value.clone() for name, value in trained_weights(model).items()}
        fit(model, tagging_rows(), config=TrainConfig(epochs=1, peak_lr=1e-3, encoder_lr=share))
        moved[share] = {
            name: float((v - before[name]).abs().mean()) for name, v in trained_weights(model).items()
        }
    head, body = "head.1.weight", "encoder.encoder.layer.0.attention.self.query.weight"
    assert moved[0.1][body] < 0.3 * moved[1.0][body] and moved[0.1][head] > 0.7 * moved[1.0][head]


def test_the_best_weights_are_kept_and_restored():
    scores, seen = iter([0.2, 0.6, 0.1, 0.5]), {}
    config = TrainConfig(epochs=4, metric="score")

    def remember(model, moment):
        seen[moment.step] = {name: value.clone() for name, value in trained_weights(model).items()}

    model = tagger()
    result = fit(
        model,
        tagging_rows(30),
        config=config,
        evaluate=lambda _: {"score": next(scores)},
        observers=[remember],
    )
    assert result.best_step == 2 and not result.stopped_early
    assert equal(trained_weights(model), seen[result.best_step])


def test_patience_counts_evaluations_without_a_new_best():
    scores = iter([float("nan"), 0.1, 0.3, 0.3, float("nan"), 0.9])
    config = TrainConfig(epochs=9, metric="f1", patience=2)
    result = fit(tagger(), tagging_rows(), config=config, evaluate=lambda _: {"f1": next(scores)})
    assert result.stopped_early and len(result.history) == 5 and result.best_metric == 0.3


def test_a_tie_goes_to_the_lower_loss_and_patience_waits_while_it_falls():
    rows = iter([(0.0, 3.0), (0.0, 2.0), (0.0, 2.5), (0.0, 1.0), (0.4, 9.0), (0.4, 9.0), (0.3, 0.1)])
    config = TrainConfig(epochs=9, metric="f1", tie_break="dev_loss", patience=2)
    result = fit(
        tagger(),
        tagging_rows(30),
        config=config,
        evaluate=lambda _: dict(zip(("f1", "dev_loss"), next(rows), strict=True)),
    )
    assert (result.best_step, result.best_metric) == (5, 0.4)
    assert result.stopped_early and len(result.history) == 7


def test_a_frozen_encoder_stays_and_the_head_moves():
    model = heads.freeze_encoder(tagger())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    fit(model, tagging_rows(), config=TrainConfig(epochs=1))
    moved = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert moved == {"head.1.weight", "head.1.bias"}
    with pytest.raises(ValueError, match="no trainable parameters"):
        fit(model.requires_grad_(False), tagging_rows(), config=TrainConfig())


def test_draw_names_the_rows_of_each_epoch():
    rows, seen = tagging_rows(10), []

    def watch(batch, _):
        seen.append(batch["input_ids"][:, 0].tolist())
        return batch

    fit(
        tagger(),
        rows,
        config=TrainConfig(epochs=2, batch_rows=10),
        transform=watch,
        draw=lambda epoch: [[3, 3, 4], [5]][epoch],
    )
    first = [row["input_ids"][0] for row in rows]
    assert [sorted(ids) for ids in seen] == [sorted([first[3], first[3], first[4]]), [first[5]]]


# --- prediction ---


@pytest.mark.parametrize("kind", ["roberta", "bilstm"])
def test_predictions_keep_order_and_length_whatever_the_batches(kind):
    rows, model = tagging_rows(25), tagger(kind=kind)
    model.train()
    want = predict(model, rows)
    assert model.training
    assert [logits.shape for logits in want] == [(len(row["input_ids"]), 2) for row in rows]
    for got in (predict(model, rows, batch_rows=1), predict(model, rows, batch_rows=4, batch_tokens=20)):
        assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(got, want, strict=True))


def test_no_rows_give_no_predictions():
    assert predict(tagger(), []) == []


# --- what goes wrong ---


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_checkpoint(tmp_path):
    def poison(model, moment):
        if moment.step == 5:
            with torch.no_grad():
                model.head[1].weight[0, 0] = float("nan")

    config = TrainConfig(epochs=3, batch_rows=8, peak_lr=2e-3, schedule="constant")
    diverged = pytest.raises(FloatingPointError, match=r"step 6 of 15, lr 2.00e-03.*step-00000004")
    with saved(Every(steps=2)), diverged:
        fit(tagger(), tagging_rows(), config=config, folder=tmp_path, observers=[poison])
    kept = checkpointing.latest(tmp_path)
    groups, _ = checkpointing.load(kept)
    assert kept.name == "step-00000004"
    assert all(value.isfinite().all() for value in groups["model"].values())


def test_a_full_disk_leaves_the_earlier_checkpoint_and_nothing_half_written(tmp_path):
    small, large = {"w": torch.ones(10)}, {"w": torch.ones(100_000)}
    checkpointing.save(tmp_path, 1, groups={"model": small}, state={"step": 1})
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
        with pytest.raises(OSError, match=r"could not write.*step-00000001 is intact.*free some space"):
            checkpointing.save(tmp_path, 2, groups={"model": large}, state={"step": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]
    groups, state = checkpointing.load(checkpointing.latest(tmp_path))
    assert equal(groups["model"], small) and state == {"step": 1}


def test_no_checkpoint_file_is_a_pickle(tmp_path):
    complete_run(tmp_path)
    files = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert {Path(name).suffix for name in files} == {".safetensors", ".json"}
    assert {"model.safetensors", "optimizer.safetensors", "best.safetensors", "state.json"} <= files


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs must be positive, got 0"),
        ({"peak_lr": -1.0}, "peak_lr"),
        ({"warmup": 1.0}, "warmup is a share"),
        ({"schedule": "step"}, "schedule must be one of linear"),
        ({"patience": 2}, "patience needs a metric"),
        ({"patience": -1}, "patience must not be negative"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**settings)


def test_the_metric_must_come_from_evaluate():
    config = TrainConfig(epochs=1, metric="f1")
    with pytest.raises(ValueError, match="needs an evaluate function"):
        fit(tagger(), tagging_rows(), config=config)
    with pytest.raises(ValueError, match=r"evaluate returned .*accuracy.*not the metric 'f1'"):
        fit(tagger(), tagging_rows(), config=config, evaluate=lambda _: {"accuracy": 1.0})


# --- schedules and rhythms ---


def rates(schedule: str, warmup: float, total: int = 100, first_epoch: int = 50) -> list[float]:
    config = TrainConfig(peak_lr=2.0, schedule=schedule, warmup=warmup)
    return [learning_rate(config, step, total=total, first_epoch=first_epoch) for step in range(total)]


def test_schedules_by_hand():
    assert rates("linear", 0.1)[:11] == pytest.approx([0.2 * k for k in range(1, 11)] + [2.0])
    assert rates("linear", 0.1)[55] == pytest.approx(1.0) and rates("linear", 0.0)[0] == 2.0
    assert rates("cosine", 0.0)[25] == pytest.approx(1 + math.sqrt(0.5))
    assert rates("constant", 0.1)[9:] == rates("schedule-free", 0.1)[9:] == [2.0] * 91
    study = rates("cosine-first-epoch", 0.0)
    assert study[25] == pytest.approx(1.0) and study[49] < 0.01 and study[50:] == [2.0] * 50


@given(
    st.sampled_from(["linear", "cosine", "constant", "schedule-free"]),
    st.floats(0, 0.99),
    st.integers(1, 300),
)
def test_rates_rise_to_the_peak_then_never_rise_again(schedule, warmup, total):
    got = rates(schedule, warmup, total, total)
    top = got.index(max(got))
    assert all(0 <= rate <= 2.0 for rate in got)
    assert got[: top + 1] == sorted(got[: top + 1]) and got[top:] == sorted(got[top:], reverse=True)


@given(st.integers(1, 40), st.integers(1, 6), st.sampled_from([0.1, 0.25, 1 / 3, 0.5, 1.0, 2.0]))
def test_a_rhythm_of_epochs_comes_round_exactly(steps, epochs, share):
    moments = [Moment(k, k / steps, (k - 1) / steps, steps * epochs) for k in range(1, steps * epochs + 1)]
    due = [moment.epoch for moment in moments if Every(epochs=share)(moment)]
    whole = math.floor(epochs / share + 1e-9)
    assert len(due) == min(whole, len(due)) and (share * steps < 1 or len(due) == whole)
    if share <= 1 and share != 1 / 3 and share != 0.1:
        assert set(range(1, epochs + 1)) <= set(due)


def test_a_rhythm_is_steps_or_epochs():
    assert [Every(steps=3)(Moment(k, 0, 0, 9)) for k in range(1, 7)] == [False, False, True] * 2
    for settings in ({}, {"steps": 1, "epochs": 1}, {"steps": -1}):
        with pytest.raises(ValueError, match="one of the two"):
            Every(**settings)


def trained_with(rows, **settings):
    model = tagger(dropout=0.0)
    fit(model, rows, config=TrainConfig(epochs=2, peak_lr=5e-3, batch_rows=8, **settings))
    return {name: weights.clone() for name, weights in trained_weights(model).items()}


def test_recomputed_activations_train_the_same_weights():
    rows = tagging_rows()
    plain, again = trained_with(rows), trained_with(rows, recompute=True)
    assert all(torch.equal(plain[name], again[name]) for name in plain)


def test_decay_and_clipping_can_be_left_out():
    rows = tagging_rows()
    plain = trained_with(rows)
    assert all(torch.equal(one, plain[name]) for name, one in trained_with(rows, weight_decay=0.01).items())
    for settings in ({"weight_decay": 0.0}, {"clip": 0.0}, {"clip": 1e-3}):
        other = trained_with(rows, **settings)
        assert not all(torch.equal(one, plain[name]) for name, one in other.items()), settings
    unlimited, none = trained_with(rows, clip=1e6), trained_with(rows, clip=0.0)
    assert all(torch.equal(one, none[name]) for name, one in unlimited.items())


def test_training_on_a_cpu_drops_quickly_and_a_saved_model_does_not_know():
    model = tagger(dropout=0.3)
    fit(model, tagging_rows(), config=TrainConfig(epochs=1, peak_lr=1e-3, batch_rows=8))
    found = [module for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    assert found and {type(module) for module in found} == {encoders.QuickDropout}
    assert {module.p for module in found} == {0.3}
    assert tagger(dropout=0.3).state_dict().keys() == model.state_dict().keys()
