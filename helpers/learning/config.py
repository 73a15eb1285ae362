"""Settings of a training run: what they may be, when it evaluates and saves, its learning rate.

Plain values and pure functions of the step; the loop itself is `loop`.
"""

import math
from dataclasses import dataclass

SCHEDULE_FREE = "schedule-free"  # constant, and with the optimizer that averages instead of a decay
SCHEDULES = ("linear", "cosine", "constant", "cosine-first-epoch", SCHEDULE_FREE)


@dataclass(frozen=True)
class Moment:
    """Where a run stands after an optimizer step; epochs are completed ones, as floats."""

    step: int
    epoch: float
    previous_epoch: float
    total_steps: int


@dataclass(frozen=True)
class Every:
    """A rhythm, `Every(steps=100)` or `Every(epochs=0.5)`; call it with a moment to ask whether it is due."""

    steps: int = 0
    epochs: float = 0.0

    def __post_init__(self) -> None:
        if (self.steps > 0) == (self.epochs > 0) or min(self.steps, self.epochs) < 0:
            raise ValueError(f"give a positive number of steps or of epochs, one of the two; got {self}")

    def __call__(self, moment: Moment) -> bool:
        if self.steps:
            return moment.step % self.steps == 0
        before, now = (math.floor(e / self.epochs + 1e-9) for e in (moment.previous_epoch, moment.epoch))
        return now > before


STEP, HALF_EPOCH, EPOCH = Every(steps=1), Every(epochs=0.5), Every(epochs=1)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How to train."""

    epochs: int = 3
    peak_lr: float = 5e-4
    encoder_lr: float = 1.0  # of the encoder below a head, as a share of the head's
    batch_rows: int = 32  # at most
    batch_tokens: int | None = None  # at most, padding included; None: rows alone decide
    accumulate: int = 1  # batches per optimizer step
    schedule: str = "linear"
    warmup: float = 0.06  # share of all steps
    weight_decay: float = 0.01  # of matrices; biases and norms have none
    clip: float = 1.0  # the largest gradient norm; 0: any
    recompute: bool = False  # activations in the backward pass: a third more time, a fraction of the memory
    metric: str | None = None  # key of what evaluate returns; the highest is best
    tie_break: str | None = None  # another key, lower is better, that decides between equals: a loss
    patience: int = 0  # evaluations without a new best before stopping; 0: never
    restore_best: bool = True  # False: keep the last weights
    evaluate: Every = EPOCH
    seed: int = 0

    def __post_init__(self) -> None:
        positive = ("epochs", "peak_lr", "encoder_lr", "batch_rows", "batch_tokens", "accumulate")
        if wrong := [
            name for name in positive if (value := getattr(self, name)) is not None and not value > 0
        ]:
            raise ValueError(f"{wrong[0]} must be positive, got {getattr(self, wrong[0])}")
        if wrong := [
            name for name in ("patience", "seed", "weight_decay", "clip") if getattr(self, name) < 0
        ]:
            raise ValueError(f"{wrong[0]} must not be negative, got {getattr(self, wrong[0])}")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup is a share of all steps in [0, 1), got {self.warmup}")
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, got {self.schedule!r}")
        if self.patience and not self.metric:
            raise ValueError("patience needs a metric to watch: name a key of what evaluate returns")


def learning_rate(config: TrainConfig, step: int, *, total: int, first_epoch: int) -> float:
    """Return the rate of step 0, 1, …: linear warm-up, then the schedule.

    "cosine-first-epoch" falls to zero within the `first_epoch` steps of epoch 1 and is constant at the peak
    afterwards, as in the NER study; it warms up within that epoch too.
    """
    horizon = first_epoch if config.schedule == "cosine-first-epoch" else total
    if step >= horizon:
        return config.peak_lr
    warmup = math.ceil(config.warmup * horizon)
    if step < warmup:
        return config.peak_lr * (step + 1) / warmup
    done = (step - warmup) / max(1, horizon - warmup)
    if config.schedule in ("constant", SCHEDULE_FREE):
        return config.peak_lr
    return config.peak_lr * (
        (1 - done) if config.schedule == "linear" else (1 + math.cos(math.pi * done)) / 2
    )
