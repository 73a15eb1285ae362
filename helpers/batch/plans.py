"""Plans: which notebooks a suite runs, with which parameters, and which of them are already done.

A suite is a folder of `<notebook>.yaml` files, `params/<suite>`, beside `notebooks/`. The plan is made and
checked without starting a kernel or importing anything heavy, so an up-to-date suite costs next to nothing.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.batch import parameters
from helpers.records import ROOT

REPORT_FILES = ("report.html", "notebook.ipynb", "metrics.json", "run.json")
# Millions of parameters, from the models' own files; a name not listed gets no estimate.
BACKBONES = {
    "klue/bert-base": 111,
    "kykim/bert-kor-base": 118,
    "klue/roberta-small": 68,
    "klue/roberta-base": 111,
    "klue/roberta-large": 337,
    "monologg/koelectra-base-v3-discriminator": 113,
    "kakaobank/kf-deberta-base": 185,
    "google-bert/bert-base-multilingual-cased": 178,
    "bert-base-multilingual-cased": 178,
    "FacebookAI/xlm-roberta-base": 278,
    "FacebookAI/xlm-roberta-large": 560,
    "xlm-roberta-base": 278,
    "xlm-roberta-large": 560,
    "microsoft/mdeberta-v3-base": 279,
    "google/gemma-2-27b-it": 27_227,
    "google/gemma-2-27b": 27_227,
    "google/gemma-2-9b-it": 9_242,
    "google/gemma-2-2b": 2_614,
}
# Rows of the public training files, by the number of the notebook that trains on them.
TRAIN_ROWS = {"02": 32_470, "03": 32_470, "04": 21_008, "05": 3_822}


@dataclass(frozen=True, eq=False)
class Task:
    """One notebook to run: its source, its resolved parameters, and where its report goes."""

    notebook: Path
    suite: str
    folder: Path
    values: dict[str, Any]
    overrides: dict[str, Any]

    @property
    def name(self) -> str:
        return self.notebook.stem


def make(suite: Path, *, out: Path | None = None, only: Sequence[str] = ()) -> list[Task]:
    """Return the suite's tasks in the order of their names; ValueError lists every problem found at once."""
    suite = suite.resolve()
    files = sorted(suite.glob("*.yaml")) if suite.is_dir() else []
    if not files:
        raise ValueError(f"no parameter files in {suite}; expected a folder of <notebook>.yaml files")
    home = suite.parent.parent if (suite.parent.parent / "notebooks").is_dir() else ROOT
    reports = (out or home / "reports").resolve() / suite.name
    tasks, problems = [], [f"{path.name}: rename it to .yaml" for path in sorted(suite.glob("*.yml"))]
    for file in _selected(files, only):
        try:
            tasks.append(_task(file, home / "notebooks", reports))
        except ValueError as error:
            problems += [f"{suite.name}/{file.name}: {line}" for line in str(error).split("\n")]
    if problems:
        raise ValueError("\n".join(problems))
    return tasks


def fingerprint(task: Task) -> dict[str, str]:
    """Return a digest of each thing a run depends on; a run is done again when one of them changes."""
    notebook = parameters.load_notebook(task.notebook)
    cells = [
        (cell["cell_type"], cell["source"], cell.get("metadata", {}).get("tags"))
        for cell in notebook["cells"]
    ]
    return {
        "notebook": _digest(json.dumps(cells)),
        "parameters": _digest(json.dumps(task.values, sort_keys=True)),
        "helpers": _digest_files(_helper_files()),
        "pins": _digest_files([ROOT / "requirements.txt"]),
        "data": _digest(_data_state(task.values.get("data", "sample"))),
    }


def why_stale(task: Task) -> str | None:
    """Return why the task has to run, or None when its last good run still stands."""
    missing = [name for name in REPORT_FILES if not (task.folder / name).is_file()]
    if len(missing) == len(REPORT_FILES):
        return "never run"
    if "run.json" in missing:
        return "no run.json"
    try:
        run = json.loads((task.folder / "run.json").read_text(encoding="utf-8"))
    except ValueError:
        return "run.json is unreadable"
    if run["status"] != "ok":
        return "failed last time"
    if missing:
        return f"{missing[0]} is missing"
    now = fingerprint(task)
    changed = [name for name, digest in now.items() if run["fingerprint"].get(name) != digest]
    return f"{' and '.join(changed)} changed" if changed else None


def needs_hub(values: dict[str, Any]) -> bool:
    """Tell whether a parameter asks for the hub: `data: hub`, or a model `owner/name` that is no folder."""
    return any(text == "hub" or _is_hub_name(text) for text in _texts(values.values()))


def estimate(task: Task) -> list[str]:
    """Return what the parameters say about a run's size: lists, models, steps, memory; empty when nothing.

    The lists are what a notebook may vary; which it crosses, only the notebook knows. Memory is weights,
    gradients and Adam's two moments in 32 bits (16 bytes a parameter), or with LoRA the frozen weights alone,
    in 16 or 4 bits; activations come on top.
    """
    lists = {name: value for name, value in task.values.items() if isinstance(value, list) and len(value) > 1}
    sizes = ", ".join(f"{name} {len(value)}" for name, value in lists.items())
    crossed = f" ({math.prod(map(len, lists.values())):,} runs if all are crossed)" if len(lists) > 1 else ""
    lines = [f"varies: {sizes}{crossed}"] if lists else []
    for name, value in task.values.items():
        models = dict.fromkeys(text for text in _texts([value]) if _is_hub_name(text))
        own = value if isinstance(value, dict) else task.values  # a model's settings may travel together
        frozen = (4 if own.get("four_bit") else 16) if own.get("lora") or own.get("lora_rank") else 0
        only_text = "token" in name or "vocab" in name
        lines += [
            f"{name}: {model}{'' if only_text else ', ' + _memory(model, frozen_bits=frozen)}"
            for model in models
        ]
    return lines + _steps(task)


def _steps(task: Task) -> list[str]:
    epochs, batch = (task.values.get(name) for name in ("epochs", "batch_size"))
    rows = task.values.get("train_rows") or TRAIN_ROWS.get(task.name[:2])  # 0 rows: all there are
    if not all(type(number) in (int, float) for number in (rows, epochs, batch)):
        return []
    steps = math.ceil(math.ceil(rows / batch) * epochs)
    return [f"steps: {rows:,} rows × {epochs} epochs / batch {batch} = {steps:,} a run"]


def _task(file: Path, notebooks: Path, reports: Path) -> Task:
    path = notebooks / f"{file.stem}.ipynb"
    if not path.is_file():
        names = sorted(p.stem for p in notebooks.glob("*.ipynb"))
        close = difflib.get_close_matches(file.stem, names, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}?" if close else f"found: {', '.join(names) or 'none'}"
        raise ValueError(f"there is no notebook {path.name} in {notebooks}; {hint}")
    overrides = parameters.read(file)
    known = parameters.declared(parameters.load_notebook(path))
    values, complaints = parameters.resolve(known, overrides)
    if complaints:
        raise ValueError("\n".join(complaints))
    given = {name: values[name] for name in overrides}
    return Task(path, suite=reports.name, folder=reports / file.stem, values=values, overrides=given)


def _selected(files: Sequence[Path], only: Sequence[str]) -> list[Path]:
    """Return the files whose names start with one of `only`; `4` stands for `04`."""
    prefixes = {f"{int(word):02d}" if word.isdigit() else word for word in only}
    for prefix in sorted(prefixes):
        if not any(file.stem.startswith(prefix) for file in files):
            raise ValueError(f"--only {prefix} matches nothing; there are {', '.join(f.stem for f in files)}")
    return [file for file in files if not only or file.stem.startswith(tuple(prefixes))]


def _helper_files() -> list[Path]:
    return sorted(p for p in (ROOT / "helpers").rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _digest_files(files: Iterable[Path]) -> str:
    """Digest names and contents: reading takes milliseconds, and a fresh clone changes every time."""
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.relative_to(ROOT)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:16]


def _data_state(source: Any) -> str:
    """Name the data: the source itself, plus names, sizes and times of the files in a local folder."""
    place = os.environ.get("NUNCHI_DATA", "") if source == "local" else str(source)
    folder = Path(place).expanduser() if place not in ("", "sample", "hub") else None
    if folder is None or not folder.exists():
        return str(source)
    files = sorted(p for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else [folder]
    return json.dumps([(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files])


def _texts(values: Iterable[Any]) -> Iterable[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _texts(value)
        elif isinstance(value, dict):
            yield from _texts(value.values())


def _is_hub_name(text: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z][\w.-]*/[\w.-]+", text)) and not Path(text).exists()


def _memory(name: str, *, frozen_bits: int) -> str:
    if name not in BACKBONES:
        return "size unknown"
    millions = BACKBONES[name]
    size = f"{millions / 1000:.1f} G" if millions >= 1000 else f"{millions} M"
    need = millions * (frozen_bits / 8 or 16) / 1000
    return (
        f"{size} parameters, at least {need:.1f} GB "
        f"{f'for frozen {frozen_bits}-bit weights' if frozen_bits else 'to fine-tune'}"
    )
