"""The ledger counts what a recorded program costs; the layers of table 1 cost what the paper says."""

import math

import numpy as np
import pytest

from stepformer import leaf, ops, record
from stepformer.examples import table_1
from stepformer.ledger import distance, multiplications, sequential_steps

SIZES = [(2, 3), (4, 6), (9, 2), (11, 5)]
SHAPES = {"a": (2, 3), "b": (3, 5), "c": (5,)}


@pytest.fixture
def two_branches():
    """(2, 3) @ (3, 5), and a longer way to the same sum."""
    with record() as trace:
        a, b, c = (leaf(name, np.ones(shape), list("nkm")[: len(shape)]) for name, shape in SHAPES.items())
        short = ops.matmul(a, b, name="short")
        long = ops.relu(ops.tanh(ops.linear(a, b, c, name="linear"), name="tanh"), name="relu")
        ops.add(short, long, name="sum")
    return trace


def test_a_product_costs_its_three_sizes_and_other_ops_nothing(two_branches):
    assert multiplications(two_branches) == 2 * (2 * 3 * 5)


def test_leading_axes_and_vectors_are_counted():
    with record() as trace:
        shapes = {"x": (7, 2, 3), "w": (3, 5), "v": (5,)}
        x, w, v = (leaf(name, np.ones(shape), list("abc")[: len(shape)]) for name, shape in shapes.items())
        ops.matmul(ops.matmul(x, w), v)
    assert multiplications(trace) == 7 * 2 * 3 * 5 + 7 * 2 * 5


def test_the_longest_chain_and_the_shortest_way(two_branches):
    assert sequential_steps(two_branches) == 4
    assert distance(two_branches, "a", "sum") == 2
    assert distance(two_branches, "c", "sum") == 4
    assert distance(two_branches, "sum", "sum") == 0
    assert distance(two_branches, "c", "short") is None


def test_a_program_without_steps_takes_none():
    with record() as trace:
        leaf("a", np.ones(2), "n")
    assert (multiplications(trace), sequential_steps(trace)) == (0, 0)


def test_an_unknown_name_is_refused(two_branches):
    with pytest.raises(KeyError, match="no tensor 'd'"):
        distance(two_branches, "d", "sum")


# ---- table 1 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_self_attention(n, d):
    trace = table_1.self_attention(n, d)
    assert multiplications(trace) == 3 * n * d**2 + 2 * n**2 * d
    assert sequential_steps(trace) == 6
    assert distance(trace, "x", "output") == 2


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_recurrence(n, d):
    trace = table_1.recurrence(n, d)
    assert multiplications(trace) == 2 * n * d**2
    assert sequential_steps(trace) == 3 * n
    assert distance(trace, "x_0", f"y_{n - 1}") == 3 * n


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_attention_on_top_of_a_recurrence_waits_for_it(n, d):
    trace = table_1.attention_over_recurrence(n, d)
    assert multiplications(trace) == 2 * n * d**2 + 2 * n * d
    assert sequential_steps(trace) == 3 * n + 6
    assert distance(trace, f"x_{n - 1}", "attention.output") == 5


@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("width", [2, 3, 4])
def test_convolution(n, d, width):
    trace = table_1.convolution(n, d, width)
    assert multiplications(trace) == width * n * d**2
    assert sequential_steps(trace) == 2
    needed = math.ceil(round(math.log(n, width), 9))
    enough = table_1.convolution(n, d, width, needed)
    assert distance(enough, "x_0", f"layer_{needed - 1}.y_{n - 1}") == 2 * needed
    if needed > 1:
        fewer = table_1.convolution(n, d, width, needed - 1)
        assert distance(fewer, "x_0", f"layer_{needed - 2}.y_{n - 1}") is None


@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("reach", [1, 2])
def test_restricted_self_attention(n, d, reach):
    trace = table_1.restricted_self_attention(n, d, reach)
    pairs = sum(abs(i - j) <= reach for i in range(n) for j in range(n))
    assert multiplications(trace) == 3 * n * d**2 + 2 * pairs * d
    assert pairs <= (2 * reach + 1) * n
    assert sequential_steps(trace) == 7
    needed = math.ceil((n - 1) / reach)
    enough = table_1.restricted_self_attention(n, d, reach, needed)
    assert distance(enough, "x_0", f"layer_{needed - 1}.y_{n - 1}") == 3 * needed
    if needed > 1:
        fewer = table_1.restricted_self_attention(n, d, reach, needed - 1)
        assert distance(fewer, "x_0", f"layer_{needed - 2}.y_{n - 1}") is None


def test_restricted_to_the_whole_sentence_it_is_self_attention():
    whole = table_1.restricted_self_attention(4, 6, reach=3)
    assert multiplications(whole) == multiplications(table_1.self_attention(4, 6))


@pytest.mark.parametrize("name", table_1.ROWS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 10])
def test_the_stack_of_a_row_joins_the_ends_of_the_sentence(name, n):
    row = table_1.ROWS[name](n, 2)
    path = distance(row.stack, row.start, row.end)
    layers = {"convolutional": math.ceil(round(math.log(max(n, 2), 3), 9)), "recurrent": n}
    layers["self-attention, restricted"] = max(1, math.ceil((n - 1) / 2))
    steps = {"self-attention": 2, "convolutional": 2}.get(name, 3)
    assert path == steps * layers.get(name, 1)
