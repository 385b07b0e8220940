"""The window with a history, and ways to its list."""

from __future__ import annotations

from contextlib import asynccontextmanager

from textual.screen import ModalScreen
from textual.widgets import OptionList

from model.steps import Finished
from tests.tui.window import session_of, wait_until, window
from tui.history import open_history
from tui.history_screen import HistoryScreen
from tui.keeping import open_keeper


@asynccontextmanager
async def kept(path, *models, session=None, **options):
    """The window with a history."""
    session = session or session_of()
    keeper, greeting = open_keeper(session, path)
    async with window(*models, session=session, keeper=keeper, greeting=greeting, **options) as (
        app,
        pilot,
    ):
        yield app, pilot
        app.keep()


async def opened(app, pilot, rows=None):
    """Press F12, and wait for so many rows."""
    await pilot.press("f12")
    await wait_until(pilot, lambda: isinstance(app.screen, HistoryScreen))
    if rows is not None:
        await listed(app, pilot, rows)
    return app.screen


async def asked(app, pilot, key):
    """Press a key that asks something, and wait until an answer can be typed."""
    await pilot.press(key)
    await wait_until(pilot, lambda: isinstance(app.screen, ModalScreen) and app.screen.focused)


async def listed(app, pilot, rows):
    """Wait for so many rows."""
    await wait_until(pilot, lambda: app.screen.query_one(OptionList).option_count == rows)


def lines(app):
    """What the list shows."""
    options = app.screen.query_one(OptionList)
    return [options.get_option_at_index(n).prompt.plain for n in range(options.option_count)]


def conversation(path, *texts):
    """A conversation in the history, the last turn stopped."""
    history = open_history(path)
    work = history.create_chat("smollm2", system="Be brief.")
    question = history.add_turn(work.id, "user", texts[0], parent=work.active)
    reply = history.start_reply(work.id, parent=question.id, model="smollm2")
    reply.append(texts[1])
    reply.finish(Finished("cancelled", "", 1, 0, 0))
    history.close()
