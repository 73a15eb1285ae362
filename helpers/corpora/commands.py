"""`nunchi fetch`: fill a folder from the hub, for NUNCHI_DATA."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path


def fetch(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Declare `nunchi fetch`."""
    from helpers.corpora.sources import TASKS

    parser.description = "Download the public data sets that are not there yet, one folder each."
    parser.add_argument("folder", type=Path, help="where they go; name it in NUNCHI_DATA afterwards")
    parser.add_argument("--only", nargs="+", choices=[task.folder for task in TASKS], metavar="NAME")
    return _fetch


def _fetch(options: Namespace) -> int:
    from helpers.corpora import hub

    return hub.fetch(options.folder, only=options.only)
