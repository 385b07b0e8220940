"""The Llama family's forward pass, laid out for one more token at a time.

Llama, SmolLM2 and Qwen2 alike: RMS norms (Zhang & Sennrich 2019), rotary positions (Su et
al. 2021), several query heads to one of keys and values (Ainslie et al. 2023), a gated
perceptron (Shazeer 2020). A token's pass reads every weight once and computes little, so
that what counts is how few reads there are and in which order the values lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from threadpoolctl import threadpool_limits
from torch import Tensor

from model.pretrained.cache import GrowingCache

Read = Callable[[str], Tensor | None]
"""Gives a weight by its name in ``transformers``; ``None`` where there is none."""


@dataclass(frozen=True, slots=True)
class LlamaShape:
    """The shape of a model of the family."""

    vocab_size: int
    block_size: int
    """Longest context in tokens."""
    n_layer: int
    n_head: int
    n_kv_head: int
    n_embd: int
    head_size: int
    norm_eps: float
    rope_theta: float
    tied: bool
    """The head is the embedding."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> LlamaShape | None:
        """What a ``config.json`` describes; ``None`` where any of it is not the plain family:
        scaled rotary positions, sliding windows, other activations."""
        rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
        plain = (
            config.get("model_type") in ("llama", "qwen2")
            and config.get("hidden_act", "silu") == "silu"
            and rope.get("rope_type", rope.get("type", "default")) == "default"
            and rope.get("partial_rotary_factor", 1.0) == 1.0
            and not config.get("mlp_bias")
            and not config.get("use_sliding_window")
            and {*(config.get("layer_types") or ["full_attention"])} == {"full_attention"}
        )
        if not plain:
            return None
        heads, width = config["num_attention_heads"], config["hidden_size"]
        return cls(
            vocab_size=config["vocab_size"],
            block_size=config["max_position_embeddings"],
            n_layer=config["num_hidden_layers"],
            n_head=heads,
            n_kv_head=config.get("num_key_value_heads") or heads,
            n_embd=width,
            head_size=config.get("head_dim") or width // heads,
            norm_eps=config["rms_norm_eps"],
            rope_theta=rope.get("rope_theta") or config.get("rope_theta", 10000.0),
            tied=bool(config.get("tie_word_embeddings", False)),
        )


class _Matrix:
    """A product with a weight ``[out, in]``, stored the way its type is read fastest.

    One row of float32 is NumPy's, which takes three quarters of torch's time with a matrix
    that is contiguous as ``[in, out]``; torch's kernels for bfloat16 want it as it is.
    """

    __slots__ = ("_array", "_bias", "weight")

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self._bias = bias
        self._array = None
        self.weight = weight
        if weight.dtype == torch.float32:
            self.weight = weight.t().contiguous().t()
            self._array = self.weight.t().numpy()

    def __call__(self, x: Tensor) -> Tensor:
        """``[N, in]`` to ``[N, out]``."""
        if len(x) > 1 or self._array is None:
            return F.linear(x, self.weight, self._bias)
        product = torch.from_numpy(x.numpy() @ self._array)
        return product if self._bias is None else product.add_(self._bias)


class _Layer(NamedTuple):
    """A block's weights."""

    norm1: Tensor
    qkv: _Matrix
    """To queries, keys and values, side by side."""
    attended: _Matrix
    norm2: Tensor
    gate_up: _Matrix
    """To the gates and what they let through, side by side."""
    down: _Matrix


class Llama:
    """A model of the family, ready to decode; never trained."""

    def __init__(self, shape: LlamaShape, read: Read, dtype: torch.dtype) -> None:
        """``read`` is asked for each weight once, so that a file can be read piece by piece.

        Raises ``KeyError`` for a weight that is missing and ``ValueError`` for one of
        another shape.
        """
        self.config = shape
        self.dtype = dtype
        self._read, self.n_parameters = read, 0
        self._embedding = _Matrix(
            self._take("model.embed_tokens.weight", shape.vocab_size, shape.n_embd)
        )
        self._layers = [self._layer(f"model.layers.{i}") for i in range(shape.n_layer)]
        self._norm = self._take("model.norm.weight", shape.n_embd)
        self._head = self._embedding
        if not shape.tied:
            self._head = _Matrix(self._take("lm_head.weight", shape.vocab_size, shape.n_embd))
        del self._read
        # Products of one row are NumPy's, and it takes every core unless it is told.
        threadpool_limits(torch.get_num_threads(), user_api="blas")
        self._turns = _turns(shape, 1)

    def new_cache(self, batch: int = 1) -> GrowingCache:
        """An empty cache for ``batch`` sequences."""
        shape = self.config
        return GrowingCache(
            n_layer=shape.n_layer,
            n_kv_head=shape.n_kv_head,
            head_size=shape.head_size,
            capacity=shape.block_size,
            batch=batch,
            dtype=self.dtype,
        )

    @torch.inference_mode()
    def __call__(
        self, ids: Tensor, cache: GrowingCache | None = None, *, last: bool = False
    ) -> Tensor:
        """Logits ``[B, T, V]`` float32, with ``last`` ``[B, 1, V]``, of what follows ``ids``
        ``[B, T]``. With a cache, ``ids`` continue what it holds, and it holds them too
        afterwards. Raises ``ValueError`` where the tokens do not fit ``block_size``."""
        B, T = ids.shape
        start = 0 if cache is None else cache.position
        if start + T > self.config.block_size:
            raise ValueError(f"{start} + {T} tokens do not fit block_size {self.config.block_size}")
        if cache is not None:
            cache.make_room(T)
        turns = self._turns_from(start, T)
        mask = None
        if start and T > 1:
            # Row i is position start + i and sees start + i + 1 keys.
            mask = torch.ones(T, start + T, dtype=torch.bool).tril(start)
        x = self._embedding.weight[ids.reshape(-1)]  # [B·T, C]
        for i, layer in enumerate(self._layers):
            normal = self._rms(x, layer.norm1)
            x = x + layer.attended(self._attention(i, layer.qkv(normal), turns, cache, mask, B))
            gate, up = layer.gate_up(self._rms(x, layer.norm2)).chunk(2, -1)
            x = x + layer.down(F.silu(gate) * up)
        if cache is not None:
            cache.advance(T)
        if last:
            x = x.view(B, T, -1)[:, -1]
        return self._head(self._rms(x, self._norm)).float().view(B, 1 if last else T, -1)

    def _attention(
        self,
        layer: int,
        qkv: Tensor,
        turns: Tensor,
        cache: GrowingCache | None,
        mask: Tensor | None,
        batch: int,
    ) -> Tensor:
        """``[B·T, (H + 2·KV)·hd]`` to what was attended to, ``[B·T, H·hd]``."""
        shape = self.config
        H, KV, size = shape.n_head, shape.n_kv_head, shape.head_size
        heads = qkv.view(batch, -1, H + 2 * KV, size)  # [B, T, H + 2·KV, hd]
        T = heads.shape[1]
        turned = _turn(heads[:, :, : H + KV], turns).transpose(1, 2)  # [B, H + KV, T, hd]
        q, k = turned[:, :H], turned[:, H:]
        v = heads[:, :, H + KV :].transpose(1, 2)
        if cache is not None:
            k, v = cache.extend(layer, k, v)
        if T == 1:  # the queries of a group side by side, as if they were positions
            y = F.scaled_dot_product_attention(q.reshape(batch, KV, H // KV, size), k, v)
            return y.reshape(batch, -1)
        if KV < H:
            k, v = (part.repeat_interleave(H // KV, 1) for part in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        return y.transpose(1, 2).reshape(batch * T, -1)

    def _rms(self, x: Tensor, gain: Tensor) -> Tensor:
        return F.rms_norm(x, (self.config.n_embd,), gain, self.config.norm_eps)

    def _turns_from(self, start: int, tokens: int) -> Tensor:
        """Rotations of these positions: ``[T, 1, hd/2]`` complex."""
        if start + tokens > len(self._turns):
            self._turns = _turns(self.config, min(self.config.block_size, 2 * (start + tokens)))
        return self._turns[start : start + tokens]

    def _layer(self, name: str) -> _Layer:
        shape = self.config
        width, kv_width = shape.n_head * shape.head_size, shape.n_kv_head * shape.head_size
        attention, perceptron = f"{name}.self_attn", f"{name}.mlp"
        qkv = [
            self._rows(f"{attention}.{part}", rows, paired=part != "v_proj")
            for part, rows in (("q_proj", width), ("k_proj", kv_width), ("v_proj", kv_width))
        ]
        biases = [bias for _, bias in qkv if bias is not None]
        gate = self._take(f"{perceptron}.gate_proj.weight", None, shape.n_embd)
        up = self._take(f"{perceptron}.up_proj.weight", len(gate), shape.n_embd)
        return _Layer(
            self._take(f"{name}.input_layernorm.weight", shape.n_embd),
            _Matrix(torch.cat([rows for rows, _ in qkv]), torch.cat(biases) if biases else None),
            _Matrix(
                self._take(f"{attention}.o_proj.weight", shape.n_embd, width),
                self._maybe(f"{attention}.o_proj.bias", shape.n_embd),
            ),
            self._take(f"{name}.post_attention_layernorm.weight", shape.n_embd),
            _Matrix(torch.cat([gate, up])),
            _Matrix(self._take(f"{perceptron}.down_proj.weight", shape.n_embd, len(gate))),
        )

    def _rows(self, name: str, rows: int, *, paired: bool) -> tuple[Tensor, Tensor | None]:
        """A projection to heads, ``[rows, C]``, and its bias. ``paired``: the two values that
        a rotary position turns together stand side by side, as one complex number does;
        products of queries and keys stay what they were."""
        weight = self._take(f"{name}.weight", rows, self.config.n_embd)
        bias = self._maybe(f"{name}.bias", rows)
        if not paired:
            return weight, bias
        size = self.config.head_size
        order = torch.arange(rows).view(-1, 2, size // 2).transpose(1, 2).reshape(-1)
        return weight[order], None if bias is None else bias[order]

    def _take(self, name: str, *sizes: int | None) -> Tensor:
        """A copy of a weight; a size that is ``None`` may be any."""
        found = self._maybe(name, *sizes)
        if found is None:
            raise KeyError(name)
        return found

    def _maybe(self, name: str, *sizes: int | None) -> Tensor | None:
        found = self._read(name)
        if found is None:
            return None
        fits = len(found.shape) == len(sizes) and all(
            size in (None, there) for size, there in zip(sizes, found.shape, strict=True)
        )
        if not fits:
            raise ValueError(f"{name} is {[*found.shape]}")
        self.n_parameters += found.numel()
        return found.to(self.dtype, copy=True)


def _turns(shape: LlamaShape, positions: int) -> Tensor:
    """What each pair of a head's values is multiplied with at each position: ``[positions, 1,
    hd/2]``, complex numbers of length 1."""
    steps = torch.arange(0, shape.head_size, 2, dtype=torch.int64).float() / shape.head_size
    angles = torch.outer(torch.arange(positions).float(), 1.0 / shape.rope_theta**steps)
    return torch.polar(torch.ones_like(angles), angles).unsqueeze(1)


def _turn(heads: Tensor, turns: Tensor) -> Tensor:
    """Rotary positions: ``[B, T, H, hd]`` turned by ``[T, 1, hd/2]``."""
    pairs = torch.view_as_complex(heads.float().view(*heads.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2).to(heads.dtype)
