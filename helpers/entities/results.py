"""The NER study of notebook 04: what to train, what the predictions are worth, which differences stand.

Plans runs for `helpers.sweeps`, reads their predictions back, and turns them into tables with intervals.
Training itself is in `experiment`, errors sentence by sentence in `errors`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers import statistics
from helpers.corpora.labels import TAG_TYPES
from helpers.entities import experiment, scores
from helpers.entities.experiment import SYSTEMS, Encoding, Part
from helpers.entities.scores import Tagged
from helpers.statistics import Comparison, Interval

LEGACY_SCHEDULE = "cosine-first-epoch"
LABELS = ["architecture", "role"]
SHOWN = ("entity F1", "char F1, 13 labels", "char F1, 12 labels")


@dataclass(frozen=True, kw_only=True)
class Study:
    """Architectures × seeds on the study's schedule, with a decay control and ablations of the first one.

    An architecture is "<encoder> + <tokenizer>", or the name of a pretrained model, which brings its own
    tokenizer. `hidden`, `layers`, `dropout` and `bigrams` size encoders from scratch.
    """

    architectures: Sequence[str]
    seeds: Sequence[int]
    hidden: int
    layers: int
    bigrams: int
    dropout: float
    peak_lr: float
    epochs: int
    batch_size: int
    swa_start: int
    ema_decay: float
    lawa_last: int
    outside_weights: Sequence[float]
    ablation_epochs: int

    def __post_init__(self) -> None:
        if not 1 <= self.swa_start <= self.epochs:
            raise ValueError(f"swa_start must lie in 1 to epochs ({self.epochs}), got {self.swa_start}")
        if not 1 <= self.ablation_epochs <= self.epochs:
            raise ValueError(f"ablation_epochs must lie in 1 to epochs, got {self.ablation_epochs}")
        for name, least in (("architectures", 1), ("seeds", 2)):
            values = getattr(self, name)
            if len(set(values)) < max(least, len(values)):
                raise ValueError(f"{name} must be {least} or more different ones, got {list(values)}")

    @property
    def names(self) -> list[str]:
        """What tables call the architectures."""
        return [re.sub(r" \+ (?:(?:train|local):)?", ", ", name) for name in self.architectures]

    @property
    def tokenizers(self) -> list[str]:
        return [_encoder_and_tokenizer(name)[1] for name in self.architectures]

    def runs(self) -> list[dict]:
        """List every run: a config of `taggers.train_tagger`, its architecture and the role it plays."""
        averages = {"swa_start": self.swa_start, "ema_decay": self.ema_decay, "lawa_last": self.lawa_last}
        first, short = self.seeds[0], {"epochs": self.ablation_epochs}
        main = [
            self._run(i, seed, "main", averages=averages)
            for i in range(len(self.names))
            for seed in self.seeds
        ]
        decay = [self._run(0, seed, "decay", schedule="linear") for seed in self.seeds]
        weights = [
            self._run(0, first, f"O weight {w:g}", outside_weight=w, **short) for w in self.outside_weights
        ]
        return [*main, *decay, *weights, self._run(0, first, "head only", frozen=True, **short)]

    def _run(self, i: int, seed: int, role: str, **changes) -> dict:
        encoder, tokenizer = _encoder_and_tokenizer(self.architectures[i])
        common = {
            "architecture": self.names[i], "role": role, "encoder": encoder, "tokenizer": tokenizer,
            "seed": seed, "hidden": self.hidden, "layers": self.layers, "bigrams": self.bigrams,
            "dropout": self.dropout, "peak_lr": self.peak_lr, "schedule": LEGACY_SCHEDULE,
            "epochs": self.epochs, "batch_rows": self.batch_size, "outside_weight": 1.0, "frozen": False,
            "averages": {},
        }  # fmt: skip
        return common | changes


def _encoder_and_tokenizer(architecture: str) -> tuple[str, str]:
    encoder, _, tokenizer = architecture.partition(" + ")
    return encoder, tokenizer or encoder


def load_parts(
    source: str, *, train_rows: int, dev_rows: int, valid_share: float, seed: int
) -> dict[str, Part]:
    """Load train and dev, and split validation off train so that copies of a sentence stay on one side.

    0 rows means all there are.
    """
    from helpers.corpora import load_entities, splits

    train, dev = (
        load_entities(source, split, rows=rows or None, seed=seed)
        for split, rows in (("train", train_rows), ("dev", dev_rows))
    )
    rest, valid = splits.split_by_group(train, splits.document_groups(train), share=valid_share, seed=seed)
    return {"train": Part.of(rest), "valid": Part.of(valid), "dev": Part.of(dev)}


def train(study: Study, parts: Mapping[str, Part], encodings: Mapping[str, Encoding]) -> pd.DataFrame:
    """Run the study through the cached sweep: one row per run. A failed run stops the notebook."""
    from helpers.sweeps import fingerprint, sweep

    plan = pd.DataFrame(study.runs())
    sizes = {name: len(encoding.tokenizer) for name, encoding in encodings.items()}
    data = [(part.sentences, part.gold.ids.tolist()) for part in parts.values()]
    frame = sweep(
        experiment.train_tagger,
        plan.drop(columns=LABELS).to_dict("records"),
        name="entity-taggers",
        fingerprint=fingerprint(sizes, data),
        shared={"parts": dict(parts), "encodings": dict(encodings)},
    )
    return pd.concat([plan[LABELS], frame], axis=1)


class Scored(NamedTuple):
    """One prediction on dev: counts per sentence, and the tags."""

    official: np.ndarray  # (sentences, 18) entities over non-space characters
    characters: np.ndarray  # (sentences, 39) non-space characters
    exact: np.ndarray  # (sentences, 18) entities over all characters
    tags: Tagged

    def figures(self) -> dict[str, float]:
        """Return the scores by name, ×100."""
        return {
            "entity F1": float(scores.entity_score(self.official.sum(0))),
            "char F1, 13 labels": float(scores.char_score(self.characters.sum(0))),
            "char F1, 12 labels": float(scores.char_score(self.characters.sum(0), False)),
            "entity F1, exact": float(scores.entity_score(self.exact.sum(0))),
        }


def score_tags(tags: Tagged, part: Part) -> Scored:
    """Count what is right, officially and exactly."""
    gold, solid = (scores.without_spaces(rows, part.sentences) for rows in (part.gold, tags))
    return Scored(
        scores.entity_counts(gold, solid),
        scores.char_counts(gold, solid),
        scores.entity_counts(part.gold, tags),
        tags,
    )


class Results(NamedTuple):
    """Every system of every run: dev counts and validation F1 by (architecture, system, seed)."""

    dev: dict[tuple[str, str, int], Scored]
    valid: dict[tuple[str, str, int], float]

    def of(self, architecture: str, system: str) -> list[Scored]:
        """Return one prediction per seed."""
        return [scored for (a, s, _), scored in self.dev.items() if (a, s) == (architecture, system)]

    def frame(self) -> pd.DataFrame:
        """Tabulate one row per architecture, system and seed."""
        names = ["architecture", "system", "seed"]
        rows = [
            dict(zip(names, key, strict=True)) | {"validation F1": self.valid[key]} | scored.figures()
            for key, scored in self.dev.items()
        ]
        return pd.DataFrame(rows)


def collect(runs: pd.DataFrame, parts: Mapping[str, Part]) -> Results:
    """Read the predictions of all runs back and score them."""
    dev, valid = {}, {}
    for run in runs.itertuples():
        with np.load(f"{run.folder}/predictions.npz", allow_pickle=False) as arrays:
            for system, stored in _systems(run).items():
                key = (run.architecture, system, run.seed)
                dev[key] = score_tags(Tagged(arrays[f"dev_{stored}"], parts["dev"].gold.bounds), parts["dev"])
                on_valid = Tagged(arrays[f"valid_{stored}"], parts["valid"].gold.bounds)
                valid[key] = score_tags(on_valid, parts["valid"]).figures()["entity F1"]
    return Results(dev, valid)


def _systems(run) -> dict[str, str]:
    """Map the systems of a run to the names in its predictions."""
    if run.role != "main":
        return {run.role: "last"}
    epochs = {f"epoch {n}": f"epoch_{n}" for n in range(1, run.epochs)} | {f"epoch {run.epochs}": "last"}
    best = epochs[f"epoch {int(np.argmax(run.epoch_valid)) + 1}"]
    return {name: best if name == "best" else name for name in SYSTEMS} | epochs


def seed_mean(totals: np.ndarray) -> np.ndarray:
    """Turn summed counts of several seeds side by side (…, seeds × 18) into their mean macro F1 (…)."""
    return scores.entity_score(totals.reshape(*totals.shape[:-1], -1, 3 * len(TAG_TYPES))).mean(-1)


def mean_f1(predictions: Sequence[Scored], *, counts: str = "official") -> Interval:
    """Return the mean entity F1 over seeds with a bootstrap interval over sentences."""
    return statistics.bootstrap(np.hstack([getattr(p, counts) for p in predictions]), seed_mean)


def compare(baseline: Sequence[Scored], system: Sequence[Scored]) -> Comparison:
    """Compare mean official F1 on the same sentences; a lone prediction stands for every seed."""
    seeds = max(len(baseline), len(system))
    a, b = ([p.official for p in x] * (seeds if len(x) == 1 else 1) for x in (baseline, system))
    return statistics.paired_bootstrap(np.hstack(a), np.hstack(b), seed_mean)


def seed_table(results: Results, study: Study) -> pd.DataFrame:
    """Lay out official entity F1 by seed, then mean ± sd of all scores, and the noise of the sentences."""
    rows = []
    for architecture in study.names:
        for system in systems_of(architecture, study):
            found = results.of(architecture, system)
            figures = pd.DataFrame([p.figures() for p in found])
            sampling = statistics.bootstrap(found[0].official, scores.entity_score).half_width / 1.96
            rows.append(
                {"architecture": architecture, "system": system}
                | {f"seed {seed}": f1 for seed, f1 in zip(study.seeds, figures["entity F1"], strict=True)}
                | {name: _mean_and_sd(figures[name]) for name in SHOWN}
                | {"sd of sampling": sampling}
            )
    return pd.DataFrame(rows)


def _mean_and_sd(values: pd.Series) -> str:
    return f"{values.mean():.2f} ± {values.std():.2f}".replace(" ", "\N{NO-BREAK SPACE}")


def averaging_table(results: Results, study: Study) -> pd.DataFrame:
    """Set every reading of the trajectories against the last weights: mean over seeds, Holm over all rows."""
    rows = []
    for architecture in study.names:
        last = results.of(architecture, "last")
        for system in systems_of(architecture, study):
            row = described(results.of(architecture, system))
            against = {} if system == "last" else difference(last, results.of(architecture, system))
            rows.append({"architecture": architecture, "system": system} | row | against)
    return with_holm(pd.DataFrame(rows))


def systems_of(architecture: str, study: Study) -> tuple[str, ...]:
    """The readings of a trajectory, and the decay control of the first architecture."""
    return (*SYSTEMS, "decay") if architecture == study.names[0] else SYSTEMS


def described(found: Sequence[Scored]) -> dict[str, Interval]:
    """Return the cells of a system's own scores."""
    return {"entity F1": mean_f1(found), "entity F1, exact": mean_f1(found, counts="exact")}


def difference(base: Sequence[Scored], found: Sequence[Scored]) -> dict[str, Interval | float]:
    """Return the cells of a comparison."""
    comparison = compare(base, found)
    return {"difference": comparison.difference, "p": comparison.p}


def with_holm(frame: pd.DataFrame) -> pd.DataFrame:
    """Replace p by Holm's adjustment over the rows that have a comparison."""
    tested = frame["p"].notna()
    frame.loc[tested, "p, Holm"] = statistics.holm(frame.loc[tested, "p"])
    return frame.drop(columns="p")
