"""Weight averages of one training trajectory, SWA, EMA, LAWA, greedy soups; and model stock, of several.

The averages are observers of `training.fit`: each holds a fixed number of copies of the trained weights,
whatever the length of the run, and is saved and resumed with it. The update rules are those of
`torch.optim.swa_utils`; models without batch norm, as all here, need no second pass over the data.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn, get_swa_multi_avg_fn

from helpers.learning.config import EPOCH, HALF_EPOCH, STEP, Every, Moment

Weights = dict[str, Tensor]


class _Average:
    """A running average of the trained weights: one copy, updated in place."""

    device: str | None = None  # where the copy is kept; None: where the model is

    def __init__(self, every: Every, start: float, update: Callable[[list, list, int], None]):
        self.every, self.start, self.update = every, start, update
        self.count = 0
        self._weights: Weights = {}
        self._model: nn.Module | None = None
        self._live: list[Tensor] = []

    def __call__(self, model: nn.Module, moment: Moment) -> None:
        if moment.epoch < self.start or not self.every(moment):
            return
        if model is not self._model:  # looked up once: walking the modules costs more than averaging
            self._watch(model)
        if self.count:
            own = list(self._weights.values())
            self.update(
                own, [live.to(kept.device) for live, kept in zip(self._live, own, strict=True)], self.count
            )
        self.count += 1

    def _watch(self, model: nn.Module) -> None:
        """Line the average up with the model's weights, by name: a resumed average has its own order."""
        current = trained_weights(model)
        start = self._weights or current
        self._weights = {
            name: start[name].to(self.device or value.device, copy=True) for name, value in current.items()
        }
        self._model, self._live = model, list(current.values())

    def weights(self) -> Weights:
        """Return the average so far."""
        if not self._weights:
            raise ValueError(
                f"{type(self).__name__} never ran: {self.every} from epoch {self.start} never came"
            )
        return dict(self._weights)

    def state_dict(self) -> Weights:
        return {"count": torch.tensor(self.count)} | {f"weights.{k}": v for k, v in self._weights.items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.count = int(state["count"])
        self._weights = _below(state, "weights.")


class SWA(_Average):
    """The equal mean of the weights at every epoch (or any rhythm) from `start` completed epochs on."""

    device = "cpu"  # touched once an epoch: a GPU's memory is for the model

    def __init__(self, every: Every = EPOCH, start: float = 1.0):
        super().__init__(every, start, get_swa_multi_avg_fn())


class EMA(_Average):
    """The exponential moving average of the weights, from the first step on.

    It moves at every step, so it is kept beside the model: one more copy of the weights on its GPU.
    """

    def __init__(self, decay: float = 0.999, every: Every = STEP):
        super().__init__(every, 0.0, get_ema_multi_avg_fn(decay))


class LAWA:
    """The mean of the last k weights, sampled at `every`; k copies are kept."""

    def __init__(self, k: int = 5, every: Every = HALF_EPOCH):
        if k < 1:
            raise ValueError(f"k counts the checkpoints to average, got {k}")
        self.k, self.every = k, every
        self._kept: list[Weights] = []

    def __call__(self, model: nn.Module, moment: Moment) -> None:
        if self.every(moment):
            self._kept.append(
                {name: value.to("cpu", copy=True) for name, value in trained_weights(model).items()}
            )
            del self._kept[: -self.k]

    def weights(self) -> Weights:
        """Return the mean of what is kept: fewer than k early in a run."""
        if not self._kept:
            raise ValueError(f"LAWA never ran: {self.every} never came")
        return average_weights(self._kept)

    def state_dict(self) -> Weights:
        return {f"{at}.{name}": value for at, kept in enumerate(self._kept) for name, value in kept.items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        count = len({name.split(".", 1)[0] for name in state})
        self._kept = [_below(state, f"{at}.") for at in range(count)]


class Snapshots:
    """Save the model to `folder/checkpoint-<step>/` at every epoch (or any rhythm), by `save_pretrained`."""

    def __init__(self, folder: str | Path, every: Every = EPOCH):
        self.folder, self.every = Path(folder), every

    def __call__(self, model: nn.Module, moment: Moment) -> None:
        if self.every(moment):
            self.save(model, moment.step)

    def save(self, model: Any, step: int) -> Path:
        """Save now; step 0 is the model before training."""
        from accelerate import PartialState

        from helpers.learning.encoders import quiet

        place = self.folder / f"checkpoint-{step}"
        if PartialState().is_main_process:
            partial = place.with_name(f".{place.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            with quiet():
                model.save_pretrained(partial)
            shutil.rmtree(place, ignore_errors=True)
            partial.rename(place)
        return place

    def folders(self) -> list[Path]:
        """Return what was saved, in the order of the steps."""
        return sorted(self.folder.glob("checkpoint-*"), key=lambda path: int(path.name.rsplit("-", 1)[1]))


def average_weights(state_dicts: Iterable[Mapping[str, Tensor]]) -> Weights:
    """Return the mean of the float entries; other entries are those of the last dict.

    Sums are kept in double precision, so the order hardly matters.
    """
    count, last = 0, None
    sums: Weights = {}
    for state in state_dicts:
        if last is not None and state.keys() != last.keys():
            raise ValueError(
                f"state dict {count} has other entries: {sorted(state.keys() ^ last.keys())[:5]}"
            )
        for name, value in state.items():
            if value.is_floating_point():
                wide = value.cpu().double()  # Apple's GPUs have no double precision
                sums[name] = sums[name] + wide if name in sums else wide
        count, last = count + 1, state
    if last is None:
        raise ValueError("average_weights needs at least one state dict")
    return {n: (sums[n] / count).to(v) if n in sums else v.clone() for n, v in last.items()}


def greedy_soup(
    folders: Sequence[str | Path], model: nn.Module, score: Callable[[nn.Module], float]
) -> tuple[Weights, list[Path]]:
    """Add checkpoints to an average, best first, as long as the validation score does not fall.

    Each checkpoint is read when it is needed, so memory does not grow with their number. Returns the
    soup's weights and the folders in it; the model itself is left as it was.
    """
    if not folders:
        raise ValueError("greedy_soup needs at least one checkpoint folder")
    scores = {Path(folder): _score(model, read_weights(folder), score) for folder in folders}
    ranked = sorted(scores, key=lambda folder: -scores[folder])  # ties: in the order given
    chosen, soup, best = ranked[:1], read_weights(ranked[0]), scores[ranked[0]]
    for folder in ranked[1:]:
        candidate = {name: value.clone() for name, value in soup.items()}
        extra = read_weights(folder)
        get_swa_multi_avg_fn()(list(candidate.values()), [extra[name] for name in candidate], len(chosen))
        if (found := _score(model, candidate, score)) >= best:
            chosen, soup, best = [*chosen, folder], candidate, found
    return soup, chosen


def model_stock(tuned: Sequence[Mapping[str, Tensor]], starts: Sequence[Mapping[str, Tensor]]) -> Weights:
    """Merge models, layer by layer, into their mean drawn back to the start they share (Jang et al. 2024).

    Where N models left it at an angle θ to one another, the mean's share is N cos θ / (1 + (N - 1) cos θ): 1
    if all moved alike, 0 if at right angles or more. Entries that do not start alike, such as a head that
    each seed draws, have nowhere to go back to: their mean.
    """
    if len(tuned) < 2 or len(tuned) != len(starts):
        raise ValueError(
            f"model stock needs two models or more and the start of each, got {len(tuned)}, {len(starts)}"
        )
    merged = average_weights(tuned)
    for name, start in starts[0].items():
        if start.is_floating_point() and all(torch.equal(start, other[name]) for other in starts[1:]):
            start = start.to(merged[name])
            moved = torch.stack([(state[name].to(start) - start).flatten() for state in tuned]).double()
            merged[name] = torch.lerp(start, merged[name], _share_of_mean(moved))
    return merged


def _share_of_mean(moved: Tensor) -> float:
    """Return the mean's share in one layer; `moved: (models, weights)` is what each added to the start."""
    number = len(moved)
    unit = nn.functional.normalize(moved, dim=1)
    cosines = (unit @ unit.T)[*torch.triu_indices(number, number, offset=1)]
    cosine = max(float(cosines.mean()), 0.0)
    return number * cosine / (1 + (number - 1) * cosine)


def trained_weights(model: nn.Module) -> Weights:
    """Return the parameters that training changes, by name, without copying them."""
    return {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}


def read_weights(folder: str | Path) -> Weights:
    """Return the tensors of a checkpoint that `Snapshots` or `save_pretrained` wrote."""
    from safetensors.torch import load_file

    return load_file(Path(folder) / "model.safetensors")


@torch.no_grad()
def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy these entries into the model; the others stay as they are."""
    own = dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers())
    if unknown := sorted(weights.keys() - own.keys()):
        raise ValueError(f"the model has no {', '.join(unknown[:3])}: are these weights of another model?")
    for name, value in weights.items():
        own[name].copy_(value)


@contextmanager
def applied(model: nn.Module, weights: Mapping[str, Tensor]) -> Iterator[nn.Module]:
    """Use these weights inside the block, and put the model's own back after it."""
    own = dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers())
    before = {name: own[name].detach().clone() for name in weights if name in own}
    load_weights(model, weights)
    try:
        yield model
    finally:
        load_weights(model, before)


def _score(model: nn.Module, weights: Weights, score: Callable[[nn.Module], float]) -> float:
    with applied(model, weights):
        return float(score(model))


def _below(state: Mapping[str, Tensor], prefix: str) -> Weights:
    return {k.removeprefix(prefix): v.clone() for k, v in state.items() if k.startswith(prefix)}
