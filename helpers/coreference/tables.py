"""The tables of the coreference report, from answers item by item.

Scores are in percent with 95 % intervals over documents. The answers come from `coreference_evaluation`; what
is drawn and said about them is in `coreference_story`.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from helpers.coreference import items as coreference_items
from helpers.coreference import trajectories
from helpers.coreference.checkpoints import WEIGHTS
from helpers.coreference.evaluation import chosen_steps, evaluate, genre, pick
from helpers.statistics import Interval, holm


def percent(answers: pd.DataFrame, measure: str = "hit1") -> Interval:
    return trajectories.interval(answers, measure).scaled(100)


def difference(before: pd.DataFrame, after: pd.DataFrame) -> tuple[Interval, float]:
    """Return the difference of Real@1 on the same items in points, and its p-value."""
    paired = trajectories.compare(before, after)
    return Interval(paired["value"], paired["low"], paired["high"]).scaled(100), paired["p"]


def describe(parts: Mapping[str, tuple]) -> pd.DataFrame:
    """Count documents, items and what gave no item, by part and genre."""
    rows = []
    for part, (documents, items) in parts.items():
        counts = coreference_items.item_counts(items)
        for kind in sorted(set(documents["genre"])):
            texts = [row["text"] for row in documents if row["genre"] == kind]
            asked = [name for name in items["document"] if genre(name) == kind]
            row = {"part": part, "genre": kind, "documents": len(texts)}
            row |= {"characters, mean": sum(map(len, texts)) / len(texts), "items": len(asked)}
            rows.append(row | {"without a repeated noun": len(texts) - len(set(asked))})
        assert counts["items"] == sum(row["items"] for row in rows if row["part"] == part)
    return pd.DataFrame(rows)


def cost_table(runs: pd.DataFrame, base: pd.DataFrame) -> pd.DataFrame:
    """Return what each run saw and cost; the base comes first."""
    first = base.assign(run="base", experiment="mlm", epochs=base["base_epochs"], peak_lr=base["base_lr"])
    columns = ["run", "length", "epochs", "peak_lr", "steps", "loss", "seconds"]
    frame = pd.concat([first, runs], ignore_index=True)[columns]
    frame["peak_lr"] = [f"{rate:g}" for rate in frame["peak_lr"]]
    return frame.rename(columns={"peak_lr": "learning rate", "loss": "last training loss"})


def composite_summary(published: pd.DataFrame) -> pd.DataFrame:
    """Return, by experiment of the published table, how many composites are wrong and by how much."""
    groups = published.groupby("experiment", sort=False)
    return pd.DataFrame(
        [
            {
                "experiment": name,
                "rows": len(rows),
                "wrong": int(rows["wrong"].sum()),
                "mean excess": round(rows["excess"].mean(), 4) + 0.0,  # no negative zero
                "largest": rows.loc[rows["excess"].abs().idxmax(), "excess"],
            }
            for name, rows in groups
        ]
    )


def claims_table(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the audited claims with differences in points."""
    spread = [Interval(row.difference, row.low, row.high).scaled(100) for row in claims.itertuples()]
    shown = claims[["claim", "p", "holm", "stands"]].copy()
    shown.insert(1, "difference", spread)
    return shown


def score_table(answers: pd.DataFrame) -> pd.DataFrame:
    """Return Real@1 and Real@5 of each run, in order of appearance."""
    rows = []
    for run in dict.fromkeys(answers["run"]):
        group = answers[answers["run"] == run]
        rows.append({"system": run, "Real@1": percent(group), "Real@5": percent(group, "hit5")})
    return pd.DataFrame(rows)


def curves(answers: pd.DataFrame, evaluated: pd.DataFrame) -> pd.DataFrame:
    """Return Real@1 of every checkpoint with epoch and tokens; continued runs start at the base."""
    frame = trajectories.intervals(answers, ["run", "step"])
    frame[["value", "low", "high"]] *= 100
    keys = ["run", "experiment", "length", "step", "epoch", "tokens"]
    frame = frame.merge(evaluated[keys], on=["run", "step"])
    base = frame[frame["experiment"] == "base"].set_index("length")
    first = frame[frame["experiment"].isin(["mlm_v2", "combined"])].drop_duplicates("run")
    starts = [
        base.loc[row.length].to_dict() | {"run": row.run, "experiment": row.experiment, "length": row.length}
        for row in first.itertuples()
    ]
    runs = frame[frame["experiment"] != "base"]
    frame = pd.concat([pd.DataFrame(starts), runs], ignore_index=True)
    order = {run: at for at, run in enumerate(evaluated["run"])}
    return frame.sort_values(["run", "step"], key=lambda column: column.map(order).fillna(column))


def run_table(answers: pd.DataFrame, evaluated: pd.DataFrame) -> pd.DataFrame:
    """Return a row per trained run: chosen and one-standard-error step, Real@k, chosen against last."""
    chosen, rows = chosen_steps(evaluated), []
    for run in dict.fromkeys(evaluated.loc[evaluated["step"] > 0, "run"]):
        group = answers[answers["run"] == run]
        at, last = pick(group, run, chosen[run]), pick(group, run, int(group["step"].max()))
        drop, p = difference(at, last)
        epoch = evaluated.loc[(evaluated["run"] == run) & (evaluated["step"] == chosen[run]), "epoch"].iloc[0]
        rows.append(
            {
                "run": run,
                "chosen step": chosen[run],
                "epoch": epoch,
                "one-SE step": trajectories.one_standard_error(group),
                "Real@1": percent(at),
                "Real@5": percent(at, "hit5"),
                "last − chosen": drop,
                "p": p,
            }
        )
    return pd.DataFrame(rows)


def questions(answers: pd.DataFrame, evaluated: pd.DataFrame, *, lengths: Sequence[int]) -> pd.DataFrame:
    """Test what the study claimed, on our runs: paired by item, Holm over all rows."""
    short, long = lengths
    best = {run: pick(answers, run, step) for run, step in chosen_steps(evaluated).items()}
    pairs = {
        "mlm_v2 beats the base": (best[f"base {short}"], best[f"mlm_v2 {short}"]),
        "combined beats mlm_v2, best against best": (best[f"mlm_v2 {short}"], best[f"combined {short}"]),
        "combined beats mlm_v2, equal epochs": at_equal(answers, evaluated, short, "epoch"),
        "combined beats mlm_v2, equal steps": at_equal(answers, evaluated, short, "step"),
        f"mlm_v2: {long} tokens beat {short}": (best[f"mlm_v2 {short}"], best[f"mlm_v2 {long}"]),
        f"combined: {long} tokens beat {short}": (best[f"combined {short}"], best[f"combined {long}"]),
    }
    for run in (run for run in best if run.startswith("entity from")):
        length = int(evaluated.loc[evaluated["run"] == run, "length"].iloc[0])
        pairs[f"{run} beats combined {length}"] = (best[f"combined {length}"], best[run])
    rows = [(name, *difference(before, after)) for name, (before, after) in pairs.items()]
    frame = pd.DataFrame(rows, columns=["question", "difference", "p"])
    adjusted = holm(frame["p"])
    return frame.assign(holm=adjusted, stands=adjusted < 0.05)


def at_equal(answers: pd.DataFrame, evaluated: pd.DataFrame, length: int, what: str) -> tuple:
    """Return the answers of mlm_v2 and combined at the last epoch, or nearest step, that both have."""
    runs = [evaluated[evaluated["run"] == f"{name} {length}"] for name in ("mlm_v2", "combined")]
    last = min(rows[what].max() for rows in runs)
    nearest = [rows.iloc[(rows[what] - last).abs().argmin()] for rows in runs]
    return tuple(pick(answers, row["run"], row["step"]) for row in nearest)


def parents_table(answers: pd.DataFrame, evaluated: pd.DataFrame, plan: Sequence[Mapping]) -> pd.DataFrame:
    """Compare each entity run's chosen checkpoint with the parent it came from, on the same items."""
    chosen, rows = chosen_steps(evaluated), []
    for run in plan:
        before = pick(answers, run["parent_run"], run["parent_step"])
        after = pick(answers, run["run"], chosen[run["run"]])
        gain, p = difference(before, after)
        parent = f"{run['parent_run']}, step {run['parent_step']}"
        rows.append((run["run"], parent, percent(before), percent(after), gain, p))
    return pd.DataFrame(rows, columns=["run", "parent", "parent's Real@1", "Real@1", "gain", "p"])


def lengths_table(
    evaluated: pd.DataFrame, *, items, lambada, lengths: Sequence[int], name: str
) -> pd.DataFrame:
    """Ask the chosen `combined` checkpoint of either length at both lengths, on the same items."""
    chosen, rows = chosen_steps(evaluated), []
    for trained in lengths:
        run = f"combined {trained}"
        row = evaluated[(evaluated["run"] == run) & (evaluated["step"] == chosen[run])]
        row = row[["run", "experiment", "step", "epoch", "tokens", "checkpoint"]].reset_index(drop=True)
        for asked in lengths:
            _, answers = evaluate(row.assign(length=asked), items=items, lambada=lambada, name=name)
            seen = percent(answers, "antecedent")
            rows.append((trained, asked, percent(answers), percent(answers, "hit5"), seen))
    names = ["trained at", "evaluated at", "Real@1", "Real@5", "earlier mention in the window"]
    return pd.DataFrame(rows, columns=names)


def ablation_table(best: Mapping[str, pd.DataFrame], examined: Mapping[str, Mapping]) -> pd.DataFrame:
    """Return Real@1 with and without the other mentions, what was copied, and the ranking of nouns."""
    rows = []
    for name, frames in examined.items():
        ablated, ranked = (
            frame[frame["id"].isin(best[name]["id"])] for frame in (frames["ablated"], frames["ranked"])
        )
        copied, p = difference(ablated, best[name])
        rows.append(
            {
                "run": name,
                "Real@1": percent(best[name]),
                "without other mentions": percent(ablated),
                "copied": copied,
                "p": p,
                "ranked first": percent(ranked, "right"),
                "by chance": 100 * ranked["chance"].mean(),
            }
        )
    return pd.DataFrame(rows)


def legacy_table(examined: Mapping[str, Mapping[str, pd.DataFrame]]) -> pd.DataFrame:
    """Return the study's Real@1 beside exact match, on the study's own selection of items."""
    rows = []
    for name, frames in examined.items():
        legacy, exact = frames["legacy"], frames["exact"]
        excess, p = difference(exact, legacy)
        rows.append((name, percent(legacy), percent(exact), excess, p, len(legacy)))
    return pd.DataFrame(rows, columns=["run", "legacy Real@1", "exact Real@1", "excess", "p", "items"])


def lambada_table(passages: Mapping[str, pd.DataFrame], examined: Mapping[str, Mapping]) -> pd.DataFrame:
    """Return LAMBADA as designed (answer before candidate; chance is 50), @1, and the study's variant."""
    rows = [
        (name, percent(passages[name], "right"), percent(passages[name]), percent(frames["legacy_lambada"]))
        for name, frames in examined.items()
    ]
    names = ["run", "answer before candidate", "LAMBADA@1", "legacy LAMBADA@1"]
    return pd.DataFrame(rows, columns=names)


def breakdown(answers: pd.DataFrame) -> pd.DataFrame:
    """Return Real@1 by distance, part of speech, number of pieces, and whether a mention is in sight."""
    labels = [f"{label} characters away" for label in coreference_items.distance_labels()]
    pieces = {0: "not in the vocabulary", 1: "1 piece", 2: "2 pieces", 3: "3 pieces", 4: "4 or more pieces"}
    sight = {True: "earlier mention in sight", False: "no earlier mention in sight"}
    ways = {
        "distance": answers["distance"].map(
            lambda distance: labels[coreference_items.distance_bin(distance)]
        ),
        "part of speech": answers["tag"].map({"NNG": "common noun", "NNP": "proper noun"}),
        "pieces": answers["pieces"].clip(upper=4).map(pieces),
        "antecedent": answers["antecedent"].map(sight),
    }
    orders = {"distance": labels, "pieces": list(pieces.values())}
    parts = []
    for way, values in ways.items():
        kinds = pd.Categorical(values, categories=orders.get(way), ordered=way in orders)
        parts.append(trajectories.intervals(answers.assign(group=kinds), ["group"]).assign(by=way))
    frame = pd.concat([part.assign(group=part["group"].astype(str)) for part in parts], ignore_index=True)
    frame[["value", "low", "high"]] *= 100
    return frame[["by", "group", "value", "low", "high", "items"]]


def genre_table(answers: pd.DataFrame, copied: pd.DataFrame) -> pd.DataFrame:
    """Return Real@1 of one checkpoint and of every copy baseline, by genre of the document."""
    rows = []
    for kind in sorted({genre(name) for name in answers["document"]}):
        for run, group in [*answers.groupby("run"), *copied.groupby("run", sort=False)]:
            own = group[group["document"].map(genre) == kind]
            rows.append(
                {"genre": kind, "system": run, "Real@1": percent(own), "Real@5": percent(own, "hit5")}
            )
    return pd.DataFrame(rows)


def composite_interval(answers: pd.DataFrame, passages: pd.DataFrame) -> Interval:
    """Return the study's score with an interval: items and passages vary independently."""
    real = answers.assign(part=WEIGHTS["real1"] * answers["hit1"] + WEIGHTS["real5"] * answers["hit5"])
    a, b = percent(real, "part"), percent(passages).scaled(WEIGHTS["lambada1"])
    value, half = a.value + b.value, (a.half_width**2 + b.half_width**2) ** 0.5
    return Interval(value, value - half, value + half)


def verdict_table(
    best: Mapping[str, pd.DataFrame], look: Mapping[str, Mapping], passages: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return each experiment's best checkpoint with scores, cost and the decision.

    Kept is the one that has seen the fewest tokens among those that are not significantly worse (Holm) than
    the best; choosing it needs no further data.
    """
    rows = []
    top = max(look, key=lambda run: look[run]["chosen_by"])
    for run, row in look.items():
        gap, p = difference(best[top], best[run]) if run != top else (Interval(0.0, 0.0, 0.0), 1.0)
        rows.append(
            {
                "run": run,
                "step": int(row["step"]),
                "thousand tokens": row["tokens"] / 1000,
                "Real@1": percent(best[run]),
                "Real@5": percent(best[run], "hit5"),
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
