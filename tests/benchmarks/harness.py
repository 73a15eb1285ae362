"""What a benchmark is and how it is timed: in its own process, repeats interleaved, equality first.

A `Race` puts our function beside what people use instead, on the same data and in the same run.
A `Limit` is a figure with an upper bound. Both become rows of `bench.json`.
"""

import gc
import math
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("NUNCHI_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
FALL = 0.15  # of a ratio since the recorded run, beyond which its row fails
NOISY = 0.25  # (third quartile - first) / median beyond which a row says that it is noisy


@dataclass(frozen=True, kw_only=True)
class Race:
    """Our way against others' on `data(size)`; `others` maps a name to a function of the same data.

    The largest of `sizes` is raced, three of them give a scaling slope. Results are compared by
    `equal(ours, theirs)` before anything is timed.
    """

    name: str
    work: str
    data: Callable[[int], Any]
    ours: Callable[[Any], Any]
    others: Mapping[str, Callable[[Any], Any]]
    sizes: tuple[int, ...]
    unit: str = "items"
    equal: Callable[[Any, Any], bool] | None = None
    targets: Mapping[str, float] = field(default_factory=dict)
    steepest: float | None = None  # slope
    repeats: int = 5
    explanation: str = ""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A figure that must stay below `limit`: `measure()` returns it in `unit`."""

    name: str
    work: str
    measure: Callable[[], float]
    limit: float
    unit: str
    repeats: int = 3
    explanation: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the report; the first seven fields are the stable part of `bench.json`."""

    name: str
    ratio: float | None = None
    target: float | None = None
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    equal: bool | None = None
    work: str = ""
    size: int | None = None
    seconds: float | None = None
    other_seconds: float | None = None
    spread: float | None = None
    slope: float | None = None
    steepest: float | None = None
    noisy: bool = False
    explanation: str = ""
    error: str = ""

    @property
    def met(self) -> bool:
        """Whether the row holds what it promises; a row without a target promises equality only."""
        if self.error or self.equal is False:
            return False
        if self.steepest is not None and (self.slope is None or self.slope > self.steepest):
            return False
        if self.target is not None:
            return self.ratio is not None and self.ratio >= self.target
        return self.limit is None or (self.value is not None and self.value <= self.limit)

    def json(self) -> dict:
        return asdict(self) | {"met": self.met}


def run(case: Race | Limit) -> list[Row]:
    """Return the rows of one case; an exception becomes an error row, so that the others still run."""
    try:
        return _race(case) if isinstance(case, Race) else [_limit(case)]
    except Exception as error:  # the report must show which case broke, and go on
        return [_broken(case, f"{type(error).__name__}: {error}")]


def run_alone(case: Race | Limit) -> list[Row]:
    """Return the rows of one case from a fork of this process, so that no case is timed in another's heap.

    After some others, loading a file took three times as long as alone.
    """
    context = multiprocessing.get_context("fork")
    results, outlet = context.Pipe(duplex=False)
    process = context.Process(target=lambda: outlet.send(run(case)))
    process.start()
    outlet.close()
    try:
        return results.recv()
    except EOFError:
        process.join()
        return [_broken(case, f"its process ended with {process.exitcode}")]
    finally:
        process.join()


def _broken(case: Race | Limit, error: str) -> Row:
    return Row(name=case.name, work=case.work, error=error)


def against(row: Row, recorded: Mapping[str, float | None]) -> Row:
    """Fail a row whose ratio has fallen too far since the recorded run; {name: ratio} is what it was."""
    old = recorded.get(row.name)
    if row.ratio is None or old is None or row.ratio >= (1 - FALL) * old:
        return row
    return replace(row, error=f"{row.ratio:.3g}× where {old:.3g}× was recorded: fell by more than {FALL:.0%}")


def _race(case: Race) -> list[Row]:
    data = case.data(case.sizes[-1])
    result = case.ours(data)
    same = {
        name: case.equal(result, other(data)) if case.equal else None for name, other in case.others.items()
    }
    runners = {"": case.ours, **case.others}
    times: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(case.repeats):
        for name, runner in runners.items():  # interleaved: drift of the machine hits all alike
            times[name].append(_seconds(runner, data))
    slope = _slope(case)
    own = statistics.median(times[""])
    return [
        Row(
            name=f"{case.name} vs {name}",
            ratio=statistics.median(times[name]) / own,
            target=case.targets.get(name),
            unit=case.unit,
            equal=None if same[name] is None else bool(same[name]),
            work=case.work,
            size=case.sizes[-1],
            seconds=own,
            other_seconds=statistics.median(times[name]),
            spread=_spread(times[""]),
            slope=slope,
            steepest=case.steepest,
            noisy=max(_spread(times[""]), _spread(times[name])) > NOISY,
            explanation=case.explanation,
        )
        for name in case.others
    ]


def _limit(case: Limit) -> Row:
    values = [case.measure() for _ in range(case.repeats)]
    return Row(
        name=case.name,
        value=statistics.median(values),
        limit=case.limit,
        unit=case.unit,
        work=case.work,
        spread=_spread(values),
        noisy=_spread(values) > NOISY,
        explanation=case.explanation,
    )


def _slope(case: Race) -> float | None:
    """Return the log-log slope of our time over the sizes: 1 is linear, 1.1 about n log n, 2 quadratic."""
    if len(case.sizes) < 3:
        return None
    points = []
    for size in case.sizes:
        data = case.data(size)
        seconds = min(_seconds(case.ours, data) for _ in range(3))
        points.append((math.log(size), math.log(seconds)))
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def _seconds(function: Callable, data: Any) -> float:
    gc.collect()
    start = time.perf_counter()
    function(data)
    return time.perf_counter() - start


def _spread(values: list[float]) -> float:
    if len(values) < 2:
        return 0.0
    first, middle, third = statistics.quantiles(values, n=4, method="inclusive")
    return (third - first) / middle if middle else 0.0
