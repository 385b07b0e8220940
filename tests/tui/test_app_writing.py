"""Writing in the window: what is typed is continued, exactly as the engine would."""

from __future__ import annotations

from dataclasses import replace

from model.config import Controls
from tests.tui.window import (
    endless,
    finished,
    notices,
    poem_text,
    reference,
    session_of,
    wait_until,
    window,
    write,
)
from tui.panes.probabilities import ProbabilitiesPane
from tui.session import BY_KEY, Session

CONTROLS = Controls(max_tokens=40, seed=5)


async def test_an_opening_is_typed_and_continued():
    model = endless()
    async with window(model) as (app, pilot):
        await write(app, pilot, "床前明月光")
        await finished(app, pilot)
        branch = app.session.branch
        assert branch.prompt == "床前明月光"
        assert list(branch.tokens) == reference(model, "床前明月光", CONTROLS)
        assert poem_text(app) == branch.text
        assert branch.finished.reason == "length"
        assert app.main.query_one(ProbabilitiesPane).plain()


async def test_what_is_submitted_before_the_model_is_there_runs_when_it_is():
    model = endless()
    session = session_of()
    async with window(model, session=session) as (app, pilot):
        app.runs.handle = None  # as before the load
        await write(app, pilot, "春眠")
        assert app.runs.waiting == "春眠"
        assert app.runs.writing is None
        app.loader.begin("tiny")
        await finished(app, pilot)
        assert list(app.session.branch.tokens) == reference(model, "春眠", CONTROLS)


async def test_toggling_the_cache_while_it_streams_changes_no_character():
    model = endless()
    async with window(model) as (app, pilot):
        model.hold()
        await write(app, pilot, "白日")
        seen = set()
        for _ in range(13):
            model.allow(3)
            await pilot.press("f2")
            seen.add(app.session.settings.controls.cache)
        model.free()
        await finished(app, pilot)
        assert seen == {"on", "off", "race"}
        assert list(app.session.branch.tokens) == reference(model, "白日", CONTROLS)
        modes = {step.controls.cache for step in app.session.branch.steps}
        assert len(modes) > 1


async def test_a_knob_turned_mid_stream_works_from_the_next_token_on():
    model = endless()
    async with window(model) as (app, pilot):
        model.hold()
        await write(app, pilot, "春")
        model.allow(10)
        await wait_until(pilot, lambda: model.passes >= 10)
        cold = replace(app.session.settings.controls, sampler=replace(CONTROLS.sampler, top_k=1))
        app.conductor.set_controls(cold)
        model.free()
        await finished(app, pilot)
        steps = app.session.branch.steps
        changed = next(i for i, step in enumerate(steps) if step.controls is cold)
        assert 9 <= changed <= 11
        assert all(step.probability == 1.0 for step in steps[changed:])
        assert steps[0].controls.sampler.top_k == 0


async def test_the_speed_now_is_said_only_while_something_is_written():
    model = endless()
    controls = Controls(max_tokens=100_000, seed=5)
    async with window(model, session=session_of(controls=controls)) as (app, pilot):
        model.hold()
        await write(app, pilot, "白日")
        meter = app.main.query_one("#speed")

        def figures_come():
            model.allow(1)
            return "now" in str(meter.border_title)

        await wait_until(pilot, figures_come)
        await pilot.press("escape")
        model.free()
        await finished(app, pilot)
        assert str(meter.border_title) == "Speed"


async def test_escape_stops_and_keeps_the_text():
    model = endless()
    async with window(model) as (app, pilot):
        model.hold()
        await write(app, pilot, "春")
        model.allow(6)
        await wait_until(pilot, lambda: model.passes >= 6)
        await pilot.press("escape")
        model.free()
        await finished(app, pilot)
        branch = app.session.branch
        assert branch.finished.reason == "cancelled"
        assert 6 <= len(branch.steps) <= 8
        assert poem_text(app) == branch.text
        assert "stopped" in str(app.main.query_one("#poem").border_subtitle)


async def test_again_while_writing_marks_the_first_as_stopped():
    model = endless()
    async with window(model, session=session_of(seed_fixed=False)) as (app, pilot):
        model.hold()
        await write(app, pilot, "春")
        model.allow(4)
        await wait_until(pilot, lambda: model.passes >= 4)
        await pilot.press("f5")
        model.free()
        await wait_until(pilot, lambda: len(app.session.branches) == 2 and not app.runs.writing)
        first, second = app.session.branches
        assert first.finished.reason == "cancelled"
        assert len(second.steps) == 40
        assert first.steps[0].controls.seed != second.steps[0].controls.seed


async def test_one_character_at_a_press():
    async with window(session=session_of()) as (app, pilot):
        app.session.look.pace = BY_KEY
        app.writer.set_pace(BY_KEY)
        await write(app, pilot, "春")
        for count in (1, 2, 3):
            await wait_until(pilot, lambda n=count: len(app.session.branch.steps) == n)
            await pilot.press("f4")
        await wait_until(pilot, lambda: len(app.session.branch.steps) == 4)
        await pilot.press("escape")
        await finished(app, pilot)


async def test_a_worker_that_breaks_is_said_and_the_app_goes_on(caplog):
    model = endless()
    async with window(model, log_file="/logs/window.log") as (app, pilot):
        model.error = RuntimeError("[/red] the cable is out")
        await write(app, pilot, "春")
        await finished(app, pilot)
        assert "[/red] the cable is out" in notices(app)
        assert "/logs/window.log" in notices(app)
        assert app.session.branch.finished.reason == "error"
        assert any("Traceback" in (record.exc_text or "") for record in caplog.records)
        model.error = None
        await write(app, pilot, "")
        await finished(app, pilot)
        assert len(app.session.branch.steps) == 40


async def test_several_poems_one_after_another():
    async with window(session=session_of(poems=3, seed_fixed=False)) as (app, pilot):
        await write(app, pilot, "春")
        await wait_until(pilot, lambda: len(app.session.branches) == 3 and app.runs.writing is None)
        assert len({branch.tokens for branch in app.session.branches}) == 3


async def test_another_model_does_not_see_the_cache_of_the_first():
    one, two = endless(1), endless(2)
    async with window(one, two) as (app, pilot):
        await write(app, pilot, "春眠不觉晓")
        await finished(app, pilot)
        first = app.session.branch
        app._load("tiny2")
        await wait_until(pilot, lambda: app.runs.handle.spec.name == "tiny2")
        await pilot.press("f5")
        await wait_until(pilot, lambda: len(app.session.branches) == 2 and not app.runs.writing)
        assert list(first.tokens) == reference(one, "春眠不觉晓", CONTROLS)
        assert list(app.session.branch.tokens) == reference(two, "春眠不觉晓", CONTROLS)
        app.conductor.show_branch(first.id)
        app.runs.fork(3, 5)
        await wait_until(pilot, lambda: "tiny wrote this" in notices(app))
        assert len(app.session.branches) == 2


async def test_switching_the_model_mid_stream_ends_the_run_in_its_branch():
    one, two = endless(1), endless(2)
    async with window(one, two) as (app, pilot):
        one.hold()
        await write(app, pilot, "春")
        one.allow(5)
        await wait_until(pilot, lambda: one.passes >= 5)
        app._load("tiny2")
        await wait_until(pilot, lambda: app.runs.handle.spec.name == "tiny2")
        one.free()
        await write(app, pilot, "")
        await wait_until(pilot, lambda: len(app.session.branches) == 2 and not app.runs.writing)
        first, second = app.session.branches
        assert first.finished.reason == "cancelled"
        assert len(first.steps) <= 7
        assert list(second.tokens) == reference(two, "春", CONTROLS)


async def test_a_model_that_cannot_be_loaded_is_said():
    async with window() as (app, pilot):
        app._load("no [/] such")
        await wait_until(pilot, lambda: "no [/] such" in notices(app))
        await write(app, pilot, "春")
        await finished(app, pilot)
        assert len(app.session.branch.steps) == 40


async def test_sessions_begin_with_sensible_settings():
    session = Session()
    assert session.settings.controls.max_tokens == 200
    assert session.look.pace == 10
