"""How to read a kept model: its task, its labels, how text goes in and how logits become answers.

A recipe is `nunchi.json` in the folder. `relations`, `entities` and `posts` make one from a run of their
task; what they fit (a temperature, thresholds, curves) is fitted on rows that the run was not trained on.
Weights and tokenizer are left to `folders`.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
