"""The longest run of each of some texts that stands in a corpus.

All texts are grown together: the places of the corpus where some text's run of n characters
stands are kept, and looked at again for n + 1. They soon become few, so that fifteen million
characters take seconds. Exact: runs are compared by rank, not by hash. Knows texts only.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from corpora.poems import PUNCTUATION
from model.lab.base import Progress
from model.lab.portion import WHOLE

Codes = NDArray[np.uint32]
Places = NDArray[np.int32]
_END = 0
"""Stands behind each text, and is no character of any."""
_CODES = 0x110000
PART = 1_000_000
"""Places looked at between two progress records."""
_DENSE = 2**24
"""Up to so many keys are looked up in a table of all."""
_SIEVE = 2**22


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a text that stands in the corpus."""

    length: int
    """In characters; 0 where not even one stands there."""
    start: int
    """Where in the text, in characters without punctuation."""
    text: int
    """The number of a corpus text that holds it: the first that does."""


class Corpus:
    """Texts without their punctuation, one behind the other."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._codes = encode(texts)
        self._ends = np.flatnonzero(self._codes == _END)

    @classmethod
    def joined(cls, parts: Sequence[Codes]) -> Self:
        """A corpus of texts that were encoded in parts, as they were read."""
        corpus = cls()
        corpus._codes = np.concatenate(parts)
        corpus._ends = np.flatnonzero(corpus._codes == _END)
        return corpus

    @property
    def characters(self) -> int:
        """Of all texts, punctuation left out."""
        return len(self._codes) - len(self._ends)

    def longest_runs(self, texts: Sequence[str]) -> Generator[Progress, None, list[Run]]:
        """The longest run of each text that stands in one of the corpus's, the first of
        equals. Punctuation is left out on both sides: a run may go over a line's end."""
        codes = encode(texts)
        ends = np.flatnonzero(codes == _END)
        begins = np.concatenate([[0], ends + 1])
        found = [Run(0, 0, -1)] * len(texts)
        characters, numbered = np.unique(codes, return_inverse=True)  # _END is number 0
        size = len(characters)
        number = np.zeros(_CODES, np.int32)  # characters of no text become an end
        number[characters] = np.arange(size)
        corpus, ours = number[self._codes], numbered.astype(np.int32)
        at, place = _not_end(ours), _not_end(corpus)
        rank, held = np.zeros(len(at), np.int64), np.zeros(len(place), np.int32)
        length = 0
        while len(at) and len(place):
            # rank: which run of `length` characters begins here; equal runs, equal ranks
            unique, rank = np.unique(rank * size + ours[at + length], return_inverse=True)
            grown = held.astype(np.int64) * size + corpus[place + length]
            place, held = yield from _Lookup(unique).find_all(place, grown, length)
            length += 1
            first_place = np.full(len(unique), -1, np.int64)
            first_place[held[::-1]] = place[::-1]
            stands = first_place[rank] >= 0
            at, rank = at[stands], rank[stands]
            owner = np.searchsorted(ends, at)
            for text, here in zip(*np.unique(owner, return_index=True), strict=True):
                source = int(np.searchsorted(self._ends, first_place[rank[here]]))
                found[text] = Run(length, int(at[here] - begins[text]), source)
            # a run grows only where its text goes on
            going_on, reaching = ours[at + length] > 0, corpus[place + length] > 0
            at, rank = at[going_on], rank[going_on]
            place, held = place[reaching], held[reaching]
        return found


class _Lookup:
    """Which of some keys each of many others is."""

    def __init__(self, unique: NDArray[np.int64]) -> None:
        """``unique``: sorted, each once."""
        self._unique = unique
        self._dense = np.full(_DENSE, -1, np.int32) if unique[-1] < _DENSE else None
        self._sieve = np.zeros(_SIEVE, bool)
        if self._dense is not None:
            self._dense[unique] = np.arange(len(unique))
        else:
            self._sieve[_sieved(unique)] = True

    def find_all(
        self, place: Places, keys: NDArray[np.int64], length: int
    ) -> Generator[Progress, None, tuple[Places, Places]]:
        """``find`` for many, part by part; ``length`` of the runs before they grow."""
        kept: list[tuple[Places, Places]] = []
        for first in range(0, len(place), PART):
            # each length takes about half of what is left
            left = 0.5 ** (length + first / len(place))
            yield Progress(WHOLE - round(left * WHOLE), WHOLE, f"runs of {length + 1}")
            part = slice(first, first + PART)
            kept.append(self.find(place[part], keys[part]))
        places, numbers = zip(*kept, strict=True)
        return np.concatenate(places), np.concatenate(numbers)

    def find(self, place: Places, keys: NDArray[np.int64]) -> tuple[Places, Places]:
        """Those of ``place`` whose key is one of them, and the number of that one."""
        if self._dense is not None:
            known = keys < _DENSE
            place, number = place[known], self._dense[keys[known]]
            return place[number >= 0], number[number >= 0]
        # nearly all keys are none of them: a sieve, then a search among what is left
        left = np.flatnonzero(self._sieve[_sieved(keys)])
        place, keys = place[left], keys[left]
        number = np.minimum(np.searchsorted(self._unique, keys), len(self._unique) - 1)
        same = self._unique[number] == keys
        return place[same], number[same].astype(np.int32)


def encode(texts: Iterable[str]) -> Codes:
    """The code points of all texts, without punctuation, and ``_END`` behind each."""
    joined = "".join(text.replace("\0", "") + "\0" for text in texts)
    codes = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32)
    kept = np.ones(_CODES, bool)
    kept[[ord(mark) for mark in PUNCTUATION]] = False
    return codes[kept[codes]]


def _not_end(numbers: Places) -> Places:
    return np.flatnonzero(numbers).astype(np.int32)


def _sieved(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """A place in the sieve for each key: the middle bits of a product (Fibonacci hashing)."""
    return (keys * 0x9E3779B97F4A7C1 >> 20) & (_SIEVE - 1)
