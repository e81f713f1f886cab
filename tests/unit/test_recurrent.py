"""What the chapter on recurrent networks shows: designed states, gates with a story, checks that can fail."""

import ast

import numpy as np
import pytest
from agreement import assert_agree
from helpers import ROOT, only_in_test_all
from hypothesis import given
from hypothesis import strategies as st

from stepformer import TraceError, examples, exercises, leaf, mistakes, record
from stepformer.reference.recurrent import deep, gru, gru_step, lstm, lstm_step, rnn, rnn_step

BEING, ACTION, CAT, MOUSE = range(4)
PARAMS = {"rnn": examples.RNN_PARAMS, "lstm": examples.AGREEMENT_PARAMS, "gru": examples.GRU_PARAMS}
D_IN = {"rnn": 5, "lstm": 4, "gru": 5}
D_HIDDEN = {"rnn": 4, "lstm": 3, "gru": 4}


def read(kind, x, mask=None, params=None, **given):
    """The sequence read by the network of the examples, from a state of zeros."""
    state = [np.zeros((*x.shape[:-2], D_HIDDEN[kind]))] * (2 if kind == "lstm" else 1)
    network = {"rnn": rnn, "lstm": lstm, "gru": gru}[kind]
    return network(x, *state, params or PARAMS[kind], mask, **given)


def drawn(kind, *shape, seed=0):
    return np.random.default_rng(seed).normal(size=(*shape, D_IN[kind]))


# ---- by hand --------------------------------------------------------------------------------------------------------


def test_one_step_of_each_by_hand():
    ones, zero = np.ones(1), np.zeros(1)
    unit = {"weight": np.ones((2, 1)), "bias": np.full(1, 0.5)}
    assert_agree(rnn_step(ones, np.full(1, 0.25), unit), np.tanh([1.75]), 1e-12)
    log_3 = np.log(3)  # sigmoid(log 3) = 3/4
    gates = {"forget": log_3, "input": -log_3, "candidate": np.arctanh(0.5), "output": 0.0}
    params = {f"{gate}.bias": np.full(1, bias) for gate, bias in gates.items()}
    params |= {f"{gate}.weight": np.zeros((2, 1)) for gate in gates}
    hidden, cell = lstm_step(ones, zero, np.full(1, 2.0), params)
    assert_agree(cell, np.array([0.75 * 2 + 0.25 * 0.5]), 1e-12)
    assert_agree(hidden, 0.5 * np.tanh(cell), 1e-12)


# ---- what holds for all numbers -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", PARAMS)
@given(seed=st.integers(0, 1000), n=st.integers(1, 6), more=st.integers(0, 3))
def test_padding_changes_nothing(kind, seed, n, more):
    x = drawn(kind, n, seed=seed)
    padded = np.concatenate([x, np.full((more, D_IN[kind]), np.nan)])
    mask = (np.arange(n + more) < n)[None]
    for backward in (False, True):
        alone, held = read(kind, x, backward=backward), read(kind, padded, mask, backward=backward)
        assert np.array_equal(held.hidden, alone.hidden)
        assert np.array_equal(held.states[:n], alone.states)
        assert not held.states[n:].any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", PARAMS)
@given(seed=st.integers(0, 1000))
def test_no_state_knows_a_later_word(kind, seed):
    x = drawn(kind, 5, seed=seed)
    other = x.copy()
    other[3] += 1
    assert np.array_equal(read(kind, x).states[:3], read(kind, other).states[:3])
    assert not np.array_equal(read(kind, x).states[3:], read(kind, other).states[3:])


@pytest.mark.parametrize("kind", PARAMS)
def test_reading_backward_is_reading_the_sentence_backward(kind):
    x = drawn(kind, 2, 5)
    backward, reversed_ = read(kind, x, backward=True), read(kind, x[:, ::-1])
    assert_agree(backward.states, reversed_.states[:, ::-1], 0)
    assert_agree(backward.hidden, reversed_.hidden, 0)


def test_the_two_grus_differ_only_by_the_place_of_the_reset_gate():
    x = drawn("gru", 4)
    assert np.abs(read("gru", x).states - read("gru", x, reset="before").states).max() > 1e-3
    open_gate = examples.GRU_PARAMS | {"reset.weight": np.zeros((9, 4)), "reset.bias": np.full(4, 800.0)}
    after, before = (read("gru", x, params=open_gate, reset=reset).states for reset in ("after", "before"))
    assert_agree(after, before, 1e-12)


# ---- the examples are as designed -----------------------------------------------------------------------------------


def test_the_plain_network_forgets_the_cat_and_the_gru_keeps_it():
    plain, gated = examples.recurrent_network()["rnn.states"], examples.gated_recurrent_unit()["gru.states"]
    assert plain[0, CAT] > 0.7
    assert plain[2, CAT] < 0.1
    assert gated[0, CAT] > 0.7
    assert gated[2, CAT] > 0.6
    for states in (plain, gated):
        assert states[2, MOUSE] > 0.7
        assert states[1, ACTION] > 0.8


def test_word_order_changes_the_last_state():
    trace = examples.recurrent_network()
    there, back = trace["rnn.states"][-1], trace.run({"src": "Jerry chase Tom"})["rnn.states"][-1]
    assert there[MOUSE] > 0.7 > 0.1 > back[MOUSE]
    assert back[CAT] > 0.7 > 0.1 > there[CAT]


@pytest.mark.parametrize("sentence", ["John sleep Mary sing", "Mary sing John sleep", "John sing John sleep"])
def test_the_pronoun_follows_the_last_name(sentence):
    says = examples.pronoun().run({"src": sentence})["says"]
    name = None
    for word, (he, she) in zip(sentence.split(), says, strict=True):
        name = word if word in ("John", "Mary") else name
        assert (he if name == "John" else she) > 0.95


def test_the_forget_gate_clears_male_when_the_subject_changes():
    trace = examples.pronoun()
    assert trace["step_2.cell"][0] > 0.9
    assert trace["step_3.forget_gate"].max() < 0.05
    assert trace["step_3.cell"][0] < 0.05
    assert min(trace["step_2.forget_gate"].min(), trace["step_4.forget_gate"].min()) > 0.95


@pytest.mark.parametrize("first", ["cat", "cats", "dog", "dogs"])
@pytest.mark.parametrize("second", ["cat", "cats", "dog", "dogs"])
@pytest.mark.parametrize("preposition", ["near", "behind"])
def test_the_verb_agrees_with_the_first_noun(first, preposition, second):
    says = examples.agreement().run({"src": f"{first} {preposition} {second}"})["says"]
    right = 1 if first.endswith("s") else 0
    assert says[:, right].min() > 0.95


def test_without_the_state_the_gates_listen_to_the_second_noun():
    trace = examples.agreement().with_breaks(*mistakes.AGREEMENT)
    says = trace.broken(mistakes.AGREEMENT[0].name)["says"]
    assert says[1, 0] > 0.95
    assert 0.2 < says[2, 0] < 0.8


@pytest.mark.parametrize("table", [examples.RNN_PARAMS, examples.PRONOUN_PARAMS, examples.AGREEMENT_PARAMS,
                                   examples.GRU_PARAMS, {"x": examples.WORD_TABLE}])  # fmt: skip
def test_designed_numbers_have_at_most_two_decimals_and_are_no_identity(table):
    for array in table.values():
        assert np.array_equal(array, array.round(2))
        assert not np.array_equal(array, np.eye(*array.shape)) if array.ndim == 2 else True


RERUN = {
    "recurrent_network": ("rnn.states", lambda x: read("rnn", x).states),
    "agreement": ("lstm.states", lambda x: read("lstm", x).states),
    "gated_recurrent_unit": ("gru.states", lambda x: read("gru", x).states),
}


@pytest.mark.parametrize("name", RERUN)
def test_a_program_rerun_with_other_numbers_equals_a_fresh_call(name):
    result, fresh = RERUN[name]
    trace = examples.EXAMPLES[name]()
    x = np.random.default_rng(0).normal(size=trace["x"].shape)
    assert np.array_equal(trace.run({"x": x})[result], fresh(x))
    assert np.array_equal(trace[result], fresh(trace["x"]))


def test_a_program_unrolled_for_three_words_refuses_four():
    with pytest.raises(TraceError, match="unrolled for 3 positions along 'src'; it was given 4"):
        examples.recurrent_network().run({"src": "Tom chase Jerry Tom"})


def test_recording_changes_no_bit_and_names_the_axes():
    x, mask = drawn("lstm", 3), np.array([[True, True, False]])
    with record() as trace:
        leaves = {name: leaf(name, array, ("both", "state")[-array.ndim :]) for name, array in PARAMS["lstm"].items()}
        start = [leaf(name, np.zeros(3), ("state",)) for name in ("hidden_0", "cell_0")]
        lstm(leaf("x", x, ("src", "feature")), *start, leaves, leaf("mask", mask, ("one", "src")))
    plain = read("lstm", x, mask)
    assert np.array_equal(trace["visible_states"], plain.states)
    assert np.array_equal(trace["step_3.held_cell"], plain.cell)
    assert trace.tensors[trace.find("visible_states")].axes == ("src", "state")
    assert trace.tensors[trace.find("step_1.joined")].axes == ("feature and state",)


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong():
    x, zeros = drawn("rnn", 3), np.zeros(4)
    with pytest.raises(ValueError, match=r"x has shape \(0, 5\); it must be \(…, n, d_in\) with n of 1 or more"):
        rnn(x[:0], zeros, examples.RNN_PARAMS)
    with pytest.raises(ValueError, match=r"x is not finite at \(1, 0\)"):
        rnn(np.where(np.arange(3)[:, None] == 1, np.nan, x), zeros, examples.RNN_PARAMS)
    with pytest.raises(ValueError, match=r"linear: x is \(8,\), weight is \(9, 4\)"):
        rnn(x, zeros[:3], examples.RNN_PARAMS)
    with pytest.raises(ValueError, match="params lack bias; there are: weight"):
        rnn(x, zeros, {"weight": np.zeros((9, 4))})
    with pytest.raises(ValueError, match=r"params lack forget.weight, forget.bias"):
        lstm(x, zeros, zeros, {})
    with pytest.raises(ValueError, match=r"params lack candidate.w_x.weight"):
        gru(x, zeros, {})
    with pytest.raises(ValueError, match="reset is 'never'"):
        gru_step(x[0], zeros, examples.GRU_PARAMS, "never")
    with pytest.raises(TypeError, match="mask must be boolean, True = a word; it is float64"):
        rnn(x, zeros, examples.RNN_PARAMS, np.ones((1, 3)))
    with pytest.raises(ValueError, match=r"mask has shape \(3,\); for x \(3, 5\) it must be \(…, 1, n\)"):
        rnn(x, zeros, examples.RNN_PARAMS, np.ones(3, dtype=bool))
    layered = {f"layers.0.forward.{name}": array for name, array in examples.RNN_PARAMS.items()}
    with pytest.raises(ValueError, match="kind is 'cnn'; it is one of rnn, lstm, gru"):
        deep("cnn", x, zeros[None], layered)
    with pytest.raises(ValueError, match=r"hidden has shape \(4,\); it must be \(…, 1, d_hidden\)"):
        deep("rnn", x, zeros, layered)
    with pytest.raises(ValueError, match="rnn: a cell state is given; an LSTM alone has one"):
        deep("rnn", x, zeros[None], layered, cell=zeros[None])
    with pytest.raises(ValueError, match=r"params hold no layers\.0\.forward"):
        deep("rnn", x, zeros[None], examples.RNN_PARAMS)


def test_inputs_are_not_changed():
    x, mask = drawn("gru", 3), np.array([[True, True, False]])
    before = x.copy()
    read("gru", x, mask)
    assert np.array_equal(x, before)


# ---- the experiment of the chapter, with other seeds ----------------------------------------------------------------


def experiment():
    """The functions of the chapter's cell that trains networks to agree at a distance."""
    from normalise_notebook import read as read_notebook

    cells = read_notebook(ROOT / "chapters" / "03_recurrent.ipynb").cells
    (source,) = [cell.source for cell in cells if "def trained_accuracy" in cell.source]
    kept = [node for node in ast.parse(source).body if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef))]
    names: dict = {}
    exec(compile(ast.Module(kept, []), "cell", "exec"), names)
    return names["trained_accuracy"]


@only_in_test_all
def test_the_experiment_comes_out_with_other_seeds():
    accuracy = experiment()
    for seed in range(1, 7):
        assert accuracy("RNN", 4, seed=seed) > 0.95
        assert accuracy("RNN", 35, seed=seed) < 0.7
        assert accuracy("LSTM", 35, seed=seed, forget_bias=4.0) > 0.95
        for forget_bias in (0.0, 1.0):
            assert accuracy("LSTM", 35, seed=seed, forget_bias=forget_bias) < 0.7


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"), [("state", 0.9920), ("cell", 0.75), ("update", 0), ("gradient", 0.0052), ("parallel", 0)]
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"recurrent.{name}", answer).right
