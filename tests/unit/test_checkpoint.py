"""Model directories: what is saved comes back, and whatever does not fit is refused by name."""

import json
import re

import numpy as np
import pytest
import torch
from helpers import fault

from stepformer import params
from stepformer.checkpoint import CheckpointError, find, load_model, read_model, save_model
from stepformer.data.tokenizer import WordTokenizer
from stepformer.model_kinds import build, kind_of
from stepformer.nn import EncoderDecoder, RecurrentAttention, Transformer

SRC_WORDS = ("<pad>", "<bos>", "<eos>", "<unk>", "Tom", "chases", "Jerry", ".")
TGT_WORDS = ("<pad>", "<bos>", "<eos>", "<unk>", "汤姆", "追逐", "杰瑞", "。", "吗")
SRC, TGT = torch.tensor([[4, 5, 6, 7, 2], [4, 2, 0, 0, 0]]), torch.tensor([[1, 4, 5, 6], [1, 4, 0, 0]])


SRC_TOKENIZER, TGT_TOKENIZER = WordTokenizer(SRC_WORDS, "en"), WordTokenizer(TGT_WORDS, "zh")


def transformer(**options):
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 1, "d_ff": 12, "dropout": 0.1, "max_len": 10,
             "tgt_vocab_size": 9} | options  # fmt: skip
    return Transformer(8, **sizes, generator=torch.Generator().manual_seed(1))


def save(directory, model=None, **options):
    model = transformer() if model is None else model
    record = {"title": "Test", "licence": "MIT"}
    return save_model(directory, model, SRC_TOKENIZER, TGT_TOKENIZER, record, **options)


@pytest.fixture
def directory(tmp_path):
    return save(tmp_path / "model")


def change(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


MODELS = {
    "post-norm": transformer,
    "pre-norm, learned positions": lambda: transformer(norm_first=True, positions="learned", activation="gelu"),
    "final norm, depths": lambda: transformer(final_norm=True, n_encoder_layers=2, n_decoder_layers=3),
    "tied output": lambda: transformer(tie_output=True),
    "gru": lambda: EncoderDecoder(8, 9, 5, 6),
    "rnn": lambda: EncoderDecoder(8, 9, 5, 6, kind="rnn"),
    "gru_attention": lambda: RecurrentAttention(8, 9, 5, 6, 7, dropout=0.2),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_loaded_model_computes_what_the_saved_one_does(make, tmp_path):
    model = make().eval()
    loaded = load_model(save(tmp_path / "m", model))
    assert not loaded.model.training
    assert kind_of(loaded.model) == kind_of(model)
    with torch.no_grad():
        ours, theirs = loaded.model(SRC, TGT), model(SRC, TGT)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)  # of a GRU two biases are stored as their sum
    if isinstance(model, Transformer):
        assert torch.equal(ours, theirs)
    assert loaded.src_tokenizer.vocabulary == SRC_WORDS
    assert loaded.tgt_tokenizer.vocabulary == TGT_WORDS
    assert loaded.record == {"title": "Test", "licence": "MIT"}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_arguments_read_off_a_model_build_one_of_the_same_shape(make):
    model = make()
    kind, arguments = kind_of(model)
    assert json.loads(json.dumps(arguments)) == arguments
    shapes = [{n: tuple(t.shape) for n, t in m.state_dict().items()} for m in (model, build(kind, arguments))]
    assert shapes[0] == shapes[1]


def test_shared_tables_stay_shared_and_are_stored_once(tmp_path):
    model = transformer(tgt_vocab_size=8, share_embeddings=True, tie_output=True)
    save_model(tmp_path / "m", model, SRC_TOKENIZER, SRC_TOKENIZER)
    back = load_model(tmp_path / "m").model
    assert back.output.weight is back.tgt_embedding.weight is back.src_embedding.weight
    stored = params.load(tmp_path / "m" / "weights.safetensors")[0]
    assert "src_embedding.weight" in stored
    assert not {"tgt_embedding.weight", "output.weight"} & set(stored)
    arrays = read_model(tmp_path / "m").arrays
    assert arrays.keys() == params.to_arrays(model.state_dict()).keys()
    for name, array in params.to_arrays(model.state_dict()).items():
        np.testing.assert_array_equal(arrays[name], array)


def test_float16_halves_the_file_and_changes_little(tmp_path):
    model = transformer(d_model=32, d_ff=64).eval()
    sizes = [
        (save(tmp_path / d, model, dtype=d) / "weights.safetensors").stat().st_size for d in ("float32", "float16")
    ]
    assert sizes[1] < 0.65 * sizes[0]
    back = load_model(tmp_path / "float16").model
    assert {p.dtype for p in back.parameters()} == {torch.float32}
    with torch.no_grad():
        torch.testing.assert_close(back(SRC, TGT), model(SRC, TGT), atol=0.01, rtol=0.01)


def test_saving_twice_gives_the_same_bytes(tmp_path):
    one, other = save(tmp_path / "a"), save(tmp_path / "b")
    assert [p.read_bytes() for p in sorted(one.iterdir())] == [p.read_bytes() for p in sorted(other.iterdir())]


def test_building_and_loading_leave_torch_s_random_numbers_where_they_were(directory):
    before = torch.get_rng_state()
    load_model(directory)
    assert torch.equal(before, torch.get_rng_state())


def test_the_seed_decides_the_first_parameters():
    arguments = kind_of(EncoderDecoder(8, 9, 5, 6))[1]
    same, again, other = (build("gru", arguments, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(same[name], again[name]) for name in same)
    assert not torch.equal(same["output.weight"], other["output.weight"])


# ---- refusals ----


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: (d / "model.json").unlink(), r"no model: it has no model\.json"),
        (lambda d: (d / "weights.safetensors").unlink(), r"weights\.safetensors can not be read"),
        (lambda d: (d / "model.json").write_text('{"format": "step'), "damaged or cut off: it is not JSON"),
        (lambda d: (d / "model.json").write_text('{"a": NaN}'), "NaN is no JSON"),
        (lambda d: (d / "model.json").write_bytes(b"\xff\xfe"), "it is not JSON"),
        (lambda d: (d / "model.json").write_text("[" * 100_000), "damaged or cut off"),
        (lambda d: (d / "model.json").write_text("[]"), "written by something else"),
        (lambda d: change(d / "model.json", format="stepformer.model/2"), "version 2; this version .* reads 1"),
        (lambda d: change(d / "model.json", format="other.model/1"), "something else; it must be 'stepf"),
        (lambda d: change(d / "model.json", kind="perceptron"), "kind is 'perceptron'; it must be one of"),
        (lambda d: change(d / "model.json", kind=3), "kind is 3; it must be a text"),
        (lambda d: change(d / "model.json", arguments={"d_model": 8, "colour": 1}), "colour unknown; there are"),
        (lambda d: change(d / "model.json", arguments={"src_vocab_size": 8}), "tgt_vocab_size missing"),
        (lambda d: change(d / "model.json", src_tokenizer={"kind": "x"}), "src_tokenizer: "),
        (lambda d: change(d / "model.json", weights={}), r"weights\.sha256 is missing"),
        (lambda d: (d / "weights.safetensors").write_bytes(b"PK\x03\x04pickle"), "damaged, cut off or from"),
    ],
)  # fmt: skip
def test_a_damaged_or_foreign_directory_is_refused_by_name(directory, damage, message):
    damage(directory)
    with pytest.raises(CheckpointError, match=message):
        load_model(directory)


def test_one_flipped_bit_is_noticed(directory):
    path = directory / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-7] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="SHA-256"):
        read_model(directory)


def test_weights_of_another_model_are_refused(directory, tmp_path):
    other = save(tmp_path / "other", transformer(d_ff=14))
    weights = json.loads((other / "model.json").read_text())["weights"]
    (directory / "weights.safetensors").write_bytes((other / "weights.safetensors").read_bytes())
    change(directory / "model.json", weights=weights)
    with pytest.raises(
        CheckpointError, match=r"feed_forward\.w_1\.weight' has shape \(8, 14\); the module needs \(8, 12\)"
    ):
        load_model(directory)


def test_unknown_and_missing_parameters_are_listed(directory):
    arguments = json.loads((directory / "model.json").read_text())["arguments"]
    change(directory / "model.json", arguments=arguments | {"n_decoder_layers": 2})
    with pytest.raises(CheckpointError, match=r"missing parameters: \['decoder\.layers\.1"):
        load_model(directory)
    change(directory / "model.json", arguments=arguments | {"final_norm": True})
    with pytest.raises(CheckpointError, match=r"missing parameters: .*encoder\.norm\.gain"):
        load_model(directory)


def test_a_vocabulary_of_another_size_is_refused(directory):
    change(directory / "model.json", tgt_tokenizer=WordTokenizer(TGT_WORDS[:-1], "zh").to_json())
    with pytest.raises(CheckpointError, match="tgt_tokenizer knows 8 words, and the model has 9"):
        load_model(directory)


def test_the_name_of_the_weights_leads_nowhere_else(directory):
    weights = json.loads((directory / "model.json").read_text())["weights"]
    change(directory / "model.json", weights=weights | {"file": "../../secret"})
    with pytest.raises(CheckpointError, match=r"weights\.file is '\.\./\.\./secret'"):
        read_model(directory)


@fault("TR-08")
def test_a_pickle_is_never_read(directory):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("it was unpickled",))

    torch.save(Trap(), directory / "weights.safetensors")
    with pytest.raises(CheckpointError):
        load_model(directory)
    (directory / "model.json").write_bytes((directory / "weights.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match="not JSON"):
        load_model(directory)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_model_that_is_not_finite_is_not_saved(tmp_path, bad):
    model = transformer()
    model.output.bias.data[3] = bad
    with pytest.raises(ValueError, match=r"output\.bias holds numbers that are not finite"):
        save(tmp_path / "m", model)
    assert list(tmp_path.iterdir()) == []


def test_what_float16_can_not_hold_is_not_saved_as_infinity(tmp_path):
    model = transformer()
    model.output.bias.data[3] = -70_000.0
    with pytest.raises(ValueError, match=r"output\.bias holds 7e\+04, too large for float16"):
        save(tmp_path / "m", model, dtype="float16")


def test_what_is_there_is_replaced_on_request_only(directory, tmp_path):
    with pytest.raises(FileExistsError, match="replace=True"):
        save(directory)
    save(directory, transformer(d_ff=14), replace=True)
    assert read_model(directory).info["arguments"]["d_ff"] == 14
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.txt").write_text("three years")
    with pytest.raises(FileExistsError, match="no model directory"):
        save(tmp_path / "thesis", replace=True)


def test_an_interrupted_save_leaves_the_old_model(directory, monkeypatch):
    before = (directory / "model.json").read_bytes()
    monkeypatch.setattr("stepformer.checkpoint.write_json", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        save(directory, transformer(d_ff=14), replace=True)
    assert (directory / "model.json").read_bytes() == before
    assert [path.name for path in directory.parent.iterdir()] == ["model"]


def test_names_mean_the_shipped_models_and_paths_mean_folders(tmp_path, monkeypatch):
    monkeypatch.setattr("stepformer.checkpoint.SHIPPED", tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "small")
    with pytest.raises(CheckpointError, match=re.escape("'small' is not in this installation")):
        find("small")
    assert find("./small").is_dir()
    save(tmp_path / "models" / "small", transformer(d_ff=14))
    assert read_model("small").info["arguments"]["d_ff"] == 14
    assert read_model("./small").info["arguments"]["d_ff"] == 12
    with pytest.raises(
        CheckpointError, match=r"huge does not exist\. It must be a model's folder, or one of the names"
    ):
        find("huge")
    (tmp_path / "run").mkdir()
    save(tmp_path / "run" / "model")
    with pytest.raises(CheckpointError, match=r"run is no model: it has no model\.json\. There is one in run/model"):
        find("run")


def test_what_can_not_be_stored_is_refused(tmp_path):
    with pytest.raises(TypeError, match="model is a Linear; kinds that can be stored are transformer, gru"):
        save(tmp_path / "m", torch.nn.Linear(2, 3))
    with pytest.raises(ValueError, match="dtype is 'int8'; it must be one of float32, float16"):
        save(tmp_path / "m", dtype="int8")
    with pytest.raises(TypeError, match="JSON"):
        save_model(tmp_path / "m", transformer(), SRC_TOKENIZER, TGT_TOKENIZER, {"at": object()})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"), [("n_layers", 10**30), ("n_encoder_layers", 10**9), ("d_model", 10**12), ("max_len", 10**10)]
)
def test_a_size_that_the_file_contradicts_fills_no_memory(directory, monkeypatch, name, value):
    monkeypatch.setattr("stepformer.checkpoint.build_model", lambda *_: pytest.fail("it was built"))
    arguments = json.loads((directory / "model.json").read_text())["arguments"]
    change(directory / "model.json", arguments={**arguments, name: value})
    with pytest.raises(CheckpointError, match=rf"arguments\.{name} is {value}; weights\.safetensors holds"):
        load_model(directory)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_a_name_that_no_folder_can_have_is_refused(name):
    with pytest.raises(CheckpointError, match=r"can not be a model's folder|does not exist"):
        find(name)
