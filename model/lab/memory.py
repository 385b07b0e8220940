"""What a cache takes: by the shape of its model, and by weighing the tensors that it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from model.benchmarks import GPT2
from model.cache import KVCache
from model.config import GPTConfig
from model.protocol import Cache


@dataclass(frozen=True, slots=True)
class Memory:
    """What the keys and values of one token take, in bytes."""

    name: str
    formula: str
    """Spelt out; empty where the model's shape is not known."""
    by_formula: int | None
    measured: float
    """Bytes of the tensors that hold them, for each token."""
    tokens: int
    """That were held when they were measured."""
    full: float
    """Bytes at the longest context, as measured for each token."""
    block_size: int


def held_memory(name: str, cache: Cache, model: Any) -> Memory:
    """Read a few tokens into ``cache`` and weigh the tensors that a snapshot of it holds."""
    tokens = min(16, cache.capacity)
    with torch.inference_mode():
        model(torch.arange(tokens).remainder(model.config.vocab_size).view(1, -1), cache, last=True)
    return _weighed(name, cache, *formula(model.config, _itemsize(model)))


def gpt2_memory() -> Memory:
    """GPT-2 small in float16, its cache alone: no weights are needed to weigh it."""
    cache = KVCache(GPT2, dtype=torch.float16)
    cache.advance(GPT2.block_size)
    return _weighed("GPT-2 small, float16", cache, *formula(GPT2, torch.float16.itemsize))


def formula(config: Any, itemsize: int) -> tuple[str, int | None]:
    """Bytes of a token's keys and values by the shape, and the product spelt out.

    2 · layers · width · bytes; where several query heads share one of keys and values
    (Ainslie et al. 2023), the width is key-value heads · size of a head.
    """
    if isinstance(config, GPTConfig):
        width, shape = config.n_embd, str(config.n_embd)
    elif hasattr(config, "n_kv_head"):
        width = config.n_kv_head * config.head_size
        shape = f"{config.n_kv_head} heads · {config.head_size}"
    else:
        return "", None
    return f"2 · {config.n_layer} · {shape} · {itemsize}", 2 * config.n_layer * width * itemsize


def tensor_bytes(held: Any) -> int:
    """Bytes of every tensor in a nest of tuples, lists and mappings."""
    if isinstance(held, torch.Tensor):
        return held.numel() * held.element_size()
    if isinstance(held, dict):
        return sum(map(tensor_bytes, held.values()))
    return sum(map(tensor_bytes, held)) if isinstance(held, list | tuple) else 0


def _itemsize(model: Any) -> int:
    dtype: torch.dtype = getattr(model, "dtype", torch.float32)
    return dtype.itemsize


def _weighed(name: str, cache: Cache, text: str, by_formula: int | None) -> Memory:
    a_token = tensor_bytes(cache.snapshot()) / cache.position
    return Memory(
        name, text, by_formula, a_token, cache.position, a_token * cache.capacity, cache.capacity
    )
