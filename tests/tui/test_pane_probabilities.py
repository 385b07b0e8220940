"""The table of a step: what it says, what it posts, how it holds its columns."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tests.tui.pane_app import (
    AWKWARD,
    PaneApp,
    candidate,
    inspection,
    screen_lines,
    step,
    until,
)
from tui.messages import ForkRequested, StepRequested
from tui.panes.candidates import STAGE_NAMES, Row, layout, row_line
from tui.panes.probabilities import ProbabilitiesPane
from tui.widgets.lines import line_width

EIGHT = [
    candidate(i, piece, raw=0.2 - i / 50, final=0.2 - i / 50)
    for i, piece in enumerate("流来飞知山水月云")
]
CUT = [
    candidate(0, "流", 0.3, 0.6),
    candidate(1, "，", 0.2, cut_by="mask"),
    candidate(2, "[/", 0.15, 0.4),
    candidate(3, "声", 0.1, cut_by="top_k"),
    candidate(4, "水", 0.05, cut_by="top_p"),
]


def text_of(pane):
    return screen_lines(pane)


def line_with(pane, needle):
    return next(line for line in text_of(pane) if needle in line)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
async def test_right_edges_of_awkward_tokens_are_equal(width):
    rows = [candidate(i, piece, 0.15, 0.15) for i, piece in enumerate((*AWKWARD, "[/", "\n", "a"))]
    pane = ProbabilitiesPane()
    async with PaneApp(pane).run_test(size=(width, 18)) as pilot:
        pane.show_step(step(2, inspection(rows, below=0.3), u=0.31), 0, 1, True)
        await pilot.pause()
        body = text_of(pane)[1:9]
        ends = [cell_len(line[: line.rindex("%")]) for line in body]
        assert len(set(ends)) == 1, body
        assert {cell_len(line) for line in body} == {pane.size.width}


@pytest.mark.parametrize("width", [36, 46, 58, 90, 130])
def test_rows_are_of_one_width_kept_or_cut_marked_or_not(width):
    columns = layout(width)
    rows = [
        Row(1, CUT[0], True, "drawn", False),
        Row(2, CUT[1], False, "", True),
        Row(3, CUT[3], True, "was drawn", False),
        Row(9, CUT[2], False, "would be", False),
        Row(10, CUT[2], True, "was drawn", False),
        Row(10, CUT[2], True, "was drawn", True),
        Row(4, candidate(7, "水", 0.9, cut_by="temperature"), False, "", False),
    ]
    assert {line_width(row_line(row, columns)) for row in rows} == {
        line_width(row_line(rows[0], columns))
    }
    assert line_width(row_line(rows[0], columns)) <= width


async def test_cut_rows_name_their_stage_and_show_no_probability():
    pane = ProbabilitiesPane()
    async with PaneApp(pane).run_test(size=(60, 18)) as pilot:
        pane.show_constrained(True)
        pane.show_step(step(0, inspection(CUT, forbidden=0.2)), 4, 9, False)
        await pilot.pause()
        assert "masked: form" in line_with(pane, "，") and line_with(pane, "，").count("–") == 2
        assert "cut: top-k" in line_with(pane, "声") and line_with(pane, "声").count("–") == 1
        assert "cut: top-p" in line_with(pane, "水")
        assert "●" in line_with(pane, "流") and "drawn" in line_with(pane, "流")
        assert "[/" in line_with(pane, "40.0%")
        whole = "\n".join(text_of(pane))
        assert "entropy 3.25 → 2.50 bits" in whole
        assert "nucleus 14" in whole
        assert "forbidden 20.0%" in whole
        assert "u 0.050" in whole
        assert "5/9" in str(pane.border_title) and "looking back" in str(pane.border_title)


async def test_a_narrow_pane_still_names_the_stage():
    pane = ProbabilitiesPane()
    async with PaneApp(pane).run_test(size=(40, 18)) as pilot:
        pane.show_step(step(0, inspection(CUT)), 0, 1, True)
        await pilot.pause()
        assert line_with(pane, "声").rstrip().endswith("top-k")
        assert line_with(pane, "，").rstrip().endswith("mask")
        pane.show_constrained(True)
        await pilot.pause()
        assert line_with(pane, "，").rstrip().endswith("form")


def test_every_stage_has_a_name_that_fits_the_narrowest_bar():
    from model.config import STAGES

    assert set(STAGE_NAMES) == set(STAGES)
    narrow = layout(36).bar
    assert all(len(STAGE_NAMES[stage]) <= narrow for stage in ("mask", "top_k", "top_p", "min_p"))


async def test_a_chosen_token_outside_the_eight_is_the_ninth_row():
    ninth = candidate(77, "𨣧", 0.01, 0.05)
    pane = ProbabilitiesPane()
    async with PaneApp(pane).run_test(size=(60, 18)) as pilot:
        pane.show_step(step(77, inspection([*EIGHT, ninth], below=0.9), u=0.91), 0, 1, True)
        await pilot.pause()
        line = line_with(pane, "𨣧")
        assert line.startswith(" ●9") and "drawn" in line
        assert text_of(pane)[9] == line


async def test_enter_forks_at_the_row_under_the_cursor():
    app = PaneApp(ProbabilitiesPane())
    async with app.run_test(size=(60, 18)) as pilot:
        app.pane.show_step(step(0, inspection(EIGHT)), 6, 9, False)
        app.pane.focus()
        await pilot.press("down", "down", "up", "enter")
        await until(pilot, lambda: bool(app.of(ForkRequested)))
        assert app.of(ForkRequested)[0] == ForkRequested(6, 1) or (
            app.of(ForkRequested)[0].index,
            app.of(ForkRequested)[0].token,
        ) == (6, 1)


async def test_the_cursor_stops_at_both_ends():
    app = PaneApp(ProbabilitiesPane())
    async with app.run_test(size=(60, 18)) as pilot:
        app.pane.show_step(step(0, inspection(EIGHT)), 0, 1, True)
        app.pane.focus()
        await pilot.press("up")
        assert app.pane.selected.token == 0
        await pilot.press(*["down"] * 12)
        assert app.pane.selected.token == 7


async def test_arrows_home_and_end_ask_for_steps():
    app = PaneApp(ProbabilitiesPane())
    async with app.run_test(size=(60, 18)) as pilot:
        app.pane.show_step(step(0, inspection(EIGHT)), 6, 10, False)
        app.pane.focus()
        await pilot.press("left", "right", "home", "end")
        await until(pilot, lambda: len(app.of(StepRequested)) == 4)
        assert [m.delta for m in app.of(StepRequested)] == [-1, 1, -6, 3]


async def test_keys_without_a_step_do_nothing():
    app = PaneApp(ProbabilitiesPane())
    async with app.run_test(size=(60, 18)) as pilot:
        app.pane.show_step(None, 0, 0, False)
        app.pane.focus()
        await pilot.press("left", "enter", "down", "end")
        await pilot.click(app.pane, offset=(10, 3))
        await pilot.pause()
        assert app.posted == []
        assert "No token yet" in "\n".join(text_of(app.pane))


async def test_a_click_chooses_a_row_and_a_second_forks():
    app = PaneApp(ProbabilitiesPane())
    async with app.run_test(size=(60, 18)) as pilot:
        app.pane.show_step(step(0, inspection(EIGHT)), 2, 9, False)
        await pilot.pause()
        await pilot.click(app.pane, offset=(10, 2 + 3))  # border, header, then row 3
        assert app.of(ForkRequested) == [] and app.pane.selected.token == 3
        await pilot.click(app.pane, offset=(10, 2 + 3))
        await until(pilot, lambda: bool(app.of(ForkRequested)))
        assert [(m.index, m.token) for m in app.of(ForkRequested)] == [(2, 3)]


async def test_a_double_click_forks_at_what_was_under_the_first_click():
    app = PaneApp(ProbabilitiesPane())
    async with app.run_test(size=(60, 18)) as pilot:
        app.pane.show_step(step(0, inspection(EIGHT)), 2, 9, True)
        await pilot.pause()
        await pilot.click(app.pane, offset=(10, 2 + 3))
        app.pane.show_step(
            step(0, inspection(list(reversed(EIGHT)))), 3, 10, True
        )  # live: moved on
        await pilot.click(app.pane, offset=(10, 2 + 3), times=2)
        await until(pilot, lambda: bool(app.of(ForkRequested)))
        assert (3, 4) in [(m.index, m.token) for m in app.of(ForkRequested)]


async def test_clicks_beside_the_rows_do_nothing():
    app = PaneApp(ProbabilitiesPane())
    async with app.run_test(size=(60, 18)) as pilot:
        app.pane.show_step(step(0, inspection(EIGHT)), 2, 9, False)
        await pilot.pause()
        for y in (0, 1, 10, 12, 14):
            await pilot.click(app.pane, offset=(10, y))
            await pilot.click(app.pane, offset=(10, y))
        assert app.of(ForkRequested) == []


async def test_preview_says_whether_the_same_u_would_draw_another():
    app = PaneApp(ProbabilitiesPane())
    drawn = step(0, inspection(EIGHT), u=0.3)
    async with app.run_test(size=(60, 18)) as pilot:
        app.pane.show_step(drawn, 2, 9, False)
        app.pane.show_preview(inspection(EIGHT, below=0.2), drawn, 1)
        await pilot.pause()
        assert "now: 来 instead of 流" in "\n".join(text_of(app.pane))
        assert "○" in line_with(app.pane, " 来") and "would be" in line_with(app.pane, "would")
        assert "was drawn" in line_with(app.pane, "●1")
        app.pane.show_preview(inspection(EIGHT, below=0.0), drawn, 0)
        await pilot.pause()
        assert "now: 流, unchanged" in "\n".join(text_of(app.pane))
        app.pane.show_step(drawn, 2, 9, False)  # a step shown ends the preview
        await pilot.pause()
        assert "now:" not in "\n".join(text_of(app.pane))


async def test_the_cursor_row_stays_visible_in_a_low_pane():
    app = PaneApp(ProbabilitiesPane())
    async with app.run_test(size=(60, 9)) as pilot:
        app.pane.styles.height = 9
        app.pane.show_step(step(0, inspection(EIGHT)), 2, 9, False)
        app.pane.focus()
        await pilot.pause()
        for _ in range(7):
            await pilot.press("down")
        assert "▸" in "\n".join(text_of(app.pane))
        assert "▸" in line_with(app.pane, "云")


def test_greedy_does_not_pretend_that_u_mattered():
    pane = ProbabilitiesPane()
    pane.show_step(step(0, inspection(EIGHT), temperature=0.0), 0, 1, True)
    text = "\n".join("".join(t for t, _ in line) for line in pane.build(56, 14))
    assert "u is not used" in text and "▲" not in text


@pytest.mark.parametrize("height", [5, 8, 10, 11, 12, 13, 14, 20])
@pytest.mark.parametrize("count", [8, 9])
def test_rows_come_first_where_room_is_short(height, count):
    rows = [*EIGHT, candidate(77, "𨣧", 0.01, 0.05)][:count]
    pane = ProbabilitiesPane()
    pane.show_step(step(0, inspection(rows)), 0, 1, True)
    lines = ["".join(text for text, _ in line) for line in pane.build(60, height)]
    assert len(lines) <= height
    assert sum("%" in line for line in lines) == min(count, height - 1)
    assert any("▲" in line for line in lines) == (height - 1 - count >= 2)


async def test_marks_tell_everything_without_colour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    app = PaneApp(ProbabilitiesPane())
    async with app.run_test(size=(60, 18)) as pilot:
        app.pane.show_step(step(2, inspection(CUT)), 0, 1, True)
        app.pane.focus()
        await pilot.pause()
        assert app.no_color
        shades = [
            s.style.color.get_truecolor()
            for line in app.pane.render_lines(app.pane.size.region)
            for s in line
            if s.style and s.style.color
        ]
        assert shades and all(r == g == b for r, g, b in shades)
        assert line_with(app.pane, "▸").startswith("▸ 1")
        assert line_with(app.pane, "[/").startswith(" ●3") and "drawn" in line_with(app.pane, "[/")
        assert "masked" in line_with(app.pane, "，")


@pytest.mark.parametrize("height", [5, 6, 8])
async def test_the_drawn_row_is_visible_in_a_low_pane_and_can_be_clicked(height):
    rows = [*EIGHT, candidate(77, "𨣧", 0.01, 0.05)]
    app = PaneApp(ProbabilitiesPane())
    async with app.run_test(size=(60, 20)) as pilot:
        app.pane.styles.min_height = 3
        app.pane.styles.height = height
        app.pane.show_step(step(77, inspection(rows, below=0.9), u=0.91), 2, 9, False)
        await pilot.pause()
        lines = text_of(app.pane)
        assert "𨣧" in lines[-1] and "流" in lines[1]
        for _ in range(2):
            await pilot.click(app.pane, offset=(10, len(lines)))
        await until(pilot, lambda: bool(app.of(ForkRequested)))
        assert [(m.index, m.token) for m in app.of(ForkRequested)] == [(2, 77)]
