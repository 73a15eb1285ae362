"""`nunchi fetch`: fill a folder from the hub, for NUNCHI_DATA."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from helpers.corpora.sources import TASKS, Task


def fetch(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Declare `nunchi fetch`."""
    parser.description = "Download the public data sets that are not there yet, one folder each."
    parser.add_argument("folder", type=Path, help="where they go; name it in NUNCHI_DATA afterwards")
    parser.add_argument("--only", nargs="+", choices=[task.folder for task in TASKS], metavar="NAME")
    return fill


def fill(options: Namespace) -> int:
    """Download each data set that is not there yet; 1 when one of them could not be had."""
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
