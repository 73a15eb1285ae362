"""The studies' published tables, as facts for re-analysis: one CSV file each."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def published(name: str) -> "pd.DataFrame":
    """Read one table: `published("ner_swa_ensemble")`."""
    import pandas as pd

    return pd.read_csv(Path(__file__).parent / f"{name}.csv", encoding="utf-8")
