"""Faults that users of such programs have reported, each with the input that shows it."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from textual import events
from textual.widgets import Input

from model.config import Controls, SamplerConfig
from model.steps import Candidate, Finished, Inspection
from tests.tui.pane_app import step
from tests.tui.window import (
    endless,
    finished,
    handle_of,
    notices,
    poem_text,
    reference,
    session_of,
    type_text,
    wait_until,
    window,
    write,
    write_to,
)
from tui.cells import cell_len, shown
from tui.panes.probabilities import ProbabilitiesPane
from tui.panes.settings import SEED, SETTINGS
from tui.panes.verse import Verse
from tui.session import Branch, FormSettings
from tui.widgets.fields import Refusal, TextField
from tui.widgets.stepper import Stepper

CONTROLS = Controls(max_tokens=40, seed=5)
MARKUP = ["[/", "[0]", "[bold", "[爽]節在重九"]


def screen_text(app) -> str:
    """Everything on the screen, its rows joined."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@pytest.mark.parametrize("text", MARKUP)
async def test_markup_is_text_wherever_text_comes_from(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = Inspection((Candidate(7, text, 0.9, 0.9, 0.9, None),), 1.0, 1.0, 1, 0.0, False, 0.0)
    branch = Branch(
        0, text, FormSettings(), f"model {text}", steps=[replace(step(7, seen), text=text)]
    )
    branch.finished = Finished("stop_string", "", 1, 0.0, 0.0)
    async with window() as (app, pilot):
        await type_text(pilot, text)
        app.session.add(branch)
        app.conductor.show_all()
        app.conductor.set_controls(replace(CONTROLS, stop=(text,)))
        app.main.model_title = text
        app.main.show_state()
        app.main.say(text, "error")
        app.main.query_one("#poem").tooltip = None
        await wait_until(pilot, lambda: text in notices(app))
        assert poem_text(app) == 2 * text
        assert shown(text) in app.main.query_one(ProbabilitiesPane).plain()
        assert app.main.query_one("#stop", TextField).value == text
        await wait_until(pilot, lambda: screen_text(app).count(text) >= 5)
        await pilot.press("f6")  # the branch list
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        await wait_until(pilot, lambda: f"{text}{text}" in screen_text(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: len(app.screen_stack) == 2)
        name = f"{text.replace('/', '')}.txt"  # a slash would be a folder
        app.screen.query_one(Input).value = name
        await pilot.press("enter")
        await wait_until(pilot, lambda: f"Saved {name}" in notices(app))
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(text)


@pytest.mark.parametrize("place", [0, 1, 9])
async def test_nothing_of_a_stop_string_is_ever_shown(place):
    """Over two tokens, with another that is its prefix's end, and as the very first ones."""
    model = endless()
    plain = "".join(handle_of(model).tokenizer.decode(reference(model, "春", CONTROLS)))
    stop = plain[place : place + 2]
    first = plain.index(stop)
    controls = replace(CONTROLS, stop=(f"{stop}龘", stop))
    async with window(model, session=session_of(controls=controls)) as (app, pilot):
        drawn = []
        pane = app.main.query_one("#poem")
        append = pane.append

        def watch(steps):
            append(steps)
            drawn.append(poem_text(app))

        pane.append = watch
        await write(app, pilot, "春")
        await finished(app, pilot)
        branch = app.session.branch
        assert branch.finished.reason == "stop_string"
        assert poem_text(app) == branch.text == "春" + plain[:first]
        assert all(stop not in text[1:] for text in drawn)
        assert list(branch.tokens) == reference(model, "春", controls)


async def test_what_was_held_back_is_released_where_the_match_fails():
    model = endless()
    plain = handle_of(model).tokenizer.decode(reference(model, "春", CONTROLS))
    controls = replace(CONTROLS, stop=(f"{plain[-1]}龘", f"{plain[3]}龘"))
    async with window(model, session=session_of(controls=controls)) as (app, pilot):
        await write(app, pilot, "春")
        await finished(app, pilot)
        assert app.session.branch.finished.reason == "length"
        assert poem_text(app) == app.session.branch.text == f"春{plain}"


@pytest.mark.parametrize("name", ["opening", "heads", "stop"])
async def test_an_input_methods_commit_is_whole_in_every_field(name):
    async with window() as (app, pilot):
        field = app.main.query_one(f"#{name}", Input)
        field.focus()
        await pilot.pause()
        await type_text(pilot, "春江花月夜")
        assert field.value == "春江花月夜"
        await wait_until(pilot, lambda: app.cursor_position.x == field.content_region.x + 10)


@pytest.mark.parametrize("name", ["opening", "heads", "stop"])
async def test_a_paste_of_four_lines_keeps_them_all(name):
    lines = ["白日依山尽", "黄河入海流", "欲穷千里目", "更上一层楼"]
    async with window() as (app, pilot):
        field = app.main.query_one(f"#{name}", Input)
        field.focus()
        await pilot.pause()
        field.post_message(events.Paste("\n".join(lines)))
        await wait_until(pilot, lambda: field.value)
        assert all(line in field.value for line in lines)


@pytest.mark.parametrize("pasted", ["春\ud83d眠", "春\0眠", "春\udcff眠"])
async def test_what_cannot_be_written_does_not_come_in(pasted, tmp_path):
    async with window() as (app, pilot):
        app.main.query_one("#opening").post_message(events.Paste(pasted))
        await wait_until(pilot, lambda: "left out" in notices(app))
        await pilot.press("enter")
        await finished(app, pilot)
        assert app.session.branch.prompt == "春眠"
        screen_text(app).encode()
        for suffix in ("txt", "md", "jsonl"):
            app.filing._put(str(tmp_path / f"a.{suffix}"), app.filing._write)
            await wait_until(pilot, lambda s=suffix: (tmp_path / f"a.{s}").exists())


@pytest.mark.parametrize(
    ("form", "opening", "said"),
    [
        (FormSettings("acrostic", "龘"), "", "龘"),
        (FormSettings("acrostic", ""), "", "no heads"),
        (FormSettings("fixed", "春眠不觉晓", "五绝"), "", "4 lines"),
        (FormSettings("fixed", "", "五绝"), "春眠不觉晓处", "6 characters"),
    ],
)
async def test_what_no_text_can_satisfy_is_said_before_it_starts(form, opening, said):
    async with window(session=session_of(form=form)) as (app, pilot):
        await write(app, pilot, opening)
        await wait_until(
            pilot, lambda: said in notices(app) or any(said in r.text for r in refusals(app))
        )
        assert app.session.branches == [] and app.runs.writing is None


def refusals(app):
    return app.main.query(Refusal)


async def test_a_form_under_a_stop_string_and_top_k_1_ends_with_a_reason():
    """Where the best token is banned, top-k is of those that are not."""
    controls = Controls(SamplerConfig(top_k=1), max_tokens=40, seed=5, stop=("。",))
    form = FormSettings("fixed", "", "五绝")
    async with window(session=session_of(controls=controls, form=form)) as (app, pilot):
        await write(app, pilot, "")
        await finished(app, pilot)
        branch = app.session.branch
        assert branch.finished.reason == "stop_string"
        assert "。" not in branch.text
        assert {len(line) for line in branch.text.split("，")} == {5}


@pytest.mark.parametrize("value", ["0", "1", "2000", "2001", str(10**9)])
async def test_a_top_k_from_nothing_to_more_than_there_is_goes_on_writing(value):
    model = endless()
    async with window(model) as (app, pilot):
        knob = app.main.query_one("#top_k", Stepper)
        await write_to(app, pilot, "春", 2)
        knob.focus()
        await pilot.pause()
        await type_text(pilot, value)
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.session.settings.controls.sampler.top_k == int(value))
        app.set_pace(float("inf"))
        await finished(app, pilot)
        assert app.session.branch.finished.reason == "length"
        assert len(set(app.session.branch.tokens)) > 1, "token 0 for ever is the fault"


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "-1", "0,8", "０．８", "abc", "2.5"])
async def test_nonsense_in_mid_stream_leaves_the_stream_as_it_was(text):
    model = endless()
    async with window(model) as (app, pilot):
        await write_to(app, pilot, "春", 2)
        knob = app.main.query_one("#top_k", Stepper)
        knob.focus()
        await pilot.pause()
        await type_text(pilot, text)
        await pilot.press("enter")
        await wait_until(pilot, lambda: knob.refusal)
        app.set_pace(float("inf"))
        await finished(app, pilot)
        assert list(app.session.branch.tokens) == reference(model, "春", CONTROLS)


@pytest.mark.parametrize("name", [setting.name for setting in (*SETTINGS, SEED)])
async def test_each_knob_turned_in_mid_stream_holds_from_the_next_token_on(name):
    model = endless()
    async with window(model) as (app, pilot):
        await write_to(app, pilot, "春", 3)
        app.main.query_one(f"#{name}", Stepper).focus()
        await pilot.press("left" if name in ("top_p", "max_tokens") else "right")
        await wait_until(pilot, lambda: app.session.settings.controls != CONTROLS)
        turned = app.session.settings.controls
        app.set_pace(float("inf"))
        await finished(app, pilot)
        branch = app.session.branch
        assert [s.controls for s in branch.steps[:3]] == [CONTROLS] * 3
        assert all(s.controls == turned for s in branch.steps[3:])
        assert len(branch.steps) == turned.max_tokens
        differ = [f.name for f in fields(SamplerConfig) if _of(turned, f) != _of(CONTROLS, f)]
        assert differ == ([name] if name in {f.name for f in fields(SamplerConfig)} else [])


def _of(controls, field):
    return getattr(controls.sampler, field.name)


def test_a_line_of_8_kib_is_broken_and_costs_the_same_at_its_end():
    verse = Verse(48)
    for index in range(8192):
        first = verse.add("春", index, "written")
        assert len(verse.rows) - first <= 2  # no more than the last row and what it sheds
    assert max(row.width for row in verse.rows) <= 48
    assert cell_len(verse.text(None, None).replace("\n", "")) == 2 * 8192
