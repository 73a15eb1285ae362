"""Plans: which notebooks a suite runs, with which parameters, and which of them are already done.

A suite is a folder of `<notebook>.yaml` files, `params/<suite>`, beside `notebooks/`. The plan is made and
checked without starting a kernel or importing anything heavy, so an up-to-date suite costs next to nothing.
What decides about executing a notebook again is here; about rendering its report again, in `rendering`.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers.batch import grids, parameters
from helpers.display import messages
from helpers.records import ROOT
from helpers.sweeps import closures

if TYPE_CHECKING:
    from helpers.planning.trainings import Training

LANGUAGE = "language"  # what a parameter file may set beside parameters: that of the pages
EXECUTED = ("notebook.ipynb", "metrics.json", "run.json")  # what executing a notebook leaves


@dataclass(frozen=True, eq=False)
class Plan:
    """One run of a notebook: its source, its resolved parameters, and where its report goes.

    `combination` is what a grid sets for this one of its runs.
    """

    notebook: Path
    suite: str
    folder: Path
    values: dict[str, Any]
    overrides: dict[str, Any]
    combination: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def whole(self) -> Path:
        """Where the report about all combinations goes: the plan's own folder, if it is of no grid."""
        return self.folder.with_name(self.notebook.stem)


def make(suite: Path, *, out: Path | None = None, only: Sequence[str] = ()) -> list[Plan]:
    """Return a plan per notebook, ordered by name; ValueError lists every problem found at once."""
    suite = suite.resolve()
    files = sorted(suite.glob("*.yaml")) if suite.is_dir() else []
    if not files:
        raise ValueError(f"no parameter files in {suite}; expected a folder of <notebook>.yaml files")
    home = suite.parent.parent if (suite.parent.parent / "notebooks").is_dir() else ROOT
    reports = (out or home / "reports").resolve() / suite.name
    made, problems = [], [f"{path.name}: rename it to .yaml" for path in sorted(suite.glob("*.yml"))]
    for file in _selected(files, only):
        try:
            made += _plans(file, home / "notebooks", reports)
        except ValueError as error:
            problems += [f"{suite.name}/{file.name}: {line}" for line in str(error).split("\n")]
    if problems:
        raise ValueError("\n  ".join(["nothing was done, please correct:", *problems]))
    return made


def trainings(plan: Plan) -> Counter[Training]:
    """Return what the notebook would train, and how many runs of each, without data and without a kernel."""
    from helpers.planning import trainings

    notebook = parameters.load_notebook(plan.notebook)
    marked = [cell["source"] for cell in parameters.tagged(notebook, "plan")]
    return trainings.read(code(notebook) if marked else [], marked, plan.values)


def code(notebook: dict[str, Any]) -> list[str]:
    """Return the sources of a notebook's code cells."""
    return [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]


def modules(plan: Plan) -> list[str]:
    """Return the modules of the package that the notebook's cells can reach through imports."""
    return closures.modules(code(parameters.load_notebook(plan.notebook)), ROOT / "helpers")


def fingerprint(plan: Plan) -> dict[str, str]:
    """Return a digest of each thing that can change an output; a notebook is executed again when one changes.

    Of the package that is the code the notebook's cells can reach through imports, and data files.
    """
    notebook = parameters.load_notebook(plan.notebook)
    cells = [
        (cell["cell_type"], cell["source"], cell.get("metadata", {}).get("tags"))
        for cell in notebook["cells"]
    ]
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return {
        "notebook": _digest(cells),
        "parameters": _digest(plan.values),
        "helpers": _digest(closures.reached(code(notebook), ROOT / "helpers")),
        "pins": _digest(
            [pin for line in pins if "# dev" not in line and (pin := line.partition("#")[0].strip())]
        ),
        "data": _digest(_data_state(plan.values.get("data", "sample"))),
    }


def why_stale(plan: Plan) -> str | None:
    """Return why the notebook has to be executed, or None when its last good run still stands."""
    missing = [name for name in EXECUTED if not (plan.folder / name).is_file()]
    if len(missing) == len(EXECUTED):
        return "never run"
    run = read_run(plan.folder)
    if not run:
        return "no readable run.json"
    if run["status"] != "ok":
        return "failed last time"
    if missing:
        return f"{missing[0]} is missing"
    now = fingerprint(plan)
    changed = [name for name, digest in now.items() if run["fingerprint"].get(name) != digest]
    return f"{' and '.join(changed)} changed" if changed else None


def read_run(folder: Path) -> dict[str, Any]:
    """Return what run.json says about the last run in a folder; empty if there is none that can be read."""
    return _read_json(folder / "run.json")


def seconds(plan: Plan) -> float:
    """Return how long a notebook took last time, here or in the recorded run of its suite; else infinity."""
    suite, home = plan.folder.parent.name, plan.notebook.parents[1]
    recorded = _read_json(home / "reports" / "recorded" / suite / f"{plan.name}.json")
    return read_run(plan.folder).get("seconds", recorded.get("seconds", float("inf")))


def _read_json(file: Path) -> dict[str, Any]:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def needs_hub(values: dict[str, Any]) -> bool:
    """Tell whether a parameter asks for the hub: `data: hub`, or a model `owner/name` that is no folder."""
    return "hub" in _texts(values) or bool(hub_names(values))


def hub_names(value: Any) -> list[str]:
    """Return the texts in a parameter's value that name models on the hub, with a commit or not, once."""
    return [
        text
        for text in dict.fromkeys(_texts(value))
        if re.fullmatch(r"[A-Za-z][\w.-]*/[\w.-]+(@[\w.-]+)?", text) and not Path(text).exists()
    ]


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _plans(file: Path, notebooks: Path, reports: Path) -> list[Plan]:
    """Return the plan of a parameter file, or one for every combination of its grid."""
    path = notebooks / f"{file.stem}.ipynb"
    if not path.is_file():
        names = sorted(p.stem for p in notebooks.glob("*.ipynb"))
        close = difflib.get_close_matches(file.stem, names, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}?" if close else f"found: {', '.join(names) or 'none'}"
        raise ValueError(f"there is no notebook {path.name} in {notebooks}; {hint}")
    overrides = parameters.read(file)
    overrides.pop(LANGUAGE, None)
    every = grids.combinations(overrides.pop(grids.KEY)) if grids.KEY in overrides else [{}]
    known = parameters.declared(parameters.load_notebook(path))
    if twice := set(overrides) & set(every[0]):
        raise ValueError(f"{', '.join(sorted(twice))} is set both for itself and in the grid; keep one")
    names = [f"{file.stem}{grids.MARK}{at}" for at in range(1, len(every) + 1)] if every[0] else [file.stem]
    return [
        _plan(path, known, reports / name, overrides, chosen)
        for name, chosen in zip(names, every, strict=True)
    ]


def language(suite: Path) -> str:
    """Return the language that the parameter files of a suite ask for: `language: ko`; else English."""
    said = [str(parameters.read(file).get(LANGUAGE, "")) for file in sorted(suite.glob("*.yaml"))]
    named = sorted({word for word in said if word})
    if len(named) > 1:
        raise ValueError(f"the parameter files of {suite} name several languages: {', '.join(named)}")
    return messages.Words(*named).language


def _plan(path: Path, known: dict, folder: Path, overrides: dict[str, Any], chosen: dict[str, Any]) -> Plan:
    overrides = overrides | chosen
    values, complaints = parameters.resolve(known, overrides)
    if complaints:
        raise ValueError("\n".join(complaints))
    given = {name: values[name] for name in overrides}
    return Plan(
        path,
        suite=folder.parent.name,
        folder=folder,
        values=values,
        overrides=given,
        combination={name: values[name] for name in chosen},
    )


def _selected(files: Sequence[Path], only: Sequence[str]) -> list[Path]:
    """Return the files whose names start with one of `only`; `4` stands for `04`."""
    prefixes = {f"{int(word):02d}" if word.isdigit() else word for word in only}
    for prefix in sorted(prefixes):
        if not any(file.stem.startswith(prefix) for file in files):
            raise ValueError(f"--only {prefix} matches nothing; there are {', '.join(f.stem for f in files)}")
    return [file for file in files if not only or file.stem.startswith(tuple(prefixes))]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _data_state(source: Any) -> Any:
    """Name the data: the source itself, or names, sizes and times of the files in a local folder."""
    place = os.environ.get("NUNCHI_DATA", "") if source == "local" else str(source)
    folder = Path(place).expanduser() if place not in ("", "sample", "hub") else None
    if folder is None or not folder.exists():
        return str(source)
    files = sorted(p for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else [folder]
    return [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files]
