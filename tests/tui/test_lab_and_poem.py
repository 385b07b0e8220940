"""The lab and the poem: one model, one window, both at once."""

from __future__ import annotations

from model.trace import read_trace
from tests.lab.scripted import SMALL, Stepwise, result, scripted
from tests.tui.laboratory import enter, page
from tests.tui.window import endless, finished, notices, wait_until, window, write, write_to
from tui.session import UNLIMITED


async def test_it_goes_on_behind_the_poem_and_says_when_it_is_done():
    script = Stepwise()
    async with window(experiments=(scripted("step", script),)) as (app, pilot):
        await enter(app, pilot)
        await pilot.press("enter", "f10")
        await wait_until(pilot, lambda: app.screen is app.main)
        script.allow(3)
        await wait_until(pilot, lambda: "Lab: step: 1 of 1 checks hold" in notices(app))


async def test_the_poem_comes_first_and_both_never_use_one_model_at_once():
    model, script = endless(), Stepwise(model=True)
    async with window(model, experiments=(scripted("step", script),)) as (app, pilot):
        handle = app.runs.handle
        await enter(app, pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.laboratory.bench.progress.doing == "part 1")
        assert handle.lock.locked()  # the experiment computes between two records
        await pilot.press("f10")
        await write(app, pilot, "春")
        await wait_until(pilot, lambda: "makes room for the poem" in notices(app))
        await wait_until(pilot, lambda: app.runs.writing is not None)
        assert not app.runs.writing.steps  # it waits for the step at hand
        script.allow(1)
        await finished(app, pilot)
        assert len(app.session.branch.steps) == 40
        script.allow(2)
        await wait_until(pilot, lambda: app.laboratory.bench.running is None)
        assert app.laboratory.bench.outcomes["step"].state == "done"
        assert not handle.lock.locked()


async def test_an_experiment_waits_for_the_poem_and_can_be_stopped_while_it_waits():
    script = Stepwise(model=True)
    async with window(experiments=(scripted("step", script),)) as (app, pilot):
        await write_to(app, pilot, "春", 3)  # a poem that stands in the middle
        await enter(app, pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: script.begun == 1)
        assert app.laboratory.bench.running is not None
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.laboratory.bench.running is None)
        assert app.laboratory.bench.outcomes["step"].state == "stopped"
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is app.main)
        app.set_pace(UNLIMITED)
        await finished(app, pilot)
        assert len(app.session.branch.steps) == 40


async def test_the_poem_on_show_is_handed_to_who_looks_at_one():
    seen = []

    def look(request):
        seen.append(request.trace and read_trace(request.trace)[0])
        yield result()

    one = scripted("look", look, reads_trace=True)
    async with window(experiments=(one, SMALL)) as (app, pilot):
        await enter(app, pilot)
        assert "Looks at the poem in the window" in page(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: seen)
        await pilot.press("f10")
        await write(app, pilot, "春眠")
        await finished(app, pilot)
        await enter(app, pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(seen) == 2)
        assert seen[0] is None
        assert seen[1].text == app.session.branch.text
        assert list(seen[1].token_ids) == list(app.session.branch.tokens)
