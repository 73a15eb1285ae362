"""Train taggers in a sweep; read back what they predicted, score it; what choosing an epoch does to a score.

Per-sentence counts of every run are what `statistics` compares; which systems, the notebook declares. Errors
sentence by sentence are in `errors`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from helpers import statistics, sweeps
from helpers.entities import scores, voting
from helpers.entities.experiment import ENSEMBLED, SYSTEMS, Encoding, Part, TaggerConfig, train_tagger
from helpers.entities.tags import TagArray, without_spaces


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
            "char F1, with O": float(scores.char_score(self.characters.sum(0))),
            "char F1, without O": float(scores.char_score(self.characters.sum(0), False)),
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


def train(
    parts: Mapping[str, Part],
    encodings: Mapping[str, Encoding],
    configs: Sequence[TaggerConfig],
    *,
    name: str,
) -> pd.DataFrame:
    """Train every configuration, or take it from the cache: one row each, with the folder of what it said."""
    texts = [(part.sentences, part.gold.ids.tolist(), part.gold.types) for part in parts.values()]
    vocabularies = {name: encoding.tokenizer.get_vocab() for name, encoding in encodings.items()}
    return sweeps.sweep(
        train_tagger,
        [asdict(config) for config in configs],
        name=name,
        shared={"parts": parts, "encodings": encodings},
        fingerprint=sweeps.fingerprint(texts, vocabularies),
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
    """Read the dev logits of main and control runs by weights ("last", "swa"), then architecture and seed.

    Each member has the temperature that fits its logits on validation. Control runs have their last weights.
    """
    members: dict[str, dict] = {weights: {} for weights in ENSEMBLED}
    for run in runs[runs.role.isin(["main", "control"])].itertuples():
        encoded = encodings[str(run.tokenizer)].parts
        with np.load(f"{run.folder}/predictions.npz", allow_pickle=False) as arrays:
            for weights, group in members.items():
                if f"dev_{weights}_logits" not in arrays:
                    continue
                valid, dev = (arrays[f"{part}_{weights}_logits"] for part in ("valid", "dev"))
                temperature = voting.fit_temperature(valid, encoded["valid"].labels)
                logits = dev.astype(np.float32)
                group[run.architecture, run.seed] = voting.Member(
                    logits, encoded["dev"].characters, temperature, encoded["dev"].types
                )
    return members


def same_answers(first: pd.DataFrame, again: pd.DataFrame, *, suffix: str) -> pd.DataFrame:
    """Put two comparisons of the same systems side by side, and say whether their decisions agree.

    "yes" and "no" need two decisions; "open": one of them is undecided. Columns of `again` have the suffix.
    """
    shown = ["system", "than", "difference", "decision"]
    both = first[shown].merge(again[shown], on=shown[:2], suffixes=("", suffix))
    decisions = both[["decision", f"decision{suffix}"]]
    undecided, alike = (decisions == "undecided").any(axis=1), decisions.nunique(axis=1) == 1
    return both.assign(**{"same answer": np.select([undecided, alike], ["open", "yes"], "no")})


def optimism(counts: np.ndarray, *, splits: int = 50, seed: int = 0) -> statistics.Jackknife:
    """Return how much too high a run's score is where its epoch was chosen: one value of each run.

    `counts: (runs, epochs, sentences, 18)`. Sentences are split in random halves; the epoch with the best F1
    on one half has its F1 there minus that on the other half, in both directions, so that a harder half
    cancels. Mean over `splits`. The interval held the truth in 94 % of simulations (six runs, 500 sentences).
    """
    runs, epochs, n, width = counts.shape
    rng = np.random.default_rng(seed)
    half = np.stack([rng.permutation(n) < n // 2 for _ in range(splits)])
    flat = np.moveaxis(counts, 2, 0).reshape(n, -1).astype(float)

    def gap(kept: np.ndarray) -> np.ndarray:
        sides = np.stack([half & kept, ~half & kept]).astype(float)  # (2, splits, n)
        f1 = scores.entity_score((sides @ flat).reshape(2, splits, runs, epochs, width))
        chosen = f1.argmax(axis=-1, keepdims=True)
        here, there = (np.take_along_axis(some, chosen, axis=-1) for some in (f1, f1[::-1]))
        return (here - there).mean(axis=(0, 1, 3))

    return statistics.regrouped(gap, n, groups=20)
