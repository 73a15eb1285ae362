"""Recorded runs: a few kB of each notebook's results, committed, and the tables of README.md made from them.

Reports are too large to commit and change with every run. What README quotes is copied to
`reports/recorded/<suite>/<notebook>.json`; the tables between its markers follow from these files alone, and
a test fails when they do not.
"""

import json
import re
from pathlib import Path
from typing import Any

from helpers import records
from helpers.batch import plans

SUITES = ("sample", "klue")
KEPT = ("question", "verdict", "headline", "against_itself")  # of metrics.json, where it has them
MARKED = re.compile(r"(?s)(<!-- results: (\w+) -->\n).*?(<!-- end of results -->)")


def record(suite: str, *, reports: Path) -> list[str]:
    """Copy what README quotes from `reports/<suite>/`; return the notebooks recorded, those that ran well.

    Records of other notebooks stay. Every one says which commit made it, and when.
    """
    folder = reports / "recorded" / suite
    done = []
    for metrics in sorted((reports / suite).glob("0*/metrics.json")):
        run = plans.read_run(metrics.parent)
        if run.get("status") != "ok":
            continue
        found = json.loads(metrics.read_text(encoding="utf-8"))
        kept = {name: found[name] for name in KEPT if name in found}
        folder.mkdir(parents=True, exist_ok=True)
        records.write_json(
            folder / f"{metrics.parent.name}.json",
            {**kept, "commit": run["commit"], "date": run["started"][:10]},
        )
        done.append(metrics.parent.name)
    return done


def read(suite: str, *, reports: Path) -> dict[str, dict[str, Any]]:
    """Return the records of a suite by notebook, in order; none where nothing was recorded."""
    files = sorted((reports / "recorded" / suite).glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def filled(text: str, *, reports: Path) -> str:
    """Return a README with the tables between `<!-- results: suite -->` markers made anew."""
    return MARKED.sub(
        lambda found: f"{found[1]}\n{table(read(found[2], reports=reports))}\n\n{found[3]}",
        text,
    )


def table(runs: dict[str, dict[str, Any]]) -> str:
    """Return the results of a suite as a Markdown table, and a sentence on where they come from."""
    if not runs:
        return "Not recorded yet."
    rows = [row(name, run) for name, run in runs.items()]
    return "\n".join(["| | question | verdict |", "|---|---|---|", *rows, "", _made(runs)])


def row(notebook: str, run: dict[str, Any]) -> str:
    """Return one notebook's line of the table."""
    link = f"[{notebook[:2]}](notebooks/{notebook}.ipynb)"
    return f"| {link} | {_cell(run['question'])} | {_cell(run['verdict'])} |"


def _made(runs: dict[str, dict[str, Any]]) -> str:
    """Say which commit made which notebook, and how often a system was told from itself."""
    makers: dict[tuple[str, str], list[str]] = {}
    for name, run in runs.items():
        makers.setdefault((run["commit"], run["date"]), []).append(name[:2])
    if len(makers) == 1:
        ((commit, date),) = makers
        made = f"Made by commit `{commit}` on {date}."
    else:
        parts = (
            f"{', '.join(names)} by commit `{commit}` on {date}" for (commit, date), names in makers.items()
        )
        made = f"Made: {'; '.join(parts)}."
    controls = [run["against_itself"] for run in runs.values() if "against_itself" in run]
    if controls:
        alarms, cuts = (sum(control[key] for control in controls) for key in ("alarms", "cuts"))
        made += f" Where nothing differs, {alarms} of {cuts:,} comparisons raise a false alarm (5 % may)."
    return made


def _cell(text: str) -> str:
    """Escape what would end a cell or begin a tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
