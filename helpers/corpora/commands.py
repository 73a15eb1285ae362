"""`nunchi fetch`: fill a folder from the hub, for NUNCHI_DATA."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path


def fetch(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Download the public data sets that are not there yet, one folder each.

    examples:
      nunchi fetch ~/nunchi-data                          everything
      nunchi fetch ~/nunchi-data --only klue-re klue-ner  two of them
      NUNCHI_DATA=~/nunchi-data nunchi run params/klue    use them

    exit codes: 0 all there, 1 some could not be downloaded (named, with the reason), 2 bad input
    """
    from helpers.corpora.sources import TASKS

    names = [task.folder for task in TASKS]
    parser.add_argument("folder", type=Path, help="where they go; name it in NUNCHI_DATA afterwards")
    some = f"some of {', '.join(names)}"
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=some)
    return _fetch


def _fetch(options: Namespace) -> int:
    from helpers.corpora import hub

    if options.folder.exists() and not options.folder.is_dir():
        raise ValueError(f"{options.folder} is a file; name a folder for the data sets")
    return 1 if hub.fetch(options.folder, only=options.only) else 0
