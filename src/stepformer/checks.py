"""Checks that a recorded program must pass. The tests run them, and each break-it switch names the one that catches it.

Each takes a trace, compares it with plain NumPy that shares no code with the ops, and raises AssertionError with a
message for the reader.
"""

import itertools
import re
from collections.abc import Callable

import numpy as np

from stepformer.trace import Trace

Check = Callable[[Trace], None]
CHECKS: dict[str, Check] = {}
"""Every check by name."""


def check(function: Check) -> Check:
    """Register a check under its own name.

    Args:
        function: takes a trace and raises AssertionError with a message for the reader.

    Returns:
        The function itself.
    """
    CHECKS[function.__name__] = function
    return function


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=1e-12))


@check
def scores_are_divided_by_root_d_k(trace: Trace) -> None:
    """The scores handed to softmax are the dot products divided by the square root of the width of one query."""
    width = (trace["query"] if _has(trace, "query") else trace["query_heads"]).shape[-1]
    _require(_close(trace["scaled_scores"], trace["scores"] / width**0.5), "The scores are not divided by √d_k.")


@check
def weights_of_each_query_sum_to_one(trace: Trace) -> None:
    """Along the keys, the weights of every query that may attend to something sum to 1."""
    totals = trace["weights"].sum(axis=-1)
    _require(
        _close(totals, np.ones_like(totals)), f"The weights of the queries sum to {np.round(totals, 2)}, not to 1."
    )


@check
def every_visible_key_has_a_share(trace: Trace) -> None:
    """Softmax is soft: every key that is not masked gets a weight above zero."""
    visible = _visible(trace)
    _require(bool((trace["weights"][visible] > 0).all()), "A key that may be attended to has no weight at all.")


@check
def padding_has_no_weight(trace: Trace) -> None:
    """No query spends any weight on a padding token."""
    crossed = "cross_attention.attention.weights"
    wasted = trace[crossed if _has(trace, crossed) else "weights"][..., trace["src"] == 0]
    _require(bool((wasted == 0).all()), f"Padding has up to {wasted.max(initial=0):.2f} of the weight.")


@check
def output_is_the_weighted_sum_of_values(trace: Trace) -> None:
    """Each output row is the average of the value rows with the weights of its query."""
    expected = np.einsum("...qk,...kv->...qv", trace["weights"], trace["value"])
    _require(
        _close(trace["attention.output"], expected),
        f"The output {trace['attention.output'].shape} is not the weights times the values {trace['value'].shape}.",
    )


@check
def each_role_has_its_own_projection(trace: Trace) -> None:
    """Queries, keys and values are the sequence times W^Q, times W^K and times W^V."""
    for role in ("query", "key", "value"):
        expected = np.einsum("...nd,dk->...nk", trace["x"], trace[f"w_{role[0]}.weight"])
        _require(_close(trace[role], expected), f"The {role} is not x times w_{role[0]}.weight.")


@check
def the_layers_do_not_collapse_into_one(trace: Trace) -> None:
    """From an input to zero is not the same step as from zero to its negative, as it is for any linear layer."""
    source, result = ("image", "layer_2.convolution.output") if _has(trace, "image") else ("x", "feed_forward.output")
    minus, zero, plus = (trace.run({source: factor * trace[source]})[result] for factor in (-1.0, 0.0, 1.0))
    _require(not _close(plus - zero, zero - minus), f"From {source} to {result}, all together is one linear layer.")


@check
def the_first_layer_adds_its_bias(trace: Trace) -> None:
    """The hidden units are the row times w_1, plus one number for each unit."""
    expected = np.einsum("nd,dh->nh", trace["x"], trace["w_1.weight"]) + trace["w_1.bias"]
    _require(_close(trace["expanded"], expected), "The bias of the first layer is missing.")


@check
def the_window_is_laid_on_as_it_is(trace: Trace) -> None:
    """The matrix named "before" meets the word before, and the matrix named "after" the word after."""
    x, weight = trace["x"], trace["weight"]
    expected = x @ weight[1] + trace["bias"]
    expected[1:] += x[:-1] @ weight[0]
    expected[:-1] += x[1:] @ weight[2]
    given = trace["convolution.output"]
    _require(_close(given, expected), "The matrix for the word before does not meet the word before.")


@check
def no_word_sees_a_later_one(trace: Trace) -> None:
    """Changing a word of the source changes nothing that was found before it, not even in the last bit."""
    tokens, found = trace["src"], trace["found"]
    words = trace.tensors[trace.find("src")].vocabulary
    for t, word in np.ndindex(len(tokens), len(words)):
        other = np.concatenate([tokens[:t], [word], tokens[t + 1 :]])
        changed = trace.run({"src": other})["found"]
        _require(np.array_equal(changed[:t], found[:t]), f"A word before position {t} can see the word there.")


@check
def the_kernels_are_laid_on_everywhere_as_they_are(trace: Trace) -> None:
    """At every place where a kernel fits on the image, pixel meets number as they lie on each other."""
    image, kernels = trace["image"], trace["edge_kernels"]
    windows = np.lib.stride_tricks.sliding_window_view(image, kernels.shape[2:], axis=(-2, -1))
    expected = np.einsum("cijkl,ockl->oij", windows, kernels) + trace["edge_bias"][:, None, None]
    given = trace["layer_1.convolution.output"]
    places, room = given.shape[1:], expected.shape[1:]
    _require(places == room, f"The kernels stop at {places} places, and there is room for {room}.")
    _require(_close(given, expected), "The kernels do not lie on the image as they are written.")


@check
def queries_come_from_the_target(trace: Trace) -> None:
    """In cross-attention the target asks: its rows times W^Q are the queries."""
    expected = np.einsum("...nd,dk->...nk", trace["x"], trace["w_q.weight"])
    _require(_close(trace["query"], expected), "The query is not x times w_q.weight.")


@check
def keys_and_values_come_from_the_source(trace: Trace) -> None:
    """In cross-attention the source is asked: the memory times W^K and W^V are the keys and the values."""
    memory = trace["visible_memory" if _has(trace, "visible_memory") else "memory"]
    for role in ("key", "value"):
        expected = np.einsum("...nd,dk->...nk", memory, trace[f"w_{role[0]}.weight"])
        _require(_close(trace[role], expected), f"The {role} is not the memory times w_{role[0]}.weight.")


@check
def no_future_is_seen(trace: Trace) -> None:
    """Changing a word of the target changes no output before it, not even in the last bit."""
    tokens, output = trace["tgt"], trace["attention.output"]
    words = trace.tensors[trace.find("tgt")].vocabulary
    for t in range(1, len(tokens)):
        other = tokens.copy()
        other[t] = (other[t] + 1) % len(words)
        changed = trace.run({"tgt": other})["attention.output"]
        sees = (changed[:t] != output[:t]).any(axis=-1)
        names = ", ".join(words[i] for i in tokens[:t][sees])
        _require(not names, f"{names} can see the word at position {t}, which comes later.")


@check
def word_order_changes_the_outputs(trace: Trace) -> None:
    """The sentence read backwards does not give the same rows in another order."""
    backwards = trace.run({"src": trace["src"][::-1]})
    same = _close(backwards["attention.output"][::-1], trace["attention.output"])
    _require(not same, "The sentence read backwards gives every word the output it had before.")


@check
def each_word_attends_to_the_word_before_it(trace: Trace) -> None:
    """Every word but the first gives most of its weight to the word before it."""
    found = trace["weights"][1:].argmax(axis=-1)
    expected = np.arange(len(found))
    _require(bool((found == expected).all()), f"The words 1, 2, … attend to {found}, not to {expected}.")


@check
def sine_and_cosine_alternate(trace: Trace) -> None:
    """At position 0 every sine is 0 and every cosine 1, so its row must read 0, 1, 0, 1 and so on."""
    first = trace["positions"][0]
    _require(_close(first, np.arange(len(first)) % 2 * 1.0), f"Position 0 has the row {np.round(first, 2)}.")


@check
def each_pair_shares_a_wavelength(trace: Trace) -> None:
    """Sine and cosine of one angle lie on the unit circle: the squares of each pair of columns sum to 1."""
    table = trace["positions"]
    pairs = table[:, : table.shape[-1] // 2 * 2].reshape(len(table), -1, 2)
    lengths = np.hypot(pairs[..., 0], pairs[..., 1])
    _require(_close(lengths, np.ones_like(lengths)), "A pair of columns is not sine and cosine of one angle.")


@check
def every_token_gets_the_row_of_its_position(trace: Trace) -> None:
    """What was added to the tokens is the same for every sentence, and another row for each position."""
    added = trace["with_positions"] - trace["scaled_embedding"]
    for sentence, rows in enumerate(added.reshape(-1, *added.shape[-2:])):
        distinct = len(np.unique(np.round(rows, 9), axis=0))
        _require(distinct == len(rows), f"Sentence {sentence}: different rows for its {len(rows)} tokens: {distinct}.")
    _require(_close(added, np.broadcast_to(trace["positions"], added.shape)), "Sentences get different positions.")


@check
def embeddings_are_multiplied_by_root_d_model(trace: Trace) -> None:
    """The word vectors are multiplied by √d_model before positions are added."""
    embedding, scaled = trace["embedding"], trace["scaled_embedding"]
    factor = np.abs(scaled).max() / np.abs(embedding).max()
    root = embedding.shape[-1] ** 0.5
    _require(_close(scaled, embedding * root), f"The embedding is multiplied by {factor:.2f}, not by {root:.2f}.")


@check
def scores_depend_on_distance_only(trace: Trace) -> None:
    """One query and one key at different places: equal distances give equal scores, along every diagonal."""
    scores = trace["scores"]
    same = _close(scores[1:, 1:], scores[:-1, :-1])
    _require(same, "Two pairs at the same distance have different scores.")


@check
def each_head_gets_its_own_columns(trace: Trace) -> None:
    """Head h holds the h-th block of columns of every row, and the rows keep their order."""
    roles = ("query", "key", "value") if _has(trace, "query_heads") else ()
    for whole, cut in [(f"projected_{role}", f"{role}_heads") for role in roles] or [("x", "heads")]:
        heads = trace[cut]
        blocks = np.split(trace[whole], len(heads), axis=-1)
        own = _close(heads, np.stack(blocks))
        _require(own, f"The heads in {cut} are not blocks of columns: rows are mixed.")


@check
def weights_of_each_head_are_its_own(trace: Trace) -> None:
    """The weights of a head are the softmax of its own scores, whatever the other heads look at."""
    powers = np.exp(trace["scaled_scores"])
    own = _close(trace["weights"], powers / powers.sum(axis=-1, keepdims=True))
    _require(own, "The weights of a head are not the softmax of its own scores.")


@check
def w_o_joins_the_heads(trace: Trace) -> None:
    """The output is the merged heads times W^O, plus its bias."""
    expected = np.einsum("...nv,vd->...nd", trace["merged_heads"], trace["w_o.weight"]) + trace["w_o.bias"]
    joined = _close(trace["multi_head_attention.output"], expected)
    _require(joined, "The output is not the merged heads times w_o.weight.")


@check
def probabilities_of_each_row_sum_to_one(trace: Trace) -> None:
    """Each row of probabilities is a distribution over the vocabulary."""
    totals = trace["probabilities"].sum(axis=-1)
    _require(_close(totals, np.ones_like(totals)), f"The rows of probabilities sum to {np.round(totals, 2)}, not to 1.")


@check
def losses_are_minus_the_log_of_the_right_probability(trace: Trace) -> None:
    """The loss of each row is −log of the probability of its right answer, a softmax of the logits."""
    powers = np.exp(trace["logits"])
    right = np.take_along_axis(powers, trace["targets"][:, None], axis=-1)[:, 0] / powers.sum(axis=-1)
    losses = trace["loss.losses"]
    _require(
        _close(losses, -np.log(right)),
        f"The losses {np.round(losses, 2)} are not −log of the right probabilities {np.round(right, 2)}.",
    )


@check
def loss_is_the_mean_over_the_rows(trace: Trace) -> None:
    """The loss that is reported is the mean of the losses of the rows."""
    loss, losses = trace["loss.mean"], trace["loss.losses"]
    _require(_close(loss, np.mean(losses)), f"The loss is {loss:.2f}, the mean of the losses {losses.mean():.2f}.")


@check
def temperature_divides_the_logits(trace: Trace) -> None:
    """The logits handed on are those of the model divided by the temperature."""
    divided = _close(trace["tempered_logits"], trace["logits"] / trace["temperature"])
    _require(divided, "The logits are not divided by the temperature.")


@check
def words_left_out_get_nothing(trace: Trace) -> None:
    """After top-k and after top-p, a word that was not kept has the probability 0."""
    for scope in ("top_k", "top_p"):
        lost = trace[f"{scope}.probabilities"][~trace[f"{scope}.kept"]].sum()
        _require(bool(lost == 0), f"{scope}: words that were left out have {lost:.2f} of the probability.")


@check
def kept_words_share_all_the_probability(trace: Trace) -> None:
    """After top-k and after top-p, the probabilities of the words that were kept sum to 1."""
    for scope in ("top_k", "top_p"):
        total = trace[f"{scope}.probabilities"][trace[f"{scope}.kept"]].sum()
        _require(abs(total - 1) < 1e-12, f"{scope}: the words that were kept have {total:.2f} in all, not 1.")


@check
def losses_are_taken_from_the_logits(trace: Trace) -> None:
    """The loss of each row is its target times minus the logarithm of one softmax of the logits."""
    powers = np.exp(trace["logits"])
    surprise = -np.log(powers / powers.sum(axis=-1, keepdims=True))
    expected, losses = np.einsum("nv,nv->n", trace["target_rows"], surprise), trace["losses"]
    _require(_close(losses, expected), f"The losses are {np.round(losses, 2)}, but should be {np.round(expected, 2)}.")


@check
def loss_is_the_mean_over_the_tokens(trace: Trace) -> None:
    """The loss that is reported is the sum of the losses divided by the number of tokens that are not padding."""
    loss, expected = trace["loss.mean"], np.asarray(trace["losses"].sum() / np.count_nonzero(trace["targets"]))
    _require(_close(loss, expected), f"The loss is {loss:.2f}, the mean over the real tokens {expected:.2f}.")


@check
def padding_rows_are_zero(trace: Trace) -> None:
    """Where the target is padding, no word has a share in it."""
    wrong = trace["target_rows"][trace["targets"] == 0].sum()
    _require(bool(wrong == 0), f"The rows of padding are targets as well: they sum to {wrong:.2f}.")


@check
def targets_are_the_next_words(trace: Trace) -> None:
    """The right answer to each word is the word after it."""
    (words, _), (answers,) = trace.axis_labels("x"), trace.axis_labels("targets")
    _require(answers[:-1] == words[1:], f"The words are {words}, but the answers {answers} are not the next words.")


@check
def gradient_agrees_with_finite_differences(trace: Trace) -> None:
    """Nudging a number up and down by a little changes the loss as the gradient says, for every number that has one."""
    loss = "loss.mean" if _has(trace, "loss.mean") else "loss"
    for name in _leaves_with_gradients(trace):
        gradient, slopes = trace[f"{name}_gradient"], _slopes(trace, name, loss)
        apart = np.abs(gradient - slopes).max()
        _require(bool(apart < 1e-8), f"The {name}_gradient is up to {apart:.2f} away from the slopes of the loss.")


@check
def the_step_lowers_the_loss(trace: Trace) -> None:
    """After a step of gradient descent, the loss is smaller than before."""
    before, after = trace["loss.mean"], trace["after.loss.mean"]
    _require(bool(after < before), f"The loss was {before:.2f} before the step and is {after:.2f} after it.")


@check
def every_gradient_has_the_shape_of_its_tensor(trace: Trace) -> None:
    """A gradient holds one slope for each number of the thing that it is the gradient of."""
    for name in _leaves_with_gradients(trace):
        expected, given = trace[name].shape, trace[f"{name}_gradient"].shape
        _require(given == expected, f"{name}_gradient has shape {given}; {name} has {expected}.")


@check
def padding_sends_no_gradient(trace: Trace) -> None:
    """Where the right answer is padding there is nothing to learn: the gradient of these logits is exactly 0."""
    largest = np.abs(trace["logits_gradient"][trace["targets"] == 0]).max(initial=0)
    _require(largest == 0, f"Padding sends back a gradient of up to {largest:.2f}.")


@check
def switched_off_units_pass_nothing_back(trace: Trace) -> None:
    """Where ReLU gave 0 it is flat: no gradient gets through, whatever its sign; elsewhere all of it does."""
    on = trace["hidden"] > 0
    off = np.abs(trace["expanded_gradient"][~on]).max(initial=0)
    _require(off == 0, f"Units that are switched off pass back a gradient of up to {off:.2f}.")
    same = _close(trace["expanded_gradient"][on], trace["hidden_gradient"][on])
    _require(same, "A unit that is switched on does not pass its gradient on unchanged.")


@check
def shifting_a_row_has_no_slope(trace: Trace) -> None:
    """Adding a number to a whole row of x changes no output of a layer norm, so each row of its gradient sums to 0."""
    totals = trace["x_gradient"].sum(axis=-1)
    _require(_close(totals, np.zeros_like(totals)), f"The rows of x_gradient sum to {np.round(totals, 2)}, not to 0.")


@check
def rows_of_the_scores_gradient_sum_to_zero(trace: Trace) -> None:
    """Adding a number to all scores of a query changes no weight, so each row of their gradient sums to 0."""
    totals = trace["scaled_scores_gradient"].sum(axis=-1)
    zero = _close(totals, np.zeros_like(totals))
    _require(zero, f"The rows of scaled_scores_gradient sum to {np.round(totals, 2)}, not to 0.")


def _leaves_with_gradients(trace: Trace) -> list[str]:
    names = [trace.tensors[i].name for i in trace.leaves]
    return [name for name in names if _has(trace, f"{name}_gradient")]


@check
def decoder_starts_from_the_context(trace: Trace) -> None:
    """The decoder's first step receives the context where later steps receive the state before them."""
    first = "decoder.rnn.step_1.joined" if _has(trace, "decoder.rnn.step_1.joined") else "decoder.step_1.joined"
    context = trace["context"]
    _require(_close(trace[first][-len(context) :], context), "The decoder does not start from the context.")


@check
def context_is_the_state_after_the_last_word(trace: Trace) -> None:
    """The context is the encoder's state after the last word that is not padding."""
    n = int((trace["src"] != 0).sum())
    context, last = trace["context"], trace["encoder.rnn.states"][n - 1]
    _require(
        _close(context, last),
        f"The context {np.round(context, 2)} is not the state after word {n}, {np.round(last, 2)}.",
    )


@check
def decoder_reads_the_word_before(trace: Trace) -> None:
    """The decoder reads the start mark and then the target one step late, so never the word that it is to predict."""
    (read,), (answers,) = trace.axis_labels("tgt"), trace.axis_labels("targets")
    _require(read == ["<bos>", *answers[:-1]], f"To predict {' '.join(answers)}, the decoder reads {' '.join(read)}.")


@check
def each_step_reads_the_word_it_wrote(trace: Trace) -> None:
    """Each step of the decoder but the first receives the vector of the word that the step before wrote."""
    table = trace["tgt_embedding.weight"]
    for t in range(1, len(trace["words"])):
        _require(
            _close(trace[f"decoder.step_{t + 1}.x"], table[trace[f"decoder.step_{t}.word"].argmax()]),
            f"Step {t + 1} does not read the word that step {t} wrote.",
        )


@check
def each_word_written_is_the_most_probable(trace: Trace) -> None:
    """At each step the word with the largest logit is written."""
    words, best = trace["words"].argmax(axis=1), trace["all_logits"].argmax(axis=1)
    steps = (np.flatnonzero(words != best) + 1).tolist()
    _require(not steps, f"The word of step {', '.join(map(str, steps))} is not the most probable one.")


@check
def each_word_gets_its_own_row(trace: Trace) -> None:
    """Every word of the sentence gets the row of the table that bears its name."""
    (words,), (names, _) = trace.axis_labels("tokens"), trace.axis_labels("table")
    for word, vector in zip(words, trace["embedding.output"], strict=True):
        found = [name for name, row in zip(names, trace["table"], strict=True) if np.array_equal(row, vector)]
        _require(word in found, f"{word} gets the row of {' or '.join(found) or 'no word'}.")


@check
def a_word_is_as_like_itself_as_can_be(trace: Trace) -> None:
    """The cosine of a word with itself is 1, the largest there is."""
    own = np.diag(trace["cosine"])
    _require(_close(own, np.ones_like(own)), f"A word's cosine with itself is not 1: {np.round(own, 2)}.")


@check
def the_answer_is_not_in_the_question(trace: Trace) -> None:
    """The nearest word that is given as the answer is none of the words that were asked about."""
    names = trace.axis_labels("answer")[1]
    asked, found = set(trace.axis_labels("terms")[0]), names[int(trace["answer"][0].argmax())]
    _require(found not in asked, f"The answer is {found}, which stands in the question.")


@check
def the_second_word_is_taken_away(trace: Trace) -> None:
    """The sum is the first word minus the second plus the third."""
    first, second, third = trace["vectors"][trace["terms"]]
    _require(_close(trace["summed"][0], first - second + third), "The sum is not the first − the second + the third.")


@check
def each_step_receives_the_state_before_it(trace: Trace) -> None:
    """Every step of a recurrent network joins its input with the state that the step before left."""
    for t, before in _steps(trace):
        hidden = trace[_state_name(trace, before, "hidden")]
        _require(
            _close(trace[f"step_{t}.joined"], np.append(trace[f"step_{t}.x"], hidden)),
            f"Step {t} does not receive {np.round(hidden, 2)}, the state before it.",
        )


@check
def last_state_is_that_of_the_last_word(trace: Trace) -> None:
    """The state after a padded sentence is the state after its last word."""
    n, words = len(trace["src"]), int((trace["src"] != 0).sum())
    found, expected = trace[f"step_{n}.held_hidden"], trace[f"step_{words}.hidden"]
    _require(
        _close(found, expected),
        f"The last state {np.round(found, 2)} is not {np.round(expected, 2)}, that after the last word.",
    )


@check
def gates_lie_between_0_and_1(trace: Trace) -> None:
    """A gate lets through a share: nothing, all, or something in between."""
    for tensor in trace.tensors:
        if tensor.name.endswith("_gate"):
            gate = trace[tensor.name]
            _require(bool(((gate >= 0) & (gate <= 1)).all()), f"{tensor.name} is {np.round(gate, 2)}.")


@check
def cell_is_what_the_gates_keep_and_write(trace: Trace) -> None:
    """In an LSTM, c' = f · c + i · g."""
    for t, before in _steps(trace):
        kept = trace[f"step_{t}.forget_gate"] * trace[_state_name(trace, before, "cell")]
        expected = kept + trace[f"step_{t}.input_gate"] * trace[f"step_{t}.candidate"]
        _require(
            _close(trace[f"step_{t}.cell"], expected),
            f"The cell state of step {t} is {np.round(trace[f'step_{t}.cell'], 2)}; the gates keep and write "
            f"{np.round(expected, 2)}.",
        )


@check
def update_gate_of_1_keeps_the_state(trace: Trace) -> None:
    """In a GRU, h' = (1 − z) · n + z · h."""
    for t, before in _steps(trace):
        gate, hidden = trace[f"step_{t}.update_gate"], trace[_state_name(trace, before, "hidden")]
        expected = (1 - gate) * trace[f"step_{t}.candidate"] + gate * hidden
        _require(_close(trace[f"step_{t}.hidden"], expected), f"The state of step {t} is not (1 − z) · n + z · h.")


@check
def reset_gate_acts_after_the_product(trace: Trace) -> None:
    """In torch's GRU, the reset gate multiplies what the state gives after its matrix product, bias included."""
    for t, before in _steps(trace):
        product = trace[_state_name(trace, before, "hidden")] @ trace["candidate.w_h.weight"]
        expected = trace[f"step_{t}.reset_gate"] * (product + trace["candidate.w_h.bias"])
        found = trace[f"step_{t}.from_state"]
        _require(
            _close(found, expected),
            f"In step {t} the state gives {np.round(found, 2)}, not {np.round(expected, 2)}, the gated product.",
        )


@check
def no_probability_sees_a_later_word(trace: Trace) -> None:
    """Changing a word of the target changes no probability before it, not even in the last bit."""
    tokens, probabilities = trace["tgt"], trace["probabilities"]
    words = trace.tensors[trace.find("tgt")].vocabulary
    for t in range(1, len(tokens)):
        other = np.concatenate([tokens[:t], [tokens[t] % (len(words) - 1) + 1], tokens[t + 1 :]])  # never <pad>
        changed = trace.run({"tgt": other})["probabilities"]
        sees = (changed[:t] != probabilities[:t]).any(axis=-1)
        names = ", ".join(words[i] for i in tokens[:t][sees])
        _require(not names, f"{names} can see the word at position {t}, which comes later.")


@check
def the_order_of_the_source_matters(trace: Trace) -> None:
    """The source read backwards gives other probabilities."""
    backwards = trace.run({"src": trace["src"][::-1]})["probabilities"]
    _require(not _close(backwards, trace["probabilities"]), "The source read backwards gives the same probabilities.")


@check
def all_scores_are_divided_by_root_d_k(trace: Trace) -> None:
    """In every attention of the model the scores are divided by the root of the width of one head."""
    for name in trace.values:
        if name.endswith(".scaled_scores"):
            block = name.removesuffix(".attention.scaled_scores")
            width = trace[f"{block}.query_heads"].shape[-1]
            right = _close(trace[name], trace[f"{block}.attention.scores"] / width**0.5)
            _require(right, f"In {block} the scores are not divided by √d_k.")


@check
def the_memory_is_what_the_encoder_returns(trace: Trace) -> None:
    """Keys and values of the cross-attention are made from the last output of the encoder, the memory."""
    block, last = "decoder.layers.0.cross_attention", "encoder.layers.0.feed_forward_norm.output"
    memory = trace["memory" if _has(trace, "memory") else last]
    for role in ("key", "value"):
        weight, bias = (trace[f"{block}.w_{role[0]}.{kind}"] for kind in ("weight", "bias"))
        expected = np.einsum("nd,dk->nk", memory, weight) + bias
        right = _close(trace[f"{block}.projected_{role}"], expected)
        _require(right, f"The {role} of the cross-attention is not made from the output of the encoder.")


@check
def the_input_is_one_step_behind(trace: Trace) -> None:
    """What the decoder reads is the target without its last token, what it is to answer is without the first."""
    target, read, answers = (trace[name] for name in ("target", "tgt_in", "tgt_out"))
    fits = np.array_equal(read, target[..., :-1]) and np.array_equal(answers, target[..., 1:])
    _require(fits, f"The decoder reads {read[-1]} and is to answer {answers[-1]}; the target is {target[-1]}.")


@check
def the_way_around_is_added(trace: Trace) -> None:
    """What went into a sub-layer is added to what comes out of it."""
    for way_in, found, total in _sublayers(trace):
        _require(_close(trace[total], trace[way_in] + trace[found]), f"{total} is not {way_in} plus {found}.")


@check
def each_row_has_its_own_mean(trace: Trace) -> None:
    """A layer norm takes the mean of each row over its columns."""
    for scope, x in _norms(trace):
        given, expected = trace[f"{scope}.mean"], x.mean(axis=-1, keepdims=True)
        _require(_close(given, expected), f"{scope}: the mean {given.shape} is not that of each row {expected.shape}.")


@check
def variance_divides_by_the_width(trace: Trace) -> None:
    """The variance of a row is the mean of its squares: their sum divided by their number."""
    for scope, x in _norms(trace):
        expected = x.var(axis=-1, keepdims=True)
        _require(_close(trace[f"{scope}.variance"], expected), f"{scope}: the squares are not divided by the width.")


@check
def normalised_rows_have_variance_one(trace: Trace) -> None:
    """After the division each row has variance 1, but for what eps takes off."""
    for scope, x in _norms(trace):
        variance = x.var(axis=-1)
        given = trace[f"{scope}.normalised"].var(axis=-1)
        _require(
            _close(given, variance / (variance + 1e-5)),
            f"{scope}: the rows have the variances {given.round(2)}, not 1.",
        )


@check
def each_sum_is_normalised(trace: Trace) -> None:
    """With post-norm, what leaves a sub-layer is the norm of the sum."""
    for way_in, found, total in _sublayers(trace):
        name = total.replace("residual", "norm")
        _require(_is_norm(trace, name, trace[way_in] + trace[found]), f"{name} is not the norm of {way_in} + {found}.")


@check
def the_last_sum_is_normalised(trace: Trace) -> None:
    """With pre-norm, a norm stands at the end of the stack."""
    last = trace["layers.0.feed_forward_residual"]
    _require(_is_norm(trace, "norm", last), "What leaves the stack is not the norm of the last sum.")


@check
def words_are_multiplied_by_root_d_model(trace: Trace) -> None:
    """On both sides, the rows of the table are multiplied by √d_model before positions are added."""
    for side in ("src", "tgt"):
        row, scaled = trace[f"{side}_input.embedded"], trace[f"{side}_input.scaled"]
        factor, root = np.abs(scaled).max() / np.abs(row).max(), row.shape[-1] ** 0.5
        _require(_close(scaled, row * root), f"{side}: the words are multiplied by {factor:.2f}, not by {root:.2f}.")


@check
def every_row_knows_its_place(trace: Trace) -> None:
    """On both sides, what is added to row pos are sine and cosine of pos / 10000^(2i/d_model)."""
    for side in ("src", "tgt"):
        scaled, placed = trace[f"{side}_input.scaled"], trace[f"{side}_input.with_positions"]
        n, width = scaled.shape
        columns = np.arange(width)
        angles = np.arange(n)[:, None] / 10000 ** (columns // 2 * 2 / width)
        expected = np.where(columns % 2, np.cos(angles), np.sin(angles))
        _require(_close(placed, scaled + expected), f"{side}: what is added to the words is not their positions.")


@check
def each_side_looks_up_in_its_own_table(trace: Trace) -> None:
    """Every word gets the row that bears its name, in the table of its own language."""
    for side in ("src", "tgt"):
        (words,), (names, _) = trace.axis_labels(side), trace.axis_labels(f"{side}_embedding.weight")
        for word, row in zip(words, trace[f"{side}_input.embedded"], strict=True):
            own = trace[f"{side}_embedding.weight"][names.index(word)]
            _require(_close(row, own), f"{word} does not get the row of {word}.")


@check
def the_mask_shows_all_words_and_no_padding(trace: Trace) -> None:
    """The mask is true where the id is not that of padding, 0."""
    allowed, real = trace["src_mask"][..., 0, :], trace["src"] != 0
    wrong = np.argwhere(allowed != real).tolist()
    _require(not wrong, f"The mask takes padding for words or words for padding, in sentence and place {wrong}.")


@check
def the_newest_word_sees_the_cache_and_itself(trace: Trace) -> None:
    """One step with a cache is attention of the newest row to all keys so far, its own the last, and their values."""
    x, params = trace["x"][-1:], [trace[f"w_{letter}.weight"] for letter in "qkv"]
    query, new_key, new_value = (x @ weight for weight in params)
    key, value = np.vstack([trace["cache.key"], new_key]), np.vstack([trace["cache.value"], new_value])
    shares = np.exp(query @ key.T / query.shape[-1] ** 0.5)
    _require(
        trace["weights"].shape == shares.shape and _close(trace["weights"], shares / shares.sum()),
        "The weights are not those of the newest word over the words in the cache and itself.",
    )
    _require(
        _close(trace["output"], shares / shares.sum() @ value),
        "The weights are right, but they do not fetch the values of the words that they belong to.",
    )


@check
def links_are_read_where_the_word_is_written(trace: Trace) -> None:
    """Whoever writes a word looks at what it translates: here nearly every best column is a possible link."""
    found = trace["possible_found"] / trace["number_of_links"]
    _require(
        found > 0.5,
        f"Only {found:.0%} of the links are possible ones, and the others lie one word too far: the rows are those of "
        "words that were read, not of words that are written.",
    )


@check
def possible_links_may_be_left_out(trace: Trace) -> None:
    """An alignment error asks for the sure links only, so drawing exactly these would be perfect."""
    wanted = trace["links"].sum() + trace["sure"].sum()
    _require(
        bool(np.isclose(trace["wanted"], wanted)),
        f"{trace['wanted']:g} links are asked for, {wanted:g} should be: all that were found and all sure ones.",
    )


@check
def the_lens_reads_as_the_model_does(trace: Trace) -> None:
    """At each depth the stream goes through the last norm and the output layer, as it does at the end."""
    table = trace["tgt_embedding.weight"]
    names = [f"stream_{k}" for k in range(3)]
    for name, depth in zip(names, ("embedding", "self_attention", "cross_attention"), strict=True):
        centred = trace[name] - trace[name].mean(axis=-1, keepdims=True)
        normal = centred / (np.mean(centred**2, axis=-1, keepdims=True) + 1e-5) ** 0.5
        expected = (normal * trace["norm.gain"] + trace["norm.bias"]) @ table.T + trace["output.bias"]
        words = trace.axis_labels(f"{depth}.logits")[1]
        said, right = ([words[i] for i in x.argmax(axis=-1)] for x in (trace[f"{depth}.logits"], expected))
        _require(
            _close(trace[f"{depth}.logits"], expected),
            f"After {depth.replace('_', ' ')} the lens says {' '.join(said)}; the output layer of the model would read "
            f"{' '.join(right)}.",
        )


@check
def a_mean_counts_words_only(trace: Trace) -> None:
    """The mean weight is taken over the words of the batch, not over its padding."""
    words = trace["is_word"] == 1
    expected = (trace["weights"] * trace["links"]).sum(axis=-1)[words].mean()
    _require(
        bool(np.isclose(trace["mean_weight"], expected)),
        f"The mean is {trace['mean_weight']:.2f}; over the {words.sum()} words alone it is {expected:.2f}.",
    )


@check
def each_answer_is_read_one_step_later(trace: Trace) -> None:
    """Wherever the decoder reads a word that was an answer, it was the answer of the place before."""
    read, answers = trace["tgt_in"], trace["tgt_out"]
    later = read[1:] != 0
    fits = read.shape == answers.shape and np.array_equal(read[1:][later], answers[:-1][later])
    (words,), (next_words,) = trace.axis_labels("tgt_in"), trace.axis_labels("tgt_out")
    _require(fits, f"The decoder reads {' '.join(words)} and is to answer {' '.join(next_words)}.")


@check
def every_word_counts_once_and_padding_not(trace: Trace) -> None:
    """The loss is the mean over the answers that are words, and what is read at padding learns nothing."""
    losses, real = trace["loss.losses"], trace["tgt_out"] != 0
    loss, expected = trace["loss.mean"], losses[real].mean()
    _require(
        bool(np.isclose(loss, expected)) and not losses[~real].any(),
        f"The loss is {loss:.2f}, the mean over {real.sum()} words {expected:.2f}; padding costs "
        f"{losses[~real].sum():.2f}.",
    )


@check
def a_steady_gradient_moves_by_the_rate(trace: Trace) -> None:
    """A weight whose gradient stays the same moves by the learning rate in each step, however large the gradient is."""
    steady = (trace["gradients"] == trace["gradients"][0]).all(axis=0)
    for k in range(len(trace["gradients"])):
        steps = np.abs(trace[f"step_{k + 1}.adam.step"][steady])
        right = bool(np.allclose(steps, trace["rate"], rtol=1e-6))
        _require(right, f"Step {k + 1} moves steady weights by {steps.round(3)}; the rate is {trace['rate']:g}.")


@check
def the_rate_is_highest_at_the_end_of_warm_up(trace: Trace) -> None:
    """The rate has its peak at step = warmup, and there it is one divided by the root of d_model times warmup."""
    rate, warmup = trace["rate"], trace["warmup"]
    peak, at = 1 / np.sqrt(trace["d_model"] * warmup), trace["step"][rate.argmax()]
    fits = at == warmup and np.isclose(rate.max(), peak)
    _require(bool(fits), f"The highest rate is {rate.max():.3f} at step {at:g}, not {peak:.3f} at step {warmup:g}.")


@check
def the_gradient_is_that_of_the_whole_batch(trace: Trace) -> None:
    """However the batch is shared, the step is taken by the mean gradient over all of its words."""
    x, wanted = (np.vstack([trace[f"worker_{k}.{name}"] for k in (1, 2)]) for name in ("x", "wanted"))
    expected = np.einsum("nf,nk->fk", x, x @ trace["weight"] - wanted) / len(x)
    found = trace["all_reduce.gradient"]
    _require(
        _close(found, expected),
        f"The gradient of being is {np.round(found[0], 2)}; that of the whole batch is {np.round(expected[0], 2)}.",
    )


@check
def the_devices_give_the_undivided_network(trace: Trace) -> None:
    """What the devices add up to is the feed-forward network with all hidden units in one place."""
    parts = {name: [trace[f"device_{k}.{name}"] for k in (1, 2)] for name in ("w_1.weight", "w_1.bias", "w_2.weight")}
    hidden = np.maximum(0, trace["x"] @ np.hstack(parts["w_1.weight"]) + np.hstack(parts["w_1.bias"]))
    expected = hidden @ np.vstack(parts["w_2.weight"]) + trace["w_2.bias"]
    too_much = trace["all_reduce.output"] - expected
    _require(
        _close(trace["all_reduce.output"], expected),
        f"The output is off by {np.round(too_much[0], 2)} for the first word: what is added once was added twice.",
    )


@check
def tiles_give_the_attention_over_all_keys(trace: Trace) -> None:
    """Read in tiles or at once, attention is the same average of the values."""
    key, value = (np.vstack([trace[f"tile_{k}.{name}"] for k in (1, 2, 3)]) for name in ("key", "value"))
    shares = np.exp(trace["query"] @ key.T / trace["query"].shape[-1] ** 0.5)
    expected = shares / shares.sum(axis=-1, keepdims=True) @ value
    wrong = np.abs(trace["output"] - expected).max(axis=-1) > 1e-12
    (words, _) = trace.axis_labels("query")
    _require(
        not wrong.any(), f"The output of {', '.join(np.array(words)[wrong])} is not that of attention over all keys."
    )


@check
def the_gate_is_the_first_matrix(trace: Trace) -> None:
    """SwiGLU opens by x · w_1, through SiLU, and lets x · w_3 pass."""
    gate = trace["x"] @ trace["w_1.weight"]
    expected = gate / (1 + np.exp(-gate)) * (trace["x"] @ trace["w_3.weight"])
    _require(_close(trace["hidden"], expected), "The hidden units are not silu(x · w_1) times x · w_3.")


@check
def each_group_has_its_own_keys(trace: Trace) -> None:
    """Head h of n asks the keys of group h // (heads of a group)."""
    weights = trace["attention.weights"]
    n_groups, per_group = weights.shape[:2]
    query, key = (trace["x"] @ trace[f"w_{r}.weight"] + trace[f"w_{r}.bias"] for r in "qk")
    width = query.shape[-1] // (n_groups * per_group)
    for head in range(n_groups * per_group):
        group = head // per_group
        own, keys = query[:, head * width :][:, :width], key[:, group * width :][:, :width]
        shares = np.exp(own @ keys.T / width**0.5)
        _require(
            _close(weights[group, head % per_group], shares / shares.sum(axis=-1, keepdims=True)),
            f"Head {head % per_group} of group {group} does not attend to the keys of its group.",
        )


@check
def the_gap_sees_both_sides(trace: Trace) -> None:
    """In an encoder the missing word is asked of all words, those after it too."""
    (words,) = trace.axis_labels("src")
    gap = words.index("<mask>")
    later = trace["self_attention.attention.weights"][gap, gap + 1 :]
    _require(bool((later > 0).all()), f"The gap gives {', '.join(words[gap + 1 :])} no weight: it can not see them.")


def _sublayers(trace: Trace) -> list[tuple[str, str, str]]:
    """For each sub-layer: the names of what goes in, of what it finds, and of their sum."""
    names = [trace.tensors[step.output].name for step in trace.steps]
    if not _has(trace, "feed_forward_residual"):
        totals = ["x", *(name for name in names if name.endswith(".residual"))]
        return [(before, total.replace("residual", "found"), total) for before, total in itertools.pairwise(totals)]
    scope = next(name for name in names if name.endswith("self_attention_residual"))
    scope = scope.removesuffix("self_attention_residual")
    norm_first = names.index(f"{scope}self_attention_norm.mean") < names.index(f"{scope}self_attention.projected_query")
    between = "self_attention_residual" if norm_first else "self_attention_norm.output"
    return [
        ("x", f"{scope}self_attention.output", f"{scope}self_attention_residual"),
        (f"{scope}{between}", f"{scope}feed_forward.output", f"{scope}feed_forward_residual"),
    ]


def _norms(trace: Trace) -> list[tuple[str, np.ndarray]]:
    """For each layer norm of the program: its scope, and what goes in."""
    named = [(trace.tensors[step.output].name, step) for step in trace.steps]
    return [(step.scope, trace.arrays[step.inputs[0]]) for name, step in named if name.endswith(".centred")]


def _is_norm(trace: Trace, scope: str, x: np.ndarray) -> bool:
    centred = x - x.mean(axis=-1, keepdims=True)
    normalised = centred / (np.mean(centred**2, axis=-1, keepdims=True) + 1e-5) ** 0.5
    return _close(trace[f"{scope}.output"], normalised * trace[f"{scope}.gain"] + trace[f"{scope}.bias"])


def _steps(trace: Trace) -> list[tuple[int, int]]:
    """The number of each step of a recurrent network and of the one before it, 0 before the first."""
    n = sum(re.search(r"(^|\.)step_\d+\.joined$", tensor.name) is not None for tensor in trace.tensors)
    return [(t, t - 1) for t in range(1, n + 1)]


def _state_name(trace: Trace, step: int, kind: str) -> str:
    held = f"step_{step}.held_{kind}"
    return f"{kind}_0" if step == 0 else held if _has(trace, held) else f"step_{step}.{kind}"


def _slopes(trace: Trace, leaf: str, result: str, nudge: float = 1e-5) -> np.ndarray:
    """The derivative of one number of a program with respect to each cell of a leaf, by central differences."""
    slopes = np.zeros(trace[leaf].shape)
    for cell in np.ndindex(slopes.shape):
        ends = []
        for step in (nudge, -nudge):
            moved = trace[leaf].copy()
            moved[cell] += step
            ends.append(trace.run({leaf: moved})[result])
        slopes[cell] = (ends[0] - ends[1]) / (2 * nudge)
    return slopes


def _has(trace: Trace, name: str) -> bool:
    return any(f".{tensor.name}".endswith(f".{name}") for tensor in trace.tensors)


def _visible(trace: Trace) -> np.ndarray:
    shape = trace["weights"].shape
    return np.broadcast_to(trace["src"] != 0, shape) if _has(trace, "src") else np.ones(shape, dtype=bool)
