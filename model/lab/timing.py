"""Timing both cache modes: in turns, a run of each not counted, medians, n.

As the bench does, but step by step, so that an experiment says how far it is and can be
stopped; what happens between two steps is not timed. With one torch thread the time is the
processor's, of this thread alone: on a busy machine the clock stops long passes more often
than short ones, which would favour the cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import torch

from model.config import CacheMode
from model.lab.base import Progress
from model.lab.portion import portion
from model.protocol import LanguageModel
from model.steps import Step
from model.subjects import steps
from model.tokenizers import Tokenizer

MODES: tuple[CacheMode, CacheMode] = ("off", "on")
NAMES = {"off": "without cache", "on": "with cache"}
MOST = 5
"""Most repeats of one pair."""
QUIET = 0.5
"""Seconds between two progress records."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One run."""

    ids: tuple[int, ...]
    seconds: tuple[float, ...]
    """Of each token: its pass, its draw and its record."""
    elapsed: float = 0.0
    """Seconds by the clock, of all."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The same text in both cache modes."""

    tokens: int
    runs: dict[CacheMode, tuple[Timed, ...]]

    @property
    def n(self) -> int:
        """Counted runs of each mode."""
        return len(self.runs["on"])

    @property
    def identical(self) -> bool:
        """Every run of both modes wrote the same ids."""
        return len({run.ids for runs in self.runs.values() for run in runs}) == 1

    def total(self, mode: CacheMode) -> float:
        """Median seconds of a whole run."""
        return median(sum(run.seconds) for run in self.runs[mode])

    def elapsed(self, mode: CacheMode) -> float:
        """Median seconds of a whole run, by the clock."""
        return median(run.elapsed for run in self.runs[mode])

    @property
    def ratio(self) -> float:
        """How many times faster the cache is."""
        return self.total("off") / self.total("on")


def pair(
    model: LanguageModel,
    tokenizer: Tokenizer,
    tokens: int,
    budget: float,
    title: str,
    most: int = MOST,
) -> Generator[Progress, None, Pair]:
    """Write ``tokens`` tokens in both modes in turns, about as often as ``budget`` seconds
    allow, at least once and at most ``most`` times; what is returned was measured.

    The first turn is not counted, unless it alone takes the budget. Progress is counted in
    thousandths.
    """
    runs: dict[CacheMode, list[Timed]] = {mode: [] for mode in MODES}
    spent, repeats = 0.0, 1
    expected = most + 1  # turns, until the first one tells how many there is time for
    while len(runs["on"]) < repeats:
        for half, mode in enumerate(MODES):
            turn = (2 * len(runs["on"]) + half) / 2
            part = _timed(steps(model, tokenizer, tokens, mode), tokens, f"{title}, {NAMES[mode]}")
            run = yield from portion(part, turn / expected, (turn + 0.5) / expected)
            runs[mode].append(run)
            spent += run.elapsed
        if len(runs["on"]) == 1:
            repeats = expected = min(most, int(budget / spent)) + 1
    counted = {mode: tuple(all_runs[1:] or all_runs) for mode, all_runs in runs.items()}
    return Pair(tokens, counted)


def clock() -> Callable[[], float]:
    """What times a step: this thread's processor time, or with more torch threads the clock."""
    return time.thread_time if torch.get_num_threads() == 1 else time.perf_counter


def _timed(run: Iterator[Step], tokens: int, doing: str) -> Generator[Progress, None, Timed]:
    now = clock()
    ids: list[int] = []
    seconds: list[float] = []
    elapsed = 0.0
    shown = time.perf_counter()
    while True:
        resumed, began = time.perf_counter(), now()
        step = next(run, None)
        taken, back = now() - began, time.perf_counter()
        if step is None:
            return Timed(tuple(ids), tuple(seconds), elapsed)
        ids.append(step.token)
        seconds.append(taken)
        elapsed += back - resumed
        if back - shown > QUIET:
            yield Progress(len(ids), tokens, doing)
            shown = time.perf_counter()


def pace(pairs: Sequence[Pair], mode: CacheMode) -> list[float]:
    """Median seconds of each token, in order, over all runs that reach it: texts of several
    lengths begin alike."""
    runs = [run.seconds for p in pairs for run in p.runs[mode]]
    longest = max(map(len, runs))
    return [median(run[i] for run in runs if i < len(run)) for i in range(longest)]


def slope(seconds: list[float], first: int = 1, width: int = 8) -> tuple[float, float]:
    """A line through the seconds of each token: (seconds a token more of context, at none).

    ``first``: the context of the first. Fitted through medians of ``width`` neighbours, so
    that a busy moment does not tilt it.
    """
    starts = range(0, len(seconds), width)
    x = [first + at + (len(seconds[at : at + width]) - 1) / 2 for at in starts]
    y = [median(seconds[at : at + width]) for at in starts]
    if len(x) < 2:
        return 0.0, y[0]
    rise, base = np.polyfit(x, y, 1)
    return float(rise), float(base)
