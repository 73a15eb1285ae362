"""What a run leaves behind: metrics.json, and the versions it was made with.

The last cell of a notebook calls `write`; the batch runner reads the file back for its index. Timings, paths
and dates stay out of metrics.json, because two runs with the same parameters must write the same bytes.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import DataclassInstance

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("torch", "transformers", "tokenizers", "datasets", "accelerate", "numpy", "pandas")
Config = TypeVar("Config", bound="DataclassInstance")
FIGURE_FIELDS = ("name", "value", "low", "high")
EFFECT_FIELDS = ("than", "decision")  # of a figure that is a difference
_OWN: set[Path] = set()  # scratch folders that this process has begun


def environment() -> pd.DataFrame:
    """Return one row with the commit and the versions that matter, to show in a notebook's setup cell."""
    import pandas as pd

    return pd.DataFrame([{"commit": commit(), **versions()}], index=["this run"])


@cache
def commit() -> str:
    """Return the short commit of the checkout, `+` appended when tracked files differ from it."""
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=10", "--dirty=+"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() or "unknown"


def versions() -> dict[str, str]:
    """Return the installed versions, Python's first, without importing anything."""
    import platform

    return {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES}


def in_batch() -> bool:
    """Say whether the batch runner runs this notebook: its report has no kernel behind it."""
    return bool(os.environ.get("NUNCHI_OUT"))


def folder(notebook: str) -> Path:
    """Return the folder for this run's files, made if need be.

    That is `NUNCHI_OUT` under the batch runner and `reports/scratch/<notebook>` when run by hand; what an
    earlier run by hand left there is moved aside, to `<notebook>-1`, `-2` and so on.
    """
    chosen = os.environ.get("NUNCHI_OUT")
    path = Path(chosen) if chosen else ROOT / "reports" / "scratch" / notebook
    if not chosen and path not in _OWN:
        _set_aside(path)
        _OWN.add(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def configured(kind: type[Config], parameters: Mapping[str, Any]) -> Config:
    """Build a config from a notebook's parameters: `config = records.configured(TaggerConfig, globals())`.

    Every field that has a variable of its name takes its value; the others keep their defaults.
    """
    names = [field.name for field in dataclasses.fields(kind) if field.name in parameters]
    return kind(**{name: parameters[name] for name in names})


def write(notebook: str, *, question: str, verdict: str, headline: Sequence[Mapping], **more) -> pd.DataFrame:
    """Write metrics.json and return the headline as a frame, so that the last cell shows what was recorded.

    `headline` holds rows of `figure` and `effect`; `low` and `high` are both None for a figure that has no
    spread (a count). Numpy values, named tuples and frames in `more` become plain JSON.
    """
    import pandas as pd

    for name, text in (("question", question), ("verdict", verdict)):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{name} must be a sentence, got {text!r}")
    if not headline:
        raise ValueError("headline is empty; give at least one {'name', 'value', 'low', 'high'} row")
    figures = [_figure(row, where=f"headline[{i}]") for i, row in enumerate(headline)]
    extra = {name: plain(value, where=name) for name, value in more.items()}
    write_json(
        folder(notebook) / "metrics.json",
        {"question": question, "verdict": verdict, "headline": figures, **extra},
    )
    return pd.DataFrame(figures).set_index("name").rename_axis(None)


def figure(name: str, interval: Sequence[float]) -> dict[str, Any]:
    """Return the row of a headline for a value with its lower and upper bound."""
    return {"name": name, **dict(zip(FIGURE_FIELDS[1:], map(float, interval), strict=True))}


def effect(name: str, row: Mapping[str, Any] | pd.Series) -> dict[str, Any]:
    """Return the row of a headline for a row of a comparison: difference, from what, and the decision."""
    return figure(name, row["difference"]) | {field: str(row[field]) for field in EFFECT_FIELDS}


def plain(value: Any, *, where: str = "value") -> Any:
    """Return `value` as JSON types; ValueError names the place of anything else (NaN, infinity)."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}; record a finite number, or None where there is none")
        return value
    if hasattr(value, "_asdict"):
        return plain(value._asdict(), where=where)
    if isinstance(value, Mapping):
        return {_key(k, where): plain(v, where=f"{where}.{k}") for k, v in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(v, where=f"{where}[{i}]") for i, v in enumerate(value)]
    if hasattr(value, "to_dict"):  # pandas: a frame as a list of rows, a series as a mapping
        rows = value.to_dict("records") if hasattr(value, "columns") else value.to_dict()
        return plain(rows, where=where)
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return plain(value.tolist(), where=where)
    raise ValueError(
        f"{where} is a {type(value).__name__}, not a JSON value; give numbers, text, lists or dicts"
    )


def write_json(path: Path, payload: Any) -> None:
    """Replace `path` with `payload` in one step: a reader sees the old file or the new one, never half."""
    write_text(path, json.dumps(payload, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replace `path` with `text` in one step, flushed to the disk before the name changes."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _set_aside(path: Path) -> None:
    """Give the folder of an earlier run the first number that is free."""
    if path.is_dir() and any(path.iterdir()):
        names = (path.with_name(f"{path.name}-{number}") for number in itertools.count(1))
        path.rename(next(name for name in names if not name.exists()))


def _figure(row: Mapping, *, where: str) -> dict:
    fields = set(row) if isinstance(row, Mapping) else set()
    if fields not in (set(FIGURE_FIELDS), {*FIGURE_FIELDS, *EFFECT_FIELDS}):
        got = sorted(map(str, row)) if isinstance(row, Mapping) else type(row).__name__
        raise ValueError(
            f"{where} must have exactly the fields {list(FIGURE_FIELDS)}, of a difference also "
            f"{list(EFFECT_FIELDS)}; got {got}"
        )
    name = row["name"]
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{where}.name must be text, got {name!r}")
    value, low, high = (_number(row[field], where=f"{where}.{field}") for field in FIGURE_FIELDS[1:])
    if value is None or (low is None) != (high is None):
        raise ValueError(f"{where} ({name}) needs a value, and low and high both or neither: got {dict(row)}")
    if low is not None and high is not None and not low <= value <= high:
        raise ValueError(f"{where} ({name}): expected low <= value <= high, got {low} <= {value} <= {high}")
    told = {field: row[field] for field in EFFECT_FIELDS if field in row}
    return {"name": name, "value": value, "low": low, "high": high, **told}


def _number(value: Any, *, where: str) -> float | int | None:
    number = plain(value, where=where)
    if number is None or (isinstance(number, int | float) and not isinstance(number, bool)):
        return number
    raise ValueError(f"{where} must be a number or None, got {value!r}")


def _key(key: Any, where: str) -> str:
    simple = plain(key, where=f"a key of {where}")
    if isinstance(simple, list | dict) or simple is None:
        raise ValueError(f"{where} has the key {key!r}; metrics.json needs text or numbers as keys")
    return str(simple)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
