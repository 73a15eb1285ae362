"""Is there enough data to learn from and to score on, and does it leak? Asked before anything trains.

Each function takes the parts of one task and returns a frame: `check`, `found`, and `result`, which is "ok"
or "weak". What would make a score meaningless raises `ValueError` instead, with all reasons at once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from helpers.corpora.splits import document_groups, leak_report

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset

ENOUGH_TO_SCORE = 100  # rows: below, an interval of a share is wider than ±10 points
ENOUGH_TO_LEARN = 10  # rows of a label
FEWEST_ROWS = 8  # of a side: a tenth is held out of fewer than that, and no interval exists
DOCUMENTS = 30  # in dev, for an interval of Real@k over documents
FEWEST_DOCUMENTS = 8  # dev is halved, to choose and to report
MUCH = 5.0  # percent of dev rows that recur in train
COPIED = 90.0  # percent, from which on dev is a copy of train

Finding = tuple[str, str, str]


def relations(train: "Dataset", dev: "Dataset") -> "pd.DataFrame":
    """Check relation rows: labels to learn, relations to find, sentences and pairs that recur."""
    names = train.features["label"].names
    counts = [Counter(names[i] for i in rows["label"]) for rows in (train, dev)]
    found = sum(count for name, count in counts[1].items() if name != names[0])
    lacking = f"no row of dev has a relation; micro-F1 leaves {names[0]} out"
    alone = (
        f"every row of train has the label {next(iter(counts[0]), names[0])}, so there is nothing to learn"
    )
    stops = [*_score(found, lacking), *_score(len(counts[0]) > 1, alone)]
    return _frame([*_sizes(train, dev), *_labels(*counts), *_leaks(train, dev), *stops])


def entities(train: "Dataset", dev: "Dataset") -> "pd.DataFrame":
    """Check tagged sentences: types to learn and to find, sentences that recur."""
    names = train.features["ner_tags"].feature.names
    counts = [
        Counter(names[i][2:] for tags in rows["ner_tags"] for i in tags if names[i][0] == "B")
        for rows in (train, dev)
    ]
    absent = [name[2:] for name in names[:-1:2] if name[2:] not in counts[1]]
    types = [("types in dev", f"dev has no entities of {_some(absent)}" if absent else "all", bool(absent))]
    lacking = "dev has no entities at all, so there is nothing to find"
    none = "train has no entities at all, so there is nothing to learn"
    parts = [*_sizes(train, dev), *_labels(*counts), *_weak(types), *_leaks(train, dev)]
    return _frame([*parts, *_score(counts[1].total(), lacking), *_score(counts[0].total(), none)])


def posts(rows: "Dataset", *, folds: int) -> "pd.DataFrame":
    """Check posts for cross-validation: every class in every fold, copies that folds would separate."""
    names = rows.features["labels"].feature.names
    counts = Counter(i for labels in rows["labels"] for i in labels)
    scarce = [
        f"{name} ({counts[i]})" for i, name in enumerate(names) if not folds <= counts[i] <= len(rows) - folds
    ]
    copies = len(rows) - len(set(document_groups(rows).tolist()))
    found = [
        ("rows", f"{len(rows):,}", len(rows) < ENOUGH_TO_SCORE),
        (
            f"a post of each class, and one without, in {folds} folds",
            f"not of {_some(scarce)}" if scarce else "yes",
            bool(scarce),
        ),
        ("copies of a text, which folds would separate", f"{copies:,}", 100 * copies > MUCH * len(rows)),
    ]
    lacking = (
        f"no class has a post with it and one without in each of {folds} folds ({_some(scarce)} of "
        f"{len(rows)} posts): add posts, or take fewer folds"
    )
    stops = _score(len(counts), "no post has a class, so there is nothing to find")
    return _frame([*_weak(found), *(stops or _score(len(scarce) < len(names), lacking))])


def documents(train: "Dataset", dev: "Dataset") -> "pd.DataFrame":
    """Check documents for cloze items: enough in dev to choose a checkpoint and to report it."""
    found = [
        ("train documents", f"{len(train):,}", len(train) < DOCUMENTS),
        (f"dev documents, {DOCUMENTS} needed for Real@k", f"{len(dev):,}", len(dev) < DOCUMENTS),
    ]
    lacking = (
        f"dev has {len(dev)} documents and half of them choose the checkpoint: {DOCUMENTS} are needed for "
        f"Real@k. A tenth of all documents is dev: add some, or name files …_train and …_dev"
    )
    enough = len(dev) >= FEWEST_DOCUMENTS
    return _frame([*_weak(found), *(_leaks(train, dev) if len(dev) else ()), *_score(enough, lacking)])


def _sizes(train: "Dataset", dev: "Dataset") -> list[Finding]:
    parts = {"train rows": len(train), "dev rows": len(dev)}
    few = [f"{count} {name}" for name, count in parts.items() if count < FEWEST_ROWS]
    lacking = f"{' and '.join(few)}, at least {FEWEST_ROWS} are needed and {ENOUGH_TO_SCORE} make sense"
    sizes = _weak((name, f"{count:,}", count < ENOUGH_TO_SCORE) for name, count in parts.items())
    return [*sizes, *_score(not few, lacking)]


def _labels(train: Counter, dev: Counter) -> list[Finding]:
    strange = sorted(set(dev) - set(train))
    rare = [f"{name} ({count})" for name, count in sorted(train.items()) if count < ENOUGH_TO_LEARN]
    asked = f"{ENOUGH_TO_LEARN} of each label in train"
    return _weak(
        [
            ("labels of dev in train", f"not {_some(strange)}" if strange else "all", bool(strange)),
            (asked, f"not {_some(rare)}" if rare else "yes", bool(rare)),
        ]
    )


def _leaks(train: "Dataset", dev: "Dataset") -> list[Finding]:
    report = leak_report(train, dev).to_dict("records")
    findings = _weak(
        (f"dev rows whose {row['kind']} is in train", f"{row['share']:.1f} %", row["share"] > MUCH)
        for row in report
    )
    if report[0]["share"] >= COPIED:
        reason = f"{report[0]['share']:.0f} % of the dev texts are in train: dev is a copy, not a test"
        findings.append(("leak", reason, "stop"))
    return findings


def _score(found: int, lacking: str) -> list[Finding]:
    return [] if found else [("score", lacking, "stop")]


def _weak(found: Iterable[tuple[str, str, bool]]) -> list[Finding]:
    return [(check, said, "weak" if weak else "ok") for check, said, weak in found]


def _some(names: Sequence[str], shown: int = 5) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def _frame(findings: Sequence[Finding]) -> "pd.DataFrame":
    import pandas as pd

    stops = [said for _, said, result in findings if result == "stop"]
    if stops:
        raise ValueError("these data cannot be scored: " + "; ".join(stops))
    return pd.DataFrame(findings, columns=["check", "found", "result"])
