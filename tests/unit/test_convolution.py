"""Convolution by hand, against the mistakes of others, and the pictures and detectors of the chapter."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import fault
from hypothesis import given
from hypothesis import strategies as st

from stepformer import examples, leaf, mistakes, nn, ops, record
from stepformer.examples import table_1
from stepformer.examples.shapes import SHAPES, draw_shapes
from stepformer.ledger import distance, multiplications, sequential_steps
from stepformer.reference.convolution import convolution_1d, convolution_2d, margins


def column(*numbers):
    return np.array(numbers, dtype=float)[:, None]


def kernel(*numbers):
    """A window over one channel that makes one channel."""
    return {"weight": np.array(numbers, dtype=float)[:, None, None], "bias": np.zeros(1)}


# ---- by hand --------------------------------------------------------------------------------------------------------


@fault("CNV-01")
def test_a_causal_window_sums_up_the_past_and_a_centred_one_sees_the_next():
    """Ones of width 3 on 1, 2, 3, 4: with zeros before, running sums; with zeros on both sides, the future leaks."""
    x, ones = column(1, 2, 3, 4), kernel(1, 1, 1)
    assert convolution_1d(x, ones, "causal").ravel().tolist() == [1, 3, 6, 9]
    assert convolution_1d(x, ones, "same").ravel().tolist() == [3, 6, 9, 7]
    twin = nn.Convolution1d(1, 1, 3, "causal").double()
    twin.load_state_dict({"weight": torch.ones(1, 1, 3), "bias": torch.zeros(1)})
    assert twin(torch.as_tensor(x)).flatten().tolist() == [1, 3, 6, 9]


@fault("CNV-01")
@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 3), st.integers(0, 6))
def test_a_causal_convolution_sees_no_future(seed, width, dilation, changed):
    rng = np.random.default_rng(seed)
    x, params = rng.normal(size=(7, 3)), {"weight": rng.normal(size=(width, 3, 2)), "bias": rng.normal(size=2)}
    other = x.copy()
    other[changed] += 1.0
    before, after = (convolution_1d(rows, params, "causal", dilation=dilation) for rows in (x, other))
    assert np.array_equal(before[:changed], after[:changed])
    assert not np.array_equal(before[changed], after[changed])


@fault("CNV-03")
def test_deep_learning_lays_the_window_on_and_mathematics_turns_it_round():
    x, params = column(1, 2, 3, 4), kernel(1, 0, -1)
    assert convolution_1d(x, params, "none").ravel().tolist() == [-2, -2]
    own = torch.nn.functional.conv1d(torch.tensor([[1.0, 2, 3, 4]]), torch.tensor([[[1.0, 0, -1]]]))
    assert own.tolist() == [[-2, -2]]
    flipped = ops.convolve_1d_flipped(x, params["weight"], params["bias"]).ravel()
    assert flipped.tolist() == np.convolve([1, 2, 3, 4], [1, 0, -1], "valid").tolist() == [2, 2]


def test_an_image_by_hand():
    """The window 1 0 / 0 −1 on the numbers 0 … 8: each place minus its neighbour down and to the right."""
    image, weight = np.arange(9.0).reshape(1, 3, 3), np.array([[[[1.0, 0.0], [0.0, -1.0]]]])
    params = {"weight": weight, "bias": np.array([10.0])}
    assert convolution_2d(image, params).tolist() == [[[6, 6], [6, 6]]]
    assert convolution_2d(image, params, padding=1, stride=2).tolist() == [[[10, 8], [4, 6]]]
    turned = ops.convolve_2d_flipped(image, weight, params["bias"])
    assert turned.tolist() == [[[14, 14], [14, 14]]]


def test_a_window_of_one_is_a_linear_layer_on_each_word_alone():
    rng = np.random.default_rng(0)
    x, weight, bias = rng.normal(size=(4, 5)), rng.normal(size=(1, 5, 3)), rng.normal(size=3)
    for padding in ("same", "causal", "none"):
        convolved = convolution_1d(x, {"weight": weight, "bias": bias}, padding)
        assert_agree(convolved, ops.linear(x, weight[0], bias), 1e-12)


def test_channels_are_added_up():
    rng = np.random.default_rng(0)
    image, weight = rng.normal(size=(2, 5, 4)), rng.normal(size=(3, 2, 3, 3))
    both = convolution_2d(image, {"weight": weight, "bias": np.zeros(3)})
    alone = [convolution_2d(image[[c]], {"weight": weight[:, [c]], "bias": np.zeros(3)}) for c in (0, 1)]
    assert_agree(both, sum(alone), 1e-12)


@given(st.integers(0, 1000), st.integers(0, 3), st.integers(0, 3))
def test_what_moves_in_the_image_moves_in_the_result(seed, down, right):
    """Translation equivariance: the same pattern is found wherever it stands."""
    rng = np.random.default_rng(seed)
    params = {"weight": rng.normal(size=(2, 1, 3, 3)), "bias": rng.normal(size=2)}
    image = np.zeros((1, 10, 10))
    image[0, 2:5, 2:5] = rng.normal(size=(3, 3))
    moved = np.roll(image, (down, right), axis=(1, 2))
    result = convolution_2d(image, params)
    assert_agree(convolution_2d(moved, params)[:, down:, right:], result[:, : 8 - down, : 8 - right], 1e-12)


def test_two_convolutions_without_a_bend_are_one_with_a_larger_window():
    rng = np.random.default_rng(0)
    image, first, second = rng.normal(size=(1, 9, 9)), rng.normal(size=(3, 1, 3, 3)), rng.normal(size=(2, 3, 2, 2))
    zeros = np.zeros(3), np.zeros(2)
    together = ops.convolve_2d(ops.convolve_2d(image, first, zeros[0]), second, zeros[1])
    one = np.zeros((2, 1, 4, 4))
    for i, j in np.ndindex(2, 2):
        one[:, :, i : i + 3, j : j + 3] += np.einsum("oe,eckl->ockl", second[:, :, i, j], first)
    assert_agree(together, ops.convolve_2d(image, one, zeros[1]), 1e-12)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dilation", [1, 2, 3])
def test_the_margins_keep_the_length(width, dilation):
    reach = dilation * (width - 1)
    assert sum(margins("same", width, dilation)) == sum(margins("causal", width, dilation)) == reach
    assert margins("none", width, dilation) == (0, 0)
    assert margins("causal", width, dilation) == (reach, 0)
    before, after = margins("same", width, dilation)
    assert 0 <= after - before <= 1


# ---- the examples are as designed -----------------------------------------------------------------------------------


def found(trace, names):
    return [[name for name, x in zip(names, row, strict=True) if x > 0] for row in trace["found"]]


def test_a_centred_window_knows_who_acts_and_who_is_met():
    trace = examples.convolution_over_words()
    who, deed, whom, hunt = ([name] for name in examples.SEEN_AROUND)
    assert found(trace, examples.SEEN_AROUND) == [who, deed + hunt, whom]
    assert found(trace.run({"src": "Jerry chase Tom"}), examples.SEEN_AROUND) == [who, deed, whom]
    assert found(trace.run({"src": "Tom Jerry chase"}), examples.SEEN_AROUND) != [who, whom, deed + hunt]


def test_a_causal_window_knows_of_the_hunt_only_at_its_end():
    trace = examples.causal_convolution()
    acts, hunt = ([name] for name in examples.SEEN_SO_FAR)
    assert found(trace, examples.SEEN_SO_FAR) == [[], acts, hunt]
    leaking = trace.with_breaks(*mistakes.CAUSAL_CONVOLUTION).broken("Pad on both sides in a causal convolution")
    assert found(leaking, examples.SEEN_SO_FAR) == [acts, hunt, []]


def test_edges_are_found_where_they_are_and_corners_where_two_meet():
    trace = examples.edges_and_corners()
    upper, left, right = trace["edges"]
    assert sorted({int(i) for i, _ in np.argwhere(upper > 0)}) == [0, 1]
    assert (left[4:] > 0).any(axis=0).tolist() == [False, True, True, False, False, False]
    assert (right[4:] > 0).any(axis=0).tolist() == [False, False, False, True, True, False]
    corners = trace["corners"]
    assert np.argwhere(corners[0] > 0).tolist() == [[0, 0], [1, 0]]
    assert np.argwhere(corners[1] > 0).tolist() == [[0, 4], [1, 4]]


def test_the_kernels_tell_an_edge_from_an_even_area_whatever_its_brightness():
    for brightness in (0.0, 0.3, 1.0):
        even = np.full((1, 8, 8), brightness)
        assert_agree(examples.edges_and_corners().run({"image": even})["edges"], np.zeros((3, 6, 6)), 1e-15)


def test_a_corner_seen_through_two_layers_sees_four_by_four_pixels():
    seen = field(examples.edges_and_corners(), "layer_2.convolution.output", (0, 1, 0))
    assert np.flatnonzero(seen.any(axis=1)).tolist() == [1, 2, 3, 4]
    assert np.flatnonzero(seen.any(axis=0)).tolist() == [0, 1, 2, 3]


def field(trace, name, cell):
    """The pixels that a cell of a result depends on."""
    image = trace["image"]
    seen = np.zeros(image.shape[1:], dtype=bool)
    for i, j in np.ndindex(seen.shape):
        other = image.copy()
        other[0, i, j] += 0.37
        seen[i, j] = trace.run({"image": other})[name][cell] != trace[name][cell]
    return seen


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_the_receptive_field_grows_by_two_with_each_layer(layer):
    trace = examples.three_blurs()
    seen = field(trace, f"layer_{layer}.convolution.output", (0, 4, 4))
    expected = np.zeros((9, 9), dtype=bool)
    expected[4 - layer : 5 + layer, 4 - layer : 5 + layer] = True
    assert np.array_equal(seen, expected)
    # And the other way round: so far does one pixel reach.
    assert np.array_equal(trace[f"layer_{layer}.convolution.output"][0] > 0, expected)


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("name", ["convolution_over_words", "causal_convolution"])
def test_a_program_rerun_at_another_length_is_a_fresh_call(name, n):
    tokens = np.arange(n) % 4
    again = examples.EXAMPLES[name]().run({"src": tokens})
    params, padding = {
        "convolution_over_words": (examples.CENTRED_PARAMS, "same"),
        "causal_convolution": (examples.CAUSAL_PARAMS, "causal"),
    }[name]
    fresh = convolution_1d(examples.FOUR_VECTORS[tokens], params, padding)
    assert np.array_equal(again["convolution.output"], fresh)


@pytest.mark.parametrize("shape", [(1, 4, 4), (1, 5, 9), (1, 12, 7)])
def test_a_program_rerun_on_another_image_is_a_fresh_call(shape):
    image = np.random.default_rng(0).normal(size=shape)
    again = examples.edges_and_corners().run({"image": image})
    edges = np.maximum(0, convolution_2d(image, examples.EDGE_PARAMS))
    assert np.array_equal(again["corners"], np.maximum(0, convolution_2d(edges, examples.CORNER_PARAMS)))


def test_recording_changes_no_bit():
    rng = np.random.default_rng(0)
    params = {"weight": rng.normal(size=(3, 5, 2)), "bias": rng.normal(size=2)}
    x = rng.normal(size=(7, 5))
    with record() as trace:
        weight, bias = leaf("weight", params["weight"], list("abc")), leaf("bias", params["bias"], "c")
        convolution_1d(leaf("x", x, ("n", "b")), {"weight": weight, "bias": bias}, "causal", stride=2)
    assert np.array_equal(trace["convolution.output"], convolution_1d(x, params, "causal", stride=2))


def test_designed_numbers_have_at_most_two_decimals():
    groups = examples.CENTRED_PARAMS, examples.CAUSAL_PARAMS, examples.EDGE_PARAMS, examples.CORNER_PARAMS
    for array in [array for group in groups for array in group.values()] + [examples.BLUR, examples.LETTER]:
        assert np.array_equal(array, array.round(2))


def test_the_shapes_are_drawn_in_turn_and_the_same_for_the_same_seed():
    pictures, shapes = draw_shapes(41, np.random.default_rng(3))
    assert pictures.shape == (41, 1, 8, 8)
    assert np.bincount(shapes).tolist() == [11, 10, 10, 10]
    again, _ = draw_shapes(41, np.random.default_rng(3))
    assert np.array_equal(pictures, again)
    assert not np.array_equal(pictures, draw_shapes(41, np.random.default_rng(4))[0])
    bright = pictures[:, 0] > 0.5
    for picture, shape in zip(bright, shapes, strict=True):
        rows, columns = picture.sum(axis=1), picture.sum(axis=0)
        assert (rows.max() >= 4) == (SHAPES[shape] != "upright bar")
        assert (columns.max() >= 4) == (SHAPES[shape] != "level bar")
        assert (np.sort(rows)[-2] >= 4) == (SHAPES[shape] == "ring")


# ---- what it costs --------------------------------------------------------------------------------------------------


def test_the_ledger_counts_the_multiplications_of_a_convolution():
    assert multiplications(examples.causal_convolution()) == 3 * 3 * 5 * 2
    assert multiplications(examples.edges_and_corners()) == 6 * 6 * 3 * 9 + 5 * 5 * 2 * 3 * 4


def layers_needed(n, width, dilated):
    """The fewest layers after which the last word has heard of the first one."""
    for layers in range(1, n + 1):
        stack = table_1.convolution(n, 2, width, layers, dilated)
        if distance(stack, "x_0", f"layer_{layers - 1}.y_{n - 1}") is not None:
            return layers
    raise AssertionError("never")


@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("n", [2, 4, 9, 16])
def test_distant_words_meet_after_many_layers(n, width):
    assert layers_needed(n, width, dilated=False) == -(-(n - 1) // (width - 1))
    assert layers_needed(n, width, dilated=True) == next(k for k in range(1, n + 1) if width**k >= n)


@pytest.mark.parametrize("n", [2, 16])
def test_all_windows_can_be_computed_at_once(n):
    assert sequential_steps(table_1.convolution(n, 2)) == 2


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong():
    x, params = np.ones((4, 2)), {"weight": np.ones((3, 2, 5)), "bias": np.zeros(5)}
    with pytest.raises(ValueError, match="padding is 'valid'; it must be one of same, causal, none"):
        convolution_1d(x, params, "valid")
    with pytest.raises(ValueError, match="a window of 3 does not fit into 2 places"):
        convolution_1d(x[:2], params, "none")
    with pytest.raises(ValueError, match=r"^x is not finite at \(1, 0\)"):
        convolution_1d(np.where(np.arange(8).reshape(4, 2) == 2, np.nan, x), params)
    with pytest.raises(TypeError, match="x must hold numbers; it is bool"):
        convolution_1d(x > 0, params)
    image, kernels = np.ones((1, 4, 4)), {"weight": np.ones((2, 1, 3, 3)), "bias": np.zeros(2)}
    with pytest.raises(ValueError, match=r"x is \(4, 4\)"):
        convolution_2d(image[0], kernels)
    with pytest.raises(ValueError, match=r"^x is not finite at \(0, 1, 1\)"):
        convolution_2d(np.where(np.arange(16).reshape(1, 4, 4) == 5, np.inf, image), kernels)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Convolution1d(0, 2, 3), "d_in is 0; it must be 1 or more"),
        (lambda: nn.Convolution1d(2, 2, 0), "width is 0"),
        (lambda: nn.Convolution1d(2, 2, 3, "valid"), "padding is 'valid'; it must be one of same, causal, none"),
        (lambda: nn.Convolution1d(2, 2, 3, stride=0), "stride is 0"),
        (lambda: nn.Convolution2d(1, 0, 3), "c_out is 0"),
        (lambda: nn.Convolution2d(1, 2, 3, padding=-1), "padding is -1; it must be a whole number, 0 or more"),
        (lambda: nn.Convolution1d(2, 2, 3)(torch.zeros(4, 3)), r"x has shape \(4, 3\); .* with d_in = 2"),
        (lambda: nn.Convolution1d(2, 2, 3, "none")(torch.zeros(2, 2)), "A window of 3 does not fit into 2 places"),
        (lambda: nn.Convolution2d(1, 2, 3)(torch.zeros(4, 4)), r"x has shape \(4, 4\); it must be \(…, 1 channels"),
        (lambda: nn.Convolution2d(1, 2, 3)(torch.zeros(1, 4, 2)), "A window of 3 does not fit into 2 places"),
    ],
)
def test_the_twin_names_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()
