"""Index: a suite's page with a card per notebook, the failed ones first, those not run yet included."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from helpers import records
from helpers.batch import drawings, glosses, plans, rendering, summary
from helpers.display import messages


def write(
    suite: str, names: Sequence[str], folder: Path, *, language: str = "en", prose: Path | None = None
) -> Path:
    """Write the index of a suite's reports, unless it is there already, and return its path."""
    path, text = folder / "index.html", page(suite, names, folder, language=language, prose=prose)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        records.write_text(path, text)
    return path


def page(
    suite: str, names: Sequence[str], folder: Path, *, language: str = "en", prose: Path | None = None
) -> str:
    """Return the index of the reports in `folder`; `prose` as in `rendering.refresh`."""
    drawn = drawings.Drawings()
    cards = [_card(name, folder / name, drawn, language=language, prose=prose) for name in names]
    runs = [card["run"] for card in cards if card["run"]]
    return rendering.page(
        "index.html.j2",
        language=language,
        suite=suite,
        cards=sorted(cards, key=lambda card: not card["error"]),
        failed=sum(run["status"] != "ok" for run in runs),
        waiting=len(cards) - len(runs),
        seconds=sum(run["seconds"] for run in runs),
        commits=sorted({run["commit"] for run in runs}),
    )


def _card(
    name: str, folder: Path, drawn: drawings.Drawings, *, language: str, prose: Path | None
) -> dict[str, Any]:
    words, annotate = messages.Words(language), glosses.Annotator(language)
    if not plans.read_run(folder):
        nothing = summary.summary({}, words)
        blank: dict[str, Any] = {"run": {}, "error": None, "figure": None, "csv": "", "before": {}, "now": ""}
        return {"name": name, "title": name, "summary": nothing, **blank}
    notebook, run, metrics = rendering.read(folder, prose)
    chosen = rendering.key_figure(notebook)
    pictures = [picture for cell in notebook["cells"] for picture in rendering.pictures(cell)]
    return {
        "name": name,
        "run": run,
        "title": rendering.title_of(notebook) or name,
        "summary": summary.summary(metrics, words, lambda text: annotate(text, terms=False)),
        "error": rendering.error_of(run),
        "figure": drawn.add(*pictures[chosen - 1]) if chosen else None,
        "csv": _csv(metrics),
        "before": _json(folder / "previous.json"),
        "now": _json(folder / "metrics.json").get("verdict", ""),
    }


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _csv(metrics: dict[str, Any]) -> str:
    """Return the headline figures, unrounded, as the address of a file to download."""
    text = io.StringIO()
    columns = ("name", "value", "low", "high", "than", "decision")
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: row.get(key, "") for key in columns} for row in metrics.get("headline", []))
    return f"data:text/csv;charset=utf-8,{quote(text.getvalue(), safe=drawings.URL_SAFE)}"
