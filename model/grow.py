"""A deeper model that begins where a trained one stands.

New layers add nothing to the residual stream at first (their last matrices are zero), so
that the grown model gives the same logits as the old one and training goes on from its
loss instead of from chance (function-preserving growth: Chen et al. 2016, "Net2Net").
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from model.errors import InputError
from model.gpt import GPT


def deepen(model: GPT, n_layer: int, block_size: int, *, dropout: float = 0.0) -> GPT:
    """A model of ``n_layer`` layers and ``block_size`` positions with the logits of ``model``
    for every text that fits it; in training it drops the share ``dropout`` of its activations.
    New values come from torch's generator.

    Raises ``InputError`` where the new shape is smaller than the old one.
    """
    old = model.config
    if n_layer < old.n_layer or block_size < old.block_size:
        raise InputError(
            f"a model grows: from {old.n_layer} layers and block {old.block_size} it cannot "
            f"become one of {n_layer} layers and block {block_size}"
        )
    grown = GPT(replace(old, n_layer=n_layer, block_size=block_size, dropout=dropout))
    places = {i * n_layer // old.n_layer: i for i in range(old.n_layer)}
    with torch.no_grad():
        grown.tokens.weight.copy_(model.tokens.weight)
        grown.positions.weight[: old.block_size] = model.positions.weight
        grown.ln.load_state_dict(model.ln.state_dict())
        for place, block in enumerate(grown.blocks):
            if place in places:
                block.load_state_dict(model.blocks[places[place]].state_dict())
            else:
                for layer in (block.get_submodule("attn.proj"), block.get_submodule("proj")):
                    nn.init.zeros_(layer.get_parameter("weight"))
                    nn.init.zeros_(layer.get_parameter("bias"))
    return grown
