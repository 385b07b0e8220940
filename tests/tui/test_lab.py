"""The lab in the window, on a scripted catalogue: running, stopping, sharing the model."""

from __future__ import annotations

import json

import pytest
from textual.widgets import OptionList

from tests.lab.scripted import (
    BROKEN,
    HOSTILE,
    HOSTILE_ONE,
    IMPOSSIBLE,
    SMALL,
    Stepwise,
    scripted,
)
from tests.tui.laboratory import enter, lab, page, rows, run_all, status
from tests.tui.window import (
    help_text,
    notices,
    session_of,
    wait_until,
    window,
)
from tui.cells import cell_len
from tui.commands import LAB
from tui.lab.paper import Paper

ALL = (SMALL, HOSTILE_ONE, BROKEN, IMPOSSIBLE)


async def test_an_experiment_is_run_and_its_result_is_there():
    async with window(experiments=ALL) as (app, pilot):
        await enter(app, pilot)
        assert "What small claims." in page(app) and "Enter runs it" in page(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "small" in app.laboratory.bench.outcomes)
        for said in ("1 of 1 checks hold", "A table of None None 1 True", "✓ the claim", "⣿"):
            assert said in page(app)
        assert rows(app)[0].startswith("✓ small")
        assert "○ idle" in status(app)
        await pilot.press("escape")  # nothing runs: back to the poem
        await wait_until(pilot, lambda: app.screen is app.main)
        await enter(app, pilot)
        assert "1 of 1 checks hold" in page(app)  # what was found stays


async def test_every_end_is_told_and_nothing_is_read_as_markup():
    async with window(experiments=ALL) as (app, pilot):
        await enter(app, pilot)
        await run_all(app, pilot)
        assert [row[0] for row in rows(app)] == ["✓", "✓", "✗", "○"]
        said = {}
        for at, one in enumerate(ALL):
            lab(app).query_one(OptionList).highlighted = at
            await pilot.pause()
            said[one.name] = page(app)
        assert HOSTILE.replace(" ", "") in said["hostile"].replace(" ", "").replace("\n", "")
        assert "ZeroDivisionError: by zero [/b]" in said["broken"].replace("\n", " ")
        assert "run.py corpus build" in said["impossible"].replace("\n", " ")
        assert "Uses the built corpus" not in said["impossible"]


async def test_progress_is_shown_and_escape_stops_at_the_next_record():
    script = Stepwise()
    async with window(experiments=(scripted("step", script), SMALL)) as (app, pilot):
        await enter(app, pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "part 1" in page(app))
        assert "0/3" in page(app) and "● step 0/3" in status(app)
        script.allow(1)
        await wait_until(pilot, lambda: app.laboratory.bench.progress.done == 1)
        await pilot.press("down", "enter")  # one at a time
        await wait_until(pilot, lambda: "step is running; Esc stops it" in notices(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: "stops after this step" in status(app))
        script.allow(1)
        await wait_until(pilot, lambda: app.laboratory.bench.running is None)
        assert script.closed.is_set() and script.begun == 1
        assert rows(app)[0].startswith("○ step")
        assert app.screen is lab(app)


async def test_stopping_a_second_run_keeps_what_the_first_one_found():
    script = Stepwise()
    async with window(experiments=(scripted("step", script),)) as (app, pilot):
        await enter(app, pilot)
        script.allow(3)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "step" in app.laboratory.bench.outcomes)
        await pilot.press("enter")
        await wait_until(pilot, lambda: script.begun == 2)
        await pilot.press("escape")
        script.allow(1)
        await wait_until(pilot, lambda: app.laboratory.bench.running is None)
        assert "1 of 1 checks hold" in page(app)


async def test_quick_and_prompt_are_asked_and_used():
    async with window(experiments=(SMALL,)) as (app, pilot):
        await enter(app, pilot)
        assert "quick" in status(app)
        await pilot.press("f2")
        await wait_until(pilot, lambda: "all samples" in status(app))
        await pilot.press("f3")
        await wait_until(pilot, lambda: len(app.screen_stack) == 3)
        await pilot.press("f", "o", "o")
        app.screen.query_one("Input").value = "覺[/b]"
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.screen is lab(app))
        assert "prompt 觉[/b]" in status(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "small" in app.laboratory.bench.outcomes)
        assert "A table of None 觉[/b] 1 False" in page(app)


@pytest.mark.parametrize("suffix", ["md", "json", "doc"])
async def test_the_result_shown_is_saved(tmp_path, suffix, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with window(experiments=(SMALL,)) as (app, pilot):
        await enter(app, pilot)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: "no result here yet" in notices(app))
        await pilot.press("enter")
        await wait_until(pilot, lambda: "small" in app.laboratory.bench.outcomes)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: len(app.screen_stack) == 3)
        assert app.screen.query_one("Input").value == str(tmp_path / "lab-small.md")
        file = tmp_path / f"lab-[small].{suffix}"
        app.screen.query_one("Input").value = str(file)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "lab-[small]" in notices(app))
        if suffix == "doc":
            assert "saved as .md or .json" in notices(app) and not list(tmp_path.iterdir())
        elif suffix == "json":
            assert json.loads(file.read_text(encoding="utf-8"))["holds"] is True
        else:
            assert "- ✓ the claim of None None 1 True" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 36), (200, 60)])
async def test_it_has_room_at_every_size_and_follows_a_resize(size):
    async with window(experiments=ALL, size=size) as (app, pilot):
        await enter(app, pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "small" in app.laboratory.bench.outcomes)
        for width, height in (size, (100, 30), (70, 20)):
            await pilot.resize_terminal(width, height)
            await wait_until(pilot, lambda: app.size.width == width)  # noqa: B023
            paper = lab(app).query_one(Paper)
            inner = paper.scrollable_content_region.width
            await wait_until(pilot, lambda p=paper, w=inner: p._laid_for == max(20, w))
            assert paper.region.right <= width and paper.region.width >= 30
            lines = page(app).split("\n")
            assert max(cell_len(line) for line in lines) <= inner
            assert any("⠀" < c <= "⣿" for line in lines for c in line)
        await pilot.press("pagedown")
        await wait_until(pilot, lambda: lab(app).query_one(Paper).scroll_offset.y > 0)


async def test_its_commands_are_in_the_palette_and_on_the_help_page():
    async with window(experiments=(SMALL,)) as (app, pilot):
        await enter(app, pilot)
        offered = [command.title for command in app.get_system_commands(app.screen)]
        assert len(offered) == len(LAB)
        await pilot.press("f1")
        await wait_until(pilot, lambda: len(app.screen_stack) == 3)
        shown = help_text(app)
        assert all(command.about in shown for command in LAB)
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is lab(app))
        await pilot.press("ctrl+p", *"Run")
        await wait_until(pilot, lambda: app.screen is not lab(app))
        await pilot.pause(0.2)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "small" in app.laboratory.bench.outcomes)


async def test_leaving_does_not_wait_for_an_experiment():
    script = Stepwise()
    async with window(session=session_of(), experiments=(scripted("s", script),)) as (app, pilot):
        await enter(app, pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: script.begun == 1)
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: app._exit)
        assert app.laboratory.bench.stopping  # ``run`` ends such a process the hard way
        script.allow(3)
        assert script.closed.wait(60)
