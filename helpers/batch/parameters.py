"""Parameters: what a notebook declares, what a parameter file sets, and whether the two fit.

A notebook declares its parameters as typed literals in the one cell tagged `parameters`; a YAML file sets
some of them anew. Everything is checked from the text alone, before any kernel starts, and every mistake is
reported at once. Types are str, int, float, bool, list[...] and dict[str, ...]; unions are left out.
"""

from __future__ import annotations

import ast
import difflib
import io
import json
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import settings

LARGEST = 1e15  # number
SCALARS = {"str": str, "int": int, "float": float, "bool": bool}


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
            complaints.append(f"unknown parameter {name[: settings.SHOWN]!r}; {_nearest(name, known)}")
        elif not (value is None and known[name].default is None):
            annotation = ast.parse(known[name].type, mode="eval").body
            values[name], wrong = _fit(value, annotation, name)
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
        default, wrong = _fit(default, statement.annotation, name)
        if wrong:
            raise ValueError(f"`{line}`: {wrong[0]}")
    return Parameter(name, annotation, default, comment)


def _fit(value: Any, annotation: ast.expr, where: str) -> tuple[Any, list[str]]:
    """Return `value` as the annotated type (an int becomes a float where one is due) and the complaints."""
    if isinstance(annotation, ast.Name) and annotation.id in SCALARS:
        return _fit_scalar(value, annotation.id, where)
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    kind = outer.id if isinstance(outer, ast.Name) else None
    inner = annotation.slice if isinstance(annotation, ast.Subscript) else None
    if kind == "list":
        if not isinstance(value, list):
            return value, [
                f"{where} must be a list, got {settings.shown(value)}; write [{value!s:.{settings.SHOWN}}]"
            ]
        pairs = [_fit(v, inner, f"{where}[{i}]") if inner else (v, []) for i, v in enumerate(value)]
        return [v for v, _ in pairs], [c for _, complaints in pairs for c in complaints]
    if kind == "dict":
        if not isinstance(value, dict):
            return value, [f"{where} must be a mapping, got {settings.shown(value)}; write {{key: value}}"]
        inner = inner.elts[1] if isinstance(inner, ast.Tuple) else None
        named = {k: _fit(v, inner, f"{where}.{k}") if inner else (v, []) for k, v in value.items()}
        return {k: v for k, (v, _) in named.items()}, [c for _, cs in named.values() for c in cs]
    return value, [f"{where} has the type {ast.unparse(annotation)}; use str, int, float, bool, list or dict"]


def _fit_scalar(value: Any, kind: str, where: str) -> tuple[Any, list[str]]:
    if isinstance(value, int | float) and not -LARGEST <= value <= LARGEST:  # so is no NaN
        return value, [f"{where} must be a finite number of ordinary size, got {settings.shown(value)}"]
    if kind == "float" and type(value) is int:
        return float(value), []
    if type(value) is SCALARS[kind]:
        return value, []
    return value, [f"{where} must be {kind}, got {settings.shown(value)}{_advice(value, kind)}"]


def _advice(value: Any, kind: str) -> str:
    if kind == "str":
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return f'; quote it: "{text:.{settings.SHOWN}}"'
    if kind == "float" and isinstance(value, str):
        return f"; YAML reads this as text, write {as_yaml_float(value)}" if _is_number(value) else ""
    if kind == "int" and isinstance(value, float | str) and _is_number(value) and float(value).is_integer():
        return f"; write {int(float(value))}"
    return ""


def as_yaml_float(text: str) -> str:
    """Return a number as YAML 1.1 reads it: with a point and a signed exponent, `3e-5` → `3.0e-5`."""
    mantissa, mark, exponent = text.strip().lower().partition("e")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    mantissa = mantissa.replace("-.", "-0.").replace("+.", "0.").lstrip("+")
    mantissa = f"0{mantissa}" if mantissa.startswith(".") else mantissa
    return f"{mantissa}e{int(exponent):+d}" if mark else mantissa


def _is_number(value: Any) -> bool:
    try:
        return float(value) - float(value) == 0  # finite: neither inf nor nan
    except ValueError:
        return False


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
