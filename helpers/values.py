"""Values of parameters: whether they have the declared types, and what to write where they do not.

Types are str, int, float, bool, list[...] and dict[str, ...]; unions are left out. Reading declarations and
parameter files is left to `batch.parameters`; `check` asks the same of a running notebook.
"""

import ast
import difflib
import inspect
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

LARGEST = 1e15  # number
SHOWN = 80  # characters of a wrong value
SCALARS = {"str": str, "int": int, "float": float, "bool": bool}
INJECTED = "# Parameters\n"  # how the cell that papermill adds begins


def check(namespace: MutableMapping[str, Any]) -> None:
    """Check the parameters of a running notebook, whoever set them: `values.check(globals())`.

    `papermill -p` sets names that no parameter has, and text where a list is meant, without a word. The types
    are the annotations of the parameters cell; an int becomes a float where one is due. ValueError lists all
    that is wrong.
    """
    types: Mapping[str, Any] = namespace.get("__annotations__", {})
    complaints = [
        f"unknown parameter {name!r}; {nearest(name, types)}"
        for name in _injected(namespace.get("In", ()))
        if name not in types
    ]
    for name, annotation in types.items():
        written = ast.parse(inspect.formatannotation(annotation), mode="eval").body
        namespace[name], wrong = fit(namespace[name], written, name)
        complaints += wrong
    if complaints:
        raise ValueError("\n  ".join(["please correct the parameters:", *complaints]))


def fit(value: Any, annotation: ast.expr, where: str) -> tuple[Any, list[str]]:
    """Return `value` as the annotated type (an int becomes a float where one is due) and the complaints."""
    if isinstance(annotation, ast.Name) and annotation.id in SCALARS:
        return _fit_scalar(value, annotation.id, where)
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    kind = outer.id if isinstance(outer, ast.Name) else None
    inner = annotation.slice if isinstance(annotation, ast.Subscript) else None
    if kind == "list":
        if not isinstance(value, list):
            return value, [f"{where} must be a list, got {_shown(value)}; {_as_list(value, where)}"]
        pairs = [fit(v, inner, f"{where}[{i}]") if inner else (v, []) for i, v in enumerate(value)]
        return [v for v, _ in pairs], [c for _, complaints in pairs for c in complaints]
    if kind == "dict":
        if not isinstance(value, dict):
            return value, [f"{where} must be a mapping, got {_shown(value)}; write {{key: value}}"]
        inner = inner.elts[1] if isinstance(inner, ast.Tuple) else None
        named = {k: fit(v, inner, f"{where}.{k}") if inner else (v, []) for k, v in value.items()}
        return {k: v for k, (v, _) in named.items()}, [c for _, cs in named.values() for c in cs]
    return value, [f"{where} has the type {ast.unparse(annotation)}; use str, int, float, bool, list or dict"]


def _fit_scalar(value: Any, kind: str, where: str) -> tuple[Any, list[str]]:
    if isinstance(value, int | float) and not -LARGEST <= value <= LARGEST:  # so is no NaN
        return value, [f"{where} must be a finite number of ordinary size, got {_shown(value)}"]
    if kind == "float" and type(value) is int:
        return float(value), []
    if type(value) is SCALARS[kind]:
        return value, []
    return value, [f"{where} must be {kind}, got {_shown(value)}{_advice(value, kind)}"]


def _as_list(value: Any, where: str) -> str:
    """Say how to write a list; `papermill -p` knows none, `-y` does."""
    if isinstance(value, str) and value.strip().startswith("["):
        return f"take the quotes away (papermill: -y '{where}: [...]')"
    return f"write [{value!s:.{SHOWN}}] (papermill: -y '{where}: [...]')"


def _injected(cells: Any) -> Iterator[str]:
    """Yield the names that papermill has set, told by the cell that it adds."""
    for source in cells:
        if source.startswith(INJECTED):
            for statement in ast.parse(source).body:
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    yield statement.targets[0].id


def _advice(value: Any, kind: str) -> str:
    if kind == "str":
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return f'; quote it: "{text:.{SHOWN}}"'
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


def _shown(value: Any) -> str:
    names = {str: "text", dict: "mapping", type(None): "nothing"}
    text = repr(value)
    return f"{names.get(type(value), type(value).__name__)} {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}"


def nearest(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
