"""Decoding beside Marian's of Hugging Face at equal size, with and without a cache, and as sentences grow."""

import time
from collections.abc import Callable

import torch
from results import Figure, median, versions, write

from stepformer.decode import beam, greedy
from stepformer.nn import Transformer

VOCAB_SIZE, PAD, BOS = 256, 0, 1
NO_END = -1
"""An end mark that no model writes: all write the same number of words."""
N_LAYERS, N_HEADS = 2, 4
WIDTHS = {64: 256, 128: 512}
BATCH, N_SRC, N_TGT = 32, 12, 20
LENGTHS = (10, 50, 100, 200)
LONGEST = 256
ROUNDS, WARM_UP = 15, 2


def our_model(d_model: int) -> Transformer:
    """Return a model of ours with random weights."""
    generator = torch.Generator().manual_seed(0)
    return Transformer(VOCAB_SIZE, VOCAB_SIZE, d_model, N_HEADS, N_LAYERS, WIDTHS[d_model], max_len=LONGEST,
                       generator=generator).eval()  # fmt: skip


def marian(d_model: int):
    """Return Marian's model of the same size, without an end mark, so that it writes as much as it is asked to."""
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(0)
    sizes = {"layers": N_LAYERS, "attention_heads": N_HEADS, "ffn_dim": WIDTHS[d_model]}
    sizes = {f"{side}_{what}": size for side in ("encoder", "decoder") for what, size in sizes.items()}
    config = MarianConfig(vocab_size=VOCAB_SIZE, d_model=d_model, max_position_embeddings=LONGEST, pad_token_id=PAD,
                          decoder_start_token_id=BOS, eos_token_id=None, forced_eos_token_id=None,
                          activation_function="relu", **sizes)  # fmt: skip
    model = MarianMTModel(config).eval()
    model.generation_config.eos_token_id = model.generation_config.forced_eos_token_id = None
    return model


def sources() -> torch.Tensor:
    """Return random sentences, half to all of the length, then padding."""
    generator = torch.Generator().manual_seed(1)
    src = torch.randint(2, VOCAB_SIZE, (BATCH, N_SRC), generator=generator)
    lengths = torch.randint(N_SRC // 2, N_SRC + 1, (BATCH, 1), generator=generator)
    return src.masked_fill(torch.arange(N_SRC) >= lengths, PAD)


def without_cache(model: Transformer, src: torch.Tensor, n: int) -> torch.Tensor:
    """Write greedily, and read all that was written again for every word."""
    with torch.inference_mode():
        memory, mask = model.encode(src)
        tgt = torch.full((len(src), 1), BOS)
        for _ in range(n):
            word = model.project(model.decode(tgt, memory, mask).output[:, -1:]).argmax(-1)
            tgt = torch.cat([tgt, word], dim=1)
    return tgt[:, 1:]


def turns(calls: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Return the processor time of each call in each round; who goes first changes."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(WARM_UP + ROUNDS):
        for name in sorted(calls, reverse=turn % 2 == 1):
            start = time.process_time()
            calls[name]()
            if turn >= WARM_UP:
                taken[name].append(time.process_time() - start)
    return taken


def ratio(over: list[float], under: list[float]) -> float:
    """Return the median over the rounds."""
    return median([a / b for a, b in zip(over, under, strict=True)])


def beside_marian(d_model: int) -> list[Figure]:
    """Greedy search and a beam of 4, ours and Marian's."""
    ours, theirs, src = our_model(d_model), marian(d_model), sources()
    asked = {"input_ids": src, "attention_mask": (src != PAD).long(), "max_new_tokens": N_TGT, "do_sample": False}

    beam_of_4 = asked | {"num_beams": 4, "length_penalty": 0.6}
    for settings in (asked, beam_of_4):
        assert theirs.generate(**settings).shape == (BATCH, N_TGT + 1), "Marian does not write as much as we do"
    taken = turns({
        "greedy_ours": lambda: greedy(ours, src, N_TGT, eos_id=NO_END),
        "greedy_marian": lambda: theirs.generate(**asked),
        "beam_ours": lambda: beam(ours, src, N_TGT, 4, eos_id=NO_END),
        "beam_marian": lambda: theirs.generate(**beam_of_4),
    })  # fmt: skip
    figures = []
    for how, what in (("greedy", "greedy search"), ("beam", "a beam of 4")):
        times = ratio(taken[f"{how}_ours"], taken[f"{how}_marian"])
        figures.append(
            Figure(f"{how}_ratio_{d_model}", f"time of {what}, width {d_model}, as a multiple of Marian's", times, "×",
                   bar=1 / 1.5)
        )  # fmt: skip
        for whose in ("ours", "marian"):
            speed = BATCH / median(taken[f"{how}_{whose}"])
            name = {"ours": "ours", "marian": "Marian"}[whose]
            figures.append(Figure(f"{how}_{whose}_{d_model}", f"{what}, width {d_model}, {name}", speed, "sentences/s"))
    return figures


def with_and_without_cache() -> list[Figure]:
    """One sentence, written greedily to several lengths."""
    model, src = our_model(128), sources()[:1]
    n = 50
    with_cache = torch.tensor([one.ids for one in greedy(model, src, n, eos_id=NO_END)])
    assert torch.equal(with_cache, without_cache(model, src, n)), "the cache changes the words"
    calls = {f"cached_{n}": lambda n=n: greedy(model, src, n, eos_id=NO_END) for n in LENGTHS}
    taken = turns(calls | {"uncached_50": lambda: without_cache(model, src, 50)})
    per_token = {n: median(taken[f"cached_{n}"]) / n * 1e3 for n in LENGTHS}
    figures = [
        Figure("cached_ratio", "time with a cache at 50 tokens, as a multiple of that without",
               ratio(taken["cached_50"], taken["uncached_50"]), "×", bar=0.5),
        Figure("growth", f"time per token at {LENGTHS[-1]} tokens, as a multiple of that at {LENGTHS[0]}",
               per_token[LENGTHS[-1]] / per_token[LENGTHS[0]], "×", bar=1.5),
    ]  # fmt: skip
    figures += [Figure(f"token_{n}", f"one sentence of {n} tokens", per_token[n], "ms a token") for n in LENGTHS]
    return figures


def main() -> None:
    """Measure on one thread."""
    torch.set_num_threads(1)
    figures = [figure for d_model in WIDTHS for figure in beside_marian(d_model)] + with_and_without_cache()
    how = (
        f"{N_LAYERS} + {N_LAYERS} layers, {N_HEADS} heads, d_ff four times the width, vocabulary {VOCAB_SIZE}, random "
        f"weights. Beside Marian: batches of {BATCH} sentences of {N_SRC // 2} to {N_SRC} tokens; both write {N_TGT} "
        "tokens for each, since no model has an end mark. With and without a cache, and as sentences grow: one "
        "sentence, width 128, greedy. Processor time on one thread; all take turns, and ratios are medians of "
        f"{ROUNDS} rounds."
    )
    write("decoding", figures, versions(["torch", "transformers"]), how)


if __name__ == "__main__":
    main()
