"""Timing both cache modes: in turns, a run of each not counted, medians, n.

As the bench does, but step by step, so that an experiment says how far it is and can be
stopped; what happens between two steps is not timed. With one torch thread the time is the
processor's, of this thread alone: on a busy machine the clock stops long passes more often
than short ones, which would favour the cache.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import torch

from model.config import CacheMode, Controls, SamplerConfig
from model.lab.base import Progress
from model.lab.parting import Parting, parting
from model.lab.portion import portion
from model.protocol import LanguageModel
from model.steps import Step
from model.subjects import TEMPERATURE, Endless, steps
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


@dataclass(frozen=True, slots=True)
class Pair:
    """The same text in both cache modes."""

    tokens: int
    runs: dict[CacheMode, tuple[Timed, ...]]
    parting: Parting | None = None
    """Where the two modes' texts part, if they do."""

    @property
    def n(self) -> int:
        """Counted runs of each mode."""
        return len(self.runs["on"])

    @property
    def identical(self) -> bool:
        """Every run of both modes wrote the same ids."""
        return len({run.ids for runs in self.runs.values() for run in runs}) == 1

    @property
    def agrees(self) -> bool:
        """They did, or part where u stood at the edge between two tokens: each mode by itself
        writes the same every time."""
        each = all(len({run.ids for run in runs}) == 1 for runs in self.runs.values())
        return self.identical or (each and self.parting is not None and self.parting.rounding)

    @property
    def same(self) -> str:
        """``yes``, or how far."""
        return "yes" if self.identical else f"{self.parting.at if self.parting else 0} tokens"

    @property
    def agreement(self) -> str:
        """That in full, with how near the other text was where they part."""
        if self.parting is None:
            return f"{self.tokens} tokens"
        at, apart = self.parting.at, self.parting.apart
        return f"{at} of {self.tokens} tokens, then u is {apart:.0e} from the other's token"

    def total(self, mode: CacheMode) -> float:
        """Median seconds of a whole run."""
        return median(sum(run.seconds) for run in self.runs[mode])

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
    """Write ``tokens`` tokens in both modes in turns, about as often as ``budget`` seconds of
    computing allow, at least once and at most ``most`` times; what is returned was measured.

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
            spent += sum(run.seconds)
        if len(runs["on"]) == 1:
            repeats = expected = min(most, int(budget / spent)) + 1
    counted = {mode: tuple(all_runs[1:] or all_runs) for mode, all_runs in runs.items()}
    texts = counted["off"][0].ids, counted["on"][0].ids
    controls = Controls(SamplerConfig(temperature=TEMPERATURE), max_tokens=tokens)
    parted = parting(model, tokenizer, texts, controls, constraint=Endless())
    return Pair(tokens, counted, parted)


def clock() -> Callable[[], float]:
    """What times a step: this thread's processor time, or with more torch threads the clock."""
    return time.thread_time if torch.get_num_threads() == 1 else time.perf_counter


def _timed(run: Iterator[Step], tokens: int, doing: str) -> Generator[Progress, None, Timed]:
    now = clock()
    ids: list[int] = []
    seconds: list[float] = []
    shown = time.perf_counter()
    while True:
        began = now()
        step = next(run, None)
        taken = now() - began
        if step is None:
            return Timed(tuple(ids), tuple(seconds))
        ids.append(step.token)
        seconds.append(taken)
        if time.perf_counter() - shown > QUIET:
            yield Progress(len(ids), tokens, doing)
            shown = time.perf_counter()


def pace(pairs: Sequence[Pair], mode: CacheMode) -> list[float]:
    """Median seconds of each token, in order, over all runs that reach it: texts of several
    lengths begin alike."""
    runs = [run.seconds for p in pairs for run in p.runs[mode]]
    longest = max(map(len, runs))
    return [median(run[i] for run in runs if i < len(run)) for i in range(longest)]


@dataclass(frozen=True, slots=True)
class Line:
    """A line fitted to seconds a token against tokens of context."""

    rise: float
    """Seconds that a token takes more for each one before it."""
    base: float
    """Seconds with none before it."""
    error: float
    """One standard error of ``rise``; infinite where too few points tell."""


SIGMAS = 4.0
"""Standard errors that a verdict must be clear of."""


def line(seconds: Sequence[float], first: int = 1, width: int = 8) -> Line:
    """A line through the seconds of each token; ``first``: the context of the first.

    Fitted through medians of ``width`` neighbours, so that a busy moment does not tilt it.
    """
    starts = range(0, len(seconds), width)
    x = [first + at + (len(seconds[at : at + width]) - 1) / 2 for at in starts]
    y = [median(seconds[at : at + width]) for at in starts]
    if len(x) < 2:
        return Line(0.0, y[0], math.inf)
    rise, base = np.polyfit(x, y, 1)
    left = np.array(y) - (rise * np.array(x) + base)
    spread = float(np.square(np.array(x) - np.mean(x)).sum())
    error = math.sqrt(float(left @ left) / (len(x) - 2) / spread) if len(x) > 2 else math.inf
    return Line(float(rise), float(base), error)


def is_flat(off: Line, on: Line, share: float = 0.25) -> bool | None:
    """Whether a token's time grows with the cache by less than ``share`` of what it grows by
    without; ``None`` where the times scatter too much to tell."""
    apart = share * off.rise - abs(on.rise)
    doubt = SIGMAS * math.hypot(share * off.error, on.error)
    return None if not doubt < abs(apart) else apart > 0


def gains_more(off: Line, on: Line) -> bool | None:
    """Whether the ratio of both times grows with the text; ``None`` where they scatter too
    much to tell."""
    if min(off.base, on.base) <= 0:
        return None
    apart = off.rise / off.base - on.rise / on.base
    doubt = SIGMAS * math.hypot(off.error / off.base, on.error / on.base)
    return None if not doubt < abs(apart) else apart > 0
