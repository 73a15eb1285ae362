"""Fill a folder from the hub, for NUNCHI_DATA: `nunchi fetch FOLDER [--only klue-re …]`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from helpers.corpora.sources import TASKS, Task


def fetch(folder: Path, *, only: Sequence[str] | None = None) -> int:
    """Download each data set that is not there yet; return the number that could not be had."""
    tasks = [task for task in TASKS if not only or task.folder in only]
    return sum(not fill(task, folder / task.folder) for task in tasks)


def fill(task: Task, folder: Path) -> bool:
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
