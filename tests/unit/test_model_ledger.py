"""The ledger of a model counts what torch holds and computes, what a recorded pass multiplies, what a page shows."""

import json
import re

import pytest
import torch
from engine import ask_engine, from_engine, run_module
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from stepformer import cli, model_ledger, record
from stepformer.examples import table_3
from stepformer.ledger import multiplications
from stepformer.model_ledger import BLOCKS, FIELDS, PAPER, PRESETS, ConfigurationError, ledger, write_number
from stepformer.nn import MultiHeadAttention, Transformer
from stepformer.params import to_arrays
from stepformer.recording import leaf
from stepformer.reference import transformer as reference

# What of our model's names belongs to which block, in the order of the search.
NAMES = {
    "src_embedding": r"src_embedding",
    "tgt_embedding": r"tgt_embedding",
    "positions": r"(src|tgt)_positions",
    "output": r"output",
} | {
    f"{side}.{part}": rf"{side}\.layers\.\d+\.{part}\."
    for side in ("encoder", "decoder")
    for part in ("self_attention", "cross_attention", "feed_forward")
}
FULL = dict(attention_bias=1, output_bias=1)  # how torch's linear layers are built

CONFIGURATIONS = st.builds(
    lambda head, **others: others | FULL | {"d_model": head * others["n_heads"]},
    head=st.integers(1, 5),
    n_heads=st.integers(1, 4),
    d_ff=st.integers(1, 9),
    n_layers=st.integers(1, 3),
    n_encoder_layers=st.integers(1, 3),
    n_decoder_layers=st.integers(1, 3),
    src_vocab_size=st.integers(2, 12),
    tgt_vocab_size=st.integers(2, 12),
    n_src=st.integers(1, 6),
    n_tgt=st.integers(1, 6),
    learned_positions=st.sampled_from([0, 7]),
    share_embeddings=st.integers(0, 1),
    tie_output=st.integers(0, 1),
    final_norm=st.integers(0, 1),
).map(lambda s: s | ({"tgt_vocab_size": s["src_vocab_size"]} if s["share_embeddings"] else {}))


def model_of(s, **options):
    """The model in torch that has these settings."""
    names = ("d_model", "n_heads", "n_layers", "d_ff", "n_encoder_layers", "n_decoder_layers")
    positions = {"positions": "learned", "max_len": s["learned_positions"]} if s["learned_positions"] else {}
    switches = {name: bool(s[name]) for name in ("share_embeddings", "tie_output", "final_norm")}
    sizes = {name: s[name] for name in names if name in s}
    tgt = s.get("tgt_vocab_size", s["src_vocab_size"])
    return Transformer(s["src_vocab_size"], tgt, **sizes, **positions, **switches, dropout=0.0, **options)


def sizes_by_block(model, attention_bias=1, output_bias=1):
    """How many numbers of the model belong to each block; a table that two use counts once, where it comes first."""
    sizes = dict.fromkeys(BLOCKS, 0)
    for name, parameter in model.named_parameters():  # each parameter once
        counted = (
            output_bias if name == "output.bias" else attention_bias or not re.search(r"attention\.w_.\.bias", name)
        )
        if not counted:
            continue
        block = next((block for block, pattern in NAMES.items() if re.match(pattern, name)), None)
        sizes[block or f"{name.split('.')[0]}.norms"] += parameter.numel()
    return sizes


# ---- against torch --------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(s=CONFIGURATIONS, attention_bias=st.integers(0, 1), output_bias=st.integers(0, 1))
def test_parameters_of_every_block_are_those_of_the_model(s, attention_bias, output_bias):
    biases = dict(attention_bias=attention_bias, output_bias=output_bias)
    count = ledger(s | biases)
    expected = sizes_by_block(model_of(s), **biases)
    assert {row["block"]: row["parameters"] for row in count.by_block} == expected
    assert count.parameters == sum(expected.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_parameters_of_the_presets_are_those_of_the_model(name):
    s = PRESETS[name]
    with torch.device("meta"):
        expected = sizes_by_block(model_of(s), s["attention_bias"], s["output_bias"])
    assert {row["block"]: row["parameters"] for row in ledger(s).by_block} == expected


@settings(max_examples=10, deadline=None)
@given(s=CONFIGURATIONS)
def test_flops_are_those_that_torch_counts(s):
    assert counted_by_torch(s) == ledger(s).flops


def test_backward_takes_twice_the_flops_of_forward():
    s = PRESETS["small"] | {"n_src": 7, "n_tgt": 5}
    assert counted_by_torch(s, backward=True) == 3 * ledger(s).flops


def counted_by_torch(s, backward=False):
    """What torch's counter sees when the model runs on one pair of sentences."""
    src, tgt = (torch.ones(1, s[name], dtype=torch.int64) for name in ("n_src", "n_tgt"))
    model = model_of(s)
    # Fused into one operation, attention is not counted on every device; as products it is.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        logits = model(src, tgt)
        if backward:
            logits.sum().backward()
    return counter.get_total_flops()


@settings(max_examples=5, deadline=None)
@given(s=CONFIGURATIONS)
def test_flops_are_twice_the_multiplications_of_a_recorded_pass(s):
    params = to_arrays(model_of(s).state_dict())
    with record() as trace:
        src, tgt = (leaf(side, [1] * s[f"n_{side}"], (side,)) for side in ("src", "tgt"))
        reference.transformer(src, tgt, reference.leaves(params), s["n_heads"])
    assert 2 * multiplications(trace) == ledger(s).flops


def test_heads_of_another_width_are_counted():
    s = PAPER | FULL | {"d_model": 6, "n_heads": 2, "d_k": 5, "d_v": 7, "d_ff": 3, "n_layers": 1}
    attention = sum(p.numel() for p in MultiHeadAttention(6, 2, d_k=5, d_v=7).parameters())
    blocks = {row["block"]: row["parameters"] for row in ledger(s).by_block}
    assert blocks["encoder.self_attention"] == blocks["decoder.cross_attention"] == attention


def test_flops_belong_to_the_token_of_the_target():
    count = ledger(PAPER | {"n_src": 30, "n_tgt": 10})
    assert count.flops_per_token == count.flops / 10
    assert sum(row["flops_per_token"] for row in count.by_block) == pytest.approx(count.flops_per_token)


# ---- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", [f for f in FIELDS if not f.derived], ids=lambda f: f.name)
@pytest.mark.parametrize("value", [None, -1, 2.5, float("nan"), "512", 10**15])
def test_a_value_out_of_range_names_its_field_and_the_rule(field, value):
    with pytest.raises(ConfigurationError, match=rf"^{field.name} is .*whole number from {field.least:,} to"):
        ledger(PAPER | {field.name: value})


@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f.name)
def test_the_ends_of_a_range_are_allowed_and_nothing_beyond(field):
    calm = PAPER | {"share_embeddings": 0, "d_k": 64, "d_v": 64}
    for value in (field.least, field.most):
        ledger(calm | {field.name: value})
    for value in (field.least - 1, field.most + 1):
        with pytest.raises(ConfigurationError, match=f"^{field.name} is"):
            ledger(calm | {field.name: value})


def test_settings_that_do_not_fit_each_other_are_refused():
    with pytest.raises(ConfigurationError, match="d_model is 512 and n_heads 7; d_model must be divisible"):
        ledger(PAPER | {"n_heads": 7})
    assert ledger(PAPER | {"n_heads": 7, "d_k": 64, "d_v": 64}).configuration["d_k"] == 64
    with pytest.raises(ConfigurationError, match="or d_v be given"):
        ledger(PAPER | {"n_heads": 7, "d_k": 64})
    with pytest.raises(ConfigurationError, match="one vocabulary: src_vocab_size is 41100 and tgt_vocab_size 9"):
        ledger(PAPER | {"tgt_vocab_size": 9})
    with pytest.raises(ConfigurationError, match="no setting 'heads'"):
        ledger(PAPER | {"heads": 7})


# ---- table 3 of the paper -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", table_3.ROWS, ids=lambda row: row.name)
def test_one_vocabulary_gives_every_row_but_big(row):
    millions = round(ledger(row.settings).parameters / 1e6)
    assert (millions == row.millions) == (row.name != "big")


def test_base_and_big_as_presets_give_what_the_paper_prints():
    for name in ("base", "big"):
        printed = next(row.millions for row in table_3.ROWS if row.name == name)
        assert round(ledger(PRESETS[name]).parameters / 1e6) == printed


@pytest.mark.slow
@pytest.mark.parametrize("row", table_3.ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("biases", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_the_vocabularies_that_a_row_implies_are_all_that_round_to_it(row, biases):
    first, last = table_3.vocabularies(row, *biases)
    switches = dict(zip(("attention_bias", "output_bias"), biases, strict=True))

    def millions(size):
        return ledger(row.settings | switches | {"src_vocab_size": size}).parameters / 1e6

    assert millions(first - 1) < row.millions - 0.5 <= millions(first)
    assert millions(last) < row.millions + 0.5 <= millions(last + 1)


@pytest.mark.slow
def test_what_the_page_says_about_table_3():
    windows = {b: table_3.common_vocabularies(*b) for b in [(0, 0), (1, 0), (0, 1), (1, 1)]}
    assert windows == {(0, 0): (41_004, 41_208), (1, 0): (40_932, 41_160), (0, 1): (40_924, 41_128),
                       (1, 1): (40_852, 41_080)}  # fmt: skip
    assert table_3.vocabularies(table_3.ROWS[-1]) == (35_368, 36_344)
    assert table_3.common_vocabularies(rows=table_3.ROWS) is None
    # With the 37,000 of the paper no row fits, and what is missing grows with d_model alone.
    for row in table_3.ROWS:
        first, last = table_3.vocabularies(row)
        assert not first <= 37_000 <= last
        if row.name != "big":
            assert first > 37_000
    # The other numbers of the page.
    big, thousands = PRESETS["big"], (41_100, 37_000)
    assert [round(ledger(big | {"src_vocab_size": n}).parameters / 1e6) for n in thousands] == [218, 214]
    assert round(ledger(PAPER | {"src_vocab_size": 37_000}).parameters / 1e6) == 63
    assert PAPER["src_vocab_size"] - 37_000 == 4_100
    assert round(4_100 * 512 / 1e6, 1) == 2.1
    biases = ledger(PAPER | {"attention_bias": 1}).parameters - ledger(PAPER).parameters
    assert round(biases, -3) == 37_000
    # Two tables, or three, are out of the question.
    for switches in ({"tie_output": 0}, {"share_embeddings": 0}):
        assert ledger(PAPER | switches | {"src_vocab_size": 37_000}).parameters > 80e6


@pytest.mark.parametrize(("heads", "width"), [(1, 512), (4, 128), (16, 32), (32, 16)])
def test_the_rows_with_other_numbers_of_heads_have_as_many_parameters(heads, width):
    assert ledger(PAPER | dict(n_heads=heads)).parameters == ledger(PAPER).parameters
    assert ledger(PAPER | dict(n_heads=heads)).configuration["d_k"] == width


# ---- the page -------------------------------------------------------------------------------------------------------


def test_the_page_gets_the_program_and_the_engine_computes_the_same():
    document = json.loads(model_ledger.payload())
    assert document["presets"]["base"] == PAPER
    programs = [{"program": json.loads(model_ledger.program(s).to_json())} for s in PRESETS.values()]
    for s, answer in zip(PRESETS.values(), ask_engine(programs=programs)["programs"], strict=True):
        for name, array in model_ledger.program(s).values.items():
            assert from_engine(answer[name]) == array


NUMBERS = [0, 1, 999, 1000, 65_144_832, 1234.5, 999_999_999_999_999, 1e15, 1.2345e18, 9.999e20]


def test_numbers_are_written_in_the_page_as_here():
    assert [write_number(x) for x in NUMBERS[:6]] == ["0", "1", "999", "1,000", "65,144,832", "1,235"]
    assert [write_number(x) for x in NUMBERS[7:]] == ["1.00e15", "1.23e18", "1.00e21"]
    script = 'import { writeNumber } from "./ledger/amounts.js"; console.log(JSON.stringify(INPUT.map(writeNumber)));'
    assert json.loads(run_module(script.replace("INPUT", json.dumps(NUMBERS)))) == [write_number(x) for x in NUMBERS]


# ---- the command line -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_the_command_prints_what_the_page_computes(name, capsys):
    assert cli.main(["ledger", "--preset", name, "--n-tgt", "7", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    given = PRESETS[name] | {"n_tgt": 7}
    overrides = {key: {"shape": [], "data": [value], "dtype": "float"} for key, value in given.items()}
    page = {"program": json.loads(model_ledger.payload())["program"], "overrides": overrides}
    answer = ask_engine(programs=[page])["programs"][0]
    for total in ("parameters", "flops", "flops_per_token"):
        assert printed[total] == from_engine(answer[total])
    assert [row["block"] for row in printed["by_block"]] == list(BLOCKS)
    for row in printed["by_block"]:
        assert row["parameters"] == from_engine(answer[f"{row['block']}.parameters"])
        counted = answer.get(f"{row['block']}.flops_per_token")
        assert row["flops_per_token"] == (from_engine(counted) if counted else 0)


def test_every_setting_has_an_option(capsys):
    arguments = ["ledger", "--json"]
    wanted = PAPER | {f.name: 3 for f in FIELDS if not f.is_switch} | {"n_heads": 1}
    wanted |= {f.name: 1 - PAPER[f.name] for f in FIELDS if f.is_switch}
    for field in FIELDS:
        flag = field.name.replace("_", "-")
        if field.is_switch:
            arguments.append(f"--{flag}" if wanted[field.name] else f"--no-{flag}")
        else:
            arguments += [f"--{flag}", str(wanted[field.name])]
    assert cli.main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["configuration"] == wanted


def test_the_table_of_the_command_ends_with_the_sums(capsys):
    assert cli.main(["ledger"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split() == ["all", "65,144,832", "131,088,384"]
    assert len(lines) == len(BLOCKS) + 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n-heads", "7"], "d_model is 512 and n_heads 7; d_model must be divisible by n_heads"),
        (["--d-model", "0"], "d_model is 0; it must be a whole number from 1 to 1,000,000"),
        (["--n-layers", "-2"], "n_layers is -2; it must be a whole number"),
        (["--tgt-vocab-size", "9"], "share_embeddings needs one vocabulary"),
    ],
)
def test_settings_that_do_not_fit_end_the_command_with_2_and_one_line(arguments, message, capsys):
    assert cli.main(["ledger", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"stepformer ledger: {message}")
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.mark.parametrize(
    "arguments", [["--d-model", "many"], ["--d-model", "2.5"], ["--preset", "huge"], ["--depth", "3"]]
)
def test_words_that_are_no_settings_end_the_command_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["ledger", *arguments])
    assert end.value.code == 2
    assert arguments[-1] in capsys.readouterr().err


def test_the_help_has_examples_that_run(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["ledger", "--help"])
    assert end.value.code == 0
    examples = re.findall(r"^  stepformer (ledger .+)$", capsys.readouterr().out, re.MULTILINE)
    assert len(examples) == 4
    for example in examples:
        assert cli.main(example.split()) == 0
