"""The one training loop, on Accelerate: batches, schedule, early stopping, checkpoints.

Randomness is a function of (seed, step, process), never of what ran before, so a resumed run repeats the
undisturbed one bit for bit on a CPU. Every process knows the order of the data and takes its share of each
global batch; the loss is weighted by targets, so neither accumulation nor the number of processes changes
it. Models come from `encoders`, metrics from the caller, weight averages from `averaging`.
"""

import math
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from helpers.learning import checkpointing, encoders, optimizers
from helpers.learning.batching import Batch, Draw, StepPlan, Transform
from helpers.learning.config import SCHEDULE_FREE, Moment, TrainConfig
from helpers.learning.inference import (
    Rows,
    as_features,
    count_targets,
    input_names,
    pad_id_of,
    precision,
    to_tensors,
)

SHARDING = ("FSDP", "DEEPSPEED", "MEGATRON_LM", "PARALLELISM_CONFIG")  # as `accelerate launch` names them

Observer = Callable[[nn.Module, Moment], None]


@dataclass(frozen=True)
class FitResult:
    """What a run gave: a history row per evaluation (step, epoch, loss, lr, metrics), the best, the cost."""

    history: list[dict[str, float]]
    best_step: int | None
    best_metric: float | None
    steps: int
    resumed_from: int  # the step of the checkpoint that this call went on from; 0: it began at the beginning
    stopped_early: bool
    seconds: float  # of training and evaluation
    saving_seconds: float  # of checkpoints, on top of that
    examples_per_second: float  # of training alone


def fit(
    model: nn.Module,
    train: Rows,
    *,
    config: TrainConfig,
    evaluate: Callable[[nn.Module], Mapping[str, float]] | None = None,
    folder: str | Path | None = None,
    observers: Sequence[Observer] = (),
    transform: Transform | None = None,
    draw: Draw | None = None,
    progress: str = "",
) -> FitResult:
    """Train the model in place.

    `evaluate(model)` returns named floats; `observers` see the model after every step; `transform` changes
    padded batches (dynamic masking); `draw(epoch)` names the rows of an epoch (default: all of them). With a
    `folder` the run is saved there every now and then (see `checkpointing.due`), and the same call goes on
    from the last save. `progress` names the run on a line with steps, time left, tokens a second and loss.
    Raises FloatingPointError where the loss or the gradients stop being finite.
    """
    if config.metric and evaluate is None:
        raise ValueError(f"metric={config.metric!r} needs an evaluate function that returns it")
    with _accelerated() as accelerator:
        plan = StepPlan(as_features(train), config, draw)
        run = _Run(
            model, plan, accelerator=accelerator, evaluate=evaluate, observers=observers, transform=transform
        )
        if folder is not None:
            run.resume(Path(folder))
        with _progress(run, progress) as show:
            while not run.finished:
                run.advance()
                show()
        accelerator.wait_for_everyone()  # what one process has saved, the others may read now
        return run.result()


class _Run:
    """The state of a run: everything that changes from step to step, and that a checkpoint holds."""

    def __init__(self, model: nn.Module, plan: StepPlan, *, accelerator, evaluate, observers, transform):
        self.model, self.plan, self.config, self.accelerator = model.train(), plan, plan.config, accelerator
        if accelerator.device.type == "cpu":
            encoders.drop_quickly(model)
        self.evaluate, self.observers, self.transform = evaluate, observers, transform
        self.inputs, self.pad_id = input_names(model), pad_id_of(model)
        self.trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        if not self.trained:
            raise ValueError("the model has no trainable parameters: unfreeze a head or an adapter")
        if self.config.recompute:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        self.wrapped, prepared = accelerator.prepare(
            model, optimizers.build(self.trained, self.config, accelerator.device)
        )
        # Only fp16 needs the wrapper, which looks for packages on the disk in every step: 2 ms.
        self.optimizer = prepared.optimizer if accelerator.scaler is None else prepared
        self.folder: Path | None = None
        self.resumed_from = 0
        self.loss = math.nan  # of the last step
        self.saved_at = time.perf_counter()
        self.saving_cost = 3 * sum(p.nbytes for p in self.trained.values()) / checkpointing.SPEED
        self.best_weights: dict[str, Tensor] | None = None
        self.state: dict[str, Any] = {
            "step": 0, "examples": 0, "loss_sum": 0.0, "loss_targets": 0, "history": [], "best_step": None,
            "best_metric": None, "stale": 0, "stopped_early": False, "train_seconds": 0.0, "seconds": 0.0,
            "saving_seconds": 0.0,
        }  # fmt: skip

    @property
    def finished(self) -> bool:
        return self.state["stopped_early"] or self.state["step"] == len(self.plan.steps)

    def advance(self) -> None:
        """Take one optimizer step, and all that is due after it."""
        started = time.perf_counter()
        step = self.state["step"]
        loss, targets = self._optimize(step)
        self.state["train_seconds"] += time.perf_counter() - started
        self.state["step"] = step + 1
        self.state["examples"] += sum(len(rows) for rows in self.plan.steps[step])
        self.loss = loss
        self.state["loss_sum"] += loss * targets
        self.state["loss_targets"] += targets
        moment = self.plan.moment(step + 1)
        for observer in self.observers:
            observer(self.model, moment)
        last = moment.step == moment.total_steps
        if last or self.config.evaluate(moment):
            self._evaluate(moment)
        self.state["seconds"] += time.perf_counter() - started
        if self.folder and not self.finished and self._save_is_due(moment):
            self._save()

    def _save_is_due(self, moment: Moment) -> bool:
        return checkpointing.due(
            moment,
            waited=time.perf_counter() - self.saved_at,
            cost=self.saving_cost,
            processes=self.accelerator.num_processes,
        )

    def result(self) -> FitResult:
        if self.best_weights:
            _copy(self.best_weights, self.trained)
        self.model.eval()
        state = self.state
        return FitResult(
            history=state["history"],
            best_step=state["best_step"],
            best_metric=state["best_metric"],
            steps=state["step"],
            resumed_from=self.resumed_from,
            stopped_early=state["stopped_early"],
            seconds=state["seconds"],
            saving_seconds=state["saving_seconds"],
            examples_per_second=state["examples"] / max(state["train_seconds"], 1e-9),
        )

    def resume(self, folder: Path) -> None:
        """Save to this folder from now on, and go on from its newest checkpoint, if it has one."""
        self.folder, self.fingerprint = folder, self._fingerprint()
        if (found := checkpointing.load_latest(folder)) is None:
            return
        groups, stored = found
        checkpointing.check_same(stored.pop("fingerprint"), self.fingerprint, folder)
        self.state, self.resumed_from = stored, stored["step"]
        _copy(groups["model"], self.trained)
        self.best_weights = groups.get("best")
        checkpointing.load_optimizer(self.optimizer, groups["optimizer"])
        if self.accelerator.scaler is not None:
            self.accelerator.scaler.load_state_dict(self.state["scaler"])
        for index, observer in enumerate(self.observers):
            if f"observer-{index}" in groups:
                observer.load_state_dict(groups[f"observer-{index}"])

    def _save(self) -> None:
        started = time.perf_counter()
        groups = {"model": self.trained, "optimizer": checkpointing.optimizer_tensors(self.optimizer)}
        if self.best_weights:
            groups["best"] = self.best_weights
        for index, observer in enumerate(self.observers):
            if hasattr(observer, "state_dict"):
                groups[f"observer-{index}"] = observer.state_dict()
        if self.accelerator.scaler is not None:
            self.state["scaler"] = self.accelerator.scaler.state_dict()
        if self.folder and self.accelerator.is_main_process:
            state = self.state | {"fingerprint": self.fingerprint}
            checkpointing.save(self.folder, self.state["step"], groups=groups, state=state)
        self.accelerator.wait_for_everyone()
        self.saved_at = time.perf_counter()
        self.saving_cost = self.saved_at - started
        self.state["saving_seconds"] += self.saving_cost

    def _fingerprint(self) -> dict[str, Any]:
        """Return what must be the same to go on: settings, data, and the weights before the first step."""
        weights = {
            name: f"{float(p.detach().cpu().double().abs().sum()):.8g}" for name, p in self.trained.items()
        }
        return self.plan.fingerprint() | {"first weights": weights, "observers": len(self.observers)}

    def _optimize(self, step: int) -> tuple[float, int]:
        """Take the step; return the loss per target of the global batch, and its number of targets."""
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        _seed_everything(self.config.seed, step, rank, self.accelerator.device)
        batches = [self._collate(rows, step, micro) for micro, rows in enumerate(self.plan.steps[step])]
        targets = sum(count_targets(batch) for batch in batches)
        rate = self.plan.learning_rate(step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["share"]
        if self.config.schedule == SCHEDULE_FREE:  # takes gradients elsewhere than where it is evaluated
            self.optimizer.train()
        loss = torch.zeros((), device=self.accelerator.device)
        for micro, batch in enumerate(batches):
            last = micro == len(batches) - 1
            with nullcontext() if last else self.accelerator.no_sync(self.wrapped):
                part = self._loss(*_share(batch, rank, world)) / max(targets, 1)
                self.accelerator.backward(part * world)  # gradients are averaged over processes
            loss += part.detach()
        loss = float(self.accelerator.reduce(loss, "sum"))
        limit = self.config.clip or math.inf
        norm = float(self.accelerator.clip_grad_norm_(self.trained.values(), limit))
        if not math.isfinite(loss) or not (math.isfinite(norm) or self.accelerator.scaler is not None):
            raise FloatingPointError(self._not_finite(step, rate, loss, norm))
        self.optimizer.step()
        if self.config.schedule == SCHEDULE_FREE:
            self.optimizer.eval()
        self.optimizer.zero_grad()
        return loss, targets

    def _loss(self, batch: Batch, targets: int) -> Tensor:
        """Return the summed loss of a share; one without targets still takes part in the synchronisation."""
        outputs = self.wrapped(**to_tensors(batch, self.inputs, self.accelerator.device))
        return outputs.loss * targets if targets else outputs.logits.sum() * 0.0

    def _collate(self, rows: np.ndarray, step: int, micro: int) -> Batch:
        batch = self.plan.features.batch(rows, pad_id=self.pad_id)
        if self.transform is not None:
            batch = self.transform(batch, np.random.default_rng([self.config.seed, step, micro]))
        return batch

    def _not_finite(self, step: int, rate: float, loss: float, norm: float) -> str:
        kept = checkpointing.latest(self.folder) if self.folder else None
        return (
            f"loss {loss}, gradient norm {norm} at step {step + 1} of {len(self.plan.steps)}, lr {rate:.2e}; "
            f"{f'the last good checkpoint is {kept}' if kept else 'no checkpoint was kept'}: "
            "lower peak_lr, warm up longer, or look for bad labels"
        )

    def _evaluate(self, moment: Moment) -> None:
        state = self.state
        row = {"step": moment.step, "epoch": moment.epoch, "lr": self.plan.learning_rate(moment.step - 1)}
        row["loss"] = state["loss_sum"] / max(state["loss_targets"], 1)
        state["loss_sum"], state["loss_targets"] = 0.0, 0
        if self.evaluate is not None:
            self.model.eval()
            row |= {name: float(value) for name, value in self.evaluate(self.model).items()}
            self.model.train()
        state["history"].append(row)
        if self.config.metric:
            self._watch(row)

    def _watch(self, row: dict[str, float]) -> None:
        """Keep the best weights, count evaluations without a new best, stop when patience ends."""
        config, state = self.config, self.state
        watched = [name for name in (config.metric, config.tie_break) if name]
        if missing := [name for name in watched if name not in row]:
            names = " and ".join(map(repr, missing))
            raise ValueError(f"evaluate returned {sorted(row)}, not the metric {names} to watch")
        value = row[watched[0]]
        best = next((old for old in state["history"] if old["step"] == state["best_step"]), None)
        if (best is None or self._rank(row) > self._rank(best)) and not math.isnan(value):
            state["best_step"], state["best_metric"], state["stale"] = row["step"], value, 0
            if config.restore_best:
                self.best_weights = {name: p.detach().cpu().clone() for name, p in self.trained.items()}
        else:
            state["stale"] += 1
            state["stopped_early"] = 0 < config.patience <= state["stale"]

    def _rank(self, row: dict[str, float]) -> tuple[float, float]:
        """Return what orders evaluations: the metric, then the tie-break, greater is better."""
        return row[self.config.metric or ""], -row.get(self.config.tie_break or "", 0.0)


def _share(batch: Batch, rank: int, world: int) -> tuple[Batch, int]:
    """Return every world-th row and their targets; a process left without one idles on the first row."""
    if rank >= len(batch["input_ids"]):
        return {name: values[:1] for name, values in batch.items()}, 0
    share = {name: values[rank::world] for name, values in batch.items()}
    return share, count_targets(share)


@torch.no_grad()
def _copy(weights: Mapping[str, Tensor], parameters: Mapping[str, Tensor]) -> None:
    for name, parameter in parameters.items():
        parameter.copy_(weights[name])


def _seed_everything(seed: int, step: int, rank: int, device: torch.device) -> None:
    mixed = int(np.random.SeedSequence([seed, step, rank]).generate_state(1)[0])
    random.seed(mixed)
    np.random.seed(mixed)
    torch.default_generator.manual_seed(mixed)  # torch.manual_seed formats a stack trace: 1 ms a step
    if device.type == "cuda":
        torch.cuda.manual_seed_all(mixed)


@contextmanager
def _progress(run: _Run, name: str) -> Iterator[Callable[[], None]]:
    """Yield what to call after each step: a line of progress if the run has a name, on the first process."""
    if not name or not run.accelerator.is_main_process:
        yield lambda: None
        return
    import sys

    from tqdm import tqdm

    lengths, started = run.plan.features.lengths, time.perf_counter()
    tokens = [0]
    with tqdm(total=len(run.plan.steps), initial=run.state["step"], desc=name, file=sys.stdout) as line:

        def show() -> None:
            tokens[0] += sum(int(lengths[rows].sum()) for rows in run.plan.steps[run.state["step"] - 1])
            speed = tokens[0] / (time.perf_counter() - started)
            line.set_postfix_str(f"{speed:,.0f} tokens/s, loss {run.loss:.3f}", refresh=False)
            line.update()

        yield show


@contextmanager
def _accelerated() -> Iterator[Any]:
    """Build an Accelerator for one run, and let go of model and optimizer afterwards."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    if sharding := [name for name in SHARDING if os.environ.get(f"ACCELERATE_USE_{name}") == "true"]:
        raise ValueError(
            f"{sharding[0]} cuts a model into pieces, which averages and checkpoints here cannot join: use "
            "plain data parallelism (accelerate launch --multi_gpu), where every GPU holds the model; one "
            "that does not fit needs LoRA on 4-bit weights"
        )
    if (state := AcceleratorState._shared_state) and state["_mixed_precision"] != precision():
        AcceleratorState._reset_state()  # else a process would keep the precision of its first run
    accelerator = Accelerator(mixed_precision=precision())
    try:
        yield accelerator
    finally:
        if accelerator.device.type != "cpu":  # nothing to free there, and collecting garbage takes 0.2 s
            accelerator.free_memory()
