"""One row of logits in draw order, ranked only as far as somebody asks.

Draw order is descending logit, ties by lowest token id. Top-k, top-p and min-p each
keep a prefix of it, and the draw is a walk down it, so a handful of leading tokens
decides nearly every step and a whole vocabulary is sorted only for the rare rest.
Knows nothing of settings, masks or penalties.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.errors import ConstraintError, UserError

Truncation = tuple[Literal["top_k", "top_p", "min_p"], float]
"""A stage that keeps a prefix of the draw order, with its setting."""

SHARE = 2.0**-10
"""Ranked first are tokens at least this share of the mass that lies above ``u``, or above
top-p: a few hundred as a rule, and the draw seldom needs more."""
NARROW = 2.0**-10
"""Ranked first are tokens at least this probable, where top-k or min-p comes first."""
WIDEN = 8.0
FLOOR = 2.0**-16
"""Below this bound everything is ranked."""
FEW = 200
"""From here on sorting whole numbers is faster."""
SLACK = 1e-6
"""Relative rounding allowance: .5 + .3 reaches a top-p of .8, and .1 is a quarter of
.4, whatever the last bit of a float32 softmax says."""
LOW_WORD = 0xFFFFFFFF
"""Of a sort key: the place."""


class NoLegalToken(ConstraintError):
    """Every token has been ruled out. A draw without the rules is never the answer."""

    def __init__(self) -> None:
        super().__init__(
            "no token is left to draw from: the form, the acrostic or the banned characters "
            "rule out all of them here. Loosen one of these, or try another seed"
        )


class LogitsError(UserError):
    """The model's output is not a set of scores: NaN, or plus infinity."""

    def __init__(self) -> None:
        super().__init__(
            "the model's scores are not numbers (NaN or infinity), so its weights are "
            "probably damaged. Load another checkpoint"
        )


class Draw(NamedTuple):
    """The token of one row."""

    token: int
    probability: float
    """In the distribution drawn from, after truncation; above 0, at most 1."""
    sure: bool = True
    """No change of the logits within the doubt that was asked about leads to another token."""


def check_best(best: float) -> None:
    """Raise ``NoLegalToken`` or ``LogitsError`` where a row's maximum is no finite number."""
    if best == -math.inf:
        raise NoLegalToken
    if not math.isfinite(best):
        raise LogitsError


class Ranking:
    """The leading tokens of a row and their probabilities, in draw order.

    ``logits`` float32 ``[V]`` and ``probs``, its softmax. ``ids``, ``probs`` (before any
    truncation) and ``cumulative``, summed in float64, have one length and grow as the
    ranking widens, without a change in what they held; ``complete`` says that every
    token above -inf is in. Raises ``NoLegalToken`` where the row is -inf throughout and
    ``LogitsError`` for NaN or plus infinity.
    """

    __slots__ = (
        "_best",
        "_bound",
        "_least",
        "_logits",
        "_row",
        "complete",
        "cumulative",
        "ids",
        "probs",
    )

    ids: NDArray[np.int64]
    probs: NDArray[np.float64]
    cumulative: NDArray[np.float64]

    def __init__(
        self, logits: NDArray[np.float32], probs: NDArray[np.float32], bound: float = NARROW
    ) -> None:
        self._best = int(logits.argmax())
        check_best(float(logits[self._best]))
        self._logits = logits
        self._row = probs
        self._bound = bound
        self._rank()

    def widen(self) -> None:
        """Rank tokens down to an eighth of the present least probability, or all."""
        self._bound /= WIDEN
        self._rank()

    def widen_fully(self) -> None:
        """Rank every token above -inf."""
        if not self.complete:
            self._bound = 0.0
            self._rank()

    def kept(self, truncations: Sequence[Truncation]) -> list[int]:
        """How many tokens, from the first down, are left after each truncation in turn.

        Each works on what the one before it left, renormalised, and keeps at least one.
        """
        counts: list[int] = []
        left: int | None = None
        for stage, value in truncations:
            if stage == "top_k":
                count = self._first(int(value))
            elif stage == "top_p":
                count = self._reaching(value * (1.0 if left is None else self.cumulative[left - 1]))
            else:
                count = self._at_least(value * float(self.probs[0]))
            left = max(1, count if left is None else min(count, left))
            counts.append(left)
        return counts

    def draw(self, u: float, truncations: Sequence[Truncation] = (), doubt: float = 0.0) -> Draw:
        """The token at height ``u`` in [0, 1) of the truncated, renormalised row: the
        inverse of its cumulative distribution. Its probability is never 0. ``doubt``: by how
        much each logit may be off, for ``Draw.sure``."""
        if truncations:
            left = self.kept(truncations)[-1]
            mass = float(self.cumulative[left - 1])
        else:
            mass = 1.0
            while self.cumulative[-1] <= u and not self.complete:
                self.widen()
            left = len(self.ids)
        rank = int(self.ranks(u * mass, left))
        probability = min(1.0, float(self.probs[rank]) / mass)
        token = int(self.ids[rank])
        return Draw(token, probability, not doubt or self._sure(rank, u, truncations, doubt))

    def _sure(self, rank: int, u: float, truncations: Sequence[Truncation], doubt: float) -> bool:
        """Whether ``u`` finds this rank's token however all logits move by up to ``doubt``.

        Moving them so moves edges (``moved``), swaps neighbours nearer than twice the doubt, and
        can move the cuts.
        """
        beside = self._logits[self.ids[max(0, rank - 1) : rank + 2]].tolist()
        if rank + 1 == len(self.ids):
            beside.append(self._least)  # nothing that is not ranked lies above
        if any(above - below <= 2.0 * doubt for above, below in pairwise(beside)):
            return False
        before = float(self.cumulative[rank - 1]) if rank else -math.inf
        behind = float(self.cumulative[rank])
        near = moved(0.5, doubt)
        if not truncations:
            last = self.complete and rank + 1 == len(self.ids)
            return u - before > near and (last or behind - u > near)
        fewest, most = self._cuts(truncations, doubt)
        mass = float(self.cumulative[fewest - 1])
        if rank >= fewest or (u - near) * mass <= before:
            return False
        mass = float(self.cumulative[most - 1])
        return rank + 1 == most or (u + near) * mass < behind

    def _cuts(self, truncations: Sequence[Truncation], doubt: float) -> tuple[int, int]:
        """The fewest and the most tokens that the truncations can leave, as ``kept`` counts
        them, where each logit is off by up to ``doubt``."""
        fewest = most = len(self.ids)
        whole = True  # nothing has been cut: the mass is 1, also of what is not ranked
        for stage, value in truncations:
            if stage == "top_k":
                low = high = self._first(int(value))
            elif stage == "top_p":
                least, all_of_it = (
                    (1.0, 1.0)
                    if whole
                    else (float(self.cumulative[fewest - 1]), float(self.cumulative[most - 1]))
                )
                low = self._reaching((value - moved(value, doubt)) * least)
                high = self._reaching((value + moved(value, doubt)) * all_of_it)
            else:
                floor = value * float(self.probs[0])
                low = self._at_least(floor * (1.0 + 2.0 * doubt))
                high = self._at_least(floor * (1.0 - 2.0 * doubt))
            fewest = max(1, low if whole else min(low, fewest))
            most = max(1, high if whole else min(high, most))
            whole = False
        return fewest, most

    def ranks(
        self, heights: float | NDArray[np.float64], left: int
    ) -> NDArray[np.int64] | np.int64:
        """Where cumulative mass first exceeds each height, among the first ``left`` tokens.

        A height past the end, where rounding may leave one, becomes the last below the
        end. So the sum grows at the rank that is found, and its probability is above 0.
        """
        end = math.nextafter(self.cumulative[left - 1], 0.0)
        below = min(heights, end) if isinstance(heights, float) else np.minimum(heights, end)
        return self.cumulative.searchsorted(below, side="right")

    def _rank(self) -> None:
        self.complete = self._bound < FLOOR
        if self.complete:
            self._least = -math.inf
            leading = self._logits > -math.inf
        else:
            # a bound on the logit, not on its rounded probability, splits no tie
            best = float(self._logits[self._best])
            room = math.log(self._bound / float(self._row[self._best]))
            self._least = best + min(room, 0.0)
            leading = self._logits >= self._least
        self.ids = _in_draw_order(self._logits, leading.nonzero()[0])
        self.probs = self._row[self.ids].astype(np.float64)
        self.cumulative = self.probs.cumsum()

    def _first(self, k: int) -> int:
        while len(self.ids) < k and not self.complete:
            self.widen()
        return min(k, len(self.ids))

    def _reaching(self, mass: float) -> int:
        target = mass * (1.0 - SLACK)
        while self.cumulative[-1] < target and not self.complete:
            self.widen()
        return min(int(self.cumulative.searchsorted(target)) + 1, len(self.ids))

    def _at_least(self, floor: float) -> int:
        bound = floor * (1.0 - SLACK)
        while not (self.probs < bound).any() and not self.complete:
            self.widen()
        short = self.probs < bound
        return int(short.argmax()) if short.any() else len(self.ids)


def moved(share: float, doubt: float) -> float:
    """How far ``share`` of the mass, at the top, may move where each logit moves by up to
    ``doubt``, a small number: all above it up and all below it down."""
    return 2.0 * doubt * (share * (1.0 - share) + doubt)


def start(u: float, truncations: Sequence[Truncation]) -> float:
    """A probability down to which a ranking is likely to hold the token at ``u``."""
    if not truncations:
        return (1.0 - u) * SHARE
    stage, value = truncations[0]
    return (1.0 - value) * SHARE if stage == "top_p" else NARROW


def sort_keys(values: NDArray[np.float32], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """A whole number for each token that sorts by descending value, ties by ascending place:
    the value's bits (made monotonic) above the place, which ``LOW_WORD`` holds.

    With no equal keys any sort will do, and plain numbers sort several times faster than
    numbers with a partner. ``values`` are overwritten.
    """
    values += 0.0  # -0.0 becomes 0.0
    bits = values.view(np.int32)  # a sign and a magnitude
    magnitude = bits >> 31
    magnitude &= 0x7FFFFFFF
    bits ^= magnitude  # now ascending with the value
    keys: NDArray[np.int64] = np.invert(bits, dtype=np.int64)
    keys <<= 32
    keys |= places
    return keys


def _in_draw_order(logits: NDArray[np.float32], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """``ids`` by descending logit, ties ascending."""
    values = logits[ids]
    if len(ids) < FEW:
        return ids[(-values).argsort(kind="stable")]
    keys = sort_keys(values, ids)
    keys.sort()
    keys &= LOW_WORD
    return keys
