"""Ensembles of the NER study, and its verdict: which variants to keep.

Members come from the runs of `results`; how they vote is in `voting`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.entities import voting
from helpers.entities.experiment import ENSEMBLED, SYSTEMS, Encoding, Part
from helpers.entities.results import (
    Results,
    Scored,
    Study,
    described,
    difference,
    mean_f1,
    score_tags,
    with_holm,
)
from helpers.entities.voting import Member
from helpers.statistics import Interval

Built = Mapping[str, Mapping[str, list[Scored]]]
"""Predictions of ensembles by weights ("last", "swa") and name, one per seed or a single one."""

ALL, PER_SEED = "all members", "per seed, all architectures"


def load_members(
    runs: pd.DataFrame, encodings: Mapping[str, Encoding]
) -> dict[str, dict[tuple[str, int], Member]]:
    """Read the dev logits of all main runs by weights, architecture and seed.

    Each member has the temperature that fits its logits on validation.
    """
    members = {weights: {} for weights in ENSEMBLED}
    for run in runs[runs.role == "main"].itertuples():
        encoded = encodings[run.tokenizer].parts
        with np.load(f"{run.folder}/predictions.npz", allow_pickle=False) as arrays:
            for weights, group in members.items():
                valid, dev = (arrays[f"{part}_{weights}_logits"] for part in ("valid", "dev"))
                temperature = voting.fit_temperature(valid, encoded["valid"].labels)
                member = Member(dev.astype(np.float32), encoded["dev"].characters, temperature)
                group[run.architecture, run.seed] = member
    return members


def build_ensembles(members: Mapping[tuple[str, int], Member], part: Part) -> dict[str, list[Scored]]:
    """Combine members per seed, across seeds and altogether; controls: no temperature, mean of logits.

    The mean of logits, the study's way, is taken per seed where all architectures share their subwords, else
    over the seeds of each architecture.
    """
    architectures, seeds = (list(dict.fromkeys(key[i] for key in members)) for i in (0, 1))
    everyone = list(members.values())
    per_seed = [[members[a, s] for a in architectures] for s in seeds]
    of_one = {a: [members[a, s] for s in seeds] for a in architectures}
    raw = [member._replace(temperature=1.0) for member in everyone]
    found = {
        PER_SEED: map(voting.decode_ensemble, per_seed),
        **{f"all seeds of {a}": [voting.decode_ensemble(group)] for a, group in of_one.items()},
        ALL: [voting.decode_ensemble(everyone)],
        "all members, temperature 1": [voting.decode_ensemble(raw)],
    }
    if len({tuple(member.characters.token_bounds) for member in everyone}) == 1:
        found["legacy: mean of logits, per seed"] = map(voting.decode_mean_logits, per_seed)
    else:
        found |= {f"legacy: mean of logits, {a}": [voting.decode_mean_logits(g)] for a, g in of_one.items()}
    return {name: [score_tags(tags, part) for tags in decoded] for name, decoded in found.items()}


def best_architecture(results: Results, study: Study, system: str = "swa") -> str:
    """Return the architecture with the best mean validation F1."""
    means = [np.mean([results.valid[a, system, seed] for seed in study.seeds]) for a in study.names]
    return study.names[int(np.argmax(means))]


def ensemble_table(results: Results, study: Study, built: Built) -> pd.DataFrame:
    """Set ensembles of last and of SWA weights against the best single architecture with the same weights."""
    rows, single = [], best_architecture(results, study)
    for weights, votes in built.items():
        base = results.of(single, weights)
        rows.append({"ensemble": f"single: {single}", "weights": weights} | described(base))
        rows += [
            {"ensemble": name, "weights": weights} | described(found) | difference(base, found)
            for name, found in votes.items()
        ]
    return with_holm(pd.DataFrame(rows))


def pick(frame: pd.DataFrame, *values: str) -> pd.Series:
    """Return the row whose first columns have these values."""
    rows = frame[(frame.iloc[:, : len(values)] == list(values)).all(axis=1)]
    if len(rows) != 1:
        raise ValueError(
            f"{len(rows)} rows are {values}; expected one of {frame.iloc[:, 0].unique().tolist()}"
        )
    return rows.iloc[0]


def verdict_table(results: Results, study: Study, built: Built) -> pd.DataFrame:
    """Pool each method over all architectures and seeds; ensembles are set against single SWA taggers."""
    names, single = study.names, best_architecture(results, study)
    last, first = _pooled(results, names, "last"), names[:1]
    rows = [{"variant": "last weights", "against": "", "models": 1, "entity F1": mean_f1(last)}]
    rows += [
        _variant(system, "last", base=last, found=_pooled(results, names, system)) for system in SYSTEMS[1:]
    ]
    decay = {"base": _pooled(results, first, "last"), "found": _pooled(results, first, "decay")}
    rows.append(_variant("decaying rate", f"last, {first[0]}", **decay))
    seeds = len(study.seeds)
    sizes = {PER_SEED: len(names), f"all seeds of {single}": seeds, ALL: len(names) * seeds}
    base = results.of(single, "swa")
    rows += [
        _variant(name, f"swa, {single}", base=base, found=built["swa"][name], models=size)
        for name, size in sizes.items()
    ]
    frame = with_holm(pd.DataFrame(rows))
    frame["decision"] = [_decision(row) for row in frame.to_dict("records")]
    return frame


def verdict(frame: pd.DataFrame) -> str:
    """Say in three sentences what the verdict table shows."""
    rows = {row["variant"]: row for row in frame.to_dict("records")}
    best = max(("swa", "ema", "lawa", "soup"), key=lambda name: rows[name]["difference"].value)
    gains = {
        name: f"{row['difference']:+.2f} ({row['decision']})" for name, row in rows.items() if row["against"]
    }
    return (
        f"Against the last weights, SWA changes entity F1 by {gains['swa']}; of the averages, {best.upper()} "
        f"does best with {gains[best]}. A learning rate that decays to zero changes it by "
        f"{gains['decaying rate']}. All members together add {gains[ALL]} to the best single SWA tagger."
    )


def headline(frame: pd.DataFrame, *, differences: int = 5) -> list[dict]:
    """List for metrics.json the scores of the baseline and the best variant, and the largest differences."""
    rows = frame.to_dict("records")
    best = max(rows, key=lambda row: row["entity F1"].value)
    scores = [row["entity F1"].headline(f"entity F1, {row['variant']}") for row in (rows[0], best)]
    telling = sorted(rows[1:], key=lambda row: -abs(row["difference"].value))[:differences]
    gains = [row["difference"].headline(f"{row['variant']} − {row['against']}") for row in telling]
    return scores + gains


def _pooled(results: Results, architectures: Sequence[str], system: str) -> list[Scored]:
    return [scored for name in architectures for scored in results.of(name, system)]


def _variant(
    name: str, against: str, *, base: Sequence[Scored], found: Sequence[Scored], models: int = 1
) -> dict:
    row = {"variant": name, "against": against, "models": models, "entity F1": mean_f1(found)}
    return row | difference(base, found)


def _decision(row: Mapping) -> str:
    """Keep what is better beyond chance, drop what is worse, and say where the data do not tell."""
    if not isinstance(row["difference"], Interval):
        return "baseline"
    if row["p, Holm"] >= 0.05:
        return "no evidence"
    return "keep" if row["difference"].value > 0 else "drop"
