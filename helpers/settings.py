"""Settings: YAML read safely, the type of every parameter and the range of every number.

A range belongs to a name wherever it stands: a parameter, the entries of its list, a key of its mapping.
Types are str, int, float, bool, list[...] and dict[str, ...]; unions are left out. The runner checks both
before a kernel starts; a notebook's setup cell checks them again, for papermill and JupyterLab.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple

import yaml

DEEPEST = 8  # levels of a YAML file
SHOWN = 80  # characters of a wrong value
LARGEST = 1e15  # number
SCALARS = {"str": str, "int": int, "float": float, "bool": bool}
INJECTED = "# Parameters\n"  # how the cell that papermill adds begins


class Range(NamedTuple):
    """From `low` to `high`, both included unless `open`: then neither is."""

    low: float
    high: float
    open: bool = False

    def holds(self, number: float) -> bool:
        return self.low < number < self.high if self.open else self.low <= number <= self.high

    def __str__(self) -> str:
        low, high = (f"{edge:,.15g}" if edge < 1e15 else "" for edge in self[:2])
        if self.open:
            return f"between {low} and {high}" if high else f"above {low}"
        return f"from {low} to {high}"


ROWS = Range(0, 1e9)  # 0 takes all there are
SOME = Range(1, 1e6)
NONE_OR_MORE = Range(0, 1e6)
SEED = Range(0, 2**32 - 1)
SHARE = Range(0, 1, open=True)
POSITIVE = Range(0, math.inf, open=True)
LENGTH = Range(8, 1e6)  # tokens: special ones, and something between them
VOCABULARY = Range(100, 1e6)  # special tokens and an alphabet


def _named(words: str, allowed: Range) -> dict[str, Range]:
    return dict.fromkeys(words.split(), allowed)


RANGES = {
    **_named("rows train_rows dev_rows comparison_rows relation_rows relation_dev_rows entity_rows", ROWS),
    **_named("entity_dev_rows post_rows document_rows lambada_rows train_documents dev_documents", ROWS),
    "chain_passages": ROWS,
    **_named("seed seeds control_seeds final_seeds further_seeds kept_seeds", SEED),
    **_named("fold_seed fold_seeds network_seeds", SEED),
    **_named("vocabulary vocabulary_size vocab_size", VOCABULARY),
    **_named("max_length max_tokens length lengths", LENGTH),
    **_named("hidden layers batch_size batch_rows grid_batches accumulate candidates span", SOME),
    **_named("epochs grid_epochs final_epochs ablation_epochs swa_start lawa_last", SOME),
    **_named("items_per_document mentions_per_document window cuts daily_limit nested_draws drawn", SOME),
    **_named("intervened perturbed_rows features shortest longest chain_questions resamples", SOME),
    **_named("base_epochs patience bigrams lora_rank snapshots", NONE_OR_MORE),
    **_named("valid_share held_out hidden_share label_shares public_share mask_rate", SHARE),
    **_named("planted_errors target_recall confidence", SHARE),
    **_named("peak_lr base_lr grid_lrs", Range(0, 10, open=True)),
    **_named("encoder_lr c shift_factors outside_weights", POSITIVE),
    "warmup": Range(0, 0.99),
    **_named("weight_decay clip", Range(0, 1e6)),
    "batch_tokens": Range(16, 1e8),
    "token_budget": ROWS,
    "sentences": Range(100, 1e8),  # of the sample world, to pretrain on
    "attacks": Range(2, 1000),
    "fold_count": Range(3, 1000),  # two are left out at a time
    "folds": Range(2, 1000),
    "decimals": Range(0, 12),
    "dropout": Range(0, 0.95),
    "ema_decay": SHARE,
    "share": Range(0.001, 1),
    "margin": Range(0, 100),
}

# Parameters whose keys have ranges.
MAPPINGS = (
    "pretraining", "pretraining_of", "backbone", "ngrams", "encoder", "decoder", "tagger",
    "schedules", "recipe", "reading", "fine_tuning", "entity_tuning", "domains",
)  # fmt: skip


def check(values: MutableMapping[str, Any]) -> None:
    """Raise ValueError with all that is wrong with a notebook's parameters: `settings.check(globals())`.

    That is names that papermill sets and nobody declares, values that do not have the type of their
    annotation (an int becomes a float where one is due), and numbers out of their range.
    """
    types: Mapping[str, Any] = values.get("__annotations__", {})
    strange = [name for name in _injected(values.get("In", ())) if name not in types]
    wrong = [f"unknown parameter {name!r}; {nearest(name, types)}" for name in strange]
    for name, annotation in types.items():
        written = ast.parse(inspect.formatannotation(annotation), mode="eval").body
        values[name], complaint = fit(values[name], written, name)
        wrong += complaint
    if not wrong:
        wrong = complaints({name: values[name] for name in (*RANGES, *MAPPINGS) if name in values})
    if wrong:
        raise ValueError("; ".join(wrong))


def complaints(values: Mapping[str, Any]) -> list[str]:
    """Return a sentence for every number that is not finite or out of the range of its name."""
    return [said for name, value in values.items() for said in _wrong(value, name, RANGES.get(name))]


def read_yaml(text: str) -> Any:
    """Return the value of a YAML text; ValueError for aliases, deep nesting, and keys that are set twice."""
    try:
        _refuse_bombs(text)
        return yaml.load(text, Loader=_UniqueKeys)
    except yaml.YAMLError as error:
        raise ValueError(f"not readable as YAML: {' '.join(str(error).split()):.300}") from error


def shown(value: Any) -> str:
    """Return a wrong value as a message shows it: with its kind, on one line, cut where it is long."""
    names = {str: "text", dict: "mapping", type(None): "nothing"}
    text = repr(value)
    return f"{names.get(type(value), type(value).__name__)} {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}"


def fit(value: Any, annotation: ast.expr, where: str) -> tuple[Any, list[str]]:
    """Return `value` as the annotated type (an int becomes a float where one is due) and the complaints."""
    if isinstance(annotation, ast.Name) and annotation.id in SCALARS:
        return _fit_scalar(value, annotation.id, where)
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    kind = outer.id if isinstance(outer, ast.Name) else None
    inner = annotation.slice if isinstance(annotation, ast.Subscript) else None
    if kind == "list":
        if not isinstance(value, list):
            return value, [f"{where} must be a list, got {shown(value)}; {_as_list(value, where)}"]
        pairs = [fit(v, inner, f"{where}[{i}]") if inner else (v, []) for i, v in enumerate(value)]
        return [v for v, _ in pairs], [c for _, complaints in pairs for c in complaints]
    if kind == "dict":
        if not isinstance(value, dict):
            return value, [f"{where} must be a mapping, got {shown(value)}; write {{key: value}}"]
        inner = inner.elts[1] if isinstance(inner, ast.Tuple) else None
        named = {k: fit(v, inner, f"{where}.{k}") if inner else (v, []) for k, v in value.items()}
        return {k: v for k, (v, _) in named.items()}, [c for _, cs in named.values() for c in cs]
    asked = f"{ast.unparse(annotation):.{SHOWN}}"
    return value, [f"{where} has the type {asked}; use str, int, float, bool, list or dict"]


def as_yaml_float(text: str) -> str:
    """Return a number as YAML 1.1 reads it: with a point and a signed exponent, `3e-5` → `3.0e-5`."""
    mantissa, mark, exponent = text.strip().lower().partition("e")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    mantissa = mantissa.replace("-.", "-0.").replace("+.", "0.").lstrip("+")
    mantissa = f"0{mantissa}" if mantissa.startswith(".") else mantissa
    return f"{mantissa}e{int(exponent):+d}" if mark else mantissa


def nearest(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"


def _wrong(value: Any, where: str, allowed: Range | None) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _wrong(inner, f"{where}.{name}", RANGES.get(name))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            if not isinstance(inner, str):
                yield from _wrong(inner, f"{where}[{i}]", allowed)
    elif isinstance(value, int | float) and not isinstance(value, bool) and not -math.inf < value < math.inf:
        yield f"{where} must be a finite number, got {shown(value)}"
    elif allowed and isinstance(value, bool | str):
        yield f"{where} must be a number, got {shown(value)}"
    elif allowed and isinstance(value, int | float) and not allowed.holds(value):
        yield f"{where} must lie {allowed}, got {shown(value).partition(' ')[2]}"


def _fit_scalar(value: Any, kind: str, where: str) -> tuple[Any, list[str]]:
    if isinstance(value, int | float) and not -LARGEST <= value <= LARGEST:  # so is no NaN
        return value, [f"{where} must be a finite number of ordinary size, got {shown(value)}"]
    if kind == "float" and type(value) is int:
        return float(value), []
    if type(value) is SCALARS[kind]:
        return value, []
    return value, [f"{where} must be {kind}, got {shown(value)}{_advice(value, kind)}"]


def _as_list(value: Any, where: str) -> str:
    """Say how to write a list; `papermill -p` knows none, `-y` does."""
    if isinstance(value, str) and value.strip().startswith("["):
        return f"take the quotes away (papermill: -y '{where}: [...]')"
    return f"write [{value!s:.{SHOWN}}] (papermill: -y '{where}: [...]')"


def _injected(cells: Iterable[str]) -> Iterator[str]:
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


def _is_number(value: Any) -> bool:
    try:
        return float(value) - float(value) == 0  # finite: neither inf nor nan
    except ValueError:
        return False


def _refuse_bombs(text: str) -> None:
    """Refuse aliases, which a short file can multiply to gigabytes, and nesting that no setting has."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"*{event.anchor:.{SHOWN}}: aliases are not supported; write the value out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(
                f"more than {DEEPEST} levels of lists and mappings; parameters have two or three"
            )


class _UniqueKeys(yaml.SafeLoader):
    """The safe loader, refusing a key that is set twice: YAML would keep the last without a word."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = sorted({str(key) for key in keys if keys.count(key) > 1})
        if twice:
            raise yaml.constructor.ConstructorError(
                None, None, f"{', '.join(twice)} is set twice", node.start_mark
            )
        return super().construct_mapping(node, deep)
