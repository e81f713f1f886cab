"""Checks that a recorded program must pass. The tests run them, and each break-it switch names the one that catches it.

Each takes a trace, compares it with plain NumPy that shares no code with the ops, and raises AssertionError with a
message for the reader.
"""

from collections.abc import Callable

import numpy as np

from stepformer.trace import Trace

Check = Callable[[Trace], None]
CHECKS: dict[str, Check] = {}
"""Every check by name."""


def check(function: Check) -> Check:
    """Register a check under its own name."""
    CHECKS[function.__name__] = function
    return function


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=1e-12))


@check
def scores_are_divided_by_root_d_k(trace: Trace) -> None:
    """The scores handed to softmax are the dot products divided by the square root of the width of one query."""
    width = (trace["query"] if _has(trace, "query") else trace["query_heads"]).shape[-1]
    _require(_close(trace["scaled_scores"], trace["scores"] / width**0.5), "The scores are not divided by √d_k.")


@check
def weights_of_each_query_sum_to_one(trace: Trace) -> None:
    """Along the keys, the weights of every query that may attend to something sum to 1."""
    totals = trace["weights"].sum(axis=-1)
    _require(
        _close(totals, np.ones_like(totals)), f"The weights of the queries sum to {np.round(totals, 2)}, not to 1."
    )


@check
def every_visible_key_has_a_share(trace: Trace) -> None:
    """Softmax is soft: every key that is not masked gets a weight above zero."""
    visible = _visible(trace)
    _require(bool((trace["weights"][visible] > 0).all()), "A key that may be attended to has no weight at all.")


@check
def padding_has_no_weight(trace: Trace) -> None:
    """No query spends any weight on a padding token."""
    wasted = trace["weights"][..., trace["src"] == 0]
    _require(bool((wasted == 0).all()), f"Padding has up to {wasted.max(initial=0):.2f} of the weight.")


@check
def output_is_the_weighted_sum_of_values(trace: Trace) -> None:
    """Each output row is the average of the value rows with the weights of its query."""
    expected = np.einsum("...qk,...kv->...qv", trace["weights"], trace["value"])
    _require(
        _close(trace["attention.output"], expected),
        f"The output {trace['attention.output'].shape} is not the weights times the values {trace['value'].shape}.",
    )


def _has(trace: Trace, name: str) -> bool:
    return any(tensor.name == name for tensor in trace.tensors)


def _visible(trace: Trace) -> np.ndarray:
    shape = trace["weights"].shape
    return np.broadcast_to(trace["src"] != 0, shape) if _has(trace, "src") else np.ones(shape, dtype=bool)
