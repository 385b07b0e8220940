"""A part of an experiment that counts its own progress, as a portion of the whole."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from model.lab.base import Progress

T = TypeVar("T")
WHOLE = 1000
"""Steps that a whole experiment is counted in, where its parts know only their own."""


def portion(
    part: Generator[Progress, None, T], low: float, high: float
) -> Generator[Progress, None, T]:
    """Run ``part`` to its end and return what it returns; its progress, from nothing to all,
    is yielded as going from ``low`` to ``high`` of the whole, [0, 1]. It never goes back."""
    done = round(low * WHOLE)
    while True:
        try:
            step = next(part)
        except StopIteration as stop:
            value: T = stop.value
            return value
        share = step.done / max(1, step.total)
        done = max(done, round((low + (high - low) * share) * WHOLE))
        yield Progress(done, WHOLE, step.doing)
