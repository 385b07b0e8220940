"""A result laid out in terminal cells: tables, plots, checks, findings.

A pure function of a result and a width, to lines of (text, style name); the command line
prints them, the window draws them. Nothing on this way reads markup.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from model.lab.base import Check, Plot, Result, Table
from tui import plot as drawing
from tui.cells import cell_len, shown
from tui.lab.outcome import MARKS

if TYPE_CHECKING:
    from tui.widgets.lines import Line

SERIES_STYLES = ("series0", "series1", "series2", "series3", "series4", "series5")
PLOT_ROWS = 16
NARROWEST = 12
"""Cells that a column of text keeps, however narrow the sheet."""


def sheet(result: Result, width: int) -> list[Line]:
    """Everything that was found. A table that cannot be made as narrow as ``width`` is wider."""
    lines: list[Line] = []
    if result.findings:
        lines.append([("What it means", "strong")])
        for finding in result.findings:
            lines += _hanging("· ", finding, "", width)
        lines.append([])
    for table in result.tables:
        lines += [*table_lines(table, width), []]
    for plot in result.plots:
        lines += [*plot_lines(plot, width), []]
    if result.checks:
        lines.append([("Checks", "strong")])
        for check in result.checks:
            lines += check_lines(check, width)
        lines.append([])
    settings = settings_words(result)
    return [*lines, *([(line, "quiet")] for line in folded(settings, width))]


def table_lines(table: Table, width: int) -> list[Line]:
    """Title, headings, rows and note; numbers to the right."""
    lines: list[Line] = [[(line, "strong")] for line in folded(table.title, width)]
    cells = [
        [shown(c.text(cell)) for c, cell in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]
    heads = [shown(column.name) for column in table.columns]
    rich = RichTable(box=None, pad_edge=False, header_style="dim")
    least = -2  # two blanks between columns
    for place, head in enumerate(heads):
        right = numeric(table, place)
        longest = max((cell_len(row[place]) for row in cells), default=0)
        # a heading may break between words, a number never, a text where it must
        least_here = max(
            longest if right else min(longest, NARROWEST),
            max((cell_len(word) for word in head.split()), default=0),
        )
        least += least_here + 2
        rich.add_column(
            Text(head, overflow="fold"),
            justify="right" if right else "left",
            min_width=least_here,
            overflow="fold",
        )
    for row in cells:
        rich.add_row(*(Text(cell, overflow="fold") for cell in row))
    return [
        *lines,
        *_rendered(rich, max(width, least)),
        *([(line, "quiet")] for line in folded(table.note, width)),
    ]


def numeric(table: Table, place: int) -> bool:
    """Whether a column holds numbers and nothing else; of one that is empty its format tells."""
    cells = [row[place] for row in table.rows if row[place] is not None]
    if not cells:
        return bool(table.columns[place].format)
    return not any(isinstance(cell, str | bool) for cell in cells)


def plot_lines(plot: Plot, width: int, rows: int = PLOT_ROWS) -> list[Line]:
    """Title, what the y axis shows, and the plot."""
    series = [
        drawing.Series(shown(one.name), one.points, SERIES_STYLES[at % len(SERIES_STYLES)])
        for at, one in enumerate(plot.series)
    ]
    axes = drawing.Axes(shown(plot.x), log_x=plot.log_x, log_y=plot.log_y, bars=plot.kind == "bar")
    drawn = drawing.plot(series, min(width, 100), rows, axes)
    if not drawn:
        drawn = [[("no points to draw, or no room", "quiet")]]
    lines: list[Line] = [[(line, "strong")] for line in folded(plot.title, width)]
    note: list[Line] = [[(line, "quiet")] for line in folded(plot.note, width)]
    return [*lines, [(shown(plot.y), "quiet")], *drawn, *note]


def check_lines(check: Check, width: int) -> list[Line]:
    """✓, ✗ or ○, the claim, and the figures that decide it."""
    detail = f" ({check.detail})" if check.detail else ""
    style = {True: "good", False: "bad", None: "quiet"}[check.holds]
    return _hanging(f"{MARKS[check.holds]} ", f"{check.claim}{detail}", style, width)


def settings_words(result: Result) -> str:
    """What a second run needs, on one line."""
    return " · ".join(f"{name} {_value(value)}" for name, value in result.settings.items())


def folded(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` cells, broken between words where there are any."""
    if not text:
        return []
    return [line[0][0] for line in _rendered(Text(shown(text), overflow="fold"), width)]


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_value(one) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(one)}" for name, one in value.items())
    if isinstance(value, str) and not (value and value.isascii()):
        return f"「{value}」"
    return str(value)


def _hanging(mark: str, text: str, style: str, width: int) -> list[Line]:
    """``text`` with ``mark`` before its first line and as much room before the others."""
    lines = folded(text, width - cell_len(mark))
    room = " " * cell_len(mark)
    return [[(room if at else mark, style), (line, "")] for at, line in enumerate(lines)]


def _rendered(what: RichTable | Text, width: int) -> list[Line]:
    """Lines as rich breaks them; what it would draw dim is quiet."""
    out = Console(
        file=io.StringIO(),
        width=max(1, width),
        color_system=None,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        force_terminal=False,
    )
    lines: list[Line] = []
    for line in out.render_lines(what, pad=False):
        dim = any(segment.style and segment.style.dim for segment in line)
        text = "".join(segment.text for segment in line).rstrip()
        lines.append([(text, "quiet" if dim else "")])
    return lines
