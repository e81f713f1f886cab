"""Parameters between torch, NumPy and files."""

import json
import os
import re
import struct

import numpy as np
import pytest
import torch
from agreement import assert_agree
from calls import f
from safetensors.numpy import save_file

from stepformer import nn, ops, params


def model():
    torch.manual_seed(0)
    return torch.nn.ModuleDict(
        {
            "source_embedding": torch.nn.Embedding(11, 10),
            "self_attn": nn.MultiHeadAttention(10, 2, d_v=7),
            "additive": nn.AdditiveAttention(3, 5, 7),
            "norm": torch.nn.LayerNorm(10),
        }
    )


ARRAYS = params.to_arrays(model().state_dict())


def test_names_stay_and_the_weights_of_linear_layers_alone_are_turned():
    state = model().state_dict()
    assert list(ARRAYS) == list(state)
    other = {name for name in state if ARRAYS[name].shape != tuple(state[name].shape)}
    assert other == {"self_attn.w_v.weight", "self_attn.w_o.weight"}
    for name, tensor in state.items():
        linear = re.fullmatch(r"self_attn\.w_[qkvo]\.weight", name)
        assert_agree(ARRAYS[name], tensor.T.numpy() if linear else tensor.numpy(), 0, name)


def test_a_turned_weight_is_what_the_reference_multiplies_with():
    layer = torch.nn.Linear(5, 3).double()
    arrays = params.to_arrays(layer.state_dict())
    x = torch.randn(2, 5, dtype=torch.float64)
    assert_agree(ops.linear(x.numpy(), arrays["weight"], arrays["bias"]), layer(x), 1e-14)


def test_arrays_are_copies():
    layer = torch.nn.Linear(5, 3)
    arrays = params.to_arrays(layer.state_dict())
    before = {name: array.copy() for name, array in arrays.items()}
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(1)
    for name, array in arrays.items():
        assert_agree(array, before[name], 0)


def test_there_and_back_gives_the_same_module():
    first, second = model(), model()
    with torch.no_grad():
        for parameter in second.parameters():
            parameter.zero_()
    state = params.from_arrays(ARRAYS, second.state_dict())
    assert [(name, t.dtype, t.shape) for name, t in state.items()] == [
        (name, t.dtype, t.shape) for name, t in first.state_dict().items()
    ]
    second.load_state_dict(state)
    for name, tensor in first.state_dict().items():
        assert torch.equal(second.state_dict()[name], tensor)


def test_the_tensors_take_the_kind_of_the_module_and_do_not_share_memory_with_read_only_arrays():
    arrays = {"weight": np.ones((5, 3)), "bias": np.zeros(3)}
    for array in arrays.values():
        array.flags.writeable = False
    state = params.from_arrays(arrays, torch.nn.Linear(5, 3).state_dict())
    assert state["weight"].dtype == torch.float32
    state["bias"].add_(1)
    assert arrays["bias"].sum() == 0


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"weight": f(5, 3)}, r"missing parameters: \['bias'\]; unknown parameters: \[\]"),
        ({"weight": f(5, 3), "bias": f(3), "b": f(3)}, r"missing parameters: \[\]; unknown parameters: \['b'\]"),
        ({"weight": f(3, 5), "bias": f(3)}, r"'weight' has shape \(3, 5\); the module needs \(5, 3\)"),
        ({"weight": f(5, 3), "bias": f(5)}, r"'bias' has shape \(5,\); the module needs \(3,\)"),
    ],
)
def test_arrays_that_do_not_fit_the_module_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        params.from_arrays(arrays, torch.nn.Linear(5, 3).state_dict())


def test_one_part_of_a_model_is_selected_by_its_path():
    part = params.select(ARRAYS, "self_attn")
    assert sorted(part) == sorted(f"w_{r}.{kind}" for r in "qkvo" for kind in ("weight", "bias"))
    assert part["w_q.weight"] is ARRAYS["self_attn.w_q.weight"]
    assert sorted(params.select(ARRAYS, "self_attn.w_q")) == ["bias", "weight"]
    for nothing in ("self", "self_attn.", "encoder", ""):
        with pytest.raises(KeyError, match=f"No parameter lies under '{nothing}'. There are: .*norm.weight"):
            params.select(ARRAYS, nothing)


# ---- files --------------------------------------------------------------------------------------------------------


def test_a_file_gives_back_what_was_saved(tmp_path):
    arrays = {
        "turned": f(3, 5).T,
        "half": f(2, 2).astype(np.float16),
        "single": np.array(2.5, dtype=np.float32),
        "ids": np.array([1, -2]),
        "empty": np.zeros((0, 3)),
        "汤姆": np.array([True, False]),
    }
    metadata = {"d_model": 10, "vocabulary": ["<pad>", "追逐"], "nested": {"a": None}}
    params.save(tmp_path / "model.safetensors", arrays, metadata)
    again, note = params.load(str(tmp_path / "model.safetensors"))
    assert note == metadata
    assert sorted(again) == sorted(arrays)
    for name, array in arrays.items():
        assert_agree(again[name], array, 0, name)
        assert again[name].dtype == array.dtype


def test_metadata_may_be_left_out(tmp_path):
    params.save(tmp_path / "m", {"x": f(2)})
    assert params.load(tmp_path / "m")[1] == {}


def test_the_same_parameters_give_the_same_bytes(tmp_path):
    params.save(tmp_path / "a", ARRAYS, {"b": 1, "a": 2, "c": 3})
    params.save(tmp_path / "b", dict(reversed(ARRAYS.items())), {"c": 3, "a": 2, "b": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "m"
    params.save(path, {"x": f(2)}, {"version": 1})
    old = path.read_bytes()
    with pytest.raises(TypeError, match="JSON"):
        params.save(path, {"x": f(3)}, {"version": object()})

    def no_space(handle):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="no space"):
        params.save(path, {"x": f(3)}, {"version": 2})
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_save_replaces_the_old_file(tmp_path):
    params.save(tmp_path / "m", {"x": f(2)})
    params.save(tmp_path / "m", {"x": f(3)})
    assert params.load(tmp_path / "m")[0]["x"].shape == (3,)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("cut", [0, 4, 8, 30, -1])
def test_a_file_that_was_cut_off_is_refused_by_name(tmp_path, cut):
    path = tmp_path / "model.safetensors"
    params.save(path, ARRAYS)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged, cut off, or not a file of parameters"):
        params.load(path)


@pytest.mark.parametrize("content", [b"PK\x03\x04" + b"x" * 50, b"{}", struct.pack("<Q", 2**62) + b"{}", b"\0" * 100])
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ValueError, match="is damaged, cut off, or not a file of parameters"):
        params.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        (None, "None"),
        ({"stepformer": "no json"}, "None"),
        ({"stepformer": "[]"}, "None"),
        ({"format": "pt"}, "None"),
        ({"stepformer": json.dumps({"format": "stepformer.params/2", "metadata": {}})}, "'stepformer.params/2'"),
        ({"stepformer": json.dumps({"format": "stepformer.params/1"})}, "None"),
    ],
)
def test_parameters_that_something_else_wrote_are_refused(tmp_path, note, shown):
    save_file({"x": f(2)}, tmp_path / "m", note)
    with pytest.raises(ValueError, match=rf"has the format {shown}; this version reads 'stepformer\.params/1'"):
        params.load(tmp_path / "m")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        params.load(tmp_path / "nowhere")


@pytest.mark.parametrize("options", [{"bias": False}, {"proj_size": 2}])
def test_a_recurrent_layer_that_ours_can_not_be_is_refused_by_name(options):
    with pytest.raises(ValueError, match=r"'weight_hh_l0' has shape .* without a projection"):
        params.to_arrays(torch.nn.LSTM(4, 3, **options).state_dict())


def test_of_many_missing_names_some_are_listed():
    like = torch.nn.Sequential(*(torch.nn.Linear(1, 1) for _ in range(100))).state_dict()
    with pytest.raises(ValueError, match=r"missing parameters: \['0.bias', .* 194 more and \['99.weight'\]") as refused:
        params.from_arrays({}, like=like)
    assert len(str(refused.value)) < 300


def test_types_that_numpy_has_not_and_endless_notes_are_refused(tmp_path):
    def write(header, content=b""):
        text = json.dumps(header).encode()
        (tmp_path / "x").write_bytes(struct.pack("<Q", len(text)) + text + content)

    write({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, bytes(4))
    with pytest.raises(ValueError, match="holds numbers of the type BF16, which NumPy does not know"):
        params.load(tmp_path / "x")
    write({"__metadata__": {"stepformer": "[" * 100_000}})
    with pytest.raises(ValueError, match="has the format None"):
        params.load(tmp_path / "x")
