"""Exact cells: whatever text goes in, so many cells come out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.pane_app import AWKWARD
from tui.cells import fit, shown
from tui.plot import Series, plot, sparks
from tui.widgets.lines import line_width, wrap


@pytest.mark.parametrize("text", [*AWKWARD, "", "[/", "a\tb\nc", "\x1b[31m", "\u0301", "\ud83d"])
@pytest.mark.parametrize("width", [0, 1, 2, 3, 7, 40])
@pytest.mark.parametrize("right", [False, True])
def test_fit_has_the_width_asked_for(text, width, right):
    assert cell_len(fit(text, width, right=right)) == width


@given(st.text(max_size=12), st.integers(0, 12))
def test_fit_of_any_text(text, width):
    fitted = fit(text, width)
    assert cell_len(fitted) == width
    fitted.encode()  # no lone surrogate is left


def test_cut_text_says_so_and_never_splits_a_wide_character():
    assert fit("春江花", 5) == "春江…"
    assert fit("春江花", 4) == "春… "
    assert fit("春江花", 6) == "春江花"
    assert fit("春", 5, right=True) == "   春"


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("\n", "⏎"),
        ("\t", "⇥"),
        ("\x1b[0m", "U+001B[0m"),
        ("\u200d", "U+200D"),
        ("\ufe0f", "U+FE0F"),
        ("\u0301", "◌\u0301"),
        ("e\u0301", "e\u0301"),
        ("\ud83d", "U+D83D"),
        ("\u3000", "U+3000"),
        ("[/bold]", "[/bold]"),
        ("a b", "a b"),
    ],
)
def test_shown_names_what_cannot_be_seen(text, visible):
    assert shown(text) == visible


def test_wrap_fills_lines_and_keeps_parts_whole():
    assert wrap(["aa", "bb", "漢字漢字"], 7, " ") == ["aa bb", "漢字漢字"]
    assert wrap([], 5) == []


ON = Series("on", tuple((x, 0.5) for x in range(1, 100, 7)), "a")
OFF = Series("off", tuple((x, 0.45 + 0.05 * x) for x in range(1, 100, 7)), "b")


@pytest.mark.parametrize("size", [(20, 3), (24, 4), (36, 6), (80, 12)])
def test_every_row_of_a_plot_is_as_wide_as_asked(size):
    width, height = size
    lines = plot([ON, OFF], width, height, "ms")
    assert len(lines) == height
    assert all(line_width(line) <= width for line in lines)
    assert len({line_width(line[:2]) for line in lines[:-1]}) == 1


def test_lines_of_a_plot_are_named_at_their_ends_without_colour():
    rows = ["".join(text for text, _ in line) for line in plot([ON, OFF], 36, 6, "ms")]
    high = next(y for y, row in enumerate(rows) if row.endswith(" off"))
    low = next(y for y, row in enumerate(rows) if row.endswith(" on"))
    assert high == 0 and low > high
    assert rows[0].startswith("5.4ms")
    assert rows[-1].split() == ["1", "99", "tokens"]
    # the first line has gaps, the second has none
    dotted = [line for line in plot([ON], 36, 6, "ms") if any(style == "a" for _, style in line)]
    drawn = [line for line in plot([OFF, ON], 36, 6, "ms") if any(s == "a" for _, s in line)]
    assert dotted and drawn and "".join(t for t, _ in dotted[0]) != "".join(t for t, _ in drawn[0])


def test_a_plot_without_points_or_room_is_nothing():
    assert plot([Series("on", ())], 40, 6, "ms") == []
    assert plot([ON], 8, 6, "ms") == []
    assert plot([ON], 40, 2, "ms") == []


def test_a_single_point_is_drawn():
    rows = plot([Series("on", ((5.0, 0.25),))], 30, 4, "ms")
    assert any(0x2801 <= ord(c) <= 0x28FF for line in rows for text, _ in line for c in text)


def test_sparks_share_a_scale_and_name_their_values():
    high, low = (("".join(text for text, _ in line)) for line in sparks([OFF, ON], 30, "ms"))
    assert high.startswith("off ") and high.endswith(" 5.4ms") and "█" in high
    assert (
        low.startswith("on  ") and low.endswith(" 0.5ms") and set(low[4:22].strip()) <= {"▁", "▂"}
    )
    assert all(line_width(line) <= 30 for line in sparks([OFF, ON], 30, "ms"))
    assert sparks([Series("on", ())], 30, "ms") == [] and sparks([ON], 10, "ms") == []
