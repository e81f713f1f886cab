"""One concept, one stem: a file in reference/, a file in nn/, a parity test and a chapter."""

import re
from dataclasses import dataclass, fields

import pytest
from helpers import PACKAGE, ROOT


@dataclass(frozen=True)
class Stem:
    """The four files of one concept. An empty cell is a text in brackets that gives its reason."""

    reference: str
    nn: str
    test: str
    chapter: str


STEMS = {
    "feed_forward": Stem(
        "feed_forward.py", "feed_forward.py", "test_feed_forward.py", "02_feed_forward_and_convolution.ipynb"
    ),
    "convolution": Stem(
        "convolution.py", "convolution.py", "test_convolution.py", "02_feed_forward_and_convolution.ipynb"
    ),
    "attention": Stem("attention.py", "attention.py", "test_attention.py", "05_attention.ipynb"),
    "embedding": Stem("embedding.py", "embedding.py", "test_embedding.py", "01_tokens_and_vectors.ipynb"),
    "positional_encoding": Stem(
        "positional_encoding.py",
        "positional_encoding.py",
        "test_positional_encoding.py",
        "09_positional_encoding.ipynb",
    ),
    "self_attention": Stem(
        "self_attention.py", "self_attention.py", "test_self_attention.py", "06_self_attention.ipynb"
    ),
    "cross_attention": Stem(
        "cross_attention.py", "cross_attention.py", "test_cross_attention.py", "07_cross_attention.ipynb"
    ),
    "multi_head_attention": Stem(
        "multi_head_attention.py",
        "multi_head_attention.py",
        "test_multi_head_attention.py",
        "08_multi_head_attention.ipynb",
    ),
    "loss": Stem("loss.py", "loss.py", "test_loss.py", "00_what_you_need.ipynb"),
    "sampling": Stem("sampling.py", "sampling.py", "test_sampling.py", "13_output.ipynb"),
    "backward": Stem(
        "backward.py",
        "[torch's own autograd is the twin: nothing to add]",
        "test_backward.py",
        "15_gradients.ipynb",
    ),
    "adam": Stem(
        "adam.py", "[torch.optim.Adam is the twin: the trainer uses it]", "test_adam.py", "16_training.ipynb"
    ),
    "recurrent": Stem("recurrent.py", "recurrent.py", "test_recurrent.py", "03_recurrent.ipynb"),
    "encoder_decoder": Stem(
        "encoder_decoder.py", "encoder_decoder.py", "test_encoder_decoder.py", "04_encoder_decoder.ipynb"
    ),
    "recurrent_attention": Stem(
        "recurrent_attention.py",
        "recurrent_attention.py",
        "test_recurrent_attention.py",
        "[chapter 05 explains its attention, chapter 18 compares the whole model with others]",
    ),
    "masks": Stem("masks.py", "masks.py", "test_masks.py", "05_attention.ipynb"),
    "input_block": Stem("input_block.py", "input_block.py", "test_input_block.py", "10_input_block.ipynb"),
    "normalization": Stem("normalization.py", "normalization.py", "test_normalization.py", "11_encoder.ipynb"),
    "encoder": Stem("encoder.py", "encoder.py", "test_encoder.py", "11_encoder.ipynb"),
    "decoder": Stem("decoder.py", "decoder.py", "test_decoder.py", "12_decoder.ipynb"),
    "transformer": Stem("transformer.py", "transformer.py", "test_transformer.py", "14_transformer.ipynb"),
    "decoding": Stem(
        "[the reference predicts the next word; writing is a loop around it, and needs no layer]",
        "[the package decode is it: it knows a model by encode, decode and project]",
        "[brute force over all sentences of small models is the oracle: unit/test_decode.py]",
        "17_decoding_and_evaluation.ipynb",
    ),
    "grouped_query_attention": Stem(
        "grouped_query_attention.py",
        "grouped_query_attention.py",
        "test_grouped_query_attention.py",
        "19_scaling_up.ipynb",
    ),
    "flash_attention": Stem(
        "flash_attention.py",
        "[torch's own kernel is the twin: F.scaled_dot_product_attention]",
        "test_flash_attention.py",
        "19_scaling_up.ipynb",
    ),
    "looking_inside": Stem(
        "[the lens is made of the decoder, the norm and the output layer, which are there]",
        "[the package looking_inside changes trained models, and adds no layer]",
        "[torch and the recorded program take the same head away: unit/test_looking_inside.py]",
        "18_looking_inside.ipynb",
    ),
    "attention_weights": Stem(
        "[the reference records the weights of every attention, without being asked]",
        "attention_weights.py",
        "test_attention_weights.py",
        "[a way to look at trained models, not a concept]",
    ),
    "torch_names": Stem(
        "[torch's names matter where torch's modules are: the reference has ours alone]",
        "torch_names.py",
        "test_torch_names.py",
        "[a dictionary of names, not a concept: the chapter of the whole model uses it]",
    ),
}

FOLDERS = {
    "reference": PACKAGE / "reference",
    "nn": PACKAGE / "nn",
    "test": ROOT / "tests" / "parity",
    "chapter": ROOT / "chapters",
}
CELLS = [(stem, cell.name) for stem in STEMS for cell in fields(Stem)]


@pytest.mark.parametrize(("stem", "cell"), CELLS, ids=lambda value: value)
def test_each_cell_is_a_file_or_a_reason(stem, cell):
    entry = getattr(STEMS[stem], cell)
    if entry.startswith("["):
        assert re.fullmatch(r"\[.{20,}\]", entry), "an empty cell needs a reason that a reader understands"
        unlisted = f"test_{stem}.py" if cell == "test" else f"{stem}.py"
        assert not (FOLDERS[cell] / unlisted).exists(), f"{unlisted} exists: put it into the table"
    else:
        assert (FOLDERS[cell] / entry).is_file(), f"{FOLDERS[cell].name}/{entry} does not exist"
        assert cell == "chapter" or entry.removeprefix("test_") == f"{stem}.py", "the file has another stem"


@pytest.mark.parametrize("cell", FOLDERS)
def test_each_file_is_in_the_table(cell):
    listed = {getattr(row, cell) for row in STEMS.values()}
    pattern = {"test": "test_*.py", "chapter": "*.ipynb"}.get(cell, "[!_]*.py")
    assert {path.name for path in FOLDERS[cell].glob(pattern)} <= listed
