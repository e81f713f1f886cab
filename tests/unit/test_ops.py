"""The ops against numbers that can be checked by hand. Sizes are distinct primes, so no swapped axis can pass."""

import math

import numpy as np
import pytest
from agreement import assert_agree
from calls import REFUSED, f, random_calls
from helpers import fault

from stepformer import ops
from stepformer.ops import OPS

INF = math.inf
E = math.e


def agree(actual, expected, tol=1e-15):
    assert_agree(actual, np.asarray(expected), tol)


# ---- arithmetic ---------------------------------------------------------------------------------------------------


def test_matmul_meets_rows_with_columns():
    agree(ops.matmul([[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [10, 100]]), [[31.0, 302.0], [64.0, 605.0]])


def test_matmul_drops_the_axis_of_a_vector():
    agree(ops.matmul([2.0, 3.0], [[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]), [32.0, 64.0, 96.0])
    agree(ops.matmul([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [1.0, 10.0]), [21.0, 43.0, 65.0])
    agree(ops.matmul([1.0, 2.0], [3.0, 5.0]), 13.0)


def test_matmul_repeats_leading_axes_of_size_one():
    a, b = f(3, 1, 2, 5), f(7, 5, 11)
    result = ops.matmul(a, b)
    assert result.shape == (3, 7, 2, 11)
    agree(result[2, 4], a[2, 0] @ b[4], 1e-12)


def test_transpose_swaps_the_last_two_axes_only():
    agree(ops.transpose([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
    assert ops.transpose(f(2, 3, 5)).shape == (2, 5, 3)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (ops.add, [[3.0, 4.0, 5.0], [7.0, 8.0, 9.0]]),
        (ops.subtract, [[-1.0, 0.0, 1.0], [1.0, 2.0, 3.0]]),
        (ops.multiply, [[2.0, 4.0, 6.0], [12.0, 15.0, 18.0]]),
        (ops.divide, [[0.5, 1.0, 1.5], [4 / 3, 5 / 3, 2.0]]),
    ],
)
def test_cell_by_cell_ops_repeat_a_size_of_one(op, expected):
    agree(op([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[2.0], [3.0]]), expected)


def test_scale_divides_by_the_root_of_the_width_of_the_query():
    agree(ops.scale([[8.0, 0.0]], f(1, 4)), [[4.0, 0.0]])
    agree(ops.scale([3.0], f(2, 7, 9)), [1.0])


def test_linear_multiplies_row_vectors_and_adds_the_bias_to_each():
    weight = [[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]]
    agree(ops.linear([[1.0, 2.0], [5.0, 7.0]], weight, [10.0, 20.0, 30.0]), [[11.0, 22.0, 38.0], [15.0, 27.0, 61.0]])
    agree(ops.linear([1.0, 2.0], weight, [0.0, 0.0, 0.0]), [1.0, 2.0, 8.0])


def test_add_pairs_adds_every_row_to_every_row():
    result = ops.add_pairs([[1.0, 2.0], [3.0, 4.0]], [[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]])
    agree(result, [[[11, 22], [31, 42.0], [51, 62]], [[13, 24], [33, 44], [53, 64]]])


def test_row_norm_is_the_length_of_each_row():
    agree(ops.row_norm([[3.0, -4.0], [0.0, 0.0], [5.0, 12.0]]), [[5.0], [0.0], [13.0]])
    agree(ops.row_norm([2.0, 3.0, 6.0]), [7.0])


def test_total_adds_up_along_one_axis_which_is_then_gone():
    agree(ops.total([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), [6.0, 15.0])
    agree(ops.total([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], axis=0), [5.0, 7.0, 9.0])
    agree(ops.total([1.0, 2.0, 3.0]), 6.0)
    assert ops.total(f(2, 3, 5), axis=-2).shape == (2, 5)


def test_row_total_adds_up_each_row_and_keeps_a_column():
    agree(ops.row_total([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), [[6.0], [15.0]])
    agree(ops.row_total([1.0, 2.0]), [3.0])
    assert ops.row_total(f(2, 3, 5)).shape == (2, 3, 1)


def test_positive_is_the_slope_of_relu_and_0_at_its_kink():
    agree(ops.positive([[-2.0, 0.0, -0.0], [1e-300, 0.5, INF]]), [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])


def test_gelu_slope_is_half_at_0_and_that_of_relu_far_away():
    agree(ops.gelu_slope([0.0, 40.0, -40.0]), [0.5, 1.0, 0.0])
    agree(ops.gelu_slope([1.0]), [0.8413447460685429 + 0.24197072451914337], 1e-14)


def test_count_rows_counts_the_rows_of_a_matrix():
    assert ops.count_rows(f(2, 3, 5)).item() == 3
    assert ops.count_rows(f(7, 0)).dtype.kind == "i"


def test_copy_keeps_values_and_kind_and_copies():
    for x in (f(2, 3), np.array([1, 2]), np.array([True])):
        assert ops.copy(x) is not x
        assert not np.shares_memory(ops.copy(x), x)
        agree(ops.copy(x), x)


# ---- masks --------------------------------------------------------------------------------------------------------


def test_causal_mask_hides_what_comes_later():
    agree(ops.causal_mask(f(3, 2), f(3, 2)), [[True, False, False], [True, True, False], [True, True, True]])


@fault("ATT-08")
def test_causal_mask_is_aligned_at_the_bottom_right():
    """Two new queries after three cached keys see 4 and 5 keys; aligned top-left they would see 1 and 2."""
    agree(ops.causal_mask(f(2, 1), f(5, 1)), [[True, True, True, True, False], [True] * 5])
    agree(ops.causal_mask(f(1, 1), f(5, 1)), [[True] * 5])
    agree(ops.causal_mask(f(3, 1), f(2, 1)), [[False, False], [True, False], [True, True]])


def test_causal_mask_looks_at_lengths_only():
    agree(ops.causal_mask(f(7, 2, 3), f(5, 3)), [[True] * 4 + [False], [True] * 5])


def test_padding_mask_is_one_row_for_all_queries():
    agree(ops.padding_mask([5, 1, 1], pad_id=1), [[True, False, False]])
    agree(ops.padding_mask([[0, 2], [2, 0]], pad_id=0), [[[False, True]], [[True, False]]])


def test_both_allows_what_both_allow():
    agree(ops.both([[True], [False]], [[True, False, True]]), [[True, False, True], [False, False, False]])


def test_share_across_heads_puts_an_axis_before_the_matrix():
    assert ops.share_across_heads(np.ones((2, 3, 5), dtype=bool)).shape == (2, 1, 3, 5)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (ops.mask, [[1.0, -INF, 3.0], [4.0, -INF, 6.0]]),
        (ops.mask_with_zero, [[1.0, 0.0, 3.0], [4.0, 0.0, 6.0]]),
        (ops.mask_opposite, [[-INF, 2.0, -INF], [-INF, 5.0, -INF]]),
    ],
)
def test_the_right_mask_and_two_wrong_ones(op, expected):
    agree(op([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[True, False, True]]), expected)


def test_a_transposed_mask_hides_queries_instead_of_keys():
    agree(ops.mask_transposed([[1.0, 2.0], [3.0, 4.0]], [[True, False]]), [[1.0, 2.0], [-INF, -INF]])
    agree(ops.mask_transposed([[1.0, 2.0], [3.0, 4.0]], [[True, False], [True, True]]), [[1.0, 2.0], [-INF, 4.0]])


def test_zero_masked_clears_rows_that_no_query_may_see_and_no_others():
    x = np.array([[1.0, 2.0], [np.nan, INF], [3.0, 4.0]])
    agree(ops.zero_masked(x, [[True, False, False], [False, False, True]]), [[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]])
    batch = ops.zero_masked(f(3, 2), np.array([[[True, False, True]], [[False, True, True]]]))
    assert batch.shape == (2, 3, 2)
    agree(batch[0, 1], [0.0, 0.0])
    agree(batch[1, 1], f(3, 2)[1])


# ---- softmax and its kin ------------------------------------------------------------------------------------------


def test_softmax_gives_shares_of_the_exponentials():
    agree(ops.softmax([[0.0, 1.0], [math.log(3), 0.0]]), [[1 / (1 + E), E / (1 + E)], [0.75, 0.25]])
    agree(ops.softmax([[0.0, 5.0], [math.log(3), 5.0]], axis=0), [[0.25, 0.5], [0.75, 0.5]])


@fault("ATT-05")
def test_softmax_of_large_scores_does_not_overflow():
    with np.errstate(all="raise", under="ignore"):
        agree(ops.softmax([1e4, 9999.0, -1e4]), [E / (1 + E), 1 / (1 + E), 0.0], 1e-12)
        agree(ops.softmax([1.0, -10.0, 1000.0]), [0.0, 0.0, 1.0])


@fault("ATT-01", "ATT-03")
def test_softmax_of_nothing_but_masked_scores_is_zero_and_never_nan():
    """Not 0/0, and not 1/4 each, which a large finite number in the place of minus infinity would give."""
    with np.errstate(all="raise"):
        agree(ops.softmax([-INF] * 4), [0.0] * 4)
        agree(ops.softmax([[-INF, -INF], [2.0, -INF]]), [[0.0, 0.0], [1.0, 0.0]])
        agree(ops.softmax([1.0, 2.0, -INF, -INF]), [1 / (1 + E), E / (1 + E), 0.0, 0.0])
        agree(ops.hardmax([[-INF, -INF], [-INF, 2.0]]), [[0.0, 0.0], [0.0, 1.0]])


@fault("MOD-02")
def test_softmax_averaged_gives_every_head_the_mean_of_all():
    scores = [[[0.0, math.log(3)]], [[7.0, 7.0]], [[-INF, 5.0]]]
    agree(ops.softmax_averaged(scores), [[[0.25, 0.75]]] * 3)
    agree(ops.softmax(scores), [[[0.25, 0.75]], [[0.5, 0.5]], [[0.0, 1.0]]])


def test_hardmax_gives_all_to_the_first_of_the_largest():
    agree(ops.hardmax([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]), [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    agree(ops.hardmax([[1.0, 3.0], [1.0, 4.0]], axis=0), [[1.0, 0.0], [0.0, 1.0]])


def test_cross_entropy_is_minus_the_logarithm_of_the_right_probability():
    """Exponentials 1, 2 and 5: the probabilities are 1/8, 2/8 and 5/8."""
    logits = np.log([[1.0, 2.0, 5.0], [5.0, 1.0, 2.0]])
    agree(ops.cross_entropy(logits, [1, 1]), np.log([4.0, 8.0]))
    agree(ops.cross_entropy(np.zeros((1, 7)), [3]), [np.log(7)])


@fault("LS-03")
def test_cross_entropy_of_a_probability_too_small_for_a_number_is_finite():
    """softmax gives e⁻¹⁰⁰⁰ = 0 here, whose logarithm would be −inf; from the logits the loss is 1000."""
    logits = np.array([[1000.0, 0.0]])
    assert ops.softmax(logits)[0, 1] == 0
    with np.errstate(all="raise", under="ignore"):
        agree(ops.cross_entropy(logits, [1]), [1000.0])
        agree(ops.cross_entropy(-logits, [0]), [1000.0])


def test_the_ops_of_recurrent_networks():
    agree(ops.sigmoid([0.0, np.log(3.0), -np.log(3.0), -800.0]), [0.5, 0.75, 0.25, 0.0])
    agree(ops.row([[1.0, 2.0], [3.0, 4.0]], index=1), [3.0, 4.0])
    agree(ops.stack([1.0, 2.0], [3.0, 4.0]), [[1.0, 2.0], [3.0, 4.0]])
    word_then_padding = [[True, False]]
    agree(ops.hold([1.0], [5.0], word_then_padding, index=0), [1.0])
    agree(ops.hold([1.0], [5.0], word_then_padding, index=1), [5.0])


def test_join_pair_goes_from_the_top_and_leaves_gaps_alone():
    a, b, gap = [4.0, 0, 0], [0, 4.0, 0], [0, 0, 0]
    count_ab, count_aa = np.zeros((3, 3)), np.zeros((3, 3))
    count_ab[0, 1] = count_ab[2, 0] = 3.0  # of equal counts the first
    count_aa[0, 0] = 1.0
    agree(ops.join_pair([a, b, a, gap, b, a, b], count_ab, column=2), [[0, 0, 4], a, gap, b, [0, 0, 4], gap, gap])
    agree(ops.join_pair([a, a, a], count_aa, column=1), [[0, 4, 0], a, gap])
    agree(ops.join_pair([a, b], np.zeros((3, 3)), column=2), [a, b])


def test_relu_and_tanh():
    agree(ops.relu([-2.0, 0.0, 3.0]), [0.0, 0.0, 3.0])
    agree(ops.tanh([0.0, math.log(2), -800.0]), [0.0, 0.6, -1.0])


@fault("LN-01")
def test_layer_norm_divides_by_n_and_puts_eps_inside_the_root():
    """The sample variance, or eps outside the root, would give 1.5 instead of 1.73 and 1.16 instead of 1.34."""
    first = 0.75 / math.sqrt(0.1875 + 1e-5)
    agree(ops.layer_norm([1.0, 0.0, 0.0, 0.0], np.ones(4), np.zeros(4)), [first, *[-first / 3] * 3])
    assert round(first, 7) == 1.7320046
    last = 1.5 / math.sqrt(1.25 + 1e-5)
    agree(ops.layer_norm([1.0, 2.0, 3.0, 4.0], np.ones(4), np.zeros(4)), [-last, -last / 3, last / 3, last])
    assert round(last, 7) == 1.3416354


def test_layer_norm_stretches_and_shifts_by_column_and_takes_eps():
    agree(ops.layer_norm([[-1.0, 1.0]], [2.0, 3.0], [10.0, 20.0], eps=3.0), [[9.0, 21.5]])
    agree(ops.layer_norm([[5.0, 5.0, 5.0]], f(3), [1.0, 2.0, 3.0]), [[1.0, 2.0, 3.0]])


@fault("LN-04")
def test_layer_norm_of_a_position_does_not_look_at_other_positions():
    """Normalised over positions, a change of a later token would reach the earlier ones."""
    x = f(5, 7)
    other = x.copy()
    other[3] = 100.0
    before, after = (ops.layer_norm(y, np.ones(7), np.zeros(7)) for y in (x, other))
    assert np.array_equal(before[[0, 1, 2, 4]], after[[0, 1, 2, 4]])
    assert not np.array_equal(before[3], after[3])


# ---- structure ----------------------------------------------------------------------------------------------------


def test_embed_picks_a_row_per_token():
    table = [[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]]
    agree(ops.embed([2, 0, 2], table), [[20.0, 21.0], [0.0, 1.0], [20.0, 21.0]])
    assert ops.embed(np.zeros((3, 5), dtype=int), f(2, 7)).shape == (3, 5, 7)


def test_one_hot_times_a_table_picks_its_rows():
    one_hot = ops.one_hot([2, 0, 2], vocab_size=3)
    agree(one_hot, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    agree(one_hot @ f(3, 5), ops.embed([2, 0, 2], f(3, 5)))
    assert ops.one_hot(np.zeros((3, 5), dtype=int), vocab_size=7).shape == (3, 5, 7)


@fault("ATT-14")
def test_a_head_holds_a_block_of_columns_of_every_token():
    """A bare reshape gives the same shape and even the same round trip, but rows of one token only."""
    x = np.arange(24.0).reshape(1, 4, 6)
    agree(ops.split_heads(x, n_heads=3)[0, 0], [[0.0, 1.0], [6.0, 7.0], [12.0, 13.0], [18.0, 19.0]])
    agree(ops.split_heads(x, n_heads=3)[0, 2], [[4.0, 5.0], [10.0, 11.0], [16.0, 17.0], [22.0, 23.0]])
    agree(ops.reshape_heads(x, n_heads=3)[0, 0], [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])


def test_merge_heads_puts_the_blocks_side_by_side():
    agree(ops.merge_heads([[[1.0], [2.0]], [[10.0], [20.0]], [[100.0], [200.0]]]), [[1.0, 10.0, 100.0], [2, 20, 200]])
    agree(ops.merge_heads(ops.split_heads(f(2, 5, 21), n_heads=7)), f(2, 5, 21))


def test_concat_joins_along_any_axis():
    agree(ops.concat([[1.0], [2.0]], [[3.0, 4.0], [5.0, 6.0]]), [[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]])
    agree(ops.concat([[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]], axis=0), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


# ---- what all share -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "message"),
    [pytest.param(name, *case, id=f"{name}-{i}") for name in OPS for i, case in enumerate(REFUSED.get(name, []))],
)
def test_what_does_not_fit_is_refused_by_op_argument_and_shape(name, inputs, attributes, message):
    with pytest.raises((TypeError, ValueError), match=message) as error:
        getattr(ops, name)(*inputs, **attributes)
    assert str(error.value).startswith(f"{name}: ")


def test_concat_needs_a_part():
    with pytest.raises(ValueError, match="concat: nothing to join"):
        ops.concat()


@pytest.mark.parametrize("name", OPS)
def test_an_op_does_not_change_its_inputs(name):
    for inputs, attributes in random_calls(name, 5, seed=4):
        before = [x.copy() for x in inputs]
        getattr(ops, name)(*inputs, **attributes)
        assert all(np.array_equal(a, b) for a, b in zip(inputs, before, strict=True))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint8])
def test_arithmetic_is_float64_whatever_is_given(dtype):
    """In half precision 200 · 200 · 2 would be infinite, in bytes it would wrap around."""
    x = np.array([[100, 100]], dtype=dtype)
    assert ops.matmul(x, x.T).dtype == np.float64
    agree(ops.matmul(x, x.T), [[20000.0]])
    agree(ops.add(x, x), [[200.0, 200.0]])
