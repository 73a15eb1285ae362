"""Parameters: what a notebook declares, what a parameter file sets, and whether the two fit.

A notebook declares its parameters as typed literals in the one cell tagged `parameters`; a YAML file sets
some of them anew. Everything is checked from the text alone, before any kernel starts, and every mistake is
reported at once. Whether a value has its type and its range is decided in `settings`.
"""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import settings


@dataclass(frozen=True)
class Parameter:
    """One line of the parameters cell: `peak_lr: float = 3e-5  # after warm-up`."""

    name: str
    type: str
    default: Any
    help: str


def load_notebook(path: Path) -> dict:
    """Read a notebook as plain JSON with each cell's source as one string."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            cell.setdefault("metadata", {}).get("tags")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a notebook ({error!s:.200}); open and save it in JupyterLab"
        ) from error
    return notebook


def tagged(notebook: Mapping, tag: str) -> list[dict]:
    """Return the cells that carry `tag`."""
    tags = ((cell, cell.get("metadata", {}).get("tags")) for cell in notebook["cells"])
    return [cell for cell, given in tags if isinstance(given, list) and tag in given]


def declared(notebook: Mapping) -> dict[str, Parameter]:
    """Return the parameters of the cell tagged `parameters`, in order; ValueError lists what is malformed."""
    cells = tagged(notebook, "parameters")
    if len(cells) != 1:
        raise ValueError(f"expected exactly one cell tagged 'parameters', found {len(cells)}")
    source = cells[0]["source"]
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"the parameters cell is not Python: {error!s:.200}") from error
    comments = _comments(source)
    return {p.name: p for p in (_parameter(s, comments.get(s.end_lineno, "")) for s in statements)}


def read(path: Path) -> dict[str, Any]:
    """Return the overrides in a YAML file; an empty file overrides nothing."""
    try:
        content = settings.read_yaml(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not readable as YAML: {error}") from error
    if content is None:
        return {}
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise ValueError(f"expected lines of `name: value`, got {type(content).__name__}: {content!r:.60}")
    return content


def resolve(known: Mapping[str, Parameter], overrides: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return every parameter's value and the list of complaints about `overrides`, empty when they fit."""
    values = {name: parameter.default for name, parameter in known.items()}
    complaints = []
    for name, value in overrides.items():
        if name not in known:
            complaints.append(
                f"unknown parameter {name[: settings.SHOWN]!r}; {settings.nearest(name, known)}"
            )
        elif not (value is None and known[name].default is None):
            annotation = ast.parse(known[name].type, mode="eval").body
            values[name], wrong = settings.fit(value, annotation, name)
            complaints += wrong or settings.complaints({name: values[name]})
    return values, complaints


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ").rstrip() for t in tokens if t.type == tokenize.COMMENT}


def _parameter(statement: ast.stmt, comment: str) -> Parameter:
    line = f"{ast.unparse(statement):.200}"
    if not (
        isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value
    ):
        raise ValueError(f"`{line}` is not a typed literal; write `name: type = value  # what it does`")
    try:
        default = ast.literal_eval(statement.value)
    except (ValueError, TypeError, SyntaxError) as error:
        raise ValueError(f"`{line}` is computed; a parameter must be a literal") from error
    name, annotation = statement.target.id, ast.unparse(statement.annotation)
    if default is not None:
        default, wrong = settings.fit(default, statement.annotation, name)
        if wrong:
            raise ValueError(f"`{line}`: {wrong[0]}")
    return Parameter(name, annotation, default, comment)
