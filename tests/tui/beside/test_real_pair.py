"""Two models side by side: the shipped ones, as they are chosen at first."""

from __future__ import annotations

import pytest

from model.generate import Generator, Prompt
from model.registry import find, load
from model.steps import Step
from tests.tui.beside.columns import both_written, branches, columns, opening
from tests.tui.window import session_of, wait_until
from tui.app import Yinchuang
from tui.beside.pair import first_pair
from tui.session import FormSettings

PAIR = first_pair()

pytestmark = pytest.mark.skipif(
    not all(find(name).available for name in PAIR), reason="the weights are not shipped here"
)


async def test_both_write_the_same_form_exactly_and_as_each_does_alone():
    handles = {name: load(find(name)) for name in PAIR}
    form = FormSettings("fixed", "春", "五绝")
    session = session_of(form=form)
    session.model = PAIR[0]
    app = Yinchuang(session, load=handles.__getitem__)
    async with app.run_test(size=(120, 36)) as pilot:
        await wait_until(pilot, lambda: app.runs.handle is not None)
        await pilot.press("alt+s")
        await wait_until(
            pilot, lambda: columns(app) and all(c.runs.handle is not None for c in columns(app))
        )
        assert tuple(column.name for column in columns(app)) == PAIR
        await opening(app, pilot, "")
        await both_written(app, pilot)
        for name, branch in zip(PAIR, branches(app), strict=True):
            handle = handles[name]
            run = Generator(
                handle.model,
                handle.tokenizer,
                Prompt(""),
                session.settings.controls,
                constraint=form.constraint(),
            )
            assert branch.tokens == tuple(e.token for e in run if isinstance(e, Step))
            assert branch.finished.reason == "form_complete" and len(branch.text) == form.length
