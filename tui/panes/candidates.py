"""One row of the probability table, in exact cells.

Knows columns and marks; a pure function of a candidate and a width.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.config import Stage
from model.steps import Candidate
from tui.cells import cell_len, fit
from tui.widgets.lines import Line

STAGE_NAMES: dict[Stage, str] = {
    "mask": "mask",
    "repetition": "repetition",
    "presence_frequency": "presence",
    "temperature": "greedy",
    "top_k": "top-k",
    "top_p": "top-p",
    "min_p": "min-p",
}
"""What a reader calls the stage that removed a token."""

_EIGHTHS = " ▏▎▍▌▋▊▉"
GAP = " "
LEAD = len("▸●1")
WORDS = 60
"""Cells from which on most words of a chat model's vocabulary are shown whole."""
NOTE = len("● drawn still")


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells of each column. ``bar`` takes what is left."""

    token: int
    figure: int
    bar: int
    note: int
    """0 where there is no room for words: the mark in front then stands alone."""


@dataclass(frozen=True, slots=True)
class Row:
    """A candidate and what is to be said of it."""

    rank: int
    candidate: Candidate
    drawn: bool
    note: str
    """``drawn``, ``forced``, ``would be`` or empty."""
    under_cursor: bool
    constrained: bool = False
    """A form holds here: the mask is the form's. Else it keeps out what is no text, and an
    end before the first token."""


def layout(width: int) -> Columns:
    """The columns for ``width`` cells; 36 and more show everything but the notes."""
    token = 12 if width >= WORDS else 7 if width >= 46 else 5
    left = width - LEAD - 1 - token - 3 * (6 + 1)
    note = NOTE if left >= NOTE + 8 else 0
    return Columns(token, 6, max(0, left - 1 - (note + 1 if note else 0)), note)


def header(columns: Columns) -> Line:
    """The columns' names."""
    names = [fit(name, columns.figure, right=True) for name in ("raw", "masked", "final")]
    return [(GAP.join([" " * LEAD, fit("token", columns.token), *names]), "quiet")]


def row_line(row: Row, columns: Columns) -> Line:
    """A row: cursor, mark, rank, token, three probabilities, a bar or why it was cut."""
    candidate = row.candidate
    mark = "●" if row.drawn else "○" if row.note else " "
    lead = f"{'▸' if row.under_cursor else ' '}{mark}{row.rank}"
    if row.rank > 9:  # a tenth row: the note says what the mark would
        lead = f"{'▸' if row.under_cursor else mark}{row.rank}"
    masked = "–" if candidate.cut_by == "mask" else percent(candidate.masked)
    final = "–" if candidate.cut_by else percent(candidate.final)
    figures = [fit(v, columns.figure, right=True) for v in (percent(candidate.raw), masked, final)]
    style = "drawn" if row.note else "cut" if candidate.cut_by else ""
    token = fit(candidate.piece, columns.token)
    body = GAP.join([token, *figures])
    line: Line = [
        (lead, "drawn" if row.note else "quiet"),
        (GAP, ""),
        (body, "cursor" if row.under_cursor else style),
        (GAP, ""),
    ]
    return [*line, *_tail(row, columns, style)]


def _tail(row: Row, columns: Columns, style: str) -> Line:
    """The bar or the stage's name, then the note; together of one width for every row."""
    stage = row.candidate.cut_by
    width = columns.bar + (columns.note + 1 if columns.note else 0)
    if stage is not None:
        name, words = _reason(stage, row.constrained)
        note = f"{'●' if row.drawn else '○'} {row.note}" if row.note and columns.note else ""
        room = width - cell_len(note)
        return [(fit(words if room >= cell_len(words) else name, room), "cut"), (note, style)]
    line: Line = [(fit(bar(row.candidate.final, columns.bar), columns.bar), style)]
    if columns.note:
        words = f"{'●' if row.drawn else '○'} {row.note}" if row.note else ""
        line.append((GAP + fit(words, columns.note), style))
    return line


def _reason(stage: Stage, constrained: bool) -> tuple[str, str]:
    """Why a token was cut: in one word, and in full."""
    if stage != "mask":
        return STAGE_NAMES[stage], f"cut: {STAGE_NAMES[stage]}"
    return ("form", "masked: form") if constrained else (STAGE_NAMES[stage], "masked")


def bar(share: float, width: int) -> str:
    """A bar of ``share`` of ``width`` cells, to an eighth of a cell; something for anything
    above 0."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    if share > 0 and width:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def percent(share: float) -> str:
    """``52.1%`` in at most 6 cells; what would read 0.0% though it is not is ``<0.1%``."""
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{100 * share:.1f}%"
