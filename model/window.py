"""Which tokens a model sees: the whole text while it fits, then a window that slides.

Learned positions cannot slide with a cache, so the window moves rarely and by a rule
that depends on the text alone: when it is full it drops to the newest half, cut at a
line end where there is one. A cached and an uncached run therefore see the same tokens
at every step, however long the text and whenever the cache was switched.
"""

from __future__ import annotations

from collections.abc import Sequence


def next_start(
    ids: Sequence[int], start: int, length: int, block_size: int, line_ends: frozenset[int]
) -> int:
    """Where the window over the first ``length`` of ``ids`` begins, given where it began
    for one token fewer (or at any shorter length): the same ``start``, until the window
    would hold more than ``block_size`` tokens."""
    while length - start > block_size:
        # The window fills at start + block_size tokens; of these the newest half stays.
        full = start + block_size
        start = _after_line_end(ids, full - block_size // 2, full, line_ends)
    return start


def _after_line_end(ids: Sequence[int], earliest: int, full: int, line_ends: frozenset[int]) -> int:
    """The first place from ``earliest`` on that follows a line end, if it leaves at least a
    quarter of a block of context before ``full``; else ``earliest`` itself."""
    latest = full - (full - earliest) // 2
    for place in range(earliest, latest):
        if ids[place - 1] in line_ends:
            return place
    return earliest
