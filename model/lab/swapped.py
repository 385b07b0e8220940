"""Orders of the stages, and what each makes of the same logits.

The order is a setting of the sampler, so nothing here computes what the sampler does not.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from model.config import STAGES, SamplerConfig, Stage
from model.sampling import History, apply_stages

ALPHA = 1.0
"""Presence penalty on the leading token."""


def moved(stage: Stage, behind: Stage) -> tuple[Stage, ...]:
    """The default order with ``stage`` directly behind another one."""
    order = [one for one in STAGES if one != stage]
    order.insert(order.index(behind) + 1, stage)
    return tuple(order)


HEAT_FIRST = STAGES
CUT_FIRST = moved("temperature", "min_p")
PENALTY_LAST = moved("temperature", "mask")


def kept(logits: Tensor, order: tuple[Stage, ...], **settings: float) -> int:
    """How many tokens of ``logits`` ``[V]`` are left to draw from."""
    sampler = SamplerConfig(order=order, **settings)  # type: ignore[arg-type]
    return int((apply_stages(logits, sampler) > -math.inf).sum())


def leading(logits: Tensor, value: float, order: tuple[Stage, ...], alpha: float = ALPHA) -> float:
    """Probability of the likeliest token when it carries a presence penalty of ``alpha``."""
    return 1 / (1 + math.exp(-_log_odds(logits, value, order, alpha)))


def effective_penalty(logits: Tensor, value: float, order: tuple[Stage, ...]) -> float:
    """By how much the penalty lowers the leading token's log-odds, in nats."""
    return _log_odds(logits, value, order, 0.0) - _log_odds(logits, value, order, ALPHA)


def _log_odds(logits: Tensor, value: float, order: tuple[Stage, ...], alpha: float) -> float:
    """Of the leading token against all others; finite however sure the model is."""
    sampler = SamplerConfig(temperature=value, presence=alpha, order=order)
    scores = apply_stages(logits, sampler, history=lead_seen(logits)).double()
    lead = int(logits.argmax())
    others = torch.cat([scores[:lead], scores[lead + 1 :]])
    return float(scores[lead] - others.logsumexp(0))


def lead_seen(logits: Tensor) -> History:
    """The likeliest token was generated once, and nothing else."""
    lead = torch.zeros_like(logits)
    lead[logits.argmax()] = 1.0
    return History(lead, lead.bool(), torch.zeros_like(lead, dtype=torch.bool))
