"""One rule for every number that is shown; the player's twin is compared with it in tests/parity."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepformer.formatting import format_cell, format_number, stable_round

MINUS = "\u2212"


@pytest.mark.parametrize(
    ("x", "decimals", "text"),
    [
        (0.0, 2, "0.00"),
        (-0.0, 2, "0.00"),
        (1.0, 2, "1.00"),
        (-1.0, 2, f"{MINUS}1.00"),
        (3.14159, 0, "3"),
        (3.14159, 4, "3.1416"),
        (-0.004, 2, "0.00"),
        (-0.005, 2, f"{MINUS}0.01"),
        (-1e-17, 2, "0.00"),
        (0.994, 2, "0.99"),
        (0.995, 2, "1.00"),
        (9.999, 2, "10.00"),
        (1234.5, 2, "1234.50"),
        (0.07, 1, "0.1"),
        (math.inf, 2, "∞"),
        (-math.inf, 2, f"{MINUS}∞"),
        (math.nan, 2, "NaN"),
        (5e-324, 2, "0.00"),
    ],
)
def test_a_number_is_shown_with_its_decimals_and_a_true_minus(x, decimals, text):
    assert format_number(x, decimals) == text


@pytest.mark.parametrize("x", [0.005, 0.125, 0.375, 1.005, 2.675, 1.115, 8.345])
def test_a_tie_goes_up_in_magnitude_even_where_its_last_bits_lie_below(x):
    """0.125 is exact; 1.005 is stored as 1.00499999999999989…; a computed one may lie on either side."""
    up = f"{math.floor(x * 1000 + 0.5) // 10 * 0.01 + 0.01:.2f}"
    for near in (x, np.nextafter(x, 0), np.nextafter(x, 9), x * (1 - 1e-15), x * (1 + 1e-15)):
        assert format_number(near) == up
        assert format_number(-near) == MINUS + up


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (999_999.99, "999999.99"),
        (999_999.994, "999999.99"),
        (999_999.999, "1000000.00"),
        (1e6, "1.00e6"),
        (1.25e6, "1.25e6"),
        (-1.25e6, f"{MINUS}1.25e6"),
        (1.255e6, "1.26e6"),
        (9.994e6, "9.99e6"),
        (9.995e6, "1.00e7"),
        (9.9999e9, "1.00e10"),
        (1e23, "1.00e23"),
        (1.7976931348623157e308, "1.80e308"),
    ],
)
def test_a_million_and_more_is_shown_with_an_exponent(x, text):
    assert format_number(x) == text
    assert format_number(x, 4) == text or abs(x) < 1e6


def test_fewer_than_no_decimals_are_refused():
    with pytest.raises(ValueError, match="decimals is -1"):
        format_number(1.0, -1)


@given(st.floats(-1e6, 1e6, exclude_min=True, exclude_max=True), st.integers(0, 6))
def test_what_is_shown_is_near_the_number_and_never_a_negative_zero(x, decimals):
    text = format_number(x, decimals)
    shown = float(text.replace(MINUS, "-"))
    assert abs(shown - x) <= (0.5 + 2e-7) * 10**-decimals + 1e-9
    assert "-" not in text
    assert shown != 0 or MINUS not in text
    assert len(text.partition(".")[2]) == decimals


@pytest.mark.parametrize(
    ("x", "dtype", "text"),
    [
        (True, "bool", "✓"),
        (np.False_, "bool", "·"),
        (7, "int", "7"),
        (np.int64(-3), "int", f"{MINUS}3"),
        (2_000_000, "int", "2000000"),
        (np.float32(0.5), "float", "0.50"),
        (np.float64(-np.inf), "float", f"{MINUS}∞"),
    ],
)
def test_a_cell_is_shown_by_its_kind(x, dtype, text):
    assert format_cell(x, dtype) == text


def test_a_cell_takes_decimals():
    assert format_cell(0.12345, "float", 3) == "0.123"


def test_stable_round_gives_what_is_shown():
    x = np.array([[0.125, -0.125, 1.005], [-1e-17, 2.5, -3.14159]])
    assert stable_round(x, 2).tolist() == [[0.13, -0.13, 1.01], [0.0, 2.5, -3.14]]
    assert not np.signbit(stable_round(x, 2)[1, 0])
    assert stable_round(x, 0).tolist() == [[0.0, 0.0, 1.0], [0.0, 3.0, -3.0]]
    assert stable_round(0.125, 2) == 0.13
