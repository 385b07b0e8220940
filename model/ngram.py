"""A yardstick for held-out losses: an interpolated Kneser-Ney model of n characters.

A figure in nats means little across corpora and splits; beside what counting alone
reaches on the same poems it does. Source: Kneser & Ney 1995; one discount an order,
n1 / (n1 + 2 n2), as in Ney, Essen & Kneser 1994.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Gram = tuple[int, ...]


@dataclass(slots=True)
class _Order:
    """Counts of the n-grams of one length: true ones for the longest, else how many
    different tokens stand before them."""

    counts: Counter[Gram]
    discount: float = 0.0
    totals: Counter[Gram] = field(default_factory=Counter)
    """Sum of the counts that share all but the last token."""
    kinds: Counter[Gram] = field(default_factory=Counter)
    """How many n-grams share all but the last token."""

    def __post_init__(self) -> None:
        frequencies = Counter(self.counts.values())
        once, twice = frequencies[1], frequencies[2]
        self.discount = once / (once + 2 * twice) if once else 0.5
        for gram, count in self.counts.items():
            self.totals[gram[:-1]] += count
            self.kinds[gram[:-1]] += 1


class KneserNey:
    """Probabilities of the next token given the ``n - 1`` before it."""

    def __init__(self, rows: Iterable[Sequence[int]], vocab_size: int, n: int = 5) -> None:
        """``rows``: texts as ids, each with its start token first, which is repeated to
        fill the context of the first characters. ``n``: at least 2."""
        self.n = n
        self.vocab_size = vocab_size
        counts = Counter[Gram]()
        for row in rows:
            padded = self._padded(row)
            counts.update(tuple(padded[i - n + 1 : i + 1]) for i in range(n - 1, len(padded)))
        orders = [_Order(counts)]
        for _ in range(n - 1):
            orders.append(_Order(Counter(gram[1:] for gram in orders[-1].counts)))
        self._orders = orders[::-1]

    def probability(self, context: Sequence[int], token: int) -> float:
        """Of ``token`` after the last ``n - 1`` ids of ``context``; above 0."""
        probability = 1 / self.vocab_size
        for length, order in enumerate(self._orders):
            before = tuple(context[len(context) - length :]) if length else ()
            total = order.totals.get(before)
            if not total:
                break  # a longer context is unseen too
            count = order.counts.get((*before, token), 0)
            held_back = order.discount * order.kinds[before] / total
            probability = max(count - order.discount, 0) / total + held_back * probability
        return probability

    def loss(self, rows: Iterable[Sequence[int]], unk_id: int) -> float:
        """Mean nats a token over ``rows``, their start tokens and unknown ones not counted."""
        nats, counted = 0.0, 0
        for row in rows:
            padded = self._padded(row)
            for i in range(self.n - 1, len(padded)):
                if padded[i] != unk_id:
                    nats -= math.log(self.probability(padded[i - self.n + 1 : i], padded[i]))
                    counted += 1
        return nats / counted

    def _padded(self, row: Sequence[int]) -> list[int]:
        return [row[0]] * (self.n - 2) + list(row)
