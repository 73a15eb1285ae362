"""Our checkpoints on the coreference items: who is asked what, who is chosen, who is looked at closely.

Checkpoints are chosen on one half of the dev documents and reported on the other. The frames that come out
hold answers item by item; `coreference_report` turns them into the tables of the notebook.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.coreference import checkpoints, cloze, copying, trajectories
from helpers.coreference import legacy as coreference_legacy


def load_genres(data: str, split: str, *, rows: int, seed: int = 0):
    """Load documents, as many of every kind as there are and `rows` allows (0: all of them).

    The kind (`genre`) is the first part of a document's id, e.g. kowiki, petition, novel.
    """
    from helpers.corpora import load_documents

    documents = load_documents(data, split, rows=rows or None if data == "sample" else None, seed=seed)
    documents = documents.add_column("genre", [genre(name) for name in documents["id"]])
    return documents.select(_evenly(documents["genre"], rows or len(documents), seed=seed))


def _evenly(genres: Sequence[str], rows: int, *, seed: int) -> list[int]:
    """Choose positions so that small genres come whole and the others share the rest, in their order."""
    places = pd.Series(range(len(genres))).groupby(np.asarray(genres))
    chosen, left = [], rows
    for number, (_, group) in enumerate(sorted(places, key=lambda pair: len(pair[1]))):
        room = left // (places.ngroups - number)
        kept = np.random.default_rng(seed).permutation(len(group))[:room]
        chosen += group.iloc[kept].tolist()
        left -= len(kept)
    return sorted(chosen)


def genre(document: str) -> str:
    return document.split("-")[0]


def to_choose_on(documents: Sequence[str]) -> pd.Series:
    """Say of each document whether checkpoints are chosen on it; the other half is for reporting."""
    digests = [hashlib.sha256(f"half {document}".encode()).digest()[0] for document in documents]
    return pd.Series([digest % 2 == 0 for digest in digests])


def evaluate(table: pd.DataFrame, *, items, lambada, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Evaluate checkpoints, each at the length it was trained at, all on the same items.

    Returns the table with scores and the answers on the documents to report on. `chosen_by` is the mean
    reciprocal rank on the documents to choose on: unlike Real@1 it hardly ever ties.
    """
    parts = []
    for length, rows in table.groupby("length", sort=False):
        folders = [Path(path) for path in rows["checkpoint"]]
        scores = checkpoints.evaluate_checkpoints(
            folders, items=items, lambada=lambada, seq_len=int(length), name=name
        )
        parts.append(scores.drop(columns=["checkpoint", "seq_len"]).set_index(rows.index))
    evaluated = table.join(pd.concat(parts))
    answers = trajectories.read_answers(evaluated)
    choose = to_choose_on(answers["document"]).to_numpy()
    ranks = answers[choose].groupby(["run", "step"])["reciprocal_rank"]
    means = ranks.mean().rename("chosen_by").reset_index()
    return evaluated.merge(means, on=["run", "step"], how="left"), answers[~choose].reset_index(drop=True)


def pick(answers: pd.DataFrame, run: str, step: int) -> pd.DataFrame:
    """Return the answers of one checkpoint."""
    found = answers[(answers["run"] == run) & (answers["step"] == step)]
    if found.empty:
        raise ValueError(f"no answers of {run!r} at step {step}; there are {sorted(set(answers['run']))}")
    return found


def chosen_steps(evaluated: pd.DataFrame) -> dict[str, int]:
    """Return each run's best step, by the documents to choose on."""
    runs = evaluated[evaluated["status"] == "ok"].groupby("run", sort=False)
    return {run: int(rows.loc[rows["chosen_by"].idxmax(), "step"]) for run, rows in runs}


def best_of(answers: pd.DataFrame, chosen: Mapping[str, int], runs: Sequence[str] | None = None) -> dict:
    """Return the answers of each run (or of those named) at its chosen step."""
    return {run: pick(answers, run, chosen[run]) for run in (chosen if runs is None else runs)}


def selection(evaluated: pd.DataFrame) -> dict[str, dict]:
    """Return, by run, the best checkpoint of every experiment: the ones to look at closely."""
    done = evaluated[evaluated["status"] == "ok"]
    best = done.loc[done.groupby("experiment", sort=False)["chosen_by"].idxmax()]
    return {row["run"]: row for row in best.to_dict("records")}


def winner(evaluated: pd.DataFrame) -> str:
    """Return the run whose checkpoint did best on the documents to choose on."""
    return evaluated.loc[evaluated["chosen_by"].idxmax(), "run"]


def baseline_answers(items, documents) -> pd.DataFrame:
    """Return the copy baselines' answers on the documents to report on, one `run` per baseline."""
    frame = copying.score_baselines(items, frequent=copying.global_frequency(documents))
    choose = to_choose_on(frame["document"]).to_numpy()
    return frame[~choose].rename(columns={"baseline": "run"}).assign(step=0).reset_index(drop=True)


def examine(
    checkpoint: str, length: int, choices: int, *, items, legacy_items, lambada, folder: Path
) -> dict:
    """Look closely at one checkpoint: ablation, ranking of context nouns, the study's own measures."""
    model, tokenizer = checkpoints.load_checkpoint(checkpoint)
    asked = {"max_length": length}
    ablated = cloze.score_items(model, tokenizer, items, ablate=True, **asked)
    ablated.to_csv(folder / "ablated.csv", index=False)
    ranked = cloze.rank_context_nouns(model, tokenizer, items, choices=choices, **asked)
    ranked.to_csv(folder / "ranked.csv", index=False)
    legacy = coreference_legacy.score_items_legacy(model, tokenizer, legacy_items, **asked)
    legacy.to_csv(folder / "legacy.csv", index=False)
    exact = cloze.score_items(model, tokenizer, legacy_items, **asked)
    exact.to_csv(folder / "exact.csv", index=False)
    gap = coreference_legacy.score_lambada_legacy(model, tokenizer, lambada, **asked)
    gap.to_csv(folder / "legacy_lambada.csv", index=False)
    return {"examined": len(items), "legacy_cut": int((legacy["status"] == "cut").sum())}


def examine_all(
    chosen: Mapping[str, Mapping], *, items, legacy_items, lambada, choices: int = 6
) -> dict[str, dict[str, pd.DataFrame]]:
    """Examine named checkpoints (`{"checkpoint", "length"}`) on the documents to report on.

    Returns their answers by name and file.
    """
    from helpers.sweeps import fingerprint, sweep

    configs = [
        {"checkpoint": row["checkpoint"], "length": int(row["length"]), "choices": choices}
        for row in chosen.values()
    ]
    items = items.select(np.flatnonzero(~to_choose_on(items["document"])))
    shared = {"items": items, "legacy_items": legacy_items, "lambada": list(lambada)}
    mark = fingerprint(items, legacy_items, lambada)
    frame = sweep(examine, configs, name="06-examine", shared=shared, fingerprint=mark)
    return {
        name: {path.stem: pd.read_csv(path) for path in sorted(Path(folder).glob("*.csv"))}
        for name, folder in zip(chosen, frame["folder"], strict=True)
    }


def lambada_answers(evaluated: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the answers to the passages of each experiment's best checkpoint, by run."""
    return {run: pd.read_csv(Path(row["folder"], "lambada.csv")) for run, row in selection(evaluated).items()}
