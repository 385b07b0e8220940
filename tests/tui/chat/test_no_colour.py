"""The chat under NO_COLOR: who speaks, where one stands, what is read no more, whether the cache
is on, all without a colour."""

from __future__ import annotations

import pytest

from tests.tui.chat.talking import chatting, lively, say, scripted, speaker, transcript
from tests.tui.window import wait_until
from tui.chat.transcript import Transcript


@pytest.fixture(autouse=True)
def _no_colour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")


def drawn(app):
    """Every segment on the screen."""
    strips = app.room.screen._compositor.render_strips()
    return [segment for strip in strips for segment in strip]


def rows(app):
    """What the screen shows as text."""
    return [strip.text for strip in app.room.screen._compositor.render_strips()]


async def test_nothing_is_drawn_in_a_colour_and_markdown_is_told_by_weight():
    async with chatting(scripted("**strong** `code` plain\n\n> said")) as (app, pilot):
        app.room.talk.set_controls(app.room.talk.controls.__class__(max_tokens=200))
        await say(app, pilot, "Why?")
        await wait_until(pilot, lambda: "strong" in "".join(s.text for s in drawn(app)))
        for segment in drawn(app):
            for colour in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                if colour is not None:
                    red, green, blue = colour.get_truecolor()
                    assert red == green == blue
        bold = "".join(s.text for s in drawn(app) if s.style and s.style.bold)
        assert "strong" in bold and "plain" not in bold


async def test_the_turn_that_one_stands_on_is_marked_and_so_is_what_is_no_longer_read():
    async with chatting(speaker(lively(96))) as (app, pilot):
        for _ in range(4):
            await say(app, pilot, "春眠不觉晓处处闻啼鸟")
        assert "no longer read" in transcript(app)
        app.room.screen.query_one(Transcript).focus()
        await pilot.press("up")
        await wait_until(pilot, lambda: sum("▸ › You" in row for row in rows(app)) == 1)
        for mode in ("off", "race", "on"):
            await pilot.press("f2")
            await wait_until(pilot, lambda mode=mode: f"cache {mode}" in rows(app)[0])
            assert any(f"(•) {mode}" in row for row in rows(app))
