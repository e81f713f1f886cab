"""Keys and values of the tokens so far, and how they grow by one token without being copied."""

from typing import NamedTuple

import torch

SMALLEST_ROOM = 32
"""Tokens. Memory that is never written to costs nothing."""


class _KeysAndValues(NamedTuple):
    key: torch.Tensor
    value: torch.Tensor


class KeyValueCache(_KeysAndValues):
    """Keys (…, n_heads, n, d_k) and values (…, n_heads, n, d_v) of the tokens so far: all that later tokens need.

    Using a cache never changes it: it may be gone on from several times. Where nothing is to be trained, new tokens are
    written behind the old ones, into room that only the longest cache of a line uses.
    """

    room: "_Room | None" = None

    def extended(self, key: torch.Tensor, value: torch.Tensor) -> "KeyValueCache":
        """The cache with new tokens behind those that it holds.

        Args:
            key: (…, n_heads, m, d_k).
            value: (…, n_heads, m, d_v).

        Returns:
            A cache of n + m tokens.
        """
        if torch.is_grad_enabled() or key.ndim != 4 or key.shape != value.shape:
            return KeyValueCache(torch.cat([self.key, key], dim=-2), torch.cat([self.value, value], dim=-2))
        n = self.key.shape[-2]
        room = self.room
        if room is None or not room.has_room(n, key):
            k = 1 if room is None else room.k
            room = _Room(n + key.shape[-2], key, k=k)
            room.write(0, self.key, self.value)
        room.write(n, key, value)
        return room.cache(n + key.shape[-2])

    def select(self, rows: torch.Tensor) -> "KeyValueCache":
        """Keys and values of some sentences of the batch, in another order, or several times.

        Args:
            rows: (k,) positions along the first axis.

        Returns:
            Those of k sentences.
        """
        if self.room is None or torch.is_grad_enabled():
            # What comes from a projection is cut up by heads, and would be copied number by number.
            return KeyValueCache(*(x.contiguous().index_select(0, rows) for x in self))
        return self.room.select(rows, self.key.shape[-2])

    def together(self, k: int) -> "KeyValueCache":
        """Put the tokens of k rows that stand one behind the other into one: what a beam search goes on with.

        Args:
            k: number of rows, a divisor of the batch.

        Returns:
            A cache of batch / k rows with n · k tokens: of each position those of all k rows, one behind the other.
        """
        n = self.key.shape[-2]
        room = _Room(n * k, self.key, len(self.key) // k, k)
        # (batch / k, k, n_heads, n, d_k) -> (batch / k, n_heads, n, k, d_k)
        room.write(0, *(x.unflatten(0, (-1, k)).permute(0, 2, 3, 1, 4).flatten(2, 3) for x in self))
        return room.cache(n * k)

    def apart(self, origins: torch.Tensor, rows: torch.Tensor, k: int) -> "KeyValueCache":
        """Give rows their own keys and values again: the inverse of `together`.

        Args:
            origins: (batch, n) which of the k neighbours wrote the token that stands there.
            rows: (m,) which rows.
            k: number of neighbours.

        Returns:
            A cache of m rows with n tokens.
        """
        sentences, positions = (rows // k).unsqueeze(-1), torch.arange(origins.shape[-1], device=rows.device)
        own = (x.unflatten(2, (-1, k))[sentences, :, positions, origins[rows]] for x in self)  # (m, n, n_heads, d_k)
        return KeyValueCache(*(x.transpose(1, 2) for x in own))


class _Room:
    """Memory for the keys and values of a batch, with space for more tokens: (batch, tokens, 2, n_heads, d_k).

    Where the tokens of k rows stand together, what one head multiplies lies in one piece: (2, batch, n_heads, tokens,
    d_k) in memory.
    """

    def __init__(self, n: int, like: torch.Tensor, batch: int | None = None, k: int = 1) -> None:
        first, n_heads, _, d_k = like.shape
        first, capacity = first if batch is None else batch, max(SMALLEST_ROOM * k, 2 * n)
        self.k, self.used = k, 0
        if k > 1:
            self.storage = like.new_empty(2, first, n_heads, capacity, d_k).permute(1, 3, 0, 2, 4)
        else:
            self.storage = like.new_empty(first, capacity, 2, n_heads, d_k)

    def has_room(self, n: int, key: torch.Tensor) -> bool:
        """Whether nothing stands behind the first n tokens yet, and the new ones have room there."""
        fits = self.used == n and n + key.shape[-2] <= self.storage.shape[1]
        # What was made in inference mode must not be written to outside of it.
        return fits and (torch.is_inference_mode_enabled() or not self.storage.is_inference())

    def write(self, n: int, key: torch.Tensor, value: torch.Tensor) -> None:
        """Put tokens behind the first n."""
        self.used = n + key.shape[-2]
        place = self.storage[:, n : self.used]
        place[:, :, 0] = key.transpose(1, 2)
        place[:, :, 1] = value.transpose(1, 2)

    def cache(self, n: int) -> KeyValueCache:
        """The first n tokens."""
        key, value = self.storage[:, :n].permute(2, 0, 3, 1, 4).unbind(0)
        cache = KeyValueCache(key, value)
        cache.room = self
        return cache

    def select(self, rows: torch.Tensor, n: int) -> KeyValueCache:
        """The first n tokens of some sentences, in a room of their own."""
        other = _Room(n, self.storage[:, :1, 0].transpose(1, 2), len(rows))
        torch.index_select(self.storage[:, :n], 0, rows, out=other.storage[:, :n])
        other.used = n
        return other.cache(n)
