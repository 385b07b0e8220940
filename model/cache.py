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


class KVCache:
    """Preallocated keys and values: ``[n_layer, 2, batch, n_head, block_size, head_size]``."""

    def __init__(
        self, config: GPTConfig, batch: int = 1, dtype: torch.dtype = torch.float32
    ) -> None:
        self.config = config
        head_size = config.n_embd // config.n_head
        self._store = torch.zeros(
            config.n_layer, 2, batch, config.n_head, config.block_size, head_size, dtype=dtype
        )
        self.workspace: Any = None
        """What ``model.decode`` keeps with a cache, from its first pass on."""
        self.bytes_per_token = 2 * config.n_layer * config.n_embd * dtype.itemsize
        """2 · layers · width · bytes per value, for each sequence."""
        self.batch = batch
        """Sequences held side by side."""
        self.position = 0
        """Tokens held: the position that the next token takes."""

    @property
    def capacity(self) -> int:
        """Tokens that fit."""
        return self._store.shape[4]

    @property
    def nbytes(self) -> int:
        """Bytes of the keys and values in use: ``bytes_per_token`` · tokens · batch."""
        return self.bytes_per_token * self.position * self.batch

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the whole preallocated store."""
        return self._store.nbytes

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store ``[B, H, T, hd]`` new keys and values after those held; return all of them.

        The position moves only with ``advance``, once every layer has written.
        """
        end = self.position + keys.shape[2]
        all_keys, all_values = self._store[layer, ..., :end, :]
        all_keys[:, :, self.position :] = keys
        all_values[:, :, self.position :] = values
        return all_keys, all_values

    def next_token(self) -> tuple[Array, Array]:
        """For one more token, in every layer: the keys and values up to and with it, ``[n_layer,
        2, B, H, T, hd]``, and where its own go, ``[n_layer, 2, B, H, hd]``. As ``extend``
        does, but for all layers at once and in NumPy: making a view costs as much as a small
        product.
        """
        T = self.position + 1
        store = self._store.numpy()  # the same memory
        return store[..., :T, :], store[..., T - 1, :]

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
        self.workspace = None

    def snapshot(self) -> Snapshot:
        """A copy of what is held, to come back to with ``restore``."""
        return Snapshot(self.position, self._store[..., : self.position, :].clone())

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of a cache of the same shape."""
        self._store[..., : snapshot.position, :] = snapshot.keys_values
        self.position = snapshot.position
