"""The form: what is touched is what counts, and what cannot be is said at once."""

from __future__ import annotations

import pytest
from textual import events

from tests.tui.pane_app import PaneApp, until
from tui.messages import FormChanged, WriteRequested
from tui.panes.form import FormPane
from tui.session import FormSettings
from tui.widgets.choice import Choice
from tui.widgets.fields import Refusal, TextField

SIZE = (60, 16)


def newest(app):
    return app.of(FormChanged)[-1].settings


async def commit(pilot, app, *texts):
    """Text as an input method hands it over: several characters in one event."""
    field = app.query_one("#heads", TextField)
    field.focus()
    await pilot.pause()
    for text in texts:
        field.post_message(events.Key(text, text))
    await pilot.pause()
    return field


async def test_heads_committed_at_once_make_an_acrostic():
    app = PaneApp(FormPane())
    async with app.run_test(size=SIZE) as pilot:
        field = await commit(pilot, app, "春眠不觉")
        await until(pilot, lambda: bool(app.of(FormChanged)))
        assert newest(app) == FormSettings("acrostic", "春眠不觉", "七绝", 7)
        assert field.value == "春眠不觉"
        assert app.query_one("#kind", Choice).key == "acrostic"
        # the terminal's cursor, where an input method opens its window: after 8 cells
        assert app.cursor_position.x == field.content_region.x + 8


async def test_a_form_keeps_the_heads_and_combines_both():
    app = PaneApp(FormPane(FormSettings("acrostic", "春眠")))
    async with app.run_test(size=SIZE) as pilot:
        app.query_one("#kind").focus()
        await pilot.press("right")
        await until(pilot, lambda: len(app.of(FormChanged)) == 1)
        assert newest(app) == FormSettings("fixed", "春眠", "七绝", 7)
        app.query_one("#verse").focus()
        await pilot.press("left")
        await until(pilot, lambda: len(app.of(FormChanged)) == 2)
        assert newest(app) == FormSettings("fixed", "春眠", "五绝", 7)
        assert newest(app).describe() == "五绝 · 藏头 春眠"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("free", ["kind", "heads"]),
        ("acrostic", ["kind", "heads", "characters"]),
        ("fixed", ["kind", "heads", "verse"]),
    ],
)
async def test_only_what_the_kind_leaves_to_choose_is_there(kind, fields):
    app = PaneApp(FormPane(FormSettings(kind)))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert [field.id for field in app.pane.fields()] == fields


async def test_all_kinds_can_be_chosen_by_keys_and_by_mouse():
    app = PaneApp(FormPane())
    async with app.run_test(size=SIZE) as pilot:
        kind = app.query_one("#kind", Choice)
        kind.focus()
        await pilot.press("right", "right", "left")
        await until(pilot, lambda: len(app.of(FormChanged)) == 3)
        assert [m.settings.kind for m in app.of(FormChanged)] == ["acrostic", "fixed", "acrostic"]
        await pilot.click(kind, offset=(2, 0))
        await until(pilot, lambda: len(app.of(FormChanged)) == 4)
        assert newest(app).kind == "free"


@pytest.mark.parametrize("form", ["五绝", "七绝", "五律", "七律"])
async def test_each_form_by_mouse(form):
    app = PaneApp(FormPane(FormSettings("fixed", "", "七绝" if form != "七绝" else "五绝")))
    async with app.run_test(size=SIZE) as pilot:
        choice = app.query_one("#verse", Choice)
        places = dict(
            zip([k for k, _ in choice.options], choice._places(choice.size.width), strict=True)
        )
        y, x, _ = places[form]
        await pilot.click(choice, offset=(x + 1, y))
        await until(pilot, lambda: bool(app.of(FormChanged)))
        assert newest(app).form == form and newest(app).kind == "fixed"


async def test_line_length_of_an_acrostic():
    app = PaneApp(FormPane(FormSettings("acrostic", "春眠")))
    async with app.run_test(size=SIZE) as pilot:
        app.query_one("#characters").focus()
        await pilot.press("left")
        await until(pilot, lambda: bool(app.of(FormChanged)))
        assert newest(app) == FormSettings("acrostic", "春眠", "七绝", 5)


async def test_pasted_lines_become_one_row_of_heads():
    app = PaneApp(FormPane())
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#heads", TextField)
        field.focus()
        await pilot.pause()
        field.post_message(events.Paste("春\n眠\r\n不　觉\n"))
        await until(pilot, lambda: bool(app.of(FormChanged)))
        assert newest(app).heads == field.value == "春眠不觉"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a", "a"),
        ("，", "，"),
        ("[/", "[ /"),
        ("８", "８"),
        (" ", "U+0020"),
        ("か", "か"),
        ("😀", "😀"),
    ],
)
async def test_heads_that_are_not_han_are_refused_by_name(text, named):
    app = PaneApp(FormPane())
    async with app.run_test(size=SIZE) as pilot:
        field = await commit(pilot, app, "春", text)
        await until(pilot, lambda: named in app.query_one(Refusal).text)
        assert "must be Han" in app.query_one(Refusal).text
        assert [m.settings.heads for m in app.of(FormChanged)] == ["春"]
        assert field.value == "春" + text  # still there to be corrected
        await pilot.press(*["backspace"] * len(text))
        await until(pilot, lambda: not app.query_one(Refusal).text)
        assert app.pane.settings.heads == "春"


async def test_more_heads_than_lines_are_refused_before_starting():
    app = PaneApp(FormPane(FormSettings("fixed", "春眠不觉", "七绝")))
    async with app.run_test(size=SIZE) as pilot:
        await commit(pilot, app, "晓")
        await until(pilot, lambda: "4 lines, but 5 heads" in app.query_one(Refusal).text)
        assert app.posted == []


async def test_a_choice_that_the_heads_forbid_goes_back():
    app = PaneApp(FormPane(FormSettings("acrostic", "春眠不觉晓")))
    async with app.run_test(size=SIZE) as pilot:
        app.query_one("#kind").focus()
        await pilot.press("right")
        await until(pilot, lambda: "4 lines, but 5 heads" in app.query_one(Refusal).text)
        assert app.posted == [] and app.query_one("#kind", Choice).key == "acrostic"


async def test_refuse_shows_text_literally_and_show_takes_it_back():
    app = PaneApp(FormPane())
    async with app.run_test(size=SIZE) as pilot:
        app.pane.refuse("the model does not know: [/ [bold]")
        await pilot.pause()
        refusal = app.query_one(Refusal)
        assert refusal.display and "[/ [bold]" in refusal.render().plain
        app.pane.show(FormSettings("fixed"))
        await pilot.pause()
        assert not refusal.display and app.posted == []


async def test_empty_heads_are_said_without_being_a_fault():
    app = PaneApp(FormPane())
    async with app.run_test(size=SIZE) as pilot:
        app.query_one("#kind").focus()
        await pilot.press("right")
        await until(pilot, lambda: bool(app.of(FormChanged)))
        assert newest(app).kind == "acrostic" and newest(app).heads == ""
        assert "a line for each head" in app.query_one("#says").render().plain


async def test_heads_beyond_the_bmp_are_taken():
    app = PaneApp(FormPane())
    async with app.run_test(size=SIZE) as pilot:
        await commit(pilot, app, "𨣧")
        await until(pilot, lambda: bool(app.of(FormChanged)))
        assert newest(app).heads == "𨣧"


async def test_enter_writes_with_the_heads_as_they_stand():
    """Also where they were committed just before: both events are on their way then."""
    app = PaneApp(FormPane())
    async with app.run_test(size=SIZE) as pilot:
        field = app.query_one("#heads", TextField)
        field.focus()
        await pilot.pause()
        field.post_message(events.Key("春眠不觉", "春眠不觉"))
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.of(WriteRequested)))
        assert [type(m) for m in app.posted] == [FormChanged, WriteRequested]
        assert newest(app).heads == "春眠不觉"
        app.query_one("#kind").focus()
        await pilot.press("enter")
        await until(pilot, lambda: len(app.of(WriteRequested)) == 2)


async def test_enter_writes_nothing_with_refused_heads():
    app = PaneApp(FormPane(FormSettings("acrostic", "春")))
    async with app.run_test(size=SIZE) as pilot:
        await commit(pilot, app, "a")
        await pilot.press("enter")
        await until(pilot, lambda: "must be Han" in app.query_one(Refusal).text)
        await pilot.press("home", "enter")
        assert app.posted == []


async def test_enter_in_a_free_form_that_kept_heads_leaves_it_free():
    app = PaneApp(FormPane(FormSettings("free", "春眠")))
    async with app.run_test(size=SIZE) as pilot:
        app.query_one("#heads").focus()
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.of(WriteRequested)))
        assert app.of(FormChanged) == [] and app.pane.settings.kind == "free"
