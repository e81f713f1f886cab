"""Write tests/golden/*.json: programs with the results they must have, computed by torch and not by the recorder.

    python scripts/make_golden.py

Each file holds one program, and runs of it: what is overridden, and what must come out. The tests let Python and the
player's engine run them. Inputs are rounded to three decimals, results to twelve, so the files are the same on every
computer.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stepformer import examples, leaf, nn, ops, record
from stepformer.params import from_arrays
from stepformer.reference.multi_head_attention import multi_head_attention as recorded_multi_head_attention
from stepformer.trace import Trace

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden"
Arrays = Mapping[str, np.ndarray]
Results = dict[str, torch.Tensor]


# ---- what must come out: plain formulas on the leaves of a program ------------------------------------------------


def attend(scores: torch.Tensor, value: torch.Tensor, allowed: torch.Tensor | None = None) -> Results:
    """Weights and output from scores; a query that may attend to nothing gets zeros."""
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    weights = scores.softmax(dim=-1).nan_to_num(0.0)
    return {"weights": weights, "output": weights @ value}


def named(scope: str, results: Results) -> Results:
    return {f"{scope}.{name}": x for name, x in results.items()}


def attention(leaves: Mapping[str, torch.Tensor]) -> Results:
    query, key, value = leaves["query"], leaves["key"], leaves["value"]
    allowed = (leaves["src"] != 0)[None, :] if "src" in leaves else None
    scores = query @ key.T / query.shape[-1] ** 0.5 / leaves.get("temperature", 1.0)
    return named("attention", attend(scores, value, allowed))


def attention_over_words(leaves: Mapping[str, torch.Tensor]) -> Results:
    looked_up = {"key": leaves["key_table"][leaves["src"]], "value": leaves["value_table"][leaves["src"]]}
    return attention({"query": leaves["query"], "src": leaves["src"], **looked_up})


def attention_from_states(leaves: Mapping[str, torch.Tensor]) -> Results:
    query = leaves["decoder_states"] @ leaves["w_query"]
    key, value = (leaves["encoder_states"] @ leaves[f"w_{role}"] for role in ("key", "value"))
    return attention({"query": query, "key": key, "value": value})


def additive_attention(leaves: Mapping[str, torch.Tensor]) -> Results:
    pairs = (leaves["query"] @ leaves["w_query"])[:, None] + (leaves["key"] @ leaves["w_key"])[None, :]
    scores = torch.einsum("qku,u->qk", pairs.tanh(), leaves["w_score"])
    return named("additive_attention", attend(scores, leaves["value"]))


def multi_head_attention(leaves: Mapping[str, torch.Tensor], causal: bool = True) -> Results:
    """The module of torch itself, with our weights and the opposite mask."""
    x = leaves["x"]
    module = torch.nn.MultiheadAttention(x.shape[-1], 2, dtype=x.dtype)
    module.load_state_dict(
        {
            "in_proj_weight": torch.cat([leaves[f"w_{r}.weight"].T for r in "qkv"]),
            "in_proj_bias": torch.cat([leaves[f"w_{r}.bias"] for r in "qkv"]),
            "out_proj.weight": leaves["w_o.weight"].T,
            "out_proj.bias": leaves["w_o.bias"],
        }
    )
    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1) if causal else None
    output, weights = module(x, x, x, attn_mask=later, average_attn_weights=False)
    return {"multi_head_attention.attention.weights": weights, "multi_head_attention.output": output}


def two_heads(leaves: Mapping[str, torch.Tensor]) -> Results:
    x = leaves["word_vectors"][leaves["src"]]
    return multi_head_attention({**leaves, "x": x + leaves["places"][: len(x)]}, causal=False)


def self_attention(leaves: Mapping[str, torch.Tensor]) -> Results:
    """Every word asks every word; the target is masked against the future."""
    tokens = leaves["tgt"] if "tgt" in leaves else leaves["src"]
    x = leaves["word_vectors"][tokens]
    query, key, value = (x @ leaves[f"w_{role}.weight"] for role in "qkv")
    allowed = torch.ones(len(x), len(x), dtype=torch.bool).tril() if "tgt" in leaves else None
    results = attend(query @ key.T / query.shape[-1] ** 0.5, value, allowed)
    return named("self_attention.attention", results)


def padded_self_attention(leaves: Mapping[str, torch.Tensor]) -> Results:
    """The words that are padding are left out of the keys and values altogether; their weights are 0."""
    x, words = leaves["word_vectors"][leaves["src"]], leaves["src"] != 0
    query, key, value = (x @ leaves[f"w_{role}.weight"] for role in "qkv")
    among_words = attend(query @ key[words].T / query.shape[-1] ** 0.5, value[words])
    weights = torch.zeros(len(x), len(x), dtype=x.dtype)
    weights[:, words] = among_words["weights"]
    return named("self_attention.attention", {"weights": weights, "output": among_words["output"]})


def torchs_own(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, allowed: torch.Tensor | None) -> Results:
    """Attention by torch's function; with an identity matrix for values, what comes out are the weights."""
    attend = torch.nn.functional.scaled_dot_product_attention
    each_key = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], -1)
    return {"weights": attend(query, key, each_key, allowed), "output": attend(query, key, value, allowed)}


def cross_attention(leaves: Mapping[str, torch.Tensor], masked: bool = False) -> Results:
    x, memory = leaves["x_table"][leaves["tgt"]], leaves["memory_table"][leaves["src"]]
    allowed = (leaves["src"] != 0).unsqueeze(-2).expand(*x.shape[:-1], -1) if masked else None
    projected = (side @ leaves[f"w_{role}.weight"] for side, role in ((x, "q"), (memory, "k"), (memory, "v")))
    return named("cross_attention.attention", torchs_own(*projected, allowed))


def easy_course(leaves: Mapping[str, torch.Tensor]) -> Results:
    key, value = leaves["key_table"][leaves["src"]], leaves["value_table"][leaves["src"]]
    return named("attention", torchs_own(leaves["query"], key, value, None))


def turns(n: int, d: int) -> torch.Tensor:
    """(n, d / 2) complex numbers on the unit circle: how far each pair of columns has turned at each position."""
    frequencies = torch.exp(-torch.arange(0, d, 2, dtype=torch.float64) / d * torch.log(torch.tensor(1e4).double()))
    return torch.exp(1j * torch.outer(torch.arange(n).double(), frequencies))


def scaled_words(leaves: Mapping[str, torch.Tensor]) -> torch.Tensor:
    table = leaves["word_vectors"]
    return table[leaves["src"]] * table.shape[-1] ** 0.5


def with_sinusoids(x: torch.Tensor) -> Results:
    around = turns(*x.shape[-2:])
    table = torch.stack([around.imag, around.real], dim=-1).flatten(-2)[:, : x.shape[-1]]
    return {"positions": table, "with_positions": x + table}


def target_input(leaves: Mapping[str, torch.Tensor]) -> Results:
    table = leaves["tgt_embedding.weight"]
    scaled = table[leaves["tgt"]] * table.shape[-1] ** 0.5
    return named("tgt_input", {"scaled": scaled, **with_sinusoids(scaled)})


def attention_with_positions(leaves: Mapping[str, torch.Tensor]) -> Results:
    x = with_sinusoids(scaled_words(leaves))["with_positions"]
    query, key, value = (x @ leaves[f"w_{role}.weight"] for role in "qkv")
    return named("self_attention.attention", attend(query @ key.T / query.shape[-1] ** 0.5, value))


def learned_positions(leaves: Mapping[str, torch.Tensor]) -> Results:
    x, table = scaled_words(leaves), leaves["position_table"]
    return {"positions": table[: len(x)], "with_positions": x + table[: len(x)]}


def rotary_positions(leaves: Mapping[str, torch.Tensor]) -> Results:
    """A pair of columns is one complex number; a dot product is the real part of one times the other's mirror image."""
    query, key = (torch.view_as_complex(leaves[name])[:, None] for name in ("query", "key"))
    query, key = query * turns(len(query), 2), key * turns(len(key), 2)
    return {"rotated_query": torch.view_as_real(query[:, 0]), "scores": (query * key.conj().T).real}


def look_up(leaves: Mapping[str, torch.Tensor]) -> Results:
    rows = torch.nn.functional.embedding(leaves["tokens"], leaves["table"])
    return {"embedding.product": rows, "embedding.output": rows}


def cosine_similarity(leaves: Mapping[str, torch.Tensor]) -> Results:
    x = leaves["vectors"]
    cosine = torch.nn.functional.cosine_similarity(x[:, None], x[None], dim=-1)
    return {"lengths": torch.linalg.vector_norm(x, dim=-1, keepdim=True), "cosine": cosine}


def analogy(leaves: Mapping[str, torch.Tensor]) -> Results:
    table = leaves["vectors"]
    summed = leaves["signs"] @ table[leaves["terms"]]
    cosine = torch.nn.functional.cosine_similarity(summed, table)
    answer = cosine.masked_fill(~leaves["may_answer"][0], -2).argmax()
    return {"cosine": cosine[None], "answer": torch.nn.functional.one_hot(answer, len(table))[None].to(table.dtype)}


def feed_forward(leaves: Mapping[str, torch.Tensor]) -> Results:
    hidden = torch.relu(torch.addmm(leaves["w_1.bias"], leaves["word_vectors"][leaves["src"]], leaves["w_1.weight"]))
    output = torch.addmm(leaves["w_2.bias"], hidden, leaves["w_2.weight"])
    return named("feed_forward", {"hidden": hidden, "output": output})


def convolution(leaves: Mapping[str, torch.Tensor], before: int) -> Results:
    columns = torch.nn.functional.pad(leaves["word_vectors"][leaves["src"]].T, (before, 2 - before))
    output = torch.nn.functional.conv1d(columns, leaves["weight"].permute(2, 1, 0), leaves["bias"]).T
    return {"convolution.output": output, "found": output.relu()}


def edges_and_corners(leaves: Mapping[str, torch.Tensor]) -> Results:
    edges = torch.nn.functional.conv2d(leaves["image"], leaves["edge_kernels"], leaves["edge_bias"]).relu()
    corners = torch.nn.functional.conv2d(edges, leaves["corner_kernels"], leaves["corner_bias"]).relu()
    return {"layer_1.edges": edges, "layer_2.corners": corners}


def next_word(leaves: Mapping[str, torch.Tensor]) -> Results:
    logits = torch.nn.functional.linear(leaves["x"], leaves["weight"].T, leaves["bias"])
    loss = torch.nn.functional.cross_entropy(logits, leaves["targets"])
    return {"probabilities": logits.softmax(dim=-1), "loss.mean": loss}


def gradient_step(leaves: Mapping[str, torch.Tensor]) -> Results:
    """The gradient is autograd's, the step that of torch's own optimiser."""
    params = {name: leaves[name].clone().requires_grad_() for name in ("weight", "bias")}
    optimiser = torch.optim.SGD(params.values(), lr=float(leaves["learning_rate"]))
    next_word({**leaves, **params})["loss.mean"].backward()
    optimiser.step()
    return {"step.new_weight": params["weight"], "after.loss.mean": next_word({**leaves, **params})["loss.mean"]}


def backward(formula: Callable[..., torch.Tensor], **of: str) -> Callable[[Mapping[str, torch.Tensor]], Results]:
    """Autograd's gradients of a loss with respect to some leaves; `of` names those in each scope of the program."""
    wanted = {f"{scope}.{name.split('.')[-1]}_gradient": name for scope, names in of.items() for name in names.split()}

    def results(leaves: Mapping[str, torch.Tensor]) -> Results:
        nudged = {name: leaves[name].clone().requires_grad_() for name in wanted.values()}
        gradients = torch.autograd.grad(formula({**leaves, **nudged}), list(nudged.values()))
        return dict(zip(wanted, gradients, strict=True))

    return results


def loss_over_words(leaves: Mapping[str, torch.Tensor]) -> torch.Tensor:
    logits = torch.nn.functional.linear(leaves["x"], leaves["weight"].T, leaves["bias"])
    return torch.nn.functional.cross_entropy(logits, leaves["targets"], ignore_index=0)


def loss_of_feed_forward(leaves: Mapping[str, torch.Tensor]) -> torch.Tensor:
    hidden = torch.relu(leaves["x"] @ leaves["w_1.weight"] + leaves["w_1.bias"])
    return ((hidden @ leaves["w_2.weight"] + leaves["w_2.bias"]) * leaves["output_gradient"]).sum()


def loss_of_layer_norm(leaves: Mapping[str, torch.Tensor]) -> torch.Tensor:
    x, gain, bias = leaves["x"], leaves["gain"], leaves["bias"]
    return (torch.nn.functional.layer_norm(x, gain.shape, gain, bias) * leaves["output_gradient"]).sum()


def loss_of_attention(leaves: Mapping[str, torch.Tensor]) -> torch.Tensor:
    words = (leaves["src"] != 0)[None, :]
    output = torchs_own(leaves["query"], leaves["key"], leaves["value"], words.expand(len(leaves["query"]), -1))
    return (output["output"] * leaves["output_gradient"]).sum()


def output(leaves: Mapping[str, torch.Tensor]) -> Results:
    """As in torch, where tying needs no transpose: the table is the weight of the linear layer."""
    table = leaves["tgt_embedding.weight"]
    logits = torch.nn.functional.linear(leaves["x"], table, leaves["output.bias"])
    return {"logits": logits, "probabilities": logits.softmax(dim=-1)}


def sampling(leaves: Mapping[str, torch.Tensor]) -> Results:
    """The words in the order of their probability; the first k of them, and the first that reach p."""
    logits = leaves["logits"] / leaves["temperature"]
    ranked, order = logits.softmax(dim=-1).sort(descending=True, stable=True)
    first = {
        "top_k": torch.arange(len(ranked)) < leaves["k"],
        "top_p": ranked.cumsum(dim=-1).roll(1).index_fill(0, torch.tensor([0]), 0.0) < leaves["p"],
    }
    results = {"probabilities": logits.softmax(dim=-1)}
    for name, kept in first.items():
        shares = torch.where(kept, ranked, 0.0)
        results[f"{name}.probabilities"] = torch.zeros_like(ranked).index_put((order,), shares / shares.sum())
    return results


def loss_over_tokens(leaves: Mapping[str, torch.Tensor]) -> Results:
    given = leaves["logits"], leaves["targets"]
    options = {"ignore_index": 0, "label_smoothing": float(leaves.get("smoothing", 0.0))}
    loss = torch.nn.functional.cross_entropy(*given, **options)
    results = {"loss.losses": torch.nn.functional.cross_entropy(*given, **options, reduction="none"), "loss.mean": loss}
    return results if "smoothing" in leaves else {**results, "perplexity": loss.exp()}


def recurrent(
    kind: str, gates: tuple[str, ...], padded: bool = False
) -> Callable[[Mapping[str, torch.Tensor]], Results]:
    """The network of torch with our gates stacked in its order; padding is cut off before it reads."""

    def formula(leaves: Mapping[str, torch.Tensor]) -> Results:
        x = leaves["word_vectors"][leaves["src"]]
        words = int((leaves["src"] != 0).sum()) if padded else len(x)
        d_in, d = x.shape[-1], len(leaves["hidden_0"])
        module = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind](d_in, d, dtype=x.dtype)

        def parts(gate: str) -> tuple[torch.Tensor, ...]:
            if f"{gate}w_x.weight" in leaves:
                names = ("w_x.weight", "w_h.weight", "w_x.bias", "w_h.bias")
                halves = (leaves[f"{gate}{name}"] for name in names)
                return tuple(x.T if x.ndim == 2 else x for x in halves)
            weight, bias = leaves[f"{gate}weight"], leaves[f"{gate}bias"]
            return weight[:d_in].T, weight[d_in:].T, bias, torch.zeros_like(bias)

        stacks = [torch.cat(part) for part in zip(*map(parts, gates), strict=True)]
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        module.load_state_dict(dict(zip(names, stacks, strict=True)))
        start = [leaves[name][None] for name in ("hidden_0", "cell_0") if name in leaves]
        states = module(x[:words], tuple(start) if kind == "lstm" else start[0])[0]
        if padded:
            filled = torch.cat([states, torch.zeros(len(x) - words, d, dtype=x.dtype)])
            return {"rnn.visible_states": filled, f"rnn.step_{len(x)}.held_hidden": states[-1]}
        results = {f"{kind}.states": states, f"{kind}.step_{words}.hidden": states[-1]}
        if "say.weight" in leaves:
            results["says"] = (states @ leaves["say.weight"] + leaves["say.bias"]).softmax(dim=-1)
        return results

    return formula


def torchs_layer(
    leaves: Mapping[str, torch.Tensor], kind: type, path: str, attentions: Mapping[str, str]
) -> torch.nn.Module:
    """A layer of torch's own with our parameters; `attentions` are our names of its attentions and torch's."""
    state = {}
    for ours, theirs in attentions.items():
        for part, turned in (("weight", True), ("bias", False)):
            w = {r: leaves[f"{path}.{ours}.w_{r}.{part}"] for r in "qkvo"}
            w = {r: x.T if turned else x for r, x in w.items()}
            state[f"{theirs}.in_proj_{part}"] = torch.cat([w[r] for r in "qkv"])
            state[f"{theirs}.out_proj.{part}"] = w["o"]
    for k in (1, 2):
        state[f"linear{k}.weight"] = leaves[f"{path}.feed_forward.w_{k}.weight"].T
        state[f"linear{k}.bias"] = leaves[f"{path}.feed_forward.w_{k}.bias"]
    for k, name in enumerate([*attentions, "feed_forward"], start=1):
        state[f"norm{k}.weight"] = leaves[f"{path}.{name}_norm.gain"]
        state[f"norm{k}.bias"] = leaves[f"{path}.{name}_norm.bias"]
    module = kind(10, 2, 14, dropout=0.0, batch_first=True, dtype=torch.float64)
    module.load_state_dict(state)
    return module


def next_words(leaves: Mapping[str, torch.Tensor], memory: torch.Tensor) -> Results:
    """From the target and the memory to probabilities: torch's layer between our table and our output layer."""
    src, tgt = leaves["src"], leaves["tgt"]
    x = with_sinusoids(leaves["tgt_embedding.weight"][tgt] * 10**0.5)["with_positions"][None]
    attentions = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}
    decoder = torchs_layer(leaves, torch.nn.TransformerDecoderLayer, "decoder.layers.0", attentions)
    later = torch.ones(len(tgt), len(tgt), dtype=torch.bool).triu(1)
    hidden = {"tgt_key_padding_mask": (tgt == 0)[None], "memory_key_padding_mask": (src == 0)[None]}
    logits = decoder(x, memory[None], tgt_mask=later, **hidden)[0] @ leaves["output.weight"] + leaves["output.bias"]
    return {"logits": logits, "probabilities": logits.softmax(dim=-1)}


def transformer(leaves: Mapping[str, torch.Tensor]) -> Results:
    """One layer of torch's own on each side, between our tables and our output layer."""
    src, attentions = leaves["src"], {"self_attention": "self_attn"}
    encoder = torchs_layer(leaves, torch.nn.TransformerEncoderLayer, "encoder.layers.0", attentions)
    x = with_sinusoids(leaves["src_embedding.weight"][src] * 10**0.5)["with_positions"][None]
    memory = encoder(x, src_key_padding_mask=(src == 0)[None])[0]
    return {"encoder.layers.0.feed_forward_norm.output": memory, **next_words(leaves, memory)}


def decoder(leaves: Mapping[str, torch.Tensor]) -> Results:
    memory = leaves["encoded_words"][leaves["src"]] + leaves["encoded_places"][: len(leaves["src"])]
    return {"memory": memory, **next_words(leaves, memory)}


def shifted_target(leaves: Mapping[str, torch.Tensor]) -> Results:
    n = leaves["target"].shape[-1] - 1
    read, answers = (leaves["target"].narrow(-1, start, n) for start in (0, 1))
    return {"tgt_in": read, "tgt_out": answers, "count": answers.count_nonzero()}


# ---- the programs, and the runs of each ---------------------------------------------------------------------------


def normalization(leaves: Mapping[str, torch.Tensor]) -> Results:
    x, gain, bias = (leaves[name] for name in ("x", "gain", "bias"))
    normalise = torch.nn.functional.layer_norm
    return named("layer_norm", {"normalised": normalise(x, gain.shape), "output": normalise(x, gain.shape, gain, bias)})


def encoder(leaves: Mapping[str, torch.Tensor], norm_first: bool) -> Results:
    """The layer of torch. It is left in training mode, without dropout: in use it takes a way that zeroes padding."""
    src, prefix = leaves["src"], "layers.0." if norm_first else ""
    x = leaves["word_vectors"][src] + leaves["places"][: len(src)]
    d_model, d_ff = leaves[f"{prefix}feed_forward.w_1.weight"].shape
    ours = nn.EncoderLayer(d_model, 2, d_ff, norm_first=norm_first).double()
    arrays = {name: leaves[f"{prefix}{name}"].numpy() for name in ours.state_dict()}
    ours.load_state_dict(from_arrays(arrays, like=ours.state_dict()))
    own = torch.nn.TransformerEncoderLayer(
        d_model, 2, d_ff, dropout=0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64
    )
    own.load_state_dict(nn.to_torch_names(ours.state_dict()))
    y = own(x[None], src_key_padding_mask=(src == 0)[None])[0]
    if not norm_first:
        return {"x": x, "feed_forward_norm.output": y}
    last = torch.nn.functional.layer_norm(y, (d_model,), leaves["norm.gain"], leaves["norm.bias"])
    return {"layers.0.feed_forward_residual": y, "norm.output": last}


def causal_multi_head_attention() -> Trace:
    """Two heads over a sentence of four words, each seeing itself and what came before."""
    draw = np.random.default_rng(8).normal
    with record("Multi-head attention") as trace:
        x = leaf("x", draw(size=(4, 6)).round(3), ("tgt", "d_model"))
        params = {}
        for role in "qkvo":
            for name, shape in ((f"w_{role}.weight", (6, 6)), (f"w_{role}.bias", (6,))):
                axes = ("d_model", f"{role} column")[-len(shape) :]
                params[name] = leaf(name, draw(size=shape).round(3), axes)
        recorded_multi_head_attention(x, x, x, params, 2, ops.causal_mask(x, x, name="causal"))
    return trace


def translation(leaves: Mapping[str, torch.Tensor]) -> Results:
    """Two plain recurrent networks; the decoder reads the given words, or its own where none are given."""

    def step(half: str, vector: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return torch.tanh(torch.cat([vector, state]) @ leaves[f"{half}.weight"] + leaves[f"{half}.bias"])

    context = leaves["start"]
    for word in leaves["src"]:
        context = step("encoder", leaves["src_embedding.weight"][word], context)
    state, logits, given = context, [], leaves.get("tgt", leaves.get("bos"))
    for t in range(4):
        word = given[t] if t < len(given) else logits[-1].argmax()
        state = step("decoder", leaves["tgt_embedding.weight"][word], state)
        logits.append(state @ leaves["output.weight"] + leaves["output.bias"])
    return {"context": context, "probabilities": torch.stack(logits).softmax(dim=-1)}


LSTM_GATES = ("input.", "forget.", "candidate.", "output.")

PROGRAMS: dict[str, tuple[Callable[[], Trace], Callable[[Mapping[str, torch.Tensor]], Results]]] = {
    "recurrent_network": (examples.recurrent_network, recurrent("rnn", ("",))),
    "padded_recurrent_network": (examples.padded_recurrent_network, recurrent("rnn", ("",), padded=True)),
    "pronoun": (examples.pronoun, recurrent("lstm", LSTM_GATES)),
    "agreement": (examples.agreement, recurrent("lstm", LSTM_GATES)),
    "gated_recurrent_unit": (
        examples.gated_recurrent_unit,
        recurrent("gru", ("reset.", "update.", "candidate.")),
    ),
    "transformer": (examples.transformer, transformer),
    "attention": (examples.attention, attention),
    "attention_from_states": (examples.attention_from_states, attention_from_states),
    "attention_over_words": (examples.attention_over_words, attention_over_words),
    "padded_attention": (examples.padded_attention, attention),
    "temperature": (examples.temperature, attention),
    "additive_attention": (examples.additive_attention, additive_attention),
    "multi_head_attention": (causal_multi_head_attention, multi_head_attention),
    "two_heads": (examples.multi_head_attention, two_heads),
    "self_attention": (examples.self_attention, self_attention),
    "causal_self_attention": (examples.causal_self_attention, self_attention),
    "padded_self_attention": (examples.padded_self_attention, padded_self_attention),
    "cross_attention": (examples.cross_attention, cross_attention),
    "padded_cross_attention": (examples.padded_cross_attention, lambda leaves: cross_attention(leaves, masked=True)),
    "cross_attention_in_a_batch": (
        examples.cross_attention_in_a_batch,
        lambda leaves: cross_attention(leaves, masked=True),
    ),
    "easy_course": (examples.easy_course, easy_course),
    "attention_with_positions": (examples.attention_with_positions, attention_with_positions),
    "positions_in_a_batch": (
        examples.positions_in_a_batch,
        lambda leaves: with_sinusoids(leaves["embedding"] * leaves["embedding"].shape[-1] ** 0.5),
    ),
    "learned_positions": (examples.learned_positions, learned_positions),
    "rotary_positions": (examples.rotary_positions, rotary_positions),
    "feed_forward": (examples.feed_forward, feed_forward),
    "convolution_over_words": (examples.convolution_over_words, lambda leaves: convolution(leaves, before=1)),
    "causal_convolution": (examples.causal_convolution, lambda leaves: convolution(leaves, before=2)),
    "edges_and_corners": (examples.edges_and_corners, edges_and_corners),
    "look_up": (examples.look_up, look_up),
    "cosine_similarity": (examples.cosine_similarity, cosine_similarity),
    "analogy": (examples.analogy, analogy),
    "next_word": (examples.next_word, next_word),
    "gradient_step": (examples.gradient_step, gradient_step),
    "target_input": (examples.target_input, target_input),
    "output": (examples.output, output),
    "sampling": (examples.sampling, sampling),
    "padded_loss": (examples.padded_loss, loss_over_tokens),
    "smoothed_loss": (examples.smoothed_loss, loss_over_tokens),
    "teacher_forcing": (examples.teacher_forcing, translation),
    "feeding_back": (examples.feeding_back, translation),
    "loss_backward": (examples.loss_backward, backward(loss_over_words, linear_backward="x weight bias")),
    "feed_forward_backward": (
        examples.feed_forward_backward,
        backward(
            loss_of_feed_forward,
            **{
                "feed_forward_backward.w_1": "x w_1.weight w_1.bias",
                "feed_forward_backward.w_2": "w_2.weight w_2.bias",
            },
        ),
    ),
    "layer_norm_backward": (
        examples.layer_norm_backward,
        backward(loss_of_layer_norm, layer_norm_backward="x gain bias"),
    ),
    "normalization": (examples.normalization, normalization),
    "encoder_layer": (examples.encoder_layer, lambda leaves: encoder(leaves, norm_first=False)),
    "encoder_with_pre_norm": (examples.encoder_with_pre_norm, lambda leaves: encoder(leaves, norm_first=True)),
    "decoder": (examples.decoder, decoder),
    "padded_decoder": (examples.padded_decoder, decoder),
    "shifted_target": (examples.shifted_target, shifted_target),
    "attention_backward": (
        examples.attention_backward,
        backward(loss_of_attention, attention_backward="query key value"),
    ),
}


def runs(name: str, trace: Trace) -> list[dict[str, np.ndarray]]:
    """What is overridden in each run: nothing first, then other lengths and other values."""
    draw = np.random.default_rng(9)

    def other(leaf_name: str, length: int | None = None) -> np.ndarray:
        shape = list(trace[leaf_name].shape)
        shape[0] = shape[0] if length is None else length
        return draw.normal(size=shape).round(3)

    given: list[dict[str, np.ndarray]] = [{}]
    if name in ("recurrent_network", "gated_recurrent_unit", "pronoun", "agreement"):
        turned = trace["src"][::-1]
        return [*given, {"src": turned}, {"word_vectors": other("word_vectors")}, {"hidden_0": other("hidden_0")}]
    if name == "padded_recurrent_network":
        return given + [{"src": np.array(ids)} for ids in ([2, 0, 0, 0, 0], [3, 2, 1, 2, 3], [1, 3, 0, 0, 0])]
    if name == "multi_head_attention":
        return given + [{"x": other("x", n)} for n in (1, 2, 7)] + [{"x": other("x", 4), "w_o.bias": other("w_o.bias")}]
    if name == "two_heads":
        sentences = [[3], [1, 5], [1, 3, 5, 2], [5, 6, 0, 4]]
        return given + [{"src": np.array(ids)} for ids in sentences] + [{"w_v.weight": other("w_v.weight")}]
    if name.endswith("self_attention"):
        tokens = "tgt" if "tgt" in trace.values else "src"
        sentences = [[2], [3, 1], [5, 4, 3, 2, 1, 0, 3], [0, 5, 0], [0, 0]]
        return given + [{tokens: np.array(ids)} for ids in sentences] + [{"word_vectors": other("word_vectors")}]
    if name in ("cross_attention", "padded_cross_attention"):
        pairs = [([2], [1]), ([5, 1], [1, 4, 0]), ([4, 3, 2, 1, 0, 0, 5], [3, 2]), ([3], [4, 3, 2, 1, 0, 0, 2])]
        pairs += [([2, 1], [0, 0])]
        given += [{"tgt": np.array(tgt), "src": np.array(src)} for tgt, src in pairs]
        return [*given, {"memory_table": other("memory_table")}]
    if name == "cross_attention_in_a_batch":
        batches = [([[5]], [[4, 0]]), ([[2, 1], [3, 1], [4, 1]], [[1], [0], [3]]), ([[2], [5]], [[1, 2, 3], [0, 0, 4]])]
        return given + [{"tgt": np.array(tgt), "src": np.array(src)} for tgt, src in batches]
    if name == "transformer":
        pairs = [
            ([1], [1]),
            ([2, 6, 7], [1, 4, 8, 9]),
            ([1, 3, 2, 0, 0], [1, 3, 5, 0, 0]),
            ([9, 9, 9, 9], [1, 2, 3, 4, 5, 6]),
        ]
        given += [{"src": np.array(src), "tgt": np.array(tgt)} for src, tgt in pairs]
        changed = ("decoder.layers.0.cross_attention.w_v.weight", "encoder.layers.0.self_attention_norm.gain")
        return [*given, {key: other(key) for key in changed}]
    if name == "easy_course":
        given += [{"src": np.array(ids)} for ids in ([0], [1], [1, 0, 0])]
        return [*given, {"query": other("query", 2)}]
    if name in ("attention_with_positions", "learned_positions"):
        sentences = [[2], [3, 1], [3, 2, 1], [1, 2, 3, 2, 1]]
        return given + [{"src": np.array(ids)} for ids in sentences] + [{"word_vectors": other("word_vectors")}]
    if name == "positions_in_a_batch":
        return given + [{"embedding": draw.normal(size=shape).round(3)} for shape in ((1, 7, 5), (3, 1, 1), (2, 2, 4))]
    if name == "loss_backward":
        answers = ([1], [0, 4], [2, 0, 0, 5, 1, 3, 0])
        given += [{"x": other("x", len(ids)), "targets": np.array(ids)} for ids in answers]
        return [*given, {"weight": other("weight")}]
    if name.endswith("norm_backward") or name == "feed_forward_backward":
        given += [{key: other(key, n) for key in ("x", "output_gradient")} for n in (1, 2, 7)]
        return [*given, {key: other(key) for key in ("x", "gain", "w_1.weight") if key in trace.values}]
    if name == "normalization":
        return given + [{"x": other("x", n)} for n in (1, 2, 7)] + [{"gain": other("gain"), "bias": other("bias")}]
    if name in ("encoder_layer", "encoder_with_pre_norm"):
        sentences = [[2], [3, 1], [3, 2, 1], [1, 2, 0], [0, 3, 0]]
        return given + [{"src": np.array(ids)} for ids in sentences] + [{"word_vectors": other("word_vectors")}]
    if name in ("decoder", "padded_decoder"):
        pairs = [([1], [1]), ([2, 4, 1], [1, 4, 6]), ([3, 0], [1, 3, 5, 4, 2, 0, 0])]
        given += [{"src": np.array(src), "tgt": np.array(tgt)} for src, tgt in pairs]
        return [*given, {"encoded_words": other("encoded_words")}]
    if name == "shifted_target":
        batches = ([[1, 2]], [[1, 3, 2, 0, 0, 0, 0], [1, 4, 5, 6, 6, 3, 2]], [[1, 5, 2, 0], [1, 2, 0, 0], [1, 6, 4, 2]])
        return given + [{"target": np.array(ids)} for ids in batches]
    if name == "attention_backward":
        given += [{key: other(key, n) for key in ("query", "output_gradient")} for n in (1, 2, 7)]
        for ids in ([2], [0, 3, 0, 1], [1, 2, 3, 2, 1, 0, 0], [0, 0]):
            given.append({"src": np.array(ids), **{key: other(key, len(ids)) for key in ("key", "value")}})
        return given
    if name in ("teacher_forcing", "feeding_back"):
        given += [{"src": np.array(ids)} for ids in ([5, 6, 4, 1], [2, 4, 7, 1], [1, 1, 1, 1], [7, 3, 6, 0])]
        names = ("src_embedding.weight", "encoder.weight", "decoder.weight", "output.bias")
        given += [{name: other(name)} for name in names]
        return [*given, {"tgt": np.array([1, 4, 6, 2])}] if name == "teacher_forcing" else given
    if name in ("feed_forward", "convolution_over_words", "causal_convolution"):
        sentences = [[2], [3, 1], [0, 1, 2, 3, 2, 1, 0]]
        return given + [{"src": np.array(ids)} for ids in sentences] + [{"word_vectors": other("word_vectors")}]
    if name == "edges_and_corners":
        images = [{"image": draw.normal(size=shape).round(3)} for shape in ((1, 4, 4), (1, 8, 8), (1, 5, 9))]
        return [*given, *images, {"edge_kernels": other("edge_kernels"), "corner_bias": other("corner_bias")}]
    if name == "look_up":
        return given + [{"tokens": np.array(ids)} for ids in ([0], [6, 6], [1, 2, 3, 4, 5, 6, 0])]
    if name == "cosine_similarity":
        return given + [{"vectors": other("vectors", n)} for n in (1, 2, 7)]
    if name == "analogy":
        sums = [([1], [[1.0]]), ([1, 4, 3], [[1.0, -1.0, 1.0]]), ([0, 5], [[-1.0, 2.0]])]
        return given + [{"terms": np.array(ids), "signs": np.array(signs)} for ids, signs in sums]
    if name in ("next_word", "gradient_step"):
        given += [{"x": other("x", n), "targets": np.arange(n) % 4} for n in (1, 2, 7)] + [{"weight": other("weight")}]
        rates = (0.1, 3.0, 20.0) if name == "gradient_step" else ()
        return given + [{"learning_rate": np.array(rate)} for rate in rates]
    if name == "target_input":
        given += [{"tgt": np.array(ids)} for ids in ([1], [1, 4], [12, 0, 3, 3, 2, 1, 7])]
        return [*given, {"tgt_embedding.weight": other("tgt_embedding.weight")}]
    if name == "output":
        given += [{"x": other("x", n)} for n in (1, 2, 7)]
        return [*given, {key: other(key, 6) for key in ("tgt_embedding.weight", "output.bias")}]
    if name == "sampling":
        knobs = [{"temperature": 0.3, "k": 1.0}, {"temperature": 5.0, "p": 0.25}, {"k": 40.0, "p": 1.0}]
        given += [{key: np.array(x) for key, x in knob.items()} for knob in knobs]
        return given + [{"logits": other("logits", n)} for n in (1, 2, 7)]
    if name in ("padded_loss", "smoothed_loss"):
        given += [{"logits": other("logits", n), "targets": np.arange(n, 0, -1)} for n in (1, 2, 7)]
        given += [{"targets": np.array([0, 0, 12, 0, 0])}]
        return given + ([{"smoothing": np.array(e)} for e in (0.0, 0.4, 1.0)] if name == "smoothed_loss" else [])
    first = "decoder_states" if name == "attention_from_states" else "query"
    given += [{first: other(first, n)} for n in (1, 2, 7)]
    if "src" in trace.values:
        given += [{"src": np.array(ids)} for ids in ([0, 0, 0, 1, 2, 3], [0] * 6, [3, 0, 2, 0, 1, 1])]
    if name == "attention_over_words":
        given += [{"src": np.array(ids)} for ids in ([2], [3, 1], [1, 2, 3, 2, 1, 0, 0], [0])]
    if name in ("attention", "additive_attention", "temperature"):
        given += [{"key": other("key", n), "value": other("value", n)} for n in (1, 2, 7)]
    if name == "temperature":
        given += [{"temperature": np.array(t)} for t in (0.1, 0.5, 4.0)]
    return given


def expected(trace: Trace, overrides: Arrays, formula: Callable[[Mapping[str, torch.Tensor]], Results]) -> Arrays:
    """What a run must give, from the leaves of the program and what replaces them."""
    names = {trace.tensors[i].name: trace.arrays[i] for i in trace.leaves}
    leaves = {name: torch.as_tensor(np.array(x)) for name, x in {**names, **overrides}.items()}
    return {name: x.detach().numpy() for name, x in formula(leaves).items()}


def documents() -> dict[str, dict[str, Any]]:
    """Return the content of every file by the name of its program."""
    found = {}
    for name, (make, formula) in PROGRAMS.items():
        trace = make()
        entries = [
            {
                "overrides": {key: written(x) for key, x in overrides.items()},
                "expected": {key: written(x) for key, x in expected(trace, overrides, formula).items()},
            }
            for overrides in runs(name, trace)
        ]
        found[name] = {"program": json.loads(trace.to_json()), "runs": entries}
    return found


def written(array: np.ndarray) -> dict[str, Any]:
    """A tensor as JSON."""
    kind = {"i": "int", "f": "float"}[array.dtype.kind]
    # Adding 0 turns −0 into 0.
    return {"shape": list(array.shape), "dtype": kind, "data": (array.round(12) + 0).ravel().tolist()}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, document in documents().items():
        lines = [json.dumps(run, separators=(",", ":")) for run in document["runs"]]
        program = json.dumps(document["program"], ensure_ascii=False, separators=(",", ":"))
        text = '{"program": ' + program + ',\n"runs": [\n' + ",\n".join(lines) + "\n]}\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"tests/golden/{name}.json: {len(lines)} runs")


if __name__ == "__main__":
    main()
