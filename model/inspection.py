"""What one step considered: the eight likeliest tokens and what each stage did to them.

Built on the same stages and the same ranking as the draw, so that the table and the
token cannot disagree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.config import SamplerConfig, Stage
from model.ranking import NoLegalToken, Ranking
from model.stages import History, plan, run_stages, to_rows
from model.steps import Candidate, Inspection


@dataclass(frozen=True, slots=True)
class _Final:
    """The distribution drawn from, in draw order, and why the others are not in it."""

    probs: NDArray[np.float64]
    place: dict[int, int]
    """Where each shown token stands in ``probs``; absent where it was cut."""
    cut_by: dict[int, Stage]

    def probability(self, token: int) -> float:
        return float(self.probs[self.place[token]]) if token in self.place else 0.0


def inspect(
    logits: Tensor,
    config: SamplerConfig,
    u: float,
    chosen: int,
    *,
    name: Callable[[int], str],
    allowed: Tensor | None = None,
    history: History | None = None,
    top: int = 8,
) -> Inspection:
    """Everything that a front end shows of one step; its fields say what each number is.

    ``logits`` raw, ``[V]``; ``allowed`` and ``history`` of this row; ``chosen`` the token
    that the step took and ``u`` the uniform it drew; ``name`` gives a token's visible
    text. ``top`` rows by raw probability (ties by id), and ``chosen`` after them where
    it is not among them. Raises as ``choose`` does.
    """
    scores = logits.float()
    raw = torch.softmax(scores, -1).numpy(force=True)  # [V]
    shown = _likeliest(Ranking(to_rows(scores)[0], raw), top)
    if chosen not in shown:
        shown.append(chosen)
    masked = _masked(scores, config, allowed, history)
    final = _final(scores, config, shown, allowed, history)
    place = final.place.get(chosen, 0)
    return Inspection(
        candidates=tuple(
            Candidate(
                token=token,
                piece=name(token),
                raw=float(raw[token]),
                masked=float(masked[token]),
                final=final.probability(token),
                cut_by=final.cut_by.get(token),
            )
            for token in shown
        ),
        entropy=_bits(raw),
        final_entropy=_bits(final.probs),
        nucleus=len(final.probs),
        forbidden=0.0 if allowed is None else _forbidden(raw, allowed),
        altered=_altered(scores, config, u, chosen, allowed, history),
        below=float(final.probs[:place].sum()),
    )


def _masked(
    scores: Tensor, config: SamplerConfig, allowed: Tensor | None, history: History | None
) -> NDArray[np.float32]:
    """Probabilities ``[V]`` after mask and penalties alone."""
    stages = [
        stage
        for stage in plan(config, masked=allowed is not None, history=history is not None)
        if stage in ("mask", "repetition", "presence_frequency")
    ]
    left, _ = run_stages(scores, config, stages, allowed=allowed, history=history)
    return torch.softmax(left.reshape(-1), -1).numpy(force=True)


def _final(
    scores: Tensor,
    config: SamplerConfig,
    shown: list[int],
    allowed: Tensor | None,
    history: History | None,
) -> _Final:
    stages = plan(config, masked=allowed is not None, history=history is not None)
    after: list[tuple[Stage, Tensor]] = []
    left, waiting = run_stages(
        scores, config, stages, allowed=allowed, history=history, after=after
    )
    ranking = _ranking(left)
    ranking.widen_fully()
    cut_by = _cut_by(scores, after, shown)
    kept, mass = len(ranking.ids), 1.0
    rank = np.full(scores.shape[-1], -1)  # [V]
    rank[ranking.ids] = np.arange(kept)
    place = {token: int(rank[token]) for token in shown if rank[token] >= 0}
    for (stage, _), kept in zip(waiting, ranking.kept(waiting), strict=True):
        mass = float(ranking.cumulative[kept - 1])
        for token in [token for token, at in place.items() if at >= kept]:
            del place[token]
            cut_by[token] = stage
    return _Final(np.minimum(ranking.probs[:kept] / mass, 1.0), place, cut_by)


def _ranking(scores: Tensor) -> Ranking:
    return Ranking(to_rows(scores)[0], to_rows(torch.softmax(scores, -1))[0])


def _likeliest(ranking: Ranking, count: int) -> list[int]:
    while len(ranking.ids) < count and not ranking.complete:
        ranking.widen()
    ids: list[int] = ranking.ids[:count].tolist()
    return ids


def _cut_by(
    scores: Tensor, after: list[tuple[Stage, Tensor]], shown: list[int]
) -> dict[int, Stage]:
    """The stage among those in ``after`` that took each shown token to -inf."""
    cut_by: dict[int, Stage] = {}
    before = to_rows(scores)[0]
    for stage, left in after:
        behind = to_rows(left)[0]
        if stage not in ("repetition", "presence_frequency"):  # these lower, never remove
            for token in shown:
                if before[token] > behind[token] == -math.inf:
                    cut_by[token] = stage
        before = behind
    return cut_by


def _altered(
    scores: Tensor,
    config: SamplerConfig,
    u: float,
    chosen: int,
    allowed: Tensor | None,
    history: History | None,
) -> bool:
    if history is None or not config.penalised:
        return False
    stages = plan(config, masked=allowed is not None, history=False)
    left, waiting = run_stages(scores, config, stages, allowed=allowed, history=None)
    try:
        return _ranking(left).draw(u, waiting).token != chosen
    except NoLegalToken:  # in an order where truncation came before the mask
        return True


def _forbidden(raw: NDArray[np.float32], allowed: Tensor) -> float:
    allowing = allowed.reshape(-1).numpy(force=True)
    return float(raw[~allowing].sum(dtype=np.float64))


def _bits(probs: NDArray[np.float32] | NDArray[np.float64]) -> float:
    """Shannon entropy in bits."""
    some = probs[probs > 0].astype(np.float64)
    return max(0.0, -float((some * np.log2(some)).sum()))
