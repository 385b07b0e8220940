"""The keys and values of tokens already read, kept outside the model.

One cache belongs to one run. The model writes to it and reads from it through
``extend``; everything else (how much is filled, how many bytes that is, going
back) is answered here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from model.config import GPTConfig


class Snapshot(NamedTuple):
    """A cache's state at one moment: a copy that later writes do not touch."""

    position: int
    keys_values: Tensor


class Workspace:
    """Where a pass over one new token writes what it needs on the way, so that it asks for
    no memory: at this size, asking costs as much as computing. Worth nothing between passes.
    """

    def __init__(self, config: GPTConfig, batch: int, dtype: torch.dtype) -> None:
        width, head_size = config.n_embd, config.n_embd // config.n_head
        self.qkv = torch.empty(batch, 3 * width, dtype=dtype)
        query, *_ = parts = self.qkv.view(batch, 3, config.n_head, head_size).transpose(0, 1)
        self.query = query.unsqueeze(2)
        """Of ``qkv``, as ``[B, H, 1, hd]``."""
        self.keys_values = parts[1:]
        """Of ``qkv``, as ``[2, B, H, hd]``."""
        self.hidden = torch.empty(batch, 4 * width, dtype=dtype)
        self.gate = torch.empty(batch, 4 * width, dtype=dtype)


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
        self.workspace = Workspace(config, batch, dtype)
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

    def next_token(self) -> tuple[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]]:
        """For one more token, each with one view a layer: where its key and value go
        (``[2, B, H, hd]``), and the keys and the values up to it (``[B, H, T, hd]``).

        As ``extend`` does, but for all layers at once: making a view costs as much as
        a small product.
        """
        held = self._store[..., : self.position + 1, :].flatten(0, 1).unbind(0)
        return self._store.select(4, self.position).unbind(0), held[::2], held[1::2]

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
        self.workspace = Workspace(self.config, self.batch, self._store.dtype)

    def snapshot(self) -> Snapshot:
        """A copy of what is held, to come back to with ``restore``."""
        return Snapshot(self.position, self._store[..., : self.position, :].clone())

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of a cache of the same shape."""
        self._store[..., : snapshot.position, :] = snapshot.keys_values
        self.position = snapshot.position
