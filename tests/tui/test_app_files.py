"""What is kept, saved, opened again and copied."""

from __future__ import annotations

from model.config import Controls
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
from tui.keeping import open_keeper
from tui.session import Session

CONTROLS = Controls(max_tokens=40, seed=5)
CONTROLS = Controls(max_tokens=40, seed=5)


async def test_a_session_comes_back(tmp_path):
    model, path = endless(), tmp_path / "history.sqlite3"
    keeper, _ = open_keeper(session := session_of(), path)
    async with window(model, session=session, keeper=keeper) as (app, pilot):
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        text = app.session.branch.text
        app.conductor.set_cache("race")
        await pilot.press("ctrl+t")
        app.keep()
    keeper, greeting = open_keeper(session := Session(), path)
    assert greeting == ""
    async with window(model, session=session, keeper=keeper) as (app, pilot):
        assert app.session.branch.text == text
        assert poem_text(app) == text
        assert app.session.settings.controls.cache == "race"
        assert app.session.look.traditional
        assert app.main.query_one("#opening").value == "春眠"
        app.conductor.look(1)  # inspected anew: the file does not keep inspections
        await wait_until(pilot, lambda: app.session.step.inspection is not None)
        app.keep()


async def test_a_trace_is_saved_opened_and_replayed(tmp_path):
    async with window() as (app, pilot):
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        before = app.session.branch
        file = tmp_path / "poem [bold].jsonl"
        app.filing._save_as(str(file))
        await wait_until(pilot, lambda: "poem [bold].jsonl" in notices(app))
        app.filing._opened(str(file))
        await wait_until(pilot, lambda: len(app.session.branches) == 2)
        opened = app.session.branch
        assert opened.steps == before.steps
        await pilot.press("escape")
        app.runs.replay()
        await wait_until(pilot, lambda: len(app.session.branches) == 3 and not app.runs.writing)
        assert app.session.branch.steps == before.steps
        assert poem_text(app) == before.text


async def test_a_poem_is_saved_as_text_and_a_file_is_not_overwritten_unasked(tmp_path):
    async with window() as (app, pilot):
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        for name in ("poem.txt", "poem.md"):
            app.filing._save_as(str(tmp_path / name))
            await wait_until(pilot, lambda n=name: (tmp_path / n).exists())
            written = (tmp_path / name).read_text(encoding="utf-8")
            assert app.session.branch.text in written.replace("\n", "")
        (tmp_path / "poem.txt").write_text("mine", encoding="utf-8")
        app.filing._save_as(str(tmp_path / "poem.txt"))
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("enter")  # keep it
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        assert (tmp_path / "poem.txt").read_text(encoding="utf-8") == "mine"
        app.filing._save_as(str(tmp_path / "poem.doc"))
        await wait_until(pilot, lambda: "no suffix" in notices(app))


async def test_copying_says_how_and_promises_nothing():
    async with window() as (app, pilot):
        await pilot.press("alt+c")
        await wait_until(pilot, lambda: "nothing to copy" in notices(app))
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        await pilot.press("alt+c")
        await wait_until(pilot, lambda: "OSC 52" in notices(app))
        assert app.clipboard.replace("\n", "") == app.session.branch.text
