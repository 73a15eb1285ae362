"""What checkpoints show, over documents and seeds: scores, decided questions, a stopping rule.

Everything works on answers item by item: a long frame with `run`, `seed` and `step` of the checkpoint, `id`
and `document` of the item, and the measures (`hit1`, …). Scores are in percent. Items of one document are
left out together, and the spread between seeds is part of every interval.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers import predictions, statistics
from helpers.declarations import Declaration
from helpers.statistics import Interval

REAL = {"Real@1": "hit1", "Real@5": "hit5"}
NOTHING = "no difference"  # what a question is tested against
Pairs = Sequence[tuple[str, str]]
"""Questions: two systems each; the difference is the first minus the second."""


def pick(answers: pd.DataFrame, run: str, step: int) -> pd.DataFrame:
    """Return the answers of one run at one step, all seeds."""
    found = answers[(answers["run"] == run) & (answers["step"] == step)]
    if found.empty:
        raise ValueError(f"no answers of {run!r} at step {step}; there are {sorted(set(answers['run']))}")
    return found


def stats(answers: pd.DataFrame, measure: str = "hit1") -> np.ndarray:
    """Return (seeds, items, 2): the measure of every item, in the order of ids, and 1."""
    table = answers.pivot(index="seed", columns="id", values=measure)
    if table.isna().any(axis=None):
        raise ValueError(
            f"{int(table.isna().sum().sum())} answers are missing: ask every seed the same items"
        )
    values = table.to_numpy(dtype=float)
    return np.stack([values, np.ones_like(values)], axis=-1)


def documents(answers: pd.DataFrame) -> list[str]:
    """Return the document of every item, in the order of `stats`."""
    return answers.drop_duplicates("id").sort_values("id")["document"].tolist()


def keep(notebook: str, answers: Mapping[str, Sequence[pd.DataFrame]]) -> None:
    """Write the items behind headline figures: the answers of a system and of what it is compared with."""
    first = next(iter(answers.values()), [None])[0]
    if first is None:
        return
    said = {
        name: frames[0].pivot(index="seed", columns="id", values="prediction").to_numpy()
        for name, frames in answers.items()
    }
    predictions.write(
        notebook,
        {name: [stats(frame) for frame in frames] for name, frames in answers.items()},
        items=sorted(set(first["id"])),
        clusters=documents(first),
        predictions=said,
    )


def in_percent(sums: np.ndarray) -> np.ndarray:
    """Score for `statistics`: the mean, in percent."""
    return 100 * statistics.ratio(sums)


def percent(answers: pd.DataFrame, measure: str = "hit1") -> Interval:
    """Return a rate in percent with its interval; one document alone says nothing about others."""
    clusters, values = documents(answers), stats(answers, measure)
    if len(set(clusters)) < 2:
        return Interval(float(values[..., 0].mean()), 0.0, 1.0).scaled(100)
    return statistics.share(values, clusters=clusters).scaled(100)


def scores(answers: pd.DataFrame, by: Sequence[str], measures: Mapping[str, str] = REAL) -> pd.DataFrame:
    """Return one row per group, in order of appearance, with an Interval for every measure."""
    rows = []
    for key, group in answers.groupby(list(by), sort=False, observed=True):
        values = {name: percent(group, measure) for name, measure in measures.items()}
        rows.append({**dict(zip(by, key, strict=True)), **values})
    return pd.DataFrame(rows, columns=[*by, *measures])


def declare(pairs: Pairs, *, margin: float, choosing: Sequence[str], reporting: Sequence[str]) -> Declaration:
    """Declare questions as one family: p-values are corrected over all of them."""
    return Declaration(
        metric="Real@1, points",
        systems=(NOTHING, *_names(pairs)),
        reference=NOTHING,
        margin=margin,
        choosing=set(choosing),
        reporting=set(reporting),
    )


def ask(declared: Declaration, pairs: Pairs, answers: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Decide declared questions on the answers of their sides; columns as in `statistics.compare`.

    What is tested is the difference of the two sides on each item and seed.
    """
    gains, clusters = {}, documents(answers[pairs[0][0]])
    for name, (system, than) in zip(_names(pairs), pairs, strict=True):
        after, before = stats(answers[system]), stats(answers[than])
        if after.shape != before.shape or any(
            documents(answers[side]) != clusters for side in (system, than)
        ):
            raise ValueError(f"{name}: other items or seeds on the two sides; evaluate both on the same ones")
        gains[name] = np.stack([after[..., 0] - before[..., 0], after[..., 1]], axis=-1)
    nothing = np.stack([np.zeros(after.shape[:2]), np.ones(after.shape[:2])], axis=-1)
    frame = declared.compare({NOTHING: nothing, **gains}, in_percent, clusters=clusters)
    return frame.assign(system=[system for system, _ in pairs], than=[than for _, than in pairs])


def _names(pairs: Pairs) -> list[str]:
    return [f"{system} − {than}" for system, than in pairs]


def one_standard_error(answers: pd.DataFrame) -> int:
    """Return the earliest step of a run whose Real@1 is within one standard error of the best one's.

    The error is that of the difference to the best, over documents and seeds: items that both get right say
    nothing about which is better.
    """
    of_step = {step: stats(group) for step, group in answers.groupby("step")}
    best = max(of_step, key=lambda step: of_step[step][..., 0].mean())
    clusters = documents(answers)
    for step in sorted(of_step):
        gap = statistics.contrast(of_step[best], of_step[step], clusters=clusters)
        if gap.value <= gap.error:
            return int(step)
    raise AssertionError("the best step is among the steps")
