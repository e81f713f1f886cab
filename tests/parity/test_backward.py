"""The backward pass: each layer's gradients equal those of torch's autograd, for all shapes and masks."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from attention_cases import MASKS, random_mask
from torch.nn import functional as F

from stepformer import nn, ops
from stepformer.reference import backward
from stepformer.reference.attention import scaled_dot_product_attention, without_hidden_rows
from stepformer.reference.feed_forward import feed_forward
from stepformer.reference.loss import cross_entropy, cross_entropy_gradient
from stepformer.reference.multi_head_attention import multi_head_attention
from stepformer.reference.normalization import layer_norm

GRADIENTS = 1e-10
LEADING = [(), (2,), (3, 2), (1,), (2, 1, 3)]
SIZES = [(1, 1), (1, 7), (4, 3), (7, 5)]


def drawn(*shapes, seed=0, scale=1.0):
    rng = np.random.default_rng([seed, *shapes[0]])
    return [scale * rng.normal(size=shape) for shape in shapes]


def of_autograd(run, arrays, output_gradient):
    """The gradients that autograd finds for each of the arrays, when `output_gradient` comes back to the result."""
    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    return [x.numpy() for x in torch.autograd.grad(run(*leaves), leaves, torch.tensor(output_gradient))]


def agree(gradients, expected, tol=GRADIENTS):
    for k, (mine, theirs) in enumerate(zip(gradients, expected, strict=True)):
        assert_agree(mine, theirs, tol, f"gradient {k}")


def kept(x, w_1, b_1, activation):
    """What the forward pass of the feed-forward network knows: its hidden layer before and after the activation."""
    expanded = ops.linear(x, w_1, b_1)
    return expanded, getattr(ops, activation)(expanded)


# ---- the layers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_linear(leading, n, d):
    x, weight, bias, g = drawn((*leading, n, d), (d, 5), (5,), (*leading, n, 5))
    back = backward.linear_backward(g, x, weight)
    expected = of_autograd(lambda x, w, b: x @ w + b, (x, weight, bias), g)
    agree((back.x, back.params["weight"], back.params["bias"]), expected)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_softmax(leading, scale):
    scores, g = drawn((*leading, 4, 3), (*leading, 4, 3), scale=scale)
    expected = of_autograd(lambda x: x.softmax(dim=-1), [scores], g)
    agree([backward.softmax_backward(g, ops.softmax(scores))], expected)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_attention(leading, kind, scale):
    query, key, value, g = drawn(
        (*leading, 4, 5), (*leading, 3, 5), (*leading, 3, 7), (*leading, 4, 7), seed=MASKS.index(kind), scale=scale
    )
    mask = random_mask(kind, np.random.default_rng(MASKS.index(kind)), 4, 3, leading)
    weights = scaled_dot_product_attention(query, key, value, mask).weights
    seen = without_hidden_rows(query, key, value, mask)
    back = backward.attention_backward(g, query, *seen, weights)
    allowed = None if mask is None else torch.tensor(mask)
    expected = of_autograd(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, allowed), (query, key, value), g)
    agree(back[:3], expected)
    assert back.params == {}


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("kind", MASKS)
def test_multi_head_attention(leading, kind):
    torch.manual_seed(0)
    module = nn.MultiHeadAttention(6, 2).double()
    query, key, value, g = drawn(
        (*leading, 4, 6), (*leading, 3, 6), (*leading, 3, 6), (*leading, 4, 6), seed=MASKS.index(kind)
    )
    mask = random_mask(kind, np.random.default_rng(MASKS.index(kind)), 4, 3, leading)
    params = arrays_of(module)
    back = backward.multi_head_attention_backward(g, query, key, value, params, 2, mask)
    expected = of_module(module, (query, key, value), g, None if mask is None else torch.tensor(mask))
    agree(back[:3], expected[0])
    assert sorted(back.params) == sorted(expected[1])
    agree([back.params[name] for name in expected[1]], expected[1].values())


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_feed_forward(leading, activation):
    torch.manual_seed(1)
    module = nn.FeedForward(5, 7, activation=activation).double()
    params = arrays_of(module)
    x, g = drawn((*leading, 3, 5), (*leading, 3, 5))
    saved = kept(x, params["w_1.weight"], params["w_1.bias"], activation)
    back = backward.feed_forward_backward(g, x, *saved, params, activation)
    expected = of_module(module, [x], g)
    agree([back.x], expected[0])
    assert sorted(back.params) == sorted(expected[1])
    agree([back.params[name] for name in expected[1]], expected[1].values())


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_layer_norm(leading, scale, eps):
    x, gain, bias, g = drawn((*leading, 3, 5), (5,), (5,), (*leading, 3, 5))
    x = scale * x
    back = backward.layer_norm_backward(g, *normalised(x, eps), gain)
    expected = of_autograd(lambda x, a, b: F.layer_norm(x, (5,), a, b, eps), (x, gain, bias), g)
    agree((back.x, back.params["gain"], back.params["bias"]), expected)


def test_the_normalised_rows_of_the_test_are_those_of_the_layer():
    x, gain, bias = drawn((3, 5), (5,), (5,))
    rows, _ = normalised(x, 1e-5)
    assert_agree(rows * gain + bias, layer_norm(x, {"gain": gain, "bias": bias}), 1e-12)


@pytest.mark.parametrize("pad_id", [None, 0])
def test_softmax_with_cross_entropy(pad_id):
    """Two ways to one gradient: minus log, then softmax; and probabilities minus one-hot."""
    rng = np.random.default_rng(3)
    logits, targets = rng.normal(size=(5, 6)), np.array([3, 4, 5, 2, 0])
    ignore = {} if pad_id is None else {"ignore_index": pad_id}
    expected = of_autograd(lambda z: F.cross_entropy(z, torch.tensor(targets), **ignore), [logits], np.array(1.0))
    short = cross_entropy_gradient(logits, targets, pad_id)
    agree([short], expected)
    real = targets != pad_id
    p = ops.softmax(logits)
    probabilities_gradient = -np.eye(6)[targets] / p * real[:, None] / real.sum()
    agree([backward.softmax_backward(probabilities_gradient, p)], [short])


# ---- a whole block, and a step ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_a_step_of_a_whole_block_is_torchs_and_lowers_the_loss(rate):
    """Self-attention, residual, layer norm, feed-forward, residual, output layer, cross-entropy over padded words."""
    torch.manual_seed(3)
    parts = {
        "self_attention": nn.MultiHeadAttention(6, 2),
        "norm": nn.LayerNorm(6),
        "feed_forward": nn.FeedForward(6, 9),
    }
    block = torch.nn.ModuleDict(parts | {"output": torch.nn.Linear(6, 5)}).double()
    rng = np.random.default_rng(3)
    x, targets = rng.normal(size=(2, 4, 6)), np.array([[1, 2, 3, 4], [4, 1, 0, 0]])
    causal = np.tri(4, dtype=bool)
    params = {part: arrays_of(block[part]) for part in block}

    given = torch.tensor(x, requires_grad=True)
    optimiser = torch.optim.SGD(block.parameters(), lr=rate)
    loss = block_in_torch(block, given, targets, causal)
    loss.backward()

    mine, x_gradient, gradients = block_in_numpy(params, x, targets, causal)
    assert_agree(mine, loss, GRADIENTS)
    assert_agree(x_gradient, given.grad, GRADIENTS)
    for part in block:
        for name, parameter in block[part].named_parameters():
            assert_agree(gradients[part][name], turned(name, parameter.grad.numpy()), GRADIENTS, f"{part}.{name}")

    optimiser.step()
    new = {part: {name: p[name] - rate * gradients[part][name] for name in p} for part, p in params.items()}
    after, _, _ = block_in_numpy(new, x, targets, causal)
    assert_agree(after, block_in_torch(block, given, targets, causal), GRADIENTS)
    assert after < mine


def block_in_torch(block, x, targets, causal):
    attended = block["self_attention"](x, x, x, torch.tensor(causal)).output
    y = block["norm"](x + attended)
    logits = block["output"](y + block["feed_forward"](y))
    return F.cross_entropy(logits.flatten(0, 1), torch.tensor(targets).flatten(), ignore_index=0)


def block_in_numpy(params, x, targets, causal):
    """The loss, the gradient of x, and the gradients of all parameters by part and name."""
    attended = multi_head_attention(x, x, x, params["self_attention"], 2, causal).output
    rows, deviation = normalised(x + attended, 1e-5)
    y = layer_norm(x + attended, params["norm"])
    saved = kept(y, params["feed_forward"]["w_1.weight"], params["feed_forward"]["w_1.bias"], "relu")
    z = y + feed_forward(y, params["feed_forward"])
    logits = ops.linear(z, *params["output"].values())

    logits_gradient = cross_entropy_gradient(logits, targets, 0)
    output = backward.linear_backward(logits_gradient, z, params["output"]["weight"])
    network = backward.feed_forward_backward(output.x, y, *saved, params["feed_forward"])
    norm = backward.layer_norm_backward(output.x + network.x, rows, deviation, params["norm"]["gain"])
    attention = backward.multi_head_attention_backward(norm.x, x, x, x, params["self_attention"], 2, causal)
    x_gradient = norm.x + attention.query + attention.key + attention.value
    of_params = {"self_attention": attention, "norm": norm, "feed_forward": network, "output": output}
    loss = cross_entropy(logits, targets, 0)
    return loss, x_gradient, {part: back.params for part, back in of_params.items()}


# ---- helpers ------------------------------------------------------------------------------------------------------


def normalised(x, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + eps)
    return centred / deviation, deviation


def turned(name, array):
    """torch keeps the weight of a linear layer as (out, in)."""
    return array.T if name.endswith("weight") and array.ndim == 2 else array


def arrays_of(module):
    return {name: turned(name, x.detach().numpy().copy()) for name, x in module.named_parameters()}


def of_module(module, arrays, output_gradient, mask=None):
    """Autograd's gradients of what a module was given, and of its parameters by name, turned as ours lie."""
    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    result = module(*leaves, mask) if mask is not None else module(*leaves)
    names, params = zip(*module.named_parameters(), strict=True)
    found = torch.autograd.grad(getattr(result, "output", result), [*leaves, *params], torch.tensor(output_gradient))
    found = [x.numpy() for x in found]
    of_params = found[len(leaves) :]
    return found[: len(leaves)], {name: turned(name, x) for name, x in zip(names, of_params, strict=True)}
