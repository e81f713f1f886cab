"""Multi-head attention beside torch's own module, and what one more token costs with and without a cache."""

import time
from collections.abc import Callable

import numpy as np
import torch
from results import Figure, median, versions, write

from stepformer.nn import KeyValueCache, MultiHeadAttention, causal_mask

BATCH, LENGTH, D_MODEL, N_HEADS = 32, 64, 256, 8
LENGTHS = (32, 64, 128, 256, 512, 1024)
ROUNDS, SHORT_ROUNDS = 60, 300
WARM_UP = 3


def taking_turns(calls: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return the seconds of processor time of each call in each round; the calls take turns.

    With one thread, processor time is how long a reader of a quiet computer waits; other programs do not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(WARM_UP + rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            if turn >= WARM_UP:
                seconds[name].append(time.process_time() - start)
    return seconds


def modules() -> tuple[MultiHeadAttention, torch.nn.MultiheadAttention]:
    """Return our module and torch's own with the same weights."""
    ours = MultiHeadAttention(D_MODEL, N_HEADS)
    own = torch.nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True)
    state = ours.state_dict()
    own.load_state_dict(
        {
            "in_proj_weight": torch.cat([state[f"w_{role}.weight"] for role in "qkv"]),
            "in_proj_bias": torch.cat([state[f"w_{role}.bias"] for role in "qkv"]),
            "out_proj.weight": state["w_o.weight"],
            "out_proj.bias": state["w_o.bias"],
        }
    )
    return ours, own


def beside_torch() -> list[Figure]:
    """Forward and backward, without weights and with the weights of every head."""
    ours, own = modules()
    x = torch.randn(BATCH, LENGTH, D_MODEL, requires_grad=True)
    runs = {
        "ours": lambda: ours(x, x, x).output,
        "torch": lambda: own(x, x, x, need_weights=False)[0],
        "ours_weights": lambda: ours(x, x, x, need_weights=True).output,
        "torch_weights": lambda: own(x, x, x, need_weights=True, average_attn_weights=False)[0],
    }
    for plain, weighted in (("ours", "ours_weights"), ("torch", "torch_weights"), ("ours", "torch")):
        assert torch.allclose(runs[plain](), runs[weighted](), atol=1e-5), f"{plain} and {weighted} differ"

    def forward_and_backward(run: Callable[[], torch.Tensor]) -> None:
        leaves = [x, *ours.parameters(), *own.parameters()]
        for leaf in leaves:
            leaf.grad = None
        run().sum().backward()

    seconds = taking_turns({name: lambda run=run: forward_and_backward(run) for name, run in runs.items()})

    def ratio(end: str) -> float:
        return median([a / b for a, b in zip(seconds[f"ours{end}"], seconds[f"torch{end}"], strict=True)])

    return [
        Figure("ratio", "forward + backward, as a multiple of torch's module", ratio(""), "×", bar=1.0),
        Figure("ratio_weights", "the same, both returning the weights of each head", ratio("_weights"), "×", bar=1.3),
        Figure("ours", "forward + backward", median(seconds["ours"]) * 1e3, "ms"),
        Figure("torch", "forward + backward, torch's module", median(seconds["torch"]) * 1e3, "ms"),
        Figure("ours_weights", "forward + backward with weights", median(seconds["ours_weights"]) * 1e3, "ms"),
        Figure("torch_weights", "the same, torch's module", median(seconds["torch_weights"]) * 1e3, "ms"),
    ]


@torch.no_grad()
def one_more_token() -> list[Figure]:
    """The token after n others: with the cache of the others, and by computing all of them again."""
    ours = modules()[0].eval()
    steps: dict[str, Callable[[], object]] = {}
    again: dict[str, Callable[[], object]] = {}
    for n in LENGTHS:
        x = torch.randn(1, n + 1, D_MODEL)
        cache, mask = ours.step(x[:, :n])[1], causal_mask(x, x)
        assert torch.allclose(ours.step(x[:, n:], cache)[0].output, ours(x, x, x, mask).output[:, n:], atol=1e-5)
        steps[f"step_{n}"] = lambda new=x[:, n:], cache=cache: repeat(ours, new, cache)
        again[f"again_{n}"] = lambda x=x, mask=mask: ours(x, x, x, mask)
    # One after the other: the long calls would empty the processor's own memory before each short one.
    milliseconds = {name: median(taken) * 1e3 / STEPS for name, taken in taking_turns(steps, SHORT_ROUNDS).items()}
    milliseconds |= {name: median(taken) * 1e3 for name, taken in taking_turns(again).items()}
    step_times, again_times = ([milliseconds[f"{name}_{n}"] for n in LENGTHS] for name in ("step", "again"))
    return [
        Figure("misfit", "step with the cache, farthest from a + b·n", misfit(step_times, 1), "", bar=0.15),
        Figure("misfit_again", "computing all again, farthest from a + b·n", misfit(again_times, 1), ""),
        Figure("exponent", "p in the best fit a + b·n^p to a step with the cache", exponent(step_times), ""),
        Figure("exponent_again", "p in the best fit to computing all again", exponent(again_times), ""),
        *(
            Figure(f"step_{n}", f"one token after {n}, with the cache", milliseconds[f"step_{n}"], "ms")
            for n in LENGTHS
        ),
        *(Figure(f"again_{n}", f"one token after {n}, all again", milliseconds[f"again_{n}"], "ms") for n in LENGTHS),
    ]


STEPS = 10
"""A step is too short for the clock: so many are measured together."""


def repeat(module: MultiHeadAttention, new: torch.Tensor, cache: KeyValueCache) -> None:
    """Take the same step several times."""
    for _ in range(STEPS):
        module.step(new, cache)


def differences(times: list[float], p: float) -> np.ndarray:
    """Return by what share of itself each time differs from the best a + b·n^p, by least squares of these shares."""
    terms = np.stack([np.ones(len(LENGTHS)), np.array(LENGTHS, dtype=float) ** p], axis=1) / np.array(times)[:, None]
    return terms @ np.linalg.lstsq(terms, np.ones(len(LENGTHS)), rcond=None)[0] - 1


def misfit(times: list[float], p: float) -> float:
    """Return the largest of the differences."""
    return float(np.abs(differences(times, p)).max())


def exponent(times: list[float]) -> float:
    """Return the p that fits best. It is loosely determined where the constant a is most of the time: no bar."""
    return float(min(np.arange(0.3, 3, 0.01), key=lambda p: np.square(differences(times, p)).sum()))


def main() -> None:
    """Measure on one thread."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    figures = [*beside_torch(), *one_more_token()]
    how = (
        f"Medians of {ROUNDS} rounds ({SHORT_ROUNDS} for a step) of processor time on one thread; the calls take "
        f"turns. Beside torch: batch {BATCH}, length {LENGTH}, d_model {D_MODEL}, {N_HEADS} heads, the same weights, "
        "a ratio in each round. "
        "One more token: batch 1."
    )
    write("multi_head", figures, versions(["torch"]), how)


if __name__ == "__main__":
    main()
