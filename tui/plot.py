"""Two or more measured lines in a few rows of braille, told apart without colour.

A pure function of points to lines of text. The first series is dotted, every later one
drawn through, and each is named at its right end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tui.cells import cell_len, fit
from tui.widgets.lines import Line

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Bits of a braille cell: two columns of four, from the top."""
_BLOCKS = "▁▂▃▄▅▆▇█"
SMALLEST = (20, 2)
"""Cells of width and rows of height, axis apart, below which nothing is drawn."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line."""

    name: str
    points: tuple[tuple[float, float], ...]
    """(x, y) with x ascending; finite, y at least 0."""
    style: str = ""


def plot(series: Sequence[Series], width: int, height: int, unit: str) -> list[Line]:
    """A chart of ``height`` rows of ``width`` cells, the x axis's numbers in the last one.

    The y axis runs from 0 to the largest y, named with ``unit``. Nothing where there are
    no points or no room.
    """
    drawn = [s for s in series if s.points]
    if not drawn or width < SMALLEST[0] or height < SMALLEST[1] + 1:
        return []
    top = max(y for s in drawn for _, y in s.points) or 1.0
    low = min(s.points[0][0] for s in drawn)
    high = max(s.points[-1][0] for s in drawn)
    names = max(cell_len(s.name) for s in drawn) + 1
    ceiling = f"{top:.2g}{unit}" if top < 10 else f"{top:.0f}{unit}"
    left = max(cell_len(ceiling), 2)
    grid = _Grid(width - left - 1 - names, height - 1, (low, high), top)
    for index, one in enumerate(series):
        grid.draw(one.points, index, dotted=index == 0)
    ends = _ends(drawn, grid)
    lines: list[Line] = []
    for y in range(height - 1):
        label = ceiling if y == 0 else "0" if y == height - 2 else ""
        cells = _runs(grid.rows[y], grid.owner[y], series)
        lines.append([(fit(label, left, right=True), "quiet"), ("┤", "quiet"), *cells, *ends[y]])
    return [*lines, _axis(low, high, left + 1, grid.width, names)]


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
        last = one.points[-1][1]
        value = f"{last:.2g}{unit}" if last < 10 else f"{last:.0f}{unit}"
        lines.append(
            [(fit(one.name, names), one.style), ("".join(cells), one.style), (f" {value}", "quiet")]
        )
    return lines


class _Grid:
    """Braille dots and, for each cell, the series that was drawn there last."""

    def __init__(self, width: int, height: int, x: tuple[float, float], top: float) -> None:
        self.width, self.height = width, height
        self._x, self._top = x, top
        self.rows = [[0] * width for _ in range(height)]
        self.owner = [[0] * width for _ in range(height)]

    def at(self, x: float, y: float) -> tuple[int, int]:
        """The dot of a point, from the top left."""
        low, high = self._x
        share = (x - low) / (high - low) if high > low else 0.0
        down = 1.0 - min(1.0, y / self._top)
        return round(share * (self.width * 2 - 1)), round(down * (self.height * 4 - 1))

    def draw(self, points: Sequence[tuple[float, float]], owner: int, *, dotted: bool) -> None:
        """Straight strokes from point to point; a single point is a dot."""
        dots = [self.at(*point) for point in points]
        for start, end in zip(dots, dots[1:] or dots, strict=False):
            reach = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
            for i in range(reach + 1):
                x = round(start[0] + (end[0] - start[0]) * i / reach)
                y = round(start[1] + (end[1] - start[1]) * i / reach)
                if not dotted or x % 4 == 0 or len(dots) == 1:
                    self._dot(x, y, owner)

    def _dot(self, x: int, y: int, owner: int) -> None:
        self.rows[y // 4][x // 2] |= _DOTS[x % 2][y % 4]
        self.owner[y // 4][x // 2] = owner


def _ends(drawn: Sequence[Series], grid: _Grid) -> list[Line]:
    """The names, each in the row where its line ends, or the next free one."""
    rows: list[Line] = [[] for _ in range(grid.height)]
    for one in sorted(drawn, key=lambda s: -s.points[-1][1]):  # from the top down
        y = grid.at(*one.points[-1])[1] // 4
        free = [row for row in range(grid.height) if not rows[row]]
        if free:
            rows[min(free, key=lambda row: (abs(row - y), -row))] = [(f" {one.name}", one.style)]
    return rows


def _runs(row: list[int], owner: list[int], series: Sequence[Series]) -> Line:
    line: Line = []
    for bits, who in zip(row, owner, strict=True):
        style = series[who].style if bits else ""
        char = chr(0x2800 + bits) if bits else " "
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + char, style)
        else:
            line.append((char, style))
    return line


def _axis(low: float, high: float, left: int, width: int, names: int) -> Line:
    first, last = f"{math.floor(low)}", f"{math.ceil(high)} tokens"
    room = width + names - cell_len(first) - 1
    if cell_len(last) > room:
        last = last.removesuffix(" tokens")
    return [(" " * left + first + " " + fit(last, max(0, room), right=True), "quiet")]
