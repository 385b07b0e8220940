"""The mean of models that were trained from one another.

Values of models that went on from one set of weights can be averaged: the mean lies lower
in the loss than either, as if the rate had been lowered once more (Izmailov et al. 2018,
stochastic weight averaging; Wortsman et al. 2022, model soups). Of models with beginnings
of their own the mean is noise: the loss that is measured afterwards tells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from model.checkpoint import Checkpoint
from model.errors import CheckpointError, InputError


def average(checkpoints: Sequence[Checkpoint], shares: Sequence[float]) -> Checkpoint:
    """The mean of all values, each checkpoint's weighed by its share, which need not add up
    to 1; the first one's model holds it. The training record lists what went in.

    Raises ``InputError`` for shares that are not one positive number each, and
    ``CheckpointError`` where two models differ in shape or in what their ids mean.
    """
    if len(checkpoints) < 2:
        raise InputError("a mean takes two models or more; name another checkpoint")
    if len(shares) != len(checkpoints):
        raise InputError(f"{len(shares)} shares for {len(checkpoints)} models: one for each")
    if not all(math.isfinite(share) and share > 0 for share in shares):
        raise InputError(f"shares are positive numbers, not {', '.join(map(str, shares))}")
    first = checkpoints[0]
    for other in checkpoints[1:]:
        # Nothing is dropped where a model is used: how it was trained does not matter.
        if replace(other.model.config, dropout=first.model.config.dropout) != first.model.config:
            raise CheckpointError(
                f"models of two shapes have no mean: {first.model.config} and {other.model.config}"
            )
        if other.tokenizer.hash != first.tokenizer.hash:
            raise CheckpointError("models of two vocabularies have no mean: their ids differ")
    parts = [share / math.fsum(shares) for share in shares]
    models = [dict(checkpoint.model.named_parameters()) for checkpoint in checkpoints]
    with torch.no_grad():
        for name, value in first.model.named_parameters():
            stacked = zip(parts, (model[name] for model in models), strict=True)
            value.copy_(sum((part * other.double() for part, other in stacked), torch.tensor(0.0)))
    return Checkpoint(first.model, first.tokenizer, _record(checkpoints, parts))


def _record(checkpoints: Sequence[Checkpoint], parts: Sequence[float]) -> dict[str, Any]:
    """The first one's record, and under ``mean_of`` the share and the record of each."""
    pairs = zip(parts, checkpoints, strict=True)
    return {
        **checkpoints[0].training,
        "mean_of": [{"share": part, **checkpoint.training} for part, checkpoint in pairs],
    }
