"""What takes a run's steps: AdamW, or one that needs no decaying rate, because it averages as it goes.

That is schedule-free AdamW (Defazio et al. 2024). The package `schedulefree`, oracle of the test, derives x
from y and z, which rounds at every evaluation, and keeps its counters where `checkpointing` does not look.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from helpers.learning.config import SCHEDULE_FREE, TrainConfig

BETAS, EPS = (0.9, 0.999), 1e-8


def build(trained: Mapping[str, Tensor], config: TrainConfig, device: torch.device) -> torch.optim.Optimizer:
    """Group the weights: matrices decay, biases do not; a pretrained encoder has its share of the rate."""
    slower = {name for name in trained if config.encoder_lr != 1 and name.startswith("encoder.")}
    groups = [
        {"params": [p for name, p in trained.items() if (p.ndim > 1, name in slower) == (matrix, slow)],
         "weight_decay": config.weight_decay if matrix else 0.0, "share": config.encoder_lr if slow else 1.0}
        for slow in (False, True) for matrix in (True, False)
    ]  # fmt: skip
    groups = [group for group in groups if group["params"]]
    if config.schedule == SCHEDULE_FREE:
        return ScheduleFree(groups, lr=config.peak_lr)
    return torch.optim.AdamW(groups, lr=config.peak_lr, fused=device.type in ("cpu", "cuda"))


class ScheduleFree(torch.optim.Optimizer):
    """z takes AdamW's steps without momentum, x is the mean of all z, gradients are taken between: at y.

    Parameters hold x, the weights to evaluate and to save. `train()` moves them to y = 0.1 z + 0.9 x for
    gradient and `step()`, `eval()` back to x. While the rate warms up, a z counts by the rate's square.
    """

    def __init__(self, groups: list[dict], *, lr: float):
        super().__init__(groups, {"lr": lr, "weight_decay": 0.0})
        self._x: dict[Tensor, Tensor] = {}  # allocated once; no part of the state, parameters hold it

    @torch.no_grad()
    def train(self) -> None:
        for p in self._parameters():
            state = self.state[p]
            if p not in self._x:
                self._x[p] = torch.empty_like(p)
            if not state:
                # steps and the sum of their weights; torch loads no other entry in its own precision
                state["step"] = torch.zeros(2, dtype=torch.float64)
                state["z"], state["exp_avg_sq"] = p.clone(), torch.zeros_like(p)
            self._x[p].copy_(p)
            p.lerp_(state["z"], 1 - BETAS[0])

    @torch.no_grad()
    def eval(self) -> None:
        for p in self._parameters():
            p.copy_(self._x[p])

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, p.grad, lr=group["lr"], decay=group["weight_decay"])

    def _update(self, y: Tensor, gradient: Tensor, *, lr: float, decay: float) -> None:
        state = self.state[y]
        state["step"] += torch.tensor([1.0, lr**2], dtype=torch.float64)
        steps, weights = state["step"].tolist()
        square = state["exp_avg_sq"].mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        bias = (1 - BETAS[1] ** steps) ** 0.5
        move = gradient.div_(square.sqrt().div_(bias).add_(EPS))  # the gradient is not needed any more
        state["z"].sub_(move.add_(y, alpha=decay) if decay else move, alpha=lr)
        self._x[y].lerp_(state["z"], lr**2 / weights)

    def _parameters(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]
