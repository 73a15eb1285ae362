"""The answer of a report on one screen: question, verdict, headline figures drawn with their intervals.

The same block opens a report and makes a card of the index. It is made from metrics.json alone; a row with a
decision is an effect and is drawn around its zero, any other is a level.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from helpers.batch import markup
from helpers.display import messages, notation

TOGETHER = 40.0  # rows share a scale if the farthest reaches at most this many times as far as the nearest
MARGIN = 0.05  # of a scale, kept free at both ends
COMPARES = re.compile(r" (?:against|over|−|대) ")  # a name that says itself what it is compared with
# Around (0, 0), about ten units high: a shape for every decision, as colour alone would not tell them apart.
MARKS = {
    "better": "M-5.5 4.5 0-5.5 5.5 4.5z",
    "worse": "M-5.5-4.5 0 5.5 5.5-4.5z",
    "equivalent": "M-5-4H5V-1H-5zM-5 1H5V4H-5z",
    "undecided": "M0-5.5 5.5 0 0 5.5-5.5 0z",
    "": "M-4.5 0A4.5 4.5 0 1 0 4.5 0 4.5 4.5 0 1 0-4.5 0z",
}

Row = Mapping[str, Any]


def summary(metrics: Row, words: messages.Words, annotate: Callable[[str], str] = str) -> dict[str, Any]:
    """Return what the template shows: question, verdict, and `groups` of rows that share a scale."""
    headline = metrics.get("headline", [])
    effects = [row for row in headline if row.get("decision")]
    levels = [row for row in headline if not row.get("decision")]
    points = in_points(headline)
    groups: list[dict[str, Any]] = [
        {
            "kind": kind,
            "unit": unit,
            "rows": [shown(row, scale, words, points=points) for row in rows],
            "ticks": _ticks(scale),
        }
        for kind, (unit, several) in (("effects", _unit(effects)), ("levels", _unit(levels)))
        for rows, scale in _scaled(several, zero=kind == "effects")
    ]
    kinds = [group["kind"] for group in groups]
    for at, group in enumerate(groups):
        group["first"] = group["kind"] not in kinds[:at]  # of its kind: the heading stands above it
    return {
        "question": annotate(markup.inline(metrics.get("question", ""))),
        "verdict": annotate(markup.inline(metrics.get("verdict", ""))),
        "groups": groups,
    }


def in_points(headline: Sequence[Row]) -> bool:
    """Tell whether the scores of a headline go to 100: then its effects are points, however small."""
    return any(_largest(row) >= 1 for row in headline if not _whole(row))


def shown(
    row: Row, scale: tuple[float, float] | None, words: messages.Words, *, points: bool = False
) -> dict[str, Any]:
    """Return one row in words and drawn; `points` as in `notation.decimals`."""
    decision = row.get("decision", "")
    value, interval = figures(row, words, points=points and bool(decision))
    name, than = row["name"], row.get("than", "")
    return {
        "name": name,
        "against": against(name, than, words),
        "decision": decision,
        "word": words.known(decision),
        "shape": messages.SHAPES.get(decision, ""),
        "value": value,
        "interval": interval,
        "plot": plot(row, scale) if scale and row["low"] is not None else "",
    }


def against(name: str, than: str, words: messages.Words) -> str:
    """Return what an effect is compared with, unless its name says so."""
    return "" if than in name or COMPARES.search(name) else words("against", than=than)


def figures(row: Row, words: messages.Words, *, points: bool = False) -> tuple[str, str]:
    """Return a headline figure and its interval with the same decimals; effects carry their sign.

    >>> figures({"value": -0.4, "low": -1.25, "high": 0.5, "decision": "undecided"}, messages.Words())
    ('−0.4', '−1.2 to +0.5')
    """
    digits = 0 if _whole(row) else notation.decimals(_largest(row), points=points)
    signed = bool(row.get("decision"))
    value, *bounds = (notation.number(float(one), digits, signed=signed) for one in _known(row))
    return value, words("between", low=bounds[0], high=bounds[1]) if bounds else ""


def plot(row: Row, scale: tuple[float, float]) -> str:
    """Return a row's interval as a drawing that is as wide as its place: zero, the interval, the value."""
    low, high = scale

    def at(number: float) -> str:
        return f"{100 * (number - low) / (high - low):.1f}%"

    decision = row.get("decision", "")
    zero = f'<line class="zero" x1="{at(0)}" x2="{at(0)}" y1="0" y2="100%"/>' if low <= 0 <= high else ""
    reach = f'<line class="range" x1="{at(row["low"])}" x2="{at(row["high"])}" y1="50%" y2="50%"/>'
    mark = f'<svg x="{at(row["value"])}" y="50%"><path d="{MARKS.get(decision, MARKS[""])}"/></svg>'
    return f'<svg class="plot {decision}" aria-hidden="true">{zero}{reach}{mark}</svg>'


def _unit(rows: Sequence[Row]) -> tuple[str, list[Row]]:
    """Take what all names begin and end with out of them, to be said once: `Real@1: a − b, points`."""
    names = [str(row["name"]) for row in rows]
    before = "".join(re.findall(r"^.*[:,] ", _common(names)))
    after = "".join(re.findall(r", [^,]*$", _common([name[::-1] for name in names])[::-1]))
    if len(rows) < 2 or any(len(name) <= len(before + after) for name in names):
        return "", list(rows)
    inner = slice(len(before), -len(after) or None)
    unit = ", ".join(part for part in (before.strip(":, "), after.strip(", ")) if part)
    return unit, [{**row, "name": name[inner]} for row, name in zip(rows, names, strict=True)]


def _common(names: Sequence[str]) -> str:
    """Return what all names begin with."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in alike)


def _known(row: Row) -> list[float]:
    return [row[name] for name in ("value", "low", "high") if row[name] is not None]


def _largest(row: Row) -> float:
    return max(map(abs, _known(row)))


def _whole(row: Row) -> bool:
    return all(isinstance(number, int) for number in _known(row))


def _scaled(rows: Sequence[Row], *, zero: bool) -> list[tuple[list[Row], tuple[float, float] | None]]:
    """Group rows that can share a scale, in their order; rows without an interval come last and have none."""
    drawn = [row for row in rows if row["low"] is not None]
    plain = [row for row in rows if row["low"] is None]
    groups: list[list[Row]] = []
    for row in drawn:
        for group in groups:
            sizes = [_largest(one) or 1e-9 for one in (*group, row)]
            if max(sizes) <= TOGETHER * min(sizes):
                group.append(row)
                break
        else:
            groups.append([row])
    scaled: list[tuple[list[Row], tuple[float, float] | None]] = [
        (group, _scale(group, zero)) for group in groups
    ]
    return [*scaled, (plain, None)] if plain else scaled


def _scale(rows: Sequence[Row], zero: bool) -> tuple[float, float]:
    ends = [row[side] for row in rows for side in ("low", "high")] + [0.0] * zero
    low, high = min(ends), max(ends)
    air = (high - low) * MARGIN or 1.0
    return low - air, high + air


def _ticks(scale: tuple[float, float] | None) -> list[tuple[str, str]]:
    """Return two to five round numbers of a scale, each with its place in percent."""
    if scale is None:
        return []
    for parts in (5, 10):  # finer where only one number would be inside
        if len(ticks := _round(*scale, parts)) > 1:
            break
    return ticks


def _round(low: float, high: float, parts: int) -> list[tuple[str, str]]:
    rough = (high - low) / parts
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    digits = max(0, -math.floor(math.log10(step)))
    first, last = math.ceil(low / step), math.floor(high / step)
    ticks = [(place * step, 100 * (place * step - low) / (high - low)) for place in range(first, last + 1)]
    return [(notation.number(float(value), digits), f"{at:.1f}%") for value, at in ticks if 4 <= at <= 96]
