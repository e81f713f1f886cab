"""What "the two agree" means for two tensors, in one place."""

from typing import Any

import numpy as np

KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float"}


def assert_agree(a: Any, b: Any, tol: float, what: str = "") -> None:
    """Fail unless `a` is `b`: same shape, same kind, same infinities, no NaN, and |a − b| ≤ tol · max(1, max|b|).

    Args:
        a: what is tested: an array, or a torch tensor.
        b: what it should be, likewise.
        tol: for floats; ids and masks must be equal.
        what: begins the message.
    """
    a, b = _array(a), _array(b)
    assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
    kinds = KINDS[a.dtype.kind], KINDS[b.dtype.kind]
    assert kinds[0] == kinds[1], f"{what}: {kinds[0]}, expected {kinds[1]}"
    if kinds[0] != "float":
        assert np.array_equal(a, b), f"{what}: {a}, expected {b}"
        return
    assert not np.isnan(a).any(), f"{what}: NaN at {np.argwhere(np.isnan(a))[0]}"
    assert not np.isnan(b).any(), f"{what}: NaN is expected at {np.argwhere(np.isnan(b))[0]}"
    infinite = np.isinf(a) | np.isinf(b)
    assert np.array_equal(a[infinite], b[infinite]), f"{what}: infinities {a}, expected {b}"
    a, b = a[~infinite], b[~infinite]
    difference = np.abs(a - b).max(initial=0)
    limit = tol * max(1.0, np.abs(b).max(initial=0))
    assert difference <= limit, f"{what}: differs by {difference:.3g}, allowed {limit:.3g}"


def _array(x: Any) -> np.ndarray:
    return np.asarray(x.detach().cpu().numpy() if hasattr(x, "detach") else x)
