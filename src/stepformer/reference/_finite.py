"""The check that what a layer is given holds numbers, and neither NaN nor infinity."""

import numpy as np

from stepformer.trace import given_array


def check_finite(hidden: np.ndarray | None = None, /, **arrays: np.ndarray) -> None:
    """Refuse inputs that are not finite.

    Args:
        hidden: booleans that broadcast to the inputs: where True, NaN and infinity are let through, as in padding.
        **arrays: what is checked, each under the name that the message is to use.

    Raises:
        TypeError: an input holds something else than numbers.
        ValueError: an input holds NaN or infinity; the message says which, and where.
    """
    for name, array in arrays.items():
        array = given_array(array, name)
        if array.dtype.kind not in "fiu":
            raise TypeError(f"{name} must hold numbers; it is {array.dtype} of shape {array.shape}.")
        wrong = ~np.isfinite(array)
        if hidden is not None:
            wrong = wrong & ~hidden
        if wrong.any():
            where = tuple(int(k) for k in np.argwhere(wrong)[0])
            hint = "" if hidden is None else " Only rows that are masked for every query may hold NaN or infinity."
            raise ValueError(f"{name} is not finite at {where}.{hint}")
