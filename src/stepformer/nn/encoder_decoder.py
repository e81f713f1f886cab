"""Encoder and decoder in torch: two recurrent networks with one vector between them, for training.

The same model as `stepformer.reference.encoder_decoder`, on torch's fused modules. Whoever decodes knows it by
`encode`, `decode` and `project` alone, as any other translator of this package.
"""

from typing import NamedTuple

import torch
from torch import nn

from stepformer.nn._layers import writing
from stepformer.nn.embedding import Embedding
from stepformer.nn.masks import padding_mask
from stepformer.nn.recurrent import GRU, RNN

KINDS = {"rnn": RNN, "gru": GRU}


class Encoded(NamedTuple):
    """What the encoder leaves: the context (…, d_hidden), and no mask, for nothing of it is padding."""

    memory: torch.Tensor
    mask: None = None


class State(NamedTuple):
    """Where the decoder is: its state (…, d_hidden) after the words so far, all that the next step needs."""

    hidden: torch.Tensor

    def select(self, rows: torch.Tensor) -> "State":
        """The states of some sentences of a batch, in another order.

        Args:
            rows: (m,) their numbers.

        Returns:
            The state (m, …, d_hidden).
        """
        return State(self.hidden[rows])


class Decoded(NamedTuple):
    """The states (…, n_tgt, d_hidden), one for each word to be predicted, and where the decoder is now."""

    output: torch.Tensor
    cache: State


class EncoderDecoder(nn.Module):
    """Two recurrent networks: the encoder's last state is the decoder's first.

    Formula: `c = encoder(src)`, `s[t] = step(y[t − 1], s[t − 1])` with `s[0] = c`, `logits[t] = output(s[t])`
    (Sutskever et al. 2014, section 2, with another kind of network).

    Args:
        src_vocab_size: number of source words.
        tgt_vocab_size: number of target words.
        d_embedding: width of a word's vector, on both sides.
        d_hidden: width of the states, and so of the context.
        kind: "gru" or "rnn".
        pad_id: the id of padding in the source; the encoder stops before it.

    Raises:
        ValueError: a size is below 1, or the kind is unknown.
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        d_embedding: int,
        d_hidden: int,
        kind: str = "gru",
        pad_id: int = 0,
    ) -> None:
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}; it is one of {', '.join(KINDS)}.")
        self.pad_id = pad_id
        self.src_embedding = Embedding(src_vocab_size, d_embedding)
        self.tgt_embedding = Embedding(tgt_vocab_size, d_embedding)
        self.encoder = KINDS[kind](d_embedding, d_hidden)
        self.decoder = KINDS[kind](d_embedding, d_hidden)
        self.output = nn.Linear(d_hidden, tgt_vocab_size)

    def encode(self, src: torch.Tensor) -> Encoded:
        """Read the source; keep the state after its last word.

        Args:
            src: (…, n_src) token ids, padding at the end.

        Returns:
            The context (…, d_hidden) as `memory`, and None as its mask.

        Raises:
            ValueError: a sentence is empty, all padding.
        """
        mask = padding_mask(src, self.pad_id)
        read = self.encoder(self.src_embedding(src), None if mask.all() else mask)
        return Encoded(read.hidden[..., 0, :])

    def decode(
        self,
        tgt: torch.Tensor,
        memory: torch.Tensor,
        memory_mask: None = None,
        cache: State | None = None,
    ) -> Decoded:
        """Run the decoder over words that are given.

        Args:
            tgt: (…, n_tgt) token ids: the whole target shifted by one in training (teacher forcing); with a cache,
                the new words only.
            memory: (…, d_hidden) the context.
            memory_mask: of no use here.
            cache: what the call before returned; None at the first, which starts from the context.

        Returns:
            The states (…, n_tgt, d_hidden), and where the decoder is now.
        """
        hidden = memory if cache is None else cache.hidden
        read = self.decoder(self.tgt_embedding(tgt), hidden=hidden.unsqueeze(-2))
        return Decoded(read.states, State(read.hidden[..., 0, :]))

    def project(self, x: torch.Tensor) -> torch.Tensor:
        """From states to a number for each word of the target vocabulary.

        Args:
            x: (…, d_hidden).

        Returns:
            Logits (…, tgt_vocab_size).
        """
        return self.output(x)

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """Read a source and predict every word of a target that is given.

        Args:
            src: (…, n_src) token ids.
            tgt: (…, n_tgt) token ids, the start mark first.

        Returns:
            Logits (…, n_tgt, tgt_vocab_size).
        """
        return self.project(self.decode(tgt, *self.encode(src)).output)

    @torch.no_grad()
    def greedy(self, src: torch.Tensor, bos_id: int, max_len: int) -> torch.Tensor:
        """Let the decoder write on its own: each step reads the word that the step before found most probable.

        The model writes in eval mode, and is afterwards in the mode that it was in.

        Args:
            src: (…, n_src) token ids.
            bos_id: the id of the start mark, which is read first and not returned.
            max_len: how many words to write, 1 or more; what follows an end mark means nothing.

        Returns:
            (…, max_len) token ids.

        Raises:
            ValueError: `max_len` is below 1.
        """
        if max_len < 1:
            raise ValueError(f"max_len is {max_len}; it must be 1 or more.")
        with writing(self):
            memory, mask = self.encode(src)
            word, cache, written = src.new_full((*src.shape[:-1], 1), bos_id), None, []
            for _ in range(max_len):
                decoded = self.decode(word, memory, mask, cache)
                word, cache = self.project(decoded.output).argmax(dim=-1), decoded.cache
                written.append(word)
        return torch.cat(written, dim=-1)
