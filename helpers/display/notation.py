"""How numbers and decisions are written: in tables, sentences, headlines and captions alike.

A minus is a minus sign, a number that is not there is a dash, a whole number has no decimals, and a decision
has a shape beside its word. Imports nothing heavy: the pages use it as well as the notebooks.
"""

import html
import math
import re
from typing import Any

MINUS, NOTHING = "−", "–"
SHAPES = {"better": "▲", "worse": "▼", "equivalent": "≈", "undecided": "?"}
HYPHEN = re.compile(r"(?<![\w.)\]−–-])-(?=\.?\d)")  # before a number, and neither in a range nor in a date


def number(value: Any, digits: int = 1, *, signed: bool = False) -> str:
    """Write one number.

    >>> number(-1234.56), number(0.25, 2, signed=True), number(313054), number(float("nan")), number(-0.04)
    ('−1,234.6', '+0.25', '313,054', '–', '0.0')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    decimals = 0 if float(value).is_integer() and not isinstance(value, float) else digits
    value = round(float(value), decimals) + 0.0  # −0.04 is 0.0, neither −0.0 nor +0.0
    return minus(f"{value:{'+' if signed and value else ''},.{decimals}f}")


def interval(value: float, low: float, high: float, *, digits: int = 1, signed: bool = False) -> str:
    """Write a value with its bounds.

    >>> interval(61.23, 59.8, 62.5), interval(-1, -2, 0.5, signed=True)
    ('61.2 [59.8, 62.5]', '−1.0 [−2.0, +0.5]')
    """
    middle, *bounds = (number(float(one), digits, signed=signed) for one in (value, low, high))
    return f"{middle} [{', '.join(bounds)}]"


def p_value(p: float) -> str:
    """Write a p-value: zero is never one, and none is a dash."""
    return NOTHING if p != p else "<\N{NO-BREAK SPACE}.001" if p < 0.001 else f"{p:.3f}"


def minus(text: str) -> str:
    """Write the hyphens that stand before numbers as minus signs.

    >>> minus("-0.5 [-1.0, +0.2], rows 3-5, on 2026-01-02, typed-punct")
    '−0.5 [−1.0, +0.2], rows 3-5, on 2026-01-02, typed-punct'
    """
    return HYPHEN.sub(MINUS, text)


def inert(text: str) -> str:
    """Escape a text so that it is text in HTML and in Markdown."""
    return re.sub(r"([\\`*_{}\[\]$|])", r"\\\1", html.escape(text, quote=False))


def decimals(largest: float, *, points: bool = False) -> int:
    """Return the decimals of a headline figure: one for points, three for scores between 0 and 1.

    `largest` is the largest magnitude among a value and its bounds; `points` says that the unit is known to
    be points, so that a small difference does not get more decimals than the score it belongs to.
    """
    if largest >= 1000:
        return 0
    if points or largest >= 1 or largest == 0:
        return 1
    return 3 if largest >= 0.001 else 2 - math.floor(math.log10(largest))
