"""Where a text begins to go round, and how much likelier each round is than the one before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from model.lab.distributions import all_logits
from model.registry import ModelHandle

ROUNDS = 3
"""A text goes round when it ends in so many rounds of the same tokens."""
LEAST = 12
"""And in at least so many tokens: 不不不 is no loop yet."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A text that ends in rounds of the same tokens."""

    begins: int
    """Tokens before the first round."""
    length: int
    """Tokens of a round."""


def loop_of(tokens: Sequence[Hashable]) -> Loop | None:
    """The loop that ``tokens`` end in, of the shortest round; ``None`` where they end in none."""
    n = len(tokens)
    for length in range(1, n // ROUNDS + 1):
        same = 0
        while same < n - length and tokens[n - 1 - same] == tokens[n - 1 - same - length]:
            same += 1
        if same + length >= max(ROUNDS * length, LEAST):
            return Loop(n - same - length, length)
    return None


@torch.inference_mode()
def in_rounds(handle: ModelHandle, phrase: Sequence[int], rounds: int) -> list[float]:
    """Mean raw probability of the tokens of ``phrase`` in each of ``rounds`` copies of it, one
    after the other from a text's start: how much repeating it makes it likelier (measured so
    by Xu et al. 2022, "Learning to Break the Loop")."""
    logits = all_logits(handle, [*phrase] * rounds)
    targets = torch.tensor([*phrase] * rounds)[: len(logits) - 1, None]
    chances = logits[:-1].softmax(-1).gather(-1, targets)[:, 0]
    return [float(part.mean()) for part in torch.split(chances, len(phrase))]


def commonest(tokens: Sequence[int], n: int = 4) -> tuple[tuple[int, ...], int]:
    """The window of ``n`` tokens that occurs most, the first of equals, and how often."""
    windows = (tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1))
    ((window, times),) = Counter(windows).most_common(1) or [((), 0)]
    return window, times


def goes_on_alike(tokens: Sequence[int], window: tuple[int, ...]) -> int:
    """How often ``window`` came back and the next token was the one of the time before."""
    n = len(window)
    after = [
        tokens[at + n] for at in range(len(tokens) - n) if tuple(tokens[at : at + n]) == window
    ]
    return sum(one == before for before, one in pairwise(after))
