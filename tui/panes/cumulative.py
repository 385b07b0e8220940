"""The bar from 0 to 1 that the uniform number falls on.

Knows the candidates' final probabilities and where ``u`` landed; a pure function of
these to two lines of text.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.steps import Inspection
from tui.cells import cell_len, shown
from tui.widgets.lines import Line

FRAME = len("0 ├┤ 1")


@dataclass(frozen=True, slots=True)
class Part:
    """One candidate's stretch of the bar."""

    token: int
    piece: str
    start: float
    end: float
    """Cumulative final probability, [0, 1]."""


def parts_of(inspection: Inspection, chosen: int) -> list[Part]:
    """The stretches of the kept candidates in draw order, left to right.

    The chosen one stands exactly where the draw found it (``inspection.below``), which
    leaves a gap before it where tokens outside the table come first.
    """
    kept = [c for c in inspection.candidates if c.final > 0]
    kept.sort(key=lambda c: (-c.final, c.token))
    parts: list[Part] = []
    at = 0.0
    for candidate in kept:
        start = max(at, inspection.below) if candidate.token == chosen else at
        at = min(1.0, start + candidate.final)
        parts.append(Part(candidate.token, candidate.piece, start, at))
    return parts


def bar(inspection: Inspection, chosen: int, width: int) -> Line:
    """``0 ├──流───┬─来─┬┄┄┤ 1`` in ``width`` cells: a ┬ where a candidate begins, the
    chosen stretch heavy, tokens outside the table as ┄."""
    inner = max(1, width - FRAME)
    cells = ["┄"] * inner
    marked = [False] * inner
    parts = parts_of(inspection, chosen)
    for part in sorted(parts, key=lambda part: part.token == chosen):  # the chosen on top
        first, last = _span(part, inner)
        heavy = part.token == chosen
        for x in range(first, last):
            cells[x] = "━" if heavy else "─"
            marked[x] = heavy
        if first and not heavy:
            cells[first] = "┬"
        _write_name(cells, part.piece, first, last)
    return [("0 ├", "quiet"), *_runs(cells, marked), ("┤ 1", "quiet")]


def pointer(u: float, width: int, label: str) -> Line:
    """▲ under the cell of the bar that ``u`` in [0, 1) falls on, with ``label`` beside it."""
    x = 3 + _cell(u, max(1, width - FRAME))
    if x + 2 + cell_len(label) <= width:
        return [(" " * x, ""), ("▲", "drawn"), (f" {label}", "")]
    return [(" " * (x - 1 - cell_len(label)) + label + " ", ""), ("▲", "drawn")]


def _cell(value: float, inner: int) -> int:
    return min(inner - 1, max(0, int(value * inner)))


def _span(part: Part, inner: int) -> tuple[int, int]:
    """The cells of a stretch, at least one."""
    first = _cell(part.start, inner)
    return first, max(first + 1, min(inner, int(part.end * inner)))


def _write_name(cells: list[str], piece: str, first: int, last: int) -> None:
    """Put the token's text in the middle of its stretch, where there is room for it."""
    name = shown(piece)
    wide = cell_len(name)
    if last - first < wide + 2:
        return
    at = first + (last - first - wide + 1) // 2
    cells[at] = name
    for x in range(at + 1, at + wide):
        cells[x] = ""  # the name stands in for these


def _runs(cells: list[str], marked: list[bool]) -> Line:
    line: Line = []
    for cell, heavy in zip(cells, marked, strict=True):
        style = "drawn" if heavy else ""
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + cell, style)
        else:
            line.append((cell, style))
    return line
