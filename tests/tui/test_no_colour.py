"""The whole window under NO_COLOR: focus, banned tokens and the cache's state are read from
characters, weight, underline and reverse alone."""

from __future__ import annotations

import pytest
from textual.geometry import Region

from model.config import Controls
from tests.helpers import CHARACTERS, Endless, tiny_gpt
from tests.tui.window import (
    Held,
    endless,
    finished,
    session_of,
    wait_until,
    window,
    write,
    write_to,
)
from tui.panes.speed import SpeedPane
from tui.session import FormSettings

FORM = FormSettings("fixed", "", "五绝")


@pytest.fixture(autouse=True)
def _no_colour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")


def rows(app, region: Region | None = None) -> list[str]:
    """What the screen shows as text, within ``region`` or all of it."""
    region = region or app.main.region
    strips = app.main._compositor.render_strips()[region.y : region.bottom]
    return [strip.crop(region.x, region.right).text for strip in strips]


def colours(app) -> set[tuple[int, int, int]]:
    """Everything that the screen is drawn in."""
    styles = [s.style for strip in app.main._compositor.render_strips() for s in strip if s.style]
    grounds = [style.color for style in styles] + [style.bgcolor for style in styles]
    return {tuple(colour.get_truecolor()) for colour in grounds if colour}


async def test_nothing_is_drawn_in_a_colour():
    async with window(endless(), session=session_of(form=FORM)) as (app, pilot):
        await write(app, pilot, "")
        await finished(app, pilot)
        assert app.no_color
        assert all(r == g == b for r, g, b in colours(app))


async def test_one_frame_is_heavy_and_it_is_the_focus():
    async with window(endless()) as (app, pilot):
        for name in ("opening", "probabilities", "sampler", "form", "speed", "poem"):
            place = app.main.query_one(f"#{name}")
            (place if place.can_focus else place.fields()[0]).focus()
            await wait_until(pilot, lambda place=place: place.has_focus_within)
            corners = [(x, y) for y, row in enumerate(cells(app)) for x in row]
            assert corners == [place.region.offset]


def cells(app) -> list[list[int]]:
    """Row by row, the columns at which a heavy frame begins."""
    found = []
    for strip in app.main._compositor.render_strips():
        at, places = 0, []
        for segment in strip:
            if segment.text.startswith("┏"):
                places.append(at)
            at += segment.cell_length
        found.append(places)
    return found


async def test_a_banned_token_says_so():
    async with window(endless(), session=session_of(form=FORM)) as (app, pilot):
        await write_to(app, pilot, "春", 3)
        table = app.main.query_one("#probabilities")
        await wait_until(pilot, lambda: any("masked: form" in row for row in rows(app)))
        banned = [row for row in rows(app, table.region) if "masked: form" in row]
        assert all("–" in row for row in banned)
        drawn = [row for row in rows(app, table.region) if "● drawn" in row or "● forced" in row]
        assert len(drawn) == 1


class Unknowing(Endless):
    """A model that finds nothing likelier than the token for unknown characters."""

    def __call__(self, ids, cache=None, *, last=False):
        logits = super().__call__(ids, cache, last=last)
        logits[..., CHARACTERS.unk_id] = 50.0
        return logits


@pytest.mark.parametrize(("form", "said"), [(FORM, "masked: form"), (FormSettings(), "masked")])
async def test_only_where_a_form_holds_does_a_banned_token_name_it(form, said):
    async with window(Held(Unknowing(tiny_gpt())), session=session_of(form=form)) as (app, pilot):
        await write_to(app, pilot, "春", 3)
        table = app.main.query_one("#probabilities").region
        await wait_until(pilot, lambda: any("<unk>" in row for row in rows(app, table)))
        (banned,) = (row for row in rows(app, table) if "<unk>" in row)
        assert banned.strip("│┃ ").endswith(said)


@pytest.mark.parametrize("mode", ["on", "off", "race"])
async def test_the_cache_says_whether_it_is_on(mode):
    controls = Controls(max_tokens=20, seed=5, cache=mode)
    async with window(endless(), session=session_of(controls=controls)) as (app, pilot):
        await write(app, pilot, "春")
        await finished(app, pilot)
        assert f"cache {mode}" in rows(app)[0]
        switch = rows(app, app.main.query_one(SpeedPane).region)[1]
        assert f"(•) {mode}" in switch
        assert switch.count("(•)") == 1
