"""Fill a folder from the hub, for NUNCHI_DATA: `python -m helpers.corpora FOLDER [--only klue-re …]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from helpers.corpora.sources import TASKS, Task


def main(arguments: Sequence[str] | None = None) -> int:
    """Download each data set that is not there yet; return the number that could not be had."""
    parser = argparse.ArgumentParser(prog="python -m helpers.corpora", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=[task.folder for task in TASKS], metavar="NAME")
    chosen = parser.parse_args(arguments)
    tasks = [task for task in TASKS if not chosen.only or task.folder in chosen.only]
    return sum(not fill(task, chosen.folder / task.folder) for task in tasks)


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


if __name__ == "__main__":
    sys.exit(main())
