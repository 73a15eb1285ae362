"""Sweeps of relation classifiers as frames: which configurations, what they scored, which choice was honest.

Training itself is `relation_experiments.train_and_score`; editing this module does not train anything again.
"""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import softmax

from helpers import corpora, sweeps
from helpers.corpora.labels import RELATIONS
from helpers.display import highlight
from helpers.relations import baselines, comparison, experiment
from helpers.relations.experiment import RelationConfig, Splits, load_logits
from helpers.relations.scores import auprc
from helpers.statistics import wilson


def factorial(base: Mapping[str, object], **axes: Sequence) -> list[dict]:
    """Cross every axis with every other; the last varies fastest.

    >>> factorial({"epochs": 3}, model=["bilstm", "roberta"], seed=[1])
    [{'epochs': 3, 'model': 'bilstm', 'seed': 1}, {'epochs': 3, 'model': 'roberta', 'seed': 1}]
    """
    return [{**base, **dict(zip(axes, values, strict=True))} for values in product(*axes.values())]


def train(splits: Splits, configs: Sequence[Mapping], *, name: str) -> pd.DataFrame:
    """Train every configuration, or take it from the cache: one row each, with the folder of its logits.

    Misspelt settings are refused before anything runs; a configuration that fails stops the notebook with its
    error, after the others have been trained and kept.
    """
    for config in configs:
        RelationConfig(**config)
    return sweeps.sweep(
        experiment.train_and_score,
        configs,
        name=name,
        shared={"splits": splits},
        fingerprint=sweeps.fingerprint(splits.train, splits.valid, splits.dev),
    )


def runs_by(frame: pd.DataFrame, *columns: str) -> dict[str, list[np.ndarray]]:
    """Group a sweep's dev logits by the values of `columns`, joined by a space; seeds in their order."""
    names = frame[list(columns)].astype(str).agg(" ".join, axis=1)
    ordered = frame.assign(_name=names).sort_values("seed", kind="stable")
    return {
        name: [load_logits(folder) for folder in ordered.loc[ordered["_name"] == name, "folder"]]
        for name in dict.fromkeys(names)
    }


def grid_table(frame: pd.DataFrame, gold: Sequence[int], *, clusters: Sequence | None = None) -> pd.DataFrame:
    """List the runs of a grid, best on validation first, with dev scores and their intervals over rows."""
    scored = [
        comparison.score_probs(gold, softmax(load_logits(folder), axis=1), clusters=clusters)
        for folder in frame["folder"]
    ]
    table = frame.assign(micro_f1=[one["micro_f1"] for one in scored], auprc=[one["auprc"] for one in scored])
    return table.sort_values("valid_f1", ascending=False, ignore_index=True)


def score_view(table: pd.DataFrame) -> pd.DataFrame:
    """Show the scores of a grid: one line per cell, headings for people."""
    return _cells(table).assign(
        **{
            "micro-F1": table["micro_f1"],
            "AUPRC": table["auprc"],
            "accuracy": table["accuracy"],
            "validation F1": table["valid_f1"],
            "lowest loss": table["valid_loss"],
        }
    )


def cost_view(table: pd.DataFrame) -> pd.DataFrame:
    """Show what the cells of a grid cost."""
    return _cells(table).assign(
        **{
            "best step": table["best_step"],
            "steps": table["steps"],
            "stopped early": np.where(table["stopped_early"], "yes", "no"),
            "parameters": table["parameters"],
            "rows/s": table["examples_per_second"],
            "seconds": table["seconds"],
        }
    )


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "model": table["model"],
            "rate": table["peak_lr"].map("{:g}".format),
            "batch": table["batch_rows"].astype(str),
        }
    )


def choice_audit(table: pd.DataFrame) -> dict[str, float]:
    """Say what choosing a cell on the scored rows adds, against choosing it on validation.

    `reported` is the dev micro-F1 of the cell that dev prefers, the legacy procedure; `honest` that of the
    cell that validation prefers.
    """
    dev = np.array([interval.value for interval in table["micro_f1"]])
    honest = dev[int(np.argmax(table["valid_f1"]))]
    return {"reported": float(dev.max()), "honest": float(honest), "optimism": float(dev.max() - honest)}


def auprc_audit(frame: pd.DataFrame, gold: Sequence[int]) -> pd.DataFrame:
    """Score AUPRC on probabilities and, as the study did, on raw logits: one row per run."""
    logits = [load_logits(folder) for folder in frame["folder"]]
    return pd.DataFrame(
        {
            "probabilities": [auprc(gold, softmax(one, axis=1)) for one in logits],
            "legacy_raw_logits": [auprc(gold, one) for one in logits],
        }
    )


def against_baselines(ranked: pd.DataFrame, simple: pd.DataFrame, *, seconds: float) -> pd.DataFrame:
    """Put the final model beside the baselines, best first."""
    model = ranked.iloc[0]
    row = {
        "baseline": model["system"],
        "micro_f1": model["micro_f1"],
        "auprc": model["auprc"],
        "seconds": seconds,
    }
    frame = pd.concat([simple, pd.DataFrame([row])], ignore_index=True)
    order = np.argsort([-interval.value for interval in frame["micro_f1"]], kind="stable")
    return frame.iloc[order].rename(columns={"baseline": "system"}).reset_index(drop=True)


def decide(ranked: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Add to a ranking what to do: keep the best and all that are not really worse, drop the others."""
    best = ranked["system"].iloc[0]
    worse = {
        other
        for row in pairs.itertuples()
        if row.real and best in (row.system, row.than)
        for other in (row.system, row.than)
        if other != best
    }
    return ranked.assign(decision=["drop" if name in worse else "keep" for name in ranked["system"]])


def leak_table(splits: Splits, *, seed: int = 0) -> pd.DataFrame:
    """Count what three sets of scored rows share with training: a random tenth (legacy), ours, dev."""
    rows = splits.labelled
    order = np.random.default_rng(seed).permutation(len(rows))
    held, rest = order[: len(splits.valid)], order[len(splits.valid) :]
    parts = {
        "random tenth (legacy)": (rows.select(rest), rows.select(held)),
        "validation, by group": (splits.train, splits.valid),
        "dev": (rows, splits.dev),
    }
    reports = [corpora.leak_report(*pair).assign(scored=name) for name, pair in parts.items()]
    wide = pd.concat(reports).pivot_table(index="scored", columns="kind", values="share", sort=False)
    return wide.rename(columns="shared {}, %".format).reset_index().rename_axis(columns=None)


def label_table(splits: Splits) -> pd.DataFrame:
    """Describe each part: rows, labels in use, the share of no_relation with its interval, median length."""
    parts = {"train": splits.train, "validation": splits.valid, "dev": splits.dev}
    return pd.DataFrame(
        [
            {
                "part": name,
                "rows": len(rows),
                "labels": len(set(rows["label"])),
                "no_relation, %": wilson(rows["label"][:].count(0), len(rows)).scaled(100),
                "characters, median": float(np.median([len(text) for text in rows["sentence"]])),
            }
            for name, rows in parts.items()
        ]
    )


def draw_rows(rows) -> object:
    """Draw relation rows: both entities on colour, the label as caption."""
    return highlight.stack(
        [
            highlight.spans(
                row["sentence"],
                [
                    (entity["start_idx"], entity["end_idx"] + 1, f"{role} {entity['type']}")
                    for role, entity in (("subject", row["subject_entity"]), ("object", row["object_entity"]))
                ],
                caption=RELATIONS[row["label"]],
            )
            for row in rows
        ]
    )


def settings_of(row: pd.Series, base: Mapping[str, object]) -> dict:
    """Take one cell of a grid as settings to train again: what varied there, and what was fixed."""
    return {
        **base,
        "model": str(row["model"]),
        "peak_lr": float(row["peak_lr"]),
        "batch_rows": int(row["batch_rows"]),
    }


def costs_by(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Average parameters, seconds and examples per second of a sweep by one of its settings."""
    means = frame.groupby(column, sort=False)[["parameters", "seconds", "examples_per_second"]].mean()
    return means.round({"parameters": 0}).reset_index().rename(columns={column: "system"})


def with_scores(intrinsic: pd.DataFrame, ranked: pd.DataFrame) -> pd.DataFrame:
    """Join tokenizer figures with their scores, as plain numbers for a scatter plot."""
    scored = ranked.set_index("system")["micro_f1"]
    return pd.DataFrame(
        {
            "tokenizer": intrinsic["tokenizer"].str.replace(r"^(train|local):", "", regex=True),
            "fertility": [interval.value for interval in intrinsic["fertility"]],
            "aligned entities, %": [interval.value for interval in intrinsic["aligned_entities"]],
            "micro-F1": [scored[name].value for name in intrinsic["tokenizer"]],
        }
    )


def rank_correlations(joined: pd.DataFrame) -> dict[str, float]:
    """Give Spearman's correlation of fertility and of alignment with micro-F1, and how many there are."""
    ranks = joined.rank(numeric_only=True).corr()["micro-F1"]
    return {
        "n": len(joined),
        "fertility": float(ranks["fertility"]),
        "aligned": float(ranks["aligned entities, %"]),
    }


def tokenizer_verdict(
    ranked: pd.DataFrame, pairs: pd.DataFrame, published: Mapping[str, float], final: pd.DataFrame
) -> str:
    """Write the answer of the tokenizer comparison in three sentences, from its tables."""
    best, real = ranked.iloc[0], int(pairs["real"].sum())
    dropped = ranked.loc[ranked["decision"] == "drop", "system"].tolist()
    model = final.set_index("system")["micro_f1"]
    lookup = model["type pair"].value
    learned = next(name for name in final["system"] if name not in baselines.BASELINES)
    return (
        f"With one small encoder, {best['system']} is best at {best['micro_f1']:.1f} micro-F1, and "
        + (f"{', '.join(dropped)} really worse" if dropped else "no other tokenizer is really worse")
        + f": {real} of {len(pairs)} differences survive rows, seeds and Holm. "
        f"The published grid's winner leads by {published['margin']:.2f} where its own rows allow "
        f"±{published['half_width']:.1f}, so it ranks nothing. "
        f"The model chosen on validation scores {model[learned]:.1f}, the lookup of the two entity types "
        f"{lookup:.1f}, structured TF-IDF {model['structured']:.1f}."
    )


def tokenizer_headline(
    ranked: pd.DataFrame, loss: pd.Series, final: pd.DataFrame, published: Mapping[str, float]
) -> list[dict]:
    """List the figures that stand for the tokenizer comparison in the index of reports."""
    scores = final.set_index("system")["micro_f1"]
    learned = next(name for name in final["system"] if name not in baselines.BASELINES)
    return [
        ranked["micro_f1"].iloc[0].headline(f"micro-F1, best tokenizer ({ranked['system'].iloc[0]})"),
        loss["difference"].headline("micro-F1 gained by marking the entities, same encoder (upper bound)"),
        scores[learned].headline(f"micro-F1 of the chosen model ({learned}) on all training rows"),
        scores["structured"].headline("micro-F1, structured TF-IDF"),
        scores["type pair"].headline("micro-F1, type-pair lookup"),
        {"name": "published winner's margin", "value": published["margin"], "low": None, "high": None},
    ]
