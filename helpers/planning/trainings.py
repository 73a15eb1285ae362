"""What a notebook would train: its own plan, read from the cells tagged `plan` without loading any data.

Those cells build the configs that the notebook's sweeps get, from parameters alone, and end with `planned`:
`{sweep: [config, …]}`. A config that several data parts share comes with what tells its runs apart, as
`(config, part, …)`. Equal entries are one run, as in the sweeps' cache.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FACTS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("cards.yaml").read_text(encoding="utf-8"))
VALID_SHARE = 0.1  # of the relations' training rows


@dataclass(frozen=True, kw_only=True)
class Training:
    """One training run, as far as its cost goes; runs that differ in seed or input alone are equal."""

    sweep: str
    task: str  # "relations", "entities", "labels", "spans" or "masked"
    model: str
    length: int  # tokens of the longest row
    tokens: int  # of an average row
    rows: int  # to train on
    scored: int  # rows read without training, over the whole run
    batch: int
    accumulate: int = 1
    epochs: int
    recompute: bool = False
    lora_rank: int = 0
    four_bit: bool = False
    frozen: bool = False  # the encoder
    averages: int = 0  # copies of the weights in the host's memory; one more is on the card
    checkpoints: int = 0  # models that the run leaves on disk
    snapshots: int = 0  # models on disk while it runs
    size: tuple[tuple[str, int], ...] = field(default=(), repr=False)  # of a model from scratch

    @property
    def steps(self) -> int:
        return math.ceil(self.rows / self.batch / self.accumulate) * self.epochs


def read(cells: Sequence[str], plan: Sequence[str], values: Mapping[str, Any]) -> Counter[Training]:
    """Return the trainings of a notebook and how many runs of each; none if it has no plan.

    `cells` are its code cells, for their imports, `plan` those tagged so, `values` its parameters.
    """
    if not plan:
        return Counter()
    space = dict(values)
    wanted = {node.id for source in plan for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    for statement in _imports(cells, wanted):
        exec(statement, space)
    for source in plan:
        exec(source, space)
    found: Counter[Training] = Counter()
    for sweep, runs in space["planned"].items():
        for run in dict.fromkeys(run if isinstance(run, tuple) else (run,) for run in runs):
            if training := _training(sweep, run, values):
                found[training] += 1
    return found


def _imports(cells: Sequence[str], wanted: set[str]) -> list[str]:
    """Return the import statements that bind a name the plan uses."""
    statements = [node for source in cells for node in ast.parse(source).body]
    return [
        ast.unparse(node)
        for node in statements
        if isinstance(node, ast.Import | ast.ImportFrom)
        and any((alias.asname or alias.name.partition(".")[0]) in wanted for alias in node.names)
    ]


def _training(sweep: str, run: tuple, values: Mapping[str, Any]) -> Training | None:
    reader: Callable[..., Training | None] = READERS[type(run[0]).__name__]
    return reader(run[0], sweep, values, *run[1:])


def _relation(config: Any, sweep: str, values: Mapping[str, Any]) -> Training:
    facts = FACTS["data"]["relations"]
    asked = values["train_rows" if sweep == "02-final" else "comparison_rows"] if "02" in sweep else None
    labelled = (values["train_rows"] if asked is None else asked) or facts["train"]
    valid, dev = round(labelled * VALID_SHARE), values["dev_rows"] or facts["dev"]
    return Training(
        sweep=sweep, task="relations", model=config.model, length=min(config.max_length, facts["longest"]),
        tokens=min(config.max_length, facts["tokens"]), rows=labelled - valid,
        scored=(config.epochs + 1) * valid + dev, batch=config.batch_size, epochs=config.epochs,
        checkpoints=int(config.keep_model), size=_size(config, config.vocabulary_size),
    )  # fmt: skip


def _tagger(config: Any, sweep: str, values: Mapping[str, Any]) -> Training:
    facts = FACTS["data"]["entities"]
    labelled, dev = values["train_rows"] or facts["train"], values["dev_rows"] or facts["dev"]
    valid = round(labelled * values["valid_share"])
    readings = 5 + config.epochs if config.averages else 1  # see entities.experiment._readings
    soup = 2 * config.epochs if config.averages else 0
    return Training(
        sweep=sweep, task="entities", model=config.encoder, length=facts["longest"], tokens=facts["tokens"],
        rows=labelled - valid, scored=(config.epochs + soup) * valid + readings * (valid + dev),
        batch=config.batch_size, epochs=config.epochs, frozen=config.frozen,
        averages=(1 + config.lawa_last) * config.averages, checkpoints=1,
        snapshots=config.epochs * config.averages, size=_size(config, values["vocabulary_size"]),
    )  # fmt: skip


def _network(
    config: Any, sweep: str, values: Mapping[str, Any], draw: int, without: Sequence[int], seed: int
) -> Training:
    facts = FACTS["data"]["posts"]
    posts = values["rows"] or facts["train"]
    left_out = round(posts * len(without) / values["fold_count"])
    spans = sweep == "trigger-spans"
    pieces = math.ceil(facts["tokens"] / config.max_tokens) if spans else 1  # a tagger reads all of a post
    return Training(
        sweep=sweep, task="spans" if spans else "labels", model=config.encoder,
        length=min(config.max_tokens, facts["longest"]), tokens=min(config.max_tokens, facts["tokens"]),
        rows=(posts - left_out) * pieces, scored=left_out * pieces, batch=config.batch_rows,
        accumulate=config.accumulate, epochs=config.epochs, recompute=config.recompute or config.four_bit,
        lora_rank=config.lora_rank, four_bit=config.four_bit, size=_size(config, config.vocabulary),
    )  # fmt: skip


def _masked(config: Any, sweep: str, values: Mapping[str, Any]) -> Training | None:
    if sweep == "06-base" and not config.base_epochs:
        return None  # a pretrained model is copied
    facts = FACTS["data"]["documents"]
    documents = values["train_documents"] or facts["train"]
    windows = round(documents * max(1.0, facts["tokens"] / config.length + 0.5))  # each has a shorter tail
    mentions = documents * values["mentions_per_document"]
    rows = {"mlm_v2": windows, "entity": mentions, "combined": windows + mentions}[config.curriculum]
    items = (values["dev_documents"] or facts["train"] // 10) * values["items_per_document"]
    checkpoints = 1 if sweep == "06-base" else 2 * config.epochs
    return Training(
        sweep=sweep, task="masked", model=config.model, length=config.length,
        tokens=min(config.length, facts["tokens"]), rows=rows, scored=checkpoints * items // 2,
        batch=config.batch_rows, accumulate=config.accumulate,
        epochs=config.base_epochs if sweep == "06-base" else config.epochs, recompute=config.recompute,
        checkpoints=checkpoints, snapshots=checkpoints, size=_size(config, config.vocabulary),
    )  # fmt: skip


def _size(config: Any, vocabulary: int) -> tuple[tuple[str, int], ...]:
    return tuple({"hidden": config.hidden, "layers": config.layers, "vocabulary": vocabulary}.items())


def resized(training: Training, *, batch: int) -> Training:
    """Return the same training with fewer rows a step: accumulation makes up for them."""
    if batch >= training.batch:
        return training
    steps = math.ceil(training.batch * training.accumulate / batch)
    return dataclasses.replace(training, batch=batch, accumulate=steps)


READERS: dict[str, Callable[..., Training | None]] = {
    "RelationConfig": _relation,
    "TaggerConfig": _tagger,
    "Network": _network,
    "MaskedLMConfig": _masked,
}
