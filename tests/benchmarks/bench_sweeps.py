"""Sweeps: reading a finished grid back, against joblib's cache, and workers that are there already."""

import functools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.harness import Limit, Race


def cell(backbone: int, rate: float, batch: int) -> dict:
    """A configuration of the published 29-cell grid; what it computes does not matter here."""
    return {"f1": backbone + rate * batch}


def grid(size: int) -> list[dict]:
    return [{"backbone": at % 5, "rate": 1e-5 * (1 + at // 10), "batch": 8 * (1 + at)} for at in range(size)]


@functools.cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory()


@contextmanager
def _cache() -> Iterator[None]:
    before = os.environ.get("NUNCHI_CACHE")
    os.environ["NUNCHI_CACHE"] = _folder().name
    try:
        yield
    finally:
        os.environ.pop("NUNCHI_CACHE") if before is None else os.environ.update(NUNCHI_CACHE=before)


def ours(configs: list[dict]) -> list[float]:
    from helpers.sweeps import sweep

    with _cache():
        return sweep(cell, configs, name="bench", workers=1)["f1"].tolist()


def joblib_memory(configs: list[dict]) -> list[float]:
    from joblib import Memory

    cached = Memory(_folder().name, verbose=0).cache(cell)
    return [cached(**config)["f1"] for config in configs]


def read_back() -> float:
    import time

    configs = grid(29)
    ours(configs)
    start = time.perf_counter()
    ours(configs)
    return time.perf_counter() - start


def importing(x: float) -> dict:
    """A call that needs torch, as trainings do."""
    import torch

    return {"y": float(torch.tensor(x))}


def parked(_: int) -> list[float]:
    """Sweep over two new configurations; workers of the last sweep go on."""
    import time

    from helpers.sweeps import sweep

    with _cache():
        configs = [{"x": time.time() + at} for at in range(2)]
        frame = sweep(importing, configs, name="bench-workers", workers=2)
    return (frame["y"] > 0).tolist()


def fresh(size: int) -> list[float]:
    """The same with new processes, as `multiprocessing` and joblib's spawned pools start them."""
    from helpers.sweeps import workers

    for worker in list(workers._parked):
        workers._end(worker)
    return parked(size)


def cases() -> list[Race | Limit]:
    return [
        Race(
            name="sweep workers",
            work="a sweep of two calls that need torch, on two workers, after another sweep",
            data=lambda size: size,
            ours=parked,
            others={"new processes": fresh},
            sizes=(2,),
            unit="configurations",
            equal=lambda a, b: a == b,
            targets={"new processes": 3.0},
            repeats=3,
            explanation="Parked workers have imported what they need; new ones import it first.",
        ),
        Limit(
            name="sweep cache hit",
            work="read a finished grid of 29 configurations back as a frame",
            measure=read_back,
            limit=1.0,
            unit="s",
        ),
        Race(
            name="sweep cache",
            work="read finished configurations back; the first call fills the cache",
            data=grid,
            ours=ours,
            others={"joblib.Memory": joblib_memory},
            sizes=(29, 116, 464),
            unit="configurations",
            equal=lambda a, b: a == b,
        ),
    ]
