"""The window with the shipped small model, once in each mode."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.config import Controls
from model.generate import Generator, Prompt
from model.registry import find, load
from model.steps import Step
from tests.tui.window import finished, notices, poem_text, session_of, wait_until, write
from tui.app import Yinchuang
from tui.session import FormSettings

SPEC = find("tang-small")
CONTROLS = Controls(max_tokens=48, seed=11)
FREE = FormSettings()

pytestmark = pytest.mark.skipif(not SPEC.available, reason="the weights are not shipped here")


@pytest.fixture(scope="module")
def handle():
    return load(SPEC)


@pytest.mark.parametrize(
    ("opening", "form", "cache"),
    [
        ("床前明月光", FREE, "on"),
        ("床前明月光", FREE, "off"),
        ("床前明月光", FREE, "race"),
        ("", FormSettings("acrostic", "春眠不觉", characters=5), "on"),
        ("", FormSettings("fixed", "", "七绝"), "on"),
        ("", FormSettings("fixed", "春眠", "五律"), "race"),
    ],
)
async def test_a_poem_in_each_mode(handle, opening, form, cache):
    session = session_of(controls=replace(CONTROLS, cache=cache), form=form)
    app = Yinchuang(session, load=lambda name: handle)
    async with app.run_test(size=(120, 36)) as pilot:
        await wait_until(pilot, lambda: app.runs.handle is not None)
        await write(app, pilot, opening)
        await finished(app, pilot)
        branch = app.session.branch
        alone = Generator(
            handle.model, handle.tokenizer, Prompt(opening), CONTROLS, constraint=form.constraint()
        )
        assert list(branch.tokens) == [e.token for e in alone if isinstance(e, Step)]
        assert poem_text(app) == branch.text
        assert notices(app) == ""
        if cache == "race":
            assert all(step.race is not None for step in branch.steps)
            assert max(step.race.max_logit_difference for step in branch.steps) < 1e-3
        if form.kind != "free":
            assert branch.finished.reason == "form_complete"
