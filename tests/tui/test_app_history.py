"""The history in the window: what was written is there, found, opened, renamed, deleted."""

from __future__ import annotations

import pytest
from textual import events
from textual.widgets import Footer, OptionList

from tests.tui.history_window import asked, conversation, kept, lines, listed, opened
from tests.tui.window import (
    endless,
    finished,
    notices,
    poem_text,
    reference,
    type_text,
    wait_until,
    window,
    write,
    write_to,
)
from tui.cells import cell_len
from tui.chat.screen import ChatScreen
from tui.chat.transcript import Transcript
from tui.commands import HISTORY
from tui.history import Unavailable
from tui.history_screen import HistoryScreen, QueryField
from tui.session import BY_KEY, Session


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.sqlite3"


async def test_what_is_written_is_listed_and_opened_again(path):
    model = endless()
    async with kept(path, model) as (app, pilot):
        for opening in ("春眠", "夜来"):
            app.main.query_one("#opening").value = ""
            await write(app, pilot, opening)
            await finished(app, pilot)
        text = app.session.branches[0].text
        await opened(app, pilot, rows=2)
        first, second = lines(app)
        assert "夜来" in first
        assert "春眠" in second
        assert first.startswith("poem")
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: app.screen is app.main)
        assert app.session.branch.text == text
        assert poem_text(app) == text
        assert len(app.session.branches) == 2
    async with kept(path, model) as (app, pilot):  # with a session of its own
        assert [branch.prompt for branch in app.session.branches] == ["春眠", "夜来"]


async def test_a_poem_of_another_session_is_brought_back_and_can_be_forked(path):
    model = endless()
    async with kept(path, model) as (app, pilot):
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        tokens = app.session.branch.tokens
        await pilot.press("ctrl+z")  # at once: it is in the history all the same
        await wait_until(pilot, lambda: app.session.branches == [])
    async with kept(path, model, session=Session()) as (app, pilot):
        assert app.session.branches == []
        await opened(app, pilot, rows=1)
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.screen is app.main)
        branch = app.session.branch
        assert branch.tokens == tokens
        assert list(tokens) == reference(model, "春眠", branch.steps[0].controls)
        app.runs.fork(3, tokens[3])
        await finished(app, pilot)
        app.keeper.tick()
        app.keeper.recorder.settle()
        (work,) = app.keeper.history.works()
        assert work.turns == 2
        assert app.keeper.history.turns(work.id)[1].origin == branch.turn
        await pilot.press("ctrl+z", "ctrl+z")
        await wait_until(pilot, lambda: app.session.branches == [])


async def test_an_interrupted_poem_is_shown_as_interrupted(path):
    model = endless()
    async with kept(path, model) as (app, pilot):
        await write_to(app, pilot, "春", 5)
        app.keeper.tick()
        app.keeper.recorder.settle()
        app.keeper.recorder.close()
        app.keeper.history.close()  # as when the process is killed: nothing was ended
        app.keeper = None
    async with kept(path, model) as (app, pilot):
        assert len(app.session.branch.steps) == 5
        assert "interrupted" in str(app.main.query_one("#poem").border_subtitle)
        await opened(app, pilot, rows=1)
        assert "interrupted" in lines(app)[0]


async def test_what_is_being_written_is_listed_and_not_deleted(path):
    async with kept(path) as (app, pilot):
        await write_to(app, pilot, "春", 3)
        await opened(app, pilot, rows=1)
        assert "writing" in lines(app)[0]
        await pilot.press("f8")
        await wait_until(pilot, lambda: "is being written" in notices(app))
        assert isinstance(app.screen, HistoryScreen)


async def test_what_has_ended_since_the_list_was_read_can_be_deleted(path):
    async with kept(path) as (app, pilot):
        await write_to(app, pilot, "春", 3)
        screen = await opened(app, pilot, rows=1)
        screen._look = lambda: None  # whatever the list shows, it is not read again
        app.runs.stop()
        await finished(app, pilot)
        assert "writing" in lines(app)[0]
        await asked(app, pilot, "f8")
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: app.session.branches == [])


async def test_typing_searches_and_marks_what_it_finds(path):
    conversation(path, "Where is the [/lighthouse]?", "夜来风雨声")
    conversation(path, "Why?", "春眠不觉晓")
    async with kept(path) as (app, pilot):
        await opened(app, pilot, rows=2)
        assert isinstance(app.focused, QueryField)
        await type_text(pilot, "春眠")
        await listed(app, pilot, 1)
        (option,) = app.screen.query_one(OptionList).options
        marked = [option.prompt.plain[s.start : s.end] for s in option.prompt.spans
                  if "underline" in str(s.style)]  # fmt: skip
        assert marked == ["春眠"]
        app.screen.query_one(QueryField).value = "[/LIGHT"
        await listed(app, pilot, 1)
        assert "Where is the [/lighthouse]?" in lines(app)[0]
        app.screen.query_one(QueryField).value = 'NEAR( "'
        await listed(app, pilot, 0)
        assert "Nothing was found" in str(app.screen.query_one(OptionList).border_title)
        app.screen.query_one(QueryField).value = ""
        await listed(app, pilot, 2)
        app.screen.query_one(QueryField).post_message(events.Paste("夜来\r\n\ud83d风雨\0"))
        await listed(app, pilot, 1)
        assert app.screen.query_one(QueryField).value == "夜来 风雨"


async def test_a_conversation_opens_in_the_chat(path):
    conversation(path, "Why [red]?", "Because [/bold].\x1b[31m")
    async with kept(path) as (app, pilot):
        await opened(app, pilot, rows=1)
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, ChatScreen))
        pane = app.screen.query_one(Transcript)
        await wait_until(pilot, lambda: "Why [red]?" in pane.plain())
        assert "smollm2 · stopped" in pane.plain()
        assert "Because [/bold].U+001B[31m" in pane.plain()
        await pilot.press("f11")
        await wait_until(pilot, lambda: app.screen is app.main)


async def test_kinds(path):
    conversation(path, "Why?", "So.")
    async with kept(path) as (app, pilot):
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        await opened(app, pilot, rows=2)
        await pilot.press("f3")
        await listed(app, pilot, 1)
        assert lines(app)[0].startswith("poem")
        await pilot.press("f3")
        await wait_until(pilot, lambda: len(lines(app)) == 1 and lines(app)[0].startswith("chat"))
        await pilot.press("f3")
        await listed(app, pilot, 2)


async def test_rename_and_delete(path):
    async with kept(path) as (app, pilot):
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        screen = await opened(app, pilot, rows=1)
        await asked(app, pilot, "f2")
        app.screen.query_one("Input").value = "[b] 一"
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.screen is screen and "[b] 一" in "".join(lines(app)))
        await asked(app, pilot, "f8")
        await pilot.press("enter")  # the first answer keeps it
        await wait_until(pilot, lambda: app.screen is screen)
        await listed(app, pilot, 1)
        await asked(app, pilot, "f8")
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: app.screen is screen)
        await listed(app, pilot, 0)
        assert app.session.branches == []
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is app.main)
        assert poem_text(app) == ""
        await write(app, pilot, "")
        await finished(app, pilot)
        app.keeper.tick()
        app.keeper.recorder.settle()
        assert [work.turns for work in app.keeper.history.works()] == [1]


async def test_export(path, tmp_path):
    conversation(path, "Why?", "So.")
    async with kept(path) as (app, pilot):
        screen = await opened(app, pilot, rows=1)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: app.screen is not screen)
        app.screen.query_one("Input").value = str(tmp_path / "talk.md")
        await pilot.press("enter")
        await wait_until(pilot, lambda: (tmp_path / "talk.md").exists())
        assert "## You\n\nWhy?" in (tmp_path / "talk.md").read_text(encoding="utf-8")


async def test_the_footer_says_what_can_be_done(path):
    async with kept(path) as (app, pilot):
        await opened(app, pilot, rows=0)
        await wait_until(pilot, lambda: app.screen.query("FooterKey"))
        said = {key.description for key in app.screen.query_one(Footer).query("FooterKey")}
        assert {"Open", "Back", "Rename", "Delete", "Kind", "Save"} <= said
        offered = {command.title.split("  ")[0] for command in app.get_system_commands(app.screen)}
        assert offered == {command.title for command in HISTORY}
        await pilot.press("f12")
        await wait_until(pilot, lambda: app.screen is app.main)


async def test_a_history_that_cannot_be_read_is_told_once(path):
    async with kept(path) as (app, pilot):
        await opened(app, pilot, rows=0)

        def broken(query, kind):
            raise Unavailable("the [disk] fails")

        app.historian.look = broken
        for letter in "abc":
            await pilot.press(letter)
        await wait_until(pilot, lambda: "the [disk] fails" in notices(app))
        assert notices(app).count("the [disk] fails") == 1


async def test_without_a_history_the_window_says_so():
    async with window() as (app, pilot):
        await pilot.press("f12")
        await wait_until(pilot, lambda: "no history" in notices(app))
        assert app.screen is app.main


async def test_what_the_other_window_writes_appears(path):
    async with kept(path) as (app, pilot):
        app.set_pace(BY_KEY)
        await opened(app, pilot, rows=0)
        conversation(path, "Why?", "So.")
        await listed(app, pilot, 1)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 36)])
async def test_rows_fit_their_terminal(path, size):
    conversation(path, "字" * 200, "e" * 500)
    async with kept(path, size=size) as (app, pilot):
        await opened(app, pilot, rows=1)
        await type_text(pilot, "e")
        await listed(app, pilot, 2)  # the system prompt has one too
        assert all(cell_len(line) <= size[0] - 6 for line in lines(app))
