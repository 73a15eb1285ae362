"""The look of every figure: one style, a font with Hangul, and a few functions over frames and axes.

Each function draws on the `ax` it is given and returns it; titles, which state the finding, come from
the notebook. What a figure shows is computed elsewhere. Each function also notes in words what it drew, for
readers who do not see it. A report redraws the colours named here for its theme (`batch/drawings.py`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.display import notation, tables

STYLE = Path(__file__).parent / "nunchi.mplstyle"
WIDTH = 8.0  # inches: the width of a report's column
DENSE = 1500  # marks beyond which a layer is drawn as pixels, so that a report stays small
# No other colour may be used for these: a report tells them by their value and gives them its own.
INK, RULE, GROUND = "#1C2025", "#77808A", "#FFFFFE"
MARKERS, DASHES = (
    "osD^vPX*",
    ("-", "--", "-.", ":"),
)  # by group, so that colour is not all that tells them apart
NOTED = 5  # rows told one by one


def use_style() -> None:
    """Apply the style and font; in a notebook, also make figures vector graphics, and frames tables."""
    import matplotlib.pyplot as plt
    from matplotlib import font_manager

    for path in sorted(_font_folder().glob("NanumGothic*.ttf")):
        font_manager.fontManager.addfont(path)
    plt.style.use(STYLE)
    if _in_notebook():
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg", metadata={"Date": None}, bbox_inches=None)
        tables.show_frames()


def figure(rows: int = 1, columns: int = 1, *, height: float = 3.6, description: str = "", **options):
    """Return `(figure, axes)` at the report's width; `height` is in inches for the whole figure.

    `description` says in one or two sentences, with numbers, what the figure shows: it stands under the title
    and is read to those who do not see the figure. Without one, that text is made of what is plotted. It may
    also be set later: `figure.description = …`.
    """
    import matplotlib.pyplot as plt

    from helpers.display.captions import CaptionedFigure

    drawn, axes = plt.subplots(rows, columns, figsize=(WIDTH, height), FigureClass=CaptionedFigure, **options)
    drawn.description = description
    return drawn, axes


def forest(
    frame: pd.DataFrame, ax, *, label: str, unit: str, reference: float | None = None, sort: bool = True
):
    """Draw one dot with its interval per row: columns `label`, `value`, `low`, `high`; the best on top."""
    rows = frame.sort_values("value") if sort else frame.iloc[::-1]
    at = np.arange(len(rows))
    spread = np.abs(rows[["low", "high"]].to_numpy(dtype=float).T - rows["value"].to_numpy(dtype=float))
    ax.errorbar(rows["value"], at, xerr=spread, fmt="o", markersize=6, capsize=3, elinewidth=1.6)
    ax.set_yticks(at, rows[label].astype(str))
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel(unit)
    ax.grid(axis="y", visible=False)
    if reference is not None:
        ax.axvline(reference, color=RULE, linestyle="--", linewidth=1)
    bounds = rows.iloc[::-1][["value", "low", "high"]].to_numpy(dtype=float)
    digits = _digits(bounds)
    told = [
        f"{name} {notation.interval(*row, digits=digits)}"
        for name, row in zip(rows[label][::-1], bounds, strict=True)
    ]
    _note(ax, f"{unit}: {_some(told)}")
    return ax


def dumbbell(frame: pd.DataFrame, ax, *, label: str, first: str, second: str, unit: str):
    """Draw two Intervals per row, joined: `first` a ring, `second` a diamond with bounds; the best on top."""
    rows = frame.iloc[np.argsort([interval.value for interval in frame[second]])]
    at = np.arange(len(rows))
    before = np.array([interval.value for interval in rows[first]])
    after, low, high = np.array(rows[second].tolist()).T
    ax.hlines(at, after, before, color=RULE, linewidth=1)
    ax.plot(before, at, "o", markerfacecolor="none", markersize=7, label=first.replace("_", " "))
    spread = np.abs(np.stack([low, high]) - after)
    ax.errorbar(after, at, xerr=spread, fmt="D", capsize=3, elinewidth=1.6, label=second.replace("_", " "))
    ax.set_yticks(at, rows[label].astype(str))
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel(unit)
    ax.grid(axis="y", visible=False)
    ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside lower right", ncols=2)  # not over a row
    names, old, new = (rows[column].iloc[::-1] for column in (label, first, second))
    digits = _digits(np.array([*old, *new]))
    told = [
        f"{name} {_value(a.value, digits)} → {notation.interval(*b, digits=digits)}"
        for name, a, b in zip(names, old, new, strict=True)
    ]
    _note(ax, f"{unit}, {first} → {second}: {_some(told)}".replace("_", " "))
    return ax


def heatmap(frame: pd.DataFrame, ax, *, unit: str, digits: int = 0, centre: float | None = None):
    """Draw a frame as colours, with the numbers written in while there is room for them."""
    import seaborn as sns

    room = frame.shape[0] <= 32 and frame.shape[1] <= 14
    sns.heatmap(
        frame,
        ax=ax,
        annot=room,
        fmt=f".{digits}f",
        annot_kws={"size": 8},
        cmap="cividis" if centre is None else "RdBu_r",
        center=centre,
        linewidths=0.5,
        linecolor=GROUND,
        cbar_kws={"label": unit},
        rasterized=frame.size > DENSE,
    )
    ax.collections[-1].colorbar.solids.set_rasterized(True)  # 256 steps of colour: 20 kB as vectors
    ax.set(xlabel="", ylabel="")
    ax.grid(visible=False)  # it would show through empty cells
    ax.tick_params(left=False, bottom=False)
    cells = frame.stack().sort_values(ascending=False)
    told = [f"{row} · {column} {_value(value, digits)}" for (row, column), value in cells.head(3).items()]
    _note(ax, f"{unit}: {frame.shape[0]} rows, {frame.shape[1]} columns; largest: {_some(told)}")
    return ax


def lines(frame: pd.DataFrame, ax, *, x: str, y: str, group: str, band: bool = True):
    """Draw y over x, one line per group, with a band where the frame has `low` and `high`.

    Three lines or fewer carry their name at their end; more get a legend.
    """
    groups, told, last, digits = list(frame.groupby(group, sort=False)), [], [], _digits(frame[y])
    for at, (name, rows) in enumerate(groups):
        rows = rows.sort_values(x)
        marker = MARKERS[at % len(MARKERS)] if len(rows) <= 30 else ""
        dashes = DASHES[at % len(DASHES)] if len(groups) > 1 else "-"
        (line,) = ax.plot(rows[x], rows[y], marker=marker, linestyle=dashes, markersize=5, label=name)
        if band and {"low", "high"} <= set(rows.columns):
            ax.fill_between(
                rows[x], rows["low"], rows["high"], color=line.get_color(), alpha=0.15, linewidth=0
            )
        ends = [(rows[x].iloc[end], rows[y].iloc[end]) for end in (0, -1)]
        (x0, y0), (x1, y1) = ends
        told.append(
            f"{name} from {_value(y0, digits)} at {_value(x0)} to {_value(y1, digits)} at {_value(x1)}"
        )
        last.append((*ends[1], str(name)))
    if len(groups) > 3:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        _label_ends(ax, last)
    ax.set(xlabel=x, ylabel=y)
    _note(ax, f"{y} over {x}: {_some(told)}")
    return ax


def histogram(values: Mapping[str, Sequence[float]], ax, *, unit: str, top: float = 99.5):
    """Draw the share of items per bin for each named sample, cut at the `top` percentile."""
    limit = max(np.percentile(list(sample), top) for sample in values.values())
    floor = min(np.min(list(sample)) for sample in values.values())
    edges = np.linspace(floor, max(limit, floor + 1), 41)
    for at, (name, sample) in enumerate(values.items()):
        weights = np.full(len(sample), 100 / len(sample))
        clipped = np.clip(list(sample), edges[0], edges[-1])
        look = {"facecolor": (f"C{at}", 0.3), "edgecolor": f"C{at}", "linestyle": DASHES[at % len(DASHES)]}
        ax.hist(
            clipped, bins=edges, weights=weights, histtype="stepfilled", label=name, linewidth=1.4, **look
        )
    if len(values) > 1:
        ax.legend()
    ax.set(xlabel=unit, ylabel="% of items")
    medians = [f"{name} {_value(np.median(list(sample)))}" for name, sample in values.items()]
    _note(ax, f"Medians, {unit}: {_some(medians)}")
    return ax


def scatter(frame: pd.DataFrame, ax, *, x: str, y: str, label: str | None = None):
    """Draw one mark per row; with `label`, each mark carries its name."""
    ax.scatter(frame[x], frame[y], s=26, alpha=0.8, rasterized=len(frame) > DENSE)
    if label is not None:
        for row in frame[[x, y, label]].itertuples(index=False):
            ax.annotate(str(row[2]), (row[0], row[1]), xytext=(5, 3), textcoords="offset points", fontsize=9)
    ax.set(xlabel=x, ylabel=y)
    ranges = [f"{name} from {_value(frame[name].min())} to {_value(frame[name].max())}" for name in (x, y)]
    _note(ax, f"{len(frame)} marks: {', '.join(ranges)}")
    return ax


def _label_ends(ax, ends: Sequence[tuple[float, float, str]]) -> None:
    """Write names beside the ends of lines, a line of text apart even where two ends are the same."""
    look = {"color": INK, "va": "center", "fontsize": 10}
    for place, (x, y, name) in enumerate(sorted(ends, key=lambda end: end[1])):
        apart = 11 * (place - (len(ends) - 1) / 2)
        ax.annotate(name, (x, y), xytext=(8, apart), textcoords="offset points", **look)


def _note(ax, text: str) -> None:
    """Keep what was drawn, in words, with a figure that has a place for it."""
    getattr(ax.figure, "notes", []).append(text)


def _some(told: Sequence[str]) -> str:
    more = len(told) - NOTED
    return "; ".join(told[:NOTED]) + (f"; and {more} more" if more > 0 else "")


def _digits(values) -> int:
    """Return the decimals that all of these numbers are told with."""
    sizes = np.abs(np.asarray(values, dtype=float))
    return notation.decimals(float(np.max(sizes, initial=0, where=np.isfinite(sizes))))


def _value(value, digits: int | None = None) -> str:
    if not isinstance(value, int | float | np.number):
        return str(value)
    return notation.number(value, _digits([value]) if digits is None else digits)


def _font_folder() -> Path:
    from importlib.util import find_spec

    spec = find_spec("koreanize_matplotlib")  # located, not imported: importing it needs distutils
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "koreanize-matplotlib brings the Hangul font: pip install -r requirements.txt"
        )
    return Path(spec.origin).parent / "fonts"


def _in_notebook() -> bool:
    import sys

    return "ipykernel" in sys.modules
