"""Statistics: how often decisions and intervals are wrong in worlds where the truth is known.

The tests simulate the same with fewer cases. A share of 2,000 cases has a standard error of half a point.
"""

from functools import partial

from tests import simulations
from tests.benchmarks.harness import Limit

CASES = 2000
ALARM, MISSED, POWER = 0.06, 0.07, 0.05


def cases() -> list[Limit]:
    return [*_alarms(), *_power(), *_equivalence(), *_coverage()]


def _row(name: str, work: str, measure, limit: float, explanation: str = "") -> Limit:
    return Limit(
        name=f"statistics: {name}",
        work=work,
        measure=measure,
        limit=limit,
        unit="of cases",
        repeats=1,
        explanation=explanation,
    )


def _alarms() -> list[Limit]:
    designs = [(seeds, rows) for rows in (500, 5000) for seeds in (3, 5, 8)]
    told_apart = [
        _row(
            f"type I error, {seeds} seeds × {rows:,} rows",
            "two equal systems told apart at nominal .05",
            partial(simulations.worst_alarms, CASES, seeds=seeds, rows=rows),
            ALARM,
            "the worst of seed SDs of 0, 0.5, 1 and 3 points",
        )
        for seeds, rows in designs
    ]
    one_seed = partial(simulations.decided_with_one_seed, 200)
    return [
        *told_apart,
        _row("decisions with one seed", "systems 40 points apart, told apart", one_seed, 0.0),
    ]


def _power() -> list[Limit]:
    designs = [(3, 500, 0.5), (3, 500, 2.0), (5, 500, 1.0), (8, 500, 2.0), (3, 5000, 0.5), (8, 5000, 0.5)]
    return [
        _row(
            f"power, {seeds} seeds × {rows:,} rows, SD {spread:g}",
            "power at the planned detectable difference, minus .8",
            partial(simulations.power_error, CASES, seeds=seeds, rows=rows, spread=spread),
            POWER,
        )
        for seeds, rows, spread in designs
    ]


def _equivalence() -> list[Limit]:
    return [
        _row(
            f"equivalent at the margin, {seeds} seeds × {rows:,} rows",
            "a difference as large as the margin called equivalent",
            partial(simulations.called_equivalent, CASES, seeds=seeds, rows=rows, spread=1.0),
            ALARM,
        )
        for seeds, rows in ((3, 500), (5, 500), (8, 500))
    ]


def _coverage() -> list[Limit]:
    missed = {
        "level, 3 seeds × 500 rows": partial(simulations.level_missed, CASES, seeds=3, rows=500, spread=1.0),
        "level, 5 seeds × 5,000 rows": partial(
            simulations.level_missed, CASES, seeds=5, rows=5000, spread=0.5
        ),
        "share .1 of 10 documents": partial(simulations.share_missed, CASES, count=10, rate=0.1),
        "share .03 of 30 documents": partial(simulations.share_missed, CASES, count=30, rate=0.03),
        "share .02 of 60 documents": partial(simulations.share_missed, CASES, count=60, rate=0.02),
        "share .5 of 10 documents": partial(simulations.share_missed, CASES, count=10, rate=0.5),
        "difference over 10 documents, 3 seeds": partial(simulations.clustered_missed, CASES, count=10),
        "difference over 40 documents, 3 seeds": partial(simulations.clustered_missed, CASES, count=40),
        "AUPRC of 700 rows, 3 seeds": partial(simulations.auprc_missed, 200, rows=700, seeds=3),
        "AUPRC difference on 700 rows, 3 seeds": partial(simulations.auprc_alarms, 150, rows=700, seeds=3),
        "cross-fitted thresholds, 600 rows": partial(simulations.threshold_missed, 300, rows=600),
    }
    return [
        _row(f"missed by the interval: {kind}", "the truth lies outside 95 % intervals", measure, MISSED)
        for kind, measure in missed.items()
    ]
