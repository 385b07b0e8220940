"""Two models side by side, for tests: the app around them, and what the columns show."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

from model.generate import Generator, Prompt
from model.registry import ModelHandle, ModelSpec
from model.steps import Step
from tests.helpers import PIECES, Endless, tiny_gpt
from tests.tui.window import (
    Held,
    endless,
    handle_of,
    session_of,
    type_text,
    wait_until,
)
from tui.app import Yinchuang
from tui.beside.pane import ColumnHead
from tui.panes.opening import OpeningPane
from tui.panes.poem import PoemPane


def pieces_of(model, name="pieces"):
    """A loaded model whose tokens are pieces."""
    return ModelHandle(ModelSpec(name, Path("none")), model, PIECES, {}, {})


def lively_pieces():
    """A random model of pieces that never ends a poem."""
    return Held(Endless(tiny_gpt(PIECES.vocab_size, block_size=96), PIECES.end_id))


@asynccontextmanager
async def beside(left=None, right=None, *, size=(120, 36), session=None, **options):
    """The app with both models loaded and on show, the window's own one apart."""
    handles = {
        "tiny": handle_of(endless(), "tiny"),
        "left": left or handle_of(endless(2), "left"),
        "right": right or pieces_of(lively_pieces(), "right"),
    }
    app = Yinchuang(
        session or session_of(), load=handles.__getitem__, pair=("left", "right"), **options
    )
    async with app.run_test(size=size, notifications=True) as pilot:
        await wait_until(pilot, lambda: app.runs.handle is not None)
        await pilot.press("alt+s")
        await wait_until(
            pilot, lambda: all(c.runs.handle is not None for c in columns(app)) and columns(app)
        )
        await wait_until(pilot, lambda: app.screen is app.pair.screen)
        yield app, pilot
        for handle in handles.values():
            if isinstance(handle.model, Held):
                handle.model.free()
        app.pair.drop()
        app.runs.drop()
        await wait_until(pilot, lambda: not any(held(app)))


def columns(app):
    return app.pair.columns


def held(app):
    """Which models are in use."""
    handles = [c.runs.handle for c in columns(app)] + [app.runs.handle]
    return [handle is not None and handle.lock.locked() for handle in handles]


def branches(app):
    return [column.session.branch for column in columns(app)]


def pane(app, place, kind):
    return app.pair.screen.panes[place].query_one(kind)


def poem(app, place):
    return pane(app, place, PoemPane)._verse.text(None, None).replace("\n", "")


def text_of(app, place):
    """What a column has written, without line ends."""
    return branches(app)[place].text.replace("\n", "")


def head(app, place):
    return pane(app, place, ColumnHead).plain()


async def both_written(app, pilot):
    await wait_until(pilot, lambda: all(b is not None and b.finished for b in branches(app)))
    await wait_until(pilot, lambda: not any(c.busy for c in columns(app)))


async def opening(app, pilot, text):
    """Type an opening and press Enter."""
    app.pair.screen.query_one(OpeningPane).focus()
    await pilot.pause()
    if text:
        await type_text(pilot, text)
    await pilot.press("enter")


def alone(column, settings):
    """The tokens that the engine writes without any window."""
    handle = column.runs.handle
    run = Generator(
        handle.model._model,
        handle.tokenizer,
        Prompt(settings.opening),
        settings.controls,
        constraint=settings.form.constraint(),
    )
    return tuple(event.token for event in run if isinstance(event, Step))


async def both_written_right(app, pilot):
    """The column that can spell anything has ended."""
    await wait_until(pilot, lambda: branches(app)[1] and branches(app)[1].finished)
