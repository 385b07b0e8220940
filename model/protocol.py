"""What the engine asks of a model and of its cache.

Anything that conforms can be written with, inspected, raced and measured: this
program's own ``GPT``, and the models of other makers in ``model.pretrained``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from torch import Tensor


class Shape(Protocol):
    """The two sizes that the engine needs of any model."""

    @property
    def vocab_size(self) -> int:
        """Logits of a position: V."""

    @property
    def block_size(self) -> int:
        """Longest context, in tokens."""


class Cache(Protocol):
    """Keys and values of tokens already read. One cache belongs to one run at a time."""

    @property
    def position(self) -> int:
        """Tokens held: the position that the next token takes."""

    @property
    def capacity(self) -> int:
        """Tokens that fit."""

    @property
    def bytes_per_token(self) -> int:
        """Keys and values of one token in all layers, for each sequence."""

    @property
    def nbytes(self) -> int:
        """Bytes of the keys and values in use."""

    def truncate(self, position: int) -> None:
        """Forget everything from ``position`` on; what stands before stays valid.

        Raises ``ValueError`` for a position that is not held."""

    def keep_rows(self, rows: list[int]) -> None:
        """Keep these sequences of the batch, in this order."""

    def snapshot(self) -> Any:
        """A copy of what is held, to come back to with ``restore``."""

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot of this cache."""


class LanguageModel(Protocol):
    """What the engine asks of a model: ``GPT`` is one."""

    @property
    def config(self) -> Shape: ...

    def new_cache(self, batch: int = 1) -> Cache:
        """An empty cache for ``batch`` sequences, to be handed to ``__call__``."""

    def __call__(self, ids: Tensor, cache: Any = None, *, last: bool = False) -> Tensor:
        """Logits ``[B, T, V]`` float32, with ``last`` ``[B, 1, V]``, of what follows ``ids``
        ``[B, T]``. With a cache, ``ids`` continue what it holds, and it holds them too
        afterwards; without, everything is computed anew."""


@dataclass(frozen=True, slots=True)
class Held:
    """A cache and the tokens whose keys and values are in it, handed from one run to the
    next: a chat's next turn begins with everything that was said before."""

    cache: Cache
    ids: tuple[int, ...]
    """From position 0 on; as many as ``cache.position``."""

    @classmethod
    def of(cls, cache: Cache, window: Sequence[int]) -> Self:
        """What ``cache`` holds of the ``window`` that was fed to it from its start."""
        return cls(cache, tuple(window[: cache.position]))

    def common(self, ids: Sequence[int]) -> int:
        """How many tokens from the start are the same in ``ids``."""
        pairs = enumerate(zip(self.ids, ids, strict=False))
        shorter = min(len(self.ids), len(ids))
        return next((place for place, (ours, theirs) in pairs if ours != theirs), shorter)
