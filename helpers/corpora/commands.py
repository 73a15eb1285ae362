"""`nunchi fetch` fills a folder from the hub, `nunchi import` makes one from files of other tools."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from helpers.corpora.sources import TASKS, Task


def fetch(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Download the public data sets that are not there yet, one folder each.

    examples:
      nunchi fetch ~/nunchi-data                          everything
      nunchi fetch ~/nunchi-data --only klue-re klue-ner  two of them
      NUNCHI_DATA=~/nunchi-data nunchi run params/klue    use them

    exit codes: 0 all there, 1 some could not be downloaded (named, with the reason), 2 bad input
    """
    names = [task.folder for task in TASKS]
    parser.add_argument("folder", type=Path, help="target folder; set NUNCHI_DATA to it afterwards")
    some = f"some of {', '.join(names)}"
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=some)
    return fill


def import_(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Make a folder for the parameter `data` from files of other tools, and show what arrived.

    Read are: words with tags in columns (CoNLL, TSV; BIO, BIOES, BILOU, PER-B or B-PER), doccano's JSONL,
    Label Studio's JSON, spaCy's and Prodigy's, TACRED's, folders of `datasets`, Parquet, and tables (CSV,
    TSV, JSONL) with labels in one column or one 0/1 column a class; `--map text=2 label=3` reads a table
    without a header. The split is in a file's name.

    examples:
      nunchi import ner_train.tsv ner_dev.tsv --task entities --to my-data
      nunchi import admin.jsonl --task relations --to my-data --map none=관계없음
      nunchi import train=posts.csv dev=more.csv --task multilabel --to my-data --map text=body label=topic

    exit codes: 0 the folder is written, 2 bad input: nothing is written
    """
    from helpers.corpora import imports

    named = ", ".join(imports.MAPPED)
    fields = f"what a field is called there: {named}; of columns, and of tables without a header, the number"
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file or folder, or <split>=<file>")
    parser.add_argument("--task", required=True, choices=imports.TASKS, help="what the rows are for")
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER", help="a new folder")
    parser.add_argument("--map", nargs="+", default=[], metavar="NAME=FIELD", help=fields)
    return _import


def _import(options: Namespace) -> int:
    from helpers.corpora import imports

    imported = imports.read(options.files, options.task, imports.mapped(options.map))
    imports.write(imported, options.to)
    print(f"{options.to}: {imports.shown(imported)}")
    return 0


def fill(options: Namespace) -> int:
    """Download each data set that is not there yet; 1 when one of them could not be had."""
    if options.folder.exists() and not options.folder.is_dir():
        raise ValueError(f"{options.folder} is a file; name a folder for the data sets")
    tasks = [task for task in TASKS if not options.only or task.folder in options.only]
    missing = [task for task in tasks if not _download(task, options.folder / task.folder)]
    return 1 if missing else 0


def _download(task: Task, folder: Path) -> bool:
    """Save one data set from the hub to `folder`; False, with the reason on stderr, when it cannot be had."""
    from datasets import load_dataset

    if folder.exists():
        print(f"{folder}: already there")
        return True
    try:
        load_dataset(*task.hub, revision=task.revision).save_to_disk(str(folder))
    except (OSError, ValueError) as error:
        hint = "a network? access granted on its page and `hf auth login`?"
        print(f"{folder}: could not fetch {' '.join(task.hub)} ({error}); {hint}", file=sys.stderr)
        return False
    print(f"{folder}: {' '.join(task.hub)}")
    return True
