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
CHOICE = ["seed", "id", "document", "kind", "distance"]
PICKED = {  # who is chosen: the last person in this order
    "model": ["log_likelihood", "last"],
    "most frequent name": ["count", "last"],
    "most recent name": ["last"],
}


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
    frame = offered.fillna({"log_likelihood": NEVER}).assign(hit1=offered["gold"].astype(float))
    ordered = {name: frame.sort_values(order, kind="stable") for name, order in PICKED.items()}
    found = {name: one.groupby(CHOICE, as_index=False)["hit1"].last() for name, one in ordered.items()}
    return found | {"chance": frame.groupby(CHOICE, as_index=False)["hit1"].mean()}


def matched(repeats: pd.DataFrame) -> pd.Series:
    """Return weights of items: 1 for coreferent ones, and others weighted to look like them.

    Alike means as far from the word before, named as often before, and in as many pieces: strata in which
    both occur. What has no counterpart weighs 0.
    """
    before, pieces = (repeats[name].clip(upper=3) for name in ("before", "pieces"))
    groups = repeats["coreferent"].groupby([repeats["distance"].map(distance_bin), before, pieces])
    same, other = groups.transform("sum"), groups.transform(lambda flags: (~flags).sum())
    weights = np.where(repeats["coreferent"], 1.0, np.divide(same, other.clip(lower=1)))
    return pd.Series(np.where((same > 0) & (other > 0), weights, 0.0), index=repeats.index)


def contrasts(answers: Mapping[str, pd.DataFrame], repeats) -> list[np.ndarray]:
    """Return (seeds, works, 4) for every contrast of PAIRS: hits and questions of its two sides."""
    asked, chose = _asked(answers, repeats), picks(answers["choices"])
    whole, weight = asked["whole"], matched(asked["whole"])
    works = sorted({*whole["document"], *chose["model"]["document"]})
    alike = [_sums(whole, weight * part, works) for part in (whole["coreferent"], ~whole["coreferent"])]
    word = [_sums(asked[name], asked[name]["coreferent"], works) for name in ("another word", "word")]
    person = [_sums(asked[name], asked[name]["telling"], works) for name in ("another person", "person")]
    right, *copied = (_sums(one, 1, works) for one in chose.values())
    pairs = [alike, word, person, *([right, one] for one in copied)]
    return [np.concatenate(pair, axis=-1) for pair in pairs]


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


def _asked(answers: Mapping[str, pd.DataFrame], repeats) -> dict[str, pd.DataFrame]:
    """Return the answers to repeats by what was deleted, with what is known of each item."""
    about = repeats.to_pandas()[["id", "work", "coreferent", "kind", "antecedents", "person"]]
    before, others = (about.pop(name).map(len) for name in ("antecedents", "person"))
    about = about.assign(before=before, telling=about["coreferent"] & (others > 0))
    about = about.rename(columns={"work": "document"})
    return {name: answers[name].drop(columns="document").merge(about, on="id") for name in DELETED}


def chosen(answers: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return who chose right, in percent, by kind of mention and by distance: `group`, `choices`, rates."""
    frame = _grouped(picks(answers["choices"]), "choices")
    return frame.assign(chance=[rate.value for rate in frame["chance"]])  # known, not estimated


def repeated(answers: Mapping[str, pd.DataFrame], repeats) -> pd.DataFrame:
    """Return Real@1 of repeats that name a person again, as they are and with something deleted.

    By kind and distance; the last row has the repeats that name nobody, or somebody else.
    """
    asked = _asked(answers, repeats)
    same = {name: frame[frame["coreferent"]] for name, frame in asked.items()}
    other = {name: frame[~frame["coreferent"]] for name, frame in asked.items()}
    return pd.concat(
        [_grouped(same, "items"), _grouped(other, "items").head(1).assign(group="not coreferent")]
    )


def _grouped(answers: Mapping[str, pd.DataFrame], unit: str) -> pd.DataFrame:
    """Return the rates of some answers for all, by kind and by distance; groups of one are left out."""
    labels, rows = [f"{label} characters" for label in distance_labels()], []
    groups = {
        name: frame[["kind"]].assign(all="all", far=[labels[distance_bin(far)] for far in frame["distance"]])
        for name, frame in answers.items()
    }
    for by in ("all", *KINDS, *labels):
        own = {name: frame[(groups[name] == by).any(axis=1)] for name, frame in answers.items()}
        count = next(iter(own.values()))["id"].nunique()
        if count > 1:
            rates = {name: trajectories.percent(frame) for name, frame in own.items()}
            rows.append({"group": by, unit: count, **rates})
    return pd.DataFrame(rows)
