"""Two models side by side: keys, room, models, files, leaving."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList

from model.config import Controls
from tests.tui.beside.columns import (
    beside,
    both_written,
    both_written_right,
    branches,
    columns,
    head,
    held,
    opening,
    pane,
    poem,
    text_of,
)
from tests.tui.window import (
    endless,
    finished,
    handle_of,
    help_text,
    notices,
    session_of,
    wait_until,
    write,
)
from tui.beside.figures import Figures
from tui.cells import cell_len
from tui.commands import BESIDE
from tui.panes.opening import OpeningPane
from tui.panes.poem import PoemPane
from tui.panes.probabilities import ProbabilitiesPane
from tui.panes.speed import SpeedReadout
from tui.session import BY_KEY
from tui.widgets.choice import Choice
from tui.widgets.fields import Refusal


async def test_a_model_is_chosen_for_one_column_and_what_cannot_be_loaded_is_said_there():
    async with beside() as (app, pilot):
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        await pilot.press("f7")
        await wait_until(pilot, lambda: len(app.screen_stack) == 3)
        options = app.screen.query_one(OptionList)
        ids = [options.get_option_at_index(at).id for at in range(options.option_count)]
        assert {"left", "right", "tiny", "tang-small"} <= set(ids)
        options.highlighted = ids.index("tiny")
        await pilot.press("enter")
        await wait_until(pilot, lambda: columns(app)[1].runs.handle.spec.name == "tiny")
        await wait_until(pilot, lambda: "tiny" in head(app, 1))
        app.pair.load(0, "[/no such]")
        await wait_until(pilot, lambda: "not loaded" in head(app, 0))
        assert "no such]: not loaded" in head(app, 0)
        assert "[/no such]" in pane(app, 0, Refusal).text
        await pilot.press("f5")
        await wait_until(
            pilot, lambda: branches(app)[1].model == "tiny" and branches(app)[1].finished
        )


async def test_the_cache_mode_of_the_window_is_shown_before_anything_is_written():
    off = session_of(controls=Controls(cache="off", max_tokens=40, seed=5))
    async with beside(session=off) as (app, pilot):
        for place in (0, 1):
            await wait_until(pilot, lambda at=place: pane(app, at, Choice).key == "off")
        await pilot.press("alt+s")
        await wait_until(pilot, lambda: app.screen is app.main)
        app.conductor.set_cache("race")
        await pilot.press("alt+s")
        for place in (0, 1):
            await wait_until(pilot, lambda at=place: pane(app, at, Choice).key == "race")


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ((60, 20), {"-one", "-low"}),
        ((79, 24), {"-one", "-low"}),
        ((80, 24), {"-low"}),
        ((70, 60), {"-stacked", "-low"}),
        ((120, 36), set()),
        ((200, 60), set()),
        ((50, 15), {"-small", "-one", "-low"}),
    ],
)
async def test_it_has_room_at_every_size(size, shown):
    async with beside(size=size) as (app, pilot):
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        screen = app.pair.screen
        layout = {"-one", "-low", "-stacked", "-small"}
        await wait_until(pilot, lambda: {c for c in layout if screen.has_class(c)} == shown)
        if "-small" in shown:
            assert screen.query_one("#too-small").display
            return
        seen = [pane for pane in screen.panes if pane.display]
        assert len(seen) == (1 if "-one" in shown else 2)
        for column in seen:
            assert column.region.right <= size[0] and column.region.width >= 40
            rows = column.query_one(PoemPane).size.height
            assert rows >= (5 if size[1] >= 24 else 3), "a poem of four lines, the table beside"
            table, readout = column.query_one(ProbabilitiesPane), column.query_one(SpeedReadout)
            assert table.size.height >= (9 if "-low" not in shown else 5 if size[1] >= 24 else 4)
            words = str(column.query_one(PoemPane).border_subtitle)
            assert "tok · " in words and "…" not in words
            assert (readout.size.height > 0) != ("-low" in shown)
            lines = [*column.query_one(Figures).plain().split("\n"), *table.plain().split("\n")]
            assert max(map(cell_len, lines)) <= column.size.width
        if "-one" in shown:
            await pilot.press("f8")
            await wait_until(pilot, lambda: screen.panes[1].display)
            assert not screen.panes[0].display
        await pilot.press("f10")
        await wait_until(pilot, lambda: screen.query_one("#knobs").display)
        assert screen.query_one("#knobs").region.right <= size[0]


async def test_a_resize_behind_the_poem_is_seen_on_the_way_back():
    async with beside() as (app, pilot):
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is app.main)
        await pilot.resize_terminal(70, 24)
        await wait_until(pilot, lambda: app.size.width == 70)
        await pilot.press("alt+s")
        await wait_until(pilot, lambda: app.pair.screen.has_class("-one"))
        await wait_until(pilot, lambda: pane(app, 0, PoemPane).region.width == 70)
        assert poem(app, 0) == text_of(app, 0)


async def test_the_opening_is_the_windows_and_hostile_text_is_text():
    async with beside() as (app, pilot):
        await opening(app, pilot, "[/b]白日[")
        await wait_until(pilot, lambda: pane(app, 0, Refusal).text)
        assert "[" in pane(app, 0, Refusal).text
        await both_written_right(app, pilot)
        await pilot.press("alt+s")
        await wait_until(pilot, lambda: app.screen is app.main)
        assert app.main.query_one(OpeningPane).value == app.session.settings.opening
        await write(app, pilot, "白日")
        await finished(app, pilot)


async def test_its_commands_are_in_the_palette_and_on_the_help_page():
    async with beside() as (app, pilot):
        offered = [command.title for command in app.get_system_commands(app.screen)]
        assert len(offered) == len(BESIDE)
        await pilot.press("f1")
        await wait_until(pilot, lambda: len(app.screen_stack) == 3)
        shown = help_text(app)
        assert all(command.about in shown for command in BESIDE)


async def test_copying_and_saving_take_the_column_that_one_is_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with beside(right=handle_of(endless(3), "right")) as (app, pilot):
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: "no poem to save" in notices(app))
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        await pilot.press("f8", "ctrl+s")
        await wait_until(pilot, lambda: len(app.screen_stack) == 3)
        app.screen.query_one("Input").value = str(tmp_path / "right.txt")
        await pilot.press("enter")
        await wait_until(pilot, lambda: (tmp_path / "right.txt").exists())
        written = (tmp_path / "right.txt").read_text(encoding="utf-8")
        assert written.replace("\n", "") == text_of(app, 1)
        await pilot.press("alt+c")
        await wait_until(pilot, lambda: "OSC 52" in notices(app))


async def test_quitting_while_both_write_ends_both():
    async with beside() as (app, pilot):
        app.set_pace(BY_KEY)
        await opening(app, pilot, "白日")
        await wait_until(pilot, lambda: all(b and b.steps for b in branches(app)))
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: app._exit)
        await wait_until(pilot, lambda: not any(held(app)))
