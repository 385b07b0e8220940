"""The draw made visible: u on the cumulative bar, and what it would draw under other settings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.config import Controls, SamplerConfig
from model.generate import Generator, Prompt
from model.inspect_at import keep_step
from model.whatif import smallest_flips, would_change
from tests.helpers import CHARACTERS
from tests.tui.window import endless, finished, session_of, wait_until, window, write, write_to
from tui.inspector import preview
from tui.panes.cumulative import parts_of
from tui.panes.probabilities import ProbabilitiesPane

CONTROLS = Controls(SamplerConfig(temperature=1.5), max_tokens=40, seed=5)
OTHERS = (
    SamplerConfig(temperature=0.0),
    SamplerConfig(temperature=0.4),
    SamplerConfig(temperature=8.0),
    SamplerConfig(temperature=1.5, top_k=2),
    SamplerConfig(temperature=1.5, top_p=0.3),
)


def table(app):
    return app.main.query_one(ProbabilitiesPane).plain()


def name(token):
    return CHARACTERS.name(token)


def written(model, prompt):
    """The steps of a run."""
    return list(Generator(model, CHARACTERS, prompt, CONTROLS))[:-1]


@pytest.mark.parametrize("sampler", OTHERS)
async def test_a_knob_moved_at_an_old_step_marks_whether_its_token_would_have_changed(sampler):
    model = endless()
    async with window(model, session=session_of(controls=CONTROLS)) as (app, pilot):
        await write(app, pilot, "春")
        await finished(app, pilot)
        steps = app.session.branch.steps
        marks = []
        for index in range(3, 9):
            app.conductor.set_controls(CONTROLS)
            app.conductor.look(index)
            await wait_until(pilot, lambda: app.session.step.inspection is not None)
            assert "now:" not in table(app)
            changed = replace(CONTROLS, sampler=sampler)
            app.conductor.set_controls(changed)
            await wait_until(pilot, lambda: "now:" in table(app))
            tokens = [step.token for step in steps]
            kept = keep_step(model._model, CHARACTERS, Prompt("春"), tokens, index)
            drawn, now = tokens[index], kept.would_choose(changed)
            assert would_change(kept, CONTROLS, changed) == (now != drawn)
            mark = f"now: {name(now)} instead of {name(drawn)}"
            marks.append(mark if now != drawn else f"now: {name(drawn)}, unchanged")
            assert marks[-1] in table(app)
        assert any("instead" in mark for mark in marks)


async def test_the_mark_is_there_while_the_poem_goes_on_being_written():
    model = endless()
    async with window(model, session=session_of(controls=CONTROLS)) as (app, pilot):
        await write_to(app, pilot, "春", 5)
        app.conductor.set_controls(replace(CONTROLS, sampler=OTHERS[0]))
        assert "now:" not in table(app)  # the newest step is shown as it was
        app.conductor.look(2)
        await wait_until(pilot, lambda: "now:" in table(app))
        steps = app.session.branch.steps
        kept = keep_step(model._model, CHARACTERS, Prompt("春"), [s.token for s in steps], 2)
        best = int(kept.logits.argmax())
        assert f"now: {name(best)}" in table(app)
        await pilot.press("f4")
        await wait_until(pilot, lambda: len(steps) == 6)
        assert "now:" in table(app) and app.session.index == 2


@pytest.mark.parametrize("sampler", OTHERS[1:])
def test_u_falls_into_the_stretch_of_the_token_that_it_draws_now(sampler):
    model = endless()._model
    prompt = Prompt("春眠")
    run = written(model, prompt)
    tokens = [step.token for step in run]
    for index, step in enumerate(run[:12]):
        kept = keep_step(model, CHARACTERS, prompt, tokens, index)
        seen, would_be = preview(kept, step, replace(CONTROLS, sampler=sampler))
        rows = {row.token for row in seen.candidates}
        assert {would_be, step.token} <= rows
        stretch = next(part for part in parts_of(seen, would_be) if part.token == would_be)
        assert stretch.start - 1e-6 <= step.u <= stretch.end + 1e-6


def test_at_the_smallest_change_the_mark_turns():
    model, prompt = endless()._model, Prompt("春眠")
    run = written(model, prompt)
    tokens = [step.token for step in run]
    turned = 0
    for index, step in enumerate(run[:6]):
        kept = keep_step(model, CHARACTERS, prompt, tokens, index)
        (leeway,) = smallest_flips(kept, CONTROLS, ("temperature",))
        if leeway.nearest is None:
            continue
        turned += 1
        towards = -1 if leeway.nearest.value > leeway.now else 1
        at, before = (
            CONTROLS.with_sampler(temperature=value)
            for value in (leeway.nearest.value, leeway.nearest.value + towards / 1000)
        )
        assert preview(kept, step, at)[1] == leeway.nearest.token != step.token
        assert preview(kept, step, before)[1] == step.token
    assert turned
