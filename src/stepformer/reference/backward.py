"""The backward pass in NumPy: how a gradient travels through each layer, from its result to its inputs.

Each function takes the gradient of the loss with respect to a layer's result, and what the forward pass knew, and gives
the gradients with respect to the layer's inputs and parameters. The gradient with respect to `x` is called
`x_gradient`; it has the shape of `x`. torch's autograd is the twin. The gradient of cross-entropy, where every
backward pass begins, is in `stepformer.reference.loss`.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from stepformer.ops import (
    divide,
    gelu_slope,
    linear,
    matmul,
    mean,
    merge_heads,
    multiply,
    positive,
    row_total,
    scale,
    share_across_heads,
    split_heads,
    subtract,
    total,
    transpose,
)
from stepformer.recording import scope
from stepformer.reference._finite import check_finite
from stepformer.reference.attention import attend, check_lengths, without_hidden_rows

SLOPES = {"relu": positive, "gelu": gelu_slope}


class LayerGradients(NamedTuple):
    """What a layer passes down, and what it keeps for itself: the gradients of its input and of its parameters."""

    x: np.ndarray
    params: dict[str, np.ndarray]


class AttentionGradients(NamedTuple):
    """The gradients of what attention was given; `params` is empty for attention without projections."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    params: dict[str, np.ndarray]


def linear_backward(output_gradient: np.ndarray, x: np.ndarray, weight: np.ndarray, name: str = "x") -> LayerGradients:
    """Back through a linear layer, `output = x @ weight + bias`.

    Formula: `x_gradient = output_gradient @ weight.T`, `weight_gradient = x.T @ output_gradient` and `bias_gradient =`
    the sum of the rows of `output_gradient`. What all rows share adds up their gradients.

    Args:
        output_gradient: (…, n, d_out) finite numbers.
        x: (…, n, d_in), what the layer was given.
        weight: (d_in, d_out).
        name: what x is called in a recording.

    Returns:
        The gradients: x (…, n, d_in) and, in `params`, "weight" (d_in, d_out) and "bias" (d_out,).

    Raises:
        TypeError: an input does not hold numbers.
        ValueError: shapes do not fit, or a number is not finite.
    """
    check_finite(output_gradient=output_gradient, weight=weight, **{name: x})
    if np.ndim(weight) != 2 or np.shape(x)[-1:] != np.shape(weight)[:1]:
        raise ValueError(
            f"{name} is {np.shape(x)} and weight is {np.shape(weight)}; the rule is (…, n, d_in) and (d_in, d_out)."
        )
    _check_rows(output_gradient, (*np.shape(x)[:-1], np.shape(weight)[-1]), f"{name} @ weight")
    weight_transposed = transpose(weight, name="weight_transposed")
    x_gradient = matmul(output_gradient, weight_transposed, name=f"{name}_gradient")
    x_transposed = transpose(x, name=f"{name}_transposed")
    weight_gradient = _of_all(matmul, x_transposed, output_gradient, name="weight_gradient")
    bias_gradient = _of_all(_add_rows, output_gradient, name="bias_gradient")
    return LayerGradients(x_gradient, {"weight": weight_gradient, "bias": bias_gradient})


def softmax_backward(weights_gradient: np.ndarray, weights: np.ndarray, name: str = "scores") -> np.ndarray:
    """Back through softmax along the last axis.

    Formula: `scores_gradient = weights * (weights_gradient - mean_gradient)`, where `mean_gradient[i] = sum over j of
    weights[i, j] * weights_gradient[i, j]` is the mean of the gradients under the weights. Each row sums to 0. A masked
    score has the weight 0 and gets exactly 0; so does a row that is masked throughout.

    Args:
        weights_gradient: (…, n, m) finite numbers.
        weights: (…, n, m), the result of softmax; each row sums to 1 or to 0.
        name: what the scores are called in a recording.

    Returns:
        (…, n, m), the gradient of the scores.

    Raises:
        TypeError: an input does not hold numbers.
        ValueError: the shapes differ, or a number is not finite.
    """
    check_finite(weights_gradient=weights_gradient, weights=weights)
    _check_rows(weights_gradient, np.shape(weights), "weights", "weights_gradient")
    weighted = multiply(weights, weights_gradient, name="weighted_gradient")
    above_mean = subtract(weights_gradient, row_total(weighted, name="mean_gradient"), name="above_mean")
    return multiply(weights, above_mean, name=f"{name}_gradient")


def attention_backward(
    output_gradient: np.ndarray, query: np.ndarray, key: np.ndarray, value: np.ndarray, weights: np.ndarray
) -> AttentionGradients:
    """Back through scaled dot-product attention, `softmax(mask(query @ key.T / sqrt(d_k))) @ value`.

    Formula: `value_gradient = weights.T @ output_gradient`, `weights_gradient = output_gradient @ value.T`, then
    `softmax_backward` and the scale once more, then `query_gradient = scores_gradient @ key` and `key_gradient =
    scores_gradient.T @ query`. The mask needs no step of its own: a masked score has the weight 0, and softmax passes
    it nothing.

    Args:
        output_gradient: (…, n_q, d_v) finite numbers.
        query: (…, n_q, d_k) finite numbers.
        key: (…, n_k, d_k) with the leading axes of `query`, finite: `visible_key` where keys are hidden.
        value: (…, n_k, d_v) likewise, `visible_value` where keys are hidden.
        weights: (…, n_q, n_k), what attention returned as its weights.

    Returns:
        The gradients of query, key and value, each of its shape; `params` is empty.

    Raises:
        TypeError: an input does not hold numbers.
        ValueError: shapes do not fit, leading axes differ, or a number is not finite.
    """
    check_finite(output_gradient=output_gradient, query=query, key=key, value=value, weights=weights)
    leading = np.shape(query)[:-2]
    n_q, n_k = np.shape(query)[-2], np.shape(key)[-2]
    if not leading == np.shape(key)[:-2] == np.shape(value)[:-2]:
        raise ValueError(
            f"query {np.shape(query)}, key {np.shape(key)} and value {np.shape(value)} must have the same leading axes."
        )
    _check_rows(weights, (*leading, n_q, n_k), "query @ key.T", "weights")
    _check_rows(output_gradient, (*leading, n_q, np.shape(value)[-1]), "weights @ value")
    with scope("attention_backward"):
        value_gradient = matmul(transpose(weights, name="weights_transposed"), output_gradient, name="value_gradient")
        weights_gradient = matmul(output_gradient, transpose(value, name="value_transposed"), name="weights_gradient")
        scaled_gradient = softmax_backward(weights_gradient, weights, name="scaled_scores")
        scores_gradient = scale(scaled_gradient, query, name="scores_gradient")
        query_gradient = matmul(scores_gradient, key, name="query_gradient")
        scores_transposed = transpose(scores_gradient, name="scores_gradient_transposed")
        key_gradient = matmul(scores_transposed, query, name="key_gradient")
        return AttentionGradients(query_gradient, key_gradient, value_gradient, {})


def multi_head_attention_backward(
    output_gradient: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    params: Mapping[str, np.ndarray],
    n_heads: int,
    mask: np.ndarray | None = None,
) -> AttentionGradients:
    """Back through multi-head attention: a linear layer, all heads side by side, and three linear layers.

    Formula: `linear_backward` through w_o, `split_heads` because merging is undone by splitting, `attention_backward`
    in each head, `merge_heads`, `linear_backward` through w_q, w_k and w_v. What the forward pass knew in between is
    computed anew, so nothing has to be kept: less memory for more time, which is called activation checkpointing.
    In self-attention one sequence is query, key and value, and the three gradients add up to that of the sequence.

    Args:
        output_gradient: (…, n_q, d_model) finite numbers.
        query: (…, n_q, d_model) finite numbers.
        key: (…, n_k, d_model), finite except at keys masked for every query.
        value: (…, n_k, d_model), finite likewise.
        params: as for `multi_head_attention`.
        n_heads: number of heads.
        mask: booleans (…, n_q, n_k), True = may attend.

    Returns:
        The gradients of query, key and value, each of its shape, and of every parameter by its name.

    Raises:
        TypeError: the mask is not boolean, or an input does not hold numbers.
        ValueError: shapes do not fit, leading axes differ, or a number that counts is not finite.
    """
    check_lengths(query, key, value)
    with scope("multi_head_attention_backward"):
        key, value = without_hidden_rows(query, key, value, mask)
        given, heads = {"query": query, "key": key, "value": value}, {}
        with scope("again"):
            for role, x in given.items():
                weight, bias = (params[f"w_{role[0]}.{kind}"] for kind in ("weight", "bias"))
                projected = linear(x, weight, bias, name=f"projected_{role}")
                heads[role] = split_heads(projected, n_heads=n_heads, name=f"{role}_heads")
            mask = None if mask is None else share_across_heads(mask, name="mask_for_heads")
            attended = attend(*heads.values(), mask)
            merged = merge_heads(attended.output, name="merged_heads")
        of_params = {}

        def through(layer: str, gradient: np.ndarray, x: np.ndarray, name: str) -> np.ndarray:
            with scope(layer):
                back = linear_backward(gradient, x, params[f"{layer}.weight"], name)
            of_params.update(_in_layer(layer, back.params))
            return back.x

        merged_gradient = through("w_o", output_gradient, merged, "merged_heads")
        heads_gradient = split_heads(merged_gradient, n_heads=n_heads, name="heads_gradient")
        of_heads = attention_backward(heads_gradient, *heads.values(), attended.weights)
        gradients = {}
        for role, x in given.items():
            projected_gradient = merge_heads(getattr(of_heads, role), name=f"projected_{role}_gradient")
            gradients[role] = through(f"w_{role[0]}", projected_gradient, x, role)
        return AttentionGradients(**gradients, params=of_params)


def feed_forward_backward(
    output_gradient: np.ndarray,
    x: np.ndarray,
    expanded: np.ndarray,
    hidden: np.ndarray,
    params: Mapping[str, np.ndarray],
    activation: str = "relu",
) -> LayerGradients:
    """Back through the feed-forward network, `activation(x @ w_1 + b_1) @ w_2 + b_2`.

    Formula: through the second linear layer, then `expanded_gradient = hidden_gradient * slope(expanded)`, then through
    the first. The slope of ReLU is 1 above 0 and 0 elsewhere.

    Args:
        output_gradient: (…, n, d_out) finite numbers.
        x: (…, n, d_model), what the network was given.
        expanded: (…, n, d_ff), its hidden layer before the activation.
        hidden: (…, n, d_ff), the same after it.
        params: "w_1.weight" (d_model, d_ff) and "w_2.weight" (d_ff, d_out); biases are not needed.
        activation: "relu" or "gelu", as in the forward pass.

    Returns:
        The gradients of x and, in `params`, of "w_1.weight", "w_1.bias", "w_2.weight" and "w_2.bias".

    Raises:
        TypeError: an input does not hold numbers.
        ValueError: shapes do not fit, a number is not finite, or there is no such activation.
    """
    if activation not in SLOPES:
        raise ValueError(f"activation is {activation!r}; it must be one of {', '.join(SLOPES)}.")
    check_finite(expanded=expanded)
    _check_rows(expanded, np.shape(hidden), "hidden", "expanded")
    with scope("feed_forward_backward"):
        with scope("w_2"):
            second = linear_backward(output_gradient, hidden, params["w_2.weight"], "hidden")
        slope = SLOPES[activation](expanded, name="slope")
        expanded_gradient = multiply(second.x, slope, name="expanded_gradient")
        with scope("w_1"):
            first = linear_backward(expanded_gradient, x, params["w_1.weight"])
        return LayerGradients(first.x, _in_layer("w_1", first.params) | _in_layer("w_2", second.params))


def layer_norm_backward(
    output_gradient: np.ndarray, normalised: np.ndarray, deviation: np.ndarray, gain: np.ndarray
) -> LayerGradients:
    """Back through a layer norm, `output = gain * normalised + bias` with `normalised = (x - mean) / deviation`.

    Formula: with `h = output_gradient * gain`, `x_gradient = (h - mean(h) - normalised * mean(h * normalised)) /
    deviation`, means over each row: x moves its own mean and its own deviation, and what only they would undo is taken
    away. `gain_gradient` and `bias_gradient` are sums over the rows of `output_gradient * normalised` and of
    `output_gradient` (from Ba et al. 2016, eq. 4, by the chain rule).

    Args:
        output_gradient: (…, n, d) finite numbers.
        normalised: (…, n, d), the rows with mean 0 and variance 1, before gain and bias.
        deviation: (…, n, 1), what the rows were divided by: the root of their variance plus eps.
        gain: (d,).

    Returns:
        The gradients of x (…, n, d) and, in `params`, of "gain" and "bias", (d,) each.

    Raises:
        TypeError: an input does not hold numbers.
        ValueError: shapes do not fit, a number is not finite, or a deviation is 0.
    """
    check_finite(output_gradient=output_gradient, normalised=normalised, deviation=deviation, gain=gain)
    _check_rows(output_gradient, np.shape(normalised), "normalised")
    _check_rows(deviation, (*np.shape(normalised)[:-1], 1), "one column beside normalised", "deviation")
    if np.shape(gain) != np.shape(normalised)[-1:]:
        raise ValueError(f"gain has shape {np.shape(gain)}; it must be ({np.shape(normalised)[-1]},).")
    with scope("layer_norm_backward"):
        normalised_gradient = multiply(output_gradient, gain, name="normalised_gradient")
        mean_gradient = mean(normalised_gradient, name="mean_gradient")
        without_mean = subtract(normalised_gradient, mean_gradient, name="without_mean")
        mean_along = mean(multiply(normalised_gradient, normalised, name="along"), name="mean_along")
        stretch = multiply(normalised, mean_along, name="stretch")
        without_stretch = subtract(without_mean, stretch, name="without_stretch")
        x_gradient = divide(without_stretch, deviation, name="x_gradient")
        of_each = multiply(output_gradient, normalised, name="gain_gradient_of_each")
        gain_gradient = _of_all(_add_rows, of_each, name="gain_gradient")
        bias_gradient = _of_all(_add_rows, output_gradient, name="bias_gradient")
        return LayerGradients(x_gradient, {"gain": gain_gradient, "bias": bias_gradient})


# ---- shared by the layers -----------------------------------------------------------------------------------------


def _add_rows(x: np.ndarray, name: str | None) -> np.ndarray:
    return total(x, axis=-2, name=name)


def _of_all(op: Callable[..., np.ndarray], *arrays: np.ndarray, name: str) -> np.ndarray:
    """The result of an op, added up over the leading axes: sentences of a batch share their parameters as rows do."""
    extra = max(np.ndim(array) for array in arrays) - 2
    gradient = op(*arrays, name=None if extra else name)
    for left in reversed(range(extra)):
        gradient = total(gradient, axis=0, name=None if left else name)
    return gradient


def _in_layer(layer: str, gradients: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{layer}.{name}": gradient for name, gradient in gradients.items()}


def _check_rows(given: np.ndarray, expected: tuple[int, ...], of: str, name: str = "output_gradient") -> None:
    """A gradient has the shape of the thing: the first rule of every backward pass."""
    if np.shape(given) != expected or len(expected) < 2:
        raise ValueError(f"{name} has shape {np.shape(given)}; it must have that of {of}, {expected}.")
