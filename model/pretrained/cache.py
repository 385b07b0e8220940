"""Keys and values of models with fewer of them than they have queries, in a store that
grows: a context of 8,192 tokens is seldom used, and takes 400 MB where it is.
"""

from __future__ import annotations

import torch

from model.cache import KeyValues, Snapshot

FIRST_ROOM = 256
"""Tokens that a new store has room for; it doubles as it fills."""


class GrowingCache(KeyValues):
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
        room = min(capacity, FIRST_ROOM)
        super().__init__(torch.zeros(n_layer, 2, batch, n_kv_head, room, head_size, dtype=dtype))
        self.capacity = capacity

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

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of a cache of the same shape; has room for it."""
        self.position = 0
        self.make_room(snapshot.position)
        super().restore(snapshot)
