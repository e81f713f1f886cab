"""Encoder and decoder with attention in torch: two recurrent networks, and the whole source in view, for training.

The same model as `stepformer.reference.recurrent_attention`: the encoder of Bahdanau et al. 2015, which reads in both
directions, and their additive score; the order of Luong et al. 2015 without input feeding: first the decoder's step,
then the attention. So all steps of a given target are one call of torch's recurrent network and one of attention.
"""

from typing import NamedTuple

import torch
from torch import nn

from stepformer.nn._layers import Dropout, check_sizes
from stepformer.nn.attention import AdditiveAttention
from stepformer.nn.embedding import Embedding
from stepformer.nn.encoder_decoder import State
from stepformer.nn.masks import padding_mask
from stepformer.nn.recurrent import GRU


class Encoded(NamedTuple):
    """What the encoder leaves.

    Attributes:
        memory: (…, n_src, 2 · d_hidden) the states of both directions side by side, zeros over padding.
        mask: booleans (…, 1, n_src), True = a word; None where there is no padding.
    """

    memory: torch.Tensor
    mask: torch.Tensor | None


class Decoded(NamedTuple):
    """What the decoder makes of its words, (…, n_tgt, d_hidden), and where it is now."""

    output: torch.Tensor
    cache: State


class RecurrentAttention(nn.Module):
    """A translator whose recurrent decoder looks at all states of the encoder before it chooses a word.

    Formula: `h = [gru(src), backward gru(src)]`; `s[0] = tanh(bridge(backward h[1]))`, `s[t] = gru(y[t − 1],
    s[t − 1])`; `c[t] = additive_attention(s[t], h, h)`; `logits[t] = output(tanh(combine([c[t], s[t]])))`. Encoder,
    first state and score are those of Bahdanau et al. 2015 (sections 3.1 and 3.2, appendix A), the order and `combine`
    those of Luong et al. 2015 (section 3, eq. 5 and 6): Bahdanau et al. attend with `s[t − 1]`, and their decoder reads
    `c[t]`, so that it takes one step at a time.

    Args:
        src_vocab_size: number of source words.
        tgt_vocab_size: number of target words.
        d_embedding: width of a word's vector, on both sides.
        d_hidden: width of the states of each direction, and of the decoder's.
        d_attention: number of hidden units of the score; `d_hidden` if not given.
        dropout: the share of numbers that is set to zero in training, in the words' vectors and before `output`.
        pad_id: the id of padding in the source; the encoder stops before it, and nobody attends to it.

    Raises:
        TypeError: a size or the dropout is no number.
        ValueError: a size is below 1, or the dropout no share.
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        d_embedding: int,
        d_hidden: int,
        d_attention: int | None = None,
        dropout: float = 0.0,
        pad_id: int = 0,
    ) -> None:
        super().__init__()
        d_attention = d_hidden if d_attention is None else d_attention
        check_sizes(d_embedding=d_embedding, d_hidden=d_hidden, d_attention=d_attention)
        self.pad_id = pad_id
        self.src_embedding = Embedding(src_vocab_size, d_embedding)
        self.tgt_embedding = Embedding(tgt_vocab_size, d_embedding)
        self.encoder = GRU(d_embedding, d_hidden, bidirectional=True)
        self.bridge = nn.Linear(d_hidden, d_hidden)
        self.decoder = GRU(d_embedding, d_hidden)
        self.cross_attention = AdditiveAttention(d_hidden, 2 * d_hidden, d_attention)
        self.combine = nn.Linear(3 * d_hidden, d_hidden)
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(d_hidden, tgt_vocab_size)

    def encode(self, src: torch.Tensor) -> Encoded:
        """Read the source in both directions; keep the state at every word.

        Args:
            src: (…, n_src) token ids, padding at the end.

        Returns:
            The states (…, n_src, 2 · d_hidden), and the mask of the padding.

        Raises:
            ValueError: a sentence is empty, all padding.
        """
        mask = padding_mask(src, self.pad_id)
        mask = None if mask.all() else mask
        return Encoded(self.encoder(self.dropout(self.src_embedding(src)), mask).states, mask)

    def decode(
        self,
        tgt: torch.Tensor,
        memory: torch.Tensor,
        memory_mask: torch.Tensor | None = None,
        cache: State | None = None,
    ) -> Decoded:
        """Run the decoder over words that are given, then let each of its states look at the source.

        Args:
            tgt: (…, n_tgt) token ids: the whole target shifted by one in training (teacher forcing); with a cache,
                the new words only.
            memory: (…, n_src, 2 · d_hidden) what the encoder left.
            memory_mask: booleans (…, 1, n_src), True = a word, or None.
            cache: what the call before returned; None at the first, which starts from the memory.

        Returns:
            One row for each word to be predicted (…, n_tgt, d_hidden), and where the decoder is now.
        """
        hidden = self._start(memory) if cache is None else cache.hidden
        read = self.decoder(self.dropout(self.tgt_embedding(tgt)), hidden=hidden.unsqueeze(-2))
        context = self.cross_attention(read.states, memory, memory, memory_mask).output
        output = torch.tanh(self.combine(torch.cat([context, read.states], dim=-1)))
        return Decoded(self.dropout(output), State(read.hidden[..., 0, :]))

    def _start(self, memory: torch.Tensor) -> torch.Tensor:
        """The decoder's first state, from where the backward direction ended: at the first word."""
        return torch.tanh(self.bridge(memory[..., 0, self.encoder.hidden_size :]))

    def project(self, x: torch.Tensor) -> torch.Tensor:
        """From what the decoder made to a number for each word of the target vocabulary.

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
