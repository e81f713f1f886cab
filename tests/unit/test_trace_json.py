"""The JSON of a program: it comes back as it was, and nothing but a well-formed program comes in."""

import base64
import json
import random
import struct

import numpy as np
import pytest
from calls import EDGES, f, random_calls
from hypothesis import given, settings
from hypothesis import strategies as st

from stepformer import Break, Edit, Trace, TraceError, leaf, ops, record, scope
from stepformer.recording import OPS
from stepformer.reference.attention import scaled_dot_product_attention


def example():
    with record("Attention <b>&</b> mask") as trace:
        tokens = leaf("src", [1, 2, 0], "src", vocabulary=("<pad>", "Tom", "chase"))
        query = leaf("query", f(4, 5) / 7, ("tgt", "d_k"), {"tgt": ["汤姆", "追逐", "杰瑞", "</script>"]})
        table = leaf("table", f(3, 5) / 7, ("word", "d_k"))
        more = leaf("more", [[True, False, True]], ("any query", "src"))
        allowed = ops.both(ops.padding_mask(tokens, pad_id=0, name="padding"), more, name="allowed")
        key = ops.embed(tokens, table, name="key")
        with scope("layer"):
            scaled_dot_product_attention(query, key, key, allowed)
    return trace.with_breaks(
        Break("hard", Edit("weights", op="hardmax"), "One word takes all.", "some_check"),
        Break("all", (Edit("allowed", value=[[True] * 3]), Edit("weights", attributes={"axis": 0})), "?", "other"),
        Break("keys", Edit("layer.attention.output", inputs=("weights", "table")), "", ""),
    )


TRACE = example()
TEXT = TRACE.to_json()


def document():
    return json.loads(TEXT)


# ---- there and back -----------------------------------------------------------------------------------------------


def test_a_trace_comes_back_equal_with_equal_values_and_equal_text():
    again = Trace.from_json(TEXT)
    assert again == TRACE
    assert again.to_json() == TEXT
    for a, b in zip(again.arrays, TRACE.arrays, strict=True):
        assert a.tobytes() == b.tobytes()
        assert not a.flags.writeable
    assert again.axis_labels("weights") == TRACE.axis_labels("weights")
    assert again.broken("hard", "all") == TRACE.broken("hard", "all")


def test_what_a_run_made_can_be_stored_too():
    scores = TRACE.run({"scores": f(2, 3), "query": f(2, 5)})
    assert Trace.from_json(scores.to_json()) == scores


def test_the_text_is_strict_json_on_one_line_and_safe_in_a_script_element():
    json.loads(TEXT, parse_constant=pytest.fail)
    assert "<" not in TEXT
    assert "\n" not in TEXT
    assert "汤姆" in TEXT
    assert document()["title"] == "Attention <b>&</b> mask"


def test_results_carry_no_data():
    for tensor in document()["tensors"]:
        assert ("data" in tensor) == (tensor["name"] in ("src", "query", "table", "more"))


def test_an_infinity_is_refused_when_it_is_written():
    for shape in ((4, 3), (2000, 3)):
        padded = TRACE.run({"masked_scores": np.full(shape, -np.inf), "query": f(shape[0], 5)})
        with pytest.raises(TraceError, match="infinity"):
            padded.to_json()


@pytest.mark.parametrize("name", OPS)
def test_a_program_of_each_op_comes_back(name):
    for inputs, attributes in random_calls(name, 10, seed=3) + EDGES[name]:
        if all(x.dtype.kind != "f" or np.isfinite(x).all() for x in inputs):
            with record() as trace:
                leaves = [leaf(f"x{i}", x, [f"a{i}{k}" for k in range(x.ndim)]) for i, x in enumerate(inputs)]
                getattr(ops, name)(*leaves, **attributes)
            again = Trace.from_json(trace.to_json())
            assert again == trace
            assert again.arrays[-1].tobytes() == trace.arrays[-1].tobytes()


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(numbers, max_size=30), st.text(min_size=1), st.text(), st.dictionaries(st.text(), st.integers(0, 9)))
@settings(max_examples=60)
def test_any_numbers_and_any_texts_come_back(data, name, title, fixed):
    fixed.pop("n", None)
    with record(title, fixed) as trace:
        x = leaf(name, np.array(data), "n", {"n": [title] * len(data)})
        ops.copy(x, name=f"copy of {name}")
    again = Trace.from_json(trace.to_json())
    assert again == trace
    assert again.arrays[0].tobytes() == trace.arrays[0].tobytes()


# ---- large leaves are base64 --------------------------------------------------------------------------------------


def one_leaf(array):
    with record() as trace:
        ops.copy(leaf("x", array, [f"a{k}" for k in range(array.ndim)]))
    return trace


@pytest.mark.parametrize(
    ("array", "stored"),
    [
        (np.random.default_rng(0).normal(size=(7, 143)), "float64"),
        (np.random.default_rng(0).normal(size=(7, 143)).astype(np.float16).astype(float), "float16"),
        (np.full(1001, 1e5), "float64"),
        (np.full(1001, 65504.0), "float64"),
        (np.full(1001, 2.0**-24), "float16"),
        (np.full(1001, 2.0**-25), "float64"),
        (np.arange(1001) - 500, "int32"),
        (np.arange(1001) % 3 == 0, "uint8"),
    ],
)
def test_more_than_a_thousand_numbers_are_stored_as_base64(array, stored):
    trace = one_leaf(array)
    data = json.loads(trace.to_json())["tensors"][0]["data"]
    assert data["type"] == stored
    again = Trace.from_json(trace.to_json())
    assert again == trace
    assert again.arrays[0].tobytes() == trace.arrays[0].tobytes()


def test_a_thousand_numbers_are_decimals():
    assert len(json.loads(one_leaf(np.zeros(1000)).to_json())["tensors"][0]["data"]) == 1000


def test_the_bytes_are_little_endian_in_row_major_order():
    array = np.asfortranarray(np.arange(1200.0).reshape(40, 30) / 7)
    raw = base64.b64decode(json.loads(one_leaf(array).to_json())["tensors"][0]["data"]["base64"])
    assert struct.unpack("<3d", raw[:24]) == (0 / 7, 1 / 7, 2 / 7)


def test_ids_beyond_32_bits_are_refused_when_there_are_many():
    with pytest.raises(TraceError, match="2147483647"):
        one_leaf(np.full(1001, 2**31)).to_json()
    assert Trace.from_json(one_leaf(np.array([2**40])).to_json())["x"][0] == 2**40


# ---- what is refused ----------------------------------------------------------------------------------------------


def changed(path, value):
    """The document with one value changed; `...` removes it."""
    text = document()
    place = text
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return text


def encoded(array):
    return base64.b64encode(array.tobytes()).decode()


QUERY, SRC, MORE, PADDING = 1, 0, 3, 4

TAMPERED = [
    (("format",), "stepformer.trace/2", "format 'stepformer.trace/2'; this version reads 'stepformer.trace/1'"),
    (("format",), ..., "format None"),
    (("title",), 3, "trace.title is int; it must be str"),
    (("labels",), [], "trace.labels is list"),
    (("labels", "tgt"), "abcd", r"labels\[tgt\] must be a list of texts"),
    (("labels", "tgt"), [1, 2, 3, 4], "must be a list of texts"),
    (("fixed",), {"tgt": 3}, "unrolled for 3 positions along 'tgt'; it was given 4"),
    (("fixed",), {"tgt": -4}, "must be a whole number, 0 or more"),
    (("fixed",), {"tgt": True}, "must be a whole number"),
    (("tensors",), ..., "trace lacks 'tensors'"),
    (("tensors",), {}, "trace.tensors is dict"),
    (("tensors", QUERY), None, r"tensors\[1\] is not an object"),
    (("tensors", QUERY, "name"), ..., r"tensors\[1\] lacks 'name'"),
    (("tensors", QUERY, "name"), "", "name is ''"),
    (("tensors", QUERY, "name"), "src", "Two tensors are named 'src'"),
    (("tensors", QUERY, "dtype"), "double", "dtype is 'double'; a dtype is one of float, int, bool"),
    (("tensors", QUERY, "dtype"), "int", "must hold only numbers of kind int"),
    (("tensors", QUERY, "axes"), ["tgt"], r"query: the value has shape \(4, 5\); it needs the axes \('tgt',\)"),
    (("tensors", QUERY, "axes"), ..., "axes must be a list of texts"),
    (("tensors", QUERY, "shape"), ..., "lacks 'shape'"),
    (("tensors", QUERY, "shape"), [5, 5], r"shape \(5, 5\) needs 25 numbers, but there are 20"),
    (("tensors", QUERY, "shape"), [-4, -5], "must be a whole number"),
    (("tensors", QUERY, "shape"), [4, 5.0], "must be a whole number"),
    (("tensors", QUERY, "shape"), [10**6, 10**6], "1,000,000,000,000 cells; a program holds at most 4,000,000"),
    (("tensors", QUERY, "shape"), [1] * 80 + [20], "not well formed"),
    (("tensors", QUERY, "data"), ..., r"steps\[5\] \(matmul\) uses 'query' before it is computed"),
    (("tensors", QUERY, "data", 3), None, "must hold only numbers of kind float"),
    (("tensors", QUERY, "data", 3), True, "must hold only numbers"),
    (("tensors", QUERY, "data", 3), "1", "must hold only numbers"),
    (("tensors", QUERY, "data", 3), 10**400, "not well formed: OverflowError"),
    (("tensors", SRC, "data", 0), 1.5, "must hold only numbers of kind int"),
    (("tensors", SRC, "data", 0), 3, r"src: ids must lie in 0 … 2; given \[3, 2, 0\]"),
    (("tensors", SRC, "data", 0), 2**70, "not well formed: OverflowError"),
    (("tensors", SRC, "token_rule"), "syllable", "token_rule is 'syllable'"),
    (("tensors", QUERY, "token_rule"), "space", "token_rule is 'space'"),
    (("tensors", QUERY, "vocabulary"), ["a"], "only a leaf of token ids along one axis has a vocabulary"),
    (("tensors", PADDING, "vocabulary"), ["a"], "only a leaf of token ids"),
    (("tensors", MORE, "data", 0), 1, "must hold only numbers of kind bool"),
    (("tensors", QUERY, "data"), {"base64": "AAA", "type": "float64"}, "not well formed"),
    (("tensors", QUERY, "data"), {"base64": "ä===", "type": "float64"}, "not well formed"),
    (("tensors", QUERY, "data"), {"base64": f"!{encoded(np.ones(20))}", "type": "float64"}, "not well formed"),
    (("tensors", QUERY, "data"), {"base64": "AAAA", "type": "float64"}, "3 bytes are not a whole number of float64"),
    (("tensors", QUERY, "data"), {"base64": "", "type": "float64"}, "needs 20 numbers, but there are 0"),
    (("tensors", QUERY, "data"), {"base64": ""}, "base64 of type float64, float16"),
    (("tensors", QUERY, "data"), {"base64": "", "type": "float32"}, "base64 of type float64, float16"),
    (("tensors", QUERY, "data"), {"type": "float64"}, "lacks 'base64'"),
    (("tensors", QUERY, "data"), {"base64": encoded(np.full(20, np.nan)), "type": "float64"}, "is nan; every number"),
    (("tensors", SRC, "data"), {"base64": encoded(np.ones(3)), "type": "float64"}, "for int base64 of type int32"),
    (("tensors", MORE, "data"), {"base64": encoded(np.ones(3)), "type": "float64"}, "for bool base64 of type uint8"),
    (("tensors", PADDING, "dtype"), "float", "'padding' is called float, but it comes out as bool"),
    (("tensors", PADDING, "axes"), ["src"], "'padding' has shape .* but these axes"),
    (("steps",), ..., "trace lacks 'steps'"),
    (("steps", 0), ..., r"steps\[0\] \(both\) uses 'padding' before it is computed"),
    (("steps", -1), ..., "'layer.attention.output' has no data and no step that computes it"),
    (("steps", 0), 5, r"steps\[0\]: no known op: 5"),
    (("steps", 0, "op"), "paddingmask", "no known op: 'paddingmask'"),
    (("steps", 0, "op"), ["x"], "not well formed"),
    (("steps", 0, "inputs"), [99], "names a tensor that is not there"),
    (("steps", 0, "inputs"), [], "padding_mask takes tokens; it is given 0 tensors"),
    (("steps", 0, "inputs"), [0, 0], "padding_mask takes tokens; it is given 2 tensors"),
    (("steps", 0, "inputs"), [True], "must be a whole number"),
    (("steps", 0, "inputs"), [5], r"steps\[0\] \(padding_mask\) uses 'allowed' before it is computed"),
    (("steps", 0, "output"), 0, "writes 'src', which is there already"),
    (("steps", 1, "output"), 4, "writes 'padding', which is there already"),
    (("steps", 0, "output"), None, "must be a whole number"),
    (("steps", 0, "scope"), 1, "scope is int"),
    (("steps", 0, "attributes"), {"pad": 0}, "padding_mask has no attribute 'pad'"),
    (("steps", 0, "attributes"), {"pad_id": [0]}, "has no attribute 'pad_id' with a value like"),
    (("steps", 0, "attributes"), {}, "not well formed: TypeError"),
    (("steps", 0, "attributes"), [], "attributes is list"),
    (("breaks",), {}, "trace.breaks is dict"),
    (("breaks", 0), 1, "not well formed"),
    (("breaks", 0, "edits"), [], "at least one edit"),
    (("breaks", 0, "edits"), [{"op": "relu"}], "not well formed: KeyError"),
    (("breaks", 0, "edits", 0, "tensor"), "nobody", "no tensor 'nobody'"),
    (("breaks", 0, "edits", 0, "tensor"), ["weights"], "not well formed"),
    (("breaks", 0, "edits", 0, "op"), "hardermax", "There is no op 'hardermax'"),
    (("breaks", 0, "edits", 0, "op"), {}, "not well formed"),
    (("breaks", 0, "edits", 0, "value"), [[1.0]], "gives a value and a computation"),
    (("breaks", 1, "edits", 0, "value"), [[1, 0, 1]], "this tensor is bool"),
    (("breaks", 1, "edits", 0, "value"), {"a": 1}, "kind object"),
    (("breaks", 2, "edits", 0, "inputs"), "weights", "must be a list of texts"),
    (("breaks", 1, "name"), "hard", "two breaks share a name"),
    (("breaks", 1, "symptom"), ..., "lacks 'symptom'"),
]


@pytest.mark.parametrize(("path", "value", "message"), TAMPERED)
def test_a_tampered_document_is_refused_with_what_is_wrong(path, value, message):
    with pytest.raises(TraceError, match=message):
        Trace.from_json(json.dumps(changed(path, value)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON, or was cut off"),
        ("{", "not JSON, or was cut off"),
        (TEXT[:-1], "not JSON, or was cut off"),
        ("[1]", "A trace is a JSON object; this is list"),
        ("null", "this is NoneType"),
        ("{}", "format None"),
        (TEXT.replace('"data":[1,2,0]', '"data":[NaN]'), "holds NaN, which is not JSON"),
        (TEXT.replace('"data":[1,2,0]', '"data":[-Infinity]'), "holds -Infinity"),
        (TEXT.replace('"data":[1,2,0]', '"data":[1' + "0" * 5000 + "]"), "not JSON"),
        (TEXT.replace('"pad_id":0', '"pad_id":1e999'), "with a value like inf"),
        ("[" * 100_000, "not JSON"),
        (TEXT.replace("0.", "1e999+0.", 1), "not JSON"),
    ],
)
def test_what_is_not_json_is_refused(text, message):
    assert text != TEXT
    with pytest.raises(TraceError, match=message):
        Trace.from_json(text)


def test_a_key_that_stands_twice_is_refused():
    text = example().to_json()
    for twice in ('"title":"a","title":', '"op":"relu","op":'):
        key = twice.split('"')[1]
        with pytest.raises(TraceError, match=f"the key '{key}' more than once"):
            Trace.from_json(text.replace(f'"{key}":', twice, 1))


def test_a_number_too_large_for_a_float_is_refused():
    text = TEXT.replace('"data":[-', '"data":[-1e999,-', 1)
    assert text != TEXT
    with pytest.raises(TraceError):
        Trace.from_json(text)


JUNK = [None, True, False, -1, 0, 1, 2, 7, 0.5, 1e300, -1e-300, 2**63, "", "src", "x", [], [0], [[1]], {}, {"a": 1}]


def mutated(rng):
    """A document with one to three values replaced, removed, copied to another place, or put into a list."""
    text = document()
    for _ in range(rng.randint(1, 3)):
        places = []

        def collect(node, places=places):
            for key in list(node) if isinstance(node, dict) else range(len(node)):
                places.append((node, key))
                if isinstance(node[key], dict | list):
                    collect(node[key])

        collect(text)
        node, key = rng.choice(places)
        action = rng.random()
        if action < 0.5:
            node[key] = rng.choice(JUNK)
        elif action < 0.7:
            del node[key]
        elif action < 0.85:
            other, other_key = rng.choice(places)
            node[key] = json.loads(json.dumps(other[other_key]))
        else:
            node[key] = [node[key]] * rng.randint(0, 3)
    return json.dumps(text)


def cut_or_garbled(rng):
    start, length = rng.randrange(len(TEXT)), rng.randint(0, 5)
    action = rng.random()
    if action < 0.3:
        return TEXT[:start]
    return TEXT[:start] + ("" if action < 0.6 else rng.choice('0{}[]",:-e.tn<\\ ')) + TEXT[start + length :]


@pytest.mark.parametrize("block", range(10))
def test_a_damaged_document_is_read_as_a_sound_program_or_refused_as_a_trace_error(block):
    for seed in range(50 * block, 50 * block + 50):
        rng = random.Random(seed)
        text = mutated(rng) if seed % 5 else cut_or_garbled(rng)
        try:
            trace = Trace.from_json(text)
        except TraceError:
            continue
        assert Trace.from_json(trace.to_json()) == trace
        for tensor in trace.tensors:
            assert len(trace.axis_labels(tensor.name)) == len(tensor.axes)


def test_most_damaged_documents_are_refused():
    refused = 0
    for seed in range(200):
        try:
            Trace.from_json(mutated(random.Random(seed)))
        except TraceError:
            refused += 1
    assert refused > 120
