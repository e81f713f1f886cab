"""Checks that a recorded program must pass. The tests run them, and each break-it switch names the one that catches it.

Each takes a trace, compares it with plain NumPy that shares no code with the ops, and raises AssertionError with a
message for the reader.
"""

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
    wasted = trace["weights"][..., trace["src"] == 0]
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
def targets_are_the_next_words(trace: Trace) -> None:
    """The right answer to each word is the word after it."""
    (words, _), (answers,) = trace.axis_labels("x"), trace.axis_labels("targets")
    _require(answers[:-1] == words[1:], f"The words are {words}, but the answers {answers} are not the next words.")


@check
def gradient_agrees_with_finite_differences(trace: Trace) -> None:
    """Nudging a weight up and down by a little changes the loss as the gradient says, for every weight and bias."""
    for name in ("weight", "bias"):
        gradient, slopes = trace[f"{name}_gradient"], _slopes(trace, name, "loss.mean")
        apart = np.abs(gradient - slopes).max()
        _require(bool(apart < 1e-8), f"The {name}_gradient is up to {apart:.2f} away from the slopes of the loss.")


@check
def the_step_lowers_the_loss(trace: Trace) -> None:
    """After a step of gradient descent, the loss is smaller than before."""
    before, after = trace["loss.mean"], trace["after.loss.mean"]
    _require(bool(after < before), f"The loss was {before:.2f} before the step and is {after:.2f} after it.")


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
