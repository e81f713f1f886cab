"""A trace is a program: run again with other inputs, edited, broken, and labelled anew each time."""

import itertools

import numpy as np
import pytest
from agreement import assert_agree
from calls import f

from stepformer import Break, Edit, Trace, TraceError, leaf, ops, record, scope
from stepformer.reference.attention import scaled_dot_product_attention

VOCABULARY = ("<pad>", "Tom", "chase", "Jerry")


def attention(n_tgt=4, n_src=3):
    """A small attention program on tokens, everything about its lengths computed by ops."""
    with record("Attention") as trace:
        tokens = leaf("src", np.array([1, 2, 3, 0, 1, 2, 3][:n_src]), "src", vocabulary=VOCABULARY)
        table = leaf("table", f(4, 5) / 10, ("word", "d_k"), {"word": VOCABULARY})
        query = leaf("query", f(n_tgt, 5)[::-1] / 10, ("tgt", "d_k"), {"tgt": list("abcdefg")[:n_tgt]})
        allowed = ops.padding_mask(tokens, pad_id=0, name="allowed")
        key = ops.embed(tokens, table, name="key")
        with scope("layer"):
            scaled_dot_product_attention(query, key, key, allowed)
    return trace


@pytest.fixture(scope="module")
def trace():
    return attention()


# ---- reading ------------------------------------------------------------------------------------------------------


def test_a_tensor_is_found_by_full_name_or_by_the_end_of_it(trace):
    for name in ("layer.attention.scores", "attention.scores", "scores"):
        assert trace.tensors[trace.find(name)].name == "layer.attention.scores"
    assert trace["scores"] is trace.values["layer.attention.scores"]


def test_an_end_counts_only_from_a_dot_on(trace):
    for name in ("cores", "attention", "layer.scores"):
        with pytest.raises(KeyError, match=f"no tensor '{name}'. It has: src, table, query"):
            trace.find(name)


def test_an_ambiguous_end_is_refused_with_the_choices_and_a_full_name_wins():
    with record() as trace:
        x = leaf("y", f(2), "n")
        with scope("a"):
            ops.relu(x, name="y")
            ops.relu(x, name="z")
        with scope("b"):
            ops.relu(x, name="z")
    assert trace.find("y") == 0
    with pytest.raises(KeyError, match=r"'z' may be any of a\.z, b\.z"):
        trace.find("z")


def test_leaves_are_what_no_step_computes(trace):
    assert [trace.tensors[i].name for i in trace.leaves] == ["src", "table", "query"]
    assert "3 leaves, 9 steps" in repr(trace)


# ---- running again ------------------------------------------------------------------------------------------------


def test_a_run_without_overrides_gives_the_same_numbers_and_a_new_trace(trace):
    again = trace.run()
    assert again is not trace
    assert again == trace
    for a, b in zip(again.arrays, trace.arrays, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("n_tgt", [1, 2, 7])
@pytest.mark.parametrize("n_src", [1, 2, 7])
def test_a_run_at_another_length_equals_recording_at_that_length(trace, n_tgt, n_src):
    fresh = attention(n_tgt, n_src)
    again = trace.run({"src": fresh["src"], "query": fresh["query"]})
    assert [tensor.name for tensor in again.tensors] == [tensor.name for tensor in fresh.tensors]
    for tensor, a, b in zip(again.tensors, again.arrays, fresh.arrays, strict=True):
        assert_agree(a, b, 1e-15, tensor.name)


def test_no_input_at_all_is_a_length_too(trace):
    again = trace.run({"src": []})
    assert again["weights"].shape == (4, 0)
    assert_agree(again["layer.attention.output"], np.zeros((4, 5)), 0)
    assert trace.run({"query": np.zeros((0, 5))})["layer.attention.output"].shape == (0, 5)


def test_running_again_leaves_the_trace_as_it_was(trace):
    before = trace.to_json()
    arrays = [array.copy() for array in trace.arrays]
    trace.run({"query": f(2, 5)})
    trace.run({"scores": f(4, 3)})
    trace.with_breaks(Break("b", Edit("weights", op="hardmax"), "s", "c")).broken("b")
    assert trace.to_json() == before
    assert all(np.array_equal(a, b) for a, b in zip(arrays, trace.arrays, strict=True))


def test_an_override_is_copied(trace):
    mine = f(4, 5)
    again = trace.run({"query": mine})
    mine[:] = 7
    assert_agree(again["query"], f(4, 5), 0)
    with pytest.raises(ValueError, match="read-only"):
        again["query"][0, 0] = 1.0


def test_an_overridden_result_cuts_its_inputs_off(trace):
    scores = f(4, 3)
    again = trace.run({"scores": scores, "query": 100 * f(4, 5)})
    assert_agree(again["scores"], scores, 0)
    assert_agree(again["scaled_scores"], scores / 5**0.5, 1e-15)
    assert "layer.attention.scores" not in [again.tensors[s.output].name for s in again.steps]
    assert again.find("scores") in again.leaves


def test_a_mask_cell_is_edited_by_overriding_the_mask(trace):
    allowed = trace["allowed"].copy()
    allowed[0, 1] = False
    weights = trace.run({"allowed": allowed})["weights"]
    assert (weights[:, 1] == 0).all()
    assert (weights[:, [0, 2]] > 0).all()


def test_a_masked_score_may_stay_minus_infinity_when_a_neighbour_is_edited(trace):
    padded = trace.run({"src": [1, 0, 3]})
    scores = padded["masked_scores"].copy()
    assert np.isneginf(scores[:, 1]).all()
    scores[0, 0] = 1e4
    assert_agree(padded.run({"masked_scores": scores})["weights"][0], np.array([1.0, 0.0, 0.0]), 1e-12)


def test_a_run_of_a_run_starts_from_the_run(trace):
    once = trace.run({"scores": f(4, 3)})
    twice = once.run({"query": f(2, 5)})
    assert_agree(twice["scores"], f(4, 3), 0)


@pytest.mark.parametrize(
    ("overrides", "error", "message"),
    [
        ({"nobody": 1.0}, KeyError, "no tensor 'nobody'"),
        ({"query": f(5)}, TraceError, r"query: the value has shape \(5,\); it needs the axes \('tgt', 'd_k'\)"),
        ({"query": [[1.0], [1.0, 2.0]]}, TraceError, "query: the value is ragged"),
        ({"query": np.full((4, 5), np.nan)}, TraceError, r"query: the value at \(0, 0\) is nan"),
        ({"query": np.full((4, 5), -np.inf)}, TraceError, "every number must be finite"),
        ({"scores": np.full((4, 3), np.inf)}, TraceError, r"scores: the value at \(0, 0\) is inf"),
        ({"query": np.ones((4, 5), dtype=bool)}, TraceError, "kind bool; this tensor is float"),
        ({"allowed": np.ones((1, 3))}, TraceError, "kind float; this tensor is bool. Masks are boolean: True means"),
        ({"allowed": [[1, 1, 0]]}, TraceError, "kind int; this tensor is bool"),
        ({"src": [0.5, 1.0]}, TraceError, "kind float; this tensor is int"),
        ({"src": [1, 4]}, TraceError, r"ids must lie in 0 … 3; given \[1, 4\]"),
        ({"src": [-1]}, TraceError, "ids must lie in"),
        ({"query": None}, TraceError, "query: the value is of kind object"),
        ({"query": "Tom"}, TraceError, "a text was given, but this tensor has no vocabulary"),
        ({"query": f(4, 6)}, ValueError, "matmul: a is .* last axis of a .6."),
        ({"key": f(2, 5)}, ValueError, "zero_masked"),
    ],
)
def test_an_override_that_does_not_fit_is_refused(trace, overrides, error, message):
    with pytest.raises(error, match=message):
        trace.run(overrides)


def test_whole_numbers_may_stand_for_floats(trace):
    assert trace.run({"query": np.ones((4, 5), dtype=int)})["query"].dtype == np.float64


def test_a_huge_number_is_shown_as_infinity_and_not_warned_about():
    with record() as trace:
        ops.multiply(leaf("x", f(2), "n"), leaf("y", f(2), "n"))
    assert np.isinf(trace.run({"x": [1e300, 1.0], "y": [1e300, 1.0]})["multiply"][0])


# ---- words --------------------------------------------------------------------------------------------------------


def test_a_text_is_split_into_the_words_of_the_vocabulary(trace):
    again = trace.run({"src": "Jerry chase"})
    assert again["src"].tolist() == [3, 2]
    assert again["layer.attention.output"].shape == (4, 5)
    with pytest.raises(TraceError, match=r"src: not in the vocabulary: Spike, Tyke\."):
        trace.run({"src": "Tom Spike Tyke"})


def test_a_text_may_be_split_by_character():
    with record() as trace:
        ops.padding_mask(leaf("t", [0], "t", vocabulary="汤姆", token_rule="character"), pad_id=9)
    assert trace.run({"t": "姆汤姆"})["t"].tolist() == [1, 0, 1]
    assert trace.run({"t": ""})["padding_mask"].shape == (1, 0)


def test_labels_are_the_words_of_the_tokens_as_they_are_now(trace):
    assert trace.axis_labels("weights") == [list("abcd"), ["Tom", "chase", "Jerry"]]
    again = trace.run({"src": "Jerry Jerry", "query": f(2, 5)})
    assert again.axis_labels("weights") == [["0", "1"], ["Jerry", "Jerry"]]
    assert again.axis_labels("key") == [["Jerry", "Jerry"], ["0", "1", "2", "3", "4"]]


def test_labels_given_for_an_axis_are_used_where_their_number_fits(trace):
    assert trace.axis_labels("table")[0] == list(VOCABULARY)
    assert trace.run({"table": f(7, 5)}).axis_labels("table")[0] == list("0123456")


def test_the_words_of_the_tokens_win_over_labels_given_for_their_axis():
    with record() as trace:
        ops.copy(leaf("x", f(2, 5), ("src", "d"), {"src": ["first", "second"]}), name="copied")
        ops.padding_mask(leaf("src", [1, 2], "src", vocabulary=VOCABULARY), pad_id=0)
    assert trace.axis_labels("copied")[0] == ["Tom", "chase"]
    assert trace.run({"src": [3, 1]}).axis_labels("copied")[0] == ["Jerry", "Tom"]
    assert trace.run({"src": [3]}).axis_labels("copied")[0] == ["0", "1"]


def test_labels_of_an_axis_that_a_mask_repeats_fall_back_to_positions(trace):
    assert trace.axis_labels("allowed") == [["0"], ["Tom", "chase", "Jerry"]]


# ---- programs unrolled over time ----------------------------------------------------------------------------------


def test_a_fixed_axis_refuses_another_length():
    with record(fixed={"src": np.int64(3)}) as trace:
        ops.relu(leaf("x", f(3, 2), ("src", "d")))
    assert trace.run({"x": f(3, 5)})["relu"].shape == (3, 5)
    for other in (2, 4):
        with pytest.raises(TraceError, match=f"unrolled for 3 positions along 'src'; it was given {other}"):
            trace.run({"x": f(other, 2)})
    assert Trace.from_json(trace.to_json()).fixed == {"src": 3}


# ---- edits and breaks ---------------------------------------------------------------------------------------------


def broken(trace, *edits):
    return trace.with_breaks(Break("mistake", edits, "symptom", "check")).broken("mistake")


def test_an_op_can_be_swapped_and_gets_as_many_inputs_as_it_takes(trace):
    again = broken(trace, Edit("scaled_scores", op="copy"))
    assert_agree(again["scaled_scores"], trace["scores"], 0)
    step = next(s for s in again.steps if again.tensors[s.output].name.endswith("scaled_scores"))
    assert (step.op, [again.tensors[i].name for i in step.inputs]) == ("copy", ["layer.attention.scores"])


def test_an_attribute_can_be_changed(trace):
    again = broken(trace, Edit("weights", attributes={"axis": np.int64(-2)}))
    assert_agree(again["weights"].sum(axis=0), np.ones(3), 1e-12)


def test_a_swapped_op_keeps_the_attributes_it_knows_and_takes_defaults_for_the_rest():
    with record() as trace:
        ops.softmax(leaf("x", f(2, 3), ("i", "j")), axis=0, name="weights")
    assert broken(trace, Edit("weights", op="hardmax")).steps[0].attributes == {"axis": 0}
    assert broken(trace, Edit("weights", op="relu")).steps[0].attributes == {}
    swapped = broken(broken(trace, Edit("weights", op="relu")), Edit("weights", op="softmax"))
    assert swapped.steps[0].attributes == {"axis": -1}


def test_inputs_can_be_changed(trace):
    again = broken(trace, Edit("layer.attention.output", inputs=("weights", "table")), Edit("weights", value=f(4, 4)))
    assert_agree(again["layer.attention.output"], f(4, 4) @ trace["table"], 1e-12)


def test_of_two_values_for_one_leaf_each_changes_the_cells_that_it_has_otherwise():
    with record() as trace:
        ops.copy(leaf("x", np.array([1.0, 2.0, 3.0]), ("i",)), name="y")
    one, other, again = Edit("x", [7.0, 2.0, 3.0]), Edit("x", [1.0, 8.0, 3.0]), Edit("x", [9.0, 2.0, 3.0])
    assert broken(trace, one, other)["y"].tolist() == [7, 8, 3]
    assert broken(trace, one, other, again)["y"].tolist() == [9, 8, 3]
    # Another length is another leaf, and a result has no cells of its own.
    assert broken(trace, one, Edit("x", [5.0, 6.0]))["y"].tolist() == [5, 6]
    assert broken(trace, Edit("y", [7.0, 2.0, 3.0]), Edit("y", [1.0, 8.0, 3.0]))["y"].tolist() == [1, 8, 3]


def test_a_reshape_can_stand_for_splitting_into_heads():
    with record() as trace:
        ops.split_heads(leaf("x", f(4, 6), ("n", "d")), n_heads=2, name="heads")
    assert_agree(broken(trace, Edit("heads", op="reshape_heads"))["heads"], f(4, 6).reshape(2, 4, 3), 0)


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (Edit("weights"), TraceError, "changes nothing"),
        (Edit("weights", value=f(4, 3), op="relu"), TraceError, "gives a value and a computation"),
        (Edit("query", op="relu"), TraceError, "'query' is not computed by a step"),
        (Edit("nobody", op="relu"), KeyError, "nobody"),
        (Edit("weights", op="relus"), TraceError, "There is no op 'relus'. There are: matmul"),
        (Edit("weights", op=""), TraceError, "There is no op ''"),
        (Edit("weights", op="matmul"), TraceError, "matmul takes a, b; it is given 1 tensors"),
        (Edit("weights", inputs=("scores", "query")), TraceError, "softmax takes x; it is given 2"),
        (Edit("weights", inputs=()), TraceError, "it is given 0 tensors"),
        (Edit("weights", inputs=("nobody",)), KeyError, "nobody"),
        (Edit("scores", inputs=("query", "weights")), TraceError, "needs 'layer.attention.weights', which is computed"),
        (Edit("scores", inputs=("query", "scores")), TraceError, "computed later"),
        (Edit("weights", attributes={"axes": 0}), TraceError, "softmax has no attribute 'axes'"),
        (Edit("scaled_scores", op="split_heads"), TraceError, "split_heads needs the attribute 'n_heads'"),
        (Edit("weights", op="share_across_heads", inputs=("allowed",)), TraceError, "these axes"),
        (Edit("weights", op="copy", inputs=("allowed",)), TraceError, "is called float, but it comes out as bool"),
        (Edit("weights", attributes={"axis": 5}), ValueError, "axis 5 does not exist"),
        (Edit("weights", value=f(3)), TraceError, "it needs the axes"),
        (Edit("weights", value=np.full((4, 3), -np.inf)), TraceError, "every number must be finite"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused_when_the_break_is_declared(trace, edit, error, message):
    with pytest.raises(error, match=message):
        trace.with_breaks(Break("mistake", edit, "symptom", "check"))


def test_inputs_that_come_later_are_refused_even_where_a_value_replaces_them(trace):
    edits = (Edit("weights", value=np.ones((4, 3))), Edit("scores", op="copy", inputs=("weights",)))
    for order in (edits, edits[::-1]):
        with pytest.raises(TraceError, match=r"needs 'layer\.attention\.weights', which is computed later"):
            trace.with_breaks(Break("mistake", order, "symptom", "check"))


def test_a_whole_number_is_one_that_a_page_can_hold():
    largest = 2**53 - 1

    def recorded(value):
        with record() as trace:
            ops.copy(leaf("n", np.array([value]), "n"), name="same")
        return trace

    for value in (largest, -largest):
        assert recorded(value)["same"].tolist() == [value]
        with pytest.raises(TraceError, match=r"too large a whole number; the largest is 2\*\*53 - 1"):
            recorded(value + (1 if value > 0 else -1))
        with pytest.raises(TraceError, match="too large a whole number"):
            recorded(0).with_breaks(Break("b", Edit("n", value=[value * 2]), "s", "c"))


def test_breaks_are_switched_by_name_alone_or_together(trace):
    two = trace.with_breaks(
        Break("hard", (Edit("weights", op="hardmax"),), "s", "c"),
        Break("unscaled", [Edit("scaled_scores", op="copy")], "s", "c"),
    )
    assert two == trace.with_breaks(*two.breaks)
    assert trace.breaks == ()
    assert two.broken() == two
    assert set(np.unique(two.broken("hard")["weights"])) == {0.0, 1.0}
    both = two.broken("unscaled", "hard")
    assert_agree(both["scaled_scores"], trace["scores"], 0)
    assert set(np.unique(both["weights"])) == {0.0, 1.0}
    with pytest.raises(KeyError, match=r"no break 'soft'\. It has: hard, unscaled"):
        two.broken("soft")
    with pytest.raises(KeyError, match="It has: none"):
        trace.broken("soft")


def test_the_order_of_the_names_does_not_matter(trace):
    two = trace.with_breaks(
        Break("a", Edit("weights", op="hardmax"), "s", "c"), Break("b", Edit("weights", op="relu"), "s", "c")
    )
    assert two.broken("a", "b") == two.broken("b", "a")
    assert two.broken("b", "a").steps[-2].op == "relu"


def test_of_breaks_that_edit_one_tensor_the_later_one_counts(trace):
    padded = trace.run({"src": "Tom chase <pad>"})
    copied = Break("copied", Edit("masked_scores", op="copy"), "s", "c")
    given = Break("given", Edit("masked_scores", value=f(4, 3)), "s", "c")
    # It takes both inputs of the recorded step, of which a copy leaves one and a value none.
    other = Break("other", Edit("masked_scores", op="mask_opposite"), "s", "c")
    for breaks in itertools.permutations([copied, given, other]):
        last = breaks[-1]
        all_on = padded.with_breaks(*breaks).broken(*(b.name for b in breaks))
        alone = padded.with_breaks(last).broken(last.name)
        assert_agree(all_on["weights"], alone["weights"], 0)


def test_a_text_in_a_break_is_kept_as_its_ids(trace):
    words = trace.with_breaks(Break("other words", Edit("src", value="Jerry chase"), "s", "c"))
    assert words.breaks[0].edits[0].value == [3, 2]
    assert words.broken("other words")["src"].tolist() == [3, 2]
    assert Trace.from_json(words.to_json()) == words


@pytest.mark.parametrize(
    ("breaks", "message"),
    [
        ([Break("a", Edit("weights", op="relu"), "", "")] * 2, "two breaks share a name"),
        ([Break("a", (), "", "")], "at least one edit"),
        ([Break("", Edit("weights", op="relu"), "", "")], "needs a name"),
    ],
)
def test_breaks_that_are_not_well_formed_are_refused(trace, breaks, message):
    with pytest.raises(TraceError, match=message):
        trace.with_breaks(*breaks)


def test_an_override_wins_over_a_break(trace):
    hard = broken(trace, Edit("weights", op="hardmax"))
    assert_agree(hard.run({"weights": f(4, 3)})["weights"], f(4, 3), 0)
    assert set(np.unique(hard.run({"query": f(2, 5)})["weights"])) == {0.0, 1.0}


# ---- equality -----------------------------------------------------------------------------------------------------


def test_equality_sees_every_part_of_the_definition_and_every_leaf(trace):
    assert trace == attention()
    assert trace != attention(n_src=2)
    assert trace != trace.run({"query": f(4, 5)})
    assert trace != trace.with_breaks(Break("a", Edit("weights", op="relu"), "", ""))
    assert trace != "trace"
    other = attention()
    other.title = "Other"
    assert trace != other
    with pytest.raises(TypeError):
        hash(trace)
