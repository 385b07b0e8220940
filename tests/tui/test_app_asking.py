"""What is asked for: forms, heads, and openings as they are typed, pasted and committed."""

from __future__ import annotations

import pytest
from textual import events

from model.config import Controls
from tests.tui.window import (
    endless,
    finished,
    notices,
    poem_text,
    reference,
    session_of,
    type_text,
    wait_until,
    window,
    write,
)
from tui.panes.opening import OpeningPane
from tui.session import FormSettings

CONTROLS = Controls(max_tokens=40, seed=5)


@pytest.mark.parametrize(
    ("form", "length"),
    [
        (FormSettings("acrostic", "春夜花", characters=5), 18),
        (FormSettings("fixed", "", "五绝"), 24),
        (FormSettings("fixed", "春夜", "七绝"), 32),
    ],
)
async def test_forms_are_kept(form, length):
    async with window(session=session_of(form=form)) as (app, pilot):
        await write(app, pilot, "")
        await finished(app, pilot)
        branch = app.session.branch
        assert branch.finished.reason == "form_complete"
        assert len(branch.text) == length
        lines = branch.text.replace("，", "。").split("。")
        for head, line in zip(form.heads, lines, strict=False):
            assert line.startswith(head)


async def test_heads_are_entered_and_enter_writes_the_acrostic():
    async with window(session=session_of(controls=Controls(max_tokens=200, seed=5))) as (
        app,
        pilot,
    ):
        app.main.query_one("#heads").focus()
        await pilot.pause()
        await type_text(pilot, "春眠不觉")
        await pilot.press("enter")
        await finished(app, pilot)
        branch = app.session.branch
        assert branch.finished.reason == "form_complete"
        lines = branch.text.replace("，", "。").split("。")
        assert [line[:1] for line in lines] == [*"春眠不觉", ""]
        assert app.main.query_one("#poem").has_focus


async def test_an_opening_that_contradicts_the_heads_says_what_to_do():
    async with window() as (app, pilot):
        await write(app, pilot, "床前")
        await finished(app, pilot)
        app.main.query_one("#heads").focus()
        await pilot.pause()
        await type_text(pilot, "春眠")
        await pilot.press("enter")
        await wait_until(pilot, lambda: "Change it, or leave it empty" in notices(app))
        assert len(app.session.branches) == 1
        await pilot.press("escape", "backspace", "enter")
        await wait_until(pilot, lambda: len(app.session.branches) == 2)
        await finished(app, pilot)
        assert app.session.branch.text.startswith("春")


async def test_what_cannot_be_is_said_before_starting():
    async with window(session=session_of(form=FormSettings("fixed", "", "五绝"))) as (app, pilot):
        await write(app, pilot, "春眠不觉晓处")
        await wait_until(pilot, lambda: "五绝" in notices(app))
        assert app.session.branches == []


async def test_characters_that_the_model_lacks_are_asked_about():
    model = endless()
    async with window(model) as (app, pilot):
        await write(app, pilot, "春q眠")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        assert app.session.branches == []
        await pilot.press("down", "enter")  # leave them out
        await finished(app, pilot)
        assert list(app.session.branch.tokens) == reference(model, "春眠", CONTROLS)


async def test_a_paste_of_several_lines_is_joined_and_said():
    async with window() as (app, pilot):
        opening = app.main.query_one(OpeningPane)
        opening.post_message(events.Paste("白日依山尽，\r\n  黄河入海流。\n\x07春\ud83d"))
        await wait_until(pilot, lambda: opening.value)
        assert opening.value == "白日依山尽，黄河入海流。春"
        assert "3 lines became one" in notices(app)
        assert "U+0007" in notices(app)
        assert "U+D83D" in notices(app)
        assert opening.cursor_screen_offset.x - opening.content_region.x == 26


async def test_an_input_method_commits_several_characters_at_once():
    async with window() as (app, pilot):
        opening = app.main.query_one(OpeningPane)
        await type_text(pilot, "春江花月夜")
        assert opening.value == "春江花月夜"
        assert opening.cursor_screen_offset.x - opening.content_region.x == 10
        await pilot.press("left", "left")
        await type_text(pilot, "，")
        assert opening.value == "春江花，月夜"


async def test_traditional_input_is_converted_and_the_conversion_shown():
    model = endless()
    async with window(model) as (app, pilot):
        await write(app, pilot, "來風雨聲")
        await finished(app, pilot)
        assert app.session.branch.prompt == "来风雨声"
        assert "來 → 来" in notices(app)
        assert list(app.session.branch.tokens) == reference(model, "来风雨声", CONTROLS)


async def test_text_that_looks_like_markup_is_text():
    async with window() as (app, pilot):
        opening = app.main.query_one(OpeningPane)
        opening.post_message(events.Paste("[/] [bold]春[/bold"))
        await wait_until(pilot, lambda: opening.value)
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)  # unknown characters
        await pilot.press("down", "down", "enter")  # read □ in their place
        await finished(app, pilot)
        assert poem_text(app).startswith("[/][bold]春[/bold")
