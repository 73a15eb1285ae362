"""The frames of notebook 03: markers, constraints, imbalance and prior shift, from one set of trained runs.

Training is `relation_experiments.train_and_score`, called through `relation_runs`; what can be worked out
from saved logits (constraints at decoding, moved priors) is worked out here, without training again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import softmax

from helpers.corpora.labels import NO_RELATION
from helpers.learning import encoders
from helpers.relations import comparison, constraints, experiment, imbalance, markers, results
from helpers.relations.constraints import TypeConstraint
from helpers.relations.experiment import FIRST_MATCH, RelationConfig, Splits
from helpers.relations.occlusion import Predictor
from helpers.relations.scores import f1_of_counts, relation_counts
from helpers.relations.slices import seen_pairs
from helpers.statistics import bootstrap, estimate_shares, paired_bootstrap, ratio
from helpers.text import tokenizers

BEST = {"scheme": "typed-punct", "pooling": "starts+max"}
LEGACY = ("legacy-prefix", FIRST_MATCH)
VARIANTS = {
    "as it is": {},
    "prefix mask in training": {"constraint": "prefix"},
    "pair mask in training": {"constraint": "pair"},
    "log prior in training": {"constraint": "prior"},
    "class weights": {"class_weight_power": 0.5},
    "hard negatives": {"sampling": "hard-negatives"},
}
Runs = Mapping[str, Sequence[np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class Study:
    """What varies between the runs; everything else is the same for all of them."""

    schemes: Sequence[str]
    poolings: Sequence[str]
    seeds: Sequence[int]
    model: str
    tokenizer: str
    vocab_size: int
    hidden: int
    epochs: int
    peak_lr: float
    batch_rows: int
    max_length: int

    def __post_init__(self):
        if "none" not in self.schemes or BEST["scheme"] not in self.schemes:
            raise ValueError(f"schemes must hold 'none' and {BEST['scheme']!r}, got {list(self.schemes)}")
        if BEST["pooling"] not in self.poolings:
            raise ValueError(f"poolings must hold {BEST['pooling']!r}, got {list(self.poolings)}")
        RelationConfig(**self.base)

    @property
    def base(self) -> dict:
        """The settings that all runs share."""
        varied = ("schemes", "poolings", "seeds")
        return {name: value for name, value in asdict(self).items() if name not in varied}

    @property
    def best(self) -> dict:
        """The first run of the best input."""
        return self.base | BEST | {"seed": self.seeds[0]}

    @property
    def kept(self) -> dict:
        """The same run with its model kept, for interventions on its input."""
        return self.best | {"keep_model": True}

    def marker_runs(self) -> list[dict]:
        """Cross schemes, poolings and seeds; the legacy inputs run with the best pooling only."""
        crossed = results.factorial(self.base, scheme=self.schemes, pooling=self.poolings, seed=self.seeds)
        legacy = results.factorial(self.base | {"pooling": BEST["pooling"]}, scheme=LEGACY, seed=self.seeds)
        return [self.kept if run == self.best else run for run in crossed + legacy]

    def variant_runs(self) -> list[dict]:
        """Train the best input once more under each variant of loss, constraint and sampling."""
        return [self.best | change if change else self.kept for change in VARIANTS.values()]


def overview(splits: Splits) -> pd.DataFrame:
    """Count rows, sentences and no_relation of each split, and the pairs of words that training had too."""
    rows = []
    for name in ("train", "valid", "dev"):
        split = getattr(splits, name)
        rows.append(
            {
                "split": name,
                "rows": len(split),
                "sentences": len(set(split["sentence"])),
                "no_relation, %": 100 * float(np.mean(np.array(split["label"]) == NO_RELATION)),
                "pair in train, %": None if name == "train" else 100 * seen_pairs(split, splits.train).mean(),
            }
        )
    return pd.DataFrame(rows)


def examples(row: dict) -> pd.DataFrame:
    """Write one row under every scheme, the study's included."""
    names = (*markers.SCHEMES, FIRST_MATCH)
    texts = [experiment.mark_row(row, scheme=name).text for name in names]
    return pd.DataFrame({"scheme": names, "what the model reads": texts})


def twins(rows: Sequence[dict], *, number: int) -> list[dict]:
    """Choose rows whose sentence comes again with another pair: only the pair can make the difference."""
    groups: dict[str, list[dict]] = {}
    for row in rows:
        groups.setdefault(row["sentence"], []).append(row)
    chosen = [row for group in groups.values() if len(group) > 1 for row in group[:2]]
    return (chosen or list(rows))[:number]


def load_reader(frame: pd.DataFrame, study: Study) -> Predictor:
    """Load the model that `Study.marker_runs` kept, with its tokenizer."""
    (folder,) = frame.loc[frame["keep_model"].notna(), "folder"]
    saved = Path(folder) / "model"
    return Predictor(
        encoders.Classifier.from_pretrained(saved).eval(),
        tokenizers.load_tokenizer(str(saved)),
        scheme=BEST["scheme"],
        max_length=study.max_length,
    )


def variant_logits(frame: pd.DataFrame) -> dict[str, list[np.ndarray]]:
    """Read the logits of `Study.variant_runs` back, by the variant's name."""
    return {
        name: [experiment.load_logits(folder)] for name, folder in zip(VARIANTS, frame["folder"], strict=True)
    }


def decoding(splits: Splits, logits: np.ndarray, *, at_least: int = 2) -> dict[str, np.ndarray]:
    """Add each type constraint to finished logits (n, 30): what a mask does without training."""
    pairs, gold = constraints.type_pairs(splits.train), splits.train["label"][:]
    tables = {
        "prefix mask": constraints.prefix_constraint(pairs),
        "pair mask, seen ≥ 1": constraints.learned_constraint(pairs, gold),
        f"pair mask, seen ≥ {at_least}": constraints.learned_constraint(pairs, gold, at_least=at_least),
        "log prior": constraints.log_prior(pairs, gold),
    }
    dev = constraints.type_pairs(splits.dev)
    return {"no constraint": logits} | {name: logits + table.bias(dev) for name, table in tables.items()}


def constraint_table(splits: Splits, decoded: Mapping[str, np.ndarray], *, clusters=None) -> pd.DataFrame:
    """Score each decoding: illegal predictions, micro-F1, AUPRC, and the paired gain over no constraint.

    A prediction is illegal when training never gave its label to its pair of types, though it had the pair.
    """
    gold = splits.dev["label"][:]
    legal = constraints.learned_constraint(constraints.type_pairs(splits.train), splits.train["label"][:])
    plain = decoded["no constraint"]
    rows = []
    for name, logits in decoded.items():
        gain = paired_bootstrap(_counts(gold, plain), _counts(gold, logits), f1_of_counts, clusters=clusters)
        rows.append(
            {
                "decoding": name,
                "illegal, %": _illegal(splits, logits, legal, clusters),
                **comparison.score_probs(gold, softmax(logits, axis=1), clusters=clusters),
                "gain": None if logits is plain else gain,
            }
        )
    return pd.DataFrame(rows)


def prior_table(splits: Splits, logits: np.ndarray, *, clusters=None) -> pd.DataFrame:
    """Move logits from training's label shares to those of dev: estimated without labels, and known.

    The known shares are an oracle: they say what a perfect estimate would bring.
    """
    gold = splits.dev["label"][:]
    old = imbalance.label_shares(splits.train["label"][:])
    shares = {
        "as trained": old,
        "estimated on dev without labels (EM)": estimate_shares(softmax(logits, axis=1), old=old),
        "known dev shares (oracle)": imbalance.label_shares(gold),
    }
    rows = []
    for name, new in shares.items():
        moved = imbalance.adjust_prior(logits, old=old, new=new)
        gain = paired_bootstrap(_counts(gold, logits), _counts(gold, moved), f1_of_counts, clusters=clusters)
        rows.append(
            {
                "label shares": name,
                "no_relation, %": 100 * new[0],
                **comparison.score_probs(gold, softmax(moved, axis=1), clusters=clusters),
                "gain": None if new is old else gain,
            }
        )
    return pd.DataFrame(rows)


def verdict(
    inputs: pd.DataFrame, variants: pd.DataFrame, decoded: pd.DataFrame, priors: pd.DataFrame
) -> pd.DataFrame:
    """Gather every decision: the gain of each step over the one it would replace, with keep or drop.

    `inputs` and `variants` come from `relation_scores.differences`, the others from the functions above.
    """
    rows = [("input", row.system, row.difference, row.p_holm) for row in inputs.itertuples()]
    rows += [("training", row.system, row.difference, row.p_holm) for row in variants.itertuples()]
    for step, frame, column in (("decoding", decoded, "decoding"), ("prior", priors, "label shares")):
        rows += [
            (step, row[column], row["gain"].difference, row["gain"].p) for _, row in frame.dropna().iterrows()
        ]
    table = pd.DataFrame(rows, columns=["step", "variant", "gain in micro-F1", "p"])
    helps = [gain.low > 0 for gain in table["gain in micro-F1"]]
    harms = [gain.high < 0 for gain in table["gain in micro-F1"]]
    table["decision"] = np.select([helps, harms], ["keep", "drop"], "no difference shown")
    return table


def _counts(gold: Sequence[int], logits: np.ndarray) -> np.ndarray:
    return relation_counts(gold, logits.argmax(axis=1))


def _illegal(splits: Splits, logits: np.ndarray, legal: TypeConstraint, clusters):
    bias = legal.bias(constraints.type_pairs(splits.dev))
    illegal = constraints.blocked(logits.argmax(axis=1), bias)
    return bootstrap(np.column_stack([100 * illegal, np.ones(len(illegal))]), ratio, clusters=clusters)
