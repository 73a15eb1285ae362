"""`nunchi run`, `render`, `compare`, `rehearse` and `preflight`: what they are called with."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from helpers.sweeps import ENGINES


def run(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Run a suite of notebooks into reports.

    A notebook is executed when its cells, its parameters, its data, the pinned packages or the code it
    imports have changed since its last good run. If only templates or styles have changed, the report is
    rendered again, without a kernel.

    examples:
      nunchi run params/sample                 the six notebooks on the embedded data
      nunchi run params/klue --only 03,04      two of them on real data
      nunchi run params/paper --dry-run        what a suite would do and cost, without doing it
      nunchi run params/paper --dry-run --gpus 8
      nunchi run params/paper --only 05 --jobs 1 --engine launch    one model at a time over all GPUs
      RAY_ADDRESS=ray://head:10001 nunchi run params/klue --engine ray

    A parameter file with a section `grid` (`grid: {train_rows: [500, 1000], seed: [0, 1]}`) runs its notebook
    once for every combination, and makes one report about all of them.

    Open reports/<suite>/index.html afterwards. Ctrl-C keeps what is finished; the same command continues.

    exit codes: 0 all fine, 1 a notebook failed (its report says why), 2 bad input, 130 stopped by Ctrl-C
    """
    _add_suite(parser)
    add = parser.add_argument
    add("--jobs", type=_positive, metavar="N", help="notebooks to run at once (default: as many as cores)")
    add("--force", action="store_true", help="execute what is up to date, too")
    add("--dry-run", action="store_true", help="print what would be done, why, at what cost, and stop")
    add("--gpus", type=_positive, default=1, metavar="N", help="with --dry-run: the time on N GPUs")
    where = (
        "where models train: on this machine, one run on each GPU (local) or each run on all GPUs (launch), "
        "or on the Ray cluster at RAY_ADDRESS (default: NUNCHI_ENGINE, or local)"
    )
    add("--engine", choices=ENGINES, help=where)
    return _run


def render(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Rewrite the reports of a suite and its index from the executed notebooks, without a kernel.

    `nunchi run` does this by itself where a report is out of date.

    examples:
      nunchi render params/sample              after editing helpers/batch/style/report.css
      nunchi render params/sample --only 04    one report and the index
      nunchi render params/sample --language ko   the pages in Korean

    exit codes: 0 all rendered, 1 a notebook has never been run, 2 bad input
    """
    _add_suite(parser)
    return _render


def rehearse(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Try every kind of training in a suite: two steps on its longest batch, evaluate, save, load.

    Runs on this machine; if the hub cannot be reached, with random weights of the same shape. Every row runs
    in its own process: one that runs out of memory does not stop the others. On a known GPU, the measured
    speed improves the hours of `nunchi run --dry-run`.

    examples:
      nunchi rehearse params/paper
      nunchi rehearse params/paper --only 02,04 --batch 1 --memory 10

    exit codes: 0 every row ran, 1 one did not, 2 bad input
    """
    _add_suite(parser, pages=False)
    add = parser.add_argument
    add("--batch", type=_positive, metavar="N", help="at most N rows a batch, without accumulation")
    add("--memory", type=_positive, metavar="GB", help="skip what needs more memory (default: what is free)")
    return _rehearse


def preflight(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Check for what would stop a suite before it trains: hub, licences, weights, packages, GPUs, disk.

    examples:
      nunchi preflight params/paper
      nunchi preflight params/small-gpu --only 04

    exit codes: 0 nothing found, 1 something is missing, 2 bad input
    """
    _add_suite(parser, pages=False)
    return _preflight


def compare(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Write one page about two runs of a notebook, or two suites: which settings and which results differ.

    A run is a folder with metrics.json, as `nunchi run` leaves it, or a metrics.json alone; a suite is a
    folder of such folders. Where both runs kept their items (predictions.parquet), changes get a paired
    interval; else one from the two recorded intervals, and the page says so.

    examples:
      nunchi compare reports/sample/04_ner_swa_ensemble tried/sample/04_ner_swa_ensemble
      nunchi compare reports/sample tried/sample --out changes.html
      nunchi compare recorded/metrics.json reports/sample/03_markers

    exit codes: 0 all written, 2 bad input
    """
    add = parser.add_argument
    add("first", type=Path, metavar="A", help="a run's folder, a suite's folder, or a metrics.json")
    add("second", type=Path, metavar="B", help="the same, of the later run")
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="the page (default: comparison.html beside B, or in the suite B)",
    )
    _add_language(parser)
    return _compare


def _add_suite(parser: ArgumentParser, *, pages: bool = True) -> None:
    add = parser.add_argument
    add("suite", type=Path, help="folder of parameter files, e.g. params/sample")
    chosen = "only notebooks whose name starts with this; give several as 04,05 or by repeating"
    add("--only", action="append", default=[], metavar="NN", help=chosen)
    if pages:
        add("--out", type=Path, metavar="DIR", help="folder for <suite>/<notebook>/ (default: reports)")
        _add_language(parser)


def _add_language(parser: ArgumentParser) -> None:
    from helpers.display.messages import LANGUAGES

    where = "language of the pages (default: what the suite's files say, `language: ko`, or en)"
    parser.add_argument("--language", choices=LANGUAGES, help=where)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)


def _only(options: Namespace) -> list[str]:
    return [word for words in options.only for word in words.split(",") if word]


def _run(options: Namespace) -> int:
    from helpers.batch import runner

    return runner.run_suite(
        options.suite,
        only=_only(options),
        jobs=options.jobs,
        force=options.force,
        dry=options.dry_run,
        gpus=options.gpus,
        out=options.out,
        engine=options.engine,
        language=options.language,
    )


def _render(options: Namespace) -> int:
    from helpers.batch import runner

    return runner.render_suite(options.suite, only=_only(options), out=options.out, language=options.language)


def _rehearse(options: Namespace) -> int:
    from helpers.batch import plans
    from helpers.planning import estimates, preflight, rehearsal

    chosen = plans.make(options.suite, only=_only(options))
    found = sum((plans.trainings(plan) for plan in chosen), Counter())
    hub = bool(plans.hub_names([plan.values for plan in chosen])) and preflight.reachable()
    rows, failed = [list(rehearsal.HEADINGS)], 0
    memory = options.memory * 1e9 if options.memory else None
    for row in rehearsal.rehearse(found, batch=options.batch, memory=memory, hub=hub):
        print(f"{row[0]} {row[1]}, {row[2]} tokens, batch {row[3]}: {row[4] or row[-1]}", file=sys.stderr)
        rows.append(row)
        failed += not row[4]
    print("\n".join(estimates.table(rows)))
    return 1 if failed else 0


def _preflight(options: Namespace) -> int:
    from helpers.batch import plans
    from helpers.planning import preflight
    from helpers.sweeps.store import cache_folder

    chosen = plans.make(options.suite, only=_only(options))
    values = [plan.values for plan in chosen]
    findings = preflight.preflight(
        sum((plans.trainings(plan) for plan in chosen), Counter()),
        plans.hub_names(values),
        hub_data=any(value.get("data") == "hub" for value in values),
        folder=cache_folder(),
    )
    wrong = 0
    for finding in findings:
        print(finding)
        wrong += finding.fine is False
    return 1 if wrong else 0


def _compare(options: Namespace) -> int:
    from helpers.batch import comparison

    print(comparison.write(options.first, options.second, out=options.out, language=options.language or "en"))
    return 0
