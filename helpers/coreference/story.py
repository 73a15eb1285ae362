"""What the coreference report draws and says: items, answers, curves, and sentences computed from tables."""

from collections.abc import Iterable, Mapping

import pandas as pd

from helpers.coreference.copying import BASELINES
from helpers.display import figures, highlight
from helpers.statistics import Interval

CONTEXT = 140  # characters shown on either side of a hidden mention


def draw_items(items: Iterable[Mapping]):
    """Draw items: the hidden mention and the earlier ones that give it away."""
    return highlight.stack([_drawn(item, "hidden") for item in items])


def draw_answers(items, answers: pd.DataFrame, *, rows: int):
    """Draw items with what the model put into the gap: as many right as wrong answers, where there are."""
    half = rows // 2
    shown = pd.concat([answers[answers["hit1"]].head(half), answers[~answers["hit1"]].head(rows - half)])
    place = {name: at for at, name in enumerate(items["id"])}
    rows = shown[["id", "hit1", "prediction"]].itertuples(index=False)
    labels = [(name, "right" if hit else f"answered {guess}") for name, hit, guess in rows]
    return highlight.stack([_drawn(items[place[name]], label) for name, label in labels])


def _drawn(item: Mapping, label: str):
    first = max(0, item["start"] - CONTEXT)
    text = item["text"][first : item["end"] + CONTEXT // 2].replace("\n", " ")
    marks = [(item["start"] - first, item["end"] - first, label)]
    earlier = [
        (start - first, end - first, "earlier") for start, end in item["antecedents"] if start >= first
    ]
    return highlight.spans(text, [*earlier, *marks])


def draw_curves(curve: pd.DataFrame, axes):
    """Draw Real@1 against steps (continued runs, with bands) and against tokens (all runs)."""
    continued = curve[curve["experiment"] != "entity"]
    figures.lines(continued, axes[0], x="step", y="value", group="run")
    axes[0].get_legend().remove()
    axes[0].set(xlabel="optimizer steps", ylabel="Real@1, %", title="continued from the base")
    tokens = curve.assign(tokens=curve["tokens"] / 1000)
    figures.lines(tokens, axes[1], x="tokens", y="value", group="run", band=False)
    axes[1].set(xlabel="thousand tokens since the base", ylabel="", title="all runs")
    return axes


def mislabelled_epoch(published: pd.DataFrame) -> dict:
    """Return the step whose epoch label is wrong, the label, and the truth, to be put into a sentence."""
    row = published[published["epoch_wrong"]].iloc[0]
    return {"step": int(row["step"]), "epoch": row["epoch"], "true": row["true_epoch"]}


def published_curve(published: pd.DataFrame) -> pd.DataFrame:
    """Return the published Real@1 in percent with its interval, one `run` per experiment and length."""
    runs = published["experiment"] + " " + published["seq_len"].astype(str)
    shares = published[["low", "high"]] * 100
    return published.assign(run=runs, value=published["real1"] * 100, low=shares["low"], high=shares["high"])


def systems_title(systems: pd.DataFrame) -> str:
    """Say whether the best model is above the best copy baseline, and whether their intervals overlap."""
    copied = systems[systems["system"].isin(BASELINES)]
    models = systems[~systems["system"].isin(BASELINES)]
    guess, model = _top(copied), _top(models)
    if model["Real@1"].low > guess["Real@1"].high:
        return f"{model['system']} recovers more than any copy baseline"
    if model["Real@1"].value > guess["Real@1"].value:
        return f"{model['system']} is ahead of the copy baselines, within noise"
    return f"No run passes '{guess['system']}'"


def _top(systems: pd.DataFrame) -> pd.Series:
    return systems.loc[systems["Real@1"].map(lambda interval: interval.value).idxmax()]


def breakdown_sentence(detail: pd.DataFrame) -> str:
    """Say where the chosen run succeeds: parts of speech and distances, with their figures."""
    at = detail.set_index("group")["value"]
    near, far = detail.loc[detail["by"] == "distance", "value"].iloc[[0, -1]]
    nouns = " against ".join(
        f"**{at[name]:.0f} %** of {name}s" for name in ("common noun", "proper noun") if name in at
    )
    return (
        f"{{run}} recovers {nouns}; **{near:.0f} %** at the shortest distances, **{far:.0f} %** at the "
        "longest. (In the sample, names of dev documents never occur in training: they can only be copied.)"
    )


def verdict(table: pd.DataFrame, asked: pd.DataFrame, copying: pd.DataFrame, systems: pd.DataFrame) -> str:
    """Return the notebook's answer in three sentences, all figures computed."""
    kept = table[table["decision"] == "keep"].iloc[0]
    guess = _top(systems[systems["system"].isin(BASELINES)])
    copied = copying.set_index("run").loc[kept["run"], "copied"]
    standing = asked[asked["stands"]]
    first = (
        f"Keep {kept['run']} at step {kept['step']}: Real@1 {kept['Real@1']:.1f} % against "
        f"{guess['Real@1']:.1f} % for the best copy baseline ({guess['system']})."
    )
    lost = "copies" if copied.low > 0 else "shows no sign of copying"
    second = f" It {lost}: deleting the other mentions costs {copied:.1f} points."
    third = f" Of {len(asked)} questions about data and length, {len(standing)} have an answer beyond noise"
    names = "; ".join(f"{row.question} ({row.difference.value:+.1f})" for row in standing.itertuples())
    return first + second + third + (f": {names}." if names else ".")


def headline(table: pd.DataFrame, copying: pd.DataFrame, systems: pd.DataFrame) -> list[dict]:
    """Return the figures for metrics.json."""
    kept = table[table["decision"] == "keep"].iloc[0]
    guess = _top(systems[systems["system"].isin(BASELINES)])
    copied: Interval = copying.set_index("run").loc[kept["run"], "copied"]
    return [
        kept["Real@1"].headline(f"Real@1 of {kept['run']}, %"),
        kept["Real@5"].headline(f"Real@5 of {kept['run']}, %"),
        guess["Real@1"].headline(f"Real@1 of the best copy baseline, {guess['system']}, %"),
        copied.headline("points lost without the other mentions"),
    ]
