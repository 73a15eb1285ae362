"""Model cards: what a kept model is, what it was measured on, and how to use it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from helpers import records
from helpers.prediction.recipes import Recipe
from helpers.statistics import Interval

PIPELINES = {"entities": "token-classification", "spans": "token-classification"}
INPUT = {
    "relations": "a sentence and two entities in it",
    "entities": "a sentence",
    "multilabel": "a text",
    "spans": "a text",
}


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a notebook knows of the model that it keeps."""

    data: str  # the parameter of the notebook
    trained_on: int  # rows
    scored_on: str  # which rows the figures are of
    metric: str
    level: Interval  # of models trained alike, over rows and seeds
    seeds: Sequence[int]  # of all these models; the verdict is theirs, too
    notebook: str
    verdict: str
    own: float = math.nan  # the score of this very model: set by what keeps it

    def text(self, recipe: Recipe, *, name: str) -> str:
        """Return the card: Markdown with the header that the hub reads."""
        level = f"{self.level.value:.2f} [{self.level.low:.2f}, {self.level.high:.2f}]"
        facts = {
            "task": f"{recipe.task}: {INPUT[recipe.task]} in",
            "labels": ", ".join(recipe.labels),
            "data": f"`{self.data}`, {self.trained_on:,} rows for training",
            "scored on": self.scored_on,
            self.metric: f"{self.own:.2f} (this model)",
            f"{self.metric}, models trained alike": f"{level}, 95 % interval over rows and "
            f"{len(self.seeds)} seeds",
            **_reading(recipe),
            "made by": f"notebook {self.notebook}, commit {records.commit()}",
        }
        rows = "\n".join(f"| {key} | {_cell(value)} |" for key, value in facts.items())
        return _TEMPLATE.format(
            pipeline=PIPELINES.get(recipe.task, "text-classification"),
            name=name,
            rows=rows,
            verdict=self.verdict,
        )


def _reading(recipe: Recipe) -> dict[str, str]:
    """Say how text goes in and how answers come out."""
    said = {"markers": recipe.scheme} if recipe.scheme else {}
    if recipe.max_tokens:
        said["tokens, at most"] = str(recipe.max_tokens)
    if recipe.thresholds:
        cuts = ", ".join(f"{cut:.3f}" for cut in recipe.thresholds)
        return said | {"thresholds": cuts, "probabilities": "by Platt's curve, fitted on held-out rows"}
    return said | {"temperature": f"{recipe.temperature:.3f}, fitted on validation rows"}


def _cell(value: str) -> str:
    return value.replace("|", "\\|").replace("\n", " ")


_TEMPLATE = """---
language: ko
library_name: transformers
pipeline_tag: {pipeline}
tags: [nunchi]
---

# {name}

| | |
|---|---|
{rows}

What the notebook found: {verdict}

## Use

```sh
nunchi predict FOLDER FILE --out predicted.jsonl
```

```python
import helpers  # lets transformers load the folder; no code comes with it
from transformers import AutoModel, AutoTokenizer

model, tokenizer = AutoModel.from_pretrained(FOLDER), AutoTokenizer.from_pretrained(FOLDER)
```

`nunchi.json` says how text goes in and how logits become answers. The figures hold for rows like those above;
other text, other sources and other years will score lower.
"""
