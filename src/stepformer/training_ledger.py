"""What it costs to train a Transformer: FLOPs, memory and time, as a recorded program over single numbers.

It goes on from the count of `stepformer.model_ledger`. Everything is counted as `stepformer.train` does it on a CPU: in
32 bits, without dropout, with Adam. Not counted are what takes a few operations for each number, what is held for a
moment inside a layer, padding, and the time that devices wait for one another or for data: the utilisation stands for
all of it, and it is an assumption.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stepformer import model_ledger
from stepformer.model_ledger import (
    DERIVED,
    ConfigurationError,
    Counted,
    Field,
    add_all,
    as_number,
    check,
    count,
    leaves,
    write_page,
    write_result,
)
from stepformer.ops import add, copy, divide, multiply, positive, relu, subtract
from stepformer.recording import leaf, record, scope
from stepformer.trace import Trace

if TYPE_CHECKING:
    from stepformer.widgets.ledger_view import LedgerView

# ---- settings ------------------------------------------------------------------------------------------------------

TRAINING_FIELDS = (
    Field("pairs", "pairs of sentences in the data", 1, 10**13),
    Field("epochs", "how often each pair is seen", 1, 1_000_000),
    Field("batch_size", "pairs of a step, on all devices together", 1, 100_000_000),
    Field("devices", "how many share each batch", 1, 1_000_000),
    Field("gflops", "billions of FLOPs a second that one device could do", 1, 100_000_000),
    Field("utilisation", "how much of that it does, in percent", 1, 100),
    Field("activation_bytes", "of a number kept for the way back: 4, or 2 in half precision", 1, 8),
    Field("optimiser_states", "numbers for each parameter: Adam keeps 2", 0, 10),
    Field("recompute", "keep the inputs of each layer only, and compute the layer again on the way back", 0, 1),
    Field("fused_attention", "attention in one operation, which never holds its weights", 0, 1),
)
"""What a training adds to the settings of a model."""

FIELDS = model_ledger.FIELDS + TRAINING_FIELDS
MAIN = (*(field.name for field in TRAINING_FIELDS), "d_model", "n_layers", "d_ff", "src_vocab_size", "n_src")
"""What a page shows at once."""

P100 = dict(gflops=9_500, utilisation=30, activation_bytes=4, optimiser_states=2, recompute=0, fused_attention=1)
"""The card of the paper at the speed that it counts with (section 6.1), and the share that this ledger finds."""
BASE = model_ledger.PRESETS["base"] | P100
EIGHT = dict(devices=8, batch_size=1000)
"""About 25,000 tokens a side, as in section 5.1 of the paper, at 25 tokens a sentence."""
WMT14 = dict(pairs=4_500_000)

PRESETS: dict[str, dict[str, int]] = {
    "base": BASE | dict(pairs=10**6, epochs=10, batch_size=100, devices=1),
    "big": BASE | model_ledger.PRESETS["big"] | dict(pairs=10**6, epochs=10, batch_size=100, devices=1),
    "base_billion": BASE | EIGHT | dict(pairs=10**9, epochs=1),
    "paper_base": BASE | EIGHT | WMT14 | dict(epochs=22),
    "paper_big": BASE | model_ledger.PRESETS["big"] | EIGHT | WMT14 | dict(epochs=67),
    "small": model_ledger.PRESETS["small"]
    | P100
    | dict(pairs=10**6, epochs=1, batch_size=64, devices=1, gflops=100, utilisation=30, fused_attention=0),
}
"""Named trainings: base and big on a million pairs, base on a billion; the two of the paper, 100,000 and 300,000 steps
on 4.5 million pairs, rounded to whole epochs; and small on one core of a laptop."""


A_PAIR_EACH = "batch_size is {batch_size}; each of {devices} devices needs a pair at least"
A_FULL_BATCH = "batch_size is {batch_size}; pairs · epochs is only {pairs} · {epochs}"
LIMITS = (("batch_size", "kept.pairs", A_PAIR_EACH), ("batch_size", "training.steps", A_FULL_BATCH))
"""How a page checks the same: a setting, the result that must be 1 or more, and what is said where it is not."""


def _checked(given: Mapping[str, Any]) -> dict[str, int]:
    """The settings as whole numbers; a batch must fill every device, and the data a batch."""
    settings = check(given, FIELDS)
    if settings["batch_size"] < settings["devices"]:
        raise ConfigurationError(A_PAIR_EACH.format(**settings))
    if settings["batch_size"] > settings["pairs"] * settings["epochs"]:
        raise ConfigurationError(A_FULL_BATCH.format(**settings))
    return settings


# ---- the program ---------------------------------------------------------------------------------------------------


def program(settings: Mapping[str, Any] = PRESETS["base"]) -> Trace:
    """Record the count. Every setting and every result is one number.

    Args:
        settings: as in `PRESETS`.

    Returns:
        A program with all results of `stepformer.model_ledger.program` and those that `RESULTS` names.

    Raises:
        ConfigurationError: the settings do not fit.
    """
    settings = _checked(settings)
    with record("What training a Transformer costs") as trace:
        model = count(leaves(settings, FIELDS))
        numbers = {name: leaf(f"number.{name}", value, ()) for name, value in NUMBERS.items()}
        s = model.settings | numbers
        with scope("training"):
            _arithmetic(model, s)
        with scope("kept"):
            kept = _kept(model, s)
        with scope("memory"):
            _memory(model, s, kept)
    return trace.run({name: float(settings[name]) for name in settings if name in DERIVED})


Numbers = Mapping[str, np.ndarray]
NUMBERS = {"1": 1.0, "2": 2.0, "4": 4.0, "100": 100.0, "billion": 1e9}


def _sum(name: str, *terms: np.ndarray) -> np.ndarray:
    return copy(add_all(terms, name), name=name)


def _product(name: str, *factors: np.ndarray) -> np.ndarray:
    result = factors[0]
    for k, factor in enumerate(factors[1:], start=2):
        result = multiply(result, factor, name=name if k == len(factors) else f"{name}_{k}")
    return result


def _either(name: str, switch: np.ndarray, yes: np.ndarray, no: np.ndarray) -> np.ndarray:
    """One of two numbers: `no + switch · (yes − no)`."""
    more = multiply(switch, subtract(yes, no, name=f"{name}_difference"), name=f"{name}_more")
    return add(no, more, name=name)


def _arithmetic(model: Counted, s: Numbers) -> None:
    """FLOPs, steps and seconds."""
    # A product XW asks for two on the way back: for the gradient of X and for that of W. Every product has both, for
    # what goes into the first layer is a table of words, which is trained too.
    backward = multiply(s["2"], model.flops, name="backward_flops")
    layers = subtract(model.flops, model.blocks["output"].flops, name="layers_flops")
    again = multiply(s["recompute"], layers, name="recomputed_flops")
    pair = _sum("pair_flops", model.flops, backward, again)
    multiply(s["batch_size"], pair, name="step_flops")
    seen = multiply(s["pairs"], s["epochs"], name="pairs_seen")
    divide(seen, s["batch_size"], name="steps")
    flops = multiply(seen, pair, name="flops")
    share = divide(s["utilisation"], s["100"], name="share")
    divide(flops, _product("flops_per_second", s["devices"], s["gflops"], s["billion"], share), name="seconds")


class _Kept(NamedTuple):
    """How many numbers one device keeps for the way back.

    Attributes:
        encoder: in the encoder.
        decoder: in the decoder.
        layer: of one layer of the decoder, beside its input.
        bent: of them, what the activation function of its feed-forward network gave.
        input: of the layer.
        memory: of what the encoder gave.
        loss: the logarithms of all probabilities; of the logits there are as many.
    """

    encoder: np.ndarray
    decoder: np.ndarray
    layer: np.ndarray
    bent: np.ndarray
    input: np.ndarray
    memory: np.ndarray
    loss: np.ndarray


def _kept(model: Counted, s: Numbers) -> _Kept:
    pairs = divide(s["batch_size"], s["devices"], name="pairs")
    encoder, _, _, memory = _kept_by_stack("encoder", ["n_src"], model, s, pairs)
    decoder = _kept_by_stack("decoder", ["n_tgt", "n_src"], model, s, pairs)
    return _Kept(encoder, *decoder, memory, _product("loss", pairs, s["n_tgt"], s["tgt_vocab_size"]))


def _kept_by_stack(
    side: str, asked: list[str], model: Counted, s: Numbers, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What a side keeps, and of one of its layers what `_Kept` names; `asked` are the lengths that its queries ask."""
    n, d = s[asked[0]], s["d_model"]
    with scope(side):
        tokens = multiply(pairs, n, name="tokens")
        inputs = multiply(tokens, d, name="inputs")
        # Around each sub-layer: what the norm reads and what it gives, and mean and deviation of each row.
        around = _product("around", s["2"], tokens, add(d, s["1"], name="row"))
        bent = multiply(tokens, s["d_ff"], name="bent")
        terms = [bent, around]
        for name, other in zip(("self_attention", "cross_attention"), asked, strict=False):
            with scope(name):
                # In the decoder's own mask each query has a row; elsewhere one row hides the padding from all.
                mask_rows = n if (side, name) == ("decoder", "self_attention") else s["1"]
                terms += [_kept_by_attention(model, s, n, s[other], mask_rows, pairs), around]
        layer = _sum("layer", *terms)
        each = _either("each", s["recompute"], inputs, layer)
        # What the last layer gives is read by the output layer, or as memory; a last norm keeps what it reads as well.
        norm = multiply(s["final_norm"], _sum("norm_reads", inputs, tokens, tokens), name="final_norm")
        numbers = _sum("numbers", multiply(s[f"n_{side}_layers"], each, name="layers"), inputs, norm)
        return numbers, subtract(layer, inputs, name="beside_input"), bent, inputs


def _kept_by_attention(
    model: Counted, s: Numbers, n: np.ndarray, other: np.ndarray, mask_rows: np.ndarray, pairs: np.ndarray
) -> np.ndarray:
    """Queries and output, keys and values; and the weights or, where they are never held, one number for each row."""
    projected = multiply(model.width, add(n, other, name="rows"), name="projected")
    weights = _product("weights", s["n_heads"], n, _either("columns", s["fused_attention"], s["1"], other))
    # The one operation takes the mask as numbers to add, which every layer makes for itself.
    mask = _product("mask", s["fused_attention"], mask_rows, other)
    return multiply(pairs, _sum("of_a_pair", projected, weights, mask), name="numbers")


def _memory(model: Counted, s: Numbers, kept: _Kept) -> None:
    """Bytes on one device: what stays, what is kept for the way back, and the most that is held at once."""
    four, width = s["4"], s["activation_bytes"]
    weights = multiply(four, model.parameters, name="weights.bytes")
    gradients = multiply(four, model.parameters, name="gradients.bytes")
    optimiser = multiply(s["optimiser_states"], weights, name="optimiser.bytes")
    encoder = multiply(width, kept.encoder, name="encoder.bytes")
    decoder = multiply(width, kept.decoder, name="decoder.bytes")
    # What has as many numbers as the logits; the loss is computed in 32 bits always.
    logits = multiply(four, kept.loss, name="loss.bytes")
    layers = add(encoder, decoder, name="layers.bytes")
    add(layers, logits, name="activations.bytes")

    with scope("gradients"):
        table = _product("table", four, s["tgt_vocab_size"], s["d_model"])
        bias = _product("bias", four, s["output_bias"], s["tgt_vocab_size"])
        both = multiply(subtract(s["2"], s["tie_output"], name="n_tables"), table, name="tables")
        blocks = [block.parameters for name, block in model.blocks.items() if name.startswith("decoder.")]
        stack = multiply(four, _sum("stack_parameters", *blocks), name="stack")
        # Two gradients of one table: the sum is a new one, and all three stand there for a moment.
        tied = _product("tied", s["2"], s["tie_output"], table)
        shared = multiply(s["share_embeddings"], table, name="shared")
        several = positive(subtract(s["devices"], s["1"], name="others"), name="several")
        side_by_side = multiply(several, gradients, name="side_by_side")
    with scope("moments"):
        layer = multiply(width, kept.layer, name="layer")
        again = multiply(s["recompute"], layer, name="layer_again")
        # On its way back through the network the gradient stands there before and after the bend, and once beside it;
        # and the weights behind the bend have theirs already.
        row = multiply(width, kept.input, name="input")
        bends = _product("bends", s["2"], width, kept.bent)
        passing = _sum("passing", bends, row, _product("behind_the_bend", four, s["d_model"], s["d_ff"]))
        read = multiply(s["2"], row, name="read_at_the_end")
        layers_but_one = subtract(s["n_decoder_layers"], s["1"], name="layers_but_one")
        others = divide(multiply(stack, layers_but_one, name="times"), s["n_decoder_layers"], name="others")
        memory = multiply(width, kept.memory, name="memory")
        moments = [
            # The way back begins: log-softmax and logits, and a gradient of each.
            add(layers, multiply(four, logits, name="four_of_logits"), name="loss"),
            # The output layer is done, and what it and the last norm read is gone. The last layer of the decoder is
            # computed again, if it was not kept.
            subtract(_sum("all_and_last_layer", layers, logits, table, bias, again, passing), read, name="last_layer"),
            # The same in the first layer, which comes last: the others have gradients, and so has the memory.
            _sum("first_layer", encoder, logits, table, bias, others, memory, row, layer, passing),
            # The decoder is done, and its table of words gets its gradient.
            _sum("target_table", encoder, logits, stack, both, bias, tied),
            # The encoder is done, and so is everything.
            _sum("source_table", gradients, logits, shared),
            # Several devices lay their gradients side by side, to add them up with those of the others.
            _sum("exchange", gradients, logits, side_by_side),
        ]
        most = moments[0]
        for k, moment in enumerate(moments[1:], start=2):
            most = add(most, relu(subtract(moment, most, name=f"above_{k}"), name=f"more_{k}"), name=f"most_{k}")
    _sum("peak.bytes", weights, optimiser, most)


# ---- what is read off it -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """What a training costs. Memory is that of one device, in bytes.

    Attributes:
        settings: every setting, the derived ones too.
        parameters: how many numbers are trained.
        pair_flops: FLOPs of one pair, forward and backward.
        step_flops: of a step, on all devices together.
        steps: how many steps there are.
        flops: of the whole training.
        seconds: how long it takes.
        weights: bytes of the parameters.
        gradients: bytes of their gradients.
        optimiser: bytes of what the optimiser keeps between steps.
        activations: bytes that the forward pass keeps for the backward pass.
        peak: the most bytes that are held at one moment.
    """

    settings: dict[str, int]
    parameters: int
    pair_flops: float
    step_flops: float
    steps: float
    flops: float
    seconds: float
    weights: float
    gradients: float
    optimiser: float
    activations: float
    peak: float


RESULTS = {
    "parameters": "parameters",
    **{name: f"training.{name}" for name in ("pair_flops", "step_flops", "steps", "flops", "seconds")},
    **{name: f"memory.{name}.bytes" for name in ("weights", "gradients", "optimiser", "activations", "peak")},
}
"""Attribute of `Cost` -> result of the program."""

TABLES = (
    (
        ("arithmetic and time", "how much"),
        (
            ("FLOPs of a pair, forward", "flops"),
            ("FLOPs of a pair, forward and backward", "training.pair_flops"),
            ("FLOPs of a step", "training.step_flops"),
            ("steps", "training.steps"),
            ("FLOPs of the training", "training.flops"),
            ("time", "training.seconds"),
        ),
    ),
    (
        ("memory of one device", "how much"),
        (
            ("parameters", "memory.weights.bytes"),
            ("their gradients", "memory.gradients.bytes"),
            ("states of the optimiser", "memory.optimiser.bytes"),
            ("kept for the way back: encoder", "memory.encoder.bytes"),
            ("kept for the way back: decoder", "memory.decoder.bytes"),
            ("kept for the way back: loss", "memory.loss.bytes"),
            ("the most at one moment", "memory.peak.bytes"),
        ),
    ),
)
SENTENCE = (
    "{parameters} parameters; {training.flops} FLOPs take {training.seconds}; each device needs {memory.peak.bytes}."
)


def cost(settings: Mapping[str, Any] = PRESETS["base"]) -> Cost:
    """Count what a training costs.

    Formula: `FLOPs = pairs · epochs · (3 · forward + recompute · layers)`,
    `seconds = FLOPs / (devices · gflops · 10⁹ · utilisation / 100)`; memory as the page *Ledger* derives it.

    Args:
        settings: as in `PRESETS`.

    Returns:
        The count.

    Raises:
        ConfigurationError: the settings do not fit.
    """
    values = program(settings).values
    number = {name: as_number(array) for name, array in values.items()}
    configuration = {field.name: number[field.name] for field in FIELDS}
    return Cost(configuration, **{attribute: number[name] for attribute, name in RESULTS.items()})


def payload(preset: str = "base", changes: Mapping[str, Any] | None = None) -> str:
    """The JSON that the ledger of a page reads.

    Args:
        preset: where the page begins, a name of `PRESETS`.
        changes: settings that are others there.

    Returns:
        Text that is safe inside an HTML script element.

    Raises:
        ConfigurationError: there is no such preset, or the settings do not fit.
    """
    if preset not in PRESETS:
        raise ConfigurationError(f"preset is {preset!r}; it must be one of {', '.join(PRESETS)}.")
    begin = {f"{preset}, changed" if changes else preset: _checked(PRESETS[preset] | (changes or {}))}
    presets = {name.replace("_", " "): one for name, one in (begin | PRESETS).items()}
    trace = program()
    return write_page(trace.title, trace, FIELDS, MAIN, presets, SENTENCE, TABLES, LIMITS)


def show(preset: str = "base", **changes: int) -> "LedgerView":
    """Show the count as a form in which every assumption can be changed.

    Args:
        preset: a name of `PRESETS`, where it begins.
        **changes: settings that are others.

    Returns:
        A widget: live in JupyterLab; on a static page the same form without a kernel.

    Raises:
        ConfigurationError: there is no such preset, or the settings do not fit.
    """
    from stepformer.widgets.ledger_view import LedgerView

    return LedgerView(payload(preset, changes), lines(PRESETS[preset] | changes))


def lines(settings: Mapping[str, Any] = PRESETS["base"]) -> list[tuple[str, str]]:
    """The results as texts, for readers without JavaScript and for the command line.

    Args:
        settings: as in `PRESETS`.

    Returns:
        What is counted, and how much it is, row by row.

    Raises:
        ConfigurationError: the settings do not fit.
    """
    values = program(settings).values
    return [(text, write_result(name, float(values[name]))) for _, rows in TABLES for text, name in rows]
