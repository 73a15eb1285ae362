"""The `nunchi` command: what each subcommand is called with. The work itself is done in the rooms.

Imports stay inside the functions, so that `nunchi --help` answers at once. Bad input ends with one message
and exit code 2; only an error of ours shows a traceback.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; 0: all fine, 1: something failed, 2: bad input."""
    options = _parser().parse_args(arguments)
    try:
        return options.call(options)
    except (ValueError, OSError) as error:
        print(f"nunchi {options.command}: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "nunchi", description="Korean NLU experiments: notebooks into reports, and what belongs to them."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, call, declare in (
        ("run", _run, _declare_run),
        ("checkpoints", _checkpoints, _declare_checkpoints),
        ("fetch", _fetch, _declare_fetch),
    ):
        summary, _, details = (call.__doc__ or "").partition("\n")
        command = commands.add_parser(
            name,
            help=summary.rstrip("."),
            description=summary,
            epilog=details,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        declare(command)
        command.set_defaults(call=call)
    return parser


def _run(options: argparse.Namespace) -> int:
    """Run a suite of notebooks into reports."""
    from helpers.batch import runner

    only = [word for words in options.only for word in words.split(",") if word]
    return runner.run_suite(
        options.suite, only=only, jobs=options.jobs, force=options.force, dry=options.dry_run, out=options.out
    )


def _declare_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", type=Path, help="folder of parameter files, e.g. params/sample")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NN",
        help="run only notebooks whose name starts so; give several as 04,05 or by repeating",
    )  # fmt: skip
    parser.add_argument("--jobs", type=_positive, help="notebooks at a time (default: as many as cores)")
    parser.add_argument("--force", action="store_true", help="run again what is up to date")
    parser.add_argument("--dry-run", action="store_true", help="print the plan and stop")
    parser.add_argument("--out", type=Path, help="folder for <suite>/<notebook>/ (default: reports)")


def _checkpoints(options: argparse.Namespace) -> int:
    """Evaluate and rank checkpoints of a masked language model."""
    from helpers.coreference import checkpoints

    return checkpoints.report(
        options.paths, seq_len=options.seq_len, from_step=options.from_step, out=options.out,
        baseline=options.baseline, data=options.data, lambada=options.lambada, documents=options.documents,
    )  # fmt: skip


def _declare_checkpoints(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="+", type=Path, metavar="PATH", help="a checkpoint, or a folder of them")
    add("--seq-len", type=_positive, help="tokens of a window (default: what the model's config allows)")
    add("--from-step", type=int, default=0, help="leave out earlier checkpoints")
    add("--out", type=Path, default=Path("evaluations"), help="folder for the records")
    add("--baseline", help="print changes against this checkpoint, e.g. checkpoint-0")
    add("--data", default="sample", help='documents: "sample", "hub", "local" or a path')
    add("--lambada", help="where LAMBADA is, if not with the documents")
    add("--documents", type=_positive, default=200, help="how many documents and passages to ask about")


def _fetch(options: argparse.Namespace) -> int:
    """Fill a folder with the public data sets from the hub."""
    from helpers.corpora import hub

    return hub.fetch(options.folder, only=options.only)


def _declare_fetch(parser: argparse.ArgumentParser) -> None:
    from helpers.corpora.sources import TASKS

    parser.add_argument("folder", type=Path, help="where they go, one folder each; name it in NUNCHI_DATA")
    parser.add_argument("--only", nargs="+", choices=[task.folder for task in TASKS], metavar="NAME")


def _positive(text: str) -> int:
    number = int(text) if text.lstrip("-").isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return number
