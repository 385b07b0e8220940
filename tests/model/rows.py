"""Small rows of logits, and what a stage left of them."""

from __future__ import annotations

import torch
from torch import Tensor

from model.sampling import History

INF = float("inf")


def row(*values: float) -> Tensor:
    return torch.tensor([values])


def kept(logits: Tensor) -> list[int]:
    return logits.reshape(-1).isfinite().nonzero()[:, 0].tolist()


def history(size: int, *tokens: int, exempt: tuple[int, ...] = ()) -> History:
    """Tokens generated so far, all of them seen."""
    generated = torch.bincount(torch.tensor(tokens, dtype=torch.long), minlength=size)[None]
    free = torch.zeros(size, dtype=torch.bool)
    free[list(exempt)] = True
    return History(generated.float(), generated > 0, free)
