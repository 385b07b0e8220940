"""The window with a model whose tokens are pieces and bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from model.config import Controls, SamplerConfig
from model.registry import ModelHandle, ModelSpec
from tests.helpers import CHARACTERS, PIECES, Endless, ScriptedModel, tiny_gpt
from tests.tui.window import Held, finished, notices, poem_text, session_of, wait_until, write
from tui.app import Yinchuang
from tui.cells import cell_len
from tui.help import MARKS
from tui.panes.candidates import layout
from tui.panes.poem import PoemPane
from tui.panes.probabilities import ProbabilitiesPane
from tui.session import FormSettings


def window_on(model, form=None):
    """The app on ``model`` with pieces, warm enough for rare ones."""
    handle = ModelHandle(ModelSpec("tiny", Path("none")), Held(model), PIECES, {}, {})
    controls = Controls(SamplerConfig(temperature=1.5), max_tokens=60, seed=5)
    session = session_of(controls=controls, form=form or FormSettings())
    return Yinchuang(session, load=lambda name: handle)


async def test_pieces_and_bytes_stream_into_one_text():
    text = "白日花落处，𨣧不知花落处。"
    script = [*PIECES.encode(text), PIECES.end_id]
    app = window_on(ScriptedModel(script, PIECES.vocab_size, prompt=1))
    async with app.run_test(size=(120, 36)) as pilot:
        await wait_until(pilot, lambda: app.runs.handle is not None)
        await write(app, pilot, "")
        await finished(app, pilot)
        assert poem_text(app) == text == app.session.branch.text
        assert len(app.session.branch.steps) == len(script) < len(text) + 4
        assert notices(app) == ""


@pytest.mark.parametrize(
    "form",
    [FormSettings("acrostic", "白鬱花千", characters=5), FormSettings("fixed", "春", "七绝")],
    ids=["acrostic", "form"],
)
async def test_forms_are_exact_and_any_step_can_be_looked_at(form):
    app = window_on(Endless(tiny_gpt(PIECES.vocab_size, block_size=96), PIECES.end_id), form)
    async with app.run_test(size=(120, 36)) as pilot:
        await wait_until(pilot, lambda: app.runs.handle is not None)
        await write(app, pilot, "")
        await finished(app, pilot)
        branch = app.session.branch
        assert branch.finished.reason == "form_complete"
        assert branch.text == poem_text(app) == PIECES.decode(branch.tokens)
        pane = app.main.query_one(ProbabilitiesPane)
        pane.focus()
        await pilot.press("home")
        await wait_until(pilot, lambda: pane._inspection is not None)
        rows = [PIECES.name(candidate.token) for candidate in pane._inspection.candidates]
        assert [candidate.piece for candidate in pane._inspection.candidates] == rows


async def test_what_one_piece_holds_is_seen_to_belong_together():
    text = "白日依花落处，黄河白日。"
    app = window_on(ScriptedModel([*PIECES.encode(text), 2], PIECES.vocab_size, prompt=1))
    async with app.run_test(size=(120, 36)) as pilot:
        await wait_until(pilot, lambda: app.runs.handle is not None)
        await write(app, pilot, "")
        await finished(app, pilot)
        pane = app.main.query_one(PoemPane)
        await wait_until(pilot, lambda: pane.render_line(0).text.startswith(text))
        drawn = [(c, s.style) for s in pane.render_line(0) for c in s.text if c.strip()]
        assert "".join(char for char, _ in drawn) == text
        goes_on = [char for char, style in drawn if style.underline]
        assert goes_on == ["白", "花", "落", "黄", "白"]  # to 日, 落, 处, 河, 日
        grounds = {style.bgcolor for char, style in drawn if char in "依，。"}
        assert len(grounds) == 1
        assert not grounds & {style.bgcolor for char, style in drawn if char not in "依，。"}
        pane.focus()
        await pilot.press("home")
        await wait_until(pilot, lambda: pane._cursor == 0)
        marked = [s.text for s in pane.render_line(0) if s.style.reverse]
        assert "".join(marked) == "白日", "the cursor is on the whole piece"


@pytest.mark.parametrize("tokenizer", [CHARACTERS, PIECES])
def test_the_token_that_ends_a_poem_is_called_so_whole_in_every_width(tokenizer):
    name = tokenizer.name(tokenizer.end_id)
    assert name in dict(MARKS), "the help says what it is"
    assert cell_len(name) <= layout(36).token
