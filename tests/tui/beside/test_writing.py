"""Two models side by side: what they write, with what, and what is said where they cannot."""

from __future__ import annotations

from tests.helpers import PIECES, ScriptedModel
from tests.tui.beside.columns import (
    alone,
    beside,
    both_written,
    both_written_right,
    branches,
    columns,
    head,
    lively_pieces,
    opening,
    pane,
    pieces_of,
    poem,
    text_of,
)
from tests.tui.window import (
    Held,
    endless,
    finished,
    handle_of,
    notices,
    session_of,
    wait_until,
    write_to,
)
from tui.app import Yinchuang
from tui.beside.figures import Figures
from tui.panes.opening import OpeningPane
from tui.panes.poem import PoemPane
from tui.panes.probabilities import ProbabilitiesPane
from tui.panes.speed import SpeedReadout
from tui.session import BY_KEY, UNLIMITED, FormSettings
from tui.widgets.fields import Refusal


async def test_both_continue_one_opening_with_one_seed_each_with_its_table_and_meter():
    async with beside() as (app, pilot):
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        for place, column in enumerate(columns(app)):
            branch = column.session.branch
            assert branch.prompt == "白日" and branch.steps[0].controls.seed == 5
            assert branch.tokens == alone(column, app.pair.settings)
            assert poem(app, place) == text_of(app, place)
            assert "○ idle" in head(app, place) and branch.model in head(app, place)
            await wait_until(
                pilot, lambda p=place: pane(app, p, ProbabilitiesPane)._inspection is not None
            )
            assert "on " in pane(app, place, SpeedReadout).plain()
        left, right = (pane(app, place, Figures).plain() for place in (0, 1))
        assert "1.00 char/tok" in left and "1.00 char/tok" not in right
        assert "bits/char" in left and "– bits/char" not in left + right
        assert "– char/s" not in left + right
        assert notices(app) == ""


async def test_figures_a_character_are_those_of_the_steps():
    text = "白日依花落处，黄河白日。"
    script = [*PIECES.encode(text), PIECES.end_id]
    right = pieces_of(Held(ScriptedModel(script, PIECES.vocab_size, prompt=1)), "right")
    async with beside(right=right) as (app, pilot):
        await opening(app, pilot, "")
        await both_written(app, pilot)
        branch = branches(app)[1]
        assert branch.text == text and len(branch.steps) == len(script)
        figures = pane(app, 1, Figures)
        each = len(text) / (len(script) - 1)  # the end stands for no character
        await wait_until(pilot, lambda: f"{each:.2f} char/tok" in figures.plain())
        assert "0.00 bits/char" in figures.plain()
        memory = right.model.new_cache().bytes_per_token / each / 1024
        assert f"cache {memory:.1f} KB/char" in figures.plain()


async def test_a_poem_waits_for_its_model_and_both_are_stopped_by_escape():
    left, right = handle_of(endless(2), "left"), pieces_of(lively_pieces(), "right")
    left.model.hold()
    right.model.hold()
    async with beside(left, right) as (app, pilot):
        app.set_pace(10.0)
        await opening(app, pilot, "白日")
        await wait_until(pilot, lambda: all(c.runs.writing for c in columns(app)))
        left.model.allow(3)
        await wait_until(pilot, lambda: len(branches(app)[0].steps) == 3)
        assert not branches(app)[1].steps, "each goes at its own speed"
        assert "● writing 3" in head(app, 0) and "● writing 0" in head(app, 1)
        await pilot.press("escape")
        left.model.free()
        right.model.free()
        await both_written(app, pilot)
        assert [b.finished.reason for b in branches(app)] == ["cancelled"] * 2
        assert app.screen is app.pair.screen
        await pilot.press("escape")  # nothing is written: back
        await wait_until(pilot, lambda: app.screen is app.main)


async def test_characters_that_one_model_lacks_are_said_in_its_column_and_the_other_goes_on():
    async with beside() as (app, pilot):
        await opening(app, pilot, "白鬱")
        await wait_until(pilot, lambda: pane(app, 0, Refusal).text)
        assert "郁" in pane(app, 0, Refusal).text and "Alt U" in pane(app, 0, Refusal).text
        await wait_until(pilot, lambda: branches(app)[1] and branches(app)[1].finished)
        assert branches(app)[1].prompt == "白郁" and branches(app)[0] is None
        await pilot.press("alt+u")
        await wait_until(pilot, lambda: "left out" in notices(app))
        await pilot.press("f5")
        await wait_until(pilot, lambda: branches(app)[0] and branches(app)[0].finished)
        assert branches(app)[0].unknown == "drop" and pane(app, 0, Refusal).text == ""


async def test_an_opening_that_does_not_fit_the_form_is_said_in_both_before_anything_is_written():
    form = FormSettings("fixed", "", "五绝")
    async with beside(session=session_of(form=form)) as (app, pilot):
        await opening(app, pilot, "春春，，")
        await wait_until(pilot, lambda: all(pane(app, p, Refusal).text for p in (0, 1)))
        assert branches(app) == [None, None]
        app.pair.screen.query_one(OpeningPane).value = ""
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        assert [b.finished.reason for b in branches(app)] == ["form_complete"] * 2
        assert [len(b.text) for b in branches(app)] == [form.length] * 2
        assert [pane(app, p, Refusal).text for p in (0, 1)] == ["", ""]


async def test_an_earlier_step_of_either_is_looked_at_while_the_other_stays():
    async with beside() as (app, pilot):
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        await pilot.press("f8")
        await wait_until(pilot, lambda: pane(app, 1, PoemPane).has_focus)
        await pilot.press("left", "left")
        right = columns(app)[1].session
        await wait_until(pilot, lambda: right.cursor == len(right.branch.steps) - 3)
        assert columns(app)[0].session.cursor is None
        await pilot.press("f8", "alt+left")
        await wait_until(pilot, lambda: columns(app)[0].session.cursor == 38)
        table = pane(app, 0, ProbabilitiesPane)
        await wait_until(pilot, lambda: table._inspection is not None and table._index == 38)


async def test_another_token_is_taken_in_one_column():
    async with beside() as (app, pilot):
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        before = branches(app)
        table = pane(app, 0, ProbabilitiesPane)
        table.focus()
        await pilot.press("home")
        await wait_until(pilot, lambda: table._inspection is not None and table._index == 0)
        tokens = [row.token for row in table._inspection.candidates]
        other = next(at for at, token in enumerate(tokens) if token != before[0].tokens[0])
        await pilot.press(*["down"] * other, "enter")
        await wait_until(pilot, lambda: branches(app)[0] is not before[0])
        await both_written(app, pilot)
        assert branches(app)[0].tokens[0] == tokens[other]
        assert branches(app)[1] is before[1]


async def test_settings_and_cache_hold_for_both_and_for_the_window():
    async with beside() as (app, pilot):
        app.set_pace(BY_KEY)
        await opening(app, pilot, "白日")
        await wait_until(pilot, lambda: all(b and len(b.steps) == 1 for b in branches(app)))
        await pilot.press("f2", "f4")
        await wait_until(pilot, lambda: all(len(b.steps) == 2 for b in branches(app)))
        await pilot.press("f2", "f4")
        await wait_until(pilot, lambda: all(len(b.steps) == 3 for b in branches(app)))
        modes = [[s.controls.cache for s in b.steps] for b in branches(app)]
        assert modes == [["on", "off", "race"]] * 2
        assert all(b.steps[2].race for b in branches(app))
        assert app.session.settings.controls.cache == "race"
        await pilot.press("f10")
        await wait_until(pilot, lambda: app.pair.screen.query_one("#knobs").has_class("-open"))
        app.pair.screen.query_one("#temperature").focus()
        await pilot.press("right")
        warmer = 1.05
        await wait_until(pilot, lambda: app.session.settings.controls.sampler.temperature == warmer)
        await pilot.press("f4")
        await wait_until(pilot, lambda: all(len(b.steps) == 4 for b in branches(app)))
        assert [b.steps[3].controls.sampler.temperature for b in branches(app)] == [warmer] * 2


async def test_a_new_seed_is_the_same_for_both_and_leaves_the_windows_alone():
    session = session_of(seed_fixed=False)
    async with beside(session=session) as (app, pilot):
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        first = [b.steps[0].controls.seed for b in branches(app)]
        await pilot.press("f5")
        await wait_until(pilot, lambda: len(columns(app)[1].session.branches) == 2)
        await both_written(app, pilot)
        second = [b.steps[0].controls.seed for b in branches(app)]
        assert first[0] == first[1] != second[0] == second[1]
        assert session.settings.controls.seed == 5


async def test_they_go_on_behind_the_poem_which_writes_with_the_same_model():
    model = endless()
    shared = handle_of(model, "left")
    app_handles = {"tiny": shared, "left": shared, "right": shared}
    app = Yinchuang(session_of(), load=app_handles.__getitem__, pair=("left", "right"))
    async with app.run_test(size=(120, 36)) as pilot:
        await wait_until(pilot, lambda: app.runs.handle is not None)
        await write_to(app, pilot, "春", 3)  # a poem that stands in the middle, its lock held
        await pilot.press("alt+s")
        await wait_until(pilot, lambda: app.screen is app.pair.screen)
        await wait_until(pilot, lambda: all(c.runs.handle for c in columns(app)))
        await opening(app, pilot, "白日")
        await wait_until(pilot, lambda: all(b and len(b.steps) == 1 for b in branches(app)))
        await pilot.press("alt+s")
        await wait_until(pilot, lambda: app.screen is app.main)
        assert len(app.runs.writing.steps) == 3
        app.set_pace(UNLIMITED)
        await finished(app, pilot)
        await both_written(app, pilot)
        assert branches(app)[0].tokens == branches(app)[1].tokens, "one model, one seed"
        assert len(app.session.branch.steps) == 40
        await pilot.press("alt+s")
        await wait_until(pilot, lambda: app.screen is app.pair.screen)
        assert poem(app, 0) == text_of(app, 0)


async def test_a_run_that_breaks_is_said_in_its_column_and_the_other_ends_its_poem():
    left = handle_of(endless(2), "left")
    left.model.error = RuntimeError("out of [/ink]")
    async with beside(left) as (app, pilot):
        await opening(app, pilot, "白日")
        await both_written(app, pilot)
        assert "out of [/ink]" in pane(app, 0, Refusal).text
        assert [b.finished.reason for b in branches(app)] == ["error", "length"]


async def test_what_is_written_before_a_model_is_there_waits_for_it():
    async with beside() as (app, pilot):
        handle = columns(app)[0].runs.handle
        columns(app)[0].runs.handle = None  # as while it loads
        await opening(app, pilot, "白日")
        await both_written_right(app, pilot)
        assert "waits for the model" in head(app, 0)
        columns(app)[0].conductor.model_ready(handle)
        await both_written(app, pilot)
