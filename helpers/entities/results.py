"""What the runs of `experiment` predicted: read back, scored on dev, compared over seeds.

Tables hold intervals over sentences; which systems to compare is chosen in the notebook. Errors sentence by
sentence are in `errors`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from helpers import statistics
from helpers.corpora.labels import TAG_TYPES
from helpers.entities import scores, voting
from helpers.entities.experiment import ENSEMBLED, SYSTEMS, Encoding, Part
from helpers.entities.tags import TagArray, without_spaces
from helpers.statistics import Comparison, Interval


class Scored(NamedTuple):
    """One prediction: counts per sentence, and the tags."""

    official: np.ndarray  # (sentences, 18) entities over non-space characters
    characters: np.ndarray  # (sentences, 39) non-space characters
    exact: np.ndarray  # (sentences, 18) entities over all characters
    tags: TagArray

    def figures(self) -> dict[str, float]:
        """Return the scores by name, ×100."""
        return {
            "entity F1": float(scores.entity_score(self.official.sum(0))),
            "char F1, 13 labels": float(scores.char_score(self.characters.sum(0))),
            "char F1, 12 labels": float(scores.char_score(self.characters.sum(0), False)),
            "entity F1, exact": float(scores.entity_score(self.exact.sum(0))),
        }


def score_tags(tags: TagArray, part: Part) -> Scored:
    """Count what is right, officially and exactly."""
    gold, solid = (without_spaces(rows, part.sentences) for rows in (part.gold, tags))
    return Scored(
        scores.entity_counts(gold, solid),
        scores.char_counts(gold, solid),
        scores.entity_counts(part.gold, tags),
        tags,
    )


def collect(runs: pd.DataFrame, parts: Mapping[str, Part]) -> pd.DataFrame:
    """Read the predictions of all runs back and score them: one row per architecture, system and seed.

    `runs` is the frame of the sweep with the columns `architecture` and `role`. A main run has all SYSTEMS
    and every epoch, another run has one system: its role. The column `scored` holds the counts on dev.
    """
    rows = []
    for run in runs.itertuples():
        with np.load(f"{run.folder}/predictions.npz", allow_pickle=False) as arrays:
            for system, stored in _systems(run).items():
                valid, dev = (
                    score_tags(parts[name].gold._replace(ids=arrays[f"{name}_{stored}"]), parts[name])
                    for name in ("valid", "dev")
                )
                key = {"architecture": run.architecture, "system": system, "seed": run.seed}
                on_valid = {"validation F1": valid.figures()["entity F1"]}
                rows.append(key | on_valid | dev.figures() | {"scored": dev})
    return pd.DataFrame(rows)


def _systems(run: Any) -> dict[str, str]:
    """Map the systems of a run to the names in its predictions."""
    if run.role != "main":
        return {run.role: "last"}
    epochs = {f"epoch {n}": f"epoch_{n}" for n in range(1, run.epochs)} | {f"epoch {run.epochs}": "last"}
    best = epochs[f"epoch {int(np.argmax(run.epoch_valid)) + 1}"]
    return {name: best if name == "best" else name for name in SYSTEMS} | epochs


def load_members(
    runs: pd.DataFrame, encodings: Mapping[str, Encoding]
) -> dict[str, dict[tuple[str, int], voting.Member]]:
    """Read the dev logits of the main runs by weights ("last", "swa"), then architecture and seed.

    Each member has the temperature that fits its logits on validation.
    """
    members: dict[str, dict] = {weights: {} for weights in ENSEMBLED}
    for run in runs[runs.role == "main"].itertuples():
        encoded = encodings[str(run.tokenizer)].parts
        with np.load(f"{run.folder}/predictions.npz", allow_pickle=False) as arrays:
            for weights, group in members.items():
                valid, dev = (arrays[f"{part}_{weights}_logits"] for part in ("valid", "dev"))
                temperature = voting.fit_temperature(valid, encoded["valid"].labels)
                logits = dev.astype(np.float32)
                group[run.architecture, run.seed] = voting.Member(
                    logits, encoded["dev"].characters, temperature, encoded["dev"].types
                )
    return members


def seed_mean(totals: np.ndarray) -> np.ndarray:
    """Turn summed counts of several seeds side by side (…, seeds × 18) into their mean macro F1 (…)."""
    return scores.entity_score(totals.reshape(*totals.shape[:-1], -1, 3 * len(TAG_TYPES))).mean(-1)


def mean_f1(counts: Sequence[np.ndarray]) -> Interval:
    """Return the mean entity F1 over seeds, one array of counts each, with an interval over sentences."""
    return statistics.bootstrap(np.hstack(counts), seed_mean)


def compare(base: Sequence[Scored], found: Sequence[Scored]) -> Comparison:
    """Compare mean official F1 on the same sentences; a lone prediction stands for every seed."""
    seeds = max(len(base), len(found))
    a, b = ([p.official for p in x] * (seeds if len(x) == 1 else 1) for x in (base, found))
    return statistics.paired_bootstrap(np.hstack(a), np.hstack(b), seed_mean)


def compared(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Tabulate systems with their scores and, where a row has a `base`, the difference from it.

    `found` and `base` are predictions of one or more seeds; what else a row holds is kept. Columns: mean
    entity F1, official and exact, `difference`, `p`, and `p, Holm` over all rows.
    """
    table = []
    for row in rows:
        found, base = row["found"], row.get("base")
        cells = {name: value for name, value in row.items() if name not in ("found", "base")}
        cells["entity F1"] = mean_f1([p.official for p in found])
        cells["entity F1, exact"] = mean_f1([p.exact for p in found])
        table.append(cells | (compare(base, found)._asdict() if base else {}))
    frame = pd.DataFrame(table)
    tested = frame["p"].dropna()
    frame["p, Holm"] = pd.Series(statistics.holm(tested.tolist()), index=tested.index)
    return frame
