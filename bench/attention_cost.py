"""How long a layer takes as sentences grow: self-attention beside recurrent layers of the same width, in torch."""

import time
from collections.abc import Callable

import torch
from results import Figure, median, versions, write

from stepformer.nn import SelfAttention

WIDTH = 64
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
LAYERS = {"self_attention": "self-attention", "rnn": "recurrent layer (RNN)", "gru": "recurrent layer (GRU)"}
ROUNDS, SECONDS_A_ROUND = 7, 0.05


def layers() -> dict[str, Callable[[torch.Tensor], torch.Tensor]]:
    """Return the three layers, each from n vectors of WIDTH to n vectors of WIDTH."""
    torch.manual_seed(0)
    attention = SelfAttention(WIDTH, WIDTH)
    rnn, gru = torch.nn.RNN(WIDTH, WIDTH, batch_first=True), torch.nn.GRU(WIDTH, WIDTH, batch_first=True)
    return {
        "self_attention": lambda x: attention(x).output,
        "rnn": lambda x: rnn(x)[0],
        "gru": lambda x: gru(x)[0],
    }


def seconds(call: Callable[[], object]) -> float:
    """Return the time of one call, averaged over a short while."""
    n, start = 0, time.perf_counter()
    while n == 0 or time.perf_counter() - start < SECONDS_A_ROUND:
        call()
        n += 1
    return (time.perf_counter() - start) / n


def main() -> None:
    """Measure forward passes of one sentence on one thread; the layers take turns."""
    torch.set_num_threads(1)
    figures, calls = [], layers()
    for n in LENGTHS:
        x = torch.randn(1, n, WIDTH, generator=torch.Generator().manual_seed(n))
        taken: dict[str, list[float]] = {name: [] for name in calls}
        with torch.inference_mode():
            for _ in range(ROUNDS + 1):
                for name, layer in calls.items():
                    taken[name].append(seconds(lambda layer=layer, x=x: layer(x)))
        # The first round warms up. A round's layers ran one after the other, so their ratio is not disturbed by others.
        rounds = {name: times[1:] for name, times in taken.items()}
        for name, times in rounds.items():
            figures.append(Figure(f"{name}_{n}", f"{LAYERS[name]}, {n} words", median(times) * 1e3, "ms"))
        for name in ("rnn", "gru"):
            pairs = zip(rounds[name], rounds["self_attention"], strict=True)
            ratio = median([a / b for a, b in pairs])
            figures.append(Figure(f"{name}_ratio_{n}", f"{LAYERS[name]} per self-attention, {n} words", ratio, "×"))
    how = (
        f"Forward pass of one sentence, all widths {WIDTH}, one thread; median of {ROUNDS} rounds in which the layers "
        "take turns."
    )
    write("attention_cost", figures, versions(["torch"]), how)


if __name__ == "__main__":
    main()
