"""What has room: the whole window at its design size, one instrument at a time below it."""

from __future__ import annotations

import pytest
from textual.widgets import Footer

from model.config import Controls
from tests.tui.window import (
    endless,
    finished,
    poem_text,
    reference,
    session_of,
    wait_until,
    window,
    write,
)
from tui.arranged import WIDE
from tui.cells import cell_len
from tui.commands import FOOTER
from tui.panes.form import FormPane
from tui.panes.sampler import SamplerPane
from tui.panes.speed import SpeedPane
from tui.screen import BORDER
from tui.session import FormSettings

FULLEST = {
    "controls": Controls(max_tokens=40, seed=5, cache="race", stop=("完",)),
    "form": FormSettings("fixed", "春眠", "五绝"),
}


async def test_at_the_design_size_nothing_needs_scrolling():
    async with window(endless(), session=session_of(**FULLEST)) as (app, pilot):
        await write(app, pilot, "")
        await finished(app, pilot)
        for kind in (SamplerPane, FormPane, SpeedPane):
            pane = app.main.query_one(kind)
            assert pane.region.height > 5
            assert pane.max_scroll_y == 0, pane


async def test_at_the_design_size_the_footer_shows_every_key_whole():
    async with window() as (app, pilot):
        footer = app.main.query_one(Footer)
        await wait_until(pilot, lambda: len(footer.query("FooterKey")) == len(FOOTER) + 1)
        keys = list(footer.query("FooterKey"))
        palette = next(key for key in keys if key.has_class("-command-palette"))
        for key in keys:
            assert key is palette or key.region.right <= palette.region.x, key.description
        assert "Quit" in {key.description for key in keys}


async def test_the_footer_is_made_anew_only_where_its_keys_change():
    async with window() as (app, pilot):
        footer = app.main.query_one(Footer)

        def keys():
            return {key.description: key for key in footer.query("FooterKey")}

        await wait_until(pilot, lambda: len(keys()) == len(FOOTER) + 1)
        before = keys()
        app.main.query_one("#sampler").focus()
        await pilot.pause()
        await pilot.pause()
        assert keys() == before, "the same widgets"
        app.main.query_one("#probabilities").focus()
        await wait_until(pilot, lambda: "Fork here" in keys())


@pytest.mark.parametrize("width", [60, 100, 102, 120])
async def test_no_word_in_the_poems_border_is_cut(width):
    async with window(size=(120, 36)) as (app, pilot):
        await write(app, pilot, "春")
        await finished(app, pilot)
        pane = app.main.query_one("#poem")
        words = str(pane.border_subtitle)
        assert words == "as long as allowed · 40 characters · ←→ back"
        await pilot.resize_terminal(width, 36)
        await wait_until(pilot, lambda: app.size.width == width)
        await wait_until(
            pilot, lambda: cell_len(str(pane.border_subtitle)) <= pane.region.width - BORDER
        )
        assert words.startswith(str(pane.border_subtitle))


@pytest.mark.parametrize("width", [60, 80, 100, 120])
async def test_the_footer_cuts_no_key(width):
    async with window(size=(120, 36)) as (app, pilot):
        await pilot.resize_terminal(width, 36)
        app.main.query_one("#probabilities").focus()
        footer = app.main.query_one(Footer)

        def keys():
            return list(footer.query("FooterKey"))

        await wait_until(pilot, lambda: "Fork here" in {key.description for key in keys()})
        await wait_until(pilot, lambda: all(key.region.width for key in keys()))
        palette = next(key for key in keys() if key.has_class("-command-palette"))
        ends = [key.region.right for key in keys() if key is not palette]
        assert len(ends) >= 4 and max(ends) <= palette.region.x
        assert palette.region.right <= width


@pytest.mark.parametrize("size", [(80, 24), (120, 28)])
async def test_where_room_is_short_each_instrument_comes_in_turn(size):
    names = ["probabilities", "sampler", "form", "speed"]
    async with window(size=size) as (app, pilot):
        panes = {name: app.main.query_one(f"#{name}") for name in names}
        for name in names:
            await pilot.press("f9")
            await wait_until(pilot, lambda name=name: panes[name].has_focus_within)
            # a form under the poem leaves the place beside it to what stands there
            there = ["sampler", "form"] if name == "form" and size[0] >= WIDE else [name]
            await wait_until(
                pilot, lambda there=there: [n for n in names if panes[n].region.height > 2] == there
            )


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_under_a_poem_a_form_takes_no_more_room_than_it_needs(size):
    async with window(size=size, session=session_of(form=FormSettings("fixed"))) as (app, pilot):
        pane = app.main.query_one(FormPane)
        for _ in range(3):
            await pilot.press("f9")
        await wait_until(pilot, lambda: pane.has_focus_within and pane.region.height)
        kind, heads, verse = (pane.query_one(f"#{name}") for name in ("kind", "heads", "verse"))
        assert [heads.region.y, verse.region.y] == [kind.region.y + 1, kind.region.y + 2]
        assert pane.query_one("#says").region.y == verse.region.bottom
        assert pane.region.bottom == app.main.query_one("#opening").region.y


@pytest.mark.parametrize("size", [(60, 20), (100, 32), (120, 36), (200, 60)])
async def test_the_form_stands_under_the_poem_or_beside_it_and_never_over_anything(size):
    async with window(size=size) as (app, _):
        regions = [
            app.main.query_one(f"#{name}").region
            for name in ("poem", "form", "probabilities", "sampler", "speed", "opening")
        ]
        drawn = [region for region in regions if region.height]
        for one in drawn:
            assert not any(one.overlaps(other) for other in drawn if other is not one)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (99, 40), (120, 36), (200, 60), (120, 24)])
async def test_every_size_has_room_for_poem_and_instrument(size):
    async with window(size=size) as (app, pilot):
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        shown = [
            pane.id
            for pane in app.main.query("#poem, #probabilities, #sampler, #form, #opening")
            if pane.region.width and pane.region.height
        ]
        assert {"poem", "opening"} <= set(shown)
        narrow = size[0] < 100 or size[1] < 32
        assert len(shown) == 3 if narrow else len(shown) >= 5
        for pane in app.main.query("#poem, #opening"):
            assert app.main.region.contains_region(pane.region)
        await pilot.press("f9")
        await pilot.pause()
        if narrow:
            assert app.focused is not None
            assert app.focused.region.height > 0


async def test_too_small_says_so_and_nothing_is_lost():
    async with window(size=(59, 19)) as (app, pilot):
        message = app.main.query_one("#too-small")
        assert message.region.height > 0
        assert "60×20" in str(message.render())
        await pilot.resize_terminal(120, 36)
        await wait_until(pilot, lambda: message.region.height == 0)
        await write(app, pilot, "春")
        await finished(app, pilot)


async def test_resizing_while_it_streams():
    model = endless()
    async with window(model) as (app, pilot):
        model.hold()
        await write(app, pilot, "春")
        for size in ((60, 20), (300, 80), (40, 10), (99, 31), (120, 36)):
            model.allow(4)
            await pilot.resize_terminal(*size)
        model.free()
        await finished(app, pilot)
        assert poem_text(app) == app.session.branch.text
        assert list(app.session.branch.tokens) == reference(
            model, "春", session_of().settings.controls
        )
