"""The draws of many rows at once, where nothing about a row is special.

On a few hundred tokens a call costs more than what it does, so one call for thirty rows
costs little more than one for each of them. ``model.ranking`` is the rule, for any row
and any settings; what is drawn here is what it would draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from model.ranking import LOW_WORD, SLACK, Draw, Truncation, check_best, moved, sort_keys, start

NEAR = 1e-9
"""A row whose height falls this near to an edge, or within the doubt, is left to its ranking:
here the sums of all rows run on into each other, and their last bits are not those of the row
by itself."""


def draw_together(
    logits: NDArray[np.float32],
    probs: NDArray[np.float32],
    u: Sequence[float],
    truncations: Sequence[Truncation],
    doubt: float = 0.0,
) -> list[Draw | None]:
    """A token for each row of ``logits`` ``[B, V]`` with its softmax, as ``Ranking.draw`` gives
    it, or ``None`` where the row must be ranked by itself: its leading tokens do not reach
    its height, or it may not be ``sure``, or the truncation is another than top-p alone.

    Raises as a ``Ranking`` of the row does.
    """
    B, V = logits.shape
    if len(truncations) > 1 or any(stage != "top_p" for stage, _ in truncations):
        return [None] * B
    rows = np.arange(B)
    best = logits.argmax(1)
    for top in logits[rows, best].tolist():
        check_best(top)
    bounds = np.array([start(at, truncations) for at in u])
    room = np.minimum(np.log(bounds / probs[rows, best]), 0.0)
    least = (logits[rows, best] + room).astype(np.float32)
    places = (logits >= least[:, None]).ravel().nonzero()[0]  # row · V + id
    edges = places.searchsorted(np.arange(B + 1) * V)
    keys = sort_keys(logits.ravel()[places], places)
    for begin, end in pairwise(edges.tolist()):
        keys[begin:end].sort()
    keys &= LOW_WORD
    ordered = probs.ravel()[keys].astype(np.float64)
    running = ordered.cumsum()  # through all rows
    first, last = edges[:-1], edges[1:] - 1
    before = np.where(first > 0, running[first - 1], 0.0)
    mass, sure = np.ones(B), np.ones(B, dtype=np.bool_)
    for _, top_p in truncations:
        crossing = before + top_p * (1.0 - SLACK)
        near = max(NEAR, moved(top_p, doubt))
        last, sure = _reaching(running, ordered, crossing, (first, last), near, "left")
        mass = running[last] - before
    heights = before + np.array(u) * mass
    near = max(NEAR, moved(0.5, doubt))
    at, reached = _reaching(running, ordered, heights, (first, last), near, "right")
    if doubt:
        reached &= _apart(logits.ravel(), keys, (at, first, edges[1:]), least, doubt)
    tokens = keys[at] - rows * V
    shares = np.minimum(ordered[at] / mass, 1.0)
    found = zip(tokens.tolist(), shares.tolist(), (sure & reached).tolist(), strict=True)
    return [Draw(token, share) if known else None for token, share, known in found]


def _reaching(
    running: NDArray[np.float64],
    ordered: NDArray[np.float64],
    heights: NDArray[np.float64],
    among: tuple[NDArray[np.int64], NDArray[np.int64]],
    near: float,
    side: Literal["left", "right"],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where the running sum reaches each height, ``among`` the first and last of its row, and
    whether that is further than ``near`` from the edges."""
    at = running.searchsorted(heights, side).clip(*among)
    above = running[at] - heights
    return at, (above > near) & (ordered[at] - above > near)


def _apart(
    scores: NDArray[np.float32],
    keys: NDArray[np.int64],
    places: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    least: NDArray[np.float32],
    doubt: float,
) -> NDArray[np.bool_]:
    """Whether a row's token at the first of ``places`` has no neighbour nearer than twice the
    doubt; the others are where the row begins and where the next one does. What is not ranked
    lies below ``least``."""
    at, first, end = places
    here = scores[keys[at]]
    above = scores[keys[np.maximum(at - 1, first)]]
    below = np.where(at + 1 < end, scores[keys[np.minimum(at + 1, end - 1)]], least)
    apart: NDArray[np.bool_] = (at == first) | (above - here > 2.0 * doubt)
    apart &= here - below > 2.0 * doubt
    return apart
