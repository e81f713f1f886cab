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

from stepformer import examples, leaf, ops, record
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


# ---- the programs, and the runs of each ---------------------------------------------------------------------------


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


PROGRAMS: dict[str, tuple[Callable[[], Trace], Callable[[Mapping[str, torch.Tensor]], Results]]] = {
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
    "next_word": (examples.next_word, next_word),
    "gradient_step": (examples.gradient_step, gradient_step),
}


def runs(name: str, trace: Trace) -> list[dict[str, np.ndarray]]:
    """What is overridden in each run: nothing first, then other lengths and other values."""
    draw = np.random.default_rng(9)

    def other(leaf_name: str, length: int | None = None) -> np.ndarray:
        shape = list(trace[leaf_name].shape)
        shape[0] = shape[0] if length is None else length
        return draw.normal(size=shape).round(3)

    given: list[dict[str, np.ndarray]] = [{}]
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
    if name == "easy_course":
        given += [{"src": np.array(ids)} for ids in ([0], [1], [1, 0, 0])]
        return [*given, {"query": other("query", 2)}]
    if name in ("attention_with_positions", "learned_positions"):
        sentences = [[2], [3, 1], [3, 2, 1], [1, 2, 3, 2, 1]]
        return given + [{"src": np.array(ids)} for ids in sentences] + [{"word_vectors": other("word_vectors")}]
    if name == "positions_in_a_batch":
        return given + [{"embedding": draw.normal(size=shape).round(3)} for shape in ((1, 7, 5), (3, 1, 1), (2, 2, 4))]
    if name in ("next_word", "gradient_step"):
        given += [{"x": other("x", n), "targets": np.arange(n) % 4} for n in (1, 2, 7)] + [{"weight": other("weight")}]
        rates = (0.1, 3.0, 20.0) if name == "gradient_step" else ()
        return given + [{"learning_rate": np.array(rate)} for rate in rates]
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
