"""`nunchi predict` asks kept models about a file, `nunchi export` writes one for plain transformers."""

import csv
import io
import json
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.corpora import load_unlabelled
from helpers.corpora.imports import mapped

if TYPE_CHECKING:
    from helpers.prediction.answers import Answers

SUFFIXES = (".jsonl", ".csv")
ENTRIES = {"relations": (".csv", ".json"), "entities": (".tsv",), "multilabel": (".csv",), "spans": (".csv",)}


def predict(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Predict the rows of a file with a model that a notebook kept, or the mean of several.

    The file may be anything that `nunchi import` reads, with or without labels, a .txt with one text a line,
    or - for standard input (JSON, or one text a line). Predictions have character offsets, labels and
    calibrated probabilities. With --entry they are checked and written in the format of a competition.

    examples:
      nunchi predict reports/sample/04_ner_swa_ensemble/models/* news.txt --out found.jsonl
      echo "김하람은 부산에서 태어났다." | nunchi predict my-model -
      nunchi predict my-model test.csv --entry --out submission.csv --sample sample_submission.csv

    exit codes: 0 all rows answered, 2 bad input: no such model, a row that cannot be read
    """
    parser.add_argument("models", nargs="+", type=Path, metavar="FOLDER", help="model folders")
    parser.add_argument("file", metavar="FILE", help="rows to predict; - reads standard input")
    parser.add_argument("--out", type=Path, help=".jsonl or .csv; else JSON lines on standard output")
    parser.add_argument("--map", nargs="+", default=[], metavar="NAME=FIELD", help="text=body id=no …")
    parser.add_argument(
        "--entry",
        action="store_true",
        help="write a competition entry: .csv for Boostcamp and UNLP, .json or .tsv like KLUE's dev files",
    )
    parser.add_argument(
        "--sample", type=Path, help="a sample_submission.csv whose header, ids and order are used"
    )
    return _predict


def export(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Write a kept model so that plain transformers loads it, without this package.

    Taggers become models for AutoModelForTokenClassification with the same logits; of other heads the encoder
    alone is written. A BiLSTM has no class in transformers: `import helpers` loads such a folder.

    examples:
      nunchi export reports/paper/04_ner_swa_ensemble/models/tagger my-tagger

    exit codes: 0 written, 2 bad input
    """
    parser.add_argument("model", type=Path, metavar="FOLDER", help="a model folder")
    parser.add_argument("target", type=Path, metavar="TARGET", help="a new folder")
    return _export


def _predict(options: Namespace) -> int:
    from helpers.prediction import folders, predictors

    _check(options)
    members = [folders.load(folder) for folder in options.models]
    task = predictors.together(members).task
    if options.entry:
        _check_suffix(options.out, ENTRIES[task], f" for an entry of {task}")
    fields = mapped(options.map)
    with _input(options.file) as path:
        rows = load_unlabelled(path, "multilabel" if task == "spans" else task, fields=fields)
    answers = predictors.answer(members, list(rows))
    if options.entry:
        answers.write_entry(options.out, options.sample)
    elif options.out:
        options.out.write_text(_text(answers, options.out.suffix), encoding="utf-8")
    else:
        print(_text(answers, ".jsonl"), end="")
    if options.out:
        print(f"{len(rows):,} rows predicted: {options.out}")
    return 0


def _export(options: Namespace) -> int:
    from helpers.prediction import folders

    print(f"{options.target}: load it with transformers.{folders.export(options.model, options.target)}")
    return 0


def _check(options: Namespace) -> None:
    """Refuse an output that cannot be written, before anything is loaded."""
    if options.entry and not options.out:
        raise ValueError("--entry needs --out, the file to hand in")
    if options.sample and not options.entry:
        raise ValueError("--sample belongs to --entry")
    if options.out and not options.entry:
        _check_suffix(options.out, SUFFIXES)
    if options.out and not options.out.parent.is_dir():
        raise ValueError(f"--out {options.out}: there is no folder {options.out.parent}; make it first")
    if Path(options.file).is_dir():
        raise ValueError(
            f"{options.file} is a folder: name a file in it, such as dev.jsonl, after the models"
        )


def _check_suffix(path: Path, allowed: tuple[str, ...], what: str = "") -> None:
    if path.suffix not in allowed:
        raise ValueError(f"--out {path}: expected a name that ends with {' or '.join(allowed)}{what}")


def _text(answers: "Answers", suffix: str) -> str:
    if suffix == ".jsonl":
        return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in answers.records())
    table, file = answers.table(), io.StringIO()
    writer = csv.DictWriter(file, list(table[0]) if table else ["id"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return file.getvalue()


@contextmanager
def _input(name: str) -> Iterator[Path]:
    """Yield the path of the file; of standard input, a file with a name that tells its form."""
    if name != "-":
        yield Path(name)
        return
    text = sys.stdin.read()
    if not text.strip():
        raise ValueError("no rows on standard input: expected JSON, or one text a line")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"stdin{_form(text)}"
        path.write_text(text, encoding="utf-8")
        yield path


def _form(text: str) -> str:
    """Tell JSON and JSON lines from plain text; a text may begin with a bracket, too."""
    for suffix, sample in ((".json", text), (".jsonl", text.strip().partition("\n")[0])):
        try:
            value = json.loads(sample)
        except ValueError:
            continue
        if isinstance(value, dict if suffix == ".jsonl" else list):
            return suffix
    return ".txt"
