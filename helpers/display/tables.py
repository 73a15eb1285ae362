"""Tables and computed sentences for notebooks: what a reader sees between two figures.

Text from data sets is escaped here, so that a sentence with markup shows as text everywhere.
"""

import hashlib
import html
import math
import re
from typing import Any

import pandas as pd

from helpers.statistics import Comparison, Interval

P_VALUES = ("p", "holm", "p, Holm")  # columns that hold p-values


def table(
    frame: pd.DataFrame, *, caption: str = "", digits: int = 1, best: str | None = None, index: bool = False
):
    """Return `frame` as an escaped table; intervals show as `61.2 [59.8, 62.5]`, true as yes.

    `best` names the column whose largest value makes its row bold. Columns named in P_VALUES show three
    digits, or `< .001`.
    """
    from pandas.io.formats.style import Styler

    # Styler's random ids would make two runs of one notebook differ.
    text = frame.map(lambda value: _cell(value, digits))
    for column in frame.columns.intersection(list(P_VALUES)):
        text[column] = [p_value(p) if isinstance(p, float) else _cell(p, digits) for p in frame[column]]
    identity = hashlib.sha1((caption + text.to_json(orient="split")).encode()).hexdigest()[:8]
    styler = (
        Styler(text, uuid=identity, cell_ids=False).format(escape="html").format_index(escape="html", axis=1)
    )
    styler = styler.format_index(escape="html", axis=0) if index else styler.hide(axis="index")
    numeric = [column for column in frame.columns if _is_numeric(frame[column])]
    styler = styler.set_properties(subset=numeric, **{"text-align": "right", "white-space": "nowrap"})
    if best is not None:
        winner = frame[best].map(lambda value: value[0] if isinstance(value, tuple) else value).idxmax()
        styler = styler.set_properties(subset=pd.IndexSlice[[winner], :], **{"font-weight": "bold"})
    return styler.set_caption(html.escape(caption)) if caption else styler


def comparison(frame: pd.DataFrame, *, caption: str, digits: int = 1):
    """Show a frame of `statistics.compare`: decision, difference, Holm's p, and what would have been found.

    Further columns, say an epoch, stay where they are; the uncorrected p is left out.
    """
    headings = {"than": "against", "p_holm": "p, Holm", "detectable": "detectable ±"}
    found = ["decision", "difference", "p_holm", "detectable"]
    others = [column for column in frame.columns if column not in (*found, "p")]
    return table(frame[[*others, *found]].rename(columns=headings), caption=caption, digits=digits)


def say(template: str, **values: Any):
    """Return a Markdown sentence whose figures are computed: `say("F1 is {f1:.1f}.", f1=f1)`.

    Strings are escaped, so a name or a sentence from the data cannot become markup.
    """
    from IPython.display import Markdown

    return Markdown(template.format(**{name: _inert(value) for name, value in values.items()}))


def p_value(p: float) -> str:
    """Write a p-value for people: zero is never one, and none is a dash."""
    return "–" if p != p else "<\N{NO-BREAK SPACE}.001" if p < 0.001 else f"{p:.3f}"


def intervals(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Spread a column of Intervals into `value`, `low` and `high`, as the plots take them."""
    spread = pd.DataFrame(frame[column].tolist(), columns=["value", "low", "high"], index=frame.index)
    return pd.concat([frame.drop(columns=[column]), spread], axis=1)


def _cell(value: Any, digits: int) -> str:
    if isinstance(value, Interval):
        return format(value, f".{digits}f")
    if isinstance(value, Comparison):
        p = p_value(value.p)
        return f"{value.difference:+.{digits}f}, p {p if p.startswith('<') else f'= {p}'}"
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or (hasattr(value, "dtype") and value.dtype.kind == "b"):
        return "yes" if value else "no"
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, int) or (hasattr(value, "dtype") and value.dtype.kind in "iu"):
        return f"{value:,}"
    return f"{value:,.{digits}f}" if hasattr(value, "__float__") else str(value)


def _is_numeric(column: pd.Series) -> bool:
    return not any(isinstance(value, str | bool) for value in column)


def _inert(value: Any) -> Any:
    """Escape strings for HTML and Markdown; leave numbers to their format."""
    if not isinstance(value, str):
        return value
    return re.sub(r"([\\`*_{}\[\]$|])", r"\\\1", html.escape(value, quote=False))
