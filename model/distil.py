"""Training on what a teacher expects, beside what stands in the text.

A text shows one character where many could stand. A teacher, a model that is trained already,
says how probable each of them is, so that every position tells more than its character does
(knowledge distillation: Hinton et al. 2015). A model may be its own teacher (Furlanello et
al. 2018, "Born-again neural networks").
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.data import IGNORE, Batch
from model.gpt import GPT


@dataclass(frozen=True, slots=True)
class Teacher:
    """A trained model, in evaluation mode, and what part of each target it gives."""

    model: GPT
    share: float
    """(0, 1]; the rest is the character that stands in the text."""
    digest: str
    """Of its file: a run goes on only with the teacher that it began with."""


def mixed_loss(module: nn.Module, teacher: Teacher, batch: Batch, device: torch.device) -> Tensor:
    """Sum over the counted targets of the cross-entropy against the mixture of the text's
    character and the teacher's probabilities, in nats. The ids of both models must mean
    the same characters, and the teacher's block must hold the batch."""
    inputs, targets = batch.inputs.to(device), batch.targets.to(device).flatten()
    counted = targets != IGNORE
    with torch.no_grad():
        expected = teacher.model(inputs).flatten(0, 1).float().softmax(-1).mul_(teacher.share)
        token = targets.where(counted, 0)[:, None]
        expected.scatter_add_(1, token, expected.new_full(token.shape, 1 - teacher.share))
        expected *= counted[:, None]
    logits = module(inputs).flatten(0, 1).float()
    return F.cross_entropy(logits, expected, reduction="sum")
