"""Counting multiply-adds: by formula, and by watching the products that torch computes.

A product of ``[n, k]`` with ``[k, m]`` is n·k·m multiply-adds; so are the two products of
attention, counted whole, also where a kernel skips what the causal mask hides. Everything
else (norms, GELU, softmax) is proportional to the values, not to products, and left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from model.config import GPTConfig


@dataclass(frozen=True, slots=True)
class Work:
    """Multiply-adds by where they are spent; these add up."""

    layers: int = 0
    """Projections and the perceptron: products with weights, N·d²."""
    attention: int = 0
    """Queries with keys, and weights with values: N·T·d."""
    head: int = 0
    """The product with the vocabulary: N·d·V."""

    def __add__(self, other: Work) -> Work:
        return Work(
            self.layers + other.layers, self.attention + other.attention, self.head + other.head
        )

    @property
    def total(self) -> int:
        """All of them."""
        return self.layers + self.attention + self.head


def by_formula(config: GPTConfig, new: int, held: int = 0) -> Work:
    """A pass over ``new`` tokens after ``held`` cached ones, logits at the last one only.

    A layer's weights are 3·d² for queries, keys and values, d² behind attention, 8·d² in the
    perceptron: 12·d² a token. Each new token meets ``new + held`` keys and as many values.
    """
    d = config.n_embd
    return Work(
        layers=config.n_layer * new * 12 * d * d,
        attention=config.n_layer * new * (new + held) * 2 * d,
        head=d * config.vocab_size,
    )


class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the multiply-adds of every product computed while it is entered."""

    def __init__(self, vocab_size: int) -> None:
        """``vocab_size`` tells the head's product from those of the layers."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.work = Work()
        self._vocab_size = vocab_size

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        count = _PRODUCTS.get(func.overloadpacket)
        if count is not None:
            self.work += count(self._vocab_size, *args)
        elif func.overloadpacket in _COMPOSITE:  # whole under inference_mode: look inside
            with self:
                return func.decompose(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _product(vocab_size: int, left: Tensor, right: Tensor) -> Work:
    """``[.., n, k]`` with ``[.., k, m]``."""
    n, k, m = left.shape[-2], left.shape[-1], right.shape[-1]
    batch = left.shape[0] if left.dim() == 3 else 1
    return Work(head=batch * n * k * m) if m == vocab_size else Work(layers=batch * n * k * m)


def _added_product(vocab_size: int, _: Tensor, left: Tensor, right: Tensor) -> Work:
    return _product(vocab_size, left, right)


def _by_vector(vocab_size: int, matrix: Tensor, _: Tensor) -> Work:
    """``[m, k]`` with ``[k]``."""
    work = matrix.numel()
    return Work(head=work) if matrix.shape[0] == vocab_size else Work(layers=work)


def _added_by_vector(vocab_size: int, _: Tensor, matrix: Tensor, vector: Tensor) -> Work:
    return _by_vector(vocab_size, matrix, vector)


def _batched(_: int, left: Tensor, right: Tensor) -> Work:
    """Attention spelt out in two products."""
    return Work(attention=left.numel() * right.shape[-1])


def _attention(_: int, query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Work:
    """``[B, H, T, hd]`` queries over ``[B, H, K, hd]`` keys and values."""
    return Work(attention=query.numel() * key.shape[-2] + query.numel() * value.shape[-2])


_aten = torch.ops.aten
_PRODUCTS: dict[Any, Callable[..., Work]] = {
    _aten.mm: _product,
    _aten.addmm: _added_product,
    _aten.addmm_: _added_product,
    _aten.mv: _by_vector,
    _aten.addmv: _added_by_vector,
    _aten.addmv_: _added_by_vector,
    _aten.bmm: _batched,
    _aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    _aten._scaled_dot_product_flash_attention: _attention,
    _aten._scaled_dot_product_efficient_attention: _attention,
}
_COMPOSITE = {_aten.linear, _aten.matmul, _aten.scaled_dot_product_attention}
