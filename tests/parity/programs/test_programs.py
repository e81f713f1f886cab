"""Whole programs: the engine's run equals Python's, and Python's equals a fresh call of the reference.

At lengths 1, 2 and 7, with edited cells, replaced results, and known mistakes switched on, alone and in pairs.
"""

import itertools
import json
from collections.abc import Callable

import numpy as np
import pytest
from agreement import assert_agree
from engine import ask_engine, from_engine, to_engine

from stepformer import Break, Edit, Trace, leaf, ops, record
from stepformer.examples import EXAMPLES
from stepformer.reference import attention as reference
from stepformer.reference.multi_head_attention import multi_head_attention

TOLERANCE = 1e-12
LENGTHS = [1, 2, 7]
D_MODEL, D_A, N_HEADS = 10, 3, 2
ROLES = ("query", "key", "value")
VOCABULARY = ("<pad>", "Tom", "chase", "Jerry")


def random_leaves(n_tgt: int, n_src: int) -> dict[str, np.ndarray]:
    """Leaves for the programs below; from the third source token on there is padding."""
    rng = np.random.default_rng([n_tgt, n_src])
    src = rng.integers(1, 4, size=n_src)
    src[2:] = 0
    widths = {"w_q": (D_MODEL, 10), "w_k": (D_MODEL, 10), "w_v": (D_MODEL, 14), "w_o": (14, D_MODEL)}
    weights = np.random.default_rng(0)
    leaves = {"src": src, "query": rng.normal(size=(n_tgt, D_MODEL)), "key": rng.normal(size=(n_src, D_MODEL))}
    for name, shape in widths.items():
        leaves |= {f"{name}.weight": weights.normal(size=shape), f"{name}.bias": weights.normal(size=shape[1])}
    for name, shape in {"w_query": (D_MODEL, D_A), "w_key": (D_MODEL, D_A), "v": (D_A,)}.items():
        leaves[name] = weights.normal(size=shape)
    return leaves


def dot_product(x):
    allowed = ops.padding_mask(x["src"], pad_id=0, name="padding")
    return reference.scaled_dot_product_attention(x["query"], x["key"], x["key"], allowed)


def additive(x):
    params = {name: x[name] for name in ("w_query", "w_key", "v")}
    return reference.additive_attention(x["query"], x["key"], x["key"], params)


def multi_head(x):
    allowed = ops.both(ops.padding_mask(x["src"], pad_id=0, name="padding"), ops.causal_mask(x["query"], x["key"]))
    return multi_head_attention(x["query"], x["key"], x["key"], x, N_HEADS, allowed)


def self_attention(x):
    return multi_head_attention(x["query"], x["query"], x["query"], x, N_HEADS)


def decoder_step(x):
    """Self-attention, then a norm, a small network and additive attention: many ops in one program."""
    seen = self_attention(x).output
    gain, bias = ops.relu(x["w_o.bias"], name="gain"), x["w_o.bias"]
    normed = ops.layer_norm(ops.add(x["query"], seen, name="sum"), gain, bias, name="normed")
    hidden = ops.tanh(ops.linear(normed, x["w_v.weight"], x["w_v.bias"], name="inner"), name="hidden")
    outer = ops.linear(hidden, x["w_o.weight"], x["w_o.bias"], name="outer")
    return additive(x | {"query": ops.concat(outer, outer, axis=-2)})


PROGRAMS: dict[str, Callable] = {
    "dot product": dot_product,
    "additive": additive,
    "multi-head": multi_head,
    "self-attention": self_attention,
    "decoder step": decoder_step,
}

AXES = {"src": ("src",), "query": ("tgt", "d"), "key": ("src", "d"), "v": ("unit",)}

BREAKS = {
    "dot product": (
        Break("unscaled", Edit("scaled_scores", op="copy"), "", ""),
        Break("wrong axis", Edit("weights", attributes={"axis": -2}), "", ""),
        Break("hard", Edit("weights", op="hardmax"), "", ""),
        Break("zero", Edit("masked_scores", op="mask_with_zero"), "", ""),
        Break("opposite", Edit("masked_scores", op="mask_opposite"), "", ""),
        Break("keys for weights", Edit("attention.output", inputs=("scores", "key")), "", ""),
        Break("no mask", (Edit("masked_scores", op="copy"), Edit("visible_key", op="copy")), "", ""),
        Break("all allowed", Edit("padding", value=[[True, True, True]]), "", ""),
    ),
    "additive": (Break("linear", Edit("hidden", op="copy"), "", ""), Break("relu", Edit("hidden", op="relu"), "", "")),
    "multi-head": (
        Break("reshape", [Edit(f"{role}_heads", op="reshape_heads") for role in ROLES], "", ""),
        Break("one head", [Edit(f"{role}_heads", attributes={"n_heads": 1}) for role in ROLES], "", ""),
        Break("root of d_model", Edit("scaled_scores", inputs=("scores", "query")), "", ""),
    ),
    "self-attention": (),
    "decoder step": (
        Break("no norm", Edit("normed", op="copy"), "", ""),
        Break("other eps", Edit("normed", attributes={"eps": 0.5}), "", ""),
    ),
}


def recorded(name: str) -> tuple[Trace, list[int]]:
    """The program at lengths 4 and 3 with its breaks, and the positions of the output and the weights it ends in."""
    with record(name) as trace:
        leaves = {}
        for key, x in random_leaves(4, 3).items():
            axes = AXES.get(key, [f"{key} {k}" for k in range(x.ndim)])
            leaves[key] = leaf(key, x, axes, vocabulary=VOCABULARY if key == "src" else ())
        attended = PROGRAMS[name](leaves)
    ends = [next(i for i, array in enumerate(trace.arrays) if array is end) for end in attended]
    return trace.with_breaks(*BREAKS[name]), ends


def resized(trace: Trace, axis: str, size: int) -> dict[str, np.ndarray]:
    """Leaves of another length along one axis, as a reader may type them."""
    rng = np.random.default_rng(size)
    new = {}
    for i in trace.leaves:
        tensor, array = trace.tensors[i], trace.arrays[i]
        if axis in tensor.axes:
            shape = tuple(size if name == axis else n for name, n in zip(tensor.axes, array.shape, strict=True))
            # Numbers, ids and truth values that were there before, in another order.
            new[tensor.name] = rng.choice(array.ravel(), size=shape)
    return new


def cases() -> dict[str, tuple[Trace, dict[str, np.ndarray], tuple[str, ...]]]:
    """Every run to compare: a name, the program, what is overridden, which breaks are on."""
    found = {}
    for name in PROGRAMS:
        trace, _ = recorded(name)
        found[name] = trace, {}, ()
        for n_tgt, n_src in itertools.product(LENGTHS, LENGTHS):
            leaves = random_leaves(n_tgt, n_src)
            found[f"{name}, {n_tgt} and {n_src}"] = trace, {key: leaves[key] for key in ("src", "query", "key")}, ()
        on = [(b.name,) for b in trace.breaks] + list(itertools.combinations([b.name for b in trace.breaks], 2))
        for breaks in on:
            found[f"{name}, {' and '.join(breaks)}"] = trace, {}, breaks
        for i, tensor in enumerate(trace.tensors):
            # One cell of every tensor in turn is edited, results too.
            if trace.arrays[i].size and tensor.name != "src":
                array = trace.arrays[i].copy()
                cell = array.flat[array.size // 2]
                array.flat[array.size // 2] = (not cell) if tensor.dtype == "bool" else 0.625
                found[f"{name}, a cell of {tensor.name}"] = trace, {tensor.name: array}, ()
    for name, example in EXAMPLES.items():
        trace = example()
        found[f"example {name}"] = trace, {}, ()
        axes = {axis for i in trace.leaves for axis in trace.tensors[i].axes} & {"src", "tgt"} - set(trace.fixed)
        for axis, size in itertools.product(sorted(axes), LENGTHS):
            found[f"example {name}, {axis} {size}"] = trace, resized(trace, axis, size), ()
    return found


CASES = cases()


@pytest.fixture(scope="module")
def answers():
    """Every run of every program, answered by one run of node."""
    programs = [
        {
            "program": json.loads(trace.to_json()),
            "overrides": {name: to_engine(value) for name, value in overrides.items()},
            "breaks": list(breaks),
        }
        for trace, overrides, breaks in CASES.values()
    ]
    return dict(zip(CASES, ask_engine(programs=programs)["programs"], strict=True))


def outcome(trace, overrides, breaks):
    """The values of a run, or the error that refuses it."""
    try:
        return trace.broken(*breaks).run(overrides).values
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("case", CASES)
def test_the_engine_runs_a_program_as_python_does(case, answers):
    mine, theirs = outcome(*CASES[case]), answers[case]
    if isinstance(mine, str):
        assert "error" in theirs, f"Python refuses ({mine}), the engine does not"
        return
    assert "error" not in theirs, theirs
    assert list(mine) == list(theirs)
    for name, value in mine.items():
        assert_agree(from_engine(theirs[name]), value, TOLERANCE, name)


def test_nearly_every_case_is_a_run_and_not_a_refusal():
    refused = [case for case in CASES if isinstance(outcome(*CASES[case]), str)]
    assert len(refused) < 0.1 * len(CASES)
    assert len(CASES) > 150


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("n_tgt", LENGTHS)
@pytest.mark.parametrize("n_src", LENGTHS)
def test_a_run_equals_a_fresh_call_of_the_reference(name, n_tgt, n_src):
    leaves = random_leaves(n_tgt, n_src)
    fresh = PROGRAMS[name](leaves)
    trace, ends = recorded(name)
    again = trace.run({key: leaves[key] for key in ("src", "query", "key")})
    for end, expected in zip(ends, fresh, strict=True):
        assert_agree(again.arrays[end], expected, TOLERANCE, again.tensors[end].name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_break_changes_a_result(name):
    trace, _ = recorded(name)
    for b in trace.breaks:
        broken = trace.broken(b.name)
        assert any(not np.array_equal(x, y) for x, y in zip(broken.arrays, trace.arrays, strict=True)), b.name
