"""The `nunchi` command. Each subcommand is declared and carried out in the `commands` module of its room.

A room is imported when its command is called, so that `nunchi --help` answers at once. Bad input ends with
one message and exit code 2; only an error of ours shows a traceback.
"""

import argparse
import importlib
import inspect
import sys
from collections.abc import Sequence
from keyword import iskeyword

# The function of that name (`import_` for import) takes the command's parser, declares its arguments and
# returns what to call; its docstring is the command's help.
COMMANDS = {
    "run": ("helpers.batch.commands", "run a suite of notebooks into reports"),
    "render": ("helpers.batch.commands", "rewrite a suite's reports without running anything"),
    "compare": ("helpers.batch.commands", "write a page about two runs, or two suites"),
    "rehearse": ("helpers.batch.commands", "try two steps of every kind of training in a suite"),
    "preflight": ("helpers.batch.commands", "look for what would stop a suite before it trains"),
    "pretrain": ("helpers.learning.commands", "pretrain an encoder on plain text"),
    "ledger": ("helpers.claims.commands", "recompute every claim of the studies and of README"),
    "readme": ("helpers.claims.commands", "record results and update README's tables"),
    "checkpoints": ("helpers.coreference.commands", "evaluate and rank checkpoints of a masked LM"),
    "fetch": ("helpers.corpora.commands", "fill a folder with the public data sets from the hub"),
    "predict": ("helpers.prediction.commands", "predict new rows with models that a notebook kept"),
    "export": ("helpers.prediction.commands", "write a kept model for plain transformers"),
    "score": ("helpers.entries", "score a submission as the notebooks do"),
    "import": ("helpers.corpora.commands", "make a data folder from files of other tools"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; 0: all fine, 1: something failed, 2: bad input, 130: stopped."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(
        "nunchi",
        description="Korean NLU experiments: run notebooks into reports; train, use and compare models.",
        epilog="To begin: nunchi run params/sample, then open reports/sample/index.html",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name in arguments[:1]:
            declare = getattr(importlib.import_module(module), f"{name}_" if iskeyword(name) else name)
            command.description = inspect.getdoc(declare)
            command.set_defaults(call=declare(command))
    options = parser.parse_args(arguments)
    try:
        return options.call(options)
    except (ValueError, OSError) as error:
        reason = str(error)
        if isinstance(error, OSError) and error.filename:
            reason = f"{error.filename}: {error.strerror}"
        print(f"nunchi {options.command}: {reason}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"nunchi {options.command}: stopped", file=sys.stderr)
        return 130
