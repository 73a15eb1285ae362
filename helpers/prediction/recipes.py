"""How to read a kept model: its task, its labels, how text goes in and how logits become answers.

A recipe is `nunchi.json` in the model's folder. The functions here make one from a run of each notebook; what
they fit (a temperature, thresholds, curves) is fitted on rows that the run was not trained on. Weights and
tokenizer are left to `folders`.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.corpora import none_label
from helpers.corpora.labels import RELATIONS, ordered

FILE = "nunchi.json"
TASKS = ("relations", "entities", "multilabel", "spans")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a model's folder says beside weights and tokenizer; fields that a task does not use stay empty."""

    task: str  # one of TASKS
    labels: tuple[str, ...]  # relations, entity types or classes, in the order of the logits
    scheme: str = ""  # relations: how the two entities are marked
    types: tuple[str, ...] = ()  # relations: of the entities in training
    none: str = ""  # relations: what the data call no_relation
    max_tokens: int = 0  # of a text or, of spans, of a window; 0: whole texts
    prompt: str = "{text}"  # multilabel: what stands around a text
    temperature: float = 1.0  # divides the logits of relations and entities
    thresholds: tuple[float, ...] = ()  # multilabel, spans: on scores before calibration
    curves: tuple[tuple[float, float], ...] = ()  # multilabel, spans: Platt's slope and offset of each

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(f"task must be one of {', '.join(TASKS)}, got {self.task!r}")
        sizes = {len(self.thresholds), len(self.curves)}
        if self.task in ("multilabel", "spans") and sizes != {len(self.labels)}:
            raise ValueError(f"{len(self.labels)} labels need as many thresholds and curves, got {sizes}")
        if not self.temperature > 0:
            raise ValueError(f"temperature must be positive, got {self.temperature}")

    def write(self, folder: Path) -> None:
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        (folder / FILE).write_text(text + "\n", encoding="utf-8")


def read(folder: Path) -> Recipe:
    """Read the recipe of a model's folder."""
    path = folder / FILE
    if not path.is_file():
        raise ValueError(
            f"{folder} has no {FILE}: expected the folder of a model that a notebook kept, "
            "such as reports/sample/03_markers/models/relations"
        )
    try:
        given: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
        }
        fields["curves"] = tuple((float(a), float(b)) for a, b in given["curves"])
        return Recipe(**fields)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} cannot be read ({error}); copy the folder anew from its run") from error


def relations(run: str | Path, config: Any, splits: Any, *, data: str) -> Recipe:
    """Return the recipe of a run of `relations.experiment`; the temperature fits its validation rows."""
    from helpers.entities.voting import fit_temperature
    from helpers.relations import experiment, markers

    if config.constraint != "none":
        raise ValueError(
            f"a model trained with the constraint {config.constraint!r} needs it in use; keep another"
        )
    types = markers.entity_types(splits.train, splits.valid, splits.dev)
    logits, labels = experiment.load_logits(run, "valid"), np.array(splits.valid["label"][:])
    return Recipe(
        task="relations",
        labels=tuple(splits.labels),
        scheme=config.scheme,
        types=ordered(types, markers.TYPES),
        none=RELATIONS[0] if data in ("sample", "hub") else none_label(data),
        max_tokens=config.max_length,
        temperature=fit_temperature(logits, labels),
    )


def entities(encoding: Any, *, temperature: float) -> Recipe:
    """Return the recipe of a tagger of `entities.experiment` for one of its encodings."""
    return Recipe(task="entities", labels=encoding.parts["train"].types, temperature=temperature)


def multilabel(
    network: Any, classes: Sequence[str], labels: NDArray, scores: NDArray, *, rule: Callable
) -> Recipe:
    """Return the recipe of a network of `multilabel.experiment`.

    `labels, scores: (posts, classes)` of posts that it was not trained on fit curves and, by `rule`,
    thresholds.
    """
    from helpers.multilabel.calibration import platt_curve

    return Recipe(
        task="multilabel",
        labels=tuple(classes),
        max_tokens=network.max_tokens,
        prompt=network.prompt,
        thresholds=tuple(float(cut) for cut in rule(labels, scores)),
        curves=tuple(platt_curve(y, p) for y, p in zip(labels.T, scores.T, strict=True)),
    )


def spans(network: Any, trigger: NDArray, scores: NDArray) -> Recipe:
    """Return the recipe of a tagger of `multilabel.span_experiment`.

    `trigger, scores: (characters,)` of posts that it was not trained on; the threshold has the highest F1.
    """
    from helpers.multilabel.calibration import platt_curve
    from helpers.multilabel.thresholds import best_f1_threshold

    return Recipe(
        task="spans",
        labels=("trigger",),
        max_tokens=network.max_tokens,
        thresholds=(float(best_f1_threshold(trigger, scores)[0]),),
        curves=(platt_curve(trigger, scores),),
    )
