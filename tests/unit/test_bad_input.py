"""What a reader may get wrong, from every side: a clear error, and everything as it was before."""

import io
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

from stepformer import Break, Edit, Trace, TraceError, cli, leaf, ops, record, scope, show
from stepformer.exercises import find
from stepformer.reference import masks
from stepformer.reference.attention import scaled_dot_product_attention


def document(tensors, steps):
    """A program as a stored document, for what `record` would not write."""
    return json.dumps({"format": "stepformer.trace/1", "title": "", "labels": {}, "fixed": {}, "tensors": tensors,
                       "steps": steps, "breaks": []})  # fmt: skip


def stored_leaf(name, *shape, dtype="float"):
    """A leaf of ones."""
    axes = [f"axis {i}" for i in range(len(shape))]
    return {"name": name, "axes": axes, "dtype": dtype, "shape": list(shape), "data": [1] * int(np.prod(shape))}


def step(op, inputs, output, **attributes):
    """A stored step."""
    return {"op": op, "inputs": inputs, "output": output, "scope": "", "attributes": attributes}


RESULT = {"name": "c", "axes": ["i", "j"], "dtype": "float"}


class TestHugeResults:
    """A few kilobytes that ask for gigabytes are refused before anything is computed."""

    @pytest.mark.parametrize(
        ("tensors", "steps"),
        [
            ([stored_leaf("a", 9000, 1), stored_leaf("b", 1, 9000), RESULT], [step("matmul", [0, 1], 2)]),
            ([stored_leaf("a", 9000, 1), stored_leaf("b", 1, 9000), RESULT], [step("add", [0, 1], 2)]),
            ([stored_leaf("a", 9000, 1), stored_leaf("b", 9000, 1), RESULT], [step("add_pairs", [0, 1], 2)]),
            ([stored_leaf("a", 9000, 1), stored_leaf("b", 9000, 1), RESULT], [step("causal_mask", [0, 1], 2)]),
            (
                [stored_leaf("x", 4, 3), stored_leaf("w", 2, 3, 5), stored_leaf("b", 5), RESULT],
                [step("convolve_1d", [0, 1, 2], 3, before=10**9, after=0, stride=10**9, dilation=1)],
            ),
            (
                [stored_leaf("x", 1, 4, 3), stored_leaf("w", 2, 1, 2, 2), stored_leaf("b", 2), RESULT],
                [step("convolve_2d", [0, 1, 2], 3, padding=10**6, stride=10**6)],
            ),
            ([stored_leaf("t", 3, dtype="int"), RESULT], [step("one_hot", [0], 1, vocab_size=10**14)]),
            ([stored_leaf("t", 9000, dtype="int"), stored_leaf("b", 2, 9000), RESULT], [step("embed", [0, 1], 2)]),
            (
                [stored_leaf("a", 9000, 1), stored_leaf("b", 1, 9000), stored_leaf("d", 9000), RESULT],
                [step("linear", [0, 1, 2], 3)],
            ),
            (
                [stored_leaf("a", 1, 1), *({**RESULT, "name": f"c{i}"} for i in range(40))],
                [step("concat", [i, i], i + 1, axis=-1) for i in range(40)],
            ),
        ],
    )
    def test_are_refused(self, tensors, steps):
        with pytest.raises(TraceError, match=f"{steps[0]['op']}: .* at most 4,000,000"):
            Trace.from_json(document(tensors, steps))

    def test_are_refused_while_recording_and_in_a_run(self):
        with record() as trace:
            ops.matmul(leaf("a", np.ones((2, 1)), ("i", "k")), leaf("b", np.ones((1, 9000)), ("k", "j")), name="c")
        with pytest.raises(TraceError, match=r"matmul: .* 81,000,000 cells"):
            trace.run({"a": np.ones((9000, 1))})
        with record() as trace, pytest.raises(TraceError, match="at most 4,000,000"):
            ops.matmul(leaf("a", np.ones((9000, 1)), ("i", "k")), leaf("b", np.ones((1, 9000)), ("k", "j")))
        assert not trace.steps


class TestValues:
    """A number that a tensor cannot hold is refused, not turned into another."""

    @pytest.mark.parametrize("value", [[2**63], np.array([2**63], np.uint64)])
    def test_whole_numbers_that_are_too_large(self, value):
        with pytest.raises(TraceError, match="9223372036854775808 is too large"):
            leaf("ids", value, "src")

    def test_a_long_double_beyond_float64(self):
        with pytest.raises(TraceError, match="must be finite"):
            leaf("x", np.array([np.finfo(np.longdouble).max]) * np.longdouble(1), "d")

    def test_ragged_lists_name_the_leaf(self):
        with pytest.raises(TraceError, match="leaf 'x': the value is ragged"):
            leaf("x", [[1], [2, 3]], ("i", "j"))

    def test_torch_tensors(self):
        torch = pytest.importorskip("torch")
        with record() as trace:
            ops.copy(leaf("x", torch.ones(2), "d"), name="y")
        assert np.array_equal(trace.run({"x": torch.tensor([3.0, 4.0])})["y"], [3, 4])
        with pytest.raises(TraceError, match=r"leaf 'x': .*detach"):
            leaf("x", torch.ones(2, requires_grad=True), "d")


class TestNames:
    """What could be recorded but not be read back is refused at once."""

    @pytest.mark.parametrize("name", [None, 5, ""])
    def test_names_are_texts(self, name):
        with pytest.raises(TraceError, match="leaf: the name is"):
            leaf(name, [1.0], "d")
        with record() as trace:
            x = leaf("x", [1.0], "d")
            if name is not None:
                with pytest.raises(TraceError, match="copy: name is"):
                    ops.copy(x, name=name)
            with pytest.raises(TraceError, match="scope: the name is"), scope(name):
                pass
        assert not trace.steps

    @pytest.mark.parametrize("axes", [None, 5, (5,)])
    def test_axes_are_texts(self, axes):
        with pytest.raises(TraceError, match="leaf 'x': axes are"):
            leaf("x", [1.0], axes)

    def test_an_axis_of_a_result_may_be_one_text(self):
        with record() as trace:
            ops.copy(leaf("x", [1.0], "d"), axes="src")
        assert trace.tensors[1].axes == ("src",)

    @pytest.mark.parametrize("name", [None, 5, ("a",)])
    def test_looking_for_a_name_that_is_no_text(self, name):
        with record() as trace:
            ops.copy(leaf("x", [1.0], "d"))
        with pytest.raises(KeyError, match="It has: x, copy"):
            trace.run({name: [1.0]})

    def test_a_refused_leaf_leaves_no_labels(self):
        with record() as trace, pytest.raises(TraceError, match="2 positions but 1 labels"):
            leaf("x", np.ones((2, 2)), ("i", "j"), labels={"i": ["p", "q"], "j": ["r"]})
        assert trace.labels == {}
        assert trace.tensors == []

    @pytest.mark.parametrize("eps", [float("inf"), np.float64("inf")])
    def test_attributes_that_json_can_not_hold(self, eps):
        with record() as trace:
            x = leaf("x", [1.0], "d")
            with pytest.raises(TraceError, match="layer_norm: attribute 'eps' is inf"):
                ops.layer_norm(x, x, x, eps=eps)
        assert Trace.from_json(trace.to_json()) == trace

    def test_recording_an_overflow_is_silent_as_running_it_is(self):
        with warnings.catch_warnings(), record() as trace:
            warnings.simplefilter("error")
            ops.multiply(leaf("a", [1e300], "d"), leaf("b", [1e300], "d"), name="c")
        assert np.isposinf(trace["c"]).all()
        assert np.isposinf(trace.run()["c"]).all()


def test_attention_takes_lists_with_a_mask_too():
    rows = [[1.0, 2.0], [0.0, 1.0]]
    mask = [[True, False], [True, True]]
    given = scaled_dot_product_attention(rows, rows, rows, mask)
    arrays = scaled_dot_product_attention(*(np.array(x) for x in (rows, rows, rows)), np.array(mask))
    assert np.array_equal(given.output, arrays.output)


class TestCommandLine:
    """`stepformer trace` ends with an answer, whatever a program holds."""

    def test_a_result_without_columns(self, tmp_path, capsys):
        path = tmp_path / "program.json"
        tensors = [stored_leaf("a", 3, 2), stored_leaf("b", 2, 0), RESULT]
        path.write_text(document(tensors, [step("matmul", [0, 1], 2)]))
        assert cli.main(["trace", str(path)]) == 0
        assert "c = matmul(a, b)  (3, 0)" in capsys.readouterr().out

    def test_an_empty_path_is_refused(self, capsys):
        assert cli.main(["trace", ""]) == 2
        assert "file is empty; give the path of a file, or - for standard input" in capsys.readouterr().err

    def test_names_do_not_steer_the_terminal(self, tmp_path, capsys):
        path = tmp_path / "program.json"
        steering = "\x1b]0;title\x07\r\n\u202e名"
        path.write_text(document([stored_leaf(steering, 1), {"name": "c", "axes": ["i"], "dtype": "float"}],
                                 [step("copy", [0], 1)]))  # fmt: skip
        assert cli.main(["trace", str(path)]) == 0
        assert capsys.readouterr().out.startswith(r"c = copy(\x1b]0;title\x07\r\n\u202e名)  (1,)" + "\n")
        path.write_text(document([stored_leaf(steering, 1), stored_leaf(steering, 1)], []))
        assert cli.main(["trace", str(path)]) == 1
        assert not set(capsys.readouterr().err[:-1]) & set("\x1b\x07\r\n\u202e")

    @pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_signs_that_the_terminal_can_not_show(self, tmp_path, monkeypatch, encoding, options):
        path = tmp_path / "program.json"
        tensors = [stored_leaf("\ud800 −", 1), {"name": "名", "axes": ["i"], "dtype": "float"}]
        path.write_text(document(tensors, [step("copy", [0], 1)]))
        out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", out)
        assert cli.main(["trace", str(path), *options]) == 0
        assert rb"\ud800" in out.buffer.getvalue()

    def test_a_reader_who_has_enough(self, tmp_path):
        path = tmp_path / "program.json"
        with record() as trace:
            ops.copy(leaf("x", np.ones((2000, 50)), ("i", "j")))
        path.write_text(trace.to_json())
        command = [
            sys.executable,
            "-c",
            "from stepformer.cli import main; raise SystemExit(main())",
            "trace",
            str(path),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""


class TestAnswers:
    """An odd answer gets a verdict or an error that names the exercise; never a wrong verdict."""

    @pytest.mark.parametrize("answer", ["abc", {}, 1 + 2j, np.array([1 + 2j]), [[1], [2, 3]], 10**400, None, np.nan])
    def test_a_number(self, answer):
        with pytest.raises(ValueError, match=r"attention\.score: .*finite number"):
            find("attention.score").check(answer)

    @pytest.mark.parametrize("answer", [np.array([1, 2]), "1", None, 0.5])
    def test_a_choice(self, answer):
        with pytest.raises(ValueError, match=r"attention\.temperature: choose one of 0 … 3"):
            find("attention.temperature").check(answer)

    @pytest.mark.parametrize("result", [[[1], [2, 3]], np.ones((4, 7)) * 1j, {}, object(), "text"])
    def test_code(self, result):
        feedback = find("attention.write").check(lambda *_: result)
        assert not feedback.right
        assert "array" in feedback.message

    def test_code_that_returns_the_right_numbers_with_an_imaginary_part(self):
        exercise = find("attention.write")
        assert not exercise.check(lambda *given: exercise.solution(*given) + 1j).right


class TestOps:
    """Every op names itself and the argument."""

    @pytest.mark.parametrize("name", sorted(ops.OPS))
    def test_ragged_lists_and_texts(self, name):
        op, count = ops.OPS[name], len(ops.OPS[name].tensor_names)
        needed = {key: 1 for key in op.attributes}
        for given in ([[1], [2, 3]], "text", np.ones((2, 2)) * 1j):
            with pytest.raises((TypeError, ValueError), match=f"^{name}: "):
                getattr(ops, name)(*[given] * count, **needed)

    @pytest.mark.parametrize("axis", [0.5, None, "x", True, (0, 1)])
    @pytest.mark.parametrize("name", ["softmax", "hardmax", "total", "concat"])
    def test_an_axis_is_a_whole_number(self, name, axis):
        with pytest.raises(TypeError, match=f"{name}: axis is .* whole number"):
            getattr(ops, name)(np.ones((2, 2)), axis=axis)

    @pytest.mark.parametrize("base", [0, -1, np.nan, np.inf, "x", None])
    def test_a_base_is_a_positive_number(self, base):
        with pytest.raises(ValueError, match=r"sinusoids: base is .* it must be positive and finite"):
            ops.sinusoids(np.ones((2, 2)), base=base)

    @pytest.mark.parametrize("pad_id", [0.5, None, "0", np.array([1, 2]), np.nan])
    def test_a_padding_id_is_a_whole_number(self, pad_id):
        with pytest.raises(TypeError, match=r"padding_mask: pad_id is .* whole number"):
            ops.padding_mask(np.array([0, 1]), pad_id=pad_id)

    def test_softmax_of_scores_further_apart_than_any_number(self):
        assert ops.softmax(np.array([1e308, -1e308])).tolist() == [1, 0]


@pytest.mark.parametrize("odd", [[[1], [2, 3]], np.ones((2, 2)) * 1j, np.array([["a", "b"]]), np.array([[None, 1]])])
def test_attention_names_what_is_no_array_of_numbers(odd):
    with pytest.raises((TypeError, ValueError), match=r"^key"):
        scaled_dot_product_attention(np.ones((2, 2)), odd, np.ones((len(odd), 3)))


class TestShow:
    """The player's Python side."""

    def trace(self):
        with record() as trace:
            ops.copy(leaf("x", [1.0, 2.0], "d"), name="y")
        return trace

    @pytest.mark.parametrize("value", [None, "Tom", 10**400, 1j, np.ones(2), [1], np.nan])
    def test_set_refuses_what_is_no_number(self, value):
        player = show(self.trace())
        with pytest.raises(TraceError, match=r"set: .* is not a finite number"):
            player.set("x", (0,), value)
        assert player.edits == []

    @pytest.mark.parametrize("index", [None, 0, "a", (0.0,)])
    def test_set_refuses_what_is_no_index(self, index):
        with pytest.raises(TraceError, match="set: index"):
            show(self.trace()).set("x", index, 1)

    @pytest.mark.parametrize("start", [None, 0.5, True, [1], np.nan])
    def test_a_start_that_is_none(self, start):
        with pytest.raises(TraceError, match="start: "):
            show(self.trace(), start=start)

    def test_one_break_needs_no_list(self):
        mistake = Break("ones", Edit("y", value=[1, 1]), "all ones", "check")
        assert show(self.trace(), mistake).trace.breaks == (mistake,)

    @pytest.mark.parametrize("mistake", [None, 5, "x"])
    def test_a_break_is_a_break(self, mistake):
        with pytest.raises(TypeError, match="with_breaks: a known mistake is a Break"):
            self.trace().with_breaks(mistake)

    def test_overrides_are_a_dictionary(self):
        with pytest.raises(TypeError, match="run: overrides are"):
            self.trace().run([1])

    @pytest.mark.parametrize("text", [None, 5, b"{}"])
    def test_from_json_reads_text(self, text):
        with pytest.raises(TraceError, match="reads JSON text"):
            Trace.from_json(text)

    @pytest.mark.parametrize("arguments", [{"title": None}, {"fixed": {"src": 1.5}}, {"fixed": {"src": "a"}}])
    def test_record_refuses_what_could_not_be_stored(self, arguments):
        with pytest.raises(TraceError, match=r"record\(\): "), record(**arguments):
            pass


@pytest.mark.parametrize("tokens", [[1], [1, 2, 3]])
def test_a_target_mask_needs_one_token_for_each_row(tokens):
    torch = pytest.importorskip("torch")
    from stepformer.nn import masks as nn_masks

    with pytest.raises(ValueError, match="tokens"):
        masks.target_mask(np.array(tokens), np.ones((2, 3)), 0)
    with pytest.raises(ValueError, match="tokens"):
        nn_masks.target_mask(torch.tensor(tokens), torch.ones(2, 3), 0)


@pytest.mark.parametrize("need_weights", [False, True])
def test_attention_in_torch_refuses_a_width_of_0_as_the_reference_does(need_weights):
    torch = pytest.importorskip("torch")
    from stepformer.nn import attention

    given = torch.ones(2, 0), torch.ones(4, 0), torch.ones(4, 5)
    with pytest.raises(ValueError, match="width must be 1 or more"):
        attention.scaled_dot_product_attention(*given, need_weights=need_weights)


class TestTorchModules:
    """Every module of `stepformer.nn` names the argument and its rule; torch alone takes some of these silently."""

    @pytest.mark.parametrize("size", [0, -1, 2.5, np.nan, None, "4", True])
    @pytest.mark.parametrize(
        ("name", "make"),
        [
            ("d_model", lambda nn, size: nn.FeedForward(size, 8)),
            ("d_model", lambda nn, size: nn.LayerNorm(size)),
            ("vocab_size", lambda nn, size: nn.Embedding(size, 4)),
            ("width", lambda nn, size: nn.Convolution1d(4, 4, size)),
            ("window", lambda nn, size: nn.Convolution2d(1, 1, size)),
            ("d_hidden", lambda nn, size: nn.GRU(4, size)),
            ("n_layers", lambda nn, size: nn.LSTM(4, 4, size)),
            ("d_k", lambda nn, size: nn.SelfAttention(4, size)),
            ("d_k", lambda nn, size: nn.CrossAttention(4, size)),
            ("d_attention", lambda nn, size: nn.AdditiveAttention(4, 4, size)),
            ("d_v", lambda nn, size: nn.MultiHeadAttention(8, 2, 4, 4 if size is None else size)),
            ("max_len", lambda nn, size: nn.SinusoidalPositions(4, size)),
            ("max_len", lambda nn, size: nn.LearnedPositions(size, 4)),
            ("d_k", lambda nn, size: nn.Rotary(size)),
        ],
    )
    def test_sizes(self, name, make, size):
        nn = pytest.importorskip("stepformer.nn")
        if name == "d_v" and size is None:
            return
        with pytest.raises((TypeError, ValueError), match=rf"^{name} is .*; it must be"):
            make(nn, size)

    def test_sizes_of_numpy(self):
        nn = pytest.importorskip("stepformer.nn")
        assert nn.GRU(np.int64(4), np.int64(3)).hidden_size == 3
        assert nn.Transformer(5, 5, np.int64(8), np.int64(2), np.int64(1), 8).pad_id == 0

    @pytest.mark.parametrize("dropout", [-0.1, 1, np.nan, None, "x", True])
    def test_dropout_of_the_function_too(self, dropout):
        nn = pytest.importorskip("stepformer.nn")
        import torch

        x = torch.ones(2, 2)
        with pytest.raises((TypeError, ValueError), match=r"dropout is .*share"):
            nn.scaled_dot_product_attention(x, x, x, dropout=dropout)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda nn, x: nn.SinusoidalPositions(4, 5)(x, -3), "start is -3"),
            (lambda nn, x: nn.SinusoidalPositions(4, 5)(x[..., :1]), "x has shape .* d_model = 4"),
            (lambda nn, x: nn.SinusoidalPositions(4, 5, np.nan), "base is nan"),
            (lambda nn, x: nn.Rotary(4, 0), "base is 0"),
            (lambda nn, x: nn.LayerNorm(4, np.inf), "eps is inf"),
            (lambda nn, x: nn.distance_bias(x, x, np.inf), "slope is inf"),
            (lambda nn, x: nn.top_k(x, np.nan), "k is nan"),
            (lambda nn, x: nn.padding_mask(x.long(), 0.5), "pad_id is 0.5"),
            (lambda nn, x: nn.Embedding(5, 4)([1, 2]), "tokens must be a tensor of token ids; this is list"),
            (lambda nn, x: nn.MultiHeadAttention(8, 2.5), "n_heads = 2.5"),
            (lambda nn, x: nn.GRU(4, 3)(x[:, :0]), "x has shape"),
            (lambda nn, x: nn.GRU(4, 3)(x[0, 0]), "x has shape"),
            (lambda nn, x: nn.GRU(4, 3)(x.repeat(3, 1, 1), hidden=x.new_ones(2, 3, 1, 3)), "hidden has shape"),
            (lambda nn, x: nn.Encoder(1, 4, 2, 4)(x, x.new_ones(3, 1, 2) > 0), "mask has shape .* the query"),
            (lambda nn, x: nn.cross_entropy(x, x[..., 0].long() + 4, 0), "targets go from 5 to 5"),
            (lambda nn, x: nn.cross_entropy(x, x[..., 0], 0), "targets must be token ids"),
        ],
    )
    def test_arguments(self, call, message):
        nn = pytest.importorskip("stepformer.nn")
        import torch

        with pytest.raises((TypeError, ValueError), match=message):
            call(nn, torch.ones(2, 2, 4))

    def test_ids_of_any_whole_kind_are_ids(self):
        nn = pytest.importorskip("stepformer.nn")
        import torch

        embedding, ids = nn.Embedding(5, 4), torch.tensor([[1, 4]])
        logits = torch.randn(1, 2, 5)
        for kind in (torch.uint8, torch.int8, torch.int16, torch.int32):
            assert torch.equal(embedding(ids.to(kind)), embedding(ids))
            assert torch.equal(nn.cross_entropy(logits, ids.to(kind), 0), nn.cross_entropy(logits, ids, 0))

    def test_a_cache_belongs_to_its_sentences_and_its_source(self):
        nn = pytest.importorskip("stepformer.nn")
        import torch

        model = nn.Transformer(7, 9, 8, 2, 2, 8).eval()
        memory, mask = model.encode(torch.tensor([[1, 2, 3], [4, 5, 0]]))
        cache = model.decode(torch.tensor([[1], [2]]), memory, mask).cache
        new = torch.tensor([[3], [4]])
        for given, message in [
            ((new[:1], memory[:1], mask[:1], cache), "the cache holds sentences"),
            ((new, memory[:, :2], mask[..., :2], cache), "a cache belongs to one source"),
            ((new, memory, mask, cache._replace(layers=cache.layers[:1])), "cache holds 1 layers"),
        ]:
            with pytest.raises(ValueError, match=message):
                model.decode(*given)
        # Two words of target for two sentences: a mask without its middle axis would fit by chance.
        with pytest.raises(ValueError, match="memory_mask has shape"):
            model.decode(torch.tensor([[1, 2], [2, 3]]), memory, mask[:, 0])
        attention = nn.MultiHeadAttention(8, 2)
        _, known = attention.step(torch.ones(2, 1, 8))
        with pytest.raises(ValueError, match="cache holds keys of shape"):
            attention.step(torch.ones(3, 1, 8), known)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda own: own.encoder, "takes a torch.nn.Transformer; this is TransformerEncoder"),
            (lambda own: setattr(own.decoder.layers[0], "norm_first", True), "one number of heads, norm_first"),
            (lambda own: setattr(own.decoder.layers[0].norm2, "eps", 0.1), "epsilons"),
            (lambda own: setattr(own.decoder.layers[0].multihead_attn, "num_heads", 4), "one number of heads"),
            (lambda own: setattr(own.decoder, "layers", own.encoder.layers), "TransformerEncoderLayer"),
            (lambda own: setattr(own.encoder, "layers", own.encoder.layers[:0]), "one layer or more"),
        ],
    )
    def test_a_foreign_model_is_not_taken_for_one_of_torch(self, change, message):
        nn = pytest.importorskip("stepformer.nn")
        import torch

        own = torch.nn.Transformer(8, 2, 1, 1, 8, batch_first=True)
        with pytest.raises((TypeError, ValueError), match=message):
            nn.Transformer.from_torch(change(own) or own, 5, 5)


def test_gelu_of_a_huge_number_is_that_number():
    assert ops.gelu(np.array([1e308])).tolist() == [1e308]
