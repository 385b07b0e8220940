"""Keys and values of models with fewer of them than they have queries, in a store that
grows: a context of 8,192 tokens is seldom used, and takes 400 MB where it is.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

FIRST_ROOM = 256
"""Tokens that a new store has room for; it doubles as it fills."""


class Snapshot(NamedTuple):
    """A cache's state at one moment: a copy that later writes do not touch."""

    position: int
    keys_values: Tensor


class GrowingCache:
    """Keys and values: ``[n_layer, 2, batch, n_kv_head, room, head_size]``."""

    def __init__(
        self,
        *,
        n_layer: int,
        n_kv_head: int,
        head_size: int,
        capacity: int,
        batch: int,
        dtype: torch.dtype,
    ) -> None:
        """``capacity``: the longest context, in tokens."""
        self.capacity = capacity
        self.batch = batch
        self.bytes_per_token = 2 * n_layer * n_kv_head * head_size * dtype.itemsize
        """2 · layers · key-value heads · size of a head · bytes per value."""
        self.position = 0
        """Tokens held: the position that the next token takes."""
        room = min(capacity, FIRST_ROOM)
        self._store = torch.zeros(n_layer, 2, batch, n_kv_head, room, head_size, dtype=dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of the keys and values in use: ``bytes_per_token`` · tokens · batch."""
        return self.bytes_per_token * self.position * self.batch

    def make_room(self, tokens: int) -> None:
        """Have room for ``tokens`` more. Raises ``ValueError`` past the capacity."""
        needed = self.position + tokens
        if needed > self.capacity:
            raise ValueError(f"{self.position} + {tokens} tokens, but {self.capacity} fit")
        room = self._store.shape[4]
        if needed <= room:
            return
        room = min(self.capacity, max(needed, 2 * room))
        old, shape = self._store, [*self._store.shape]
        shape[4] = room
        self._store = old.new_zeros(shape)
        self._store[..., : self.position, :] = old[..., : self.position, :]

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store ``[B, KV, T, hd]`` new keys and values after those held, where there is room
        for them; return all. The position moves only with ``advance``."""
        end = self.position + keys.shape[2]
        all_keys, all_values = self._store[layer, :, :, :, :end].unbind(0)
        all_keys[:, :, self.position :] = keys
        all_values[:, :, self.position :] = values
        return all_keys, all_values

    def advance(self, tokens: int) -> None:
        """Count ``tokens`` as held, after a forward pass wrote them in every layer."""
        self.position += tokens

    def truncate(self, position: int) -> None:
        """Forget everything from ``position`` on; what stands before stays valid."""
        if not 0 <= position <= self.position:
            raise ValueError(f"cannot truncate to {position}: {self.position} tokens are held")
        self.position = position

    def keep_rows(self, rows: list[int]) -> None:
        """Keep these sequences of the batch, in this order; the others have ended."""
        self._store = self._store[:, :, rows].contiguous()
        self.batch = len(rows)

    def snapshot(self) -> Snapshot:
        """A copy of what is held, to come back to with ``restore``."""
        return Snapshot(self.position, self._store[..., : self.position, :].clone())

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of a cache of the same shape."""
        self.position = 0
        self.make_room(snapshot.position)
        self._store[..., : snapshot.position, :] = snapshot.keys_values
        self.position = snapshot.position
