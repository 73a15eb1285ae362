"""The look of every figure: one style, a font with Hangul, and a few functions over frames and axes.

Each function draws on the `ax` it is given and returns it; titles, which state the finding, come from
the notebook. What a figure shows is computed elsewhere.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

STYLE = Path(__file__).parent / "nunchi.mplstyle"
WIDTH = 8.0  # inches: the width of a report's column
DENSE = 1500  # marks beyond which a layer is drawn as pixels, so that a report stays small


def use_style() -> None:
    """Apply the style and font; in a notebook, also make figures vector graphics without a date in them."""
    import matplotlib.pyplot as plt
    from matplotlib import font_manager

    for path in sorted(_font_folder().glob("NanumGothic*.ttf")):
        font_manager.fontManager.addfont(path)
    plt.style.use(STYLE)
    if _in_notebook():
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg", metadata={"Date": None}, bbox_inches=None)


def figure(rows: int = 1, columns: int = 1, *, height: float = 3.6, **options):
    """Return `(figure, axes)` at the report's width; `height` is in inches for the whole figure."""
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(WIDTH, height), **options)


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
        ax.axvline(reference, color="#444444", linestyle="--", linewidth=1)
    return ax


def dumbbell(frame: pd.DataFrame, ax, *, label: str, first: str, second: str, unit: str):
    """Draw two Intervals per row, joined: `first` as a ring, `second` as a dot with bounds; best on top."""
    rows = frame.iloc[np.argsort([interval.value for interval in frame[second]])]
    at = np.arange(len(rows))
    before = np.array([interval.value for interval in rows[first]])
    after, low, high = np.array(rows[second].tolist()).T
    ax.hlines(at, after, before, color="#999999", linewidth=1)
    ax.plot(before, at, "o", markerfacecolor="none", markersize=7, label=first.replace("_", " "))
    spread = np.abs(np.stack([low, high]) - after)
    ax.errorbar(after, at, xerr=spread, fmt="o", capsize=3, elinewidth=1.6, label=second.replace("_", " "))
    ax.set_yticks(at, rows[label].astype(str))
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel(unit)
    ax.grid(axis="y", visible=False)
    ax.legend(loc="lower right")
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
        cbar_kws={"label": unit},
        rasterized=frame.size > DENSE,
    )
    ax.set(xlabel="", ylabel="")
    ax.tick_params(left=False, bottom=False)
    return ax


def lines(frame: pd.DataFrame, ax, *, x: str, y: str, group: str, band: bool = True):
    """Draw y over x, one line per group, with a band where the frame has `low` and `high`.

    Three lines or fewer carry their name at their end; more get a legend.
    """
    groups = list(frame.groupby(group, sort=False))
    for name, rows in groups:
        rows = rows.sort_values(x)
        (line,) = ax.plot(rows[x], rows[y], marker="o" if len(rows) <= 30 else "", markersize=4, label=name)
        if band and {"low", "high"} <= set(rows.columns):
            ax.fill_between(
                rows[x], rows["low"], rows["high"], color=line.get_color(), alpha=0.15, linewidth=0
            )
        if len(groups) <= 3:
            end = (rows[x].iloc[-1], rows[y].iloc[-1])
            ax.annotate(f" {name}", end, color=line.get_color(), va="center", fontsize=10)
    if len(groups) > 3:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    ax.set(xlabel=x, ylabel=y)
    return ax


def histogram(values: Mapping[str, Sequence[float]], ax, *, unit: str, top: float = 99.5):
    """Draw the share of items per bin for each named sample, cut at the `top` percentile."""
    limit = max(np.percentile(list(sample), top) for sample in values.values())
    floor = min(np.min(list(sample)) for sample in values.values())
    edges = np.linspace(floor, max(limit, floor + 1), 41)
    for name, sample in values.items():
        weights = np.full(len(sample), 100 / len(sample))
        clipped = np.clip(list(sample), edges[0], edges[-1])
        ax.hist(clipped, bins=edges, weights=weights, histtype="stepfilled", alpha=0.45, label=name)
    if len(values) > 1:
        ax.legend()
    ax.set(xlabel=unit, ylabel="% of items")
    return ax


def scatter(frame: pd.DataFrame, ax, *, x: str, y: str, label: str | None = None):
    """Draw one mark per row; with `label`, each mark carries its name."""
    ax.scatter(frame[x], frame[y], s=26, alpha=0.8, rasterized=len(frame) > DENSE)
    if label is not None:
        for row in frame[[x, y, label]].itertuples(index=False):
            ax.annotate(str(row[2]), (row[0], row[1]), xytext=(5, 3), textcoords="offset points", fontsize=9)
    ax.set(xlabel=x, ylabel=y)
    return ax


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
