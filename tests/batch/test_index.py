"""The index: a card per notebook, and figures that read well."""

import pytest

from helpers.batch import index


def test_the_index_has_a_card_per_notebook_run_or_not(tmp_path):
    text = index.page("tiny", ["one", "two"], tmp_path)
    assert text.count('<article class="card">') == 2
    assert text.count("not run yet") == 3  # once in the header


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ((71.134, 69.0, 73.2), ("71.1", "69.0 to 73.2")),
        ((0.41234, 0.4, 0.42), ("0.412", "0.400 to 0.420")),
        ((-0.00012, -0.0002, 0.0), ("-0.000120", "-0.000200 to 0.000000")),
        ((9.96, 9.5, 10.2), ("10.0", "9.5 to 10.2")),
        ((32470, None, None), ("32,470", "")),
        ((1234.5, 1200.0, 1300.0), ("1,234", "1,200 to 1,300")),
        ((0.0, 0.0, 0.0), ("0.000", "0.000 to 0.000")),
        ((5, 4, 6), ("5", "4 to 6")),
    ],
)
def test_a_figure_and_its_interval_share_their_decimals(row, shown):
    assert index.figure(*row) == shown
