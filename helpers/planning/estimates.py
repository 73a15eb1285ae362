"""What a plan costs: steps, memory, hours on each card, disk, and how far more cards help.

Counts come from `trainings`, sizes from `footprints`. Time is operations over a card's peak rate times the
share of it that training reaches (a guess, until `nunchi rehearse` has measured it: see `efficiency`), and
never less than it takes to launch the kernels of every step: small batches leave a fast card waiting.
"""

from __future__ import annotations

import heapq
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from helpers.planning import footprints
from helpers.planning.trainings import FACTS, Training

USABLE = 0.9  # of a card's memory: the rest is the driver's, and lost between blocks


class Cost(NamedTuple):
    """What one run of a training needs."""

    training: Training
    runs: int
    peak: float  # bytes on the card
    host: float  # bytes of averages beside it
    operations: float  # of one run
    launches: float  # layers that one run starts, forward and backward: no card is faster than its host
    kept: float  # bytes on disk that one run leaves
    passing: float  # bytes on disk while it runs
    download: float  # bytes of the model, once

    def hours(self, card: str) -> float:
        computing = self.operations / (efficiency(card) * FACTS["cards"][card]["tflops"] * 1e12)
        return max(computing, self.launches * FACTS["launch"]) / 3600

    def fits(self, card: str) -> bool:
        return self.peak <= USABLE * FACTS["cards"][card]["memory"] * 1e9

    def smallest_card(self) -> str:
        """Return the first card that holds a run, or what is to be done."""
        large_enough = (card for card in FACTS["cards"] if self.fits(card))
        return next(large_enough, "none: shorten, accumulate or recompute")


def cost(training: Training, runs: int = 1, *, on: str = "gpu") -> Cost:
    """Estimate one training on a "gpu" or, in 32 bits, on a "cpu"."""
    found = footprints.footprint(training, on=on)
    model = 4.0 * found.parameters
    return Cost(
        training,
        runs,
        peak=found.peak(training),
        host=4.0 * found.trained * training.averages,
        operations=footprints.operations(training, found),
        launches=footprints.launches(training),
        kept=model * training.checkpoints,
        passing=12.0 * found.trained + model * training.snapshots + 4.0 * found.trained * training.averages,
        download=model if "/" in training.model else 0.0,
    )


def efficiency(card: str) -> float:
    """Return the share of a card's peak rate that training reaches: measured on it, or the guess."""
    return measured().get(card, FACTS["efficiency"])


def measured() -> dict[str, float]:
    """Return the efficiency by card that `nunchi rehearse` has left."""
    file = efficiency_file()
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def efficiency_file() -> Path:
    beside = Path(__file__).resolve().parents[2] / ".cache"
    return Path(os.environ.get("NUNCHI_CACHE") or beside) / "efficiency.json"


def makespan(costs: Iterable[Cost], *, card: str, gpus: int) -> float:
    """Return the hours until the last run ends: every free card takes the longest run that is left.

    Sweeps, and the phases of one, wait for each other.
    """
    phases: dict[tuple[str, str], list[float]] = {}
    for one in costs:
        waiting = phases.setdefault((one.training.sweep, one.training.phase), [])
        waiting += [one.hours(card)] * one.runs
    return sum(_span(runs, gpus) for runs in phases.values())


def _span(runs: list[float], gpus: int) -> float:
    ends = [0.0] * min(gpus, max(1, len(runs)))
    for hours in sorted(runs, reverse=True):
        heapq.heappush(ends, heapq.heappop(ends) + hours)
    return max(ends)


def lines(found: Mapping[Training, int], *, gpus: int = 1) -> list[str]:
    """Return a notebook's plan as a table: a line for every distinct training, then the sums."""
    if not found:
        return []
    costs = [cost(training, runs) for training, runs in found.items()]
    rows = [("runs", "of", "tokens", "batch", "steps", "memory", "fits", *FACTS["cards"])]
    for one in merged(costs):
        training = one.training
        batch = f"{training.batch}" + (f" × {training.accumulate}" if training.accumulate > 1 else "")
        host = f" + {gigabytes(one.host)} host" if one.host else ""
        rows.append(
            (f"{one.runs}", f"{training.sweep}: {training.model}", f"{training.length}", batch,
             f"{training.steps:,}", gigabytes(one.peak) + host, one.smallest_card(),
             *(duration(one.runs * one.hours(card)) if one.fits(card) else "–" for card in FACTS["cards"]))
        )  # fmt: skip
    return [*table(rows), *sums(costs, gpus=gpus)]


def summary(found: Mapping[str, Mapping[Training, int]], *, gpus: int = 1) -> list[str]:
    """Return the sums over several notebooks, one after another, and which of them stops scaling first."""
    costs = {name: [cost(*pair) for pair in some.items()] for name, some in found.items() if some}
    if len(costs) < 2:
        return []
    most = {name: at_once(some) for name, some in costs.items()}
    first = min(most, key=lambda name: most[name])
    every = [one for some in costs.values() for one in some]
    return [*sums(every, gpus=gpus), f"first to stop scaling: {first}, at {most[first]} cards"]


def duration(hours: float) -> str:
    """Write a time with two significant figures or more: "12 s", "8.5 min", "155 h"."""
    if hours < 1 / 60:
        return f"{3600 * hours:.0f} s"
    number, unit = (hours, "h") if hours >= 1 else (60 * hours, "min")
    return f"{number:,.1f} {unit}" if number < 10 else f"{number:,.0f} {unit}"


def merged(costs: Iterable[Cost]) -> list[Cost]:
    """Join the costs of trainings that look alike in a table, at the larger memory."""
    groups: dict[tuple, list[Cost]] = {}
    for one in costs:
        t = one.training
        key = (
            t.sweep,
            t.model,
            t.length,
            t.batch,
            t.accumulate,
            t.steps,
            one.smallest_card(),
            bool(one.host),
        )
        groups.setdefault(key, []).append(one)
    joined = []
    for some in groups.values():
        runs = sum(one.runs for one in some)
        mean = {
            name: sum(one.runs * getattr(one, name) for one in some) / runs
            for name in ("operations", "launches")
        }
        joined.append(max(some, key=lambda one: one.peak)._replace(runs=runs, **mean))
    return joined


def sums(costs: Sequence[Cost], *, gpus: int = 1) -> list[str]:
    """Return the lines below a plan: runs and time by card, disk, and what several cards would make of it."""
    runs = sum(one.runs for one in costs)
    steps = sum(one.runs * one.training.steps for one in costs)
    downloads = {one.training.model: one.download for one in costs}
    kept = sum(one.runs * one.kept for one in costs)
    passing = gpus * max(one.passing for one in costs)
    said = "measured" if set(measured()) & set(FACTS["cards"]) else "guessed"
    found = [
        f"in all: {runs:,} runs, {steps:,} steps; time on one card ({said} efficiency): {_by_card(costs, 1)}",
        f"disk: {gigabytes(kept)} kept, {gigabytes(passing)} while training, "
        f"{gigabytes(sum(downloads.values()))} downloads",
    ]
    if gpus > 1:
        most = at_once(costs)
        found.append(
            f"on {gpus} cards, longest first: {_by_card(costs, gpus)}; more than {most} have no work"
        )
    return found


def _by_card(costs: Sequence[Cost], gpus: int) -> str:
    """Return the time by card; a card that cannot hold every run says how many are left out."""
    said = []
    for card in FACTS["cards"]:
        on_it = [one for one in costs if one.fits(card)]
        missing = sum(one.runs for one in costs) - sum(one.runs for one in on_it)
        time = duration(makespan(on_it, card=card, gpus=gpus)) if on_it else "–"
        less = f" without {missing:,} runs that do not fit" if missing and on_it else ""
        said.append(f"{card} {time}{less}")
    return ", ".join(said)


def at_once(costs: Iterable[Cost]) -> int:
    """Return how many runs can go on beside one another at most."""
    runs: Counter[tuple[str, str]] = Counter()
    for one in costs:
        runs[one.training.sweep, one.training.phase] += one.runs
    return max(runs.values())


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align columns by spaces; the second is text."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column == 1 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def gigabytes(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.0f} MB"
