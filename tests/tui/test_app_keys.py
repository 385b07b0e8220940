"""Every command from every place: keys, palette, help, and the ways out."""

from __future__ import annotations

import asyncio

import pytest

from model.config import Controls
from tests.tui.window import (
    endless,
    finished,
    help_text,
    notices,
    session_of,
    wait_until,
    window,
    write,
    write_to,
)
from tui.app import Yinchuang
from tui.commands import COMMANDS
from tui.instruments import Instruments
from tui.panes.speed import SpeedPane

CONTROLS = Controls(max_tokens=40, seed=5)

KEYS = [c for c in COMMANDS if c.key]


@pytest.mark.parametrize(
    "focus", ["#opening", "#poem", "#probabilities", "#sampler", "#form", "#speed"]
)
async def test_every_key_does_its_command_from_every_focus(focus):
    async with window() as (app, pilot):
        await write(app, pilot, "春")
        await finished(app, pilot)
        done = []
        for command in KEYS:
            name = command.action.partition("(")[0]
            setattr(app, f"action_{name}", lambda *a, n=name: done.append(f"{n}{a if a else ''}"))
        pane = app.main.query_one(focus)
        fields = getattr(pane, "fields", lambda: [pane])()
        for field in {type(field): field for field in fields}.values():  # one of each kind
            field.focus()
            await pilot.pause()
            done.clear()
            for command in KEYS:
                await pilot.press(command.key)
            assert [d.replace(",", "") for d in done] == [c.action for c in KEYS], field


async def test_every_command_is_in_the_palette_and_on_the_help_page():
    async with window() as (app, pilot):
        offered = [command.title for command in app.get_system_commands(app.screen)]
        assert len(offered) == len(COMMANDS)
        await pilot.press("f1")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        page = help_text(app)
        for command in COMMANDS:
            assert command.about in page
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)


async def test_interrupt_stops_and_twice_quits():
    model = endless()
    async with window(model) as (app, pilot):
        model.hold()
        await write(app, pilot, "春")
        await pilot.press("ctrl+c")
        model.free()
        await finished(app, pilot)
        assert app.session.branch.finished.reason == "cancelled"
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: "once more" in notices(app))
        assert app.is_running


async def test_quitting_mid_stream_ends_the_run():
    model = endless()
    session = session_of()
    async with window(model, session=session) as (app, pilot):
        await write_to(app, pilot, "春", 3)
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: app.return_code is not None)
        assert app.return_code == 0
        assert session.branch.finished.reason == "cancelled"


async def test_focus_goes_from_pane_to_pane_however_fast_the_key_is_pressed():
    async with window() as (app, pilot):
        for name in ("probabilities", "sampler", "form", "speed", "probabilities"):
            await pilot.press("f9")
            await wait_until(pilot, lambda n=name: app.main.query_one(f"#{n}").has_focus_within)


@pytest.mark.parametrize("pane", [Instruments, SpeedPane])
async def test_leaving_while_the_panes_arrive_is_no_fault(monkeypatch, pane):
    """On a slow machine ^Q comes before the instruments do; Textual then mounts nothing more,
    and what a pane looks for in itself is not there."""
    app = Yinchuang(session_of(), load=lambda name: endless())
    compose = pane.compose

    def leaving(self):
        app.leave(0)
        yield from compose(self)

    monkeypatch.setattr(pane, "compose", leaving)
    async with asyncio.timeout(60):
        await app.run_async(headless=True, size=(120, 36))
    assert app.return_code == 0
    assert app.broken == ""
