"""What the chat keeps: exports, the history, a conversation from one start to the next."""

from __future__ import annotations

import pytest
from textual.widgets import Input, OptionList

from tests.tui.chat.talking import (
    chatting,
    say,
    scripted,
    texts,
)
from tests.tui.window import poem_text, wait_until, write
from tui.chat.composer import Composer
from tui.history import open_history


@pytest.mark.parametrize("suffix", [".md", ".json"])
async def test_export(tmp_path, suffix):
    async with chatting(scripted("one"), path=tmp_path / "h.sqlite3") as (app, pilot):
        await say(app, pilot, "Why?")
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: app.screen is not app.room.screen)
        file = tmp_path / f"talk{suffix}"
        app.screen.query_one(Input).value = str(file)
        await pilot.press("enter")
        await wait_until(pilot, file.exists)
        written = file.read_text(encoding="utf-8")
        assert "Why?" in written and "one" in written


async def test_the_history_opens_a_conversation_here_and_a_poem_there(tmp_path):
    path = tmp_path / "h.sqlite3"
    async with chatting(scripted("one", "two"), path=path) as (app, pilot):
        await say(app, pilot, "Why?")
        await pilot.press("ctrl+n")
        assert texts(app) == []
        await say(app, pilot, "How?")
        await pilot.press("f11")
        await wait_until(pilot, lambda: app.screen is app.main)
        await write(app, pilot, "夜来")
        await wait_until(pilot, lambda: app.session.branch and app.runs.writing is None)
        poem = poem_text(app)
        await pilot.press("f12")
        listed = lambda: app.screen.query_one(OptionList)  # noqa: E731
        await wait_until(pilot, lambda: app.screen is not app.main and listed().option_count == 3)
        await pilot.press("down", "down", "enter")
        await wait_until(
            pilot, lambda: app.screen is app.room.screen and app.room.screen.is_mounted
        )
        assert texts(app) == ["Why?", "one"]
        await pilot.press("f12")
        await wait_until(pilot, lambda: app.screen is not app.room.screen)
        await wait_until(pilot, lambda: listed().option_count == 3)
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.screen is app.main)
        assert poem_text(app) == poem


async def test_conversations_are_there_again_next_time(tmp_path):
    path = tmp_path / "h.sqlite3"
    async with chatting(scripted("one"), path=path) as (app, pilot):
        await say(app, pilot, "Why?")
        app.room.screen.query_one(Composer).put("a draft")
    async with chatting(scripted("one"), path=path) as (app, pilot):
        assert texts(app) == ["Why?", "one"]
        assert app.room.screen.query_one(Composer).text == "a draft"
    history = open_history(path)
    assert len(history.works("chat")) == 1
    history.close()
