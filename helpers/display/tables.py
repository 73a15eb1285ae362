"""Tables and computed sentences for notebooks: what a reader sees between two figures.

Text from data sets is escaped here, so that a sentence with markup shows as text everywhere. A table says
what it is (caption, headings of rows and columns) and carries its unrounded values as CSV; its look in a
report is the page's affair.
"""

import html
import string
from typing import Any

import pandas as pd

from helpers.display import notation
from helpers.display.notation import p_value as p_value
from helpers.statistics import ROLES, Interval

P_VALUES = ("p", "holm", "p, Holm")  # columns that hold p-values
SIGNED = ("difference",)  # columns whose numbers carry their sign
DECISIONS = (*notation.SHAPES, *ROLES)
# In JupyterLab, which aligns tables to the right by a rule of two classes, hence three; a report drops this.
OWN = ".nunchi.nunchi.nunchi"
LOOK = (
    f"<style scoped>{OWN} :is(th, td, caption) {{text-align: left}} {OWN} .best {{font-weight: bold}} "
    f"{OWN} .number {{text-align: right; white-space: nowrap}}</style>"
)


class Table:
    """A frame as an accessible, escaped table: `data` is the text that is shown."""

    def __init__(self, frame: pd.DataFrame, data: pd.DataFrame, *, caption: str, best: Any, index: bool):
        self.frame, self.data, self.caption, self.best, self.index = frame, data, caption, best, index

    def to_html(self) -> str:
        """Return the table; the index, or a first column of text, is the heading of its rows."""
        columns = [*([self.frame.index] if self.index else []), *_columns(self.frame)]
        shown = [*([self.data.index.map(str)] if self.index else []), *_columns(self.data)]
        headings = [
            str(column.name or "") if isinstance(column, pd.Index) else str(column.name) for column in columns
        ]
        kinds = [_kind(column) for column in columns]
        heads = bool(columns) and (self.index or kinds[0] == "")
        body = []
        for at, row in enumerate(zip(*shown, strict=True)):
            scopes = ["row" if heads and not place else "" for place in range(len(row))]
            cells = [_element(*cell) for cell in zip(row, kinds, scopes, strict=True)]
            best = ' class="best"' if self.best is not None and self.frame.index[at] == self.best else ""
            body.append(f"<tr{best}>{''.join(cells)}</tr>")
        caption = f"<caption>{html.escape(self.caption)}</caption>" if self.caption else ""
        # A heading without a word is a plain cell: a "th" would announce nothing.
        head = "".join(
            _element(text, kind, "col" if text else "") for text, kind in zip(headings, kinds, strict=True)
        )
        return (
            f'{LOOK}<table class="nunchi">{caption}<thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(body)}</tbody></table>"
        )

    def to_csv(self) -> str:
        """Return what was computed, unrounded; an Interval makes three columns: its value, low and high."""
        parts = [self.frame.index.to_series().rename(self.frame.index.name or "")] if self.index else []
        for column in _columns(self.frame):
            if column.map(lambda value: isinstance(value, Interval)).any():
                for at, suffix in enumerate(("", " low", " high")):
                    bounds = column.map(lambda value, at=at: value[at] if isinstance(value, tuple) else value)
                    parts.append(bounds.rename(f"{column.name}{suffix}"))
            else:
                parts.append(column)
        return pd.concat(parts, axis=1).to_csv(index=False, lineterminator="\n") if parts else ""

    def _repr_mimebundle_(self, **_) -> dict[str, str]:
        plain = f"{self.caption}\n{self.data.to_string(index=self.index)}".lstrip()
        return {"text/html": self.to_html(), "text/csv": self.to_csv(), "text/plain": plain}


def table(
    frame: pd.DataFrame,
    *,
    caption: str = "",
    digits: int = 1,
    best: str | None = None,
    index: bool = False,
    within: tuple[float, float] | None = None,
) -> Table:
    """Return `frame` as an escaped table; intervals show as `61.2 [59.8, 62.5]`, true as yes.

    `best` names the column whose largest value makes its row bold. Columns named in P_VALUES show three
    digits, or `< .001`; those in SIGNED a sign; a column named `decision` shows each with its shape. `within`
    is where the values can lie: an interval that reaches beyond, as Student's does, ends there.
    """
    if within is not None:
        frame = frame.map(lambda cell: cell.within(*within) if isinstance(cell, Interval) else cell)
    text = pd.DataFrame(index=frame.index, columns=frame.columns, dtype=object)
    for at, column in enumerate(_columns(frame)):
        text.isetitem(at, pd.Series(_texts(column, digits), index=frame.index, dtype=object))
    winner = None
    if best is not None:
        winner = frame[best].map(lambda value: value[0] if isinstance(value, tuple) else value).idxmax()
    return Table(frame, text, caption=caption, best=winner, index=index)


def comparison(frame: pd.DataFrame, *, caption: str, digits: int = 1) -> Table:
    """Show a frame of `statistics.compare`: the system, the decision, the difference, and from what.

    Further columns of text, say a family, come first, others behind the difference; the plain p is left out.
    """
    headings = {"than": "against", "p_holm": "p, Holm", "detectable": "detectable ±"}
    first, last = ["system", "decision", "difference"], ["than", "p_holm", "detectable"]
    others = [column for column in frame.columns if column not in (*first, *last, "p")]
    groups = [column for column in others if frame[column].map(lambda value: isinstance(value, str)).any()]
    order = [*groups, *first, *(column for column in others if column not in groups), *last]
    shown = [column for column in order if column in frame]
    return table(frame[shown].rename(columns=headings), caption=caption, digits=digits)


def say(template: str, **values: Any):
    """Return a Markdown sentence whose figures are computed: `say("F1 is {f1:.1f}.", f1=f1)`.

    Strings are escaped, so a name or a sentence from the data cannot become markup. The output remembers its
    template and what was filled in, so that a page in another language can fill in its own.
    """
    from IPython.display import Markdown

    writer = _Sentence()
    text = writer.vformat(template, (), {name: _inert(value) for name, value in values.items()})
    return Markdown(text, metadata={"template": template, "fields": writer.written})


def intervals(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Spread a column of Intervals into `value`, `low` and `high`, as the plots take them."""
    spread = pd.DataFrame(frame[column].tolist(), columns=["value", "low", "high"], index=frame.index)
    return pd.concat([frame.drop(columns=[column]), spread], axis=1)


def as_intervals(frame: pd.DataFrame) -> list[Interval]:
    """Gather columns `value`, `low` and `high` into Intervals: `intervals` the other way round."""
    return [Interval(*map(float, row)) for row in frame[["value", "low", "high"]].to_numpy()]


def show_frames() -> None:
    """Let a frame that a cell ends with, in a notebook, look like `table` makes it look."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        formatter = shell.display_formatter.mimebundle_formatter
        formatter.for_type(pd.DataFrame, lambda frame, **_: table(frame, index=True)._repr_mimebundle_())


class _Sentence(string.Formatter):
    """Fills a template, numbers with minus signs, and keeps what each field became: `{f1:.1f}` → `61.2`."""

    def __init__(self) -> None:
        self.written: dict[str, str] = {}

    def parse(self, template: str):
        for literal, name, spec, conversion in super().parse(template):
            if name is not None:
                converted = f"!{conversion}" if conversion else ""
                self.field = f"{{{name}{converted}{':' + spec if spec else ''}}}"
            yield literal, name, spec, conversion

    def format_field(self, value: Any, spec: str) -> str:
        field, text = self.field, format(value, spec)
        self.written[field] = text if isinstance(value, str) else notation.minus(text)
        return self.written[field]


def _columns(frame: pd.DataFrame) -> list[pd.Series]:
    return [frame.iloc[:, at] for at in range(frame.shape[1])]


def _texts(column: pd.Series, digits: int) -> list[str]:
    signed = column.name in SIGNED
    if column.name in P_VALUES:
        return [p_value(p) if isinstance(p, float) else _cell(p, digits, signed) for p in column]
    numbers = [value for value in column if isinstance(value, float) and value == value]
    if column.dtype.kind == "f" and numbers and all(float(value).is_integer() for value in numbers):
        digits = 0  # counts, which a missing one has turned into floats
    return [_cell(value, digits, signed) for value in column]


def _cell(value: Any, digits: int, signed: bool) -> str:
    if isinstance(value, Interval):
        return notation.interval(*value, digits=digits, signed=signed)
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or (hasattr(value, "dtype") and value.dtype.kind == "b"):
        return "yes" if value else "no"
    if value is None or value is pd.NA or value is pd.NaT:
        return notation.NOTHING
    return notation.number(value, digits, signed=signed) if hasattr(value, "__float__") else str(value)


def _kind(column: pd.Series | pd.Index) -> str:
    """Return the class of a column's cells: number, decision, or nothing for text."""
    known = {*DECISIONS, notation.NOTHING}
    if column.name == "decision" and {value for value in column if isinstance(value, str)} <= known:
        return "decision"
    return "" if any(isinstance(value, str | bool) for value in column) else "number"


def _element(text: str, kind: str, scope: str) -> str:
    word = html.escape(text, quote=False)
    if kind == "decision" and text in DECISIONS:
        shape = f'<span aria-hidden="true">{notation.SHAPES[text]} </span>' if text in notation.SHAPES else ""
        kind, word = f"decision {text}", f"{shape}{word}"
    tag, heading = ("th", f' scope="{scope}"') if scope else ("td", "")
    classes = f' class="{kind}"' if kind else ""
    return f"<{tag}{heading}{classes}>{word}</{tag}>"


def _inert(value: Any) -> Any:
    """Escape strings for HTML and Markdown; leave numbers to their format."""
    return notation.inert(value) if isinstance(value, str) else value
