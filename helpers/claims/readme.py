"""README's own figures: what its tables say against what a recorded run says."""

from helpers import records
from helpers.claims import recorded
from helpers.claims.files import MissingError

Figures = tuple[float, ...]


def as_recorded(run: str) -> Figures:
    """Whether README's row of a notebook is the one that its record gives: `as_recorded("sample/01_eda")`."""
    suite, notebook = run.split("/")
    runs = recorded.read(suite, reports=records.ROOT / "reports")
    if notebook not in runs:
        raise MissingError(f"the {suite} suite's {notebook} is not recorded yet: run it, then make readme")
    wanted = recorded.row(notebook, runs[notebook]).removesuffix(" |")
    ends = (f"{wanted} |", f"{wanted}<br>")  # without and with a figure under the verdict
    return (float(any(line.startswith(ends) for line in _lines())),)


def _lines() -> list[str]:
    return (records.ROOT / "README.md").read_text(encoding="utf-8").splitlines()
