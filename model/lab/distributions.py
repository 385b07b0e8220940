"""What a model expects next, and what can be said of a distribution: for many experiments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from model.config import Controls
from model.generate import Prompt
from model.lab.base import Series
from model.reader import Reader
from model.registry import ModelHandle
from model.run import Run
from model.sampling import mask


@torch.inference_mode()
def next_logits(handle: ModelHandle, text: str, *, fragment: bool = False) -> Tensor:
    """``[V]`` float32: the logits of what follows ``text``, read as a poem's beginning or, as
    a ``fragment``, as text from anywhere. Raises ``InputError`` for unknown characters."""
    ids = Prompt(text, fragment).encode(handle.tokenizer)
    return Reader(handle.model, handle.tokenizer).read(ids, Controls(), lambda: False).logits


def legal_logits(handle: ModelHandle, text: str) -> Tensor:
    """``next_logits`` with what a run would not draw there at -inf: the start tokens, and at
    the very start the end of the poem. Raises ``InputError`` for unknown characters."""
    prompt = Prompt(text)
    ids = prompt.encode(handle.tokenizer)
    begins = prompt.begins(ids, handle.tokenizer)
    run = Run(handle.tokenizer, ids, constrained_from=begins)
    return mask(next_logits(handle, text), allowed=run.allowed())


@torch.inference_mode()
def all_logits(handle: ModelHandle, tokens: Sequence[int]) -> Tensor:
    """``[N + 1, V]`` float32: the logits at the start of a text and after each of its N
    ``tokens``, cut to the model's block."""
    ids = [handle.tokenizer.start_id, *tokens][: handle.model.config.block_size]
    logits: Tensor = handle.model(torch.tensor([ids]))[0]
    return logits


def below(name: str, values: Iterable[float]) -> Series:
    """The share of ``values`` up to each of them, for a logarithmic axis: zeros count, and have
    no point."""
    ranked = sorted(values)
    points = ((value, (n + 1) / len(ranked)) for n, value in enumerate(ranked))
    return Series(name, tuple(point for point in points if point[0] > 0))


def nucleus_size(probabilities: Tensor, mass: float) -> int:
    """How many of the likeliest tokens it takes to reach ``mass``, (0, 1]; at least one.

    ``probabilities``: ``[V]``, adding up to 1. The token that crosses the mass is counted.
    """
    return nucleus_sizes(probabilities, (mass,))[0]


def nucleus_sizes(probabilities: Tensor, masses: tuple[float, ...]) -> list[int]:
    """``nucleus_size`` for each of ``masses`` with one sort."""
    running = probabilities.double().sort(descending=True).values.cumsum(0)
    found = torch.searchsorted(running, torch.tensor(masses, dtype=torch.float64) - 1e-9)
    return [min(int(place) + 1, len(probabilities)) for place in found]


def entropy_bits(probabilities: Tensor) -> float:
    """Shannon entropy in bits; tokens of probability 0 add nothing."""
    p = probabilities.double()
    return float(-(p * p.clamp_min(1e-300).log2()).sum())
