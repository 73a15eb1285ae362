"""Two steps of every kind of training in a plan, on the hardware here: does it run, and what does it take?

Each is a process of its own, so that running out of memory ends one row and not the table. Where the hub is
out of reach, weights are random and of the true shape: they cost the same. One row, given as JSON on standard
input, is `python -m helpers.planning.rehearsal`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from helpers.planning import estimates, footprints
from helpers.planning.shapes import shape
from helpers.planning.trainings import FACTS, Training

STEPS = 2
MICRO = 2  # batches of a step at most: two show what accumulation holds
KIND = (
    "task",
    "model",
    "length",
    "batch",
    "accumulate",
    "recompute",
    "lora_rank",
    "four_bit",
    "frozen",
    "size",
)
HEADINGS = (
    "task",
    "model",
    "tokens",
    "batch",
    "peak",
    "estimate",
    "s a step",
    "time here",
    "disk",
    "fits",
    "",
)


def rehearse(
    found: Mapping[Training, int], *, batch: int | None = None, memory: float | None = None, hub: bool = False
) -> Iterator[list[str]]:
    """Yield a row of HEADINGS for every distinct model, length and batch, as soon as it is known.

    `batch` tries so many rows at a time, and no accumulation; hours are still those of the plan. `memory` is
    how many bytes a row may take, by default what is free. `hub` says that true weights can be had.
    """
    shares: list[float] = []
    for training, (runs, steps) in _distinct(found, batch).items():
        done = _row(training, memory=memory, hub=hub)
        if "efficiency" in done:
            shares.append(done["efficiency"])
            _calibrate(done["card"], statistics.median(shares))
        yield _cells(training, runs, steps, done)


def _distinct(found: Mapping[Training, int], batch: int | None) -> dict[Training, tuple[int, float]]:
    """Return one training of each kind with the runs of all, and their steps, in steps of that one."""
    kinds: dict[tuple, dict[Training, tuple[int, float]]] = {}
    for training, runs in found.items():
        tried, rows = training, training.batch * training.accumulate
        if batch:
            tried = dataclasses.replace(training, batch=min(batch, training.batch), accumulate=1)
        key = (*(getattr(tried, name) for name in KIND), bool(tried.averages))
        steps = runs * training.steps * rows / (tried.batch * tried.accumulate)
        kinds.setdefault(key, {})[tried] = (runs, steps)
    return {
        next(iter(some)): (sum(runs for runs, _ in some.values()), sum(steps for _, steps in some.values()))
        for some in kinds.values()
    }


def _row(training: Training, *, memory: float | None, hub: bool) -> dict[str, Any]:
    """Rehearse one training in a process of its own, unless it cannot fit."""
    import psutil
    import torch

    on = "gpu" if torch.cuda.is_available() else "cpu"
    expected = estimates.cost(training, on=on).peak
    done: dict[str, Any] = {"expected": expected}
    if on == "cpu" and training.four_bit:
        return done | {"error": "4-bit weights need a CUDA card"}
    room = memory or (psutil.virtual_memory().available if on == "cpu" else float("inf"))
    if expected > room:
        return done | {"error": f"not tried: {estimates.gigabytes(room)} to use"}
    spec = json.dumps({"training": dataclasses.asdict(training), "hub": hub})
    ended = subprocess.run(
        [sys.executable, "-m", "helpers.planning.rehearsal"],
        input=spec, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode:
        cause = ended.stderr.strip().splitlines()[-1:] or [f"signal {-ended.returncode}: out of memory?"]
        return done | {"error": cause[0][:120]}
    return done | json.loads(ended.stdout.splitlines()[-1])


def _cells(training: Training, runs: int, steps: float, done: Mapping[str, Any]) -> list[str]:
    whole = estimates.cost(training, runs)
    peak, seconds, hours = "", "", ""
    if "peak" in done:
        peak, seconds = estimates.gigabytes(done["peak"]), f"{done['seconds']:.2f}"
        hours = estimates.duration(steps * done["seconds"] / 3600)
    batch = f"{training.batch}" + (f" × {training.accumulate}" if training.accumulate > 1 else "")
    expected, kept = estimates.gigabytes(done["expected"]), estimates.gigabytes(runs * whole.kept)
    said = done.get("error") or ("random weights" if done.get("random") else "")
    return [
        training.task, training.model, f"{training.length}", batch, peak, expected, seconds, hours, kept,
        whole.smallest_card(), said,
    ]  # fmt: skip


def _calibrate(card: str, share: float) -> None:
    """Keep what training reached of the card's peak rate, for the hours of later estimates."""
    file = estimates.efficiency_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(estimates.measured() | {card: round(share, 4)}), encoding="utf-8")


def perform(training: Training, *, hub: bool = False) -> dict[str, Any]:
    """Train two steps on rows of the full length, evaluate, save, load again; return what it took.

    `peak` counts bytes on the card, or on a CPU what the process grew by since before the model was there.
    """
    import torch
    from accelerate import PartialState

    from helpers.learning import averaging, loop, pretraining  # noqa: F401  (imported before memory is read)

    device = PartialState().device
    before = _used(device)
    model, random = _model(training, hub=hub)
    ticks = [time.perf_counter()]
    observers: list[Any] = [averaging.EMA()] if training.averages else []
    observers.append(lambda model, moment: ticks.append(time.perf_counter()))
    micro = min(MICRO, training.accumulate)
    rows = _rows(training, STEPS * micro * training.batch, model)
    with _at_masks(model, training):
        loop.fit(model, rows, config=_config(training, micro), observers=observers)
    peak = _used(device) - before
    seconds = (ticks[2] - ticks[1]) * training.accumulate / micro
    done = {
        "peak": peak,
        "seconds": seconds,
        "random": random,
        "same": _saved_and_loaded(model, training, rows),
    }
    if device.type == "cuda":
        done |= _reached(training, seconds, torch.cuda.get_device_name())
    return done


def _model(training: Training, *, hub: bool) -> tuple[Any, bool]:
    """Return the model to train and whether its weights are random."""
    from transformers import AutoModel, AutoModelForMaskedLM

    from helpers.learning import encoders, heads, lora

    local = Path(training.model).is_dir()
    with encoders.quiet():
        if (hub or local) and training.task == "masked":
            return encoders.masked_lm(training.model), False
        if hub or local:
            body = encoders.load_encoder(training.model, four_bit=training.four_bit)
        else:
            config = shape(training.model, length=training.length, **dict(training.size))
            factory = AutoModelForMaskedLM if training.task == "masked" else AutoModel
            with heads.seeded(0):
                body = factory.from_config(config)
            if training.task == "masked":
                return body, True
    net: Any = footprints.classifier(body, training.task, decoder=bool(training.lora_rank))
    if training.frozen:
        heads.freeze_encoder(net)
    if training.lora_rank:
        net = lora.add_lora(net, r=training.lora_rank, alpha=2 * training.lora_rank)
    return net, not (hub or local)


def _config(training: Training, micro: int) -> Any:
    from helpers.learning.config import TrainConfig

    return TrainConfig(
        epochs=1, peak_lr=1e-5, batch_rows=training.batch, accumulate=micro, recompute=training.recompute
    )


def _rows(training: Training, count: int, model: Any) -> list[dict[str, Any]]:
    """Return rows of the full length, tokens drawn at random from the model's vocabulary."""
    import numpy as np

    from helpers.learning.batching import IGNORED

    entries = (model.config.encoder if hasattr(model.config, "encoder") else model.config).vocab_size
    ids = np.random.default_rng(0).integers(5, entries, size=(count, training.length))
    labels = footprints.LABELS.get(training.task, 0)
    masked = np.where(np.arange(training.length) < footprints.MASKED * training.length, ids, IGNORED)
    more: dict[str, list[dict[str, Any]]] = {
        "relations": [{"labels": i % labels, "subject_start": 1, "object_start": 2} for i in range(count)]
        if labels else [],
        "labels": [{"labels": [float(i % 2)] * labels} for i in range(count)],
        "masked": [{"labels": row.tolist()} for row in masked],
    }  # fmt: skip
    tagged = [{"labels": (row % max(labels, 1)).tolist()} for row in ids]
    return [
        {"input_ids": row.tolist()} | own
        for row, own in zip(ids, more.get(training.task, tagged), strict=True)
    ]


@contextlib.contextmanager
def _at_masks(model: Any, training: Training) -> Iterator[None]:
    from helpers.coreference.curricula import targets_only

    with targets_only(model) if training.task == "masked" else contextlib.nullcontext():
        yield


def _saved_and_loaded(model: Any, training: Training, rows: list[dict[str, Any]]) -> bool:
    """Evaluate, save, load and evaluate again; say whether both give the same."""
    import numpy as np

    from helpers.learning import encoders

    first = _answers(model, training, rows)
    with tempfile.TemporaryDirectory(prefix="nunchi-rehearsal-") as folder:
        with encoders.quiet():
            model.save_pretrained(folder)
        if training.lora_rank:  # adapters go back onto a model built alike
            from safetensors.torch import load_file

            saved = load_file(Path(folder) / "adapter_model.safetensors")
            return bool(saved) and bool(np.isfinite(first).all())
        load = encoders.masked_lm if training.task == "masked" else encoders.load_classifier
        device = next(model.parameters()).device
        del model
        again = _answers(load(folder).to(device), training, rows)
    if not np.allclose(first, again, atol=1e-2):
        raise ValueError(f"{training.model}: the saved model answers differently after loading")
    return True


def _answers(model: Any, training: Training, rows: list[dict[str, Any]]) -> Any:
    """Return a model's output for the first row."""
    import numpy as np
    import torch

    from helpers.learning import inference
    from helpers.learning.masked import MaskedLM

    if training.task != "masked":
        return np.asarray(inference.predict(model, rows[:1])[0])
    device = next(model.parameters()).device
    ids = torch.tensor([rows[0]["input_ids"]], device=device)
    places = torch.zeros_like(ids, dtype=torch.bool)
    places[0, :1] = True
    with torch.inference_mode():
        return MaskedLM(model.eval()).read(ids, torch.ones_like(ids), places).float().cpu().numpy()


def _used(device: Any) -> int:
    """Return the largest number of bytes held so far."""
    import torch

    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    status = Path("/proc/self/status")
    if status.exists():  # on Linux ru_maxrss begins with the peak of the process that started this one
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS


def _reached(training: Training, seconds: float, name: str) -> dict[str, Any]:
    """Return the card and the share of its peak rate that a step reached."""
    card = next((card for card in FACTS["cards"] if card in name.replace("-", " ").split()), None)
    if card is None:
        return {}
    step = dataclasses.replace(
        training, rows=training.batch * training.accumulate, epochs=1, scored=0, tokens=training.length
    )
    operations = footprints.operations(step, footprints.footprint(step))
    return {"card": card, "efficiency": operations / seconds / (FACTS["cards"][card]["tflops"] * 1e12)}


if __name__ == "__main__":
    spec = json.load(sys.stdin)
    spec["training"]["size"] = tuple(tuple(pair) for pair in spec["training"]["size"])
    try:
        print(json.dumps(perform(Training(**spec["training"]), hub=spec["hub"])))
    except (RuntimeError, MemoryError, ValueError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {' '.join(str(error).split())}")
