"""The studies' published tables, as facts for re-analysis: one CSV file each."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def published(name: str) -> "pd.DataFrame":
    """Read one table: `published("ner_swa_ensemble")`."""
    import pandas as pd

    return pd.read_csv(Path(__file__).parent / f"{name}.csv", encoding="utf-8")


def klue_dev(task: str, found: Mapping[str, Any], *, data: str) -> "pd.DataFrame":
    """Put what others published on KLUE's dev set beside scores by model; empty on data that is not KLUE's.

    `task` is "relations" (micro-F1) or "entities" (entity F1); `found` has hub names for keys.
    """
    import pandas as pd

    table = published("klue_dev").query("task == @task").set_index("model")
    named = {name.partition("@")[0]: score for name, score in found.items() if data in ("hub", "local")}
    rows = [
        {"model": name, "here": score, "published": table.score[name], "source": table.source[name]}
        for name, score in named.items()
        if name in table.index
    ]
    return pd.DataFrame(rows, columns=["model", "here", "published", "source"])
