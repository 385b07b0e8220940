"""What changes the look alone, by its key: shading, readings, theme, pace; and the lists."""

from __future__ import annotations

import pytest
from rich.color import ColorTriplet
from textual.widgets import OptionList

from tests.tui.window import (
    endless,
    finished,
    notices,
    poem_text,
    session_of,
    wait_until,
    window,
    write,
)
from tui.filing import LARGE
from tui.panes.ink import SHADES, Ink
from tui.panes.poem import PoemPane
from tui.session import PACES
from tui.themes import DARK, LIGHT

Ground = tuple[str, ColorTriplet, ColorTriplet]


def drawn(app) -> list[Ground]:
    """The poem's characters in their order, each with its colour and its ground."""
    pane = app.main.query_one(PoemPane)
    found = []
    for y in range(pane.size.height):
        for segment in pane.render_line(y):
            style = segment.style
            if style and style.color and style.bgcolor:
                ink, ground = style.color.get_truecolor(), style.bgcolor.get_truecolor()
                found += [(char, ink, ground) for char in segment.text if "一" <= char <= "鿿"]
    return found


def brightness(colour: ColorTriplet) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    parts = (part / 255 for part in colour)
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: ColorTriplet, other: ColorTriplet) -> float:
    """From 1, the same, to 21, black on white."""
    low, high = sorted((brightness(one), brightness(other)))
    return (high + 0.05) / (low + 0.05)


async def test_shading_gives_each_character_the_ground_of_its_probability():
    async with window() as (app, pilot):
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        await pilot.press("alt+left")  # the newest character is marked by the cursor
        plain = drawn(app)
        assert len({ground for _, _, ground in plain[2:-2]}) == 1
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: drawn(app) != plain)
        shaded = drawn(app)
        assert [char for char, _, _ in shaded] == [char for char, _, _ in plain]
        assert shaded[:2] == plain[:2], "the opening was not drawn by the model"
        assert len({ground for _, _, ground in shaded[2:-2]}) > 1
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: drawn(app) == plain)


@pytest.mark.parametrize("dark", [True, False])
async def test_the_poem_can_be_read_in_either_theme_and_shaded(dark):
    session = session_of()
    session.look.dark = not dark
    async with window(session=session) as (app, pilot):
        app.action_theme()
        await wait_until(pilot, lambda: app.theme == (DARK if dark else LIGHT))
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        for _ in range(2):
            assert len(drawn(app)) > 20
            assert min(contrast(ink, ground) for _, ink, ground in drawn(app)) >= 4.5
            await pilot.press("ctrl+r")
            await pilot.pause()


@pytest.mark.parametrize("theme", [DARK, LIGHT])
async def test_every_ground_of_the_poem_can_be_read_and_told_from_the_others(theme):
    async with window() as (app, pilot):
        app.theme = theme
        await pilot.pause()
        ink = Ink(app.main.query_one(PoemPane))
        shades = [ink.named(f"shade{n}") for n in range(len(SHADES) + 1)]
        grounds = []
        for style in (*shades, ink.named("piece"), ink.named("reading"), ink.named("hint")):
            assert style.color and style.bgcolor
            grounds.append(style.bgcolor.get_truecolor())
            assert contrast(style.color.get_truecolor(), grounds[-1]) >= 4.5
        assert len(set(grounds[:-2])) == len(grounds) - 2


async def test_readings_stand_above_the_characters():
    async with window() as (app, pilot):
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        pane = app.main.query_one(PoemPane)

        def shown() -> str:
            return "".join(s.text for y in range(pane.size.height) for s in pane.render_line(y))

        assert "chūn" not in shown()
        await pilot.press("ctrl+g")
        await wait_until(pilot, lambda: "chūn" in shown())
        assert poem_text(app) == app.session.branch.text
        await pilot.press("ctrl+g")
        await wait_until(pilot, lambda: "chūn" not in shown())


async def test_the_pace_goes_round():
    async with window() as (app, pilot):
        seen = []
        for _ in PACES:
            await pilot.press("f3")
            await pilot.pause()
            seen.append(app.session.look.pace)
        assert sorted(seen) == sorted(PACES)


async def test_a_model_is_chosen_from_the_list(monkeypatch):
    one, two = endless(1), endless(2)
    async with window(one, two) as (app, pilot):
        listed = [app.runs.handle.spec, app.loader._load("tiny2").spec]
        monkeypatch.setattr("model.registry.specs", lambda: tuple(listed))
        await pilot.press("ctrl+l")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        assert app.screen.query_one(OptionList).highlighted == 0
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: app.runs.handle.spec.name == "tiny2")
        assert app.session.model == "tiny2"


async def test_how_many_poems_an_enter_writes_goes_round():
    async with window() as (app, pilot):
        for count in (3, 5, 1):
            await pilot.press("ctrl+n")
            await wait_until(pilot, lambda n=count: app.session.settings.poems == n)
        assert "1 at a time" in notices(app)


async def test_a_long_copy_says_that_a_file_is_safer():
    async with window() as (app, pilot):
        app.filing.copy("春" * (LARGE // 3 + 1))
        await wait_until(pilot, lambda: "a file is safer" in notices(app))
