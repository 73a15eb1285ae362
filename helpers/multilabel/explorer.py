"""Look at a threshold from all sides: precision, recall and F1 of one class over every cut point.

In JupyterLab `explore` shows a class menu and a threshold slider; a report, which has no kernel behind it,
gets the same curves for every class as one figure.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from helpers import records
from helpers.display import figures
from helpers.multilabel.thresholds import checked_labels, checked_scores, cutoffs

POINTS = 200  # cut points drawn per class; the curves are exact at each of them


def curve(y: ArrayLike, p: ArrayLike, *, points: int = POINTS) -> pd.DataFrame:
    """Return threshold, predicted share, precision, recall and F1 at up to `points` scores, ascending."""
    frame = cutoffs(y, p)
    rows = np.unique(np.linspace(0, len(frame) - 1, min(points, len(frame))).round().astype(int))
    return frame.iloc[rows].assign(predicted=lambda cut: cut["predicted"] / np.size(p)).reset_index(drop=True)


def draw(y: ArrayLike, p: ArrayLike, ax, *, marks: Mapping[str, float], title: str = ""):
    """Draw F1, precision and recall over the share of rows predicted, with one mark per named threshold."""
    frame = curve(y, p)
    for name, style in (("precision", ":"), ("recall", "--"), ("F1", "-")):
        ax.plot(frame["predicted"], frame[name], style, label=name, linewidth=2 if name == "F1" else 1.2)
    p = np.asarray(p)
    for colour, (name, threshold) in enumerate(marks.items()):
        share = float((p >= threshold).mean())
        ax.axvline(share, color=f"C{3 + colour}", linewidth=1.4, label=f"{name}")
    # The interesting cuts predict few rows: a square-root axis gives them room.
    ax.set_xscale("function", functions=(np.sqrt, np.square))
    ax.set(xlim=(0, 1), ylim=(0, 1), title=title)
    return ax


def small_multiples(
    labels: NDArray, scores: NDArray, classes: Sequence[str], *, marks: Mapping[str, NDArray]
):
    """Return one figure with the curves of every class; `marks` maps a rule to its threshold per class."""
    columns = min(5, len(classes))
    rows = -(-len(classes) // columns)
    figure, axes = figures.figure(
        rows, columns, height=0.9 + 1.75 * rows, sharex=True, sharey=True, squeeze=False
    )
    for c, (name, ax) in enumerate(zip(classes, axes.flat, strict=False)):
        own = {rule: float(cuts[c]) for rule, cuts in marks.items()}
        draw(labels[:, c], scores[:, c], ax, marks=own)
        ax.set_title(name.replace("_", " "), fontsize=9)
        ax.set_xticks([0.01, 0.1, 0.4, 1.0], ["1 %", "10 %", "40 %", ""], fontsize=8)
    for ax in axes.flat[len(classes) :]:
        ax.set_visible(False)
    handles, names = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize=9, frameon=False)
    figure.suptitle("Where does each rule cut, class by class?")
    figure.description = "; ".join(
        ["Precision, recall and F1 over the share of posts predicted, on a square-root scale"]
        + [_reach(rule, scores, cuts) for rule, cuts in marks.items()]
    )
    return figure


def _reach(rule: str, scores: NDArray, cuts: NDArray) -> str:
    share = (scores >= cuts).mean(axis=0)
    return f"{rule} predicts {share.min():.0%} to {share.max():.0%} of them"


def explore(labels: NDArray, scores: NDArray, classes: Sequence[str], *, marks: Mapping[str, NDArray]):
    """Show the explorer in a live notebook; under the batch runner, show the static figure instead."""
    import matplotlib.pyplot as plt

    if records.in_batch():
        figure = small_multiples(labels, scores, classes, marks=marks)
        plt.close(figure)  # shown once, as the value of the cell
        return figure
    return widget(labels, scores, classes, marks=marks)


def widget(labels: NDArray, scores: NDArray, classes: Sequence[str], *, marks: Mapping[str, NDArray]):
    """Build the explorer: a class menu, a threshold slider, the curves, and what the threshold gives.

    The slider runs over the scores of the chosen class and starts where the first rule cuts it.
    """
    import ipywidgets
    import matplotlib.pyplot as plt
    from IPython.display import display

    wide = ipywidgets.Layout(width="auto")
    menu = ipywidgets.Dropdown(
        options=list(zip(classes, range(len(classes)), strict=True)), description="class"
    )
    slider = ipywidgets.FloatSlider(
        min=0.0, max=1.0, step=0.001, readout_format=".3f", description="threshold", layout=wide
    )

    def start(*_) -> None:
        """Go to where the first rule cuts the chosen class."""
        slider.max = float(min(1.0, 1.05 * np.max(scores[:, menu.value])))
        slider.value = float(next(iter(marks.values()), np.full(len(classes), 0.5))[menu.value])

    start()
    menu.observe(start, names="value")

    def show(chosen: int, threshold: float) -> None:
        y, p = labels[:, chosen], scores[:, chosen]
        figure, ax = figures.figure(height=3.2)
        own = {rule: float(cuts[chosen]) for rule, cuts in marks.items()} | {"slider": threshold}
        draw(y, p, ax, marks=own, title=outcome(y, p, threshold))
        ax.set_xlabel("share of posts predicted, square-root scale")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        display(figure)
        plt.close(figure)

    output = ipywidgets.interactive_output(show, {"chosen": menu, "threshold": slider})
    return ipywidgets.VBox([menu, slider, output], layout=wide)


def outcome(y: ArrayLike, p: ArrayLike, threshold: float) -> str:
    """Say what a threshold gives: rows predicted, precision, recall, F1."""
    p = checked_scores(p)
    y = checked_labels(y, p.size)
    predicted = p >= threshold
    hits, size, gold = int((predicted & y).sum()), int(predicted.sum()), int(y.sum())
    precision, recall = hits / max(size, 1), hits / max(gold, 1)
    return (
        f"{size} of {p.size} posts predicted: precision {precision:.2f}, recall {recall:.2f}, "
        f"F1 {2 * hits / max(size + gold, 1):.3f}"
    )
