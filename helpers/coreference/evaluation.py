"""Evaluation of many checkpoints on the same items: which are there, what they answer, which are chosen.

Checkpoints are chosen on one half of the dev documents; what is chosen is then asked about the other. The
frames that come out hold answers item by item; `trajectories` compares them.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.coreference import scoring
from helpers.coreference.checkpoints import find_checkpoints, step_of
from helpers.declarations import Declaration

TEXT = (
    "id",
    "index",
    "document",
    "noun",
    "tag",
    "status",
    "prediction",
    "answer",
    "best",
)  # columns of answers
KEYS = ("run", "seed", "step")  # of the checkpoint that gave an answer
LISTED = ("run", "seed", "identity", "curriculum", "length", "step", "epoch", "tokens", "checkpoint")


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
    return np.array([digest % 2 == 0 for digest in digests], dtype=bool)


def halves(items) -> tuple:
    """Return the items to choose on and the items to report on; a document is on one side."""
    choose = to_choose_on(items["document"])
    return items.select(np.flatnonzero(choose)), items.select(np.flatnonzero(~choose))


def list_checkpoints(bases: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per checkpoint: run, seed, curriculum, length, step, epoch, tokens seen, path.

    `bases` and `runs` are frames of `experiment`, with the name of each in `run`. A base is step 0 at every
    length, as the run "<name> <length>".
    """
    same, rows = LISTED[:5], []
    seen: dict[str, float] = {}  # tokens behind a checkpoint, those of its parents included
    for base in bases.assign(curriculum="base").to_dict("records"):
        start = str(Path(base["folder"], "checkpoint-0"))
        seen[start] = 0.0
        for length in base["lengths"]:
            named = base | {"run": f"{base['run']} {length}", "length": length}
            row = {name: named[name] for name in same}
            rows.append(row | {"step": 0, "epoch": 0.0, "tokens": 0.0, "checkpoint": start})
    for run in runs.to_dict("records"):
        for path in find_checkpoints(run["folder"]):
            step = step_of(path)
            seen[str(path)] = seen[run["parent"]] + step * run["tokens_per_step"]
            row = {name: run[name] for name in same} | {"step": step, "epoch": step / run["steps_per_epoch"]}
            rows.append(row | {"tokens": seen[str(path)], "checkpoint": str(path)})
    return pd.DataFrame(rows)


def evaluate_checkpoints(configs: Sequence[Mapping], *, items, lambada, **how) -> pd.DataFrame:
    """Evaluate checkpoints (`{"checkpoint", "seq_len"}`); one row each, failed ones with their error.

    What was evaluated before, with the same weights, items and code, is not evaluated again. `how`: on which
    device and in which portions, see `scoring.evaluate_checkpoint`; no part of a result's identity.
    """
    from helpers.sweeps import fingerprint, sweep

    shared, mark = {"items": items, "lambada": list(lambada), **how}, fingerprint(items, lambada)
    return sweep(
        scoring.evaluate_checkpoint,
        configs,
        name="checkpoints",
        shared=shared,
        fingerprint=mark,
        failed="keep",
        workers=1 if ":" in how.get("device", "") else None,  # cuda:1 is a GPU of this process
    )


def evaluate(table: pd.DataFrame, *, items, lambada=()) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Evaluate listed checkpoints, each at its `length`, all on the same items: scores and answers.

    The answers carry run, seed and step of their checkpoint on every item.
    """
    listed = table[table.columns.intersection(LISTED)].reset_index(drop=True)
    pairs = zip(listed["checkpoint"], listed["length"], strict=True)
    configs = [{"checkpoint": checkpoint, "seq_len": int(length)} for checkpoint, length in pairs]
    found = evaluate_checkpoints(configs, items=items, lambada=lambada)
    evaluated = listed.join(found.drop(columns=["checkpoint", "seq_len"]))
    return evaluated, read_answers(evaluated, "items")


def read_answers(evaluated: pd.DataFrame, name: str) -> pd.DataFrame:
    """Read one file of answers of every evaluated checkpoint into one frame, with its run, seed and step."""
    parts = [
        read_rows(Path(row["folder"], f"{name}.csv")).assign(**{key: row[key] for key in KEYS})
        for row in evaluated[evaluated["status"] == "ok"].to_dict("records")
    ]
    if not parts:
        raise ValueError("no checkpoint could be evaluated; see the column `error`")
    return pd.concat(parts, ignore_index=True)


def read_rows(path: Path) -> pd.DataFrame:
    """Read answers as they were written: an id of digits, or a noun such as "NA", is text.

    A LAMBADA passage, which has an `index`, is an item and a document of its own.
    """
    frame = pd.read_csv(path, dtype=dict.fromkeys(TEXT, str), keep_default_na=False, na_values=[""])
    if "index" in frame:
        frame = frame.assign(id=frame["index"], document=frame["index"])
    return frame.fillna(dict.fromkeys(frame.columns.intersection(TEXT), ""))


def choose(evaluated: pd.DataFrame, answers: pd.DataFrame, by: str, *, declared: Declaration) -> pd.DataFrame:
    """Return the rows, one per seed, of the best run and step of every `by` ("run", "curriculum").

    Judged by the mean reciprocal rank over items and seeds (`chosen_by`), which unlike Real@1 hardly ever
    ties. All seeds share a step, so that it can be recommended for the next one.
    """
    ranks = answers.groupby(["run", "step"])["reciprocal_rank"].mean().rename("chosen_by")
    done = evaluated.merge(ranks.reset_index(), on=["run", "step"])
    keys, best = list(zip(done["run"], done["step"], strict=True)), set()
    for places in done.groupby(by, sort=False).indices.values():
        marks = {keys[place]: done["chosen_by"][place] for place in places}
        best.add(declared.best(marks, rows=set(answers["document"])))
    return done[[key in best for key in keys]].reset_index(drop=True)


def nearest(evaluated: pd.DataFrame, run: str, step: float) -> pd.DataFrame:
    """Return the rows of a run, one per seed, at the step nearest to this one."""
    rows = evaluated[evaluated["run"] == run]
    steps = rows["step"].unique()
    return rows[rows["step"] == min(steps, key=lambda known: abs(known - step))]


def ablate(chosen: pd.DataFrame, *, items) -> dict[str, pd.DataFrame]:
    """Ask checkpoints again with something deleted; return their answers by what it was."""
    return look(scoring.ablate, chosen, tuple(scoring.DELETED), settings={}, items=items)


def examine(chosen: pd.DataFrame, *, items, legacy_items, lambada, choices: int) -> dict[str, pd.DataFrame]:
    """Look closely at checkpoints; return their answers by kind of question (see `scoring.examine`)."""
    asked = {"items": items, "legacy_items": legacy_items, "lambada": lambada}
    return look(scoring.examine, chosen, scoring.CLOSE_LOOKS, settings={"choices": choices}, **asked)


def look(function, chosen: pd.DataFrame, names: Sequence[str], *, settings: Mapping, **asked) -> dict:
    """Ask checkpoints, each at its `length`, by `function`; return its files of answers by name."""
    from helpers.sweeps import fingerprint, sweep

    pairs = zip(chosen["checkpoint"], chosen["length"], strict=True)
    configs = [{"checkpoint": path, "length": int(length), **settings} for path, length in pairs]
    shared = asked | ({"lambada": list(asked["lambada"])} if "lambada" in asked else {})
    mark = fingerprint(*asked.values())
    frame = sweep(function, configs, name=f"06-{function.__name__}", shared=shared, fingerprint=mark)
    frame = frame.assign(**{key: chosen[key].to_list() for key in KEYS})
    return {name: read_answers(frame, name) for name in names}
