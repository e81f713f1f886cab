"""Encoder and decoder: the example is as designed, what one vector can not hold, known mistakes, errors."""

import ast
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from agreement import assert_agree
from helpers import ROOT, fault, only_in_test_all

from stepformer import examples, exercises, mistakes, ops
from stepformer.checks import CHECKS
from stepformer.nn import EncoderDecoder
from stepformer.reference.encoder_decoder import (
    decode,
    encode,
    encoder_decoder,
    feed_back,
    greedy,
    project,
)

PARAMS = examples.ENCODER_DECODER_PARAMS
PAD, BOS, EOS = 0, 1, 2
TOM, JERRY, CHASE, RUN, END = range(5)
TRANSLATION = {"Tom": "汤姆", "Jerry": "杰瑞", "chase": "追逐", "run": "跑", "<eos>": "<eos>"}


def context_of(text):
    return encode(examples.source_ids(text), np.zeros(5), PARAMS, "rnn", PAD).context


def translation_of(text, max_len=8):
    written = greedy(examples.source_ids(text), np.zeros(5), PARAMS, BOS, EOS, max_len, "rnn", PAD)
    return " ".join(examples.TRANSLATED_WORDS[i] for i in written)


def written_in(trace):
    return [examples.TRANSLATED_WORDS[i] for i in trace["words"].argmax(axis=1)]


# ---- by hand --------------------------------------------------------------------------------------------------------


def test_a_state_of_one_number_by_hand():
    """All weights 1: c = tanh(1 + tanh(2)) for the inputs 2 and 1, and s_1 = tanh(0.5 + c)."""
    params = {
        "src_embedding.weight": np.array([[1.0], [2.0]]),
        "tgt_embedding.weight": np.array([[0.5], [-3.0]]),
        **{f"{half}.layers.0.forward.weight": np.ones((2, 1)) for half in ("encoder", "decoder")},
        **{f"{half}.layers.0.forward.bias": np.zeros(1) for half in ("encoder", "decoder")},
        "output.weight": np.array([[2.0, -1.0]]),
        "output.bias": np.array([0.0, 1.0]),
    }
    c = np.tanh(1 + np.tanh(2))
    encoded = encode(np.array([1, 0]), np.zeros(1), params, "rnn")
    assert_agree(encoded.context, np.array([c]), 1e-12, "context")
    assert_agree(encoded.states, np.array([[np.tanh(2)], [c]]), 1e-12, "states")
    s_1 = np.tanh(0.5 + c)
    s_2 = np.tanh(-3 + s_1)
    logits = encoder_decoder(np.array([1, 0]), np.array([0, 1]), np.zeros(1), params, "rnn")
    assert_agree(logits, np.array([[2 * s_1, 1 - s_1], [2 * s_2, 1 - s_2]]), 1e-12, "logits")


def test_only_the_context_passes_from_the_encoder_to_the_decoder():
    """Two sources with one context have one translation; and a source tells apart nothing that its context does not."""
    trace = examples.teacher_forcing()
    other = trace.run({"src": "Jerry run <eos> a"})
    carried = trace.run({"context": other["context"]})
    assert np.array_equal(carried["logits"], other["logits"])
    assert not np.array_equal(other["logits"], trace["logits"])
    decoder = [i for i, t in enumerate(trace.tensors) if t.name.startswith(("decoder.rnn", "logits"))]
    reached = {trace.find("src"), trace.find("start")}
    for step in trace.steps:
        if trace.tensors[step.output].name != "context" and reached & set(step.inputs):
            reached.add(step.output)
    assert not reached & set(decoder)


# ---- the example is as designed -------------------------------------------------------------------------------------


def test_the_columns_of_the_state_say_what_was_heard_the_earlier_the_louder():
    context = examples.read_a_sentence()["context"]
    assert context[TOM] > context[CHASE] > context[JERRY] > 0.3
    assert context[RUN] == 0
    assert context[END] > 0.7
    states = examples.read_a_sentence()["states"]
    assert np.array_equal(np.diff(states[:, TOM]) > 0, [True] * 3)


@pytest.mark.parametrize(
    "text",
    [
        "Tom chase Jerry <eos>",
        "Jerry chase Tom <eos>",
        "Tom run <eos>",
        "Jerry run <eos>",
        "the Tom chase the Jerry <eos>",
        "Tom <eos>",
        "chase a Jerry Tom <eos>",
        "run Jerry Tom chase <eos>",
        "<eos>",
        "Tom run <eos> <pad> <pad>",
    ],
)
def test_the_example_translates_word_for_word(text):
    expected = " ".join(TRANSLATION[word] for word in text.split() if word in TRANSLATION)
    assert translation_of(text) == expected


def test_both_players_show_the_intended_words():
    forced, free = examples.teacher_forcing(), examples.feeding_back()
    assert forced["probabilities"].argmax(axis=1).tolist() == forced["targets"].tolist()
    assert (forced["probabilities"].max(axis=1) > 0.8).all()
    assert written_in(free) == ["汤姆", "追逐", "杰瑞", "<eos>"]
    assert_agree(forced["logits"], free["all_logits"], 1e-12)
    assert written_in(free.run({"src": "Jerry chase Tom <eos>"})) == ["杰瑞", "追逐", "汤姆", "<eos>"]
    assert written_in(examples.read_a_padded_sentence()) == ["汤姆", "跑", "<eos>", "<eos>"]


def test_without_an_end_in_the_source_the_decoder_does_not_know_when_to_stop():
    assert translation_of("Tom chase Jerry", 4) == "汤姆 追逐 杰瑞 跑"


@pytest.mark.parametrize("name", PARAMS)
def test_designed_numbers_have_at_most_two_decimals_and_are_no_identity(name):
    array = PARAMS[name]
    assert np.array_equal(array, array.round(2))
    assert array.ndim == 1 or not np.array_equal(array, np.eye(*array.shape))


@fault("VIZ-06")
def test_each_axis_is_labelled_with_its_own_words():
    trace = examples.teacher_forcing().run({"src": "Jerry run <eos> the", "tgt": "<bos> 杰瑞 跑 <eos>"})
    assert trace.axis_labels("encoder.rnn.states") == [["Jerry", "run", "<eos>", "the"], examples.STATE_COLUMNS]
    assert trace.axis_labels("probabilities") == [["<bos>", "杰瑞", "跑", "<eos>"], examples.TRANSLATED_WORDS]
    assert trace.axis_labels("encoder.rnn.step_1.joined") == [[*examples.HEARD_FEATURES, *examples.STATE_COLUMNS]]


# ---- what one vector can not hold -----------------------------------------------------------------------------------


def test_the_same_word_twice_is_heard_once():
    assert translation_of("Tom chase Tom <eos>") == "汤姆 追逐 <eos>"


def test_the_order_of_words_long_past_is_squeezed_out_of_the_state():
    gaps = []
    for n in range(0, 11, 2):
        first = context_of("Tom chase Jerry" + " the" * n + " <eos>")
        other = context_of("Jerry chase Tom" + " the" * n + " <eos>")
        gaps.append(np.abs(first - other).max())
    assert np.all(np.diff(gaps) < 0)
    assert gaps[0] > 0.2
    assert gaps[4] < 0.005  # eight words later, the two are the same to two decimals


# ---- the loop -------------------------------------------------------------------------------------------------------


def test_the_loop_in_the_program_is_the_loop_in_python():
    context = context_of("Tom chase Jerry <eos>")
    written = feed_back(np.array([BOS]), context, PARAMS, 4, "rnn")
    assert written.words.argmax(axis=-1).tolist() == [3, 5, 4, 2]
    forced = project(decode(np.array([1, 3, 5, 4]), context, PARAMS, "rnn").states, PARAMS)
    assert_agree(written.logits, forced, 1e-12)


def test_a_sentence_that_does_not_end_is_cut_and_nothing_is_stripped():
    assert translation_of("Tom chase Jerry <eos>", 2) == "汤姆 追逐"
    assert translation_of("Tom chase Jerry <eos>", 4) == "汤姆 追逐 杰瑞 <eos>"


def test_one_wrong_word_spoils_the_words_after_it_where_words_are_fed_back():
    trace = examples.feeding_back().with_breaks(*mistakes.FEEDING_BACK)
    wrong = trace.broken("Let the first word slip")
    assert written_in(wrong) == ["杰瑞", "汤姆", "追逐", "<eos>"]
    assert sum(a != b for a, b in zip(written_in(wrong), written_in(trace), strict=True)) == 3
    # Under teacher forcing the same slip is a wrong answer, and it stays the only one.
    forced = examples.teacher_forcing()
    logits = forced["logits"].copy()
    logits[0, 4] = 99.0
    slipped = forced.run({"logits": logits})
    assert (slipped["probabilities"].argmax(axis=1) != forced["targets"]).tolist() == [True, False, False, False]


def test_a_repeated_start_mark_repeats_the_first_word():
    trace = examples.feeding_back().with_breaks(*mistakes.FEEDING_BACK)
    assert written_in(trace.broken("Read the start mark at every step")) == ["汤姆"] * 4


# ---- known mistakes -------------------------------------------------------------------------------------------------


def test_a_decoder_that_starts_from_zeros_never_hears_the_source():
    trace = examples.teacher_forcing().with_breaks(*mistakes.TEACHER_FORCING)
    wrong = trace.broken("Start the decoder from zeros")
    other = wrong.run({"src": "Jerry run <eos> a"})
    assert np.array_equal(other["logits"], wrong["logits"])
    assert not np.array_equal(other["context"], wrong["context"])


@fault("RNN-05")
def test_a_state_that_is_taken_after_the_padding_adds_words():
    trace = examples.read_a_padded_sentence().with_breaks(*mistakes.READ_PADDING)
    short = encode(examples.source_ids("Tom run <eos>"), np.zeros(5), PARAMS, "rnn").context
    assert_agree(trace["context"], short, 1e-12)
    assert written_in(trace.broken("Read on through the padding")) == ["汤姆", "跑", "追逐", "杰瑞"]


FAMILIES = (
    [("teacher_forcing", b) for b in mistakes.TEACHER_FORCING]
    + [("feeding_back", b) for b in mistakes.FEEDING_BACK]
    + [("read_a_padded_sentence", b) for b in mistakes.READ_PADDING]
)


@pytest.mark.parametrize(("name", "mistake"), FAMILIES, ids=lambda value: getattr(value, "name", value))
def test_each_mistake_changes_the_logits_and_is_caught_by_its_check_alone(name, mistake):
    family = [m for n, m in FAMILIES if n == name]
    trace = examples.EXAMPLES[name]().with_breaks(*family)
    result = "logits" if name == "teacher_forcing" else "words"
    wrong = trace.broken(mistake.name)
    assert not np.array_equal(wrong[result], trace[result])
    for other in family:
        CHECKS[other.caught_by](trace)
        if other.caught_by == mistake.caught_by:
            with pytest.raises(AssertionError):
                CHECKS[other.caught_by](wrong)
        else:
            CHECKS[other.caught_by](wrong)


# ---- the experiments of the chapter ---------------------------------------------------------------------------------


def is_constant(node):
    """Whether a statement gives one or more names in capitals a value."""
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).isupper()


def experiments():
    """What the chapter's own cells define: the task, the training, the measures, the model that looks back."""
    cells = json.loads((ROOT / "chapters" / "04_encoder_decoder.ipynb").read_text(encoding="utf-8"))["cells"]
    defined = {"np": np, "torch": torch, "EncoderDecoder": EncoderDecoder}
    definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    wanted = ("def train(", "def influence(", "def right_at_each_place(", "class LooksBack(")
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and any(word in source for word in wanted):
            kept = [node for node in ast.parse(source).body if isinstance(node, definitions) or is_constant(node)]
            exec(compile(ast.Module(kept, []), "chapter", "exec"), defined)
    return SimpleNamespace(**defined)


@pytest.fixture
def one_thread():
    """As in the chapter: its matrices are too small for more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=only_in_test_all) for seed in (2, 3))])
@pytest.mark.usefixtures("one_thread")
def test_what_the_chapter_finds_does_not_hang_on_its_seed(seed):
    chapter = experiments()
    untrained = chapter.new_model(48, seed=seed)
    with torch.no_grad():
        before = chapter.influence(untrained)
    wide, _ = chapter.train(untrained, seed)
    narrow, _ = chapter.train(chapter.new_model(16, seed=seed), seed)
    backwards, _ = chapter.train(chapter.new_model(48, seed=seed), seed, reverse=True)
    looking_back, _ = chapter.train(chapter.new_model(48, chapter.LooksBack, seed), seed)
    cheat, loss = chapter.train(chapter.new_model(48, seed=seed), seed, steps=150, shifted=False)

    of_wide, of_narrow = chapter.quality(wide), chapter.quality(narrow)
    assert of_wide[:2].min() > 0.95
    assert of_wide[9] < 0.5
    assert of_wide[4:].max() < of_wide[:3].min()
    assert of_narrow[2] < of_wide[2] - 0.3
    assert chapter.quality(backwards, reverse=True).mean() > of_wide.mean()
    assert chapter.quality(looking_back)[9] > max(0.75, of_wide[9] + 0.3)
    assert loss < 0.1
    assert chapter.quality(cheat)[1:].max() < 0.35

    with torch.no_grad():
        after = chapter.influence(wide)
    assert before[9] > 20 * before[0]
    assert after.argmax() == 0
    assert after[0] > 2 * after[9]
    given, alone = chapter.right_at_each_place(wide)
    assert given[0] > given[1:].mean() + 0.1
    assert given.mean() > alone.mean() + 0.1
    assert alone[0] > alone[3] > alone[7]
    assert given[3:6].mean() < given[0] - 0.1
    assert 1 < given.argmin() < 6


@only_in_test_all
@pytest.mark.usefixtures("one_thread")
def test_longer_training_moves_the_curve_and_it_still_falls():
    chapter = experiments()
    short, _ = chapter.train(chapter.new_model(48))
    long, _ = chapter.train(chapter.new_model(48), steps=2000)
    of_short, of_long = chapter.quality(short), chapter.quality(long)
    assert np.all(of_long[3:] > of_short[3:])
    assert of_long[9] < of_long[4] - 0.05


# ---- programs -------------------------------------------------------------------------------------------------------


def test_a_program_rerun_on_other_words_equals_a_fresh_call():
    src, tgt = examples.source_ids("the Jerry run <eos>"), examples.target_ids("<bos> 杰瑞 跑 <eos>")
    again = examples.teacher_forcing().run({"src": src, "tgt": tgt})
    assert np.array_equal(again["logits"], encoder_decoder(src, tgt, np.zeros(5), PARAMS, "rnn"))
    for ids in ([4, 6, 5, 1, 0], [6, 1, 0, 0, 0], [7, 2, 3, 4, 1], [0, 0, 0, 0, 0]):
        padded = examples.read_a_padded_sentence().run({"src": np.array(ids)})
        context = encode(np.array(ids), np.zeros(5), PARAMS, "rnn", PAD).context
        assert np.array_equal(padded["context"], context)
        written = feed_back(np.array([BOS]), context, PARAMS, 4, "rnn")
        assert np.array_equal(padded["words"], written.words)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_program_of_another_length_is_recorded_anew(n):
    text = " ".join(["Tom", "chase", "the", "Jerry", "run", "a", "<eos>"][-n:])
    trace = examples.read_a_sentence(text)
    assert np.array_equal(trace["context"], context_of(text))
    with pytest.raises(ValueError, match=f"unrolled for {n} positions along 'src'"):
        trace.run({"src": np.zeros(n + 1, dtype=int)})


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong():
    src, start = np.array([4, 6]), np.zeros(5)
    with pytest.raises(ValueError, match="kind is 'cnn'; it is one of rnn, gru"):
        encode(src, start, PARAMS, "cnn")
    with pytest.raises(ValueError, match="params lack reset"):
        encode(src, start, PARAMS | {f"encoder.layers.0.forward.candidate.{s}.{k}": np.zeros(1)
                                     for s in ("w_x", "w_h") for k in ("weight", "bias")}, "gru")  # fmt: skip
    with pytest.raises(ValueError, match="but the table has the rows 0 … 7"):
        encode(np.array([8]), start, PARAMS, "rnn")
    with pytest.raises(ValueError, match="it must be one sentence"):
        greedy(src[None], start, PARAMS, BOS, EOS, 4, "rnn")
    with pytest.raises(ValueError, match="max_len is 0"):
        greedy(src, start, PARAMS, BOS, EOS, 0, "rnn")
    with pytest.raises(ValueError, match="n_steps is 0"):
        feed_back(np.array([BOS]), start, PARAMS, 0, "rnn")


def test_inputs_are_not_changed():
    src, start = examples.source_ids("Tom run <eos> <pad>"), np.zeros(5)
    copies = {name: array.copy() for name, array in PARAMS.items()}
    encoder_decoder(src, np.array([1, 3]), start, PARAMS, "rnn", PAD)
    assert src.tolist() == [4, 7, 1, 0]
    assert not start.any()
    assert all(np.array_equal(PARAMS[name], array) for name, array in copies.items())


def test_padding_may_hold_anything():
    table = PARAMS["src_embedding.weight"].copy()
    table[PAD] = np.nan
    src = np.array([4, 7, 1, 0])
    assert_agree(encode(src, np.zeros(5), PARAMS | {"src_embedding.weight": table}, "rnn", PAD).context,
                 context_of("Tom run <eos>"), 1e-12)  # fmt: skip
    assert ops.padding_mask(src, pad_id=PAD)[0].tolist() == [True, True, True, False]


# ---- exercises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer"),
    [("bridge", [48, 48]), ("louder", [0.245, 0.352]), ("shift", 1), ("in_a_row", [55, 55]), ("room", 5)],
)
def test_the_answers_are_those_worked_out_by_hand(name, answer):
    assert exercises.check(f"encoder_decoder.{name}", answer).right
