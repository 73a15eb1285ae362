"""`nunchi run`: what it is called with."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

EXAMPLES = """examples:
  nunchi run params/sample                 the six notebooks on the embedded data
  nunchi run params/klue --only 03,04      two of them on real data
  nunchi run params/paper --dry-run        what a suite would do, without doing it
"""


def run(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Declare `nunchi run`."""
    parser.description = "Run a suite of notebooks into reports; what is up to date is not run again."
    parser.epilog = EXAMPLES
    parser.add_argument("suite", type=Path, help="folder of parameter files, e.g. params/sample")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NN",
        help="run only notebooks whose name starts so; give several as 04,05 or by repeating",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, help="notebooks at a time (default: as many as cores)")
    parser.add_argument("--force", action="store_true", help="run again what is up to date")
    parser.add_argument("--dry-run", action="store_true", help="print the plan and stop")
    parser.add_argument("--out", type=Path, help="folder for <suite>/<notebook>/ (default: reports)")
    return _run


def _run(options: Namespace) -> int:
    from helpers.batch import runner

    only = [word for words in options.only for word in words.split(",") if word]
    return runner.run_suite(
        options.suite, only=only, jobs=options.jobs, force=options.force, dry=options.dry_run, out=options.out
    )
