"""The keys and values of tokens already read, kept outside the model.

One cache belongs to one run. The model writes to it and reads from it through
``extend``; everything else (how much is filled, how many bytes that is, going
back) is answered here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.config import GPTConfig

Array = NDArray[np.float32]


class Snapshot(NamedTuple):
    """A cache's state at one moment: a copy that later writes do not touch."""

    position: int
    keys_values: Tensor


class KeyValues:
    """Keys and values, ``[n_layer, 2, batch, heads, room, head_size]``, filled to a position."""

    capacity: int
    """Tokens that fit."""

    def __init__(self, store: Tensor) -> None:
        self._store = store
        layers, _, self.batch, heads, _, size = store.shape
        self.bytes_per_token = 2 * layers * heads * size * store.itemsize
        """2 · layers · heads of keys and values · size of a head · bytes per value, for each of
        the ``batch`` sequences held side by side."""
        self.position = 0
        """Tokens held: the position that the next token takes."""

    @property
    def nbytes(self) -> int:
        """Bytes of the keys and values in use: ``bytes_per_token`` · tokens · batch."""
        return self.bytes_per_token * self.position * self.batch

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store ``[B, H, T, hd]`` new keys and values after those held; return all of them.

        The position moves only with ``advance``, once every layer has written.
        """
        end = self.position + keys.shape[2]
        all_keys, all_values = self._store[layer, ..., :end, :].unbind(0)
        all_keys[:, :, self.position :] = keys
        all_values[:, :, self.position :] = values
        return all_keys, all_values

    def advance(self, tokens: int) -> None:
        """Count ``tokens`` as held, after a forward pass wrote them in every layer."""
        if self.position + tokens > self.capacity:
            raise ValueError(f"{self.position} + {tokens} tokens, but {self.capacity} fit")
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
        self._store[..., : snapshot.position, :] = snapshot.keys_values
        self.position = snapshot.position


class KVCache(KeyValues):
    """Preallocated for the whole context of a model."""

    def __init__(
        self, config: GPTConfig, batch: int = 1, dtype: torch.dtype = torch.float32
    ) -> None:
        shape = (config.n_layer, 2, batch, config.n_head, config.block_size)
        super().__init__(torch.zeros(*shape, config.n_embd // config.n_head, dtype=dtype))
        self.config = config
        self.capacity = config.block_size
        self.workspace: Any = None
        """What ``model.decode`` keeps with a cache, from its first pass on."""

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the whole preallocated store."""
        return self._store.nbytes

    def next_token(self) -> tuple[Array, Array]:
        """For one more token, in every layer: the keys and values up to and with it, ``[n_layer,
        2, B, H, T, hd]``, and where its own go, ``[n_layer, 2, B, H, hd]``. As ``extend``
        does, but for all layers at once and in NumPy: making a view costs as much as a small
        product.
        """
        T = self.position + 1
        store = self._store.numpy()  # the same memory
        return store[..., :T, :], store[..., T - 1, :]

    def keep_rows(self, rows: list[int]) -> None:
        """Keep these sequences of the batch, in this order; the others have ended."""
        super().keep_rows(rows)
        self.workspace = None
