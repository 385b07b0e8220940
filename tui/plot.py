"""Measured values against a number in a few rows of braille, told apart without colour.

A pure function of points to lines of text, for the window and for the command line alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.braille import Grid, sample
from tui.cells import cell_len, fit

if TYPE_CHECKING:
    from tui.widgets.lines import Line

_BLOCKS = "▁▂▃▄▅▆▇█"
SMALLEST = (20, 2)
"""Cells of width and rows of height, axis apart, below which nothing is drawn."""
MILLIONS, SMALL = 1e7, 1e-3
"""From the first on numbers are written in millions, below the second with a power of ten."""
MOST_DIGITS = 7
NEAR_ZERO = 0.5
"""A linear y axis begins at 0 where the smallest value is below this share of the largest."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one set of bars."""

    name: str
    points: tuple[tuple[float, float], ...]
    """(x, y) with x ascending. What is not finite, or not above 0 on a logarithmic axis, is
    left out."""
    style: str = ""


@dataclass(frozen=True, slots=True)
class Axes:
    """What the axes show."""

    x: str = ""
    """Stands behind the last number of the x axis."""
    unit: str = ""
    """Stands behind the numbers of the y axis."""
    log_x: bool = False
    log_y: bool = False
    bars: bool = False
    """A bar for each point, groups of equal width whatever their x; else a line."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """Values of an axis as shares of its length."""

    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        low, high = self._line(self.low), self._line(self.high)
        return min(1.0, max(0.0, (self._line(value) - low) / (high - low))) if high > low else 0.0

    def middle(self) -> float:
        if self.log:
            return math.sqrt(self.low * self.high)
        return (self.low + self.high) / 2

    def _line(self, value: float) -> float:
        return math.log(value) if self.log else value


def plot(series: Sequence[Series], width: int, height: int, axes: Axes) -> list[Line]:
    """A chart of ``height`` rows of ``width`` cells, the x axis's numbers beneath it.

    Series are named at their right ends, or, where the names are long or many, in a key in
    the last rows. Nothing where there are no points or no room.
    """
    drawn = [replace(one, points=_usable(one.points, axes)) for one in series]
    if not any(one.points for one in drawn) or width < SMALLEST[0]:
        return []
    key = _key(drawn, width, height, axes)
    rows = height - 1 - len(key)
    if rows < SMALLEST[1]:
        return []
    ys = [y for one in drawn for _, y in one.points]
    scale = _Scale(*_y_range(ys, axes), axes.log_y)
    labels = _y_labels(scale, rows, axes.unit)
    left = max(2, *(cell_len(label) for label in labels))
    names = 0 if key else max(cell_len(one.name) for one in drawn) + 1
    grid = Grid(width - left - 1 - names, rows)
    xs = sorted({x for one in drawn for x, _ in one.points})
    if axes.bars:
        _draw_bars(grid, drawn, xs, scale)
    else:
        _draw_lines(grid, drawn, _Scale(xs[0], xs[-1], axes.log_x), scale)
    ends = [[] for _ in range(rows)] if key else _ends(drawn, rows, scale)
    styles = [one.style for one in drawn]
    lines: list[Line] = [
        [(fit(label, left, right=True), "quiet"), ("┤", "quiet"), *grid.line(y, styles), *ends[y]]
        for y, label in enumerate(labels)
    ]
    return [*lines, _x_axis(xs, left + 1, grid.width, names, axes), *key]


def number(value: float) -> str:
    """A value of an axis in few digits: ``0.25``, ``1,234``, ``12 M``, ``3e-5``."""
    size = abs(value)
    if size >= MILLIONS:
        return f"{value / 1e6:,.0f} M" if size >= 1e8 else f"{value / 1e6:.2g} M"
    if value == round(value) or size >= 1000:
        return f"{value:,.0f}"
    if size < SMALL:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return f"{value:.3g}" if size >= 10 else f"{value:.2g}"


def told_apart(values: Sequence[float]) -> list[str]:
    """The numbers of an axis, with as many digits as it takes that no two are the same."""
    written = [number(value) for value in values]
    for digits in range(3, MOST_DIGITS + 1):
        if len(set(written)) == len(set(values)):
            break
        written = [f"{value:.{digits}g}" for value in values]
    return written


def _usable(points: Sequence[tuple[float, float]], axes: Axes) -> tuple[tuple[float, float], ...]:
    return tuple(
        (x, y)
        for x, y in points
        if math.isfinite(x)
        and math.isfinite(y)
        and (x > 0 or not axes.log_x or axes.bars)
        and (y > 0 or not axes.log_y)
    )


def _y_range(ys: Sequence[float], axes: Axes) -> tuple[float, float]:
    """From 0 where the values come near it, else a little beyond the values."""
    low, high = min(ys), max(ys)
    if axes.log_y:
        return (low, high) if high > low else (low / 2, high * 2)
    if axes.bars or (low >= 0 and low <= NEAR_ZERO * high):
        low, high = min(low, 0.0), max(high, 0.0)
        return (low, high) if high > low else (0.0, 1.0)
    margin = 0.05 * (high - low) or 0.05 * abs(high)
    return low - margin, high + margin


def _y_labels(scale: _Scale, rows: int, unit: str) -> list[str]:
    """The numbers beside the rows: at the top, at the bottom and, with room, between."""
    values = {rows - 1: scale.low, 0: scale.high}
    if rows >= 5:
        values[rows // 2] = _at_row(scale, rows // 2, rows)
    written = dict(zip(values, told_apart(list(values.values())), strict=True))
    labels = [written.get(row, "") for row in range(rows)]
    labels[0] += unit
    return labels


def _at_row(scale: _Scale, row: int, rows: int) -> float:
    """The value in the middle of a row, in few digits where these differ from the ends'."""
    share = 1 - (row + 0.5) / rows
    if scale.log:
        value = scale.low * (scale.high / scale.low) ** share
    else:
        value = scale.low + (scale.high - scale.low) * share
    short = float(f"{value:.2g}")
    return short if scale.low < short < scale.high else value


def _draw_lines(grid: Grid, series: Sequence[Series], across: _Scale, up: _Scale) -> None:
    right, bottom = grid.dots[0] - 1, grid.dots[1] - 1
    for owner, one in enumerate(series):
        dots = [
            (round(across.share(x) * right), round((1 - up.share(y)) * bottom))
            for x, y in one.points
        ]
        if dots:
            grid.stroke(dots, owner)


def _draw_bars(grid: Grid, series: Sequence[Series], xs: Sequence[float], up: _Scale) -> None:
    """A group of bars for each x, a dot's width between groups where there is room."""
    right, bottom = grid.dots[0], grid.dots[1] - 1
    zero = round((1 - up.share(max(up.low, 0.0))) * bottom)
    place = {x: at for at, x in enumerate(xs)}
    for owner, one in enumerate(series):
        for x, y in one.points:
            begin = place[x] * right / len(xs)
            room = max(1.0, right / len(xs) - 2)
            first = round(begin + room * owner / len(series))
            last = max(first + 1, round(begin + room * (owner + 1) / len(series)))
            tip = round((1 - up.share(y)) * bottom)
            grid.bar(range(first, last), min(tip, zero), max(tip, zero), owner)


def _ends(series: Sequence[Series], rows: int, scale: _Scale) -> list[Line]:
    """The names, each in the row where its line ends, or the next free one."""
    named: list[Line] = [[] for _ in range(rows)]
    ended = [
        (round((1 - scale.share(one.points[-1][1])) * (rows * 4 - 1)) // 4, one)
        for one in series
        if one.points
    ]
    for y, one in sorted(ended, key=lambda end: end[0]):  # from the top down, equals in order
        free = [row for row in range(rows) if not named[row]]
        if free:
            named[min(free, key=lambda row: (abs(row - y), -row))] = [(f" {one.name}", one.style)]
    return named


def _key(series: Sequence[Series], width: int, height: int, axes: Axes) -> list[Line]:
    """Which pattern is which, where the names have no room at the lines' ends."""
    named = [(owner, one) for owner, one in enumerate(series) if one.points and one.name]
    longest = max((cell_len(one.name) for _, one in named), default=0)
    if not axes.bars and longest <= width // 4 and len(named) <= height - 1:
        return []
    lines: list[Line] = []
    used = width
    for owner, one in named:
        name = fit(one.name, min(cell_len(one.name), width - 5))
        wide = 5 + cell_len(name)
        if used + 2 + wide > width:
            lines.append([])
            used = -2
        gap = "  " if lines[-1] else ""
        lines[-1] += [(f"{gap}{sample(owner, bars=axes.bars)} {name}", one.style)]
        used += 2 + wide
    return lines


def _x_axis(xs: Sequence[float], left: int, width: int, names: int, axes: Axes) -> Line:
    """First and last number, one between where there is room, and what they are."""
    first, last = number(xs[0]), number(xs[-1]) if len(xs) > 1 else ""
    behind = " ".join(part for part in (last, axes.x) if part)
    if cell_len(behind) > width + names - cell_len(first) - 1:
        behind = last
    if axes.bars:
        between = number(xs[len(xs) // 2]) if len(xs) > 2 else ""
        at = int((len(xs) // 2) * width / len(xs))
    else:
        scale = _Scale(xs[0], xs[-1], axes.log_x)
        middle = float(f"{scale.middle():.2g}")  # few digits, and standing where they say
        between = number(middle)
        at = round(scale.share(middle) * (width - 1)) - cell_len(between) // 2
    text = first
    room = width + names - cell_len(behind)
    if len(xs) > 2 and cell_len(first) + 2 <= at and at + cell_len(between) + 2 <= room:
        text = fit(first, at) + between
    text = fit(text, max(0, room)) + behind
    return [(" " * left + text, "quiet")]


def sparks(series: Sequence[Series], width: int, unit: str) -> list[Line]:
    """A row of blocks for each series, all on one scale from 0, its newest value behind it:
    for where a plot has no room. Nothing where there are no points or no room."""
    drawn = [s for s in series if s.points]
    names = max((cell_len(s.name) for s in drawn), default=0) + 1
    room = width - names - 8
    if not drawn or room < 4:
        return []
    top = max(y for s in drawn for _, y in s.points) or 1.0
    low = min(s.points[0][0] for s in drawn)
    span = max(s.points[-1][0] for s in drawn) - low or 1.0
    lines: list[Line] = []
    for one in drawn:
        cells = [" "] * room
        for x, y in one.points:
            at = round((x - low) / span * (room - 1))
            cells[at] = _BLOCKS[round(min(1.0, y / top) * (len(_BLOCKS) - 1))]
        for at in range(1, room):  # between two points the earlier one holds
            if cells[at] == " " and any(c != " " for c in cells[at:]):
                cells[at] = cells[at - 1]
        value = f"{number(one.points[-1][1])}{unit}"
        lines.append(
            [(fit(one.name, names), one.style), ("".join(cells), one.style), (f" {value}", "quiet")]
        )
    return lines
