"""The published rows: their counts, their noise, and what the winner's lead is worth."""

import numpy as np
import pytest

from helpers.relations.published import ROWS, cells, load_grid, margins, missing_cells, noise_band


def test_published_rows_are_all_there_best_first():
    frame = load_grid()
    assert len(frame) == 29
    assert frame["micro_f1"][0].value == pytest.approx(60.6296)
    assert frame["model"][0] == "klue/roberta-base"
    assert frame["model"].nunique() == 5
    hits = frame["accuracy"] * ROWS
    assert np.abs(hits - hits.round()).max() < 0.01  # each accuracy is a whole number of 3,247 rows


def test_noise_band_is_about_two_points_and_narrows_at_the_top():
    band = noise_band(60.63, accuracy=0.618)
    assert band.low < 60.63 < band.high
    assert 1.5 < band.half_width < 2.3
    assert noise_band(99.0, accuracy=0.99).half_width < 0.5
    assert band == noise_band(60.63, accuracy=0.618)


def test_the_winners_margin_is_far_inside_its_band():
    got = margins(load_grid())
    assert got["margin"] == pytest.approx(60.6296 - 60.3333)
    assert got["margin"] < got["half_width"] / 5
    assert got["inside"] > 15


def test_the_grid_is_no_factorial():
    # 5 models × 3 learning rates × 2 lengths × 2 batch sizes = 60 cells, 29 of them run
    assert missing_cells(load_grid()) == 31


def test_the_cells_are_the_published_rows_in_the_names_of_the_backbones():
    owners = ("klue/bert-base", "klue/roberta-base", "kykim/bert-kor-base")
    others = ("monologg/koelectra-base-v3-discriminator", "google-bert/bert-base-multilingual-cased")
    found = cells([*owners, *others])
    assert len(found) == 29 and {name for name, *_ in found} == {*owners, *others}
    assert [longest for *_, longest in found].count(10) == 3
    with pytest.raises(ValueError, match="the five of the study"):
        cells(owners)
