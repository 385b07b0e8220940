"""Strokes and bars in braille dots, told apart by their pattern and not only by colour.

Knows cells and dots; knows nothing of axes, names or what the values mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.widgets.lines import Line

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Bits of a braille cell: two columns of four, from the top."""
_BLANK = 0x2800

_STROKES: tuple[Callable[[int], bool], ...] = (
    lambda at: at % 4 == 0,
    lambda at: True,
    lambda at: at % 8 < 5,
    lambda at: at % 12 < 7 or at % 12 == 9,
)
"""Where along a stroke there are dots: dotted, drawn through, dashed, dash and dot."""
_FILLS: tuple[Callable[[int, int], bool], ...] = (
    lambda x, y: True,
    lambda x, y: (x + y) % 2 == 0,
    lambda x, y: y % 2 == 0,
    lambda x, y: x % 2 == 0,
)
"""Which dots of a bar are set: full, chequered, across, upright."""


class Grid:
    """Braille dots and, for each cell, the series that was drawn there last."""

    def __init__(self, width: int, height: int) -> None:
        """``width`` and ``height`` in cells: twice and four times as many dots."""
        self.width, self.height = width, height
        self.dots = (width * 2, height * 4)
        self._rows = [[0] * width for _ in range(height)]
        self._owner = [[0] * width for _ in range(height)]

    def stroke(self, points: Sequence[tuple[int, int]], owner: int) -> None:
        """Straight from dot to dot (x from the left, y from the top); one alone is a dot."""
        on = _STROKES[owner % len(_STROKES)] if len(points) > 1 else lambda at: True
        at = 0
        for start, end in zip(points, points[1:] or points, strict=False):
            reach = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
            for i in range(reach + 1):
                x = round(start[0] + (end[0] - start[0]) * i / reach)
                y = round(start[1] + (end[1] - start[1]) * i / reach)
                if on(at + i):
                    self._dot(x, y, owner)
            at += reach

    def bar(self, columns: range, top: int, bottom: int, owner: int) -> None:
        """A filled box of dots over ``columns``, from ``top`` to ``bottom``, both within."""
        on = _FILLS[owner % len(_FILLS)]
        for x in columns:
            for y in range(top, bottom + 1):
                if on(x, y):
                    self._dot(x, y, owner)

    def line(self, row: int, styles: Sequence[str]) -> Line:
        """A row of cells, each in the style of the series that owns it."""
        line: Line = []
        for bits, who in zip(self._rows[row], self._owner[row], strict=True):
            style = styles[who] if bits else ""
            char = chr(_BLANK + bits) if bits else " "
            if line and line[-1][1] == style:
                line[-1] = (line[-1][0] + char, style)
            else:
                line.append((char, style))
        return line

    def _dot(self, x: int, y: int, owner: int) -> None:
        if 0 <= x < self.dots[0] and 0 <= y < self.dots[1]:
            self._rows[y // 4][x // 2] |= _DOTS[x % 2][y % 4]
            self._owner[y // 4][x // 2] = owner


def sample(owner: int, *, bars: bool) -> str:
    """Four cells of the pattern that series ``owner`` is drawn in, for a key."""
    grid = Grid(4, 1)
    if bars:
        grid.bar(range(8), 0, 3, owner)
    else:
        grid.stroke([(0, 1), (7, 1)], owner)
    return "".join(text for text, _ in grid.line(0, [""] * (owner + 1)))
