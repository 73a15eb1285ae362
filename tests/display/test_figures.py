import re
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


@pytest.mark.parametrize("text", ["$$", r"$\frac{1$", "5 $ and 6 $", r"\$ _{"])
def test_text_from_data_is_no_mathematics(ax, text):
    ax.set_title(text)
    ax.set_xticks([0.5], [text])
    ax.text(0.5, 0.5, text)
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
    assert [text.get_text() for text in ax.texts] == ["a", "b"] and ax.get_legend() is None
    assert len({(line.get_marker(), line.get_linestyle()) for line in ax.lines}) == 2, "colour is not all"
    figures.lines(frame, ax, x="step", y="F1", group="system")
    assert ax.get_legend() is not None
    draw(ax)


def test_names_at_the_ends_of_lines_stand_clear_of_marks_and_of_each_other(ax):
    frame = pd.DataFrame({"step": [1, 6] * 3, "F1": [0, 84.9, 0, 84.9, 0, 30.0], "part": list("vvddll")})
    figures.lines(frame, ax, x="step", y="F1", group="part")
    ax.set_ylim(0, 900)  # as another panel with the same axis may
    draw(ax)
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert all(box.x0 - ax.transData.transform((6, 0))[0] > 4 for box in boxes)


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
    (legend,) = ax.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["promised", "delivered"]
    draw(ax)
    assert not legend.get_window_extent().overlaps(ax.get_window_extent()), "no row is under it"


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


def bundle(figure):
    data, metadata = figure._repr_mimebundle_()
    return data["image/svg+xml"], metadata["image/svg+xml"]


def test_a_figure_says_in_words_what_it_shows(ax):
    figures.forest(INTERVALS, ax, label="이름", unit="F1")
    ax.set_title("Does 나 lead?")
    _, words = bundle(ax.figure)
    assert words["title"] == "Does 나 lead?"
    assert words["alt"] == "Does 나 lead? F1: 나 3.0 [2.0, 3.5]; 가 1.0 [0.5, 2.0]."
    ax.figure.description = "나 leads by 2.0 points"
    assert bundle(ax.figure)[1]["alt"] == "Does 나 lead? 나 leads by 2.0 points."


def test_by_hand_a_figure_is_html_that_follows_the_theme_and_in_a_report_it_is_not(ax, monkeypatch):
    figures.lines(pd.DataFrame({"x": [1, 2], "y": [1, 2], "name": "a"}), ax, x="x", y="y", group="name")
    ax.set_title('Does "a" rise?')
    monkeypatch.setenv("NUNCHI_OUT", "somewhere")
    assert set(ax.figure._repr_mimebundle_()[0]) == {"image/svg+xml"}
    monkeypatch.delenv("NUNCHI_OUT")
    first, second = (ax.figure._repr_mimebundle_()[0]["text/html"] for _ in "12")
    assert "stroke: light-dark(#0072b2, #56b4e9)" in first
    assert "fill: var(--jp-layout-color0, #fffffe)" in first
    assert 'role="img" aria-label="Does &quot;a&quot; rise?' in first
    names = [set(re.findall(r'\bid="([^"]+)"', page)) for page in (first, second)]
    assert names[0] and not names[0] & names[1], "two figures of a page share no id"
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', first)) <= names[0]


def test_the_title_can_be_taken_off_the_drawing(ax):
    ax.set_title("A title")
    drawn, words = bundle(ax.figure)
    assert 'id="figure-title"' in drawn and 10 < words["crop"] < 40
    ax.set_title("")
    drawn, words = bundle(ax.figure)
    assert "figure-title" not in drawn and (words["title"], words["crop"]) == ("", 0.0)


def test_of_several_titles_none_speaks_for_the_figure():
    import matplotlib.pyplot as plt

    figure, axes = figures.figure(1, 2, description="Both fall.")
    for place, one in zip(("left", "right"), axes, strict=True):
        one.set_title(place)
    assert bundle(figure)[1] == {
        "title": "",
        "description": "Both fall.",
        "alt": "left. right. Both fall.",
        "crop": 0.0,
    }
    figure.suptitle("Both")
    assert bundle(figure)[1]["title"] == "Both" and bundle(figure)[1]["crop"] > 10
    plt.close(figure)


def test_every_plot_notes_its_numbers(ax):
    frame = pd.DataFrame({"step": [1, 2] * 2, "F1": [0.1, 0.2, 0.3, 0.25], "system": list("aabb")})
    figures.lines(frame, ax, x="step", y="F1", group="system")
    figures.histogram({"train": [1, 2, 3]}, ax, unit="characters")
    figures.scatter(frame, ax, x="step", y="F1")
    figures.heatmap(pd.DataFrame([[1.0, 2.0]], index=["r"], columns=["p", "q"]), ax, unit="rows", digits=1)
    many = pd.DataFrame({"n": list("abcdefgh"), "value": range(8), "low": range(8), "high": range(8)})
    figures.forest(many, ax, label="n", unit="%")
    assert ax.figure.notes == [
        "F1 over step: a from 0.100 at 1 to 0.200 at 2; b from 0.300 at 1 to 0.250 at 2",
        "Medians, characters: train 2.0",
        "4 marks: step from 1 to 2, F1 from 0.100 to 0.300",
        "rows: 1 rows, 2 columns; largest: r · q 2.0; r · p 1.0",
        "%: h 7.0 [7.0, 7.0]; g 6.0 [6.0, 6.0]; f 5.0 [5.0, 5.0]; e 4.0 [4.0, 4.0]; d 3.0 [3.0, 3.0]; "
        "and 3 more",
    ]


def simulated(colour, matrix):
    """Return a colour in Lab as a colour-blind reader sees it (Machado, Oliveira & Fernandes 2009)."""
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(matrix) @ linear, 0, 1)
    to_xyz = [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]
    x, y, z = (
        np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in to_xyz @ seen / [0.9505, 1, 1.0888]
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


DEUTERANOPIA = [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
]
PROTANOPIA = [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
]


def palette(theme):
    """Return the colours of the figures in a report's theme; the light ones are those that are drawn."""
    import re

    from matplotlib import rc_params_from_file

    from helpers.batch import rendering

    css = (rendering.STYLE / "report.css").read_text()
    pairs = re.findall(r"--c\d: light-dark\((#\w+), (#\w+)\)", css)
    drawn = rc_params_from_file(figures.STYLE, use_default_template=False)["axes.prop_cycle"].by_key()[
        "color"
    ]
    assert [light.upper() for light, _ in pairs] == drawn
    return [pair[theme == "dark"] for pair in pairs]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "matrix", [np.eye(3), DEUTERANOPIA, PROTANOPIA], ids=["all", "deuteranopia", "protanopia"]
)
def test_the_first_four_colours_stay_apart_for_every_reader(theme, matrix):
    from itertools import combinations

    seen = [simulated(colour, matrix) for colour in palette(theme)[:4]]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 25
