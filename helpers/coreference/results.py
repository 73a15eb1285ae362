"""What notebook 06 shows of the answers: curves, the breakdown, the verdict, items as text."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from helpers import statistics
from helpers.coreference import items as coreference_items
from helpers.coreference.checkpoints import WEIGHTS
from helpers.coreference.trajectories import REAL, documents, in_percent, percent, pick, scores, stats
from helpers.declarations import Declaration
from helpers.display import highlight
from helpers.display.tables import intervals
from helpers.statistics import Interval

CONTEXT = 140  # characters shown before a hidden mention, and half as many after it


def draw_item(item: Mapping, label: str):
    """Draw an item: its mention under a label, and the earlier ones that give it away."""
    first = max(0, item["start"] - CONTEXT)
    text = item["text"][first : item["end"] + CONTEXT // 2].replace("\n", " ")
    earlier = [
        (start - first, end - first, "earlier") for start, end in item["antecedents"] if start >= first
    ]
    return highlight.spans(text, [*earlier, (item["start"] - first, item["end"] - first, label)])


def training(bases: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run: its length, its loss (mean over seeds), and whether it trained.

    `trained`: in every seed, the loss of the last epoch is below that of guessing by frequency. A pretrained
    base has no loss here and counts as trained.
    """
    rows = []
    for run, group in pd.concat([bases, runs]).groupby("run", sort=False):
        loss, guess = group["loss"].astype(float), group["guessing_loss"].astype(float)
        cost = {"seeds": len(group), "steps": int(group["steps"].iloc[0])}
        means = {"last loss": loss.mean(), "loss of guessing": guess.mean()}
        rows.append({"run": run, "trained": not (loss >= guess).any(), **cost, **means})
    return pd.DataFrame(rows)


def curves(answers: pd.DataFrame, evaluated: pd.DataFrame) -> pd.DataFrame:
    """Return Real@1 of every checkpoint with epoch and tokens; runs from the base start at its score."""
    frame = intervals(scores(answers, ["run", "step"], {"Real@1": "hit1"}), "Real@1")
    keys = ["run", "identity", "curriculum", "length", "step", "epoch", "tokens"]
    frame = frame.merge(evaluated[keys].drop_duplicates(["run", "step"]), on=["run", "step"])
    base = frame[frame["curriculum"] == "base"].drop(columns=["run", "curriculum"])
    continued = frame[frame["curriculum"].isin(["mlm_v2", "combined"])].drop_duplicates("run")
    starts = continued[["run", "curriculum", "length", "identity"]].merge(base, on=["length", "identity"])
    return pd.concat([starts, frame[frame["curriculum"] != "base"]], ignore_index=True)


def breakdown(answers: pd.DataFrame) -> pd.DataFrame:
    """Return Real@1 by kind of document (if several) and of noun, distance, pieces, and a mention in sight.

    `seen`: whether the noun occurs in a training document; `genre`: the kind of document.
    """
    labels = [f"{label} characters away" for label in coreference_items.distance_labels()]
    pieces = ["not in the vocabulary", "1 piece", "2 pieces", "3 pieces", "4 or more pieces"]
    bins = answers["distance"].map(coreference_items.distance_bin)
    ways = {
        "training": answers["seen"].map({True: "noun seen in training", False: "noun not seen in training"}),
        "distance": pd.Categorical.from_codes(bins, labels),
        "part of speech": answers["tag"].map({"NNG": "common noun", "NNP": "proper noun"}),
        "pieces": pd.Categorical.from_codes(answers["pieces"].clip(upper=4), pieces),
        "antecedent": answers["antecedent"].map(
            {True: "earlier mention in sight", False: "no earlier mention in sight"}
        ),
    }
    if answers["genre"].nunique() > 1:
        ways |= {"genre": answers["genre"]}
    parts = []
    for way, groups in ways.items():
        grouped = answers.assign(by=way, group=groups).sort_values("group", kind="stable")
        part = intervals(scores(grouped, ["by", "group"], {"Real@1": "hit1"}), "Real@1")
        parts.append(part.assign(group=part["group"].astype(str)))
    return pd.concat(parts, ignore_index=True)


def composite_interval(answers: pd.DataFrame, passages: pd.DataFrame) -> Interval:
    """Return the study's score with an interval: items and passages vary independently."""
    real = answers.assign(part=WEIGHTS["real1"] * answers["hit1"] + WEIGHTS["real5"] * answers["hit5"])
    a = statistics.estimate(stats(real, "part"), in_percent, clusters=documents(real)).interval()
    b = statistics.estimate(stats(passages), in_percent).interval().scaled(WEIGHTS["lambada1"])
    value, half = a.value + b.value, (a.half_width**2 + b.half_width**2) ** 0.5
    return Interval(value, value - half, value + half)


def keep(looked: pd.DataFrame, answers: pd.DataFrame, *, declared: Declaration) -> str:
    """Return the run to keep, judged on the answers of the documents to choose on.

    That is the one that has seen the fewest tokens among the best and those equivalent to it within the
    declared margin. What is merely not shown to be worse is no substitute.
    """
    rows = looked.drop_duplicates("run").set_index("run")
    top = str(declared.best(rows["chosen_by"].to_dict(), rows=set(answers["document"])))
    asked = {run: pick(answers, run, step) for run, step in rows["step"].items()}
    systems = {run: stats(frame) for run, frame in asked.items()}
    gaps = statistics.compare(
        systems, in_percent, reference=top, clusters=documents(asked[top]), margin=declared.margin
    )
    equal = [top, *gaps.loc[gaps["decision"] == "equivalent", "system"]]
    return rows.loc[equal, "tokens"].idxmin()


def verdict_table(
    looked: pd.DataFrame,
    answers: Mapping[str, pd.DataFrame],
    passages: pd.DataFrame,
    *,
    kept: str,
    declared: Declaration,
) -> pd.DataFrame:
    """Return chosen checkpoints with scores, cost, and how each compares with the kept one, kept first."""
    rows = looked.drop_duplicates("run").set_index("run")
    systems = {run: stats(answers[run]) for run in rows.index}
    declared = replace(declared, systems=tuple(rows.index), reference=kept)
    gaps = declared.compare(systems, in_percent, clusters=documents(answers[kept])).set_index("system")
    table = []
    for run in [kept, *gaps.index]:
        table.append(
            {
                "decision": "keep" if run == kept else "drop",
                "run": run,
                "step": rows.loc[run, "step"],
                "thousand tokens": rows.loc[run, "tokens"] / 1000,
                **{name: percent(answers[run], measure) for name, measure in REAL.items()},
                "score": composite_interval(answers[run], passages[passages["run"] == run]),
                "against the kept": "–" if run == kept else gaps.loc[run, "decision"],
                "difference": None if run == kept else gaps.loc[run, "difference"],
            }
        )
    return pd.DataFrame(table)
