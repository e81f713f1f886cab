"""The whole Transformer in torch, from token ids to logits, as in `stepformer.reference.transformer`."""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from stepformer.nn._cache import KeyValueCache
from stepformer.nn._layers import Dropout, check_dropout, check_sizes, init_parameters
from stepformer.nn.attention import VECTOR
from stepformer.nn.decoder import Decoder, LayerCache
from stepformer.nn.embedding import Embedding
from stepformer.nn.encoder import Encoder
from stepformer.nn.input_block import make_positions, scale_and_place
from stepformer.nn.masks import causal_mask, check_pad_id, padding_mask
from stepformer.nn.torch_names import from_torch_names, to_torch_names


class Encoded(NamedTuple):
    """What the encoder hands to the decoder: one row for each token of the source, and which rows are no padding."""

    memory: torch.Tensor
    mask: torch.Tensor


class Reading(NamedTuple):
    """Keys and values of the memory as a model that writes looks at them at every step, made once.

    Attributes:
        layers: for every layer, filled up to a multiple of `VECTOR` rows.
        hidden: (batch · n_heads, 1, n), what is added to the scores: 0 at a row of the memory, −∞ where there is none.
        mask: the mask of the memory that it was made with; None, if there was none.
    """

    layers: tuple[KeyValueCache, ...]
    hidden: torch.Tensor
    mask: torch.Tensor | None

    def select(self, sources: torch.Tensor, rows: torch.Tensor) -> "Reading":
        """What is read of some sources.

        Args:
            sources: (k,) their numbers.
            rows: (m,) the sentences that go on, for the mask.

        Returns:
            That of k sources.
        """
        hidden = self.hidden.unflatten(0, (-1, self.layers[0].key.shape[1])).index_select(0, sources).flatten(0, 1)
        mask = None if self.mask is None else self.mask.index_select(0, rows)
        return Reading(tuple(one.select(sources) for one in self.layers), hidden, mask)


class Cache(NamedTuple):
    """What decoding needs of the tokens so far.

    Attributes:
        layers: keys and values of every layer.
        mask: (…, 1, n) which tokens are no padding.
        sources: where several sentences have one source, its keys and values are there once, and this says for each
            sentence which they are: (batch,). None: each has its own.
        copies: how many sentences each source has, if they stand together and are equally many; otherwise 0.
        origins: (batch, n). A beam goes on from other rows at every step, always of the same sentence. Instead of
            copying their keys and values, those of the `copies` rows of a source lie together, and this says which of
            the rows wrote the token that now stands there. None: each row has its own.
        reading: what was made of the keys and values of the memory.
        weights: for every layer what `MultiHeadAttention.stacked` makes of its self-attention's; None before the first
            step.
    """

    layers: tuple[LayerCache, ...]
    mask: torch.Tensor
    sources: torch.Tensor | None = None
    copies: int = 1
    origins: torch.Tensor | None = None
    reading: Reading | None = None
    weights: tuple[tuple[torch.Tensor, torch.Tensor], ...] | None = None

    def select(self, rows: torch.Tensor) -> "Cache":
        """The cache of some sentences of the batch, in another order, or several times: for beam search.

        Args:
            rows: (k,) positions along the first axis.

        Returns:
            The cache of k sentences.
        """
        mask = self.mask.index_select(0, rows)
        if torch.is_grad_enabled():
            layers = [LayerCache(*(known.select(rows) for known in layer)) for layer in self.spread().layers]
            return Cache(tuple(layers), mask)
        # A beam goes on from the same sources at every step: those are not copied with it.
        sources, stored = rows if self.sources is None else self.sources[rows], self._n_sources()
        if self.sources is not None and torch.equal(sources, self.sources):
            if self.origins is not None:
                return self._replace(mask=mask, origins=self.origins.index_select(0, rows))
            layers = [LayerCache(own.select(rows), other) for own, other in self.layers]
            return self._replace(layers=tuple(layers), mask=mask)
        present, sources = torch.unique_consecutive(sources, return_inverse=True)
        same = len(present) == stored and torch.equal(present, torch.arange(stored, device=rows.device))
        layers = [LayerCache(self._own(own, rows), other if same else other.select(present))
                  for own, other in self.layers]  # fmt: skip
        n, rest = divmod(len(rows), max(len(present), 1))
        together = not rest and bool((sources.view(-1, max(n, 1)) == sources[:: max(n, 1), None]).all())
        known = self.reading
        if known is not None:
            known = known.select(present, rows) if self.copies and together else None
        cache = Cache(tuple(layers), mask, reading=known, weights=self.weights)
        return cache if together and n == 1 else cache._replace(sources=sources, copies=n if together else 0)

    def spread(self) -> "Cache":
        """The same cache with keys and values of its own for every sentence.

        Returns:
            A cache whose `sources` are None.
        """
        if self.sources is None:
            return self._replace(reading=None)
        rows = torch.arange(len(self.sources), device=self.sources.device)
        layers = [LayerCache(own if self.origins is None else self._own(own, rows), other.select(self.sources))
                  for own, other in self.layers]  # fmt: skip
        return Cache(tuple(layers), self.mask)

    def together(self) -> "Cache":
        """The same cache with the keys and values of all rows of a source together.

        Returns:
            A cache with `origins`, if each source has several rows, and as many as the others.
        """
        # What has room of its own was taken apart because some rows ended, and it would be soon again.
        if self.origins is not None or self.copies < 2 or self.layers[0].self_attention.room is not None:
            return self
        layers = [LayerCache(own.together(self.copies), other) for own, other in self.layers]
        n = self.layers[0].self_attention.key.shape[-2]
        return self._replace(layers=tuple(layers), origins=self._neighbours().expand(-1, n))

    def _neighbours(self) -> torch.Tensor:
        """The number of each row among those of its source: (batch, 1)."""
        return torch.arange(len(self.mask), device=self.mask.device).unsqueeze(-1) % self.copies

    def with_one_more(self, layers: list[LayerCache], mask: torch.Tensor) -> "Cache":
        """The cache after a step that wrote one token of each row.

        Args:
            layers: its keys and values.
            mask: (batch, 1, n + 1).

        Returns:
            A cache of n + 1 tokens.
        """
        origins = None if self.origins is None else torch.cat([self.origins, self._neighbours()], dim=-1)
        return self._replace(layers=tuple(layers), mask=mask, origins=origins)

    def others_hidden(self, x: torch.Tensor) -> torch.Tensor | None:
        """For a step: which tokens of those that lie together are of each row, as numbers to add to the scores.

        Args:
            x: numbers of the kind to return.

        Returns:
            (batch / copies · n_heads, copies, (n + 1) · copies), 0 at its own and −∞ elsewhere; None, if each row lies
            alone.
        """
        if self.origins is None:
            return None
        rows = self._neighbours()
        its_own = torch.cat([self.origins, rows], dim=-1).unsqueeze(-1) == rows[: self.copies, 0]  # (batch, n + 1, k)
        hidden = x.new_zeros(its_own.shape).masked_fill_(~its_own, -torch.inf)
        return self._for_heads(hidden.view(-1, self.copies, its_own[0].numel()))

    def _for_heads(self, hidden: torch.Tensor) -> torch.Tensor:
        """The same for every head of a sentence."""
        n_heads = self.layers[0].self_attention.key.shape[1]
        return hidden.unsqueeze(1).expand(-1, n_heads, -1, -1).flatten(0, 1)

    def read(self, memory_mask: torch.Tensor | None) -> Reading:
        """Keys and values of the memory for a step; they are made again only if sentences or mask changed.

        Args:
            memory_mask: booleans (batch, 1, n_src), True = may attend; or None.

        Returns:
            One row for each source, or, where their rows are not equally many, one for each sentence.
        """
        if self.has_read(memory_mask):
            return self.reading
        layers = [layer.cross_attention for layer in self.layers]
        if not self.copies:
            layers = [one.select(self.sources) for one in layers]
        key = layers[0].key
        missing = -key.shape[-2] % VECTOR
        hidden = key.new_zeros(len(key), 1, key.shape[-2])
        if memory_mask is not None:
            hidden = hidden.masked_fill(~memory_mask[:: self.copies or 1], -torch.inf)
        hidden = self._for_heads(F.pad(hidden, (0, missing), value=-torch.inf))
        filled = [KeyValueCache(*(F.pad(x, (0, 0, 0, missing)).contiguous() for x in one)) for one in layers]
        mask = None if memory_mask is None else memory_mask.clone()
        return Reading(tuple(filled), hidden, mask)

    def has_read(self, memory_mask: torch.Tensor | None) -> bool:
        """Whether what was made of the memory is of use with this mask.

        Args:
            memory_mask: booleans (batch, 1, n_src), True = may attend; or None.

        Returns:
            Whether a step before had the same mask.
        """
        if self.reading is None:
            return False
        mask = self.reading.mask
        if memory_mask is None or mask is None:
            return memory_mask is mask
        return memory_mask.dtype == mask.dtype and torch.equal(memory_mask, mask)

    def _own(self, own: KeyValueCache, rows: torch.Tensor) -> KeyValueCache:
        """What some rows wrote, wherever it lies."""
        return own.select(rows) if self.origins is None else own.apart(self.origins, rows, self.copies)

    def _n_sources(self) -> int:
        return len(self.layers[0].cross_attention.key)


class Decoded(NamedTuple):
    """What the decoder returns: one row for each new token of the target, and the cache for the tokens to come."""

    output: torch.Tensor
    cache: Cache


class Transformer(nn.Module):
    """A model that translates: it reads a sequence of tokens and predicts, token by token, another.

    Formula: `project(decode(tgt, encode(src)))` (Vaswani et al. 2017, figure 1, without the softmax). The defaults are
    the base model of the paper; its three tables are one where `share_embeddings` and `tie_output` say so.

    Args:
        src_vocab_size: number of words of the source.
        tgt_vocab_size: number of words of the target.
        d_model: width of the vectors.
        n_heads: number of heads, a divisor of d_model.
        n_layers: number of layers of the encoder and of the decoder.
        d_ff: inner width of the feed-forward networks.
        dropout: the share of numbers that is set to zero at random in training, as in `EncoderLayer`, and of the sums
            of embeddings and positions.
        activation: of the feed-forward networks, "relu" or "gelu".
        norm_first: normalise what goes into a sub-layer, not the sum that comes after it.
        final_norm: a norm after the last layer of encoder and decoder; if not given, only with `norm_first`.
        n_encoder_layers: number of layers of the encoder, if it is another.
        n_decoder_layers: number of layers of the decoder, if it is another.
        positions: "sinusoidal" or "learned".
        max_len: length of the longest sequence.
        pad_id: the id of padding on both sides.
        share_embeddings: source and target use one table; their vocabularies are then one.
        tie_output: the output layer uses the table of the target.
        generator: where the first values of the parameters come from; torch's own if not given.
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        d_model: int = 512,
        n_heads: int = 8,
        n_layers: int = 6,
        d_ff: int = 2048,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
        final_norm: bool | None = None,
        n_encoder_layers: int | None = None,
        n_decoder_layers: int | None = None,
        positions: str = "sinusoidal",
        max_len: int = 1024,
        pad_id: int = 0,
        share_embeddings: bool = False,
        tie_output: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_sizes(src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size, d_model=d_model, n_heads=n_heads,
                    d_ff=d_ff, max_len=max_len)  # fmt: skip
        check_dropout(dropout)
        depths = {"n_encoder_layers": n_encoder_layers, "n_decoder_layers": n_decoder_layers}
        depths = {name: n_layers if depth is None else depth for name, depth in depths.items()}
        check_sizes(n_layers=n_layers, **depths)
        check_pad_id(pad_id)
        if not 0 <= pad_id < min(src_vocab_size, tgt_vocab_size):
            raise ValueError(
                f"pad_id is {pad_id}; it must be an id of both vocabularies, 0 … "
                f"{min(src_vocab_size, tgt_vocab_size) - 1}."
            )
        if share_embeddings and src_vocab_size != tgt_vocab_size:
            raise ValueError(
                f"share_embeddings needs one vocabulary; src_vocab_size is {src_vocab_size} and tgt_vocab_size "
                f"{tgt_vocab_size}."
            )
        self.pad_id = pad_id
        self.max_len = max_len
        self.src_embedding = Embedding(src_vocab_size, d_model)
        self.tgt_embedding = self.src_embedding if share_embeddings else Embedding(tgt_vocab_size, d_model)
        self.src_positions, self.tgt_positions = (make_positions(positions, d_model, max_len) for _ in range(2))
        sizes = (d_model, n_heads, d_ff, dropout, activation, norm_first, final_norm)
        self.encoder = Encoder(depths["n_encoder_layers"], *sizes)
        self.decoder = Decoder(depths["n_decoder_layers"], *sizes)
        self.output = nn.Linear(d_model, tgt_vocab_size)
        if tie_output:
            self.output.weight = self.tgt_embedding.weight
        self.dropout = Dropout(dropout)
        init_parameters(self, generator)

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """Predict, for every position of the target, the token that comes next: all at once, as training needs it.

        Args:
            src: (…, n_src) token ids.
            tgt: (…, n_tgt) token ids, the target shifted by one: it begins with <bos> and lacks its last token.

        Returns:
            Logits (…, n_tgt, tgt_vocab_size). Row i depends on all of `src` and on `tgt` up to i. The rows of padding
            are to be ignored.

        Raises:
            TypeError: ids are not whole numbers.
            ValueError: an id is in no vocabulary, a sequence is longer than max_len, or the batches differ.
        """
        memory, mask = self.encode(src)
        return self.project(self.decode(tgt, memory, mask).output)

    def encode(self, src: torch.Tensor) -> Encoded:
        """Read the source: one vector for each token, with its context in it.

        Args:
            src: (…, n_src) token ids.

        Returns:
            memory (…, n_src, d_model) and mask (…, 1, n_src), True = no padding.
        """
        x = self._input(src, self.src_embedding, self.src_positions, 0)
        mask = padding_mask(src, self.pad_id)
        return Encoded(self.encoder(x, mask), mask)

    def decode(
        self,
        tgt: torch.Tensor,
        memory: torch.Tensor,
        memory_mask: torch.Tensor | None = None,
        cache: Cache | None = None,
    ) -> Decoded:
        """Write the target: one vector for each position, which knows what comes before it and the source.

        With the cache of an earlier call only the tokens that came since are given and computed, with the same result.

        Args:
            tgt: (…, m) token ids: of the whole target, or those that the cache does not hold yet.
            memory: (…, n_src, d_model), what `encode` returned.
            memory_mask: booleans (…, 1, n_src), what `encode` returned with it; None where there is no padding.
            cache: what the call before returned; None at the first.

        Returns:
            output (…, m, d_model), and the cache of all tokens so far.

        Raises:
            TypeError: ids are not whole numbers, or the mask is not boolean.
            ValueError: an id is not in the vocabulary, the target grows longer than max_len, shapes do not fit, or the
                cache is one of other sentences.
        """
        if memory.ndim != tgt.ndim + 1 or memory.shape[:-2] != tgt.shape[:-1]:
            raise ValueError(
                f"tgt has shape {tuple(tgt.shape)} and memory {tuple(memory.shape)}; they must be (…, n_tgt) and "
                "(…, n_src, d_model), with the same sizes before."
            )
        if memory_mask is not None and memory_mask.dtype == torch.bool and memory_mask.ndim != memory.ndim:
            # Two axes would be read as (n_tgt, n_src), and a mask with a row for each sentence may fit by chance.
            raise ValueError(
                f"memory_mask has shape {tuple(memory_mask.shape)}; for memory {tuple(memory.shape)} it must be "
                "(…, 1, n_src)."
            )
        if cache is not None and cache.mask.shape[:-2] != tgt.shape[:-1]:
            raise ValueError(
                f"tgt has shape {tuple(tgt.shape)}, and the cache holds sentences {tuple(cache.mask.shape[:-2])}; it "
                "must come from the same ones."
            )
        x = self._input(tgt, self.tgt_embedding, self.tgt_positions, 0 if cache is None else cache.mask.shape[-1])
        mask = padding_mask(tgt, self.pad_id)
        if cache is not None:
            mask = torch.cat([cache.mask, mask], dim=-1)
        if cache is not None:
            if self._only_writes(tgt, memory, memory_mask, cache) and mask.all():
                return self._step(x, memory_mask, cache, mask)
            cache = cache.spread()
        tgt_mask = mask & causal_mask(x, mask.mT)
        layers = None if cache is None else cache.layers
        output, layers = self.decoder(x, memory, tgt_mask, memory_mask, layers)
        return Decoded(output, Cache(layers, mask))

    def _only_writes(
        self, tgt: torch.Tensor, memory: torch.Tensor, memory_mask: torch.Tensor | None, cache: Cache
    ) -> bool:
        """Whether a model that is not trained writes one word of each sentence: then the short way is the same."""
        return (
            tgt.ndim == 2
            and tgt.shape[-1] == 1
            and not self.training
            and not torch.is_grad_enabled()
            and len(cache.layers) == len(self.decoder.layers)
            and cache.layers[0].cross_attention.key.shape[-2] == memory.shape[-2]
            and (memory_mask is None or cache.has_read(memory_mask)
                 or (memory_mask.shape == (*tgt.shape, memory.shape[-2]) and memory_mask.dtype == torch.bool
                     and bool(memory_mask.any(dim=-1).all())))
            # Whoever wants to see the weights has changed what attends.
            and not any("attend" in vars(part) for layer in self.decoder.layers
                        for part in (layer.self_attention, layer.cross_attention))
        )  # fmt: skip

    def _step(self, x: torch.Tensor, memory_mask: torch.Tensor | None, cache: Cache, mask: torch.Tensor) -> Decoded:
        """One word more of every sentence, without what is only needed for training and for padding."""
        reading, cache = cache.read(memory_mask), cache.together()
        weights = cache.weights or tuple(layer.self_attention.stacked() for layer in self.decoder.layers)
        hidden, known = (cache.others_hidden(x), reading.hidden, cache.copies or 1), []
        parts = zip(self.decoder.layers, cache.layers, reading.layers, weights, strict=True)
        for layer, (own, other), read, stacked in parts:
            x, own = layer.step(x, own, read, stacked, *hidden)
            known.append(LayerCache(own, other))
        output = x if self.decoder.norm is None else self.decoder.norm(x)
        return Decoded(output, cache.with_one_more(known, mask)._replace(reading=reading, weights=weights))

    def project(self, x: torch.Tensor) -> torch.Tensor:
        """A score for each word of the target's vocabulary; softmax makes probabilities of them.

        Args:
            x: (…, n_tgt, d_model), what `decode` returned.

        Returns:
            Logits (…, n_tgt, tgt_vocab_size).
        """
        return self.output(x)

    def _input(self, tokens: torch.Tensor, embedding: Embedding, positions: nn.Module, start: int) -> torch.Tensor:
        """Look up, scale, add positions."""
        return scale_and_place(embedding(tokens), positions, self.dropout, start)

    def to_torch(self) -> nn.Transformer:
        """Make torch's own Transformer with the weights of our encoder and decoder.

        It takes embedded sequences, batch first, and has neither embeddings nor an output layer. Its masks mean the
        opposite: True = may not attend.

        Returns:
            A new module in the same mode; its numbers are copies.
        """
        layer = self.encoder.layers[0]
        attention, network = layer.self_attention, layer.feed_forward
        shape = dict(d_model=layer.d_model, nhead=attention.n_heads, dim_feedforward=network.w_1.out_features,
                     dropout=attention.dropout, activation=network.activation, norm_first=layer.norm_first,
                     batch_first=True)  # fmt: skip
        norms = [None if stack.norm is None else nn.LayerNorm(layer.d_model) for stack in (self.encoder, self.decoder)]
        # Nested tensors are torch's way to skip padding; they warn, and return zeros where we return what is ignored.
        encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**shape), len(self.encoder.layers), norms[0], enable_nested_tensor=False
        )
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**shape), len(self.decoder.layers), norms[1])
        own = nn.Transformer(layer.d_model, attention.n_heads, custom_encoder=encoder, custom_decoder=decoder,
                             batch_first=True)  # fmt: skip
        own.to(self.output.weight).train(self.training)
        own.load_state_dict(to_torch_names(self.state_dict()))
        return own

    @classmethod
    def from_torch(cls, own: nn.Transformer, src_vocab_size: int, tgt_vocab_size: int, **options) -> "Transformer":
        """Make a model with the weights of torch's own Transformer in encoder and decoder.

        Args:
            own: a `torch.nn.Transformer` as torch builds it, with biases.
            src_vocab_size: number of words of the source.
            tgt_vocab_size: number of words of the target.
            **options: what torch's has not: positions, max_len, pad_id, share_embeddings, tie_output, generator.

        Returns:
            A new model in the same mode; embeddings and output layer are new, the other numbers are copies.

        Raises:
            TypeError: it is no `torch.nn.Transformer`, or has parts of another kind.
            ValueError: the module has no layers or no biases, another epsilon, another activation, or a final norm on
                one side only; or its layers differ.
        """
        _check_as_torch_builds_it(own)
        layer = own.encoder.layers[0]
        activations = [name for name, function in (("relu", F.relu), ("gelu", F.gelu)) if layer.activation is function]
        norms = {own.encoder.norm is not None, own.decoder.norm is not None}
        if layer.linear1.bias is None or layer.norm1.eps != 1e-5 or not activations or len(norms) > 1:
            raise ValueError(
                "from_torch: ours has biases, eps = 1e-5, the activation relu or gelu, and final norms on both sides "
                f"or on neither; given: bias {layer.linear1.bias is not None}, eps {layer.norm1.eps}, activation "
                f"{layer.activation}, final norms {own.encoder.norm is not None} and {own.decoder.norm is not None}."
            )
        model = cls(src_vocab_size, tgt_vocab_size, own.d_model, own.nhead, 1, layer.linear1.out_features,
                    layer.dropout.p, activations[0], layer.norm_first, norms.pop(), len(own.encoder.layers),
                    len(own.decoder.layers), **options)  # fmt: skip
        model.to(layer.linear1.weight).train(own.training)
        model.load_state_dict(from_torch_names(own.state_dict()), strict=False)
        return model


def _check_as_torch_builds_it(own: nn.Transformer) -> None:
    """Refuse what would be copied without an error and then compute something else."""
    if not isinstance(own, nn.Transformer):
        raise TypeError(f"from_torch takes a torch.nn.Transformer; this is {type(own).__name__}.")
    kinds = {"encoder": nn.TransformerEncoderLayer, "decoder": nn.TransformerDecoderLayer}
    layers = [(layer, kind) for side, kind in kinds.items() for layer in getattr(getattr(own, side), "layers", ())]
    for layer, kind in layers:
        if not isinstance(layer, kind):
            raise TypeError(f"from_torch takes layers as torch builds them; one is {type(layer).__name__}.")
    if {kind for _, kind in layers} != set(kinds.values()):
        raise ValueError("from_torch: encoder and decoder need one layer or more.")
    settings = {(layer.self_attn.num_heads, layer.norm_first, layer.activation) for layer, _ in layers}
    settings |= {(layer.multihead_attn.num_heads, *rest) for layer, kind in layers
                 for _, *rest in settings if kind is kinds["decoder"]}  # fmt: skip
    epsilons = {module.eps for module in own.modules() if isinstance(module, nn.LayerNorm)}
    if len(settings) > 1 or len(epsilons) > 1:
        raise ValueError(
            "from_torch: ours has one number of heads, norm_first, activation and epsilon for all layers; given: "
            f"{sorted(map(str, settings))}, epsilons {sorted(epsilons)}."
        )
