"""The stages between the logits and the draw, as small pure functions.

Each takes logits ``[B, V]`` (or ``[V]``) of any float type and returns new float32
logits of the same shape, a removed token at -inf. None edits its argument: raw logits
are also on display. What was -inf stays -inf through every stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.config import GREEDY_BELOW, SamplerConfig, Stage
from model.ranking import NoLegalToken, Ranking, Truncation

_REMOVED = torch.tensor(float("-inf"))


@dataclass(frozen=True, slots=True)
class History:
    """What the penalties know. ``[B, V]``, or ``[V]`` for one row."""

    generated: Tensor
    """float32: how often each token was generated, forced ones left out."""
    seen: Tensor
    """bool: stands in the prompt or the output, within the window."""
    exempt: Tensor
    """bool, ``[V]`` or ``[B, V]``: structural tokens, which no penalty touches."""


def mask(logits: Tensor, *, allowed: Tensor) -> Tensor:
    """Remove what a constraint forbids; ``allowed`` is bool, ``[V]`` or ``[B, V]``."""
    scores = logits.float()
    if allowed.dim() == 1:
        # One mask serves many steps and rows, and to add takes a third of the time that to
        # choose takes. What is not finite is no score and ends the run either way.
        return scores + _barrier(allowed)
    removed = _REMOVED if logits.is_cpu else _REMOVED.to(logits.device)
    return torch.where(allowed, scores, removed)


@lru_cache(maxsize=64)
def _barrier(allowed: Tensor) -> Tensor:
    """0 where allowed, else -inf. Kept by the mask's identity: a mask is never written to."""
    return torch.where(allowed, 0.0, float("-inf"))


def repetition(logits: Tensor, *, penalty: float, history: History) -> Tensor:
    """Divide positive and multiply negative logits of tokens seen, once per distinct token.

    ``penalty`` above 0; above 1 makes repeats rarer, below 1 likelier (Keskar et al.
    2019, CTRL, section 4.1).
    """
    scores = logits.float()
    divided, multiplied = scores / penalty, scores * penalty
    # the smaller of the two is the one that hurts, whatever the sign
    harder = torch.minimum if penalty > 1 else torch.maximum
    touched = history.seen & ~history.exempt
    return torch.where(touched, harder(divided, multiplied), scores)


def presence_frequency(
    logits: Tensor, *, presence: float, frequency: float, history: History
) -> Tensor:
    """Subtract ``presence`` once, and ``frequency`` as often as the token was generated.

    Either may be negative, which rewards. Generated tokens only: the prompt is not
    counted (the definition of the OpenAI completions interface).
    """
    counts = history.generated * ~history.exempt
    return logits.float() - (counts * frequency + counts.sign() * presence)


def temperature(logits: Tensor, *, value: float) -> Tensor:
    """Divide by ``value``. At or under 1e-5, leave the best token alone, ties to the lowest id."""
    scores = logits.float()
    if value > GREEDY_BELOW:
        return scores / _divisor(value)
    best = scores.argmax(-1, keepdim=True)
    return torch.full_like(scores, float("-inf")).scatter(-1, best, scores.gather(-1, best))


@lru_cache(maxsize=64)
def _divisor(value: float) -> Tensor:
    """``value`` as torch would convert it at every division, which takes longer than one."""
    return torch.tensor(value, dtype=torch.float32)


def top_k(logits: Tensor, *, k: int) -> Tensor:
    """Keep exactly the ``k`` best, ties to the lowest id; 0 keeps all, as does k above V."""
    return truncate(logits, [("top_k", k)]) if k else logits.float().clone()


def top_p(logits: Tensor, *, p: float) -> Tensor:
    """Keep the smallest set of best tokens whose mass reaches ``p``, the one that crosses it
    included, and at least one; 1 keeps all (Holtzman et al. 2020, nucleus sampling)."""
    return truncate(logits, [("top_p", p)]) if p < 1 else logits.float().clone()


def min_p(logits: Tensor, *, value: float) -> Tensor:
    """Keep tokens at least ``value`` times as probable as the best; 0 keeps all (Nguyen et
    al. 2024). The best is always kept."""
    return truncate(logits, [("min_p", value)]) if value else logits.float().clone()


def truncate(logits: Tensor, truncations: list[Truncation]) -> Tensor:
    """Apply truncations in turn. Rows that are -inf throughout are left alone."""
    scores = logits.float()
    rows = to_rows(scores)  # [B, V]
    probs = to_rows(torch.softmax(scores, -1))
    out = np.full_like(rows, -np.inf)
    for row, p, kept in zip(rows, probs, out, strict=True):
        try:
            ranking = Ranking(row, p)
        except NoLegalToken:
            continue
        count = ranking.kept(truncations)[-1]  # may rank further, so before the next line
        ids = ranking.ids[:count]
        kept[ids] = row[ids]
    return torch.from_numpy(out).to(scores.device).view(scores.shape)


def to_rows(scores: Tensor) -> NDArray[np.float32]:
    """The tensor as an array ``[B, V]``, a view where it can be one. Not to be written to."""
    plain = scores.is_cpu and not scores.requires_grad
    rows: NDArray[np.float32] = scores.numpy() if plain else scores.numpy(force=True)
    return rows if rows.ndim == 2 else rows.reshape(-1, rows.shape[-1])


@lru_cache(maxsize=64)
def plan(config: SamplerConfig, *, masked: bool, history: bool) -> tuple[Stage, ...]:
    """The stages that do something, in the order in which they are applied.

    Under greedy decoding the temperature stage is what leaves one token standing, so
    mask and penalties that the order puts after it go before it, and truncations that
    would follow, having nothing left to remove, are dropped.
    """
    on = {
        "mask": masked,
        "repetition": history and config.repetition != 1,
        "presence_frequency": history and (config.presence != 0 or config.frequency != 0),
        "temperature": config.temperature != 1,
        "top_k": config.top_k > 0,
        "top_p": config.top_p < 1,
        "min_p": config.min_p > 0,
    }
    stages = [stage for stage in config.order if on[stage]]
    if not config.greedy:
        return tuple(stages)
    while stages[-1] in ("top_k", "top_p", "min_p"):
        stages.pop()
    return (*(stage for stage in stages if stage != "temperature"), "temperature")


def run_stages(
    logits: Tensor,
    config: SamplerConfig,
    stages: Sequence[Stage],
    *,
    allowed: Tensor | None,
    history: History | None,
    after: list[tuple[Stage, Tensor]] | None = None,
) -> tuple[Tensor, list[Truncation]]:
    """Apply ``stages``, all but the truncations at the end, which are returned to be done.

    Truncations keep a prefix of the draw order, so the draw can take those at the end
    into account without building the truncated logits. ``after``, where given, receives
    the logits behind each stage that was applied.
    """
    scores = logits.float()
    waiting: list[Truncation] = []
    for stage in stages:
        if stage == "top_k" or stage == "top_p" or stage == "min_p":
            waiting.append((stage, getattr(config, stage)))
            continue
        for count, truncation in enumerate(waiting, 1):
            if after is not None:
                after.append((truncation[0], truncate(scores, waiting[:count])))
        if waiting:
            scores = truncate(scores, waiting)
            waiting = []
        scores = _transform(scores, stage, config, allowed, history)
        if after is not None:
            after.append((stage, scores))
    return scores, waiting


def _transform(
    scores: Tensor,
    stage: Stage,
    config: SamplerConfig,
    allowed: Tensor | None,
    history: History | None,
) -> Tensor:
    if stage == "temperature":
        return temperature(scores, value=config.temperature)
    if stage == "mask":
        return scores if allowed is None else mask(scores, allowed=allowed)
    if history is None:
        return scores
    if stage == "repetition":
        return repetition(scores, penalty=config.repetition, history=history)
    return presence_frequency(
        scores, presence=config.presence, frequency=config.frequency, history=history
    )
