"""How every number of the book is shown: one rule, the same in Python and in the player (`web/tensor.js`)."""

import math

import numpy as np

MINUS = "\u2212"
INFINITY = "\u221e"


def format_number(x: float, decimals: int = 2) -> str:
    """Format one number the way every page, table and player shows it.

    Formula: the magnitude is rounded as `floor(|x| * 10**decimals + 0.5 + 1e-7)`. The tiny addend makes ties
    (0.125) round up in magnitude even when the last bits of a computed value differ between two machines.

    Args:
        x: one finite number, or an infinity or NaN, which are shown as symbols.
        decimals: digits after the point, 0 or more.

    Returns:
        Text with a true minus sign, never "−0.00"; magnitudes of a million and more in exponent form.

    Raises:
        ValueError: `decimals` is negative.
    """
    if decimals < 0:
        raise ValueError(f"format_number: decimals is {decimals}; it must be 0 or more.")
    if math.isnan(x):
        return "NaN"
    sign = MINUS if x < 0 else ""
    magnitude = abs(float(x))
    if math.isinf(magnitude):
        return sign + INFINITY
    if magnitude >= 1e6:
        exponent = math.floor(math.log10(magnitude))
        mantissa = _fixed(magnitude / 10.0**exponent, 2)
        if mantissa == "10.00":
            mantissa, exponent = "1.00", exponent + 1
        return f"{sign}{mantissa}e{exponent}"
    text = _fixed(magnitude, decimals)
    return text if float(text) == 0 else sign + text


def _fixed(magnitude: float, decimals: int) -> str:
    units = math.floor(magnitude * 10.0**decimals + 0.5 + 1e-7)
    whole, part = divmod(units, 10**decimals)
    return f"{whole}.{part:0{decimals}d}" if decimals else str(whole)


def format_cell(x: object, dtype: str, decimals: int = 2) -> str:
    """Format one cell of a tensor by the tensor's kind.

    Args:
        x: the cell's value.
        dtype: "float", "int" or "bool", the three kinds a program knows.
        decimals: digits after the point for floats.

    Returns:
        Text: numbers by `format_number`, integers plainly, masks as ✓ (may attend) and · (may not).
    """
    if dtype == "bool":
        return "\u2713" if x else "\u00b7"
    if dtype == "int":
        return str(int(x)).replace("-", MINUS)
    return format_number(float(x), decimals)


def stable_round(x: np.ndarray, decimals: int) -> np.ndarray:
    """Round like `format_number` does, so that stored values compare equal on every CPU.

    Args:
        x: array of finite numbers, any shape.
        decimals: digits after the point to keep.

    Returns:
        Array of the same shape, float64.
    """
    x = np.asarray(x, dtype=float)
    units = np.floor(np.abs(x) * 10.0**decimals + 0.5 + 1e-7)
    return np.copysign(units / 10.0**decimals, x) + 0.0
