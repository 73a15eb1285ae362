"""Shares in percent, and the difference of two."""

import numpy as np
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from helpers.eda import shares
from helpers.statistics import Interval, wilson


def test_a_percentage_is_close_to_wilsons():
    flags = np.arange(300) < 90
    assert tuple(shares.percentage(flags)) == pytest.approx(tuple(wilson(90, 300).scaled(100)), abs=0.1)


def test_copies_of_a_document_add_nothing():
    flags = np.arange(40) < 20
    names = np.repeat(np.arange(40), 5)
    alone, copied = shares.percentage(flags), shares.percentage(np.repeat(flags, 5), names)
    assert tuple(copied) == pytest.approx(tuple(alone), abs=0.6)
    assert shares.percentage(np.repeat(flags, 5)).half_width < 0.6 * alone.half_width


def test_one_unit_tells_nothing_about_others():
    assert shares.percentage([True, False], ["a", "a"]) == Interval(50, 0, 100)


@pytest.mark.parametrize(("a", "b"), [((80, 200), (30, 100)), ((3, 50), (0, 60))])
def test_the_difference_is_newcombes(a, b):
    got = shares.difference(*(wilson(*counts).scaled(100) for counts in (a, b)))
    low, high = confint_proportions_2indep(*a, *b, method="newcomb", compare="diff")
    assert (got.low, got.high) == pytest.approx((100 * low, 100 * high), abs=1e-6)
    assert shares.difference(Interval(5, 4, 7), Interval(5, 4, 7)).value == 0
