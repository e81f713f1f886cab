"""What a Transformer of any configuration costs, as a recorded program over single numbers: parameters and FLOPs.

The names of the settings are those of `stepformer.nn.Transformer`. A FLOP is one addition or one multiplication: a
product of (n, k) and (k, m) costs 2·n·k·m. Only such products are counted, for one forward pass over one pair of
sentences; softmax, norms, biases, residual sums and look-ups are a few operations for each number, a product is k.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stepformer.formatting import format_number
from stepformer.ops import add, copy, divide, multiply, subtract
from stepformer.recording import leaf, record, scope
from stepformer.trace import Trace
from stepformer.trace_json import dumps

FORMAT = "stepformer.ledger/1"


# ---- settings ------------------------------------------------------------------------------------------------------


class Field(NamedTuple):
    """One setting. What is `derived` has a value of its own where none is given."""

    name: str
    meaning: str
    least: int
    most: int
    derived: bool = False

    @property
    def is_switch(self) -> bool:
        """Yes or no, stored as 1 or 0."""
        return self.most == 1

    @property
    def rule(self) -> str:
        """What a value must be, as the end of a sentence."""
        return f"it must be a whole number from {self.least:,} to {self.most:,}"


FIELDS = (
    Field("d_model", "width of the vectors", 1, 1_000_000),
    Field("n_heads", "number of heads", 1, 10_000),
    Field("d_k", "width of a head's queries and keys", 1, 1_000_000, derived=True),
    Field("d_v", "width of a head's values", 1, 1_000_000, derived=True),
    Field("d_ff", "inner width of the feed-forward networks", 1, 10_000_000),
    Field("n_layers", "number of layers", 1, 10_000),
    Field("n_encoder_layers", "layers of the encoder, if another number", 1, 10_000, derived=True),
    Field("n_decoder_layers", "layers of the decoder, if another number", 1, 10_000, derived=True),
    Field("src_vocab_size", "words of the source", 1, 100_000_000),
    Field("tgt_vocab_size", "words of the target", 1, 100_000_000, derived=True),
    Field("n_src", "tokens of the source sentence", 1, 10_000_000),
    Field("n_tgt", "tokens of the target sentence", 1, 10_000_000, derived=True),
    Field("learned_positions", "rows of each table of learned positions; 0: sinusoids", 0, 100_000_000),
    Field("share_embeddings", "source and target share one table", 0, 1),
    Field("tie_output", "the output layer uses the table of the target", 0, 1),
    Field("attention_bias", "the four projections of an attention have biases", 0, 1),
    Field("output_bias", "the output layer has a bias", 0, 1),
    Field("final_norm", "a norm after the last layer of encoder and decoder, as with norm_first", 0, 1),
)
"""Every setting, in the order of the page."""

PAPER = dict(d_model=512, n_heads=8, d_ff=2048, n_layers=6, src_vocab_size=41_100, n_src=25, learned_positions=0,
             share_embeddings=1, tie_output=1, attention_bias=0, output_bias=0, final_norm=0)  # fmt: skip
SMALL = dict(d_model=64, n_heads=4, d_ff=256, n_layers=2, src_vocab_size=200, n_src=10, learned_positions=0,
             share_embeddings=0, tie_output=0, attention_bias=1, output_bias=1, final_norm=0)  # fmt: skip

PRESETS: dict[str, dict[str, int]] = {
    "base": PAPER,
    "big": PAPER | dict(d_model=1024, n_heads=16, d_ff=4096, src_vocab_size=35_850),
    "small": SMALL,
}
"""Named configurations. Base and big are the paper's, with the vocabulary that its table 3 implies for each; small is
what `nn.Transformer` builds by default at a size that trains on a laptop."""

DIVISIBLE = "d_model is {d_model} and n_heads {n_heads}; d_model must be divisible by n_heads, or {name} be given"
ONE_VOCABULARY = (
    "share_embeddings needs one vocabulary: src_vocab_size is {src_vocab_size} and tgt_vocab_size {tgt_vocab_size}"
)


class ConfigurationError(ValueError):
    """Settings of which no model can be built. The message names the field and the rule."""


def check(given: Mapping[str, Any], fields: Sequence[Field] = FIELDS) -> dict[str, int]:
    """Read settings: all that are not derived must be there.

    Args:
        given: name -> value, as in `PRESETS`; None for a derived setting that is not given.
        fields: what can be set; those of a model are among them.

    Returns:
        The settings that were given, as whole numbers.

    Raises:
        ConfigurationError: a setting is unknown, missing, out of its range or does not fit the others.
    """
    names = {field.name for field in fields}
    if unknown := [name for name in given if name not in names]:
        raise ConfigurationError(f"there is no setting {unknown[0]!r}; there are: {', '.join(sorted(names))}")
    settings = {}
    for field in fields:
        value = given.get(field.name)
        if value is None and field.derived:
            continue
        whole = isinstance(value, (int, np.integer)) and (field.is_switch or not isinstance(value, bool))
        if not whole or not field.least <= value <= field.most:
            raise ConfigurationError(f"{field.name} is {value!r}; {field.rule}")
        settings[field.name] = int(value)
    for name in ("d_k", "d_v"):
        if name not in settings and settings["d_model"] % settings["n_heads"]:
            raise ConfigurationError(DIVISIBLE.format(**settings, name=name))
    target = settings.get("tgt_vocab_size", settings["src_vocab_size"])
    if settings["share_embeddings"] and target != settings["src_vocab_size"]:
        raise ConfigurationError(ONE_VOCABULARY.format(**(settings | {"tgt_vocab_size": target})))
    return settings


# ---- the program ---------------------------------------------------------------------------------------------------


def program(settings: Mapping[str, Any] = PAPER) -> Trace:
    """Record the count. Every setting and every result is one number.

    A derived setting is a result; where it is given, it replaces that result.

    Args:
        settings: as for `check`; base, if not given.

    Returns:
        A program with the results `<block>.parameters` and `<block>.flops_per_token` for each of `BLOCKS`, and the
        sums `parameters`, `flops` (of the pair of sentences) and `flops_per_token` (for each token of the target).

    Raises:
        ConfigurationError: the settings do not fit.
    """
    settings = check(settings)
    with record("What a Transformer costs") as trace:
        count(leaves(settings))
    return trace.run({name: float(settings[name]) for name in settings if name in DERIVED})


def leaves(settings: Mapping[str, int], fields: Sequence[Field] = FIELDS) -> dict[str, np.ndarray]:
    """Make the settings that are not derived leaves of the program that is being recorded.

    Args:
        settings: what `check` returned.
        fields: what can be set.

    Returns:
        Name -> its number.
    """
    return {field.name: leaf(field.name, float(settings[field.name]), ()) for field in fields if not field.derived}


class Counted(NamedTuple):
    """A model within a program that is being recorded, each number as an array of that program.

    Attributes:
        settings: every setting, the derived ones too.
        blocks: name -> block, for each of `BLOCKS`.
        width: n_heads · (d_k + d_v), the numbers of a token that an attention works with on either side.
        parameters: all of them.
        flops: of the forward pass over a pair of sentences.
    """

    settings: dict[str, np.ndarray]
    blocks: dict[str, "Block"]
    width: np.ndarray
    parameters: np.ndarray
    flops: np.ndarray


def count(s: dict[str, np.ndarray]) -> Counted:
    """Count a model, as the first part of a program that is being recorded.

    Args:
        s: what `leaves` returned.

    Returns:
        The numbers that a program can go on from.
    """
    one, two = leaf("one", 1.0, ()), leaf("two", 2.0, ())
    s = s | _derived(s)
    parts = _parts(s, two)
    blocks = [
        *_tables(s, one),
        *_stack("encoder", s, parts, two),
        *_stack("decoder", s, parts, two),
        _output(s, one, two),
    ]
    return Counted(s, {block.name: block for block in blocks}, parts["width"], *_sums(blocks, s["n_tgt"]))


DERIVED = {field.name for field in FIELDS if field.derived}
BLOCKS = (
    "src_embedding", "tgt_embedding", "positions", "encoder.self_attention", "encoder.feed_forward", "encoder.norms",
    "decoder.self_attention", "decoder.cross_attention", "decoder.feed_forward", "decoder.norms", "output",
)  # fmt: skip
"""The parts of a model, from the source to the logits; a part of the encoder or decoder stands for all its layers."""


class Block(NamedTuple):
    """A part of a model.

    Attributes:
        name: one of `BLOCKS`.
        parameters: how many it has.
        flops: what it takes for the pair of sentences; None, if there is no product.
    """

    name: str
    parameters: np.ndarray
    flops: np.ndarray | None = None


def _derived(s: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    width = divide(s["d_model"], s["n_heads"], name="head_width")
    return {
        "d_k": copy(width, name="d_k"),
        "d_v": copy(width, name="d_v"),
        "n_encoder_layers": copy(s["n_layers"], name="n_encoder_layers"),
        "n_decoder_layers": copy(s["n_layers"], name="n_decoder_layers"),
        "tgt_vocab_size": copy(s["src_vocab_size"], name="tgt_vocab_size"),
        "n_tgt": copy(s["n_src"], name="n_tgt"),
    }


def _parts(s: dict[str, np.ndarray], two: np.ndarray) -> dict[str, np.ndarray]:
    """The parameters of one attention, one feed-forward network and one norm, and the width of an attention."""
    with scope("attention"):
        width = multiply(s["n_heads"], add(s["d_k"], s["d_v"], name="head"), name="width")
        weights = multiply(two, multiply(s["d_model"], width, name="half"), name="weights")
        keys = multiply(s["n_heads"], s["d_k"], name="key_width")
        biases = add(add(width, keys, name="inner_biases"), s["d_model"], name="biases")
        counted = multiply(s["attention_bias"], biases, name="counted_biases")
        attention = add(weights, counted, name="parameters")
    with scope("feed_forward"):
        weights = multiply(two, multiply(s["d_model"], s["d_ff"], name="one_layer"), name="weights")
        network = add(weights, add(s["d_ff"], s["d_model"], name="biases"), name="parameters")
    with scope("norm"):
        norm = multiply(two, s["d_model"], name="parameters")
    return {"attention": attention, "width": width, "feed_forward": network, "ff_weights": weights, "norm": norm}


def _tables(s: dict[str, np.ndarray], one: np.ndarray) -> list[Block]:
    with scope("src_embedding"):
        source = multiply(s["src_vocab_size"], s["d_model"], name="parameters")
    with scope("tgt_embedding"):
        table = multiply(s["tgt_vocab_size"], s["d_model"], name="table")
        target = multiply(subtract(one, s["share_embeddings"], name="own"), table, name="parameters")
    with scope("positions"):
        rows = add(s["learned_positions"], s["learned_positions"], name="rows")
        positions = multiply(rows, s["d_model"], name="parameters")
    return [Block("src_embedding", source), Block("tgt_embedding", target), Block("positions", positions)]


def _stack(side: str, s: dict[str, np.ndarray], parts: dict[str, np.ndarray], two: np.ndarray) -> list[Block]:
    layers, own = s[f"n_{side}_layers"], s["n_src" if side == "encoder" else "n_tgt"]
    asked = {"self_attention": own} | ({"cross_attention": s["n_src"]} if side == "decoder" else {})
    blocks = []
    with scope(side):
        for name, other in asked.items():
            with scope(name):
                parameters = multiply(layers, parts["attention"], name="parameters")
                # Two projections on each side, of the width of keys and of values; then one product for each pair.
                rows = multiply(s["d_model"], add(own, other, name="rows"), name="projected")
                pairs = multiply(own, other, name="pairs")
                products = multiply(parts["width"], add(rows, pairs, name="terms"), name="products")
                flops = multiply(layers, multiply(two, products, name="layer_flops"), name="flops")
            blocks.append(Block(f"{side}.{name}", parameters, flops))
        with scope("feed_forward"):
            parameters = multiply(layers, parts["feed_forward"], name="parameters")
            products = multiply(own, parts["ff_weights"], name="products")
            flops = multiply(layers, multiply(two, products, name="layer_flops"), name="flops")
        blocks.append(Block(f"{side}.feed_forward", parameters, flops))
        with scope("norms"):
            # One after each sub-layer, and one at the end where the model has it.
            count = layers
            for k in range(len(asked)):
                count = add(count, layers, name=f"count_{k + 1}")
            count = add(count, s["final_norm"], name="count")
            parameters = multiply(count, parts["norm"], name="parameters")
        blocks.append(Block(f"{side}.norms", parameters))
    return blocks


def _output(s: dict[str, np.ndarray], one: np.ndarray, two: np.ndarray) -> Block:
    with scope("output"):
        weights = multiply(s["tgt_vocab_size"], s["d_model"], name="weights")
        own = multiply(subtract(one, s["tie_output"], name="own"), weights, name="own_weights")
        parameters = add(own, multiply(s["output_bias"], s["tgt_vocab_size"], name="biases"), name="parameters")
        flops = multiply(two, multiply(s["n_tgt"], weights, name="products"), name="flops")
    return Block("output", parameters, flops)


def _sums(blocks: list[Block], n_tgt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    for block in blocks:
        if block.flops is not None:
            with scope(block.name):
                divide(block.flops, n_tgt, name="flops_per_token")
    with scope("sum"):
        parameters = add_all([block.parameters for block in blocks], "parameters")
        flops = add_all([block.flops for block in blocks if block.flops is not None], "flops")
    parameters, flops = copy(parameters, name="parameters"), copy(flops, name="flops")
    divide(flops, n_tgt, name="flops_per_token")
    return parameters, flops


def add_all(terms: Sequence[np.ndarray], name: str) -> np.ndarray:
    """Record the sum of several numbers.

    Args:
        terms: one or more.
        name: of the sums in between, with a number behind it.

    Returns:
        The sum.
    """
    result = terms[0]
    for k, term in enumerate(terms[1:], start=2):
        result = add(result, term, name=f"{name}_{k}")
    return result


# ---- what is read off it -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ledger:
    """The count of one configuration.

    Attributes:
        configuration: every setting, the derived ones too.
        parameters: how many numbers are trained.
        flops: FLOPs of the forward pass over one pair of sentences.
        flops_per_token: the same for each token of the target.
        by_block: for each of `BLOCKS` its name, parameters and flops_per_token.
    """

    configuration: dict[str, int]
    parameters: int
    flops: int
    flops_per_token: float
    by_block: list[dict[str, Any]]


def ledger(settings: Mapping[str, Any] = PAPER) -> Ledger:
    """Count the parameters and FLOPs of a configuration.

    Formula: the sums over the blocks, `2·n·k·m` FLOPs for each product of (n, k) and (k, m). Masked scores are counted,
    for they are computed.

    Args:
        settings: as for `check`; base, if not given.

    Returns:
        The count.

    Raises:
        ConfigurationError: the settings do not fit.
    """
    values = program(settings).values
    number = {name: as_number(array) for name, array in values.items()}
    blocks = [
        {
            "block": block,
            "parameters": number[f"{block}.parameters"],
            "flops_per_token": number.get(f"{block}.flops_per_token", 0),
        }
        for block in BLOCKS
    ]
    return Ledger(
        {field.name: number[field.name] for field in FIELDS},
        number["parameters"], number["flops"], number["flops_per_token"], blocks,
    )  # fmt: skip


def as_number(array: np.ndarray) -> int | float:
    """A result as a plain number, whole where it is whole.

    Args:
        array: one number.

    Returns:
        That number.
    """
    value = float(array)
    return int(value) if value.is_integer() else value


def write_number(value: float) -> str:
    """A count as the page shows it: whole, in groups of three digits; above 10^15 with two decimals and a power of ten.

    Args:
        value: 0 or more.

    Returns:
        For example "65,139,712" or "1.25e18".
    """
    return f"{int(value + 0.5):,}" if value < 1e15 else format_number(value)


def payload() -> str:
    """The JSON that the ledger of a page reads: the program, the settings with their rules, and the presets.

    Returns:
        Text that is safe inside an HTML script element.
    """
    columns = ("parameters", "flops_per_token")
    rows = [(block.replace(".", ": ").replace("_", " "), *(f"{block}.{one}" for one in columns)) for block in BLOCKS]
    table = (("block", "parameters", "FLOPs per token"), [*rows, ("all", *columns)])
    main = [field.name for field in FIELDS if not field.derived and field.least > 0]
    sentence = "{parameters} parameters; {flops_per_token} FLOPs for each token of the target."
    return write_page("What a Transformer costs", program(), FIELDS, main, PRESETS, sentence, [table])


Table = tuple[Sequence[str], Sequence[Sequence[str]]]
"""The heads of the columns; and rows, each a text and a result for each other column. The last row is the sum."""


def write_page(
    title: str,
    trace: Trace,
    fields: Sequence[Field],
    main: Sequence[str],
    presets: Mapping[str, Mapping[str, int]],
    sentence: str,
    tables: Sequence[Table],
    limits: Sequence[tuple[str, str, str]] = (),
) -> str:
    """The JSON of a ledger on a page, whatever it counts.

    Args:
        title: what is counted.
        trace: the program; its settings are those of a model, and more.
        fields: the settings, in the order of the page.
        main: those that are not folded away.
        presets: name -> settings; the first is where the page begins.
        sentence: the result in one sentence, with names of results in braces.
        tables: what the results are shown in. A result that the program does not have is shown as 0.
        limits: a setting, a result that must be 1 or more, and what is said of the setting where it is not.

    Returns:
        Text that is safe inside an HTML script element.
    """
    known = {tensor.name for tensor in trace.tensors}
    document = {
        "format": FORMAT,
        "title": title,
        "program": json.loads(trace.to_json()),
        "fields": [f._asdict() | {"rule": f.rule, "main": f.name in main} for f in fields],
        "presets": presets,
        "sentence": sentence,
        "tables": [
            {"heads": heads, "rows": [[text, *(x if x in known else None for x in results)] for text, *results in rows]}
            for heads, rows in tables
        ],
        "units": UNITS,
        "limits": limits,
        "rules": {"divisible": DIVISIBLE, "one_vocabulary": ONE_VOCABULARY},
    }
    return dumps(document)


UNITS = {
    "bytes": [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1)],
    "seconds": [("years", 31_557_600), ("days", 86_400), ("hours", 3600), ("minutes", 60), ("seconds", 1)],
}
"""The units of the results whose names end so: the first one that is not too large is used."""


def write_result(name: str, value: float) -> str:
    """A result as the page shows it.

    Args:
        name: of the result; where it ends in `bytes` or `seconds`, that is what the number counts.
        value: 0 or more.

    Returns:
        For example "65,139,712", "1.25e18", "2.10 GB" or "5.00 days".
    """
    units = UNITS.get(name.rpartition(".")[2])
    if units is None:
        return write_number(value)
    unit, size = next(((unit, size) for unit, size in units if value >= size), units[-1])
    return f"{format_number(value / size)} {unit}"
