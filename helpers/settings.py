"""Settings: YAML read with its traps closed, and the range of every number that a notebook takes.

A range belongs to a name wherever it stands: a parameter, the entries of its list, a key of its mapping. The
runner checks ranges before a kernel starts; a notebook's setup cell checks them again, for papermill and
JupyterLab.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml

DEEPEST = 8  # levels of a YAML file
SHOWN = 80  # characters of a wrong value


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
    **_named("seed seeds control_seeds final_seeds kept_seeds fold_seed fold_seeds network_seeds", SEED),
    **_named("vocabulary vocabulary_size vocab_size backbone_vocabulary", VOCABULARY),
    **_named("max_length max_tokens length lengths", LENGTH),
    **_named(
        "hidden backbone_hidden layers batch_size batch_rows grid_batches accumulate candidates span", SOME
    ),
    **_named("epochs grid_epochs final_epochs ablation_epochs entity_epochs swa_start lawa_last", SOME),
    **_named("items_per_document mentions_per_document window cuts daily_limit nested_draws drawn", SOME),
    **_named("intervened perturbed_rows features shortest longest", SOME),
    **_named("base_epochs patience bigrams lora_rank snapshots", NONE_OR_MORE),
    **_named("valid_share held_out hidden_share label_shares public_share mask_rate", SHARE),
    **_named("peak_lr base_lr entity_lr grid_lrs", Range(0, 10, open=True)),
    **_named("encoder_lr c shift_factors outside_weights", POSITIVE),
    "batch_tokens": Range(16, 1e8),
    "sentences": Range(100, 1e8),  # of the sample world, to pretrain on
    "choices": Range(2, 1e6),
    "fold_count": Range(2, 1000),
    "folds": Range(2, 1000),
    "decimals": Range(0, 12),
    "dropout": Range(0, 0.95),
    "ema_decay": SHARE,
    "share": Range(0.001, 1),
    "margin": Range(0, 100),
}

# Parameters whose keys have ranges.
MAPPINGS = ("pretraining", "backbone_pretraining", "ngrams", "encoder", "decoder", "tagger")


def check(values: Mapping[str, Any]) -> None:
    """Raise ValueError with every number that is out of its range: `settings.check(globals())`."""
    if wrong := complaints({name: values[name] for name in (*RANGES, *MAPPINGS) if name in values}):
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
