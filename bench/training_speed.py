"""Training beside others: our trainer, `torch.nn.Transformer` and Hugging Face's Marian, of equal size, in turns.

Marian needs the package `transformers` (the extra "bench"); nothing is downloaded, its weights are random.
"""

import itertools
import time
from collections.abc import Callable, Iterator

import torch
from results import Figure, median, versions, write
from torch import nn
from torch.nn import functional as F
from transformer_step import TorchTransformer

from stepformer.data.batches import Batches
from stepformer.data.tokenizer import BOS, EOS, PAD
from stepformer.nn import Transformer
from stepformer.train import Config, TrainingData, load_data
from stepformer.train.log import Memory
from stepformer.train.measure import tensors
from stepformer.train.trainer import Training

ROUNDS, WARM_UP, N_HEADS, N_LAYERS, MAX_LEN = 60, 4, 4, 2, 64
SLOWEST = {"torch": 1 / 1.1, "marian": 1 / 0.95}
"""The bars: our time of a step as a multiple of theirs."""
INSTALL = "training_speed needs the extra bench: pip install transformers==5.24.0"
WHOSE = {"ours": "ours", "torch": "torch's Transformer", "marian": "Marian"}


class Marian(nn.Module):
    """Marian with positions, dropout and an output layer like ours."""

    def __init__(self, src_vocab_size: int, tgt_vocab_size: int, d_model: int, dropout: float) -> None:
        super().__init__()
        try:
            from transformers import MarianConfig, MarianMTModel
        except ImportError:
            raise SystemExit(INSTALL) from None
        side = {"layers": N_LAYERS, "attention_heads": N_HEADS, "ffn_dim": 4 * d_model, "layerdrop": 0.0}
        sides = {f"{name}_{key}": value for name in ("encoder", "decoder") for key, value in side.items()}
        drops = dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), dropout)
        config = MarianConfig(
            vocab_size=src_vocab_size, decoder_vocab_size=tgt_vocab_size, d_model=d_model, **sides, **drops,
            activation_function="relu", max_position_embeddings=MAX_LEN, scale_embedding=True, use_cache=False,
            share_encoder_decoder_embeddings=False, tie_word_embeddings=False, pad_token_id=PAD, bos_token_id=BOS,
            eos_token_id=EOS, decoder_start_token_id=BOS, forced_eos_token_id=None)  # fmt: skip
        config._attn_implementation = "eager"  # on one thread and short sentences faster than the fused kernel
        self.model = MarianMTModel(config)

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        return self.model(input_ids=src, attention_mask=src != PAD, decoder_input_ids=tgt,
                          decoder_attention_mask=tgt != PAD).logits  # fmt: skip


def settings(d_model: int, dropout: float) -> Config:
    """Return the training of ours: the grammar's pairs, one preset, the paper's form of the model."""
    return Config.preset("small").with_settings({
        "model.d_model": d_model, "model.d_ff": 4 * d_model, "model.n_heads": N_HEADS, "model.n_layers": N_LAYERS,
        "model.norm_first": False, "model.final_norm": True, "model.max_len": MAX_LEN, "data.max_len": MAX_LEN,
        "data.n_train": (ROUNDS + WARM_UP) * 64, "data.batch_size": 64, "regularisation.dropout": dropout,
        "budget.steps": 10**6, "budget.dev_every": 10**6, "optimiser.clip": 1.0,
    })  # fmt: skip


def plain_steps(model: nn.Module, data: TrainingData) -> Iterator[None]:
    """Train a model in a plain, good loop over the same batches: the fused Adam, smoothing and clipping as in ours."""
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    for _, batch in Batches(data.train, batch_size=64, seed=0).stream():
        src, tgt_in, tgt_out = tensors(batch)
        logits = model(src, tgt_in)
        loss = F.cross_entropy(logits.flatten(0, 1), tgt_out.flatten(), ignore_index=PAD, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield


def measure(config: Config, data: TrainingData) -> tuple[dict[str, float], dict[str, float]]:
    """Return the median ratio of our time to theirs, and everybody's tokens a second."""
    d_model, dropout = config.model.arguments["d_model"], config.regularisation.dropout
    sizes = len(data.src_tokenizer.vocabulary), len(data.tgt_tokenizer.vocabulary)
    training = Training(config, data, Memory())
    model = Transformer(*sizes, d_model, N_HEADS, N_LAYERS, 4 * d_model, dropout, final_norm=True, max_len=MAX_LEN)
    steps: dict[str, Iterator] = {
        "ours": training.steps(),
        "torch": plain_steps(TorchTransformer(model), data),
        "marian": plain_steps(Marian(*sizes, d_model, dropout), data),
    }
    taken: dict[str, list[float]] = {name: [] for name in steps}
    tokens = 0
    orders = itertools.cycle(itertools.permutations(steps))  # everybody is first, second and third equally often
    for turn in range(WARM_UP + ROUNDS):
        for name in next(orders):
            start = time.process_time()
            row = next(steps[name])
            if turn >= WARM_UP:
                taken[name].append(time.process_time() - start)
                tokens += row["tokens"] if name == "ours" else 0
    ratios = {name: median([a / b for a, b in zip(taken["ours"], taken[name], strict=True)]) for name in SLOWEST}
    return ratios, {name: tokens / sum(times) for name, times in taken.items()}


def main(report: Callable[[str], None] = print) -> None:
    """Measure on one thread: two widths with the paper's dropout, and without."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = load_data(settings(64, 0.1).data)
    figures = []
    for d_model, dropout in itertools.product((64, 128), (0.1, 0.0)):
        ratios, speeds = measure(settings(d_model, dropout), data)
        what = f"d_model {d_model}, dropout {dropout}"
        key = f"{d_model}{'' if dropout else '_without_dropout'}"
        for name, ratio in ratios.items():
            bar = SLOWEST[name] if dropout else None
            text = f"time of a training step, as a multiple of {WHOSE[name]}, {what}"
            figures.append(Figure(f"{name}_{key}", text, ratio, "×", bar=bar))
        figures += [Figure(f"tokens_{name}_{key}", f"target tokens a second, {WHOSE[name]}, {what}", speed, "tokens/s")
                    for name, speed in speeds.items()]  # fmt: skip
        report(f"{what}: {', '.join(f'{1 / ratio:.3f} × the speed of {name}' for name, ratio in ratios.items())}")
    how = (
        f"Batches of 64 pairs of the grammar, {N_LAYERS} + {N_LAYERS} layers, {N_HEADS} heads, d_ff 4 · d_model, label "
        "smoothing, clipping, fused Adam. Ours is the trainer itself, with batching and log; the others stand in a "
        "plain loop over the same batches. Processor time on one thread; the three take turns, and a ratio is the "
        f"median of {ROUNDS} rounds. The bars: at least 1.1 times the speed of torch's Transformer, and 0.95 times "
        "that of Marian."
    )
    write("training_speed", figures, versions(["torch", "transformers"]), how)


if __name__ == "__main__":
    main()
