"""What has room: the whole window at its design size, one instrument at a time below it."""

from __future__ import annotations

import pytest
from textual.widgets import Footer

from model.config import Controls
from tests.tui.window import endless, finished, session_of, wait_until, window, write
from tui.commands import FOOTER
from tui.panes.form import FormPane
from tui.panes.sampler import SamplerPane
from tui.panes.speed import SpeedPane
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


@pytest.mark.parametrize("size", [(80, 24), (120, 28)])
async def test_where_room_is_short_each_instrument_comes_in_turn(size):
    names = ["probabilities", "sampler", "form", "speed"]
    async with window(size=size) as (app, pilot):
        panes = {name: app.main.query_one(f"#{name}") for name in names}
        for name in names:
            await pilot.press("f9")
            await wait_until(pilot, lambda name=name: panes[name].has_focus_within)
            await wait_until(
                pilot,
                lambda name=name: [n for n in names if panes[n].region.height > 2] == [name],
            )


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
