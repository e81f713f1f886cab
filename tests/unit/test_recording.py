"""Recording: what becomes a step, what a step keeps, and everything that must be refused instead of frozen in."""

import contextvars

import numpy as np
import pytest
from calls import EDGES, f, random_calls

from stepformer import TraceError, leaf, ops, record, scope
from stepformer.recording import OPS


def leaves_of(inputs):
    return [leaf(f"input_{i}", x, [f"axis_{i}_{k}" for k in range(x.ndim)]) for i, x in enumerate(inputs)]


def finite(call):
    """Leaves hold finite numbers only; a masked score is the result of an op."""
    return all(x.dtype.kind != "f" or np.isfinite(x).all() for x in call[0])


# ---- what a step keeps --------------------------------------------------------------------------------------------


def test_a_step_keeps_op_inputs_output_scope_and_attributes_with_defaults():
    with record("Test") as trace:
        x = leaf("x", f(2, 3), ("row", "column"))
        with scope("outer"), scope("inner"):
            y = ops.relu(x, name="positive")
            ops.softmax(y, name="weights")
    assert trace.title == "Test"
    assert [tensor.name for tensor in trace.tensors] == ["x", "outer.inner.positive", "outer.inner.weights"]
    assert [(s.op, s.inputs, s.output, s.scope, s.attributes) for s in trace.steps] == [
        ("relu", (0,), 1, "outer.inner", {}),
        ("softmax", (1,), 2, "outer.inner", {"axis": -1}),
    ]
    assert trace.tensors[2].axes == ("row", "column")
    assert trace.tensors[2].dtype == "float"


def test_tensors_may_be_given_by_keyword():
    with record() as trace:
        q = leaf("q", f(3, 5), ("i", "k"))
        ops.scale(query=q, scores=leaf("s", f(3, 2), ("i", "j")))
    assert [trace.tensors[i].name for i in trace.steps[0].inputs] == ["s", "q"]


def test_attributes_are_stored_as_plain_python_values():
    with record() as trace:
        ops.split_heads(leaf("x", f(3, 4), ("n", "d")), n_heads=np.int64(2))
    assert type(trace.steps[0].attributes["n_heads"]) is int


@pytest.mark.parametrize("value", [np.array([1, 2]), None, [1]])
def test_an_attribute_that_is_no_plain_value_is_refused(value):
    with record(), pytest.raises(TraceError, match="softmax: attribute 'axis' is"):
        ops.softmax(leaf("x", f(3), "n"), axis=value)


def test_a_call_that_fails_leaves_no_trace():
    with record() as trace:
        a = leaf("a", f(2, 3), ("i", "j"))
        with pytest.raises(ValueError, match="matmul"):
            ops.matmul(a, a)
    assert trace.steps == []
    assert len(trace.tensors) == len(trace.arrays) == 1


@pytest.mark.parametrize("name", OPS)
def test_recording_changes_no_bit_of_any_result(name):
    calls = [call for call in random_calls(name, 30) + EDGES[name] if finite(call)]
    assert len(calls) >= 5
    for inputs, attributes in calls:
        op = getattr(ops, name)
        plain = np.asarray(op(*inputs, **attributes))
        with record() as trace:
            # Leaves of whole numbers are stored as int64, everything else exactly as it was.
            recorded = op(*leaves_of(inputs), **attributes, axes=[f"axis {k}" for k in range(plain.ndim)])
        assert recorded.tobytes() == plain.tobytes()
        assert (recorded.shape, recorded.dtype) == (plain.shape, plain.dtype)
        assert trace.arrays[-1] is recorded


@pytest.mark.parametrize("name", OPS)
def test_the_rule_for_axes_fits_the_shape_of_every_result(name):
    for inputs, attributes in random_calls(name, 60, seed=1) + EDGES[name]:
        if finite((inputs, attributes)):
            with record() as trace:
                getattr(ops, name)(*leaves_of(inputs), **attributes)
            assert len(trace.tensors[-1].axes) == trace.arrays[-1].ndim


def test_axes_follow_their_data_through_the_ops():
    with record() as trace:
        query = leaf("query", f(4, 6), ("tgt", "d"))
        key = leaf("key", f(3, 6), ("src", "d"))
        tokens = leaf("tokens", np.array([1, 2, 0]), "src")
        table = leaf("table", f(5, 6), ("word", "d"))
        ops.matmul(query, ops.transpose(key, name="turned"), name="scores")
        ops.matmul(query, leaf("v", f(6), "d"), name="vector")
        ops.causal_mask(query, key, name="causal")
        ops.padding_mask(tokens, pad_id=0, name="padding")
        ops.add_pairs(query, key, name="pairs")
        ops.embed(tokens, table, name="embedded")
        heads = ops.split_heads(query, n_heads=2, name="heads")
        ops.merge_heads(heads, name="merged")
        ops.linear(query, leaf("w", f(6, 2), ("d", "out")), leaf("b", f(2), "out"), name="projected")
        ops.share_across_heads(trace["causal"], name="shared")
        batch = leaf("batch", np.ones((2, 4, 3), dtype=bool), ("batch", "tgt", "src"))
        ops.zero_masked(key, batch, name="cleared")
        ops.add_pairs(query, trace["cleared"], name="batch_pairs")
    assert {tensor.name: tensor.axes for tensor in trace.tensors[4:] if tensor.name not in ("v", "w", "b")} == {
        "turned": ("d", "src"),
        "scores": ("tgt", "src"),
        "vector": ("tgt",),
        "causal": ("tgt", "src"),
        "padding": ("any query", "src"),
        "pairs": ("tgt", "src", "d"),
        "embedded": ("src", "d"),
        "heads": ("head", "tgt", "d of a head"),
        "merged": ("tgt", "d"),
        "projected": ("tgt", "out"),
        "shared": ("every head", "tgt", "src"),
        "batch": ("batch", "tgt", "src"),
        "cleared": ("batch", "src", "d"),
        "batch_pairs": ("batch", "tgt", "src", "d"),
    }


def test_the_call_site_may_name_the_axes():
    with record() as trace:
        ops.relu(leaf("x", f(2, 3), ("i", "j")), axes=("here", "there"))
        assert trace.tensors[-1].axes == ("here", "there")
        with pytest.raises(TraceError, match=r"relu_2: the result has shape \(2, 3\) but these axes: \('one',\)"):
            ops.relu(trace["x"], axes=("one",))


# ---- names and scopes ---------------------------------------------------------------------------------------------


def test_results_without_a_name_are_numbered_by_op_and_scope():
    with record() as trace:
        x = leaf("x", f(3), "n")
        ops.relu(x)
        ops.relu(x)
        ops.tanh(x)
        with scope("inner"):
            ops.relu(x)
            ops.relu(x)
        ops.relu(x)
    names = ["relu", "relu_2", "tanh", "inner.relu", "inner.relu_2", "relu_3"]
    assert [tensor.name for tensor in trace.tensors[1:]] == names


def test_a_number_that_is_taken_is_passed_over():
    with record() as trace:
        ops.relu(leaf("relu", f(3), "n"))
        ops.relu(trace["relu"], name="relu_3")
        ops.relu(trace["relu"])
    assert [tensor.name for tensor in trace.tensors] == ["relu", "relu_2", "relu_3", "relu_4"]


def test_two_results_of_one_name_are_refused_in_one_scope_and_allowed_in_two():
    with record() as trace:
        x = leaf("x", f(3), "n")
        ops.relu(x, name="y")
        with pytest.raises(TraceError, match="Two tensors are named 'y'"):
            ops.tanh(x, name="y")
        with scope("other"):
            ops.tanh(x, name="y")
    assert [tensor.name for tensor in trace.tensors] == ["x", "y", "other.y"]


def test_a_leaf_may_not_take_a_name_twice_nor_that_of_a_result():
    with record():
        x = leaf("x", f(3), "n")
        with pytest.raises(TraceError, match="leaf 'x': the name is taken"):
            leaf("x", f(3), "n")
        ops.relu(x, name="y")
        with pytest.raises(TraceError, match="leaf 'y': the name is taken"):
            leaf("y", f(3), "n")
        with pytest.raises(TraceError, match="Two tensors are named 'x'"):
            ops.relu(x, name="x")


def test_a_scope_ends_when_its_block_fails():
    with record() as trace:
        x = leaf("x", f(3), "n")
        with pytest.raises(ZeroDivisionError), scope("broken"):
            raise ZeroDivisionError
        ops.relu(x)
    assert trace.steps[0].scope == ""


def test_outside_a_recording_names_scopes_and_axes_do_nothing():
    with scope("nowhere"):
        assert np.array_equal(ops.relu(f(3), name="y", axes=("wrong", "too")), np.maximum(f(3), 0))


# ---- what must be refused: it would be frozen into the program and go wrong when that is run again ----------------


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda x: x.T, r"an array of shape \(3, 2\)"),
        (lambda x: x[:1], r"an array of shape \(1, 3\)"),
        (lambda x: x + 0.0, r"an array of shape \(2, 3\)"),
        (lambda x: x.copy(), r"an array of shape \(2, 3\)"),
        (lambda x: x[...], r"an array of shape \(2, 3\)"),
        (lambda x: x.shape[-1], "3"),
        (lambda x: x.shape[-1] ** 0.5, "1.73"),
        (lambda x: np.float64(2.0), r"np.float64\(2.0\)"),
        (lambda x: [[1.0]], r"\[\[1.0\]\]"),
        (lambda x: None, "None"),
    ],
    ids=["turned", "slice", "sum", "copy", "view", "whole number", "float", "numpy scalar", "list", "none"],
)
def test_what_the_recording_does_not_know_is_refused_by_op_and_argument(make, shown):
    with record() as trace:
        x = leaf("x", f(2, 3), ("i", "j"))
        with pytest.raises(TraceError, match=f"multiply: argument 'b' is {shown}.*leaf"):
            ops.multiply(x, make(x))
        with pytest.raises(TraceError, match=rf"concat: argument 'parts\[1\]' is {shown}"):
            ops.concat(x, make(x))
    assert trace.steps == []


def test_a_leaf_of_another_recording_is_refused():
    with record():
        old = leaf("x", f(3), "n")
    with record(), pytest.raises(TraceError, match="relu: argument 'x'"):
        ops.relu(old)


def test_an_array_that_takes_the_memory_of_a_dead_one_is_not_mistaken_for_it():
    with record() as trace:
        for i in range(50):
            ops.relu(leaf(f"x_{i}", f(3), "n"))
            with pytest.raises(TraceError):
                ops.relu(np.zeros(3))
    assert len(trace.steps) == 50


def test_a_recording_inside_a_recording_is_refused_and_the_outer_one_goes_on():
    with record() as trace:
        x = leaf("x", f(3), "n")
        with pytest.raises(TraceError, match="already open"), record():
            pass
        ops.relu(x)
    assert len(trace.steps) == 1


def test_a_recording_ends_when_its_block_fails():
    with pytest.raises(ZeroDivisionError), record():
        raise ZeroDivisionError
    with record() as trace:
        ops.relu(leaf("x", f(3), "n"))
    assert len(trace.steps) == 1


def test_a_recording_belongs_to_its_own_context():
    with record() as trace:
        contextvars.Context().run(ops.relu, f(3))
    assert trace.steps == []


# ---- leaves -------------------------------------------------------------------------------------------------------


def test_a_leaf_is_a_read_only_copy():
    mine = f(2, 3)
    with record() as trace:
        copy = leaf("x", mine, ("i", "j"))
        mine[0, 0] = 99
        ops.relu(copy)
    assert copy[0, 0] == -3
    assert trace["x"][0, 0] == -3
    for array in trace.arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0


@pytest.mark.parametrize("name", OPS)
def test_every_result_is_read_only_and_no_input_comes_back(name):
    for inputs, attributes in random_calls(name, 5, seed=2):
        if finite((inputs, attributes)):
            with record() as trace:
                given = leaves_of(inputs)
                result = getattr(ops, name)(*given, **attributes)
            assert not result.flags.writeable
            assert all(result is not x for x in given)
            assert len(trace.arrays) == len(given) + 1


@pytest.mark.parametrize(
    ("array", "dtype"),
    [(np.float32([1.5]), "float"), (np.int8([1]), "int"), (np.uint8([1]), "int"), ([True], "bool"), ([2], "int")],
)
def test_a_leaf_has_one_of_three_kinds(array, dtype):
    with record() as trace:
        copy = leaf("x", array, "n")
    assert trace.tensors[0].dtype == dtype
    assert copy.dtype == {"float": np.float64, "int": np.int64, "bool": np.bool_}[dtype]


@pytest.mark.parametrize(
    ("array", "axes", "message"),
    [
        (f(2, 3), ("i",), r"leaf 'x': the array has shape \(2, 3\) but 1 axes are named"),
        (f(3), ("i", "j"), "2 axes are named"),
        (np.array([1.0, np.nan]), "n", r"x: the value at \(1,\) is nan; every number must be finite"),
        (np.array([-np.inf]), "n", "every number must be finite"),
        (["a"], "n", "kind"),
        (None, (), "kind"),
        (np.array([1j]), "n", "kind"),
    ],
)
def test_a_leaf_that_is_not_well_formed_is_refused(array, axes, message):
    with record() as trace, pytest.raises(TraceError, match=message):
        leaf("x", array, axes)
    assert trace.tensors == []


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"i": ["a"]}, "axis 'i' has 2 positions but 1 labels"),
        ({"i": ["a", "b", "c"]}, "2 positions but 3 labels"),
        ({"k": ["a", "b"]}, "labels are given for 'k', which is not one of its axes"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, message):
    with record(), pytest.raises(TraceError, match=message):
        leaf("x", f(2, 3), ("i", "j"), labels)


def test_one_axis_has_one_set_of_labels():
    with record() as trace:
        leaf("x", f(2), "i", {"i": ["a", "b"]})
        leaf("y", f(2), "i", {"i": ["a", "b"]})
        with pytest.raises(TraceError, match="axis 'i' already has other labels"):
            leaf("z", f(2), "i", {"i": ["a", "c"]})
    assert [tensor.name for tensor in trace.tensors] == ["x", "y"]


@pytest.mark.parametrize(
    ("array", "options", "message"),
    [
        (np.array([0.0]), {}, "a vocabulary goes with a 1-d array of token ids; given float"),
        (np.array([[0]]), {}, r"given int \(1, 1\)"),
        (np.array([3]), {}, r"ids must lie in 0 … 1; given \[3\]"),
        (np.array([-1]), {}, "ids must lie in"),
        (np.array([0]), {"token_rule": "syllable"}, "token_rule is 'syllable'"),
    ],
)
def test_a_leaf_of_tokens_that_does_not_fit_its_vocabulary_is_refused(array, options, message):
    axes = [f"axis {k}" for k in range(array.ndim)]
    with record(), pytest.raises(TraceError, match=message):
        leaf("tokens", array, axes, vocabulary=("<pad>", "Tom"), **options)


def test_outside_a_recording_a_leaf_is_checked_and_copied_all_the_same():
    mine = f(3)
    copy = leaf("x", mine, "n")
    assert copy is not mine
    with pytest.raises(TraceError):
        leaf("x", mine, ())
