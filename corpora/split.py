"""Held-out poems and what must not leak from them.

Every decision here is a function of a poem's own normalised text (its Han characters, simplified,
variants mapped): it does not depend on file order, on Python's hash or on a random generator.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from corpora.clean import han_only

HELD_OUT_PER_MILLE = 25
"""Share of Tang verse kept from training, in thousandths."""

SHINGLE = 10
"""Characters in the shortest shared run that counts as a leak: two full lines of five."""


def is_held_out(text: str) -> bool:
    """True for about HELD_OUT_PER_MILLE in a thousand poems, by SHA-256 of the normalised text."""
    digest = hashlib.sha256(han_only(text).encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") % 1000 < HELD_OUT_PER_MILLE


def shingles(text: str) -> Iterable[str]:
    """Every run of SHINGLE Han characters in `text`; a shorter text is one run of its own."""
    han = han_only(text)
    for start in range(max(1, len(han) - SHINGLE + 1)):
        yield han[start : start + SHINGLE]


class LeakIndex:
    """The runs of the held-out poems. Built once; asking never changes it."""

    def __init__(self, held_out: Iterable[str]) -> None:
        self._runs = frozenset(run for text in held_out for run in shingles(text))

    def leaks(self, text: str) -> bool:
        """True where `text` shares a run of SHINGLE characters with any held-out poem."""
        return not self._runs.isdisjoint(shingles(text))
