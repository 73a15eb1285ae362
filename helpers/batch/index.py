"""Index: a suite's page with a card per notebook, those that have not been run included."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers import records
from helpers.batch import markup, parameters, plans, rendering


def write(suite: str, names: Sequence[str], folder: Path) -> Path:
    """Write the index of a suite's reports, unless it is there already, and return its path."""
    path, text = folder / "index.html", page(suite, names, folder)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        records.write_text(path, text)
    return path


def page(suite: str, names: Sequence[str], folder: Path) -> str:
    """Return the index of the reports in `folder`."""
    cards = [_card(name, folder / name) for name in names]
    runs = [card["run"] for card in cards if card["run"]]
    return rendering.page(
        "index.html.j2",
        suite=suite,
        cards=cards,
        failed=sum(run["status"] != "ok" for run in runs),
        waiting=len(cards) - len(runs),
        seconds=sum(run["seconds"] for run in runs),
        commits=sorted({run["commit"] for run in runs}),
    )


def figure(value: float, low: float | None, high: float | None) -> tuple[str, str]:
    """Return a headline figure and its interval with the same decimals, three digits of the largest.

    >>> figure(71.134, 69.0, 73.2), figure(0.41234, None, None), figure(32470, None, None)
    (('71.1', '69.0 to 73.2'), ('0.412', ''), ('32,470', ''))
    """
    known = [number for number in (value, low, high) if number is not None]
    largest = max(map(abs, known))
    whole = all(isinstance(number, int) for number in known) or largest >= 1000
    decimals = 0 if whole else 3 if largest == 0 else max(0, 2 - math.floor(math.log10(largest)))
    shown = [f"{number:,.{decimals}f}" for number in known]
    return shown[0], " to ".join(shown[1:])


def _card(name: str, folder: Path) -> dict[str, Any]:
    run = plans.read_run(folder)
    notebook = parameters.load_notebook(folder / "notebook.ipynb") if run else {"cells": []}
    recorded = folder / "metrics.json"
    metrics = json.loads(recorded.read_text(encoding="utf-8")) if run and recorded.is_file() else {}
    return {
        "name": name,
        "run": run,
        "title": rendering.title_of(notebook) or name,
        "question": markup.inline(metrics.get("question", "")),
        "verdict": markup.inline(metrics.get("verdict", "")),
        "headline": [
            (row["name"], *figure(row["value"], row["low"], row["high"]))
            for row in metrics.get("headline", [])
        ],
        "error": rendering.error_of(run),
        "thumbnail": next(iter(rendering.figures_of(notebook)), None),
    }
