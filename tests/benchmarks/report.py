"""The benchmark report: `bench.json` for machines, `report.html` for people."""

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from helpers import records
from tests.benchmarks.harness import Row

PACKAGES = ("torch", "numpy", "scikit-learn", "seqeval", "transformers", "papermill")
TEMPLATE = Path(__file__).with_name("report.html.j2")


def write(rows: Sequence[Row], folder: Path) -> None:
    """Write both files, each in one step."""
    folder.mkdir(parents=True, exist_ok=True)
    records.write_json(folder / "bench.json", {"rows": [row.json() for row in rows]})
    records.write_text(folder / "report.html", page(rows))


def page(rows: Sequence[Row]) -> str:
    """Return one self-contained page: what holds, what does not, and every row."""
    from jinja2 import Environment

    template = Environment(autoescape=True).from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        rows=rows,
        cells=_cells,
        machine=f"{platform.machine()}, {os.cpu_count()} cores, one thread used",
        packages=", ".join(
            [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in PACKAGES)]
        ),
    )


def line(row: Row) -> str:
    """Return the outcome of a row in one line."""
    if row.error:
        return f"error: {row.error}"
    figure = f"{row.ratio:.3g}×" if row.ratio is not None else f"{row.value:.3g} {row.unit}"
    return f"{figure} ({_promise(row)}) {'ok' if row.met else 'MISSED'}"


def _cells(row: Row) -> list[str]:
    return [
        "–" if row.size is None else f"{row.size:,} {row.unit}",
        _duration(row.seconds) if row.value is None else f"{row.value:.3g} {row.unit}",
        _duration(row.other_seconds),
        "–" if row.ratio is None else f"{row.ratio:,.3g}×",
        _promise(row),
        {None: "–", True: "yes", False: "NO"}[row.equal],
        "–" if row.slope is None else f"{row.slope:.2f}",
        "–" if row.spread is None else f"±{50 * row.spread:.0f} %{' noisy' if row.noisy else ''}",
    ]


def _promise(row: Row) -> str:
    if row.target is not None:
        return f"≥ {row.target:g}×" + ("" if row.steepest is None else f", slope ≤ {row.steepest:g}")
    return "–" if row.limit is None else f"≤ {row.limit:g} {row.unit}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    factor, unit = next(((f, u) for f, u in ((1, "s"), (1e3, "ms")) if seconds * f >= 1), (1e6, "µs"))
    return f"{seconds * factor:.3g} {unit}"
