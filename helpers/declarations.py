"""What a notebook decides, declared before it runs: metric, family, margin, and rows to choose and report on.

A declaration is also the only way to choose: scores of rows that are reported on are refused.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from helpers import statistics

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a notebook will decide and on which rows, written down before anything is trained."""

    metric: str  # the one that decides, with its unit
    systems: tuple[str, ...]  # one family: p-values are corrected over its comparisons
    reference: str | None = None  # each system is compared with this one; None: every pair
    margin: float  # differences smaller than this would not matter even if they were real
    roles: Mapping[str, str] = field(default_factory=dict)  # systems without a verdict: one of ROLES
    choosing: Collection[Hashable] = ()  # ids of the rows on which anything is chosen
    reporting: Collection[Hashable]  # ids of the rows that the scores are reported on

    def __post_init__(self):
        both = set(self.choosing) & set(self.reporting)
        if both:
            raise ValueError(
                f"{len(both)} rows are declared for choosing and reporting, e.g. {min(map(str, both))!r}: "
                "what is chosen on a row looks too good on it; keep them apart"
            )
        unknown = {self.reference, *self.roles} - {None, *self.systems}
        if unknown:
            raise ValueError(f"{sorted(map(str, unknown))} are not among the systems {list(self.systems)}")
        if self.margin <= 0:
            raise ValueError(f"margin must be above 0, in units of {self.metric}; got {self.margin}")

    def best(self, scores: Mapping[Hashable, float], *, rows: Collection[Hashable]) -> Hashable:
        """Return the name with the highest score; `rows` are the ids of the rows behind the scores."""
        reported = set(rows) & set(self.reporting)
        if reported:
            raise ValueError(
                f"these scores come from {len(reported)} of the {len(set(self.reporting))} rows that are "
                "reported on; choose on the rows declared for choosing"
            )
        return max(scores, key=scores.__getitem__)

    def compare(
        self,
        systems: Mapping[str, statistics.Runs],
        score: statistics.Score,
        *,
        clusters: Sequence | None = None,
    ) -> "pd.DataFrame":
        """Compare the declared systems, no more and no fewer; columns as in `statistics.compare`."""
        if set(systems) != set(self.systems):
            odd = sorted(set(systems) ^ set(self.systems))
            raise ValueError(f"{odd} are declared and not given, or given and not declared")
        ordered = {name: systems[name] for name in self.systems}
        return statistics.compare(
            ordered,
            score,
            reference=self.reference,
            clusters=clusters,
            margin=self.margin,
            roles=self.roles,
        )

    def table(self) -> "pd.DataFrame":
        """Return the declaration as a frame of two columns, for the report."""
        import pandas as pd

        against = f"each with {self.reference}" if self.reference else "every pair"
        rows = {
            "decides": self.metric,
            "compared": f"{', '.join(self.systems)}: {against}",
            "equivalent within": f"± {self.margin:g}",
            "without a verdict": ", ".join(f"{name} ({role})" for name, role in self.roles.items()) or "none",
            "rows to choose on": f"{len(set(self.choosing)):,}"
            if self.choosing
            else "none: nothing is chosen",
            "rows to report on": f"{len(set(self.reporting)):,}",
        }
        return pd.DataFrame({"": rows.keys(), "declared before training": rows.values()})
