"""What notebook 01 looks at: how many rows of which source, checked before anything is loaded."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from helpers import corpora

if TYPE_CHECKING:
    from datasets import Dataset


class Sets(NamedTuple):
    """The data sets of one source; posts and documents are training rows."""

    relations: "Dataset"
    relations_dev: "Dataset"
    entities: "Dataset"
    entities_dev: "Dataset"
    posts: "Dataset"
    documents: "Dataset"


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Rows per data set (0: all there are), the share a split holds out, and the number of folds."""

    data: str
    relation_rows: int = 0
    relation_dev_rows: int = 0
    entity_rows: int = 0
    entity_dev_rows: int = 0
    post_rows: int = 0
    document_rows: int = 0
    held_out: float = 0.1
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name.endswith("_rows") and value < 0:
                raise ValueError(f"{name} must be 0 (all) or more, got {value}")
        if not 0 < self.held_out < 1:
            raise ValueError(f"held_out is a share between 0 and 1, got {self.held_out}")
        if self.folds < 2:
            raise ValueError(f"folds must be 2 or more, got {self.folds}")

    def load(self) -> Sets:
        """Load every data set in scope; what had to be mended is left to `info.description`."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", corpora.CorpusWarning)
            return self._load()

    def _load(self) -> Sets:
        return Sets(
            relations=self._rows(corpora.load_relations, "train", self.relation_rows),
            relations_dev=self._rows(corpora.load_relations, "dev", self.relation_dev_rows),
            entities=self._rows(corpora.load_entities, "train", self.entity_rows),
            entities_dev=self._rows(corpora.load_entities, "dev", self.entity_dev_rows),
            posts=self._rows(corpora.load_techniques, "train", self.post_rows),
            documents=self._rows(corpora.load_documents, "train", self.document_rows),
        )

    def _rows(self, load, split: str, rows: int) -> "Dataset":
        return load(self.data, split, rows=rows or None, seed=self.seed)
