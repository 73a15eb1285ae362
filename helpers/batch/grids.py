"""A grid of runs: one notebook with every combination of some parameters, and one report about all of them.

A parameter file with a section `grid` names lists of values; every combination is a run of its own, in
`<notebook>@1`, `<notebook>@2`, …. `combine` makes of their records a notebook that was never executed: a
table of all headline figures and a small plot for each, which is rendered like any other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers import records

if TYPE_CHECKING:
    import pandas as pd

KEY = "grid"  # of a parameter file
MARK = "@"  # between a notebook's name and the number of a combination
MOST = 64  # combinations
PANELS = 8  # headline figures that are drawn
COLUMNS = 2  # of panels
HEADLINE = 8  # figures of the combined record


def combinations(grid: Any) -> list[dict[str, Any]]:
    """Return every combination of `{name: [values]}`, the last name changing fastest; else ValueError.

    >>> combinations({"rows": [10, 20], "seed": [1]})
    [{'rows': 10, 'seed': 1}, {'rows': 20, 'seed': 1}]
    """
    if not isinstance(grid, Mapping) or not grid:
        raise ValueError(f"grid must be a mapping of parameters to lists of values, got {grid!r:.80}")
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise ValueError(
                f"grid.{name} must be a list of values, got {values!r:.80}; write [{values!s:.60}]"
            )
    every = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    if len(every) > MOST:
        raise ValueError(
            f"grid has {len(every)} combinations, more than {MOST}; split it over several suites"
        )
    return every


def combine(folder: Path, runs: Sequence[tuple[Mapping[str, Any], Path]]) -> bool:
    """Write the combined run of several into `folder`; tell whether there was one to combine.

    `runs`: each combination and the folder of its run. Runs that failed are named, and left out of the table.
    """
    kept = [(chosen, *_read(place)) for chosen, place in runs]
    good = [(chosen, metrics) for chosen, run, metrics in kept if run.get("status") == "ok" and metrics]
    if not good:
        return False
    frame = long(good)
    folder.mkdir(parents=True, exist_ok=True)
    failed = [told(chosen) for chosen, run, _ in kept if run.get("status") != "ok"]
    links = [f"- [{told(chosen)}](../{place.name}/report.html)" for chosen, place in runs]
    records.write_json(folder / "notebook.ipynb", _notebook(good, frame, links))
    records.write_json(folder / "metrics.json", _metrics(good))
    records.write_json(folder / "run.json", _run(folder.name, [run for _, run, _ in kept if run], failed))
    return True


def told(combination: Mapping[str, Any]) -> str:
    """Name a combination: `train_rows 500, seed 1`."""
    return ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in combination.items())


def long(runs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> pd.DataFrame:
    """Return a row for every headline figure of every run: figure, combination, decision, value, bounds."""
    import pandas as pd

    rows = [
        {"figure": row["name"], **chosen, "combination": told(chosen), "decision": row.get("decision", "–"),
         **{side: row["value"] if row[side] is None else row[side] for side in ("value", "low", "high")}}
        for chosen, metrics in runs
        for row in metrics["headline"]
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    order = {name: at for at, name in enumerate(frame["figure"].unique())}
    return frame.sort_values("figure", key=lambda names: names.map(order), kind="stable", ignore_index=True)


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    found = [folder / name for name in ("run.json", "metrics.json")]
    run, metrics = (json.loads(file.read_text("utf-8")) if file.is_file() else {} for file in found)
    return run, metrics


def _metrics(good: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> dict[str, Any]:
    """Return a record whose headline is the first figure of every combination."""
    first = [(chosen, metrics["headline"][0]) for chosen, metrics in good]
    decided = [row["decision"] for _, row in first if "decision" in row]
    counts = ", ".join(f"{decided.count(word)} {word}" for word in dict.fromkeys(decided))
    values = [row["value"] for _, row in first]
    spread = f"{min(values):.1f} to {max(values):.1f}"
    verdict = f"{len(good)} combinations. {first[0][1]['name']}: {spread}{f' ({counts})' if counts else ''}."
    headline = [{**row, "name": told(chosen)} for chosen, row in first[:HEADLINE]]
    return {"question": good[0][1]["question"], "verdict": verdict, "headline": headline}


def _run(name: str, runs: Sequence[Mapping[str, Any]], failed: Sequence[str]) -> dict[str, Any]:
    latest = max(runs, key=lambda run: run["started"])
    error = None
    if failed:
        message = f"{len(failed)} of {len(runs)} combinations failed: {'; '.join(failed)}"
        error = {"name": "GridFailed", "message": message, "traceback": ""}
    return {
        **latest,
        "notebook": name,
        "status": "failed" if failed else "ok",
        "error": error,
        "seconds": round(sum(run["seconds"] for run in runs), 1),
        "peak_memory_mb": max(run["peak_memory_mb"] for run in runs),
        "fingerprint": {},
    }


def _notebook(good: Sequence, frame: pd.DataFrame, links: Sequence[str]) -> dict[str, Any]:
    from helpers.display import figures, tables

    chosen = list(good[0][0])
    shown = frame.assign(value=tables.as_intervals(frame))[["figure", *chosen, "decision", "value"]]
    figures.use_style()
    bundles = [
        (tables.table(shown, caption="Every headline figure of every combination")._repr_mimebundle_(), {}),
        small_multiples(frame)._repr_mimebundle_(),
    ]
    outputs = [{"output_type": "display_data", "data": data, "metadata": words} for data, words in bundles]
    names = ", ".join(f"`{name}`" for name in chosen)
    told_of = f"# {good[0][1]['question']}\n\nOne run for every combination of {names}:\n\n"
    prose = told_of + "\n".join(links) + "\n\n## Evidence"
    cells = [
        {"cell_type": "markdown", "id": "title", "metadata": {}, "source": prose},
        {"cell_type": "code", "id": "combined", "metadata": {}, "execution_count": None, "source": "",
         "outputs": outputs},
    ]  # fmt: skip
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def small_multiples(frame: pd.DataFrame):
    """Draw one panel for each headline figure that several combinations have, on a scale of its own."""
    import matplotlib.pyplot as plt

    from helpers.display import figures

    counted = frame.groupby("figure", sort=False).size()
    names = list(counted[counted == counted.max()].index)[:PANELS]
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    height = rows * (0.9 + 0.3 * frame["combination"].nunique())
    drawn, axes = figures.figure(rows, columns, height=height, squeeze=False, sharey=True)
    for ax, name in zip(axes.flat, names, strict=False):
        figures.forest(frame[frame["figure"] == name], ax, label="combination", unit="", sort=False)
        ax.set_title(name, fontsize=9)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    drawn.suptitle("What does each combination change?")
    plt.close(drawn)
    return drawn
