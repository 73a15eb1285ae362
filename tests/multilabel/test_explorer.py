"""The explorer's numbers are scikit-learn's, and it shows something with and without a live kernel."""

import matplotlib
import matplotlib as mpl
import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from helpers.multilabel import explorer

mpl.use("Agg")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    scores = rng.random((120, 3)).round(2)
    return (rng.random((120, 3)) < scores / 2).astype(int), scores


def test_the_curve_is_exact_at_every_point(data):
    y, p = data[0][:, 0], data[1][:, 0]
    frame = explorer.curve(y, p, points=15)
    assert len(frame) == 15 and frame["threshold"].is_monotonic_increasing
    for row in frame.itertuples():
        predicted = p >= row.threshold
        assert row.predicted == pytest.approx(predicted.mean())
        assert row.precision == pytest.approx(precision_score(y, predicted))
        assert row.recall == pytest.approx(recall_score(y, predicted))
        assert row.F1 - f1_score(y, predicted) == pytest.approx(0.0)


def test_a_constant_score_or_an_empty_class_still_has_a_curve():
    assert len(explorer.curve([0, 1], [0.5, 0.5])) == 1
    assert explorer.curve([0, 0], [0.2, 0.5])["F1"].tolist() == [0.0, 0.0]


def test_the_outcome_is_a_sentence_with_the_scores():
    said = explorer.outcome([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], 0.75)
    assert said == "2 of 4 posts predicted: precision 0.50, recall 0.50, F1 0.500"
    assert "0 of 4" in explorer.outcome([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], 2.0)


def test_a_report_gets_one_panel_per_class(data, monkeypatch):
    monkeypatch.setenv("NUNCHI_OUT", "somewhere")
    marks = {"F1 exact": np.array([0.5, 0.6, 0.7])}
    figure = explorer.explore(*data, ["a_b", "c", "d"], marks=marks)
    panels = [ax for ax in figure.axes if ax.get_visible()]
    place = matplotlib.rcParams["axes.titlelocation"]  # the style, if a test before has applied it
    assert [ax.get_title(place) for ax in panels] == ["a b", "c", "d"]
    share = (data[1][:, 0] >= 0.5).mean()
    assert any(np.allclose(line.get_xdata(), share) for line in panels[0].lines), "the mark is where it acts"


def test_a_notebook_gets_a_menu_and_a_slider_that_redraw(data, monkeypatch):
    monkeypatch.delenv("NUNCHI_OUT", raising=False)
    box = explorer.explore(*data, ["a", "b", "c"], marks={"rule": np.array([0.5, 0.6, 0.7])})
    menu, slider, _ = box.children
    assert menu.options == (("a", 0), ("b", 1), ("c", 2))
    assert slider.value == 0.5 and slider.layout.width == "auto", "it starts where the rule cuts"
    menu.value = 2
    assert slider.value == 0.7 and slider.min == 0.0
    assert slider.max == pytest.approx(min(1.0, 1.05 * data[1][:, 2].max()))
    slider.value = 0.25
