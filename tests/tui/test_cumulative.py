"""Bars of probability, and the uniform number on the bar from 0 to 1."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tests.tui.pane_app import (
    candidate,
    inspection,
)
from tui.panes.candidates import bar
from tui.panes.cumulative import bar as cumulative_bar
from tui.panes.cumulative import parts_of, pointer
from tui.widgets.lines import line_width


def test_bar_is_never_empty_for_something_and_never_longer_than_its_room():
    assert bar(0.0, 10) == ""
    assert bar(1e-9, 10) == "▏"
    assert bar(1.0, 10) == "█" * 10
    assert bar(0.5, 3) == "█▌"


def test_the_chosen_stretch_stands_where_the_draw_found_it():
    rows = [candidate(0, "流", 0.5, 0.5), candidate(9, "水", 0.01, 0.1)]
    parts = parts_of(inspection(rows, below=0.8), chosen=9)
    assert [(p.token, round(p.start, 6), round(p.end, 6)) for p in parts] == [
        (0, 0.0, 0.5),
        (9, 0.8, 0.9),
    ]


@pytest.mark.parametrize("u", [0.0, 0.2499, 0.25, 0.5, 0.87, 0.999999])
@pytest.mark.parametrize("width", [20, 36, 58, 117])
def test_the_pointer_stands_under_the_chosen_stretch(u, width):
    rows = [candidate(i, piece, 0.25, 0.25) for i, piece in enumerate("春江花月")]
    chosen = int(u * 4)
    line = cumulative_bar(inspection(rows, below=chosen * 0.25), chosen, width)
    mark = pointer(u, width, f"u {u:.3f}")
    assert line_width(line) == width and line_width(mark) <= width
    cells = [style for text, style in line for c in text for _ in range(cell_len(c))]
    at = cell_len("".join(text for text, _ in mark).split("▲")[0])
    assert cells[at] == "drawn" or (at > 3 and cells[at - 1] == "drawn")
