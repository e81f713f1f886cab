"""The paper, our functions and torch's modules side by side; each row names the tests that compare them.

Torch is spoken of here by name only, so that a page can be made where it is not installed.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """One piece of the Transformer."""

    section: str
    """Section of "Attention Is All You Need", with the number of its equation or figure."""
    piece: str
    formula: str
    """In LaTeX, on row vectors; empty where the paper has words only."""
    reference: str
    """Dotted name in `stepformer.reference`."""
    nn: str
    """Dotted name in `stepformer.nn`."""
    torch: str
    """Dotted name in `torch`, or empty: torch has no such thing."""
    tests: tuple[str, ...]
    """Tests in `tests/parity`, as file::function."""


ROWS = (
    Row(
        "3.2.1, (1)", "scaled dot-product attention", r"\mathrm{softmax}(QK^\top / \sqrt{d_k})\,V",
        "attention.scaled_dot_product_attention", "scaled_dot_product_attention",
        "nn.functional.scaled_dot_product_attention",
        ("test_attention.py::test_scaled_dot_product_agrees_with_its_twin",
         "test_attention.py::test_scaled_dot_product_equals_torchs_function"),
    ),
    Row(
        "3.2.2", "multi-head attention", r"\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O",
        "multi_head_attention.multi_head_attention", "MultiHeadAttention", "nn.MultiheadAttention",
        ("test_multi_head_attention.py::test_multi_head_attention_agrees_with_its_twin",
         "test_multi_head_attention.py::test_multi_head_attention_equals_torchs_module",
         "test_multi_head_attention.py::test_gradients_of_the_parameters_equal_those_of_torchs_module"),
    ),
    Row(
        "3.2.3", "self-attention, one head", r"\mathrm{Attention}(XW^Q, XW^K, XW^V)",
        "self_attention.self_attention", "SelfAttention", "nn.MultiheadAttention",
        ("test_self_attention.py::test_the_reference_agrees_with_its_twin",
         "test_self_attention.py::test_the_twin_equals_torchs_module_with_one_head_in_values_and_gradients"),
    ),
    Row(
        "3.2.3", "encoder–decoder attention, one head", r"\mathrm{Attention}(XW^Q, HW^K, HW^V)",
        "cross_attention.cross_attention", "CrossAttention", "nn.MultiheadAttention",
        ("test_cross_attention.py::test_the_reference_agrees_with_its_twin",
         "test_cross_attention.py::test_the_twin_equals_torchs_module_with_one_head_in_values_and_gradients"),
    ),
    Row(
        "3.2.3", "the mask against looking ahead", r"j \le i",
        "masks.causal_mask", "causal_mask", "nn.Transformer.generate_square_subsequent_mask",
        ("test_masks.py::test_causal_masks_agree",
         "test_masks.py::test_a_causal_mask_is_true_where_torchs_adds_nothing"),
    ),
    Row(
        "3.3, (2)", "feed-forward network", r"\max(0, xW_1 + b_1)\,W_2 + b_2",
        "feed_forward.feed_forward", "FeedForward", "nn.Linear",
        ("test_feed_forward.py::test_the_reference_agrees_with_its_twin",
         "test_feed_forward.py::test_values_and_gradients_are_those_of_torchs_layers"),
    ),
    Row(
        "3.1", "layer normalization", r"\gamma \odot (x - \mu) / \sqrt{\sigma^2 + \epsilon} + \beta",
        "normalization.layer_norm", "LayerNorm", "nn.LayerNorm",
        ("test_normalization.py::test_layer_norm_agrees_with_its_twin_and_with_the_op",
         "test_normalization.py::test_the_twin_equals_torchs_module",
         "test_normalization.py::test_gradients_of_the_parameters_equal_those_of_torchs_module"),
    ),
    Row(
        "3.1", "a layer of the encoder", r"\mathrm{LayerNorm}(x + \mathrm{Sublayer}(x))",
        "encoder.encoder_layer", "EncoderLayer", "nn.TransformerEncoderLayer",
        ("test_encoder.py::test_a_layer_agrees_with_its_twin_whatever_stands_before",
         "test_encoder.py::test_a_layer_equals_torchs_layer",
         "test_encoder.py::test_gradients_of_the_parameters_equal_those_of_torchs_layer"),
    ),
    Row(
        "3.1", "the encoder", "", "encoder.encoder", "Encoder", "nn.TransformerEncoder",
        ("test_encoder.py::test_the_encoder_agrees_with_its_twin",
         "test_encoder.py::test_the_encoder_equals_torchs_encoder"),
    ),
    Row(
        "3.1", "a layer of the decoder", r"\mathrm{LayerNorm}(x + \mathrm{Sublayer}(x))",
        "decoder.decoder_layer", "DecoderLayer", "nn.TransformerDecoderLayer",
        ("test_decoder.py::test_a_layer_agrees_with_its_twin_whatever_stands_before",
         "test_decoder.py::test_a_layer_equals_torchs_layer",
         "test_decoder.py::test_gradients_of_the_parameters_equal_those_of_torchs_layer"),
    ),
    Row(
        "3.1", "the decoder", "", "decoder.decoder", "Decoder", "nn.TransformerDecoder",
        ("test_decoder.py::test_the_decoder_agrees_with_its_twin",
         "test_decoder.py::test_the_decoder_equals_torchs_decoder"),
    ),
    Row(
        "3.4", "embeddings", r"OW^E",
        "embedding.embedding", "Embedding", "nn.Embedding",
        ("test_embedding.py::test_values_agree",
         "test_embedding.py::test_the_gradient_of_the_table_is_that_of_torchs_own"),
    ),
    Row(
        "3.4, 3.5", "the input block: embeddings, scaled, with positions", r"\sqrt{d_{model}}\,OW^E + \mathrm{PE}",
        "input_block.input_block", "InputBlock", "",
        ("test_input_block.py::test_reference_twin_and_formula_agree",
         "test_input_block.py::test_gradients_agree"),
    ),
    Row(
        "3.4", "logits, with the table of the target or their own", r"x\,W^{E\top}",
        "transformer.project", "Transformer.project", "",
        ("test_transformer.py::test_the_three_calls_agree_one_by_one",
         "test_transformer.py::test_the_reference_agrees_with_its_twin_in_every_option"),
    ),
    Row(
        "3.5", "sinusoidal positions", r"\sin(pos / 10000^{2i/d_{model}}), \ \cos(pos / 10000^{2i/d_{model}})",
        "positional_encoding.add_positions", "SinusoidalPositions", "",
        ("test_positional_encoding.py::test_sinusoidal_positions_agree",
         "test_positional_encoding.py::test_closed_form_is_the_formula"),
    ),
    Row(
        "3.5", "learned positions", "", "positional_encoding.add_learned_positions", "LearnedPositions",
        "nn.Embedding",
        ("test_positional_encoding.py::test_learned_positions_agree_and_share_their_parameters",
         "test_positional_encoding.py::test_the_gradient_of_a_learned_table_is_that_of_torchs_embedding"),
    ),
    Row(
        "3, figure 1", "the Transformer", "", "transformer.transformer", "Transformer", "nn.Transformer",
        ("test_transformer.py::test_the_reference_agrees_with_its_twin",
         "test_transformer.py::test_the_twin_equals_torchs_transformer",
         "test_transformer.py::test_torchs_transformer_becomes_ours_and_back"),
    ),
    Row(
        "5.4", "loss with label smoothing", "", "loss.smoothed_cross_entropy", "cross_entropy",
        "nn.functional.cross_entropy",
        ("test_loss.py::test_the_loss_over_tokens_is_that_of_torch_with_padding_and_smoothing",),
    ),
)  # fmt: skip
"""The rows in the order of the page."""
