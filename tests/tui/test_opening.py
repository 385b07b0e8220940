"""The opening while the app has something to say about it as well: the reader's text wins."""

from __future__ import annotations

from tests.tui.window import endless, finished, type_text, wait_until, window, write
from tui.panes.opening import OpeningPane


async def test_what_is_being_typed_survives_the_window_being_shown_anew():
    async with window() as (app, pilot):
        field = app.main.query_one(OpeningPane)
        field.replace("春眠", 0, 0)  # on the screen, and not yet heard of by the app
        assert app.session.settings.opening == ""
        app.conductor.show_all()
        assert field.value == "春眠"
        await wait_until(pilot, lambda: app.session.settings.opening == "春眠")


async def test_the_next_opening_can_be_typed_while_another_poem_begins():
    async with window(endless()) as (app, pilot):
        await write(app, pilot, "春")
        field = app.main.query_one(OpeningPane)
        field.focus()
        await pilot.pause()
        field.replace("秋", *sorted(field.selection))
        app.runs.again()
        await finished(app, pilot)
        await wait_until(pilot, lambda: app.session.settings.opening == "秋")
        assert field.value == "秋"


async def test_undo_takes_back_what_was_typed_and_taken_in():
    async with window() as (app, pilot):
        app.main.query_one(OpeningPane).focus()
        await type_text(pilot, "春眠")
        await wait_until(pilot, lambda: app.session.settings.opening == "春眠")
        await pilot.press("ctrl+z")
        await wait_until(pilot, lambda: app.main.query_one(OpeningPane).value == "")
        assert app.session.settings.opening == ""


async def test_traditional_openings_are_shown_as_they_will_be_read():
    async with window() as (app, pilot):
        opening = app.main.query_one("#opening")
        await type_text(pilot, "來風雨聲")
        await wait_until(pilot, lambda: "来风雨声" in str(opening.border_subtitle))
        await pilot.press("ctrl+z")
        await wait_until(pilot, lambda: opening.value == "")
