"""Relation rows rewritten with known truth: errors in the text, other names, no names, exchanged roles.

The right label of a rewritten row is known: that of the row, or its inverse. What a model makes of it shows
what it reads: the context, the names, the direction. Interventions on the markers alone are in `occlusion`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.corpora.labels import NO_RELATION, RELATIONS
from helpers.relations.comparison import extra, gain
from helpers.relations.scores import relation_counts
from helpers.sample_world.particles import FORMS, particle
from helpers.sample_world.scenes import inverses
from helpers.statistics import compare, estimate, share
from helpers.text.perturbations import Perturbed, perturb, rewritten

Reader = Callable[[Sequence[dict]], np.ndarray]
"""A trained model: rows in, logits (n, labels) out."""

ENTITIES = ("subject_entity", "object_entity")
OTHER_NAMES, NO_NAMES, EXCHANGED = CHANGES = ("other names", "no names", "roles exchanged")
BLANK = "○"  # for each character of a name
FEWEST = 30  # rows that a change needs before its figures say anything
# Which sums in `effects` (a system's after and before a change, then its control's) are of which side.
LEVELS = {"before": np.r_[3:6, 9:12], "after": np.r_[0:3, 6:9]}
COLUMNS = [
    "change", "rows", "system", "consistent, %", "before", "after", "difference", "p", "p_holm", "detectable",
    "decision",
]  # fmt: skip
SPOKEN = {spoken: form for form, both in FORMS.items() for spoken in both}
PARTICLE = re.compile(f"(?:{'|'.join(sorted(SPOKEN, key=len, reverse=True))})(?![가-힣])")


class Answers(NamedTuple):
    """What several runs of a system say before and after a change, on the rows that could be changed."""

    rows: list[int]  # their positions
    before: np.ndarray  # (seeds, rows, 3) the sums behind micro-F1
    after: np.ndarray  # (seeds, rows, 3)
    consistent: np.ndarray  # (seeds, rows, 2) answers that follow the change, answers that could


def moved(row: dict, changed: Perturbed) -> dict | None:
    """Carry subject and object over to a changed sentence; None where one of them is gone."""
    new = {"sentence": changed.text}
    for role in ENTITIES:
        start, end = changed.span(row[role]["start_idx"], row[role]["end_idx"] + 1)
        if start == end:
            return None
        new[role] = row[role] | {"word": changed.text[start:end], "start_idx": start, "end_idx": end - 1}
    return row | new


def perturbed(rows: Sequence[dict], kind: str, *, seed: int = 0, rate: float = 0.1) -> list[dict]:
    """Put errors of one of `perturbations.KINDS` into sentences; a row that would lose an entity stays."""
    rng = np.random.default_rng(seed)
    return [moved(row, perturb(row["sentence"], kind, rng=rng, rate=rate)) or row for row in rows]


def rewrite(
    rows: Sequence[dict], change: str, *, names: Sequence[str] = RELATIONS, seed: int = 0
) -> dict[int, dict]:
    """Rewrite rows by one of CHANGES, with the labels that are right then: new rows by their positions.

    `names` are the labels. Other names are those of other rows, of the same type, with particles that agree;
    without names, each character of the two is BLANK. Other mentions of a name in the sentence stay.
    Exchanged roles need a label with a known inverse. Rows that cannot be changed so are left out.
    """
    rng = np.random.default_rng(seed)
    entities = pd.DataFrame([row[role] for row in rows for role in ENTITIES], columns=["type", "word"])
    known = entities.groupby("type")["word"].unique().map(list)
    made = {}
    for i, row in enumerate(rows):
        if change == EXCHANGED:
            new = _exchanged(row, names)
        elif change == NO_NAMES:
            new = _renamed(row, [BLANK * len(row[role]["word"]) for role in ENTITIES])
        else:
            new = _renamed(row, [_other(row[role], known, rng) for role in ENTITIES])
        if new is not None:
            made[i] = new
    return made


def answers(
    readers: Sequence[Reader], rows: Sequence[dict], new: Mapping[int, dict], *, inverse: np.ndarray
) -> Answers:
    """Ask several runs about rows before and after they were rewritten.

    `inverse: (labels,)` is what each answer should become. Of the answers that name a relation, those that do
    so are consistent; answers that have none (-1) are not counted.
    """
    asked = [rows[i] for i in new], list(new.values())
    gold = [[row["label"] for row in some] for some in asked]
    stats = []
    for reader in readers:
        before, after = (reader(some).argmax(axis=1) for some in asked)
        could = (inverse[before] >= 0) & (before != NO_RELATION)
        follows = np.stack([could & (inverse[before] == after), could], axis=-1)
        stats.append((relation_counts(gold[0], before), relation_counts(gold[1], after), follows))
    return Answers(list(new), *(np.stack(some).astype(float) for some in zip(*stats, strict=True)))


def study(
    readers: Mapping[str, Sequence[Reader]],
    rows: Sequence[dict],
    *,
    names: Sequence[str] = RELATIONS,
    most: int = 300,
    seed: int = 0,
) -> dict[str, dict[str, Answers]]:
    """Ask all runs of all systems about each of CHANGES, on at most `most` rows that can be changed so.

    A change that fewer than FEWEST rows allow is left out: labels of other data may have no known inverse.
    """
    found = {}
    for change in CHANGES:
        new = dict(islice(rewrite(rows, change, names=names, seed=seed).items(), most))
        if len(new) >= FEWEST:
            inverse = inverse_ids(names) if change == EXCHANGED else np.arange(len(names))
            found[change] = {
                name: answers(some, rows, new, inverse=inverse) for name, some in readers.items()
            }
    return found


def effects(
    found: Mapping[str, Mapping[str, Answers]], *, clusters: Sequence, margin: float | None = None
) -> pd.DataFrame:
    """Tabulate what each change does to each system, and to the lead of the first system over the second.

    `difference` is micro-F1 after minus before; that of the lead says how much of it the change takes or
    adds. Other columns as in `statistics.compare`; p-values are corrected within a change. `clusters` are
    those of all rows that were given to `study`. Without a change that could be made there is no row.
    """
    if not found:
        return pd.DataFrame(columns=COLUMNS)
    frames = []
    for change, by_system in found.items():
        (first, a), (second, b) = list(by_system.items())[:2]
        groups, nothing = [clusters[i] for i in a.rows], np.zeros_like(a.before)
        blocks = {name: [one.after, one.before, nothing, nothing] for name, one in by_system.items()}
        blocks |= {f"{first} − {second}": [a.after, a.before, b.after, b.before], "unchanged": [nothing] * 4}
        sums = {name: np.concatenate(some, axis=-1) for name, some in blocks.items()}
        frame = compare(sums, extra, reference="unchanged", clusters=groups, margin=margin)
        for column, own in LEVELS.items():
            levels = [estimate(sums[name][..., own], gain, clusters=groups) for name in frame["system"]]
            frame[column] = [level.interval() for level in levels]
        agree = {name: share(one.consistent, clusters=groups).scaled(100) for name, one in by_system.items()}
        frame["consistent, %"] = [agree.get(name) for name in frame["system"]]
        frames.append(frame.assign(change=change, rows=len(groups)))
    return pd.concat(frames, ignore_index=True)[COLUMNS]


def inverse_ids(names: Sequence[str]) -> np.ndarray:
    """Give each label id that of its inverse, -1 where none is known: (labels,)."""
    at = {name: i for i, name in enumerate(names)}
    return np.array([at.get(inverses().get(name, ""), -1) for name in names])


def _other(entity: dict, known: pd.Series, rng: np.random.Generator) -> str | None:
    words = [word for word in known[entity["type"]] if word != entity["word"]]
    return words[rng.integers(len(words))] if words else None


def _renamed(row: dict, words: Sequence[str | None]) -> dict | None:
    """Put other words in the place of both entities; None where one has none, or where the two overlap."""
    spans = [(row[role]["start_idx"], row[role]["end_idx"] + 1) for role in ENTITIES]
    first, second = sorted(spans)
    if None in words or first[1] > second[0]:
        return None
    changes: dict[int, str] = {}
    for (_, end), word in zip(spans, words, strict=True):
        changes |= _agreeing(row["sentence"], end, str(word))
    for (start, end), word in zip(spans, words, strict=True):
        changes |= dict.fromkeys(range(start, end), "") | {start: str(word)}
    return moved(row, rewritten(row["sentence"], changes))


def _agreeing(sentence: str, end: int, word: str) -> dict[int, str]:
    """Let a particle that begins at `end`, and ends its eojeol, agree with another word."""
    found = PARTICLE.match(sentence, end)
    if not found:
        return {}
    try:
        fitting = particle(word, SPOKEN[found[0]])
    except ValueError:  # a word that ends in a sign: nothing to agree with
        return {}
    return dict.fromkeys(range(*found.span()), "") | {end: fitting}


def _exchanged(row: dict, names: Sequence[str]) -> dict | None:
    inverse = inverse_ids(names)[row["label"]]
    if inverse < 0:
        return None
    return row | {ENTITIES[0]: row[ENTITIES[1]], ENTITIES[1]: row[ENTITIES[0]], "label": int(inverse)}
