"""Which rows make up each optimizer step of a training run: known before it starts, on every process."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

import numpy as np

from helpers.learning.batching import Features, length_buckets
from helpers.learning.config import Moment, TrainConfig, learning_rate

Draw = Callable[[int], Sequence[int] | np.ndarray]
"""Names the rows of an epoch."""


class StepPlan:
    """All steps of a run, each a list of batches; `draw(epoch)` names the rows of an epoch (None: all)."""

    def __init__(self, features: Features, config: TrainConfig, draw: Draw | None):
        self.features, self.config, self.draw = features, config, draw
        epochs = [self._epoch(epoch) for epoch in range(config.epochs)]
        self.epoch_steps = [len(steps) for steps in epochs]
        self.steps = [step for steps in epochs for step in steps]
        self.ends = np.cumsum(self.epoch_steps)
        if not self.steps:
            raise ValueError("draw named no row in any epoch: there is nothing to train on")

    def moment(self, step: int) -> Moment:
        return Moment(step, self._position(step), self._position(step - 1), len(self.steps))

    def learning_rate(self, step: int) -> float:
        return learning_rate(self.config, step, total=len(self.steps), first_epoch=self.epoch_steps[0])

    def fingerprint(self) -> dict[str, Any]:
        order = blake2b(
            np.concatenate([rows for step in self.steps for rows in step]).tobytes(), digest_size=16
        )
        return asdict(self.config) | {"data": self.features.fingerprint(), "order": order.hexdigest()}

    def _position(self, step: int) -> float:
        """Return completed epochs after `step` steps; a whole number exactly at the end of an epoch."""
        epoch = int(np.searchsorted(self.ends, step, side="right"))
        if epoch == len(self.ends):
            return float(epoch)
        return epoch + 1 - int(self.ends[epoch] - step) / self.epoch_steps[epoch]

    def _epoch(self, epoch: int) -> list[list[np.ndarray]]:
        rows = np.arange(len(self.features)) if self.draw is None else np.asarray(self.draw(epoch))
        batches = [
            rows[batch]
            for batch in length_buckets(
                self.features.lengths[rows],
                rows=self.config.batch_rows,
                tokens=self.config.batch_tokens,
                seed=self.config.seed,
                epoch=epoch,
            )
        ]
        size = self.config.accumulate
        return [batches[at : at + size] for at in range(0, len(batches), size)]
