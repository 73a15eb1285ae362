"""Evaluation of many checkpoints on the same items: which are there, what they answer, which are chosen.

Checkpoints are chosen on one half of the dev documents and reported on the other. The frames that come out
hold answers item by item; `trajectories` compares them.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.coreference import scoring
from helpers.coreference.checkpoints import find_checkpoints, step_of

TEXT = ("id", "document", "noun", "tag", "status", "prediction", "answer", "best")  # columns of answers


def load_genres(data: str, split: str, *, rows: int, seed: int = 0):
    """Load documents, as many of every kind as there are and `rows` allows (0: all of them).

    The kind is the column `genre`.
    """
    from helpers.corpora import load_documents

    documents = load_documents(data, split, rows=rows or None if data == "sample" else None, seed=seed)
    kinds = [genre(name, source=Path(data).name) for name in documents["id"]]
    documents = documents.add_column("genre", kinds)
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


def genre(document: str, *, source: str) -> str:
    """Return the word that an id begins with (kowiki-0012, novel-0003), or the source's name.

    Ids of others are often numbers: the hub's articles are of one kind, not one each.
    """
    word = re.match(r"[^\W\d_]+(?=-)", document)
    return word[0] if word else source


def to_choose_on(documents: Iterable[str]) -> np.ndarray:
    """Say of each document whether checkpoints are chosen on it; the other half is for reporting."""
    digests = [hashlib.sha256(f"half {document}".encode()).digest()[0] for document in documents]
    return np.array([digest % 2 == 0 for digest in digests])


def list_checkpoints(runs: pd.DataFrame, *, base: Path, lengths: Sequence[int]) -> pd.DataFrame:
    """Return one row per checkpoint: run, curriculum, length, step, epoch, tokens seen, path.

    The base is listed as step 0 once per length, as the run "base <length>".
    """
    start = {"curriculum": "base", "step": 0, "epoch": 0.0, "tokens": 0.0, "checkpoint": str(base)}
    rows = [{"run": f"base {length}", "length": length, **start} for length in lengths]
    seen = {str(base): 0.0}  # tokens behind a checkpoint, those of its parents included
    for run in runs.to_dict("records"):
        for path in find_checkpoints(run["folder"]):
            step = step_of(path)
            seen[str(path)] = seen[run["parent"]] + step * run["tokens_per_step"]
            rows.append(
                {name: run[name] for name in ("run", "curriculum", "length")}
                | {"step": step, "epoch": step / run["steps_per_epoch"], "tokens": seen[str(path)]}
                | {"checkpoint": str(path)}
            )
    return pd.DataFrame(rows)


def evaluate_checkpoints(configs: Sequence[Mapping], *, items, lambada) -> pd.DataFrame:
    """Evaluate checkpoints (`{"checkpoint", "seq_len"}`); one row each, failed ones with their error.

    What was evaluated before, with the same weights, items and code, is not evaluated again.
    """
    from helpers.sweeps import fingerprint, sweep

    shared, mark = {"items": items, "lambada": list(lambada)}, fingerprint(items, lambada)
    return sweep(
        scoring.evaluate_checkpoint,
        configs,
        name="checkpoints",
        shared=shared,
        fingerprint=mark,
        failed="keep",
    )


def evaluate(table: pd.DataFrame, *, items, lambada) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Evaluate listed checkpoints, each at its `length`, all on the same items.

    Returns the table with scores and the answers on the documents to report on. `chosen_by` is the mean
    reciprocal rank on the documents to choose on: unlike Real@1 it hardly ever ties.
    """
    pairs = zip(table["checkpoint"], table["length"], strict=True)
    configs = [{"checkpoint": checkpoint, "seq_len": int(length)} for checkpoint, length in pairs]
    scores = evaluate_checkpoints(configs, items=items, lambada=lambada)
    evaluated = table.join(scores.drop(columns=["checkpoint", "seq_len"]).set_index(table.index))
    answers = read_answers(evaluated)
    choose = to_choose_on(answers["document"])
    ranks = answers[choose].groupby(["run", "step"])["reciprocal_rank"]
    means = ranks.mean().rename("chosen_by").reset_index()
    return evaluated.merge(means, on=["run", "step"], how="left"), answers[~choose].reset_index(drop=True)


def read_answers(evaluated: pd.DataFrame) -> pd.DataFrame:
    """Read the answers of evaluated checkpoints into one frame, with `run` and `step` on every item."""
    parts = [
        read_rows(Path(row["folder"], "items.csv")).assign(run=row["run"], step=row["step"])
        for row in evaluated[evaluated["status"] == "ok"].to_dict("records")
    ]
    if not parts:
        raise ValueError("no checkpoint could be evaluated; see the column `error`")
    return pd.concat(parts, ignore_index=True)


def read_rows(path: Path) -> pd.DataFrame:
    """Read answers as they were written: an id of digits, or a noun such as "NA", is text."""
    frame = pd.read_csv(path, dtype=dict.fromkeys(TEXT, str), keep_default_na=False, na_values=[""])
    return frame.fillna(dict.fromkeys(frame.columns.intersection(TEXT), ""))


def choose(evaluated: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the best row of every `by` ("run", "curriculum"), judged on the documents to choose on."""
    done = evaluated[evaluated["status"] == "ok"]
    return done.loc[done.groupby(by, sort=False)["chosen_by"].idxmax()]


def pick(answers: pd.DataFrame, run: str, step: int) -> pd.DataFrame:
    """Return the answers of one checkpoint."""
    found = answers[(answers["run"] == run) & (answers["step"] == step)]
    if found.empty:
        raise ValueError(f"no answers of {run!r} at step {step}; there are {sorted(set(answers['run']))}")
    return found


def at_equal(answers: pd.DataFrame, evaluated: pd.DataFrame, runs: Sequence[str], what: str) -> tuple:
    """Return the answers of each run at the last "epoch", or nearest "step", that all of them have."""
    groups = [evaluated[evaluated["run"] == run] for run in runs]
    last = min(rows[what].max() for rows in groups)
    nearest = [rows.iloc[(rows[what] - last).abs().argmin()] for rows in groups]
    return tuple(pick(answers, row["run"], row["step"]) for row in nearest)


def examine(chosen: pd.DataFrame, *, items, legacy_items, lambada, choices: int) -> dict[str, dict]:
    """Look closely at checkpoints on the documents to report on; return their answers by run and file."""
    from helpers.sweeps import fingerprint, sweep

    pairs = zip(chosen["checkpoint"], chosen["length"], strict=True)
    configs = [{"checkpoint": path, "length": int(length), "choices": choices} for path, length in pairs]
    items = items.select(np.flatnonzero(~to_choose_on(items["document"])))
    shared = {"items": items, "legacy_items": legacy_items, "lambada": list(lambada)}
    mark = fingerprint(items, legacy_items, lambada)
    frame = sweep(scoring.examine, configs, name="06-examine", shared=shared, fingerprint=mark)
    return {
        run: {path.stem: read_rows(path) for path in Path(folder).glob("*.csv")}
        for run, folder in zip(chosen["run"], frame["folder"], strict=True)
    }
