"""`nunchi ledger` and `nunchi readme`: what they are called with."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path


def ledger(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Recompute every claim of the four studies, and every figure of README, and say which ones hold.

    Claims from published tables are always recomputed; those about the real files if NUNCHI_DATA names a
    folder with them (a minute or two); figures of README from reports/recorded/.

    examples:
      nunchi ledger                                  writes reports/ledger.html
      NUNCHI_DATA=~/nunchi-data nunchi ledger --out claims.html

    exit codes: 0 every verdict is the expected one, 1 some are not (they are named), 2 bad input
    """
    parser.add_argument("--out", type=Path, metavar="FILE", help="the page (default: reports/ledger.html)")
    return _ledger


def readme(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Record the results of the sample and klue suites and update what README.md and README.ko.md quote.

    The results in reports/<suite>/ are copied to reports/recorded/<suite>/, a few kB a notebook, and its key
    figures to reports/figures/; the other records stay as they are. Tables, figures and the values in the
    three findings follow. Where a finding is no longer decided as its sentence says, nothing is written and
    the sentence is named. Commit all together: a test compares them.

    examples:
      nunchi run params/sample && nunchi readme     run the suite, then record it
      git add README*.md reports/recorded reports/figures   what nunchi readme writes

    exit codes: 0 written, 2 bad input
    """
    return _readme


def _ledger(options: Namespace) -> int:
    from helpers import records
    from helpers.batch import rendering
    from helpers.claims import ledger

    out = options.out or records.ROOT / "reports" / "ledger.html"
    if not out.parent.is_dir():
        raise ValueError(f"{out.parent} is not a folder; make it, or name another with --out")
    judge = ledger.Judge()
    findings = [judge.judge(claim) for claim in ledger.read()]
    surprises = [finding for finding in findings if finding.unexpected]
    page = rendering.page(
        "ledger.html.j2", findings=findings, counted=ledger.counted(findings), surprises=surprises
    )
    records.write_text(out, page)
    print(f"{len(findings)} claims: {ledger.counted(findings)}")
    for reason in dict.fromkeys(finding.reason for finding in findings if finding.verdict == "skipped"):
        print(f"skipped: {reason}")
    for finding in surprises:
        claim = finding.claim
        print(
            f"UNEXPECTED {claim.id}: published {claim.published}, found {finding.found}: {finding.verdict}, "
            f"expected {claim.expected}",
            file=sys.stderr,
        )
    print(f"open {out}")
    return 1 if surprises else 0


def _readme(options: Namespace) -> int:
    from helpers import records
    from helpers.claims import recorded

    reports = records.ROOT / "reports"
    for suite in recorded.SUITES:
        names = recorded.record(suite, reports=reports)
        drawn = recorded.draw(suite, reports=reports)
        print(f"{suite}: {', '.join(names) or 'no reports here, the record stays as it is'}")
        print(f"{suite}: {len(drawn)} figures drawn" if drawn else "", end="\n" if drawn else "")
    _screenshots(reports)
    for name, language in recorded.PAGES.items():
        page = records.ROOT / name
        if page.is_file():
            text = page.read_text(encoding="utf-8")
            records.write_text(page, recorded.filled(text, reports=reports, language=language))
    return 0


def _screenshots(reports: Path) -> None:
    """Photograph the pages that READMEs show, where they have been made and there is a browser."""
    import shutil
    import subprocess
    import tempfile

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    for page, picture in (("index.html", "index.png"), ("03_markers/report.html", "03_markers.png")):
        place = reports / "sample" / page
        if not (browser and place.is_file()):
            continue
        with tempfile.TemporaryDirectory() as profile:
            flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
            flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
            flags += [f"--user-data-dir={profile}", "--window-size=1280,800"]
            target = f"--screenshot={reports / 'screenshots' / picture}"
            done = subprocess.run([browser, *flags, target, place.as_uri()], capture_output=True, timeout=120)
        print(f"{picture}: {'taken' if done.returncode == 0 else 'the browser failed, the old one stays'}")
