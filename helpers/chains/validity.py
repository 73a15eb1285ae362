"""Is Real@k coreference? Answers of `questions`, summed by work, and the contrasts that decide.

Every contrast is one rate minus another, each over its own questions: sums (hits, questions, hits, questions)
of a work, so that works are left out whole and rates of different questions can be compared.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.chains.passages import KINDS
from helpers.chains.questions import DELETED
from helpers.coreference import trajectories
from helpers.coreference.items import distance_bin, distance_labels
from helpers.declarations import Declaration

PAIRS = (
    ("coreferent repeats", "other repeats like them"),
    ("another word deleted", "the word deleted"),
    ("another person deleted", "the person deleted"),
    ("the model's name", "the most frequent name"),
    ("the model's name", "the most recent name"),
    ("the model's name", "any name"),
)
NEVER = -1e9  # the likelihood of a name that the vocabulary cannot spell


def declare(*, margin: float, choosing: Sequence[str], reporting: Sequence[str]) -> Declaration:
    """Declare the contrasts of PAIRS as one family."""
    return trajectories.declare(PAIRS, margin=margin, choosing=choosing, reporting=reporting)


def decide(declared: Declaration, answers: Mapping[str, pd.DataFrame], repeats) -> pd.DataFrame:
    """Decide the declared contrasts; columns as in `statistics.compare`, differences in points.

    `answers` by file, see `questions.FILES`; `repeats` are the items with whom they mean.
    """
    found = contrasts(answers, repeats)
    nothing = np.tile([0.0, 1.0], (*found[0].shape[:2], 2))
    frame = declared.compare(dict(zip(declared.systems, [nothing, *found], strict=True)), difference)
    return frame.assign(system=[system for system, _ in PAIRS], than=[than for _, than in PAIRS])


def picks(offered: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return who chose right, one row per seed and choice: the model, two ways to copy, and chance.

    A tie goes to the person named last, as a copier would have it.
    """
    frame = offered.fillna({"log_likelihood": NEVER})
    keys, orders = (
        ["seed", "id"],
        {
            "model": ["log_likelihood", "last"],
            "most frequent name": ["count", "last"],
            "most recent name": ["last"],
        },
    )
    kept = [*keys, "document", "kind", "distance"]
    chosen = {
        name: frame.sort_values(order, kind="stable").groupby(keys, as_index=False).last()
        for name, order in orders.items()
    }
    found = {name: one[kept].assign(hit1=one["gold"].to_numpy(dtype=float)) for name, one in chosen.items()}
    shares = frame.groupby([*keys, "document", "kind", "distance"], as_index=False)["gold"].mean()
    return found | {"chance": shares.rename(columns={"gold": "hit1"})}


def matched(repeats: pd.DataFrame) -> pd.Series:
    """Return weights of items: 1 for coreferent ones, and others weighted to look like them.

    Alike means as far from the word before, named as often before, and in as many pieces: strata in which
    both occur. What has no counterpart weighs 0.
    """
    bins = [
        repeats["distance"].map(distance_bin),
        repeats["before"].clip(upper=3),
        repeats["pieces"].clip(upper=3),
    ]
    groups = repeats["coreferent"].groupby(bins)
    same, other = groups.transform("sum"), groups.transform(lambda flags: (~flags).sum())
    weights = np.where(repeats["coreferent"], 1.0, np.divide(same, other.clip(lower=1)))
    return pd.Series(np.where((same > 0) & (other > 0), weights, 0.0), index=repeats.index)


def contrasts(answers: Mapping[str, pd.DataFrame], repeats) -> list[np.ndarray]:
    """Return (seeds, works, 4) for every contrast of PAIRS: hits and questions of its two sides."""
    about = _about(repeats)
    asked = {name: answers[name].drop(columns="document").merge(about, on="id") for name in DELETED}
    whole, chose = asked["whole"], picks(answers["choices"])
    weight = matched(whole)
    works = sorted({*whole["document"], *chose["model"]["document"]})
    deleted = [
        tuple((asked[name], asked[name][flag]) for name in names)
        for names, flag in (
            (("another word", "word"), "coreferent"),
            (("another person", "person"), "telling"),
        )
    ]
    copied = [((chose["model"], 1), (chose[name], 1)) for name in list(chose)[1:]]
    alike = ((whole, weight * whole["coreferent"]), (whole, weight * ~whole["coreferent"]))
    return [
        np.concatenate([_sums(*side, works) for side in pair], axis=-1) for pair in (alike, *deleted, *copied)
    ]


def _sums(answers: pd.DataFrame, weight: pd.Series | int, works: Sequence[str]) -> np.ndarray:
    """Return (seeds, works, 2): weighted hits and questions."""
    counted = answers.assign(hits=answers["hit1"] * weight, count=weight * 1.0)
    table = counted.groupby(["seed", "document"])[["hits", "count"]].sum()
    every = pd.MultiIndex.from_product([sorted(answers["seed"].unique()), works])
    return table.reindex(every, fill_value=0.0).to_numpy(dtype=float).reshape(-1, len(works), 2)


def difference(sums: np.ndarray) -> np.ndarray:
    """Score for `statistics`: the first rate minus the second, in points; without a question a rate is 0."""
    hits, counts = sums[..., 0::2], sums[..., 1::2]
    rates = 100 * np.divide(hits, counts, out=np.zeros_like(hits), where=counts > 0)
    return rates[..., 0] - rates[..., 1]


def _about(repeats) -> pd.DataFrame:
    frame = repeats.to_pandas()[["id", "work", "coreferent", "kind", "antecedents", "person"]]
    frame = frame.rename(columns={"work": "document"})
    telling = frame["coreferent"] & frame["person"].map(len).gt(0)
    return frame.assign(before=frame["antecedents"].map(len), telling=telling).drop(
        columns=["antecedents", "person"]
    )


def chosen(answers: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return who chose right, in percent, by kind of mention and by distance: `group`, `choices`, rates."""
    frame = _grouped(picks(answers["choices"]), "choices")
    return frame.assign(chance=[rate.value for rate in frame["chance"]])  # known, not estimated


def repeated(answers: Mapping[str, pd.DataFrame], repeats) -> pd.DataFrame:
    """Return Real@1 of repeats that name a person again, as they are and with something deleted.

    By kind and distance; the last row has the repeats that name nobody, or somebody else.
    """
    about = _about(repeats)
    asked = {name: answers[name].drop(columns="document").merge(about, on="id") for name in DELETED}
    same = {name: frame[frame["coreferent"]] for name, frame in asked.items()}
    other = {name: frame[~frame["coreferent"]] for name, frame in asked.items()}
    return pd.concat(
        [_grouped(same, "items"), _grouped(other, "items").head(1).assign(group="not coreferent")]
    )


def _grouped(answers: Mapping[str, pd.DataFrame], unit: str) -> pd.DataFrame:
    """Return the rates of some answers for all, by kind and by distance; groups of one are left out."""
    labels, rows = [f"{label} characters" for label in distance_labels()], []
    for by in ("all", *KINDS, *labels):
        own = {
            name: frame[
                (by == "all")
                | (frame["kind"] == by)
                | (frame["distance"].map(lambda far: labels[distance_bin(far)]) == by)
            ]
            for name, frame in answers.items()
        }
        count = next(iter(own.values()))["id"].nunique()
        if count > 1:
            rates = {name: trajectories.percent(frame) for name, frame in own.items()}
            rows.append({"group": by, unit: count, **rates})
    return pd.DataFrame(rows)
