"""Which smallest change of a knob would have drawn another token with the same ``u``.

A draw is an inverse-CDF walk, so nothing in it is left to chance once ``u`` is known: each
setting of a knob gives one token. Every knob moves on a lattice of the values that a user
can set (thousandths; whole numbers for top-k), and each answer was tried on the sampler
itself: the value found flips the token, the one a step nearer does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch

from model.config import Controls, SamplerConfig
from model.inspect_at import Kept
from model.ranking import NoLegalToken
from model.sampling import would_choose

Knob = Literal["temperature", "top_k", "top_p", "min_p"]
KNOBS: tuple[Knob, ...] = get_args(Knob)
FINENESS = 1000
"""Steps of a lattice to 1 of its knob, top-k apart."""
_HIGHEST = {"temperature": 100.0, "top_p": 1.0, "min_p": 1.0}


@dataclass(frozen=True, slots=True)
class Flip:
    """A setting under which the same ``u`` draws another token."""

    value: float
    """Of the knob; for top-k a whole number, at least 1."""
    token: int | None
    """What would be drawn; ``None`` where nothing would be left to draw from, which takes an
    order that masks after truncation."""


@dataclass(frozen=True, slots=True)
class Leeway:
    """How far one knob can move, the others left alone, before the token changes."""

    knob: Knob
    now: float
    """Its present value; the vocabulary's size for a top-k that is off."""
    lower: Flip | None
    """The nearest flip below; ``None`` where no lower value changes the token."""
    upper: Flip | None
    """The nearest flip above."""

    @property
    def nearest(self) -> Flip | None:
        """The flip that takes the smaller change, the lower one of equals."""
        flips = [flip for flip in (self.lower, self.upper) if flip is not None]
        return min(flips, key=lambda flip: abs(flip.value - self.now), default=None)


def would_change(kept: Kept, controls: Controls, other: Controls) -> bool:
    """Whether the step draws one token under ``controls`` and another under ``other``, with
    the ``u`` of the former. Raises ``NoLegalToken`` where one leaves nothing to draw from."""
    tried = replace(other, seed=controls.seed)
    return kept.would_choose(controls) != kept.would_choose(tried)


def smallest_flips(
    kept: Kept, controls: Controls, knobs: tuple[Knob, ...] = KNOBS
) -> tuple[Leeway, ...]:
    """The leeway of each of ``knobs`` at a step drawn under ``controls``.

    Exact while the ranking does not depend on the knob, so always in the default order:
    heat moves mass down the ranking and a wider cut moves the walk down it, each one way.
    With penalties that act after the temperature, a flip that undoes itself before the next
    value tried may be missed; what is found is a flip nonetheless.
    """
    draw = _redraw(kept, controls)
    size = kept.logits.shape[-1]
    chosen = draw(controls.sampler)
    return tuple(_leeway(knob, controls.sampler, size, draw, chosen) for knob in knobs)


_Draw = Callable[[SamplerConfig], int | None]


def _redraw(kept: Kept, controls: Controls) -> _Draw:
    """The step's draw as a function of the sampler alone."""
    u = kept.run.uniform(controls.seed)
    allowed, history = kept.run.allowed(), kept.run.history(controls)
    logits = kept.logits[None]  # [1, V]

    @torch.inference_mode()
    def draw(sampler: SamplerConfig) -> int | None:
        try:
            return would_choose(logits, sampler, u, allowed=allowed, history=history)
        except NoLegalToken:
            return None

    return draw


def _leeway(
    knob: Knob, sampler: SamplerConfig, size: int, draw: _Draw, chosen: int | None
) -> Leeway:
    """Place n of the lattice is the value n for top-k and n thousandths for the others."""
    if knob == "top_k":
        scale, least, most = 1, 1, size
        now = float(min(sampler.top_k or size, size))
    else:
        scale, least, most = FINENESS, 0, round(_HIGHEST[knob] * FINENESS)
        now = float(getattr(sampler, knob))
    place = round(now * scale, 6)  # where the knob stands, maybe between two places
    below, above = math.ceil(place) - 1, math.floor(place) + 1

    def at(n: int) -> Flip:
        changed: dict[str, Any] = {knob: n if knob == "top_k" else n / scale}
        return Flip(n / scale, draw(replace(sampler, **changed)))

    down = _first(lambda n: at(below - n).token != chosen, below - least)
    up = _first(lambda n: at(above + n).token != chosen, most - above)
    return Leeway(
        knob,
        now,
        None if down is None else at(below - down),
        None if up is None else at(above + up),
    )


def _first(holds: Callable[[int], bool], last: int) -> int | None:
    """The least n from 0 to ``last`` for which ``holds``, taken to be false before it and
    true behind; ``None`` where there is none. Strides double, then halve: a near one is
    found in a few tries."""
    low, high = -1, min(0, last)  # false at low
    while low < last and not holds(high):
        low, high = high, min(2 * high + 1, last)
    if low >= last:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
