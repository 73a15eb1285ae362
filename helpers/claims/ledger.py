"""The ledger: claims as `helpers/reference/ledger.csv` lists them, what was found, and a verdict on each.

A verdict is computed: `reproduced` where every figure found is within its tolerance of the published one,
`refuted` where one is not, `not testable here` where nothing recomputes it, `skipped` where a file is
missing. The CSV holds what we expect; a verdict that differs is reported as unexpected.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from helpers import reference
from helpers.claims.files import Files, MissingError

LEDGER = Path(reference.__file__).with_name("ledger.csv")
VERDICTS = ("reproduced", "refuted", "not testable here", "skipped")
WORDS = {"yes": 1.0, "no": 0.0}


class Claim(NamedTuple):
    """One row of the ledger. Figures are written `57.1 / 37.1`, or yes and no."""

    id: str
    study: str
    claim: str
    published: str
    source: str
    recomputed_by: str  # a function of this room, `published.best_real1:mlm_v2`; empty: nothing does here
    tolerance: str  # of every figure, or one each
    expected: str  # verdict
    why: str


class Finding(NamedTuple):
    """A claim with what was found and the verdict that follows."""

    claim: Claim
    found: str  # figures, written as the published ones; empty where nothing was recomputed
    verdict: str
    reason: str

    @property
    def unexpected(self) -> bool:
        return self.verdict not in (self.claim.expected, "skipped")


class Judge:
    """Recomputes claims; the real files are opened when a claim first needs them."""

    @cached_property
    def files(self) -> Files:
        return Files()

    def judge(self, claim: Claim) -> Finding:
        """Recompute a claim and compare it with what was published."""
        if not claim.recomputed_by:
            return Finding(claim, "", "not testable here", claim.why)
        try:
            found = self.recompute(claim)
        except MissingError as error:
            return Finding(claim, "", "skipped", str(error))
        same = within(found, figures(claim.published), figures(claim.tolerance))
        return Finding(claim, written(found, claim.published), "reproduced" if same else "refuted", claim.why)

    def recompute(self, claim: Claim) -> Sequence[float]:
        module, function, argument = parts(claim.recomputed_by)
        given = ([self.files] if module == "files" else []) + ([argument] if argument else [])
        return getattr(import_module(f"helpers.claims.{module}"), function)(*given)


def read() -> list[Claim]:
    """Read every claim, as text."""
    import pandas as pd

    frame = pd.read_csv(LEDGER, dtype=str, keep_default_na=False, encoding="utf-8")
    return [Claim(*row) for row in frame.itertuples(index=False)]


def parts(name: str) -> tuple[str, str, str]:
    """Take `published.best_real1:mlm_v2` apart: module, function, argument."""
    function, _, argument = name.partition(":")
    module, _, function = function.partition(".")
    return module, function, argument


def figures(text: str) -> list[float]:
    """Read `57.1 / 37.1`, or `yes`."""
    return [WORDS[word] if word in WORDS else float(word) for word in text.split(" / ")]


def within(found: Sequence[float], claimed: Sequence[float], tolerance: Sequence[float]) -> bool:
    """Tell whether each figure is as near to the claimed one as its tolerance; as many must be there."""
    allowed = list(tolerance) * len(claimed) if len(tolerance) == 1 else tolerance
    if not len(found) == len(claimed) == len(allowed):
        raise ValueError(
            f"{len(found)} figures found, {len(claimed)} published, {len(allowed)} tolerances: give as many"
        )
    return all(abs(a - b) <= slack + 1e-9 for a, b, slack in zip(found, claimed, allowed, strict=True))


def written(found: Sequence[float], as_in: str) -> str:
    """Write figures with one decimal more than the published ones have, or as yes and no."""
    return " / ".join(map(_figure, found, as_in.split(" / ")))


def _figure(value: float, like: str) -> str:
    if like in WORDS:
        return next(word for word, number in WORDS.items() if number == value)
    decimals = len(like.partition(".")[2])
    return f"{value:.0f}" if float(value).is_integer() and not decimals else f"{value:.{decimals + 1}f}"


def counted(findings: Iterable[Finding]) -> str:
    """Count the verdicts: `41 reproduced, 9 refuted, …`."""
    counts = Counter(finding.verdict for finding in findings)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
