"""Exact cells: whatever text goes in, so many cells come out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui.pane_app import AWKWARD
from tui.braille import sample
from tui.cells import fit, shown
from tui.plot import Axes, Series, number, plot, sparks
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


MS = Axes("tokens", "ms")
ON = Series("on", tuple((x, 0.5) for x in range(1, 100, 7)), "a")
OFF = Series("off", tuple((x, 0.45 + 0.05 * x) for x in range(1, 100, 7)), "b")


@pytest.mark.parametrize("size", [(20, 3), (24, 4), (36, 6), (80, 12)])
def test_every_row_of_a_plot_is_as_wide_as_asked(size):
    width, height = size
    lines = plot([ON, OFF], width, height, MS)
    assert len(lines) == height
    assert all(line_width(line) <= width for line in lines)
    assert len({line_width(line[:2]) for line in lines[:-1]}) == 1


def test_lines_of_a_plot_are_named_at_their_ends_without_colour():
    rows = ["".join(text for text, _ in line) for line in plot([ON, OFF], 36, 6, MS)]
    high = next(y for y, row in enumerate(rows) if row.endswith(" off"))
    low = next(y for y, row in enumerate(rows) if row.endswith(" on"))
    assert high == 0 and low > high
    assert rows[0].startswith("5.4ms")
    assert rows[-1].split() == ["1", "50", "99", "tokens"]
    # the first line has gaps, the second has none
    dotted = [line for line in plot([ON], 36, 6, MS) if any(style == "a" for _, style in line)]
    drawn = [line for line in plot([OFF, ON], 36, 6, MS) if any(s == "a" for _, s in line)]
    assert dotted and drawn and "".join(t for t, _ in dotted[0]) != "".join(t for t, _ in drawn[0])


def test_a_plot_without_points_or_room_is_nothing():
    assert plot([Series("on", ())], 40, 6, MS) == []
    assert plot([ON], 8, 6, MS) == []
    assert plot([ON], 40, 2, MS) == []


def test_a_single_point_is_drawn():
    rows = plot([Series("on", ((5.0, 0.25),))], 30, 4, MS)
    assert any(0x2801 <= ord(c) <= 0x28FF for line in rows for text, _ in line for c in text)


def test_sparks_share_a_scale_and_name_their_values():
    high, low = (("".join(text for text, _ in line)) for line in sparks([OFF, ON], 30, "ms"))
    assert high.startswith("off ") and high.endswith(" 5.4ms") and "█" in high
    assert (
        low.startswith("on  ") and low.endswith(" 0.5ms") and set(low[4:22].strip()) <= {"▁", "▂"}
    )
    assert all(line_width(line) <= 30 for line in sparks([OFF, ON], 30, "ms"))
    assert sparks([Series("on", ())], 30, "ms") == [] and sparks([ON], 10, "ms") == []


def text_of(lines):
    return ["".join(text for text, _ in line) for line in lines]


def test_four_lines_and_four_bars_differ_without_colour():
    samples = [sample(owner, bars=bars) for owner in range(4) for bars in (False, True)]
    assert len(set(samples)) == 8
    assert all(cell_len(one) == 4 for one in samples)


def test_long_names_stand_in_a_key_below():
    named = [Series(f"a rather long name, number {n}", ON.points, "a") for n in range(5)]
    rows = text_of(plot(named, 60, 14, MS))
    assert len(rows) == 14 and all(cell_len(row) <= 60 for row in rows)
    assert sum("rather long" in row for row in rows) >= 3
    assert sum(row.count("rather long") for row in rows) == 5


def test_a_logarithmic_axis_gives_each_factor_the_same_room():
    """1, 10, 100, 1000 on both axes: a straight line, so that its middle dot is in the middle."""
    points = tuple((10.0**n, 10.0**n) for n in range(4))
    rows = text_of(plot([Series("", points)], 44, 10, Axes(log_x=True, log_y=True)))
    marked = [(y, x) for y, row in enumerate(rows[:-1]) for x, c in enumerate(row) if c > "\u2800"]
    assert len({y for y, _ in marked}) == len(rows) - 1
    top, bottom = min(marked), max(marked)
    assert top[0] == 0 and bottom[0] == len(rows) - 2
    assert rows[-1].split() == ["1", "32", "1,000"]


def test_bars_stand_on_zero_and_are_as_high_as_their_values():
    rows = text_of(plot([Series("x", ((1, 1.0), (2, 0.5), (3, 0.0)))], 40, 10, Axes(bars=True)))
    drawn = [row.partition("┤")[2] for row in rows if "┤" in row]
    heights = [sum(len(row) > x and row[x] > "\u2800" for row in drawn) for x in (3, 15, 28)]
    assert heights[0] == len(drawn) and heights[1] in (len(drawn) // 2, len(drawn) // 2 + 1)
    assert heights[2] <= 1


@pytest.mark.parametrize("bars", [False, True])
@pytest.mark.parametrize("log", [False, True])
def test_wild_values_are_left_out_and_never_break_a_plot(bars, log):
    wild = tuple(
        (x, y) for x in (-1.0, 0.0, 1.0, 2.0) for y in (float("nan"), float("inf"), -3.0, 0.0, 7.5)
    )
    for width in (20, 50):
        lines = plot([Series("漢字", wild)], width, 8, Axes("x", log_x=log, log_y=log, bars=bars))
        assert all(line_width(line) <= width for line in lines)
        assert lines
    assert plot([Series("a", ((1.0, float("nan")),))], 40, 8, Axes()) == []


def test_the_y_axis_begins_at_zero_only_where_the_values_come_near_it():
    far = text_of(plot([Series("", ((1, 3.9), (2, 4.1)))], 40, 8, Axes()))
    near = text_of(plot([Series("", ((1, 0.1), (2, 4.1)))], 40, 8, Axes()))
    assert far[6].split("┤")[0].strip() == "3.9" and near[6].split("┤")[0].strip() == "0"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"),
        (0.25, "0.25"),
        (12.5, "12.5"),
        (1234.5, "1,234"),
        (1_000_000, "1,000,000"),
        (12_300_000, "12 M"),
        (2.5e9, "2,500 M"),
        (0.00003, "3e-5"),
        (-0.00012, "-1.2e-4"),
    ],
)
def test_numbers_of_an_axis_are_short(value, written):
    assert number(value) == written


@pytest.mark.parametrize(
    "ys", [(1.36, 1.29), (1.3321, 1.3320), (14.0, 1.2), (5.0, 5.0), (0.0, 1e-9), (1e12, 2e12)]
)
def test_no_two_numbers_of_an_axis_are_the_same(ys):
    lines = text_of(plot([Series("on", tuple(enumerate(ys)))], 40, 6, Axes("tokens", "ms")))
    labels = [line.split("┤")[0].strip().removesuffix("ms") for line in lines[:-1]]
    written = [label for label in labels if label]
    assert len(written) == 3 and len(set(written)) == 3
    assert [float(w.replace(",", "").replace(" M", "e6")) for w in written] == sorted(
        (float(w.replace(",", "").replace(" M", "e6")) for w in written), reverse=True
    )
