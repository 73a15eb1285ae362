"""Keep the state of a training run on disk, so that a killed run goes on where it stopped.

Tensors go to safetensors, the rest to JSON, never to pickles. A checkpoint is written beside its place and
renamed, so it is complete or absent; older ones go away once a newer one stands. A sweep deletes the last one
with the row that it publishes.
"""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.optim import Optimizer

from helpers.learning.config import EPOCH, Moment

Tensors = Mapping[str, Tensor]
SHARE = 0.025  # of a run's time that saving may take
SHORTEST = 1.0  # seconds between two saves, at least
SPEED = 5e8  # bytes per second, to guess what the first save costs


def due(moment: Moment, *, waited: float, cost: float, processes: int) -> bool:
    """Say whether to save now, `waited` seconds after the last save, which took `cost` seconds.

    Several processes, whose clocks differ, save once an epoch.
    """
    return EPOCH(moment) if processes > 1 else waited >= max(SHORTEST, cost / SHARE)


def save(folder: str | Path, step: int, *, groups: Mapping[str, Tensors], state: Mapping[str, Any]) -> Path:
    """Write `folder/step-<step>/` with a safetensors file per group and state.json; drop older steps."""
    folder = Path(folder)
    place, partial = folder / f"step-{step:08d}", folder / f".step-{step:08d}.partial"
    try:
        _write(partial, groups, state)
        shutil.rmtree(place, ignore_errors=True)
        partial.rename(place)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        kept = latest(folder)
        raise OSError(
            f"could not write checkpoint {place} ({error}); "
            f"{f'{kept.name} is intact' if kept else 'there is no earlier one'}: "
            "free some space and run the same call again to go on from there"
        ) from error
    for old in _complete(folder)[:-1]:
        shutil.rmtree(old, ignore_errors=True)
    return place


def latest(folder: str | Path) -> Path | None:
    """Return the newest complete checkpoint below folder, if any."""
    return next(reversed(_complete(Path(folder))), None)


def load(checkpoint: Path) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """Return the tensor groups by name, and the state."""
    state = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
    return {name: load_file(checkpoint / f"{name}.safetensors") for name in state.pop("groups")}, state


def load_latest(folder: Path) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]] | None:
    """Load the newest checkpoint that can be read; one that cannot is deleted, with a message."""
    while checkpoint := latest(folder):
        try:
            return load(checkpoint)
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            print(f"{checkpoint} cannot be read ({error}): deleted")
            shutil.rmtree(checkpoint)
    return None


def check_same(stored: Mapping[str, Any], wanted: Mapping[str, Any], folder: Path) -> None:
    """Refuse to go on with a run that was started with other settings, data or weights."""
    wanted = json.loads(json.dumps(wanted))
    if changed := [name for name in wanted if stored.get(name) != wanted[name]]:
        there, here = (repr(values.get(changed[0]))[:60] for values in (stored, wanted))
        raise ValueError(
            f"{folder} holds another run ({changed[0]}: {there} there, {here} here): "
            "give this run its own folder, or delete that one"
        )


def optimizer_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """Return the state of an optimizer as one flat group: `{"0.exp_avg": …}`."""
    state = optimizer.state_dict()["state"]
    return {f"{index}.{name}": value for index, values in state.items() for name, value in values.items()}


def load_optimizer(optimizer: Optimizer, tensors: Tensors) -> None:
    """Put back what `optimizer_tensors` gave; settings such as the learning rate stay as they are."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _complete(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*"))


def _write(partial: Path, groups: Mapping[str, Tensors], state: Mapping[str, Any]) -> None:
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for name, tensors in groups.items():
        save_file(
            {key: value.detach().cpu().contiguous() for key, value in tensors.items()},
            partial / f"{name}.safetensors",
        )
    state = {**state, "groups": list(groups)}
    (partial / "state.json").write_text(json.dumps(state, ensure_ascii=False), encoding="utf-8")
    for path in partial.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
