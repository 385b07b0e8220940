"""The same seeds alone and in a batch: how far the edges between tokens move, and how near u
comes to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from model.lab.writing import Written
from model.steps import Step


@dataclass(frozen=True, slots=True)
class Company:
    """Texts written in batches of one size, against the same seeds alone."""

    size: int
    texts: int
    same: int
    steps: int
    """That were compared: up to the first token that differs."""
    moved: float
    """Largest change of an edge of a chosen token's share of [0, 1)."""
    nearest: float
    """Least distance of u to an edge, alone."""
    closest: float
    """The largest part of u's distance that an edge moved at one step; from 1 on a token may
    change."""


def compare(size: int, alone: Sequence[Written], together: Sequence[Written]) -> Company:
    """Hold inspected texts of the same seeds against each other."""
    same = steps = 0
    moved, nearest, closest = 0.0, 1.0, 0.0
    for one, other in zip(alone, together, strict=True):
        same += one.text == other.text and one.tokens == other.tokens
        for step, twin in zip(one.steps, other.steps, strict=False):
            steps += 1
            nearest = min(nearest, margin(step))
            if step.token != twin.token:
                break  # from here on they are different texts
            pairs = zip(edges(step), edges(twin), strict=True)
            here = max(abs(at - there) for at, there in pairs)
            moved = max(moved, here)
            if here > 0:
                closest = max(closest, here / margin(step) if margin(step) else math.inf)
    return Company(size, len(alone), same, steps, moved, nearest, closest)


def edges(step: Step) -> tuple[float, float]:
    """Where the chosen token's share of [0, 1) begins and ends. The step must be inspected."""
    if step.inspection is None:
        raise ValueError(f"the step at {step.position} was not inspected")
    below = step.inspection.below
    return below, below + step.probability


def margin(step: Step) -> float:
    """How far u is from the nearer edge that another token lies behind."""
    low, high = edges(step)
    # nothing lies below 0 or above 1: at the ends of the bar no other token can be drawn
    distances = [step.u - low] if low > 0 else []
    if high < 1:
        distances.append(high - step.u)
    return max(0.0, min(distances, default=1.0))
