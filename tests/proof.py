"""What was done to break the project, recorded for README's section "How far to trust it".

`make mutants`, `make coverage`, `make soak` and `make fuzz` each write their part with RECORD=1 to
`reports/recorded/proof/<part>.json`; `make readme` makes the section from what is there.
"""

import argparse
import datetime
import json
import tempfile
from pathlib import Path

from helpers import records

FOLDER = records.ROOT / "reports" / "recorded" / "proof"


def record(part: str, found: dict) -> None:
    """Write what a tool found, with the commit and the day."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    records.write_json(FOLDER / f"{part}.json", {**found, "commit": records.commit(), "date": day})


def main() -> None:
    """Report the coverage that the last `make coverage` measured, and record it when asked."""
    import coverage

    parser = argparse.ArgumentParser("tests.proof", description=main.__doc__)
    parser.add_argument("--record", action="store_true", help="for README, with `make readme`")
    options = parser.parse_args()
    measured = coverage.Coverage()
    measured.load()
    measured.combine()  # what processes wrote after the tests were over
    measured.save()
    measured.report()
    with tempfile.TemporaryDirectory() as name:
        measured.json_report(outfile=str(Path(name) / "found.json"))
        total = json.loads((Path(name) / "found.json").read_text())["totals"]
    branches = {"taken": total["covered_branches"], "all": total["num_branches"]}
    lines = {"taken": total["covered_lines"], "all": total["num_statements"]}
    print("branches", branches, "lines", lines)
    if options.record:
        record("coverage", {"branches": branches, "lines": lines})


if __name__ == "__main__":
    main()
