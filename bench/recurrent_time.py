"""Time per token as sentences grow: an LSTM beside self-attention, and beside its own multiplications done at once."""

import time
from collections.abc import Callable

import torch
from results import Figure, median, versions, write

from stepformer.nn import LSTM, SelfAttention

WIDTH = 64
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
LAYERS = {
    "lstm": "LSTM layer",
    "at_once": "its multiplications as one matrix product, without the chain",
    "self_attention": "self-attention",
}
ROUNDS, SECONDS_A_ROUND = 7, 0.05


def layers() -> dict[str, Callable[[torch.Tensor], torch.Tensor]]:
    """Return what is measured, each from n vectors of WIDTH.

    An LSTM multiplies every input and every state with the weights of four gates: 8 · WIDTH² multiplications a token.
    One linear layer from WIDTH to 8 · WIDTH makes as many, none of which waits for another token.
    """
    torch.manual_seed(0)
    lstm, at_once, attention = LSTM(WIDTH, WIDTH), torch.nn.Linear(WIDTH, 8 * WIDTH), SelfAttention(WIDTH, WIDTH)
    return {"lstm": lambda x: lstm(x).states, "at_once": at_once, "self_attention": lambda x: attention(x).output}


def seconds(call: Callable[[], object]) -> float:
    """Return the processor time of one call, averaged over a short while."""
    n, start = 0, time.process_time()
    while n == 0 or time.process_time() - start < SECONDS_A_ROUND:
        call()
        n += 1
    return (time.process_time() - start) / n


def main() -> None:
    """Measure forward passes of one sentence on one thread; the layers take turns."""
    torch.set_num_threads(1)
    figures, calls = [], layers()
    for n in LENGTHS:
        x = torch.randn(1, n, WIDTH, generator=torch.Generator().manual_seed(n))
        rounds: dict[str, list[float]] = {name: [] for name in calls}
        with torch.inference_mode():
            for turn in range(ROUNDS + 1):
                for name, layer in calls.items():
                    taken = seconds(lambda layer=layer, x=x: layer(x))
                    if turn:  # the first round warms up
                        rounds[name].append(taken)
        for name, times in rounds.items():
            figures.append(Figure(f"{name}_{n}", f"{LAYERS[name]}, {n} tokens", median(times) / n * 1e6, "µs a token"))
        for name in ("at_once", "self_attention"):
            ratio = median([a / b for a, b in zip(rounds["lstm"], rounds[name], strict=True)])
            figures.append(Figure(f"lstm_per_{name}_{n}", f"LSTM layer per {LAYERS[name]}, {n} tokens", ratio, "×"))
    how = (
        f"Forward pass of one sentence, all widths {WIDTH}, processor time on one thread; median of {ROUNDS} rounds in "
        "which the layers take turns, and of the ratios in each round."
    )
    write("recurrent_time", figures, versions(["torch"]), how)


if __name__ == "__main__":
    main()
