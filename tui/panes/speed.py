"""What the cache saves: live speed, both modes at equal length, the race.

Knows a ``Reading`` of the meter; measures nothing and knows nothing of runs. Where there
are no samples there is a dash.
"""

from __future__ import annotations

from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult

from model.config import CacheMode
from model.speed import Median, RaceReading, Reading
from tui.cells import cell_len, fit
from tui.messages import CacheModeRequested
from tui.plot import Axes, Series, plot, sparks
from tui.widgets.choice import Choice
from tui.widgets.fields import FieldPane
from tui.widgets.lines import Line, Lines, line_width, set_title, wrap

DASH = "–"
HINT = "←→ mode · same text in all"
AXES = Axes("tokens", "ms")
PLOT = 4
"""Rows that a plot takes at least; with fewer there is a row of blocks for each mode."""


class SpeedPane(FieldPane):
    """The cache's switch and the meter beneath it."""

    DEFAULT_CSS = "SpeedPane { height: 1fr; min-height: 6; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._mode: CacheMode = "on"
        set_title(self, "Speed", HINT)

    def compose(self) -> ComposeResult:
        yield Choice("cache", [("on", "on"), ("off", "off"), ("race", "race")], id="mode")
        yield SpeedReadout()

    def on_mount(self) -> None:
        self.query_one(Choice).show(self._mode)

    def show(self, reading: Reading | None, cache_mode: CacheMode, allocated: int = 0) -> None:
        """Show ``reading``, ``None`` for nothing measured yet, and the mode in force.
        ``allocated``: bytes that the cache has set aside; 0 where that is not known."""
        self._mode = cache_mode
        now = reading.live_tokens_per_s if reading else None
        set_title(self, f"Speed · now {rate(now)}" if now else "Speed")
        if self.children:
            self.query_one(Choice).show(cache_mode)
            self.query_one(SpeedReadout).show(reading, allocated)

    @on(Choice.Changed)
    def _chosen(self, event: Choice.Changed) -> None:
        event.stop()
        self._mode = cast(CacheMode, event.key)
        self.post_message(CacheModeRequested(self._mode))


class SpeedReadout(Lines):
    """The figures and the plot."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"quiet", "on", "off", "strong"}
    DEFAULT_CSS = """
    SpeedReadout {
        height: 1fr;
        min-height: 10;
        & > .quiet { color: $text-muted; }
        & > .on { color: $accent; }
        & > .off { color: $text-warning; }
        & > .strong { text-style: bold; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._reading: Reading | None = None
        self._allocated = 0

    def show(self, reading: Reading | None, allocated: int) -> None:
        """Show other figures, where they are others."""
        if (reading, allocated) != (self._reading, self._allocated):
            self._reading, self._allocated = reading, allocated
            self.changed()

    def build(self, width: int, height: int) -> list[Line]:
        reading = self._reading
        above: list[Line] = [
            _mode_line("on", reading.on if reading else None, width),
            _mode_line("off", reading.off if reading else None, width),
            [(_speed_up(reading), "strong")],
        ]
        below: list[Line] = [[(text, "")] for text in race_lines(reading.race if reading else None)]
        below += [[(text, "quiet")] for text in wrap(self._counts(), width)]
        series, room = _series(reading), height - len(above) - len(below)
        if room < 0 and reading is not None and reading.race is not None:
            return [*above, *below]  # where one has room, what the race shows
        drawn = plot(series, width, room, AXES) if room >= PLOT else sparks(series, width, "ms")
        return [*above, *drawn, *below]

    def _counts(self) -> list[str]:
        reading = self._reading
        if reading is None:
            return [f"recomputed {DASH}", f"cache {DASH}", f"prefill {DASH}", f"re-prefill {DASH}"]
        before = [("prefill", reading.prefill), ("re-prefill", reading.re_prefill)]
        of = f" of {kilobytes(self._allocated)}" if self._allocated else ""
        saved = [f"prefill saved {reading.reused:,}"] if reading.reused else []
        return [
            *saved,
            f"recomputed {reading.recomputed:,}",
            f"cache {kilobytes(reading.cache_bytes)}{of}",
            *(f"{name} {milliseconds(took) if took else DASH}" for name, took in before),
        ]


def _mode_line(mode: str, median: Median | None, width: int) -> Line:
    per_second = median.tokens_per_s if median else None
    line: Line = [
        (fit(mode, 3), mode),
        (fit(rate(per_second), 12, right=True), ""),
        (fit(milliseconds(median), 9, right=True), ""),
    ]
    count = f" n {median.n:,}" if median else ""
    return [*line, (count if line_width(line) + cell_len(count) <= width else "", "quiet")]


def _speed_up(reading: Reading | None) -> str:
    """At one length, and at which."""
    bucket = reading.compared if reading else None
    if bucket is None or bucket.speed_up is None:
        return f"speed-up {DASH} (needs on and off)"
    return f"{bucket.speed_up:.1f}× at {bucket.low}{DASH}{bucket.high} tokens"


def race_lines(race: RaceReading | None) -> list[str]:
    """The race in words: times, logits, tokens."""
    if race is None:
        return [f"race {DASH}"]
    same = f"best token same {race.agreements}/{race.steps}"
    if race.first_divergence is None:
        same += " ✓"
    else:
        same += f", first not at {race.first_divergence}"
    return [
        f"race {milliseconds(race.cached)} : {milliseconds(race.uncached)}, n {race.cached.n}",
        f"max Δlogit {race.max_logit_difference:.1e}",
        same,
    ]


def _series(reading: Reading | None) -> list[Series]:
    """Milliseconds a token in the middle of each bucket, a line for each mode."""
    buckets = reading.buckets if reading else ()
    on = tuple(((b.low + b.high) / 2, b.on.seconds * 1000) for b in buckets if b.on)
    off = tuple(((b.low + b.high) / 2, b.off.seconds * 1000) for b in buckets if b.off)
    return [Series("on", on, "on"), Series("off", off, "off")]


def rate(per_second: float | None, unit: str = "tok/s") -> str:
    """``1,912 tok/s``, with a decimal below ten."""
    if per_second is None:
        return f"{DASH} {unit}"
    return f"{per_second:,.0f} {unit}" if per_second >= 10 else f"{per_second:.1f} {unit}"


def milliseconds(median: Median | None) -> str:
    """``0.52 ms``, three digits that matter."""
    if median is None:
        return f"{DASH} ms"
    value = median.seconds * 1000
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.{1 if value >= 10 else 2}f} ms"


def kilobytes(count: float) -> str:
    """``96 KB``, of 1024 bytes each, with a decimal below ten."""
    value = count / 1024
    return f"{value:,.0f} KB" if value >= 10 or value == 0 else f"{value:.1f} KB"
