"""`nunchi fetch`: fill a folder from the hub, for NUNCHI_DATA."""

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
    parser.add_argument("folder", type=Path, help="where they go; name it in NUNCHI_DATA afterwards")
    some = f"some of {', '.join(names)}"
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=some)
    return fill


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
        load_dataset(*task.hub).save_to_disk(str(folder))
    except (OSError, ValueError) as error:
        hint = "a network? access granted on its page and `hf auth login`?"
        print(f"{folder}: could not fetch {' '.join(task.hub)} ({error}); {hint}", file=sys.stderr)
        return False
    print(f"{folder}: {' '.join(task.hub)}")
    return True
