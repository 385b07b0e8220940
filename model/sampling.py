"""From logits to a token: the stages in order, then one draw from one uniform number.

Pure functions of (logits, settings, mask, history, u). No generator state, no clock:
the same seed gives the same poem after a toggle, a fork or a resume. Which tokens are
allowed and what counts as history is the caller's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.config import SamplerConfig
from model.drawing import draw_together
from model.inspection import inspect
from model.ranking import Draw, LogitsError, NoLegalToken, Ranking, check_best, start
from model.stages import (
    History,
    mask,
    min_p,
    plan,
    presence_frequency,
    repetition,
    run_stages,
    temperature,
    to_rows,
    top_k,
    top_p,
    truncate,
)

__all__ = [
    "Draw",
    "History",
    "LogitsError",
    "NoLegalToken",
    "apply_stages",
    "choose",
    "inspect",
    "mask",
    "min_p",
    "presence_frequency",
    "repetition",
    "temperature",
    "top_k",
    "top_p",
    "uniform",
    "would_choose",
]

ROUNDING = 1e-5
"""How far a logit is from what another way of summing the same pass gives, in float32, as far
as that changes the distribution: at most so far in 99 of 100 cached steps of the Tang models, and
1.3e-5 in the others. Twice the width asks for twice as many passes without the cache."""

_WORD = 2**64 - 1
_STRIDE = 0x9E3779B97F4A7C15


def uniform(seed: int, position: int) -> float:
    """A number in [0, 1) with 53 random bits, a function of its two arguments for ever.

    ``seed`` and ``position`` are taken modulo 2^64. A counter-based mixer: the seed is
    scrambled into a starting point, the position counts on from there, and the sum is
    scrambled again (the finaliser of Steele, Lea & Flood 2014, SplitMix).
    """
    start = _scramble((seed + _STRIDE) & _WORD)
    return (_scramble((start + (position + 1) * _STRIDE) & _WORD) >> 11) * 2.0**-53


def _scramble(word: int) -> int:
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)


def apply_stages(
    logits: Tensor,
    config: SamplerConfig,
    *,
    allowed: Tensor | None = None,
    history: History | None = None,
) -> Tensor:
    """The logits that are drawn from, float32 ``[B, V]``: removed tokens are -inf.

    ``logits`` ``[B, V]`` or ``[V]`` of any float type, left as they were; ``allowed``
    bool ``[V]`` or ``[B, V]``, no mask where None; no penalties where ``history`` is
    None. Softmax of the result is the distribution that ``choose`` draws from. A row
    with nothing left is -inf throughout.
    """
    stages = plan(config, masked=allowed is not None, history=history is not None)
    scores, waiting = run_stages(logits, config, stages, allowed=allowed, history=history)
    if waiting:
        return truncate(scores, waiting)
    return scores.clone() if scores is logits else scores


def choose(
    logits: Tensor,
    config: SamplerConfig,
    u: Sequence[float],
    *,
    allowed: Tensor | None = None,
    history: History | None = None,
    rounding: float = ROUNDING,
) -> list[Draw]:
    """One token for each row of ``logits`` ``[B, V]``, with one uniform in [0, 1) a row.

    Walks the tokens in descending final probability, ties by lowest id, until the mass
    passed exceeds ``u``. Greedy settings take the best token, with probability 1, and
    ignore ``u``. Arguments as for ``apply_stages``. ``Draw.sure`` says that logits of which
    each is off by up to ``rounding`` could not have led elsewhere (truncations that the order
    puts before another stage are taken as they came out). Raises ``NoLegalToken`` where a row has
    nothing left and ``LogitsError`` for NaN or plus infinity.
    """
    stages = plan(config, masked=allowed is not None, history=history is not None)
    if config.greedy:
        stages = stages[:-1]  # the last is temperature
    scores, waiting = run_stages(logits, config, stages, allowed=allowed, history=history)
    rows = to_rows(scores)
    doubt = _doubt(config, rounding)
    if config.greedy:
        return [_best(row, doubt) for row in rows]
    probs = to_rows(torch.softmax(scores, -1))
    together = draw_together(rows, probs, u, waiting, doubt) if len(rows) > 1 else (None,)
    return [
        draw or Ranking(row, p, start(at, waiting)).draw(at, waiting, doubt)
        for draw, row, p, at in zip(together, rows, probs, u, strict=True)
    ]


def _best(row: NDArray[np.float32], doubt: float) -> Draw:
    """The best token of a row, the first of equals."""
    token = int(row.argmax())
    best = float(row[token])
    check_best(best)
    return Draw(token, 1.0, int((row >= best - 2.0 * doubt).sum()) == 1)


@lru_cache(maxsize=64)
def _doubt(config: SamplerConfig, rounding: float) -> float:
    """How far a logit that has been through the stages may be off."""
    steepest = max(config.repetition, 1.0 / config.repetition)
    return rounding * steepest / (1.0 if config.greedy else config.temperature)


def would_choose(
    logits: Tensor,
    config: SamplerConfig,
    u: float,
    *,
    allowed: Tensor | None = None,
    history: History | None = None,
) -> int:
    """The token that ``choose`` would take for one row of logits ``[V]``: for what-ifs."""
    return choose(logits, config, (u,), allowed=allowed, history=history)[0].token
