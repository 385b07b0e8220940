"""Any other causal language model: the forward pass of ``transformers`` itself, with a cache
that can be cut back, handed on and left out.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from model.errors import CheckpointError

KEEPS_EVERY_TOKEN = {"full_attention", "sliding_attention", "chunked_attention"}
"""Kinds of layers whose past is keys and values of single tokens, as the library names them."""


class LibraryCache:
    """Keys and values as the library keeps them."""

    def __init__(self, capacity: int, bytes_per_token: int, batch: int) -> None:
        """``capacity``: the longest context, in tokens."""
        # Without a model's configuration every layer keeps all of its tokens, so that all
        # can be cut back to any length; a layer's window is then only a matter of its mask.
        self.kept: Any = DynamicCache()
        self.capacity = capacity
        self.bytes_per_token = bytes_per_token
        self.batch = batch

    @property
    def position(self) -> int:
        """Tokens held: the position that the next token takes."""
        return int(self.kept.get_seq_length())

    @property
    def nbytes(self) -> int:
        """Bytes of the keys and values in use."""
        return self.bytes_per_token * self.position * self.batch

    def truncate(self, position: int) -> None:
        """Forget everything from ``position`` on; what stands before stays valid."""
        if not 0 <= position <= self.position:
            raise ValueError(f"cannot truncate to {position}: {self.position} tokens are held")
        if position == 0:
            self.kept = DynamicCache()
        elif position < self.position:
            self.kept.crop(position - self.position)  # below 0: so many fewer

    def keep_rows(self, rows: list[int]) -> None:
        """Keep these sequences of the batch, in this order."""
        if self.position:
            self.kept.batch_select_indices(torch.tensor(rows))
        self.batch = len(rows)

    def snapshot(self) -> list[tuple[Tensor, Tensor]]:
        """A copy of what is held, to come back to with ``restore``."""
        return [(layer.keys.clone(), layer.values.clone()) for layer in self._layers()]

    def restore(self, snapshot: list[tuple[Tensor, Tensor]]) -> None:
        """Go back to a snapshot of this cache."""
        self.kept = DynamicCache()
        for layer, (keys, values) in enumerate(snapshot):
            self.kept.update(keys.clone(), values.clone(), layer)

    def _layers(self) -> list[Any]:
        return [layer for layer in self.kept.layers if layer.get_seq_length()]


@dataclass(frozen=True, slots=True)
class LibraryShape:
    """The sizes of a model."""

    vocab_size: int
    block_size: int
    n_layer: int
    n_head: int
    n_kv_head: int
    n_embd: int
    head_size: int

    @classmethod
    def of(cls, model: Any) -> LibraryShape:
        """The shape of a model of the library; a context of 2,048 where it knows no limit."""
        text = model.config.get_text_config()
        heads, width = text.num_attention_heads, text.hidden_size
        return cls(
            vocab_size=model.get_output_embeddings().weight.shape[0],
            block_size=getattr(text, "max_position_embeddings", None) or 2048,
            n_layer=text.num_hidden_layers,
            n_head=heads,
            n_kv_head=getattr(text, "num_key_value_heads", None) or heads,
            n_embd=width,
            head_size=getattr(text, "head_dim", None) or width // heads,
        )


class LibraryModel:
    """A causal language model of ``transformers``, never trained."""

    def __init__(self, model: Any) -> None:
        """``model``: as ``AutoModelForCausalLM`` loads it.

        Raises ``CheckpointError`` for a model whose past cannot be cut back."""
        text = model.config.get_text_config()
        kinds = set(getattr(text, "layer_types", None) or ())
        if not hasattr(text, "num_attention_heads") or kinds - KEEPS_EVERY_TOKEN:
            raise CheckpointError(
                f"a {model.config.model_type} model keeps its past as one state, which cannot be "
                "cut back to an earlier token; this program needs a model with attention only"
            )
        self._model = model.eval().requires_grad_(False)
        self.config = LibraryShape.of(model)
        self.n_parameters = sum(p.numel() for p in model.parameters())
        takes = inspect.signature(model.forward).parameters
        self._last = {"logits_to_keep": 1} if "logits_to_keep" in takes else {}
        self._cache = "cache" if "cache" in takes else "past_key_values"

    def new_cache(self, batch: int = 1) -> LibraryCache:
        """An empty cache for ``batch`` sequences."""
        shape = self.config
        values = 2 * shape.n_layer * shape.n_kv_head * shape.head_size
        return LibraryCache(shape.block_size, values * self._model.dtype.itemsize, batch)

    @torch.inference_mode()
    def __call__(
        self, ids: Tensor, cache: LibraryCache | None = None, *, last: bool = False
    ) -> Tensor:
        """Logits ``[B, T, V]`` float32, with ``last`` ``[B, 1, V]``, of what follows ``ids``
        ``[B, T]``; with a cache they continue what it holds. Raises ``ValueError`` where the
        tokens do not fit ``block_size``."""
        start, block = 0 if cache is None else cache.position, self.config.block_size
        if start + ids.shape[1] > block:
            raise ValueError(f"{start} + {ids.shape[1]} tokens do not fit block_size {block}")
        logits: Tensor = self._model(
            input_ids=ids,
            use_cache=cache is not None,
            **{self._cache: cache.kept if cache is not None else None},
            **(self._last if last else {}),
        ).logits
        return (logits[:, -1:] if last else logits).float()
