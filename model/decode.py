"""One more token through a GPT, with little else than its arithmetic.

A pass over a single position computes so little that a small model spends most of
its time between the operations. Here are the same operations as in ``GPT.forward``,
on ``[B, C]`` and straight from the weights, without modules: half the time for the
lesson's shape. The tests hold both to the same logits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from model.cache import KVCache

if TYPE_CHECKING:
    from model.gpt import GPT, Block

_HALF = math.sqrt(0.5)


class _Layer(NamedTuple):
    """A block's weights, matrices as ``[in, out]``."""

    gain1: Tensor
    shift1: Tensor
    qkv: Tensor
    qkv_bias: Tensor
    attended: Tensor
    attended_bias: Tensor
    gain2: Tensor
    shift2: Tensor
    fc: Tensor
    fc_bias: Tensor
    """Times √½, as ``fc`` is when it is applied."""
    proj: Tensor
    proj_bias: Tensor


class OneToken:
    """The forward pass for one new token a sequence. Shares the model's weights, which
    must not be trained on or moved to another device meanwhile."""

    def __init__(self, model: GPT) -> None:
        self._embedding = model.tokens.weight.detach()
        self._positions = model.positions.weight.detach()
        self._layers = [_layer(block) for block in model.blocks]  # type: ignore[arg-type]
        self._gain = model.ln.weight.detach()
        self._shift = model.ln.bias.detach()
        self._head = self._embedding.t()
        self._n_head = model.config.n_head
        self._width = (model.config.n_embd,)

    def __call__(self, ids: Tensor, cache: KVCache) -> Tensor:
        """Logits ``[B, 1, V]`` of what follows ``ids`` ``[B, 1]``, which the cache then holds."""
        B, width = ids.shape[0], self._width
        token = int(ids) if B == 1 else ids[:, 0]  # a row by number is a view, no lookup
        x = (self._embedding[token] + self._positions[cache.position]).view(B, -1)  # [B, C]
        written, keys, values = cache.next_token()
        for w, place, k, v in zip(self._layers, written, keys, values, strict=True):
            normal = torch.layer_norm(x, width, w.gain1, w.shift1)
            # [3, B, H, hd]: query, key, value
            qkv = torch.addmm(w.qkv_bias, normal, w.qkv).view(B, 3, self._n_head, -1)
            qkv = qkv.transpose(0, 1)
            place.copy_(qkv[1:])
            y = F.scaled_dot_product_attention(qkv[0].unsqueeze(2), k, v).view(B, -1)
            x = torch.addmm(x, y, w.attended).add_(w.attended_bias)
            normal = torch.layer_norm(x, width, w.gain2, w.shift2)
            # GELU(a) = a · (1 + erf(a·√½)) / 2. The products bring the factors along: with
            # h = a·√½ it is √½ · (h + h·erf(h)), at a third of the price of F.gelu.
            h = torch.addmm(w.fc_bias, normal, w.fc, alpha=_HALF)
            h = torch.addcmul(h, h, torch.erf(h))
            x = torch.addmm(x, h, w.proj, alpha=_HALF).add_(w.proj_bias)
        cache.advance(1)
        x = torch.layer_norm(x, width, self._gain, self._shift)
        return torch.mm(x, self._head).view(B, 1, -1)


def _layer(block: Block) -> _Layer:
    def weight(name: str) -> Tensor:
        return block.get_parameter(name).detach()

    return _Layer(
        weight("ln1.weight"),
        weight("ln1.bias"),
        weight("attn.qkv.weight").t(),
        weight("attn.qkv.bias"),
        weight("attn.proj.weight").t(),
        weight("attn.proj.bias"),
        weight("ln2.weight"),
        weight("ln2.bias"),
        weight("fc.weight").t(),
        weight("fc.bias") * _HALF,
        weight("proj.weight").t(),
        weight("proj.bias"),
    )
