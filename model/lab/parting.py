"""Where two texts part that ought to be the same, and how near the other token lay.

The same numbers added up in another way give logits that differ in their last digits. That
moves the edges between the tokens' shares of [0, 1), or makes two tokens of almost one
probability change places: either way the number u then falls on a token that lies next to
the one before. Only a fault makes it fall on one that lies far off.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from model.config import Controls
from model.constraints import Constraint
from model.generate import Prompt
from model.inspect_at import keep_step
from model.protocol import LanguageModel
from model.tokenizers import Tokenizer

ROUNDING = 1e-4
"""Of [0, 1): farther than this from u rounding does not bring a token."""


@dataclass(frozen=True, slots=True)
class Parting:
    """The first difference of two texts."""

    at: int
    """Tokens that both share."""
    apart: float
    """How far u is from the second one's token on the first one's bar, [0, 1]."""

    @property
    def rounding(self) -> bool:
        """No more than rounding brought it about."""
        return self.apart <= ROUNDING


def first_difference(tokens: Sequence[Hashable], others: Sequence[Hashable]) -> int | None:
    """How many tokens two texts share before they part; ``None`` where they are the same."""
    pairs = zip(tokens, others, strict=False)
    place = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(tokens), len(others)))
    return None if place == len(tokens) == len(others) else place


def parting(
    model: LanguageModel,
    tokenizer: Tokenizer,
    texts: tuple[Sequence[int], Sequence[int]],
    controls: Controls,
    prompt: Prompt | None = None,
    constraint: Constraint | None = None,
) -> Parting | None:
    """Where two generated texts of one run's ``controls`` part; ``None`` where they do not."""
    one, other = texts
    at = first_difference(one, other)
    if at is None:
        return None
    if at == len(one) or at == len(other):  # one of them stopped: no draw can tell them apart
        return Parting(at, 1.0)
    begun = prompt or Prompt()
    kept = keep_step(model, tokenizer, begun, one, at, constraint=constraint)
    seen = kept.inspect(controls, other[at])
    share = next(c.final for c in seen.candidates if c.token == other[at])
    u = kept.run.uniform(controls.seed)
    return Parting(at, max(0.0, seen.below - u, u - (seen.below + share)))
