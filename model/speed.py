"""What the cache saves: a meter fed with the steps of one model.

Knows ``Step`` and nothing of clocks, threads or screens: every second that it counts
was measured by the engine. Feed it from one thread. It holds a bounded number of
samples, so that an update costs the same at the first token and at the 20,000th.

A token's time is its forward pass and its sampling. Only steps of one more token
(phase ``decode``) tell the modes apart; passes over a prompt and over a window that
was read again are kept by themselves. Batches are not fed: their steps share passes.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Literal

from model.steps import Race, Step

Mode = Literal["on", "off"]
MODES: tuple[Mode, ...] = ("on", "off")

BUCKETS = 16
"""A block is cut into this many lengths of context, or fewer where it is shorter."""
KEPT = 64
"""Newest samples that a median is taken over."""
LIVE = 32
"""Newest steps that the live speed is taken over."""
WARM_UP = 3
"""Decode steps of each mode left out at first; of prefills one."""


@dataclass(frozen=True, slots=True)
class Median:
    """A median and how many samples it stands on, at most ``KEPT``."""

    seconds: float
    n: int

    @property
    def tokens_per_s(self) -> float | None:
        """At one token each ``seconds``; ``None`` where the clock saw no time pass."""
        return 1 / self.seconds if self.seconds else None


@dataclass(frozen=True, slots=True)
class Bucket:
    """Both modes at contexts of ``low`` to ``high`` tokens."""

    low: int
    high: int
    on: Median | None
    off: Median | None

    @property
    def speed_up(self) -> float | None:
        """How many times faster cached is here; ``None`` where a mode has no samples."""
        if self.on is None or self.off is None or not self.on.seconds:
            return None
        return self.off.seconds / self.on.seconds


@dataclass(frozen=True, slots=True)
class RaceReading:
    """Both modes on the same prefixes, over one run."""

    steps: int
    cached: Median
    """Forward pass alone."""
    uncached: Median
    max_logit_difference: float
    agreements: int
    """Steps at which both modes have the same best token."""
    first_divergence: int | None
    """Position of the first token at which they had not."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that a front end shows. ``None`` means no samples: show a dash."""

    model: str
    live_tokens_per_s: float | None
    """Over the newest ``LIVE`` steps of this run, whatever they were."""
    on: Median | None
    """Cached decode steps at any context length."""
    off: Median | None
    prefill: Median | None
    """Passes over a prompt, whatever its length."""
    re_prefill: Median | None
    """Windows read again: they slid, or the cache was switched on over them."""
    buckets: tuple[Bucket, ...]
    """Those with samples, by context length."""
    compared: Bucket | None
    """The bucket with both modes that is nearest to the newest context: take the
    speed-up from here, and nowhere else than at equal lengths."""
    context: int
    """Tokens that the newest step saw; 0 before the first."""
    recomputed: int
    """Tokens passed through the model again in this run."""
    cache_bytes: int
    """Bytes of keys and values in use at the newest step."""
    race: RaceReading | None
    reused: int = 0
    """Tokens of this run's prompt that a cache kept from before held already: what its
    prefill saved."""


class _Samples:
    """The newest few durations, the first ones left out."""

    def __init__(self, warm_up: int = 0) -> None:
        self._left_out = warm_up
        self._newest: deque[float] = deque(maxlen=KEPT)

    def add(self, seconds: float) -> None:
        if self._left_out:
            self._left_out -= 1
        else:
            self._newest.append(seconds)

    def median(self) -> Median | None:
        return Median(median(self._newest), len(self._newest)) if self._newest else None


class _Decodes:
    """Decode steps of one cache mode, by context length."""

    def __init__(self, buckets: int) -> None:
        self._left_out = WARM_UP
        self._all = _Samples()
        self._by_bucket = [_Samples() for _ in range(buckets)]

    def add(self, bucket: int, seconds: float) -> None:
        if self._left_out:
            self._left_out -= 1
            return
        self._all.add(seconds)
        self._by_bucket[bucket].add(seconds)

    def median(self) -> Median | None:
        return self._all.median()

    def medians(self) -> Iterable[Median | None]:
        return (samples.median() for samples in self._by_bucket)


class _Races:
    """The races of one run."""

    def __init__(self) -> None:
        self._cached, self._uncached = _Samples(), _Samples()
        self._steps = self._agreements = 0
        self._difference = 0.0
        self._divergence: int | None = None

    def add(self, race: Race, position: int) -> None:
        self._steps += 1
        self._cached.add(race.cached_s)
        self._uncached.add(race.uncached_s)
        difference = race.max_logit_difference
        if math.isnan(difference) or difference > self._difference:  # NaN, once seen, stays
            self._difference = difference
        self._agreements += race.argmax_agrees
        if not race.argmax_agrees and self._divergence is None:
            self._divergence = position

    def reading(self) -> RaceReading | None:
        cached, uncached = self._cached.median(), self._uncached.median()
        if cached is None or uncached is None:
            return None
        return RaceReading(
            self._steps, cached, uncached, self._difference, self._agreements, self._divergence
        )


class SpeedMeter:
    """Medians of both cache modes for one model, and the counts of its newest run."""

    def __init__(self, model: str, block_size: int) -> None:
        """``model``: its name. ``block_size``: its longest context in tokens, at least 1."""
        self.reset(model, block_size)

    def reset(self, model: str, block_size: int) -> None:
        """Forget everything and measure another model: figures of two are never mixed."""
        if block_size < 1:
            raise ValueError(f"block_size is {block_size}; it takes 1 or more")
        self._model = model
        self._block_size = block_size
        self._width = -(-block_size // BUCKETS)
        self._last = (block_size - 1) // self._width
        self._decodes: dict[Mode, _Decodes] = {mode: _Decodes(self._last + 1) for mode in MODES}
        self._prefill = _Samples(warm_up=1)
        self._re_prefill = _Samples()
        self.begin_run()

    def begin_run(self) -> None:
        """Start the counts of a run anew; the model's medians stay."""
        self._live: deque[float] = deque(maxlen=LIVE)
        self._races = _Races()
        self._context = self._recomputed = self._cache_bytes = self._reused = 0

    def update(self, step: Step) -> None:
        """Take in one step of the model."""
        seconds = step.forward_s + step.sampling_s
        race = step.race
        self._live.append(seconds + race.uncached_s if race else seconds)
        self._context = step.context
        self._recomputed += step.recomputed
        self._reused += step.reused
        self._cache_bytes = step.cache_bytes
        if race:
            self._races.add(race, step.position)
        if step.phase == "prefill":
            self._prefill.add(seconds)
        elif step.phase == "re-prefill":
            self._re_prefill.add(seconds)
        elif race:
            self._decoded("on", step, race.cached_s)
            self._decoded("off", step, race.uncached_s)
        else:
            mode: Mode = "off" if step.controls.cache == "off" else "on"
            self._decoded(mode, step, step.forward_s)

    def reading(self) -> Reading:
        """The figures now. Costs the same however much was fed; for a few calls a second."""
        buckets = self._buckets()
        total = sum(self._live)
        return Reading(
            model=self._model,
            live_tokens_per_s=len(self._live) / total if total else None,
            on=self._decodes["on"].median(),
            off=self._decodes["off"].median(),
            prefill=self._prefill.median(),
            re_prefill=self._re_prefill.median(),
            buckets=buckets,
            compared=self._compared(buckets),
            context=self._context,
            recomputed=self._recomputed,
            cache_bytes=self._cache_bytes,
            race=self._races.reading(),
            reused=self._reused,
        )

    def _decoded(self, mode: Mode, step: Step, forward_s: float) -> None:
        bucket = min((max(step.context, 1) - 1) // self._width, self._last)
        self._decodes[mode].add(bucket, forward_s + step.sampling_s)

    def _buckets(self) -> tuple[Bucket, ...]:
        pairs = zip(*(self._decodes[mode].medians() for mode in MODES), strict=True)
        return tuple(
            Bucket(i * self._width + 1, min((i + 1) * self._width, self._block_size), on, off)
            for i, (on, off) in enumerate(pairs)
            if on or off
        )

    def _compared(self, buckets: tuple[Bucket, ...]) -> Bucket | None:
        """Of two equally near ones the longer."""

        def distance(bucket: Bucket) -> tuple[int, int]:
            return max(bucket.low - self._context, self._context - bucket.high, 0), -bucket.low

        return min((b for b in buckets if b.speed_up is not None), key=distance, default=None)
