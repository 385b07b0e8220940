"""One more token through a GPT, with little else than its arithmetic.

A pass over a single position computes so little that a small model spends most of
its time between the operations. Here are the same operations as in ``GPT.forward``,
on ``[B, C]`` and straight from the weights, without modules: half the time for the
lesson's shape. The tests hold both to the same logits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch.nn.functional as F
from torch import Tensor, addcmul, addmm, erf, layer_norm, mm

from model.cache import KVCache

if TYPE_CHECKING:
    from model.gpt import GPT, Block

_HALF = math.sqrt(0.5)


class _Layer(NamedTuple):
    """A block's weights, matrices as ``[in, out]``."""

    attention: tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
    """Gain and shift of the norm, then projection and bias to queries, keys and values,
    then those of what was attended to."""
    perceptron: tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
    """Gain and shift of the norm, then matrix and bias (times √½, as the matrix is when it
    is applied) to the hidden units, then those back."""


class OneToken:
    """The forward pass for one new token a sequence. Shares the model's weights, which
    must not be trained on or moved to another device meanwhile."""

    def __init__(self, model: GPT) -> None:
        embedding = model.tokens.weight.detach()
        self._embedding = embedding.contiguous()  # a token's values side by side
        self._positions = model.positions.weight.detach()
        self._layers = [_layer(block) for block in model.blocks]  # type: ignore[arg-type]
        self._gain = model.ln.weight.detach()
        self._shift = model.ln.bias.detach()
        self._head = embedding.t()
        self._n_head = model.config.n_head
        self._width = (model.config.n_embd,)

    def __call__(self, ids: Tensor, cache: KVCache) -> Tensor:
        """Logits ``[B, 1, V]`` of what follows ``ids`` ``[B, 1]``, which the cache then holds."""
        B = ids.shape[0]
        token = int(ids) if B == 1 else ids[:, 0]  # a row by number is a view, no lookup
        x = (self._embedding[token] + self._positions[cache.position]).view(B, -1)  # [B, C]
        room, width = cache.workspace, self._width
        for weights, place, keys, values in zip(self._layers, *cache.next_token(), strict=True):
            (gain1, shift1, qkv, qkv_bias, attended, attended_bias) = weights.attention
            (gain2, shift2, fc, fc_bias, proj, proj_bias) = weights.perceptron
            addmm(qkv_bias, layer_norm(x, width, gain1, shift1), qkv, out=room.qkv)
            place.copy_(room.keys_values)
            y = F.scaled_dot_product_attention(room.query, keys, values)  # [B, H, 1, hd]
            x.addmm_(y.view(B, -1), attended).add_(attended_bias)
            normal = layer_norm(x, width, gain2, shift2)
            # GELU(a) = a · (1 + erf(a·√½)) / 2. The products bring the factors along: with
            # h = a·√½ it is √½ · (h + h·erf(h)), at a third of the price of F.gelu.
            h = addmm(fc_bias, normal, fc, alpha=_HALF, out=room.hidden)
            gelu = addcmul(h, h, erf(h, out=room.gate), out=room.gate)
            x.addmm_(gelu, proj, alpha=_HALF).add_(proj_bias)
        cache.advance(1)
        x = layer_norm(x, width, self._gain, self._shift)
        return mm(x, self._head).view(B, 1, -1)


def _layer(block: Block) -> _Layer:
    def weight(name: str) -> Tensor:
        return block.get_parameter(name).detach()

    return _Layer(
        (
            weight("ln1.weight"),
            weight("ln1.bias"),
            weight("attn.qkv.weight").t(),
            weight("attn.qkv.bias"),
            weight("attn.proj.weight").t(),
            weight("attn.proj.bias"),
        ),
        (
            weight("ln2.weight"),
            weight("ln2.bias"),
            weight("fc.weight").t(),
            weight("fc.bias") * _HALF,
            weight("proj.weight").t(),
            weight("proj.bias"),
        ),
    )
