"""Relation rows: label shift, type pairs, places of entities, duplicates, and entities that a loader lost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from helpers.corpora.labels import RELATIONS, ordered
from helpers.corpora.splits import leak_report
from helpers.eda import shares
from helpers.relations.baselines import type_pair
from helpers.relations.markers import legacy_first_match
from helpers.relations.scores import f1_of_counts, relation_counts
from helpers.statistics import Interval, estimate, wilson

if TYPE_CHECKING:
    from datasets import Dataset

ROLES = ("subject", "object")


def frame(relations: "Dataset") -> pd.DataFrame:
    """Lay rows out flat, one column per entity field: `subject_start`, `subject_end` (half-open), …."""
    columns = {"guid": relations["guid"][:], "sentence": relations["sentence"][:]}
    columns["label"] = relations.features["label"].int2str(relations["label"][:])
    for role in ROLES:
        entities = relations[f"{role}_entity"][:]
        columns[role] = [entity["word"] for entity in entities]
        columns[f"{role}_type"] = [entity["type"] for entity in entities]
        columns[f"{role}_start"] = [entity["start_idx"] for entity in entities]
        columns[f"{role}_end"] = [entity["end_idx"] + 1 for entity in entities]
    return pd.DataFrame(columns)


def label_shift(train: pd.DataFrame, dev: pd.DataFrame) -> pd.DataFrame:
    """Compare label shares in percent: `train`, `dev`, `difference`, the largest move first.

    Rows of one sentence stay together in the intervals.
    """
    sentences = [pd.factorize(part["sentence"])[0] for part in (train, dev)]
    rows = []
    for label in ordered([*train["label"], *dev["label"]], RELATIONS):
        in_train, in_dev = (
            shares.percentage(part["label"] == label, of)
            for part, of in zip((train, dev), sentences, strict=True)
        )
        rows.append((label, in_train, in_dev, shares.difference(in_dev, in_train)))
    rows.sort(key=lambda row: -abs(row[-1].value))
    return pd.DataFrame(rows, columns=["label", "train", "dev", "difference"])


def halved(rows: pd.DataFrame, *, cuts: int, seed: int = 0) -> pd.DataFrame:
    """Compare random halves of one file, where no label has moved: the A/A control of `label_shift`.

    One row per `cut` and label that occurs: `difference`, and `alarm` where its interval leaves 0 out. A
    sentence is in one half only. One row in twenty may have an alarm.
    """
    rng = np.random.default_rng(seed)
    sentence, names = pd.factorize(rows["sentence"])
    tables = []
    for cut in range(cuts):
        in_first = (rng.random(len(names)) < 0.5)[sentence]
        tables.append(label_shift(rows[in_first], rows[~in_first]).assign(cut=cut))
    table = pd.concat(tables, ignore_index=True)
    table = table[table["label"].isin(set(rows["label"]))]
    return table.assign(alarm=[low > 0 or high < 0 for _, low, high in table["difference"]])


def type_pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the percentage of each label's rows per (subject → object) type pair, frequent pairs first."""
    pair = rows["subject_type"] + "→" + rows["object_type"]
    table = pd.crosstab(rows["label"], pair)
    table = table[table.sum().sort_values(ascending=False, kind="stable").index]
    present = [label for label in ordered(table.index, RELATIONS) if label in table.index]
    return table.loc[present].div(table.loc[present].sum(axis=1), axis=0).mul(100).rename_axis(columns="pair")


def type_lookup(train: "Dataset", rows: "Dataset") -> Interval:
    """Score, on `rows`, the most frequent label of each type pair in `train`: micro-F1 ×100 without text."""
    counts = relation_counts(rows["label"][:], type_pair(train, rows).argmax(axis=1))
    return estimate(counts, f1_of_counts, clusters=rows["sentence"][:]).interval()


def gaps(rows: pd.DataFrame) -> np.ndarray:
    """Return (n,) characters between the two entities."""
    first_end = rows[["subject_end", "object_end"]].min(axis=1)
    return (rows[["subject_start", "object_start"]].max(axis=1) - first_end).to_numpy()


def entity_places(rows: pd.DataFrame) -> pd.DataFrame:
    """Return, per role, the share of entities with Hangul glued on (a particle) and of words that recur."""
    table = []
    for role in ROLES:
        after = [s[end : end + 1] for s, end in zip(rows["sentence"], rows[f"{role}_end"], strict=True)]
        glued = ["가" <= character <= "힣" for character in after]
        twice = [s.count(word) > 1 for s, word in zip(rows["sentence"], rows[role], strict=True)]
        table.append(
            {
                "entity": role,
                "followed by Hangul, %": shares.percentage(glued, rows["sentence"]),
                "word occurs again, %": shares.percentage(twice, rows["sentence"]),
            }
        )
    return pd.DataFrame(table)


def duplicates(rows: pd.DataFrame) -> pd.DataFrame:
    """Group rows with the same sentence and entity spans; `conflict` where their labels differ."""
    key = ["sentence", "subject_start", "subject_end", "object_start", "object_end"]
    groups = rows[rows.duplicated(key, keep=False)].groupby(key, sort=False)
    found = groups.agg(subject=("subject", "first"), object=("object", "first"), rows=("label", "size"))
    found["labels"] = groups["label"].agg(lambda labels: ", ".join(sorted(set(labels))))
    found["conflict"] = groups["label"].nunique() > 1
    return found.reset_index()[["sentence", "subject", "object", "rows", "labels", "conflict"]]


def first_match_right(rows: pd.DataFrame) -> pd.DataFrame:
    """Tell, per row and role, whether the study's first whole-word match is the entity: bool columns."""
    found = [legacy_first_match(*cells) for cells in _cells(rows, "sentence", *ROLES)]
    return _right({role: [pair[i] for pair in found] for i, role in enumerate(ROLES)}, rows)


def location_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Compare ways to locate the entities: share of rows with subject, object and both right, in percent."""
    found = {
        "legacy: first whole-word match": first_match_right(rows),
        "offsets of the file": _offset_right(rows),
    }
    return pd.DataFrame(
        {"procedure": name}
        | {column: shares.percentage(right[column], rows["sentence"]) for column in right.columns}
        for name, right in found.items()
    )


def csv_row(row: Mapping) -> dict:
    """Return a relation row as the Boostcamp CSV stores it: each entity is the text of a dict."""
    return {**row, **{f"{role}_entity": str(row[f"{role}_entity"]) for role in ROLES}}


def legacy_input(row: Mapping) -> str:
    """Return what the published study's model was shown: an entity that is no dict becomes a placeholder.

    Its loader never parsed the text in the CSV, so no entity ever was a dict.
    """
    shown = []
    for tag, role, placeholder in (("E1", "subject_entity", "<SUBJ>"), ("E2", "object_entity", "<OBJ>")):
        entity = row[role] if isinstance(row[role], dict) else {"word": placeholder, "type": "UNK"}
        shown.append(f"[{tag}-{entity['type']}]{entity['word']}[/{tag}]")
    return " ".join([*shown, row["sentence"]])


def lost_entities(relations: "Dataset") -> tuple[int, int]:
    """Count the entities whose word the study's input did not carry between its markers: (lost, all)."""
    lost = 0
    for row in relations.to_list():
        shown = legacy_input(csv_row(row))
        lost += sum(f"]{row[f'{role}_entity']['word']}[/" not in shown for role in ROLES)
    return lost, len(ROLES) * len(relations)


def split_leaks(splits: Mapping[str, tuple["Dataset", "Dataset"]]) -> pd.DataFrame:
    """Compare named (train, dev) splits by what recurs.

    Columns `split`, `kind`, `dev_rows`, `shared`, and `leak`: the percentage of dev rows, with its interval.
    """
    reports = [leak_report(*parts).assign(split=name) for name, parts in splits.items()]
    table = pd.concat(reports, ignore_index=True)
    counts = zip(table["shared"], table["dev_rows"], strict=True)
    table["leak"] = [wilson(shared, rows).scaled(100) for shared, rows in counts]
    return table[["split", "kind", "dev_rows", "shared", "leak"]]


def labelled_spans(row: Mapping) -> list[tuple[int, int, str]]:
    """Return the two entities of a flat row as spans to draw."""
    return sorted(
        (row[f"{role}_start"], row[f"{role}_end"], f"{role} {row[f'{role}_type']}") for role in ROLES
    )


def legacy_spans(row: Mapping) -> list[tuple[int, int, str]]:
    """Return where the study put its markers in a flat row; an entity it did not find has no span."""
    matches = legacy_first_match(row["sentence"], row["subject"], row["object"])
    return sorted((*match, role) for role, match in zip(ROLES, matches, strict=True) if match)


def _offset_right(rows: pd.DataFrame) -> pd.DataFrame:
    places = {
        role: [
            (start, end) if sentence[start:end] == word else None
            for sentence, word, start, end in _cells(rows, "sentence", role, f"{role}_start", f"{role}_end")
        ]
        for role in ROLES
    }
    return _right(places, rows)


def _right(places: Mapping[str, Sequence[tuple[int, int] | None]], rows: pd.DataFrame) -> pd.DataFrame:
    right = {
        role: [
            place == span
            for place, span in zip(places[role], _cells(rows, f"{role}_start", f"{role}_end"), strict=True)
        ]
        for role in ROLES
    }
    return pd.DataFrame(right).assign(both=lambda columns: columns["subject"] & columns["object"])


def _cells(rows: pd.DataFrame, *columns: str) -> Iterator[tuple]:
    return rows[list(columns)].itertuples(index=False, name=None)
