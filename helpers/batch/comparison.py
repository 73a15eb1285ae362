"""Comparison: two runs of a notebook, or two suites, on one page: which settings and which results differ.

A headline figure's change gets a paired interval where both runs left their items behind, in a file
`predictions.parquet` that `predictions.write` writes; else one from the two recorded intervals, and the page
says so. A run is a folder with metrics.json (and run.json, if it was made by the runner), or a metrics.json
alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers import records
from helpers.batch import plans, rendering, summary
from helpers.display import messages, notation, translations

if TYPE_CHECKING:
    import pandas as pd

FLIPPED = 20  # rows whose prediction changed that are shown
TOLERANCE = 1e-6  # of a headline figure that its items must reproduce


@dataclass(frozen=True)
class Run:
    """What a run left: its record, what it was made with, and its items if it kept them."""

    name: str
    run: Mapping[str, Any]
    metrics: Mapping[str, Any]
    folder: Path | None  # where it may have left its items


def write(first: Path, second: Path, *, out: Path | None = None, language: str = "en") -> Path:
    """Write the page and return its path; ValueError where there is nothing to compare."""
    one, other = runs(first), runs(second)
    if len(one) == len(other) == 1:
        pairs = [(*one.values(), *other.values())]
    else:
        pairs = [(one[name], other[name]) for name in one if name in other]
    if not pairs:
        raise ValueError(
            f"{first} and {second} have no notebook in common: {', '.join(one)}; {', '.join(other)}"
        )
    words = messages.Words(language)
    labels = _labels(first, second)
    page = rendering.page(
        "comparison.html.j2",
        language=language,
        labels=labels,
        pairs=[_told(pair(before, after, words), words) for before, after in pairs],
        title=words("compare title", first=labels[0], second=labels[1]),
    )
    target = out or (second if second.is_dir() and not _is_run(second) else second.parent) / "comparison.html"
    records.write_text(target, page)
    return target


def runs(place: Path) -> dict[str, Run]:
    """Return the runs at a place by name: a run's folder, a suite's folder, or a metrics.json."""
    if place.is_file():
        return {place.stem: Run(place.stem, {}, _record(place), None)}
    if _is_run(place):
        run = plans.read_run(place)
        name = run.get("notebook", place.name)
        return {name: Run(name, run, _record(place / "metrics.json"), place)}
    found = sorted(folder for folder in place.iterdir() if _is_run(folder)) if place.is_dir() else []
    if not found:
        raise ValueError(
            f"{place} holds no metrics.json: name a run's folder, a suite's folder, or a metrics.json"
        )
    return {name: run for folder in found for name, run in runs(folder).items()}


def pair(first: Run, second: Run, words: messages.Words) -> dict[str, Any]:
    """Return what the page shows of one notebook's two runs."""
    before, after = ({_key(row): row for row in run.metrics["headline"]} for run in (first, second))
    both = [key for key in before if key in after]
    frames = _items(first), _items(second)
    changes = {key: change(before[key], after[key], frames, words) for key in both}
    decided = [
        (key, before[key]["decision"], after[key]["decision"])
        for key in both
        if before[key].get("decision") != after[key].get("decision")
    ]
    alone = [
        {"name": key[0], "where": words("only in", which=words(which))}
        for which, own, other in (("first", before, after), ("second", after, before))
        for key in own
        if key not in other
    ]
    flipped, count = _flipped(*frames)
    points = summary.in_points(second.metrics["headline"])
    return {
        "name": second.name,
        "question": second.metrics["question"],
        "verdicts": [run.metrics["verdict"] for run in (first, second)],
        "parameters": _changed(first.run.get("parameters", {}), second.run.get("parameters", {})),
        "versions": _changed(_versions(first), _versions(second)),
        "rows": [_row(before[key], after[key], changes[key], words, points=points) for key in both],
        "alone": alone,
        "decisions": [
            {"name": name, "than": than, "before": words.known(a), "after": words.known(b), "was": a, "is": b}
            for (name, than), a, b in decided
        ],
        "unpaired": any(not one["paired"] for one in changes.values()),
        "flipped": flipped,
        "flipped_count": count,
    }


def _told(shown: dict[str, Any], words: messages.Words) -> dict[str, Any]:
    """Say the notebook's own words in the language of the page, and what each effect is compared with."""
    told: Callable[[str], str] = str
    if words.language != "en":
        told = translations.load(records.ROOT / "notebooks" / words.language, shown["name"]).phrases
    for row in [*shown["rows"], *shown["decisions"], *shown["alone"]]:
        row["name"], than = told(row["name"]), told(row.get("than", ""))
        row["against"] = summary.against(row["name"], than, words)
    verdicts = [notation.minus(told(verdict)) for verdict in shown["verdicts"]]
    return {**shown, "question": told(shown["question"]), "verdicts": verdicts}


def change(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    frames: tuple[pd.DataFrame | None, pd.DataFrame | None],
    words: messages.Words,
) -> dict[str, Any]:
    """Return second minus first with its interval, paired where both runs kept the items behind it."""
    value = after["value"] - before["value"]
    old, new = frames
    if old is not None and new is not None:
        found = _paired(before, after, old, new)
        if found is not None:
            interval, items, seeds = found
            how = words("paired", items=f"{items:,}", seeds=seeds)
            return {"value": value, "low": interval[1], "high": interval[2], "how": how, "paired": True}
    if None in (before["low"], after["low"]):
        return {"value": value, "low": None, "high": None, "how": words("no interval"), "paired": True}
    # Each side of an interval on its own: they need not be symmetric.
    down = math.hypot(after["value"] - after["low"], before["high"] - before["value"])
    up = math.hypot(after["high"] - after["value"], before["value"] - before["low"])
    return {
        "value": value,
        "low": value - down,
        "high": value + up,
        "how": words("unpaired"),
        "paired": False,
    }


def _paired(
    before: Mapping[str, Any], after: Mapping[str, Any], old: pd.DataFrame, new: pd.DataFrame
) -> tuple[tuple[float, float, float], int, int] | None:
    """Return the interval of the change over the items and seeds that both runs have; None if there are none.

    The four systems (two, for a level) are scored from one table of sums, so that leaving an item out leaves
    it out of all of them.
    """
    import numpy as np

    from helpers import predictions, statistics

    name = after["name"]
    sides = predictions.SIDES if after.get("decision") else predictions.SIDES[:1]
    parts = [
        frame[(frame["headline"] == name) & (frame["side"] == side)].set_index(["seed", "item"])
        for frame in (new, old)
        for side in sides
    ]
    shared = parts[0].index
    for part in parts[1:]:
        shared = shared.intersection(part.index)
    seeds, items = (shared.unique(level).sort_values() for level in ("seed", "item"))
    if len(items) < 2 or len(shared) != len(seeds) * len(items):
        return None
    order = [(seed, item) for seed in seeds for item in items]
    columns = [column for column in parts[0].columns if column.startswith("s") and column[1:].isdigit()]
    stats = np.concatenate([part.loc[order, columns].to_numpy(dtype=float) for part in parts], axis=1)
    one = len(columns)

    def score(sums: np.ndarray) -> np.ndarray:
        values = [predictions.score(sums[..., at * one : (at + 1) * one]) for at in range(len(parts))]
        effects = [values[at] - values[at + 1] if len(sides) == 2 else values[at] for at in (0, len(sides))]
        return effects[0] - effects[1]

    whole = score(stats.reshape(len(seeds), len(items), -1).sum(axis=1)).mean()
    scale = next((s for s in (1, 100) if _same(whole * s, after["value"] - before["value"])), None)
    if scale is None:  # these are not the items behind the recorded figures, or not all of them
        return None
    clusters = parts[0].loc[order[: len(items)], "cluster"] if "cluster" in parts[0] else None
    design = statistics.estimate(stats.reshape(len(seeds), len(items), -1), score, clusters=clusters)
    return design.interval().scaled(scale), len(items), len(seeds)


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-4, abs_tol=TOLERANCE)


def _flipped(old: pd.DataFrame | None, new: pd.DataFrame | None) -> tuple[list[tuple[str, ...]], int]:
    """Return the first rows whose prediction changed, and how many there are."""
    if old is None or new is None or "prediction" not in old or "prediction" not in new:
        return [], 0
    keys = ["headline", "seed", "item"]
    systems = [
        frame[frame["side"] == "system"].set_index(keys)["prediction"].dropna() for frame in (old, new)
    ]
    both = systems[0].to_frame("first").join(systems[1].rename("second"), how="inner")
    changed = (
        both[both["first"] != both["second"]]
        .reset_index()
        .drop_duplicates(["seed", "item", "first", "second"])
    )
    shown = changed.head(FLIPPED)[["item", "seed", "first", "second"]].astype(str)
    return [tuple(row) for row in shown.itertuples(index=False)], len(changed)


def _row(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    found: Mapping[str, Any],
    words: messages.Words,
    *,
    points: bool,
) -> dict[str, Any]:
    low, high = found["low"], found["high"]
    word = "unclear" if low is None or low <= 0 <= high else "higher" if low > 0 else "lower"
    changed = {key: None if found[key] is None else float(found[key]) for key in ("value", "low", "high")}
    shown = [before, after, {**changed, "decision": word}]
    first, second, change = (summary.figures(row, words, points=points) for row in shown)
    return {
        "name": after["name"], "than": after.get("than", ""), "first": first, "second": second,
        "change": change, "how": found["how"], "word": words(word), "class": word,
        "shape": messages.SHAPES[word],
    }  # fmt: skip


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    names = dict.fromkeys([*before, *after])
    return [
        (name, _shown(before, name), _shown(after, name))
        for name in names
        if before.get(name, notation.NOTHING) != after.get(name, notation.NOTHING)
    ]


def _shown(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name, notation.NOTHING)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _versions(run: Run) -> dict[str, Any]:
    prints = {f"{name} (fingerprint)": print_ for name, print_ in run.run.get("fingerprint", {}).items()}
    commit = {"commit": run.run["commit"]} if "commit" in run.run else {}
    return {**commit, **run.run.get("packages", {}), **prints}


def _items(run: Run) -> pd.DataFrame | None:
    from helpers import predictions

    return predictions.read(run.folder) if run.folder else None


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["name"], row.get("than", "")


def _is_run(folder: Path) -> bool:
    return (folder / "metrics.json").is_file()


def _record(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict) or not {"question", "verdict", "headline"} <= set(content):
        raise ValueError(f"{path} is not a record: expected question, verdict and headline")
    return content


def _labels(first: Path, second: Path) -> tuple[str, str]:
    """Name the two places by as much of their paths as tells them apart."""
    one, other = first.resolve().parts, second.resolve().parts
    for length in range(1, max(len(one), len(other)) + 1):
        names = "/".join(one[-length:]), "/".join(other[-length:])
        if names[0] != names[1]:
            return names
    return str(first), str(second)
