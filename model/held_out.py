"""What a model has learnt: its loss on poems that it never saw.

Knows nothing of training; the loop, the lab and the tests measure with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.data import IGNORE, Batch, evaluation_batches, token_characters
from model.gpt import GPT
from model.tokenizers import Tokenizer


class Stopped(Exception):
    """Measuring was given up because the caller asked for it."""


def summed_loss(module: nn.Module, batch: Batch, device: torch.device) -> Tensor:
    """Sum over the counted targets of their cross-entropy, in nats."""
    logits = module(batch.inputs.to(device))
    return F.cross_entropy(
        logits.flatten(0, 1).float(),
        batch.targets.to(device).flatten(),
        ignore_index=IGNORE,
        reduction="sum",
    )


@torch.no_grad()
def held_out_loss(
    model: GPT,
    poems: Sequence[np.ndarray],
    tokenizer: Tokenizer,
    device: torch.device,
    stopped: Callable[[], bool] = lambda: False,
) -> float:
    """Cross-entropy over ``poems``, each from its start, divided by their characters: nats a
    character for any tokenizer, so that models of other pieces compare. Raises ``Stopped``
    between two batches, once ``stopped`` is true."""
    model.eval()
    characters = token_characters(tokenizer)
    nats, counted = 0.0, 0
    for batch in evaluation_batches(
        poems,
        block_size=model.config.block_size,
        batch_tokens=4096,
        unk_id=tokenizer.unk_id,
    ):
        if stopped():
            raise Stopped
        nats += float(summed_loss(model, batch, device))
        counted += int(characters[batch.targets[batch.targets != IGNORE]].sum())
    return nats / counted
