"""The transformer of the lesson, whole: a pre-LN GPT with learned positions.

``forward(ids, cache=None)``: the cache is an argument, and its absence means that
everything is computed anew. The model keeps no state between calls, so that one
model serves any number of runs.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.cache import KVCache
from model.config import GPTConfig
from model.decode import OneToken


class Attention(nn.Module):
    """Causal multi-head self-attention."""

    def __init__(self, config: GPTConfig, layer: int) -> None:
        super().__init__()
        self.layer = layer
        self.n_head = config.n_head
        self.dropout = config.dropout
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.proj = nn.Linear(config.n_embd, config.n_embd)

    def forward(self, x: Tensor, cache: KVCache | None, mask: Tensor | None) -> Tensor:
        B, T, C = x.shape
        # [B, T, 3C] -> three of [B, H, T, hd]
        q, k, v = self.qkv(x).view(B, T, 3, self.n_head, -1).permute(2, 0, 3, 1, 4).unbind(0)
        if cache is not None:
            k, v = cache.extend(self.layer, k, v)
        y = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask,
            is_causal=mask is None and T > 1,
            dropout_p=self.dropout if self.training else 0.0,
        )
        projected: Tensor = self.proj(y.transpose(1, 2).reshape(B, T, C))
        return projected


class Block(nn.Module):
    """Attention and a two-layer perceptron, each on a normalised copy of the residual stream."""

    def __init__(self, config: GPTConfig, layer: int) -> None:
        super().__init__()
        self.ln1 = nn.LayerNorm(config.n_embd)
        self.attn = Attention(config, layer)
        self.ln2 = nn.LayerNorm(config.n_embd)
        self.fc = nn.Linear(config.n_embd, 4 * config.n_embd)
        self.proj = nn.Linear(4 * config.n_embd, config.n_embd)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, cache: KVCache | None, mask: Tensor | None) -> Tensor:
        x = x + self.drop(self.attn(self.ln1(x), cache, mask))
        x = x + self.drop(self.proj(F.gelu(self.fc(self.ln2(x)))))
        return x


class GPT(nn.Module):
    """Token and position embeddings, ``n_layer`` blocks, and a head tied to the embedding."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.n_embd)
        self.positions = nn.Embedding(config.block_size, config.n_embd)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.n_layer))
        self.ln = nn.LayerNorm(config.n_embd)
        self.apply(self._initialise)
        for name, parameter in self.named_parameters():
            if name.endswith("proj.weight"):  # 2 residual additions a layer: keep their sum's size
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * config.n_layer))
        self._one_token: OneToken | None = None  # once laid out for decoding

    @staticmethod
    def _initialise(module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)

    @property
    def n_parameters(self) -> int:
        """Trainable values, the tied head counted once."""
        return sum(p.numel() for p in self.parameters())

    def new_cache(self, batch: int = 1) -> KVCache:
        """An empty cache for ``batch`` sequences."""
        return KVCache(self.config, batch)

    def forward(self, ids: Tensor, cache: KVCache | None = None, *, last: bool = False) -> Tensor:
        """Logits ``[B, T, vocab_size]`` of the tokens that follow ``ids`` ``[B, T]``.

        With ``last`` only those of the last position: ``[B, 1, vocab_size]``. With a
        cache, ``ids`` continue what it holds, and it holds them too afterwards.
        Raises ``ValueError`` where the tokens do not fit ``block_size``.
        """
        T = ids.shape[1]
        start = 0 if cache is None else cache.position
        if start + T > self.config.block_size:
            raise ValueError(f"{start} + {T} tokens do not fit block_size {self.config.block_size}")
        if self._one_token is not None and cache is not None and T == 1:
            return self._one_token(ids, cache)
        x = self.drop(self.tokens(ids) + self.positions.weight[start : start + T])  # [B, T, C]
        mask = None
        if start and T > 1:
            # Row i is position start + i and sees start + i + 1 keys. `is_causal` would
            # align the triangle to the first keys instead of the last.
            mask = torch.ones(T, start + T, dtype=torch.bool, device=ids.device).tril(start)
        for block in self.blocks:
            x = block(x, cache, mask)
        if cache is not None:
            cache.advance(T)
        if last:
            x = x[:, -1:]
        return F.linear(self.ln(x), self.tokens.weight)

    def lay_out_for_decoding(self) -> GPT:
        """Make the model fast at one more token, and no longer trainable; returns self.

        A second set of weights serves those passes (``model.decode``). Float32 on the CPU
        only. Shapes and results stay the same.
        """
        self.requires_grad_(False)
        self._one_token = OneToken(self)
        return self
