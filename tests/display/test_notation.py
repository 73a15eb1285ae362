"""Numbers as readers see them."""

import doctest

import pytest

from helpers.display import notation


def test_the_examples_hold():
    failed, tried = doctest.testmod(notation)
    assert tried == 3 and not failed


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (0, 1, "0"), (0.0, 1, "0.0"), (-0.0, 1, "0.0"), (-0.04, 1, "0.0"), (-0.05, 2, "−0.05"),
        (1e6, 0, "1,000,000"),
        (12, 3, "12"), (None, 1, "–"), (float("inf"), 1, "–"), (float("-inf"), 1, "–"),
    ],
)  # fmt: skip
def test_a_number_has_a_true_minus_and_no_nan(value, digits, shown):
    assert notation.number(value, digits) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-1 and (-2) or [-3, -.4]", "−1 and (−2) or [−3, −.4]"),
        ("rows 3-5, 2026-01-02, F1-score, well-known, typed-punct-2", None),
        ("a--1 x-1 1e-5 --jobs -h", None),
    ],
)
def test_only_hyphens_before_numbers_become_minus_signs(text, shown):
    assert notation.minus(text) == (shown or text)


@pytest.mark.parametrize(
    ("largest", "points", "digits"),
    [(71.1, False, 1), (1.0, False, 1), (0.412, False, 3), (0.024, False, 3), (0.8, True, 1),
     (0.00012, False, 6),
     (1234.5, False, 0), (0, False, 1)],
)  # fmt: skip
def test_points_have_one_decimal_and_shares_three(largest, points, digits):
    assert notation.decimals(largest, points=points) == digits


def test_p_values():
    assert [notation.p_value(p) for p in (0.0, 0.0012, 1.0, float("nan"))] == [
        "<\xa0.001",
        "0.001",
        "1.000",
        "–",
    ]
