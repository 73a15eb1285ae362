"""What notebook 06 shows of the answers: curves, the breakdown, the verdict, items as text."""

from collections.abc import Mapping

import pandas as pd

from helpers.coreference import items as coreference_items
from helpers.coreference.checkpoints import WEIGHTS
from helpers.coreference.trajectories import REAL, difference, percent, scores
from helpers.display import highlight
from helpers.display.tables import intervals
from helpers.statistics import Interval, holm

CONTEXT = 140  # characters shown before a hidden mention, and half as many after it


def draw_item(item: Mapping, label: str):
    """Draw an item: its mention under a label, and the earlier ones that give it away."""
    first = max(0, item["start"] - CONTEXT)
    text = item["text"][first : item["end"] + CONTEXT // 2].replace("\n", " ")
    earlier = [
        (start - first, end - first, "earlier") for start, end in item["antecedents"] if start >= first
    ]
    return highlight.spans(text, [*earlier, (item["start"] - first, item["end"] - first, label)])


def curves(answers: pd.DataFrame, evaluated: pd.DataFrame) -> pd.DataFrame:
    """Return Real@1 of every checkpoint with epoch and tokens; runs from the base start at its score."""
    frame = intervals(scores(answers, ["run", "step"], {"Real@1": "hit1"}), "Real@1")
    keys = ["run", "curriculum", "length", "step", "epoch", "tokens"]
    frame = frame.merge(evaluated[keys], on=["run", "step"])
    base = frame[frame["curriculum"] == "base"].drop(columns=["run", "curriculum"])
    continued = frame[frame["curriculum"].isin(["mlm_v2", "combined"])].drop_duplicates("run")
    starts = continued[["run", "curriculum", "length"]].merge(base, on="length")
    return pd.concat([starts, frame[frame["curriculum"] != "base"]], ignore_index=True)


def breakdown(answers: pd.DataFrame) -> pd.DataFrame:
    """Return Real@1 by distance, part of speech, number of pieces, and whether a mention is in sight."""
    labels = [f"{label} characters away" for label in coreference_items.distance_labels()]
    pieces = ["not in the vocabulary", "1 piece", "2 pieces", "3 pieces", "4 or more pieces"]
    bins = answers["distance"].map(coreference_items.distance_bin)
    ways = {
        "distance": pd.Categorical.from_codes(bins, labels),
        "part of speech": answers["tag"].map({"NNG": "common noun", "NNP": "proper noun"}),
        "pieces": pd.Categorical.from_codes(answers["pieces"].clip(upper=4), pieces),
        "antecedent": answers["antecedent"].map(
            {True: "earlier mention in sight", False: "no earlier mention in sight"}
        ),
    }
    parts = []
    for way, groups in ways.items():
        grouped = answers.assign(by=way, group=groups).sort_values("group", kind="stable")
        part = intervals(scores(grouped, ["by", "group"], {"Real@1": "hit1"}), "Real@1")
        parts.append(part.assign(group=part["group"].astype(str)))
    return pd.concat(parts, ignore_index=True)


def composite_interval(answers: pd.DataFrame, passages: pd.DataFrame) -> Interval:
    """Return the study's score with an interval: items and passages vary independently."""
    real = answers.assign(part=WEIGHTS["real1"] * answers["hit1"] + WEIGHTS["real5"] * answers["hit5"])
    a, b = percent(real, "part"), percent(passages).scaled(WEIGHTS["lambada1"])
    value, half = a.value + b.value, (a.half_width**2 + b.half_width**2) ** 0.5
    return Interval(value, value - half, value + half)


def verdict_table(
    best: Mapping[str, pd.DataFrame], chosen: pd.DataFrame, passages: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return chosen checkpoints (one per run) with scores, cost and the decision.

    Kept is the one that has seen the fewest tokens among those that are not significantly worse (Holm) than
    the best; choosing it needs no further data.
    """
    rows, looked = [], chosen.to_dict("records")
    top = max(looked, key=lambda row: row["chosen_by"])["run"]
    for row in looked:
        run = row["run"]
        gap, p = difference(best[top], best[run]) if run != top else (Interval(0.0, 0.0, 0.0), 1.0)
        rows.append(
            {
                "run": run,
                "step": row["step"],
                "thousand tokens": row["tokens"] / 1000,
                **{name: percent(best[run], measure) for name, measure in REAL.items()},
                "score": composite_interval(best[run], passages[run]),
                "against the best": gap,
                "p": p,
            }
        )
    frame = pd.DataFrame(rows)
    frame["p"] = holm(frame["p"])
    good = frame[(frame["p"] >= 0.05) | (frame["against the best"].map(lambda gap: gap.value) >= 0)]
    kept = good.loc[good["thousand tokens"].idxmin(), "run"]
    return frame.assign(decision=["keep" if run == kept else "drop" for run in frame["run"]])
