"""What a notebook would train, as far as cost goes: models, lengths, batches, rows, and the number of runs.

The runs are the notebook's own, from `recorder`. Rows and tokens of the public data sets are in `cards.yaml`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from helpers.corpora.texts import SAMPLE_ROWS
from helpers.learning.config import SCHEDULE_FREE
from helpers.planning.recorder import PlannedRun, record

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
    phase: str = field(default="", repr=False)  # runs of one phase do not wait for one another

    @property
    def steps(self) -> int:
        return math.ceil(self.rows / self.batch / self.accumulate) * self.epochs


def read(cells: Sequence[str], plan: Sequence[str], values: Mapping[str, Any]) -> Counter[Training]:
    """Return the trainings of a notebook and how many runs of each; none if it has no cells tagged `plan`."""
    found: Counter[Training] = Counter()
    for run in record(cells, plan, values) if plan else ():
        if training := READERS[run.function](run, values):
            found[training] += 1
    return found


def _relation(run: PlannedRun, values: Mapping[str, Any]) -> Training:
    config, sweep = run.config, run.sweep
    facts = FACTS["data"]["relations"]
    if sweep in ("06-reading", "06-domains"):
        asked, scored = (values["fine_tuning"][name] for name in ("rows", "dev_rows"))
    else:
        compared = sweep in ("02-tokenizers", "02-grid", "02-legacy")
        asked, scored = values["comparison_rows" if compared else "train_rows"], values["dev_rows"]
    labelled, dev = asked or facts["train"], scored or facts["dev"]
    valid = round(labelled * VALID_SHARE)
    return Training(
        sweep=sweep, task="relations", model=config.model, length=min(config.max_length, facts["longest"]),
        tokens=min(config.max_length, facts["tokens"]), rows=labelled - valid,
        scored=(config.epochs + 1) * valid + dev, batch=config.batch_size, epochs=config.epochs,
        checkpoints=int(config.keep_model), size=_size(config, config.vocabulary_size),
    )  # fmt: skip


def _tagger(run: PlannedRun, values: Mapping[str, Any]) -> Training:
    config = run.config
    facts = FACTS["data"]["entities"]
    if run.sweep == "06-domain-taggers":
        asked, share = values["fine_tuning"], {"valid_share": VALID_SHARE}
        values = {"train_rows": asked["rows"], "vocabulary_size": values["vocabulary"], **asked, **share}
    labelled, dev = values["train_rows"] or facts["train"], values["dev_rows"] or facts["dev"]
    valid = round(labelled * values["valid_share"])
    readings = 5 + config.epochs if config.averages else 1  # see entities.experiment._readings
    soup = 2 * config.epochs if config.averages else 0
    average = int(config.schedule == SCHEDULE_FREE)  # the optimizer's own, on the card as EMA's
    return Training(
        sweep=run.sweep, task="entities", model=config.encoder,
        length=facts["longest"], tokens=facts["tokens"], rows=labelled - valid,
        scored=(config.epochs + soup) * valid + readings * (valid + dev),
        batch=config.batch_size, epochs=config.epochs, frozen=config.frozen,
        averages=(1 + config.lawa_last) * config.averages or average, checkpoints=1,
        snapshots=config.epochs * config.averages, size=_size(config, values["vocabulary_size"]),
    )  # fmt: skip


def _network(run: PlannedRun, values: Mapping[str, Any]) -> Training:
    config, sweep, (_, without, _) = run.config, run.sweep, run.part
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
        lora_rank=config.lora_rank, four_bit=config.four_bit, checkpoints=int(config.keep_model),
        size=_size(config, config.vocabulary), phase=str(run.part[0]),
    )  # fmt: skip


def _masked(run: PlannedRun, values: Mapping[str, Any]) -> Training | None:
    config, sweep = run.config, run.sweep
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
        phase="entity" if config.curriculum == "entity" else "",
    )  # fmt: skip


def _pretrained(run: PlannedRun, values: Mapping[str, Any]) -> Training:
    """Return the pretraining of an encoder; its batches hold so many tokens, not rows."""
    config, (data, asked, _) = run.config, run.part
    facts = FACTS["data"]["texts"]
    if data == "posts":  # 05: the texts of its training posts, all folds but two
        facts, posts = FACTS["data"]["posts"], values["rows"] or FACTS["data"]["posts"]["train"]
        asked = round(posts * (1 - 2 / values["fold_count"]))
    length = min(config.length, facts.get("characters" if config.span > 1 else "tokens", config.length))
    asked = config.token_budget // length or asked
    return Training(
        sweep=run.sweep, task="masked", model=config.model, length=length, tokens=length,
        rows=asked or (SAMPLE_ROWS if data == "sample" else facts["train"]), scored=0,
        batch=max(1, config.batch_tokens // length), epochs=config.epochs, checkpoints=1 + config.snapshots,
        size=_size(config, config.vocabulary_size),
    )  # fmt: skip


def _size(config: Any, vocabulary: int) -> tuple[tuple[str, int], ...]:
    return tuple({"hidden": config.hidden, "layers": config.layers, "vocabulary": vocabulary}.items())


READERS: dict[str, Callable[[PlannedRun, Mapping[str, Any]], Training | None]] = {
    "pretrain": _pretrained,
    "train_and_score": _relation,
    "train_tagger": _tagger,
    "score_left_out": _network,
    "tag_left_out": _network,
    "build_base": _masked,
    "continue_run": _masked,
}
