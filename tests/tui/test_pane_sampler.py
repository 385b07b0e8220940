"""The knobs: each setting, presets, seed, stop strings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from model.config import POEM_SAMPLER, Controls, SamplerConfig
from tests.tui.knobs import SIZE, app_with, newest, type_into
from tests.tui.pane_app import PaneApp, screen_lines, until
from tui.messages import ControlsChanged, SeedModeChanged
from tui.panes.sampler import SamplerPane
from tui.panes.settings import SEED, SETTINGS
from tui.panes.stops import format_stops, lines_to_stops, parse_stops
from tui.session import Session
from tui.widgets.choice import Choice, Toggle
from tui.widgets.fields import Refusal, TextField
from tui.widgets.stepper import Stepper


@pytest.mark.parametrize("setting", [*SETTINGS, SEED], ids=lambda s: s.name)
async def test_right_and_left_change_every_setting(setting):
    app = app_with(Controls(seed=7))
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one(f"#{setting.name}", Stepper)
        before = setting.read(app.pane.controls)
        up, down = ("right", "left") if before < setting.scale.high else ("left", "right")
        field.focus()
        await pilot.press(up)
        await until(pilot, lambda: len(app.of(ControlsChanged)) == 1)
        assert abs(setting.read(newest(app)) - before) == pytest.approx(setting.scale.step)
        await pilot.press(down)
        await until(pilot, lambda: len(app.of(ControlsChanged)) == 2)
        assert setting.read(newest(app)) == before


@pytest.mark.parametrize(
    ("presses", "sampler"),
    [
        (1, POEM_SAMPLER),
        (2, SamplerConfig(temperature=0.3)),
        (3, SamplerConfig()),
        (4, SamplerConfig(temperature=1.5)),
        (5, SamplerConfig(temperature=1.5, top_k=20)),
    ],
)
async def test_presets_set_exactly_what_they_say(presses, sampler):
    app = app_with(Controls(SamplerConfig(temperature=0.8, top_p=0.5, presence=1.0), seed=9))
    async with app.run_test(size=SIZE) as pilot:
        preset = app.query_one("#preset", Choice)
        assert preset.key is None
        preset.focus()
        await pilot.press(*["right"] * presses)
        await until(pilot, lambda: len(app.of(ControlsChanged)) == presses)
        assert newest(app).sampler == sampler and newest(app).seed == 9
        assert app.query_one("#temperature", Stepper).value == sampler.temperature


async def test_what_a_poem_begins_with_is_a_preset_and_all_settings_fit():
    async with PaneApp(SamplerPane(Session().settings.controls)).run_test(size=(34, 16)) as pilot:
        await pilot.pause()
        pane = pilot.app.query_one(SamplerPane)
        first, second = screen_lines(pane.query_one("#preset", Choice))
        assert "(•)verse" in first and "(•)" not in second and "1.5 k20" in second
        assert pane.max_scroll_y == 0, "in a window of 120 × 36 nothing is below the edge"


async def test_greedy_goes_back_to_the_temperature_before():
    app = app_with(Controls(SamplerConfig(temperature=0.7)))
    async with app.run_test(size=SIZE) as pilot:
        app.query_one("#greedy").focus()
        await pilot.press("space")
        await until(pilot, lambda: len(app.of(ControlsChanged)) == 1)
        assert newest(app).sampler.greedy
        assert "[x] greedy" in screen_lines(app.query_one("#greedy"))[0]
        await pilot.press("enter")
        await until(pilot, lambda: len(app.of(ControlsChanged)) == 2)
        assert newest(app).sampler.temperature == 0.7


async def test_setting_a_seed_fixes_it():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        assert app.pane.new_seed_each_time
        field = app.query_one("#seed", Stepper)
        await type_into(pilot, field, "42")
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.of(ControlsChanged)))
        assert newest(app).seed == 42
        assert [m.fixed for m in app.of(SeedModeChanged)] == [True]
        assert not app.pane.new_seed_each_time
        app.query_one("#new-seed").focus()
        await pilot.press("space")
        await until(pilot, lambda: len(app.of(SeedModeChanged)) == 2)
        assert app.of(SeedModeChanged)[1].fixed is False and app.pane.new_seed_each_time


async def test_show_posts_nothing_and_shows_everything():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        sampler = SamplerConfig(0.8, 30, 0.9, 0.05, 0.5, -0.5, 1.3)
        app.pane.show(Controls(sampler, seed=11, max_tokens=77, stop=("。\n", "[/x]")))
        app.pane.new_seed_each_time = False
        await pilot.pause()
        text = "\n".join(line for w in app.query(Stepper) for line in screen_lines(w))
        for shown in ("0.80", "30", "0.90", "0.05", "0.5", "-0.5", "1.30", "11", "77"):
            assert shown in text
        assert app.query_one("#stop", TextField).value == "。\\n | [/x]"
        assert not app.query_one("#new-seed", Toggle).on
        assert app.posted == []


async def test_stop_strings_are_entered_several_at_once():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#stop", TextField)
        await type_into(pilot, field, "。\\n | [/ | 春风")
        assert app.posted == []
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.of(ControlsChanged)))
        assert newest(app).stop == ("。\n", "[/", "春风")
        await type_into(pilot, field, "!")
        await pilot.press("escape")
        assert field.value == "。\\n | [/ | 春风"


async def test_pasted_lines_are_kept_as_several_stop_strings():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#stop", TextField)
        field.focus()
        await pilot.pause()
        field.post_message(events.Paste("春江\n\n花|月\r\n[/夜]"))
        await until(pilot, lambda: bool(field.value))
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.of(ControlsChanged)))
        assert newest(app).stop == ("春江", "花|月", "[/夜]")


@pytest.mark.parametrize(
    ("text", "name"), [("a\x1b[31m", "U+001B"), ("\ud83d", "U+D83D"), ("\0", "U+0000")]
)
async def test_pasted_control_characters_are_refused_by_name(text, name):
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#stop", TextField)
        field.focus()
        await pilot.pause()
        field.post_message(events.Paste(text))
        await until(pilot, lambda: name in app.query_one(Refusal).text)
        assert field.value == "" and app.posted == []


async def test_up_and_down_go_through_all_fields():
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        app.pane.focus_field()
        await pilot.pause()
        seen = [app.focused.id]
        for _ in range(14):
            await pilot.press("down")
            seen.append(app.focused.id)
        assert len(set(seen)) == 13 and seen[-1] == "stop" and seen[0] == "preset"
        await pilot.press("up")
        assert app.focused.id == "new-seed"
        app.set_focus(None)
        app.pane.focus_field()
        await pilot.pause()
        assert app.focused.id == "new-seed"


@pytest.mark.parametrize("width", [28, 40, 60, 120])
async def test_no_line_is_longer_than_the_pane_and_values_are_whole(width):
    app = app_with(Controls(SamplerConfig(temperature=12.25), seed=2**64 - 1))
    async with app.run_test(size=(width, 40)) as pilot:
        await pilot.pause()
        for field in app.query(Stepper):
            assert all(len(line) == field.size.width for line in screen_lines(field))
        assert "12.25" in screen_lines(app.query_one("#temperature"))[0]
        if width >= 60:
            assert str(2**64 - 1) in screen_lines(app.query_one("#seed"))[0]


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("", ()),
        (" | |", ()),
        ("。 | ，", ("。", "，")),
        ("a\\|b|c", ("a|b", "c")),
        ("\\n", ("\n",)),
        ("a\\\\n", ("a\\n",)),
        ("\\ a\\ ", (" a ",)),
        ("a\\", ("a\\",)),
        ("a|a", ("a",)),
        ("own fox", ("own fox",)),
    ],
)
def test_parse_stops(text, stops):
    assert parse_stops(text) == stops


@given(
    st.lists(st.text(alphabet="a |\\\n\t春。[/n", min_size=1, max_size=5), max_size=4, unique=True)
)
def test_stop_strings_survive_being_shown(stops):
    assert parse_stops(format_stops(tuple(stops))) == tuple(stops)


def test_one_pasted_line_is_taken_as_typed():
    assert lines_to_stops("a | b\n") == "a | b"
