import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest

from helpers.display import figures
from helpers.statistics import Interval

matplotlib.use("Agg")


@pytest.fixture
def ax():
    import matplotlib.pyplot as plt

    figures.use_style()
    figure, ax = figures.figure()
    yield ax
    plt.close(figure)


def draw(ax) -> None:
    """Render for real: a missing glyph is a warning, and here an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax.figure.canvas.draw()


INTERVALS = pd.DataFrame({"이름": ["가", "나"], "value": [1.0, 3.0], "low": [0.5, 2.0], "high": [2.0, 3.5]})


def test_hangul_and_minus_signs_have_glyphs(ax):
    ax.set_title("조사 ‘은/는’ − 값 × 2 ± 0.3 → 뷁")
    ax.plot([-1, 0, 1], [-5, 0, 5])
    draw(ax)


def test_forest_puts_the_best_on_top_with_its_interval(ax):
    figures.forest(INTERVALS.iloc[::-1], ax, label="이름", unit="F1", reference=1.5)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["가", "나"]
    (bars,) = ax.containers[0].lines[2]
    assert sorted(map(tuple, np.array(bars.get_segments())[:, :, 0].tolist())) == [(0.5, 2.0), (2.0, 3.5)]
    draw(ax)


def test_lines_name_up_to_three_at_their_end_and_more_in_a_legend(ax):
    frame = pd.DataFrame({"step": [1, 2] * 4, "F1": range(8), "system": np.repeat(list("abcd"), 2)})
    figures.lines(frame[frame.system < "c"], ax, x="step", y="F1", group="system")
    assert [text.get_text() for text in ax.texts] == [" a", " b"] and ax.get_legend() is None
    figures.lines(frame, ax, x="step", y="F1", group="system")
    assert ax.get_legend() is not None
    draw(ax)


def test_histogram_shares_add_up_to_one_hundred(ax):
    figures.histogram({"train": [1, 2, 3, 1000], "dev": [2, 2]}, ax, unit="characters")
    heights = [polygon.get_xy()[:, 1].max() for polygon in ax.patches]
    assert max(heights) == pytest.approx(100)
    draw(ax)


def test_heatmap_writes_numbers_only_where_they_fit(ax):
    figures.heatmap(pd.DataFrame(np.eye(3)), ax, unit="rows", digits=1)
    assert {text.get_text() for text in ax.texts} == {"0.0", "1.0"}
    ax.clear()
    figures.heatmap(pd.DataFrame(np.eye(40)), ax, unit="rows")
    assert not ax.texts


def test_dumbbell_joins_promise_and_delivery_with_the_best_on_top(ax):
    rows = pd.DataFrame(
        {
            "rule": ["a", "b"],
            "promised": [Interval(0.5, 0.4, 0.6), Interval(0.4, 0.3, 0.5)],
            "delivered": [Interval(0.2, 0.1, 0.3), Interval(0.35, 0.3, 0.4)],
        }
    )
    figures.dumbbell(rows, ax, label="rule", first="promised", second="delivered", unit="F1")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert ax.lines[0].get_xdata().tolist() == [0.5, 0.4]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["promised", "delivered"]
    draw(ax)


def test_scatter_labels_each_mark(ax):
    figures.scatter(
        pd.DataFrame({"x": [1, 2], "y": [3, 4], "n": ["하나", "둘"]}), ax, x="x", y="y", label="n"
    )
    assert [text.get_text() for text in ax.texts] == ["하나", "둘"]
    draw(ax)


def test_a_figure_has_the_same_bytes_twice(tmp_path):
    import matplotlib.pyplot as plt

    figures.use_style()
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        figure, ax = figures.figure()
        figures.forest(INTERVALS, ax, label="이름", unit="F1")
        figure.savefig(file, metadata={"Date": None})
        plt.close(figure)
    assert files[0].read_bytes() == files[1].read_bytes()
