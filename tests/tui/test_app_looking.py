"""Looking in the window: the cursor, forks, branches, undo, the mouse, what a knob would do."""

from __future__ import annotations

from dataclasses import replace

from textual.widgets import OptionList

from model.config import Controls
from tests.tui.window import (
    endless,
    finished,
    notices,
    poem_text,
    reference,
    session_of,
    wait_until,
    window,
    write,
    write_to,
)
from tui.cells import cell_len
from tui.messages import ForkRequested
from tui.panes.poem import PoemPane
from tui.panes.probabilities import ProbabilitiesPane
from tui.screen import LISTED, branch_words
from tui.session import UNLIMITED, FormSettings

CONTROLS = Controls(max_tokens=40, seed=5)
CONTROLS = Controls(max_tokens=40, seed=5)


def table(app):
    return app.main.query_one(ProbabilitiesPane).plain()


async def test_the_cursor_goes_back_in_time_and_the_table_follows():
    async with window() as (app, pilot):
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        await pilot.press("home")  # the poem has the focus after Enter
        await wait_until(pilot, lambda: app.session.index == 0)
        step = app.session.branch.steps[0]
        await wait_until(pilot, lambda: app.session.step.inspection is not None)
        assert app.session.step.token == step.token
        first = table(app)
        await pilot.press("right")
        await wait_until(pilot, lambda: app.session.index == 1)
        await wait_until(pilot, lambda: app.session.step.inspection is not None)
        assert table(app) != first
        await pilot.press("left")
        await wait_until(pilot, lambda: table(app) == first)
        await pilot.press("end")
        await wait_until(pilot, lambda: app.session.cursor is None)


async def test_looking_back_while_it_streams_does_not_disturb_the_stream():
    model = endless()
    async with window(model) as (app, pilot):
        await write_to(app, pilot, "春", 5)
        await pilot.press("home", "right")
        await wait_until(pilot, lambda: app.session.index == 1)
        app.set_pace(UNLIMITED)
        await finished(app, pilot)
        await wait_until(pilot, lambda: app.session.step.inspection is not None)
        assert app.session.index == 1
        assert list(app.session.branch.tokens) == reference(model, "春", CONTROLS)


async def test_a_character_is_clicked_and_looked_at():
    async with window() as (app, pilot):
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        pane = app.main.query_one(PoemPane)
        glyph = next(g for g in pane._verse.rows[0].glyphs if g.index == 2)
        region = pane.content_region
        await pilot.click(offset=(region.x + glyph.x + 1, region.y))
        await wait_until(pilot, lambda: app.session.index == 2)
        assert app.session.cursor == 2


async def test_enter_on_a_row_forks_and_the_old_branch_is_kept():
    model = endless()
    async with window(model) as (app, pilot):
        await write(app, pilot, "春")
        await finished(app, pilot)
        old = app.session.branch
        app.conductor.look(5)
        await wait_until(pilot, lambda: app.session.step.inspection is not None)
        other = next(
            row.token
            for row in app.session.step.inspection.candidates
            if row.token != old.steps[5].token and row.final > 0
        )
        app.main.query_one(ProbabilitiesPane).post_message(ForkRequested(5, other))
        await wait_until(pilot, lambda: app.session.branch is not old and not app.runs.writing)
        fork = app.session.branch
        assert fork.parent == old.id
        assert fork.tokens[:5] == old.tokens[:5]
        assert fork.tokens[5] == other
        given = [*old.tokens[:5], other]
        assert list(fork.tokens[6:]) == reference(model, "春", CONTROLS, given=given)
        assert poem_text(app) == fork.text
        assert len(old.steps) == 40

        await pilot.press("f7")
        await wait_until(pilot, lambda: app.session.branch is old)
        assert poem_text(app) == old.text
        await pilot.press("f8", "ctrl+z")
        await wait_until(pilot, lambda: app.session.branches == [old])
        assert app.session.cursor == 5
        await pilot.press("ctrl+y")
        await wait_until(pilot, lambda: app.session.branch is fork)


async def test_forking_while_it_streams_keeps_what_was_written():
    model = endless()
    async with window(model) as (app, pilot):
        await write_to(app, pilot, "春", 5)
        old = app.session.branch
        app.runs.fork(2, 9)
        app.set_pace(UNLIMITED)
        await wait_until(pilot, lambda: app.session.branch is not old and not app.runs.writing)
        assert old.finished.reason == "cancelled"
        assert len(app.session.branch.steps) == 40
        assert app.session.branch.tokens[2] == 9


async def test_undoing_a_fork_that_is_being_written_stops_it():
    model = endless()
    async with window(model) as (app, pilot):
        await write(app, pilot, "春")
        await finished(app, pilot)
        model.hold()
        app.runs.fork(2, 9)
        await pilot.press("ctrl+z")
        await wait_until(pilot, lambda: app.runs.writing is None)
        assert len(app.session.branches) == 1


async def test_a_token_that_the_form_forbids_cannot_be_forked_to():
    async with window(session=session_of(form=FormSettings("fixed", "", "五绝"))) as (app, pilot):
        await write(app, pilot, "")
        await finished(app, pilot)
        end = app.runs.handle.tokenizer.end_id
        app.runs.fork(3, end)
        await wait_until(pilot, lambda: "cannot stand here" in notices(app))
        assert len(app.session.branches) == 1


async def test_a_knob_moved_while_idle_shows_what_it_would_do():
    async with window() as (app, pilot):
        await write(app, pilot, "春")
        await finished(app, pilot)
        app.conductor.look(3)
        await wait_until(pilot, lambda: app.session.step.inspection is not None)
        before = table(app)
        greedy = replace(CONTROLS, sampler=replace(CONTROLS.sampler, temperature=0.0))
        app.conductor.set_controls(greedy)
        await wait_until(pilot, lambda: table(app) != before)
        assert "100" in table(app)
        app.conductor.set_controls(CONTROLS)
        await wait_until(pilot, lambda: table(app) == before)


async def test_the_branch_list_brings_a_branch_back():
    async with window(session=session_of(poems=3, seed_fixed=False)) as (app, pilot):
        await write(app, pilot, "春")
        await wait_until(pilot, lambda: len(app.session.branches) == 3 and app.runs.writing is None)
        await pilot.press("f6")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        assert app.screen.query_one(OptionList).highlighted == 2
        await pilot.press("home", "enter")
        await wait_until(pilot, lambda: app.session.current == 1)


async def test_each_branch_of_the_list_takes_one_line():
    async with window(endless()) as (app, pilot):
        await write(app, pilot, "春眠不觉晓处处闻啼鸟夜来")
        await finished(app, pilot)
        for _ in range(12):  # a fork of a fork of a fork
            app.runs.fork(1, app.session.branch.tokens[1] + 1)
            await finished(app, pilot)
        words = [branch_words(app.session, branch) for branch in app.session.branches]
        assert max(map(cell_len, words)) <= LISTED
        assert words[0].endswith(" · as long as allowed") and "…" in words[0]
        await pilot.press("f6")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        listed = app.screen.query_one(OptionList)
        await wait_until(pilot, lambda: listed.size.width)
        assert listed.virtual_size.height == len(words)


async def test_following_stops_when_the_reader_scrolls_up_and_a_mark_says_so():
    model = endless()
    controls = Controls(max_tokens=400, seed=5)
    async with window(model, size=(60, 20), session=session_of(controls=controls)) as (app, pilot):
        model.hold()
        await write(app, pilot, "春")
        model.allow(300)
        pane = app.main.query_one(PoemPane)
        await wait_until(pilot, lambda: pane.virtual_size.height > pane.size.height + 3)
        await wait_until(pilot, lambda: not pane.more_below)
        pane.scroll_to(y=0, animate=False)
        await wait_until(pilot, lambda: pane.more_below)
        model.free()
        await finished(app, pilot)
        assert pane.scroll_offset.y == 0
        last = "".join(s.text for s in pane.render_line(pane.size.height - 1))
        assert "↓ more" in last
        pane.scroll_end(animate=False)
        await wait_until(pilot, lambda: not pane.more_below)
        last = "".join(s.text for s in pane.render_line(pane.size.height - 1))
        assert "↓ more" not in last


async def test_dragging_over_a_growing_poem_selects_and_copies_it():
    model = endless()
    controls = Controls(max_tokens=120, seed=5)
    async with window(model, session=session_of(controls=controls)) as (app, pilot):
        await write_to(app, pilot, "春眠不觉晓", 6)
        pane = app.main.query_one(PoemPane)
        corner = pane.content_region.offset
        app.set_pace(UNLIMITED)
        await pilot.mouse_down(offset=corner)
        for row in range(4):
            await pilot.hover(offset=(corner.x + 9, corner.y + row))
        await pilot.mouse_up(offset=(corner.x + 9, corner.y + 3))
        await finished(app, pilot)
        for _ in range(3):
            await pilot.hover(offset=(corner.x + 2, corner.y + 1))
        selected = app.main.selected_text().replace("\n", "")
        assert selected
        assert app.session.branch.text.startswith(selected)
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: "OSC 52" in notices(app))
        assert app.clipboard.replace("\n", "") == selected
        assert app.session.branch.finished.reason == "length"


async def test_a_row_of_the_table_is_clicked_to_fork():
    async with window() as (app, pilot):
        await write(app, pilot, "春")
        await finished(app, pilot)
        app.conductor.look(4)
        await wait_until(pilot, lambda: app.session.step.inspection is not None)
        old = app.session.branch
        pane = app.main.query_one(ProbabilitiesPane)
        rows = pane.plain().splitlines()
        place = next(i for i, row in enumerate(rows[1:9], 1) if "drawn" not in row)
        corner = pane.content_region.offset
        for _ in range(2):  # once chooses, twice takes
            if app.session.branch is old:
                await pilot.click(offset=(corner.x + 8, corner.y + place))
                await pilot.pause()
        await wait_until(pilot, lambda: app.session.branch is not old and not app.runs.writing)
        assert app.session.branch.fork == 4
