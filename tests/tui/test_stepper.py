"""A number on a line: keys, mouse and typing change it, nonsense does not."""

from __future__ import annotations

import pytest
from textual import events

from model.config import Controls, SamplerConfig
from tests.tui.knobs import SIZE, app_with, newest, type_into
from tests.tui.pane_app import screen_lines, until
from tui.messages import ControlsChanged
from tui.widgets.scale import parse
from tui.widgets.stepper import Stepper


async def test_steps_do_not_gather_the_dust_of_fractions():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        app.query_one("#temperature").focus()
        await pilot.press(*["left"] * 7)
        await until(pilot, lambda: len(app.of(ControlsChanged)) == 7)
        assert newest(app).sampler.temperature == 0.65
        await pilot.press("shift+left")
        await until(pilot, lambda: len(app.of(ControlsChanged)) == 8)
        assert newest(app).sampler.temperature == 0.15


async def test_home_end_and_delete_go_to_the_ends_and_to_the_default():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        app.query_one("#temperature").focus()
        await pilot.press("home", "end", "delete")
        await until(pilot, lambda: len(app.of(ControlsChanged)) == 3)
        assert [m.controls.sampler.temperature for m in app.of(ControlsChanged)] == [0.0, 2.0, 1.0]


async def test_a_typed_value_is_applied_by_enter_also_beyond_the_slider():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#temperature", Stepper)
        await type_into(pilot, field, "12.5")
        assert app.posted == [] and "12.5" in screen_lines(field)[0]
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.of(ControlsChanged)))
        assert newest(app).sampler.temperature == 12.5
        assert "12.50" in screen_lines(field)[0]


async def test_escape_takes_back_what_is_being_typed():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#top_k", Stepper)
        await type_into(pilot, field, "33")
        await pilot.press("escape")
        assert field.typed is None and "off" in screen_lines(field)[0]
        await pilot.press("enter")
        assert app.posted == []


async def test_leaving_the_field_applies_what_was_typed():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        await type_into(pilot, app.query_one("#top_k", Stepper), "33")
        await pilot.press("down")
        await until(pilot, lambda: bool(app.of(ControlsChanged)))
        assert newest(app).sampler.top_k == 33
        assert app.focused is app.query_one("#top_p")


NONSENSE = [
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1",
    " ",
    "0,8",
    "０．８",
    "８",
    "abc",
    "1_0",
    "[/",
    "0.8.1",
]


@pytest.mark.parametrize("text", NONSENSE)
@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "repetition", "max_tokens"])
async def test_nonsense_is_refused_at_the_field_and_the_old_value_stays(name, text):
    app = app_with(Controls(SamplerConfig(temperature=0.8, top_k=5, top_p=0.5), max_tokens=50))
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one(f"#{name}", Stepper)
        before = field.value
        field.focus()
        field.typed = ""  # as after backspace
        await type_into(pilot, field, text)
        await pilot.press("enter")
        await until(pilot, lambda: bool(field.refusal))
        assert app.posted == [] and field.value == before
        assert name in field.refusal and "it takes" in field.refusal
        await until(pilot, lambda: len(screen_lines(field)) > 1)
        assert field.refusal.split()[-1] in " ".join(screen_lines(field))
        await pilot.press("escape")
        await until(pilot, lambda: len(screen_lines(field)) == 1)


async def test_an_emptied_field_is_refused():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#top_k", Stepper)
        field.focus()
        await pilot.press("backspace", "enter")
        await until(pilot, lambda: bool(field.refusal))
        assert "top_k is ''" in field.refusal and app.posted == []


@pytest.mark.parametrize("text", ["2.5", "1e3"])
async def test_whole_numbers_are_whole(text):
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#top_k", Stepper)
        await type_into(pilot, field, text)
        await pilot.press("enter")
        await until(pilot, lambda: bool(field.refusal))
        assert app.posted == []


async def test_one_key_event_of_several_characters_is_typed_whole():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#temperature", Stepper)
        field.focus()
        await pilot.pause()
        field.post_message(events.Key("0.75", "0.75"))
        await until(pilot, lambda: field.typed == "0.75")
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.of(ControlsChanged)))
        assert newest(app).sampler.temperature == 0.75


async def test_a_pasted_value_waits_for_enter():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#temperature", Stepper)
        field.focus()
        await pilot.pause()
        field.post_message(events.Paste(" 0.75\n"))
        await until(pilot, lambda: field.typed == "0.75")
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.of(ControlsChanged)))
        assert newest(app).sampler.temperature == 0.75


async def test_clicks_on_the_arrows_step():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#temperature", Stepper)
        line = screen_lines(field)[0]
        await pilot.click(field, offset=(line.index("◂"), 0))
        await until(pilot, lambda: len(app.of(ControlsChanged)) == 1)
        assert newest(app).sampler.temperature == 0.95
        await pilot.click(field, offset=(line.index("▸", 5), 0))
        await until(pilot, lambda: len(app.of(ControlsChanged)) == 2)
        assert newest(app).sampler.temperature == 1.0


async def test_the_knob_is_dragged_to_both_ends_and_beyond():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#temperature", Stepper)
        line = screen_lines(field)[0]
        await pilot.mouse_down(field, offset=(line.index("●"), 0))
        await pilot.hover(field, offset=(line.index("▸", 5) - 1, 0))
        await pilot.mouse_up(field, offset=(line.index("▸", 5) - 1, 0))
        await until(pilot, lambda: app.pane.controls.sampler.temperature == 2.0)
        await pilot.hover(field, offset=(line.index("◂") + 1, 0))  # released: nothing moves
        assert app.pane.controls.sampler.temperature == 2.0
        await pilot.mouse_down(field, offset=(line.index("◂") + 1, 0))
        await pilot.mouse_up(field, offset=(line.index("◂") + 1, 0))
        await until(pilot, lambda: newest(app).sampler.temperature == 0.0)
        assert "greedy" in screen_lines(field)[0]


async def test_the_wheel_turns_the_slider():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#top_k", Stepper)
        x = field.content_region.x + 20
        y = field.content_region.y
        for kind in (events.MouseScrollUp, events.MouseScrollUp, events.MouseScrollDown):
            field.post_message(kind(field, 20, 0, 0, 0, 0, False, False, False, x, y))
        await until(pilot, lambda: len(app.of(ControlsChanged)) == 3)
        assert [m.controls.sampler.top_k for m in app.of(ControlsChanged)] == [1, 2, 1]


async def test_show_leaves_what_is_being_typed_alone():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#top_k", Stepper)
        await type_into(pilot, field, "33")
        app.pane.show(Controls(SamplerConfig(top_k=5)))
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.of(ControlsChanged)))
        assert newest(app).sampler.top_k == 33


@pytest.mark.parametrize(
    ("text", "whole", "value"),
    [
        ("0.8", False, 0.8),
        (" 7 ", True, 7),
        ("-2", False, -2.0),
        ("1_0", True, "1_0"),
        ("８", True, "８"),
        ("", False, ""),
    ],
)
def test_parse(text, whole, value):
    assert parse(text, whole) == value
