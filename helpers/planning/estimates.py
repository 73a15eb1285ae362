"""What a plan costs: steps, memory, hours on each card, disk, and how far more cards help.

Counts come from `trainings`, sizes from `footprints`. Hours are operations over a card's peak rate times the
share of it that training reaches: a guess, until `nunchi rehearse` has measured it (see `efficiency`).
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
    kept: float  # bytes on disk that one run leaves
    passing: float  # bytes on disk while it runs
    download: float  # bytes of the model, once

    def hours(self, card: str) -> float:
        return self.operations / (efficiency(card) * FACTS["cards"][card]["tflops"] * 1e12) / 3600

    def smallest_card(self) -> str:
        return smallest_card(self.peak)


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
        kept=model * training.checkpoints,
        passing=12.0 * found.trained + model * training.snapshots + 4.0 * found.trained * training.averages,
        download=model if "/" in training.model else 0.0,
    )


def smallest_card(peak: float) -> str:
    """Return the first card that holds so many bytes, or what is missing."""
    fits = [name for name, card in FACTS["cards"].items() if peak <= USABLE * card["memory"] * 1e9]
    return fits[0] if fits else "none: shorten, accumulate or recompute"


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
    cards = list(FACTS["cards"])
    rows = [("runs", "of", "tokens", "batch", "steps", "memory", "fits", *(f"{card}, h" for card in cards))]
    for one in merged(costs):
        training = one.training
        batch = f"{training.batch}" + (f" × {training.accumulate}" if training.accumulate > 1 else "")
        host = f" + {gigabytes(one.host)} host" if one.host else ""
        rows.append(
            (f"{one.runs}", f"{training.sweep}: {training.model}", f"{training.length}", batch,
             f"{training.steps:,}", gigabytes(one.peak) + host, one.smallest_card(),
             *(_hours(one.runs * one.hours(card)) for card in cards))
        )  # fmt: skip
    return [*table(rows), *_sums(costs, cards, gpus)]


def _hours(hours: float) -> str:
    return f"{hours:,.2f}" if hours >= 0.005 else "0"


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
        mean = sum(one.runs * one.operations for one in some) / runs
        joined.append(max(some, key=lambda one: one.peak)._replace(runs=runs, operations=mean))
    return joined


def _sums(costs: Sequence[Cost], cards: Sequence[str], gpus: int) -> list[str]:
    runs = sum(one.runs for one in costs)
    steps = sum(one.runs * one.training.steps for one in costs)
    downloads = {one.training.model: one.download for one in costs}
    kept = sum(one.runs * one.kept for one in costs)
    passing = gpus * max(one.passing for one in costs)
    hours = ", ".join(f"{card} {sum(one.runs * one.hours(card) for one in costs):,.1f}" for card in cards)
    said = "measured" if set(measured()) & set(cards) else "guessed"
    found = [
        f"in all: {runs:,} runs, {steps:,} steps; hours on one card ({said} efficiency): {hours}",
        f"disk: {gigabytes(kept)} kept, {gigabytes(passing)} while training, "
        f"{gigabytes(sum(downloads.values()))} downloads",
    ]
    if gpus > 1:
        spans = ", ".join(f"{card} {makespan(costs, card=card, gpus=gpus):,.1f}" for card in cards)
        most = _at_once(costs)
        found.append(f"on {gpus} cards, longest first: {spans} hours; at most {most} of them work at once")
    return found


def _at_once(costs: Iterable[Cost]) -> int:
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
