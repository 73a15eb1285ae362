"""Entries to a competition: checked before they are written, and scored as the notebooks score.

    relations(probs, names)     pred_label and probs (Boostcamp / AI Stages; its order of KLUE's labels)
    classes(predicted, names)   one 0/1 column a class (UNLP 2025 techniques)
    spans(found)                trigger_words: half-open character ranges (UNLP 2025 spans)
    write(path, ids, columns)   the CSV; with `sample`, by the header, the ids and the order of that file
    write_klue(path, rows, …)   KLUE's dev files, with predicted labels or tags

`nunchi score ENTRY GOLD` reads any of them back. Predicting is left to the rooms.
"""

import csv
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import corpora
from helpers.corpora import files, klue, schemas
from helpers.corpora.labels import NO_RELATION, RELATIONS

if TYPE_CHECKING:
    from datasets import Dataset

# The order of probabilities in Boostcamp's RE competition (its dict_label_to_num), as positions in KLUE's.
_PLACES = (
    0, 10, 6, 8, 29, 4, 18, 3, 27, 11, 22, 16, 20, 25, 26,
    17, 23, 24, 2, 7, 5, 21, 1, 19, 13, 12, 14, 15, 9, 28,
)  # fmt: skip
BOOSTCAMP = tuple(RELATIONS[i] for i in _PLACES)
IDS = ("id", "guid")
Columns = Mapping[str, Sequence[Any]]


def relations(probs: np.ndarray, names: Sequence[str], *, none: str = RELATIONS[NO_RELATION]) -> Columns:
    """Give the likeliest label and all probabilities: (n, labels) in the order of `names`.

    KLUE's labels go in Boostcamp's order. `none` is what the data call no_relation.
    """
    probs = np.asarray(probs, dtype=float)
    if probs.ndim != 2 or probs.shape[1] != len(names):
        raise ValueError(f"probs must be (rows, {len(names)}), a column per label; got {probs.shape}")
    bad = np.flatnonzero(~(np.abs(probs.sum(axis=1) - 1) < 1e-3) | (probs < 0).any(axis=1))
    if len(bad):
        raise ValueError(
            f"row {bad[0]}: probabilities sum to {probs[bad[0]].sum():.4f}, expected 1; apply softmax"
        )
    shown = [none if i == NO_RELATION else name for i, name in enumerate(names)]
    order = [names.index(name) for name in _order(names)]
    return {
        "pred_label": [shown[i] for i in probs.argmax(axis=1)],
        "probs": [str(row) for row in probs[:, order].tolist()],
    }


def classes(predicted: np.ndarray, names: Sequence[str]) -> Columns:
    """Give one 0/1 column per class: `predicted` is (n, classes)."""
    predicted = np.asarray(predicted)
    if predicted.ndim != 2 or predicted.shape[1] != len(names) or not np.isin(predicted, (0, 1)).all():
        raise ValueError(f"expected 0 and 1 in shape (rows, {len(names)}), got {predicted.shape}")
    return {name: predicted[:, i].astype(int).tolist() for i, name in enumerate(names)}


def spans(found: Sequence[Sequence[tuple[int, int]]]) -> Columns:
    """Give each row's half-open character ranges as the text of a list."""
    wrong = next((i for i, row in enumerate(found) if any(not 0 <= a < b for a, b in row)), None)
    if wrong is not None:
        raise ValueError(
            f"row {wrong}: a span is (start, end) with 0 ≤ start < end, got {list(found[wrong])}"
        )
    return {"trigger_words": [str([(int(a), int(b)) for a, b in row]) for row in found]}


def write(path: Path, ids: Sequence[str], columns: Columns, *, sample: Path | None = None) -> Path:
    """Write an entry, one row per id; with `sample`, a sample_submission.csv, as that file has it."""
    ids = [str(key) for key in ids]
    for name, cells in columns.items():
        if len(cells) != len(ids):
            raise ValueError(f"{len(ids)} ids but {len(cells)} rows of {name!r}; predict the same rows")
    if len(set(ids)) < len(ids):
        raise ValueError(f"the id {next(key for key in ids if ids.count(key) > 1)!r} comes twice")
    header, order = (IDS[0], *columns), ids
    if sample is not None:
        rows = files.read_csv(sample)
        header = tuple(rows[0]) if rows else ()
        order = [row[header[0]] for row in rows] if rows else []
        _same(order, ids, f"{sample.name} and the predictions")
        if missing := [name for name in header[1:] if name not in columns]:
            raise ValueError(
                f"{sample}: no predictions for its columns {', '.join(missing)}; "
                f"there are {', '.join(columns)}"
            )
    row_of = {key: i for i, key in enumerate(ids)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([key, *(columns[name][row_of[key]] for name in header[1:])] for key in order)
    return path


def write_klue(path: Path, rows: "Dataset | Sequence[Mapping]", predicted: Sequence) -> Path:
    """Write rows with predicted labels as KLUE's dev file has them: relations as JSON, tags as TSV.

    `predicted` holds names: a label per row, or a list of tags per row, one a character.
    """
    if len(predicted) != len(rows):
        raise ValueError(f"{len(rows)} rows but {len(predicted)} predictions; predict the same rows")
    if not len(rows):
        raise ValueError("no rows to write")
    if "tokens" in rows[0]:
        text = "".join(_block(row, tags) for row, tags in zip(rows, predicted, strict=True))
    else:
        labelled = [{**row, "label": str(label)} for row, label in zip(rows, predicted, strict=True)]
        text = json.dumps(labelled, ensure_ascii=False, indent=1)
    path.write_text(text, encoding="utf-8")
    return path


def score(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Score an entry as the notebooks do: relations, entities, classes or spans, recognised by its format.

    examples:
      nunchi score submission.csv klue-re-v1.1_dev.json    id, pred_label, probs: micro-F1, AUPRC
      nunchi score predicted.tsv klue-ner-v1.1_dev.tsv     entity F1, character F1
      nunchi score techniques.csv unlp/train.parquet       one column a class: macro-F1

    exit codes: 0 scored, 2 bad input: ids that do not match, unknown labels, another format
    """
    parser.add_argument("entry", type=Path, help="the submission: CSV, or KLUE's JSON or TSV")
    parser.add_argument("gold", type=Path, help="a file of the same rows with their labels")
    return _score


def _score(options: Namespace) -> int:
    for name, value in scored(options.entry, options.gold).items():
        print(f"{name}  {value:.4f}")
    return 0


def scored(entry: Path, gold: Path) -> dict[str, float]:
    """Return the scores of an entry by name, all × 100."""
    if not entry.is_file() or not gold.is_file():
        raise ValueError(f"no such file: {gold if entry.is_file() else entry}")
    if entry.suffix not in (".csv", ".json", ".tsv"):
        raise ValueError(
            f"{entry}: expected an entry, .csv, .json or .tsv; write one by nunchi predict --entry"
        )
    if entry.suffix == ".tsv":
        return _score_tags(klue.read_ner_tsv(entry), corpora.load_entities(gold, "all"))
    rows = files.read_csv(entry) if entry.suffix == ".csv" else files.read_json(entry)
    header = set(rows[0]) if rows else set()
    if "pred_label" in header or {"label", "sentence"} <= header:
        return _score_relations(rows, corpora.load_relations(gold, "all"), gold)
    posts = corpora.load_techniques(gold, "all")
    return (_score_spans if "trigger_words" in header else _score_classes)(rows, posts, entry)


def _score_relations(rows: list[dict], gold: "Dataset", path: Path) -> dict[str, float]:
    from helpers.relations.scores import auprc, micro_f1

    names = gold.features["label"].names
    kept = _matched(rows, gold["guid"][:])
    schema = schemas.relations(files.READERS[path.suffix](path), path.parent)
    field = "pred_label" if "pred_label" in rows[0] else "label"
    pred = [schema.id_of(row[field], f"id {_id(row)}") for row in kept]
    labels = gold["label"][:]
    found = {"micro-F1": micro_f1(labels, pred), "accuracy": 100 * float(np.mean(np.equal(labels, pred)))}
    if "probs" in rows[0]:
        back = [_order(names).index(name) for name in names]
        probs = np.array([_list(row["probs"], f"id {_id(row)}, probs", len(names)) for row in kept])
        found["AUPRC"] = auprc(labels, probs[:, back])
    return found


def _score_tags(rows: list[dict], gold: "Dataset") -> dict[str, float]:
    from helpers.entities.scores import char_f1, entity_f1
    from helpers.entities.tags import without_spaces

    names, sentences = gold.features["ner_tags"].feature.names, gold["sentence"][:]
    kept = _matched(rows, gold["guid"][:])
    for row, sentence in zip(kept, sentences, strict=True):
        if "".join(row["tokens"]) != sentence:
            raise ValueError(f"{row['guid']}: the entry has another sentence than the gold file")
        if strange := next((tag for tag in row["ner_tags"] if tag not in names), None):
            raise ValueError(f"{row['guid']}: {schemas.unknown('tag', strange, names)}")
    wanted, said = [[names[i] for i in row] for row in gold["ner_tags"]], [row["ner_tags"] for row in kept]
    right, given = (without_spaces(tags, sentences) for tags in (wanted, said))
    return {
        "entity F1": entity_f1(right, given),
        "character F1": char_f1(right, given),
        "entity F1, exact": entity_f1(wanted, said),
    }


def _score_classes(rows: list[dict], posts: "Dataset", entry: Path) -> dict[str, float]:
    from helpers.multilabel.scores import indicators, macro_f1

    names = posts.features["labels"].feature.names
    if missing := [name for name in names if name not in rows[0]]:
        raise ValueError(
            f"{entry}: no column for {', '.join(missing)}; expected the id and one column a class"
        )
    kept = _matched(rows, posts["id"][:])
    cells = [[_flag(row[name], f"id {_id(row)}, {name}") for name in names] for row in kept]
    return {"macro-F1": 100 * macro_f1(indicators(posts["techniques"][:], names), np.array(cells))}


def _score_spans(rows: list[dict], posts: "Dataset", entry: Path) -> dict[str, float]:
    from helpers.multilabel.spans import char_counts, characters
    from helpers.statistics import f1

    kept = _matched(rows, posts["id"][:])
    texts, everywhere = posts["content"][:], np.arange(len(posts))
    said = [[tuple(span) for span in _list(row["trigger_words"], f"id {_id(row)}")] for row in kept]
    post, gold = characters(texts, posts["trigger_words"][:], everywhere)
    _, found = characters(texts, said, everywhere)
    return {"character F1": 100 * float(f1(char_counts(gold, found, post=post).sum(axis=0)))}


def _order(names: Sequence[str]) -> Sequence[str]:
    """Return the order in which probabilities are handed in."""
    return BOOSTCAMP if tuple(names) == RELATIONS else names


def _matched(rows: list[dict], ids: Sequence[str]) -> list[dict]:
    """Return the entry's rows in the order of the gold ids."""
    by_id = {_id(row): row for row in rows}
    if len(by_id) < len(rows):
        raise ValueError(f"{len(rows) - len(by_id)} ids of the entry come more than once; one row each")
    _same(ids, list(by_id), "gold and entry")
    return [by_id[key] for key in ids]


def _same(wanted: Sequence[str], given: Sequence[str], what: str) -> None:
    missing, strange = (sorted(set(a) - set(b)) for a, b in ((wanted, given), (given, wanted)))
    if missing or strange:
        raise ValueError(
            f"the ids of {what} differ: {len(missing)} missing {missing[:3]}, "
            f"{len(strange)} unknown {strange[:3]}"
        )


def _id(row: Mapping) -> str:
    return files.id_of(row, IDS, "entry")


def _list(value: Any, where: str, length: int | None = None) -> list:
    found = files.parsed(value, where, kind=list)
    if length is not None and len(found) != length:
        raise ValueError(f"{where}: expected {length} numbers, got {len(found)}")
    return found


def _flag(value: Any, where: str) -> int:
    if str(value) not in ("0", "1", "0.0", "1.0"):
        raise ValueError(f"{where}: expected 0 or 1, got {value!r}")
    return int(float(value))


def _block(row: Mapping, tags: Sequence[str]) -> str:
    if len(tags) != len(row["tokens"]):
        raise ValueError(f"{row['guid']}: {len(row['tokens'])} characters but {len(tags)} tags")
    lines = (f"{token}\t{tag}\n" for token, tag in zip(row["tokens"], tags, strict=True))
    return f"## {row['guid']}\t{row['sentence']}\n{''.join(lines)}\n"
