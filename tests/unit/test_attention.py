"""Attention, in NumPy and in torch, against what is known in closed form and against the mistakes of others."""

import math

import numpy as np
import pytest
import torch
from agreement import assert_agree
from calls import f
from helpers import fault

from stepformer import nn, ops
from stepformer.reference import attention as reference

E = math.e
NAN = math.nan


def numpy_attention(query, key, value, mask=None):
    mask = None if mask is None else np.asarray(mask)
    arrays = [np.asarray(x, dtype=float) for x in (query, key, value)]
    return reference.scaled_dot_product_attention(*arrays, mask)


def torch_attention(query, key, value, mask=None, **options):
    mask = None if mask is None else torch.as_tensor(np.asarray(mask))
    tensors = [torch.as_tensor(np.asarray(x, dtype=float)) for x in (query, key, value)]
    return nn.scaled_dot_product_attention(*tensors, mask, **options)


def torch_attention_with_weights(*inputs):
    return torch_attention(*inputs, need_weights=True)


ALL = pytest.mark.parametrize("attention", [numpy_attention, torch_attention, torch_attention_with_weights])


def agree(attended, output, weights, tol=1e-12):
    assert_agree(attended.output, np.asarray(output, dtype=float), tol, "output")
    if attended.weights is not None:
        assert_agree(attended.weights, np.asarray(weights, dtype=float), tol, "weights")


# ---- closed forms -------------------------------------------------------------------------------------------------


@ALL
def test_equal_scores_give_the_average(attention):
    agree(attention(np.zeros((2, 5)), f(3, 5), f(3, 7)), np.tile(f(3, 7).mean(axis=0), (2, 1)), np.full((2, 3), 1 / 3))


@ALL
def test_one_key_takes_all_the_weight(attention):
    agree(attention(f(4, 5), f(1, 5), f(1, 7)), np.tile(f(1, 7), (4, 1)), np.ones((4, 1)))


@ALL
def test_a_query_far_along_one_key_picks_its_value(attention):
    agree(attention(1e3 * np.eye(3), np.eye(3), f(3, 7)), f(3, 7), np.eye(3))


@ALL
def test_weights_of_two_keys_are_a_logistic_function_of_the_difference_of_their_scores(attention):
    query, key = [[2 * math.log(3), 0.0, 0.0, 0.0]], [[1.0, 0, 0, 0], [0.0, 0, 0, 0]]
    agree(attention(query, key, [[8.0], [4.0]]), [[7.0]], [[0.75, 0.25]])


@ALL
def test_the_order_of_the_keys_does_not_matter(attention):
    order = [2, 0, 1]
    a, b = attention(f(4, 5) / 9, f(3, 5) / 9, f(3, 7)), attention(f(4, 5) / 9, f(3, 5)[order] / 9, f(3, 7)[order])
    assert_agree(b.output, np.asarray(a.output), 1e-12)


@ALL
def test_a_constant_added_to_every_key_does_not_matter(attention):
    a, b = attention(f(4, 5) / 9, f(3, 5) / 9, f(3, 7)), attention(f(4, 5) / 9, f(3, 5) / 9 + 0.5, f(3, 7))
    assert_agree(b.output, np.asarray(a.output), 1e-11)


# ---- what others got wrong ----------------------------------------------------------------------------------------


@fault("ATT-01")
@ALL
def test_a_query_that_may_attend_to_nothing_gets_zeros_and_the_others_are_right(attention):
    with np.errstate(all="raise"):
        x = np.eye(2)
        agree(attention(x, x, [[1, 2], [3, 4]], [[True, False], [False, False]]), [[1, 2], [0, 0]], [[1, 0], [0, 0]])


@fault("ATT-03")
@ALL
def test_a_masked_key_has_no_weight_at_all_even_when_all_are_masked(attention):
    """Masked with −10⁶, a query with no key would average the padding: 1/4 each."""
    query, key, value = [[2.0]], [[0.5], [1.0], [1.5], [2.0]], np.eye(4)
    agree(attention(query, key, value, [[False] * 4]), [[0] * 4], [[0] * 4])
    two = [1 / (1 + E), E / (1 + E), 0, 0]
    agree(attention(query, key, value, [[True, True, False, False]]), [two], [two])


@fault("ATT-05")
@ALL
def test_large_scores_do_not_overflow(attention):
    scores = np.array([[1e4], [9999.0], [-1e4]])
    expected = [[E / (1 + E), 1 / (1 + E), 0.0]]
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        agree(attention([[1.0]], scores, np.eye(3)), expected, expected, 1e-11)


@fault("ATT-07")
@ALL
@pytest.mark.parametrize("where", ["key", "value", "both"])
@pytest.mark.parametrize("junk", [NAN, math.inf, -math.inf])
def test_whatever_stands_at_a_key_that_is_masked_for_all_does_not_reach_the_output(attention, where, junk):
    """0 · NaN is NaN: a weight of zero alone does not keep it out."""
    x = np.arange(8.0).reshape(1, 2, 4)
    key, value = x.copy(), x.copy()
    if where != "value":
        key[0, 1, 0] = junk
    if where != "key":
        value[0, 1, 0] = junk
    mask = np.array([[True, False], [True, False]])
    agree(attention(x, key, value, mask), [[[0, 1, 2, 3]] * 2], [[[1, 0], [1, 0]]])


@pytest.mark.parametrize("junk", [NAN, math.inf, -math.inf])
def test_junk_where_it_counts_is_refused_with_its_place(junk):
    for name, wrong in (("query", 0), ("key", 1), ("value", 2)):
        inputs = [f(2, 4), f(3, 4), f(3, 4)]
        inputs[wrong][1, 2] = junk
        with pytest.raises(ValueError, match=rf"{name} is not finite at \(1, 2\)"):
            numpy_attention(*inputs)
        with pytest.raises(ValueError, match=rf"{name} is not finite at \(1, 2\)"):
            numpy_attention(*inputs, mask=[[True, False, True], [False, True, True]])


@fault("ATT-08")
@ALL
def test_two_new_queries_after_three_cached_keys_see_four_and_five(attention):
    query, key, value = np.zeros((2, 1)), np.zeros((5, 1)), np.arange(5.0)[:, None]
    mask = ops.causal_mask(query, key)
    agree(attention(query, key, value, mask), [[1.5], [2.0]], [[0.25] * 4 + [0], [0.2] * 5])
    mask = ops.causal_mask(query[:1], key)
    agree(attention(query[:1], key, value, mask), [[2.0]], [[0.2] * 5])


@fault("ATT-10")
@ALL
def test_true_means_may_attend(attention):
    """Read the other way round, the first query would see only the future and the last one nothing."""
    x = np.zeros((3, 2))
    weights = [[1, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]
    attended = attention(x, x, np.eye(3), ops.causal_mask(x, x))
    agree(attended, weights, weights)
    assert (np.asarray(attended.output)[0, 1:] == 0).all()


@fault("ATT-11", "MOD-05")
@ALL
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_a_mask_of_numbers_is_refused(attention, dtype):
    x = np.zeros((3, 2))
    with pytest.raises(TypeError, match="boolean"):
        attention(x, x, np.eye(3), np.tril(np.ones((3, 3), dtype=dtype)))


@fault("ATT-15")
@ALL
def test_scores_are_divided_by_the_root_of_the_width_of_a_query(attention):
    query, key = np.array([[8.0, 0.0, 0.0, 0.0]]), np.array([[1.0, 0, 0, 0], [0.0, 1, 0, 0]])
    weights = [[1 / (1 + math.exp(-4)), 1 / (1 + math.exp(4))]]
    assert np.round(weights, 7).tolist() == [[0.9820138, 0.0179862]]
    agree(attention(query, key, np.eye(2)), weights, weights)


@fault("ATT-17")
@pytest.mark.parametrize("need_weights", [False, True])
def test_in_half_precision_the_product_does_not_overflow_before_it_is_scaled(need_weights):
    """40 · 40 · 64 is 102,400, above the largest half-precision number; divided by 8 first it is 12,800."""
    x = torch.full((2, 64), 40.0, dtype=torch.float16)
    value = torch.tensor([[1.0], [3.0]], dtype=torch.float16)
    attended = nn.scaled_dot_product_attention(x, x, value, need_weights=need_weights)
    assert_agree(attended.output, np.full((2, 1), 2.0, dtype=np.float16), 0)
    half = np.full((2, 64), 40.0, dtype=np.float16)
    assert_agree(ops.scale(ops.matmul(half, half.T), half), np.full((2, 2), 12800.0), 0)


@fault("ATT-19")
@ALL
def test_keys_and_values_of_different_lengths_are_refused_with_both_lengths(attention):
    with pytest.raises(ValueError, match=r"key \(5, 8\) has 5 rows and value \(6, 8\) has 6"):
        attention(f(3, 8), f(5, 8), f(6, 8))


@ALL
def test_shapes_that_do_not_fit_are_refused(attention):
    with pytest.raises(ValueError, match=r"query \(3, 8\) and key \(5, 7\) must have the same width"):
        attention(f(3, 8), f(5, 7), f(5, 2))
    with pytest.raises(ValueError, match=r"query has shape \(8,\); it must be \(…, length, width\)"):
        attention(f(8), f(5, 8), f(5, 2))
    with pytest.raises(ValueError, match=r"value has shape \(5,\)"):
        attention(f(3, 8), f(5, 8), f(5))
    with pytest.raises(ValueError, match=r"mask has shape \(5, 3\); for 3 queries and 5 keys"):
        attention(f(3, 8), f(5, 8), f(5, 2), np.ones((5, 3), dtype=bool))


@fault("ATT-22")
@ALL
def test_a_padded_query_gets_an_output_that_is_finite(attention):
    ids = np.array([1, 2, 3, 0])
    attended = attention(f(4, 5) / 9, f(4, 5) / 9, f(4, 7), ops.padding_mask(ids, pad_id=0))
    output = np.asarray(attended.output)
    assert np.isfinite(output).all()
    assert (output[3] != 0).all()


@fault("ATT-23")
@ALL
def test_masked_keys_at_the_end_change_nothing_but_last_bits(attention):
    """The order of a sum may change with its length: closeness is asked for, never equality."""
    query, key, value = f(4, 5) / 9, f(3, 5) / 9, f(3, 7)
    mask = np.ones((1, 13), dtype=bool)
    mask[0, 3:] = False
    longer = [np.concatenate([x, f(10, x.shape[1])]) for x in (key, value)]
    a, b = attention(query, key, value), attention(query, *longer, mask)
    assert_agree(b.output, np.asarray(a.output), 1e-12)


# ---- torch: every mode, every gradient ----------------------------------------------------------------------------


def modules():
    torch.manual_seed(1)
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    multi = nn.MultiHeadAttention(4, 2, dropout=0.3).double()
    with torch.no_grad():
        multi.w_o.bias.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    return x, multi, nn.AdditiveAttention(4, 4, 5).double()


@fault("ATT-01", "MOD-01")
@pytest.mark.parametrize("kind", ["fused", "weights", "multi", "multi with weights", "additive"])
def test_gradients_are_finite_and_zero_for_queries_without_keys(kind):
    x, multi, additive = modules()
    multi.eval()
    run = {
        "fused": lambda q, k, v, m: nn.scaled_dot_product_attention(q, k, v, m),
        "weights": lambda q, k, v, m: nn.scaled_dot_product_attention(q, k, v, m, need_weights=True),
        "multi": lambda q, k, v, m: multi(q, k, v, m),
        "multi with weights": lambda q, k, v, m: multi(q, k, v, m, need_weights=True),
        "additive": lambda q, k, v, m: additive(q, k, v, m),
    }[kind]
    query, key, value = (x.clone().requires_grad_() for _ in range(3))
    mask = torch.ones(2, 3, 3, dtype=torch.bool)
    mask[0, 1] = False
    # A NaN that a later step of the backward pass throws away is an error too: others may look for it.
    with torch.autograd.set_detect_anomaly(True):
        run(query, key, value, mask).output.square().sum().backward()
    for tensor in (query, key, value, *multi.parameters(), *additive.parameters()):
        assert tensor.grad is None or torch.isfinite(tensor.grad).all()
    assert (query.grad[0, 1] == 0).all()
    assert (query.grad[0, 0] != 0).all()


@fault("ATT-07")
@pytest.mark.parametrize("kind", ["fused", "weights", "multi", "multi with weights", "additive"])
@pytest.mark.parametrize("where", ["key", "value"])
def test_junk_at_a_key_masked_for_all_reaches_no_output_and_no_gradient(kind, where):
    x, multi, additive = modules()
    multi.eval()
    run = {
        "fused": lambda q, k, v, m: nn.scaled_dot_product_attention(q, k, v, m),
        "weights": lambda q, k, v, m: nn.scaled_dot_product_attention(q, k, v, m, need_weights=True),
        "multi": lambda q, k, v, m: multi(q, k, v, m),
        "multi with weights": lambda q, k, v, m: multi(q, k, v, m, need_weights=True),
        "additive": lambda q, k, v, m: additive(q, k, v, m),
    }[kind]
    mask = torch.tensor([[True, True, False], [True, False, False], [False, False, False]])
    results = []
    for junk in (0.0, math.nan, math.inf):
        multi.zero_grad()
        additive.zero_grad()
        query, key, value = (x.clone() for _ in range(3))
        (key if where == "key" else value)[:, 2] = junk
        leaves = [tensor.requires_grad_() for tensor in (query, key, value)]
        output = run(*leaves, mask).output
        output.square().sum().backward()
        weights = [p.grad for p in (*multi.parameters(), *additive.parameters()) if p.grad is not None]
        results.append([output, *(tensor.grad for tensor in leaves), *weights])
    for other in results[1:]:
        for a, b in zip(other, results[0], strict=True):
            assert torch.isfinite(a).all()
            assert torch.equal(a, b)


def test_additive_attention_starts_with_parameters_that_are_neither_zero_nor_large():
    torch.manual_seed(0)
    for tensor in nn.AdditiveAttention(5, 7, 11).state_dict().values():
        assert 0.05 < tensor.abs().mean() < 1
