"""The ledger of a training: FLOPs and bytes are those that torch sees in a step of ours, and time follows from them."""

import json
import sys
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from engine import ask_engine, from_engine, run_module
from helpers import ROOT
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from stepformer import cli, model_ledger
from stepformer.model_ledger import UNITS, ConfigurationError, ledger, write_result
from stepformer.train.distributed import ALONE, Workers, _Several
from stepformer.training_ledger import MAIN, PRESETS, TABLES, TRAINING_FIELDS, cost, lines, payload, program, show

sys.path.append(str(ROOT / "bench"))
import training_cost as measure

TINY = measure.OURS | dict(d_model=12, n_heads=3, d_ff=20, n_layers=2, src_vocab_size=30, tgt_vocab_size=26)
TINY |= dict(n_decoder_layers=3, batch_size=4)
# The shortest sentences for which our attention is one operation on the CPU; and shorter ones.
LONG, SHORT = dict(n_src=17, n_tgt=19, fused_attention=1), dict(n_src=5, n_tgt=7)
ONE_TABLE = dict(tgt_vocab_size=30, share_embeddings=1, tie_output=1)
CASES = [
    LONG, SHORT, LONG | dict(final_norm=1), SHORT | ONE_TABLE, LONG | dict(recompute=1), SHORT | dict(recompute=1),
    LONG | dict(n_encoder_layers=1, n_decoder_layers=1, final_norm=1),
]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# ---- against torch -------------------------------------------------------------------------------------------------


def beside_the_ledger(s):
    """Bytes that a step of ours keeps as well: ids of 8 bytes, masks of 1, and where attention is no fused operation,
    a softmax that is filled up to 16 columns."""
    pairs, src, tgt = s["batch_size"], s["n_src"], s["n_tgt"]
    ids = 8 * pairs * (src + 2 * tgt)
    answers = pairs * tgt + 4 + 8  # which answers count, how many those are, and the id of padding
    masks = 0 if s["fused_attention"] and not s["recompute"] else pairs * (src + tgt * tgt)
    if s["fused_attention"] or s["recompute"]:
        return ids + answers + masks
    settings = cost(s).settings
    encoder, decoder = settings["n_encoder_layers"], settings["n_decoder_layers"]
    columns = encoder * src * (16 - src) + decoder * tgt * (16 - tgt + 16 - src)
    return ids + answers + masks + 4 * pairs * s["n_heads"] * columns


@pytest.mark.parametrize("changes", CASES, ids=lambda case: " ".join(f"{k}={v}" for k, v in case.items()))
def test_what_is_kept_for_the_way_back_is_kept_byte_for_byte(changes):
    s = TINY | changes
    one = measure.training(s)
    steps = one.steps()
    next(steps)
    assert measure.kept_bytes(one, steps) == cost(s).activations + beside_the_ledger(s)


@pytest.mark.slow
@pytest.mark.parametrize("changes", CASES, ids=lambda case: " ".join(f"{k}={v}" for k, v in case.items()))
def test_flops_of_a_step_are_those_of_its_products(changes):
    """Attention as products, for torch's counter does not know the one operation."""
    s = TINY | changes
    steps = measure.training(s).steps()
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        next(steps)
    assert counter.get_total_flops() == cost(s).step_flops


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"recompute": 1}], ids=["kept", "recomputed"])
@pytest.mark.parametrize("name", measure.CONFIGURATIONS)
def test_three_configurations_are_predicted(name, changes):
    """The bar is ten percent; where a term were missing, three would not hold."""
    s = measure.CONFIGURATIONS[name] | changes
    count, seen = cost(s), measure.measured(s)
    assert seen.between == pytest.approx(count.weights + count.optimiser, rel=0.001)
    assert seen.peak == pytest.approx(count.peak, rel=0.03)
    # Fewer than 16 keys fill a softmax of 16 columns.
    assert seen.kept == pytest.approx(count.activations, rel=0.04)
    if not changes:
        assert seen.counted == pytest.approx(count.step_flops, rel=0.1)
        assert seen.profiled == pytest.approx(count.step_flops, rel=0.1)


FLAT = measure.OURS | LONG | dict(n_layers=1)
MOMENTS = {
    "loss": FLAT | dict(batch_size=16, src_vocab_size=3000),
    "last_layer": FLAT | dict(batch_size=16, src_vocab_size=60, d_ff=1024, n_layers=2),
    "first_layer": FLAT | dict(batch_size=16, src_vocab_size=60, n_layers=6, recompute=1),
    "target_table": FLAT | dict(batch_size=1, src_vocab_size=9000, tie_output=1),
    "exchange": FLAT | dict(batch_size=2, src_vocab_size=3000, d_model=128, devices=2),
    "source_table": FLAT | dict(batch_size=1, src_vocab_size=3000, share_embeddings=1, d_model=128),
}
"""Settings with which this moment is when most is held."""


class FirstOfTwo(Workers):
    """One of two processes as far as memory goes: its half of each batch, and its gradients side by side."""

    size = 2
    add_gradients = _Several.add_gradients
    _listening = staticmethod(nullcontext)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_each_moment_can_be_the_one_at_which_most_is_held(moment, monkeypatch):
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda gradients: None)
    s = MOMENTS[moment]
    values = program(s).values
    held = {name: float(values[f"memory.moments.{name}"]) for name in MOMENTS}
    # Clearly, so that no other can stand in for it.
    assert held[moment] > 1.05 * max(x for name, x in held.items() if name != moment), held
    workers = FirstOfTwo() if s["devices"] == 2 else ALONE
    assert measure.measured(s, workers).peak == pytest.approx(cost(s).peak, rel=0.01)


# ---- arithmetic ----------------------------------------------------------------------------------------------------


def test_time_is_flops_over_speed():
    s = PRESETS["base"] | dict(pairs=700, epochs=3, batch_size=7, devices=2, gflops=5, utilisation=50)
    count = cost(s)
    assert count.steps == 300
    assert count.pair_flops == 3 * ledger(model_ledger.PRESETS["base"]).flops
    assert count.step_flops == 7 * count.pair_flops
    assert count.flops == 300 * count.step_flops
    assert count.seconds == pytest.approx(count.flops / (2 * 5e9 * 0.5))


def test_computing_layers_again_costs_their_forward_pass_and_saves_memory():
    plain, again = (cost(PRESETS["base"] | dict(recompute=k)) for k in (0, 1))
    blocks = ledger(model_ledger.PRESETS["base"])
    output = next(row["flops_per_token"] for row in blocks.by_block if row["block"] == "output") * 25
    assert again.pair_flops - plain.pair_flops == blocks.flops - output
    assert again.activations < 0.4 * plain.activations
    assert again.peak < plain.peak


def test_devices_share_what_is_kept_and_not_the_weights():
    one, four = (cost(PRESETS["base"] | dict(devices=n)) for n in (1, 4))
    assert four.activations == one.activations / 4
    assert four.weights == one.weights
    assert four.seconds == one.seconds / 4
    # With next to no activations, gradients stand there twice: each device's own, and side by side for the others.
    for n in (1, 4):
        lone = cost(PRESETS["base"] | dict(devices=n, batch_size=n, src_vocab_size=100))
        assert lone.peak == pytest.approx(lone.weights * (4 if n == 1 else 5), rel=0.02)


@pytest.mark.parametrize(("half", "states"), [(4, 2), (2, 0)])
def test_memory_follows_from_the_widths(half, states):
    full = cost(PRESETS["base"])
    count = cost(PRESETS["base"] | dict(activation_bytes=half, optimiser_states=states))
    loss = 4 * 100 * 25 * 41_100
    assert count.activations - loss == (full.activations - loss) * half / 4
    assert count.optimiser == 4 * states * count.parameters
    assert count.gradients == count.weights == 4 * count.parameters


def test_the_fused_operation_does_not_keep_the_weights_of_attention():
    s = PRESETS["base"] | dict(n_src=2000, batch_size=1)
    held, not_held = (cost(s | dict(fused_attention=k)).activations for k in (0, 1))
    weights = 4 * 18 * 8 * 2000 * 2000
    rows_and_masks = 4 * (18 * 8 * 2000 + 6 * (2000 + 2000 * 2000 + 2000))
    assert held - not_held == weights - rows_and_masks


def test_the_paper_counts_three_times_as_many():
    """Section 6.1 and table 2: time × cards × 9.5 TFLOPS. The numbers of the page Ledger."""
    for name, days, printed, steps, share in (("base", 0.5, 3.3e18, 100_000, 30), ("big", 3.5, 2.3e19, 300_000, 42)):
        paper = days * 86_400 * 8 * 9.5e12
        assert float(f"{paper:.1e}") == printed
        count = cost(PRESETS[f"paper_{name}"])
        assert count.steps == pytest.approx(steps, rel=0.01)
        assert round(100 * steps * count.step_flops / paper) == share
    assert round(100_000 * cost(PRESETS["paper_base"]).step_flops / 1e17, 1) == 9.8
    assert round(300_000 * cost(PRESETS["paper_big"]).step_flops / 1e18, 1) == 9.6


def test_the_numbers_of_the_page_are_these():
    text = " ".join((ROOT / "book" / "ledger.md").read_text(encoding="utf-8").split())
    million, billion = dict(lines(PRESETS["base"])), dict(lines(PRESETS["base_billion"]))
    assert (million["time"], billion["time"]) == ("9.58 hours", "4.99 days")
    assert million["time"] in text
    assert billion["time"] in text
    assert million["the most at one moment"] in text
    assert billion["the most at one moment"] in text
    figures = json.loads((ROOT / "bench" / "training_cost.json").read_text(encoding="utf-8"))["figures"]
    speeds = [figures[f"speed_{name}"]["value"] for name in measure.CONFIGURATIONS]
    assert f"{speeds[0]:.0f} GFLOPs a second with the small model and {max(speeds):.0f} with a wider one" in text
    off = {
        what: max(figures[f"{what}_{name}"]["value"] for name in measure.CONFIGURATIONS) for what in ("flops", "peak")
    }
    assert f"The largest distance is {off['flops']:.0f} percent" in text
    assert f"the peak is off by {off['peak']:.0f} percent at most" in text
    assert dict(lines(PRESETS["base"] | dict(recompute=1)))["the most at one moment"] in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairs": 0}, "pairs is 0; it must be a whole number from 1"),
        ({"utilisation": 101}, "utilisation is 101; it must be a whole number from 1 to 100"),
        ({"n_heads": 7}, "d_model must be divisible by n_heads"),
        ({"price": 3}, "there is no setting 'price'"),
        ({"devices": 101}, "batch_size is 100; each of 101 devices needs a pair at least"),
        ({"pairs": 33, "epochs": 3}, "batch_size is 100; pairs · epochs is only 33 · 3"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        cost(PRESETS["base"] | changes)
    with pytest.raises(ConfigurationError, match=message):
        show("base", **changes)


def test_a_preset_that_is_none_is_refused():
    with pytest.raises(ConfigurationError, match="preset is 'huge'; it must be one of base, big"):
        show("huge")
    with pytest.raises(ConfigurationError, match="preset is 'huge'; it must be one of base, big"):
        payload("huge")


# ---- the page ------------------------------------------------------------------------------------------------------


def test_the_engine_computes_what_python_computes():
    programs = [program(s) for s in PRESETS.values()]
    answers = ask_engine(programs=[{"program": json.loads(p.to_json())} for p in programs])["programs"]
    for recorded, answer in zip(programs, answers, strict=True):
        for name, array in recorded.values.items():
            assert from_engine(answer[name]) == array


AMOUNTS = [["a.bytes", 0], ["a.bytes", 999.994], ["b.bytes", 1000], ["bytes", 2.1e9], ["bytes", 3e21],
           ["t.seconds", 0.5], ["t.seconds", 59.999], ["t.seconds", 3600], ["seconds", 1e12], ["flops", 1234],
           ["x.flops", 3e17]]  # fmt: skip


def test_amounts_are_written_in_the_page_as_here():
    written = [write_result(name, value) for name, value in AMOUNTS]
    assert written[2:4] + written[7:10] == ["1.00 kB", "2.10 GB", "1.00 hours", "31688.09 years", "1,234"]
    script = ('import { writeResult } from "./ledger/amounts.js"; console.log(JSON.stringify(INPUT.map('
              "([name, value]) => writeResult(name, value, UNITS))));")  # fmt: skip
    script = script.replace("INPUT", json.dumps(AMOUNTS)).replace("UNITS", json.dumps(UNITS))
    assert json.loads(run_module(script)) == written


def test_a_widget_begins_where_it_is_asked_to():
    document = json.loads(show("base_billion").payload)
    assert next(iter(document["presets"])) == "base billion"
    changed = json.loads(show("base", devices=8).payload)
    name, settings = next(iter(changed["presets"].items()))
    assert (name, settings) == ("base, changed", PRESETS["base"] | {"devices": 8})
    assert {f["name"] for f in document["fields"] if f["main"]} == set(MAIN)
    results = [result for table in document["tables"] for _, *row in table["rows"] for result in row]
    assert None not in results
    assert len(results) == sum(len(rows) for _, rows in TABLES)


def test_the_page_gets_numbers_whatever_settings_are_written_as():
    document = json.loads(payload("base", {"recompute": True, "d_k": None, "batch_size": np.int64(7)}))
    settings = next(iter(document["presets"].values()))
    assert settings == PRESETS["base"] | {"recompute": 1, "batch_size": 7}
    assert {type(x) for x in settings.values()} == {int}


def test_without_javascript_the_results_stand_there():
    view = show("small", pairs=500)
    html = view.html()
    for text, amount in lines(PRESETS["small"] | {"pairs": 500}):
        assert f"<tr><th>{text}</th><td>{amount}</td></tr>" in html
        assert f"{text}: {amount}" in repr(view)


# ---- the command line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_the_command_counts_the_same(preset, capsys):
    assert cli.main(["ledger", "--training", "--preset", preset, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == vars(cost(PRESETS[preset]))


def test_every_setting_of_a_training_has_an_option(capsys):
    wanted = {field.name: 1 - PRESETS["base"][field.name] if field.is_switch else 7 for field in TRAINING_FIELDS}
    arguments = ["ledger", "--training"]
    for field in TRAINING_FIELDS:
        flag = field.name.replace("_", "-")
        switch = [f"--{flag}" if wanted[field.name] else f"--no-{flag}"]
        arguments += switch if field.is_switch else [f"--{flag}", str(wanted[field.name])]
    assert cli.main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"].items() >= wanted.items()
    assert cli.main(arguments) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in printed[2:]] == [text for text, _ in lines()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pairs", "5"], "pairs belongs to a training; give --training too"),
        (["--preset", "paper_base"], "preset paper_base is a training; give --training too"),
        (["--training", "--epochs", "0"], "epochs is 0; it must be"),
    ],
)
def test_a_command_that_mixes_the_two_up_is_told_so(arguments, message, capsys):
    assert cli.main(["ledger", *arguments]) == 2
    assert message in capsys.readouterr().err
