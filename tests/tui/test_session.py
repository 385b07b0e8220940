"""The state behind the window: branches, cursor, undo. No window, no model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.config import POEM_SAMPLER, Controls
from model.errors import ConstraintError
from model.steps import Step
from tui.session import Branch, FormSettings, Session


def step(index, text="春"):
    return Step(
        position=index + 1, token=index, text=text, probability=0.5, logprob=-1.0, u=0.5,
        forced=False, phase="decode", context=index, recomputed=0, forward_s=0.0,
        sampling_s=0.0, cache_bytes=0, controls=Controls(),
    )  # fmt: skip


def branch_of(count=0, prompt="春"):
    made = Branch(0, prompt, FormSettings(), "m")
    made.steps = [step(i) for i in range(count)]
    return made


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


COOL = POEM_SAMPLER.temperature
"""Where a new session's temperature stands."""


def hotter(session, by=0.1):
    controls = session.settings.controls
    temperature = controls.sampler.temperature + by
    session.change("temperature", controls=controls.with_sampler(temperature=temperature))


def test_undo_and_redo_go_through_settings_edits_and_branches():
    session = Session(Clock())
    session.change("typing", opening="春")
    session.remember("the poem")
    first = session.add(branch_of(3))
    session.look_at(1)
    session.remember("the fork")
    second = session.add(branch_of(2))
    hotter(session)
    after = session.settings

    assert session.undo() == "temperature"
    assert session.settings.controls.sampler.temperature == COOL
    assert session.undo() == "the fork"
    assert (session.branches, session.current, session.cursor) == ([first], first.id, 1)
    assert session.undo() == "the poem"
    assert session.branches == []
    assert session.undo() == "typing"
    assert session.settings.opening == ""
    assert session.undo() is None

    assert [session.redo() for _ in range(5)] == [
        "typing", "the poem", "the fork", "temperature", None,
    ]  # fmt: skip
    assert session.settings == after
    assert session.branches == [first, second]
    assert session.branch is second


def test_a_new_change_ends_redo():
    session = Session(Clock())
    hotter(session)
    session.undo()
    session.change("typing", opening="x")
    assert session.redo() is None


def test_one_gesture_is_one_change():
    clock = Clock()
    session = Session(clock)
    for _ in range(10):
        hotter(session)
        clock.now += 0.2
    clock.now += 5
    hotter(session)
    session.undo()
    assert session.settings.controls.sampler.temperature == pytest.approx(COOL + 1.0)
    session.undo()
    assert session.settings.controls.sampler.temperature == COOL


def test_changes_of_different_things_are_not_joined():
    session = Session(Clock())
    hotter(session)
    session.change("typing", opening="春")
    assert session.undo() == "typing"
    assert session.settings.controls.sampler.temperature == pytest.approx(COOL + 0.1)


def test_setting_what_is_set_already_is_no_change():
    session = Session(Clock())
    session.change("typing", opening="")
    assert session.undo() is None


def test_steps_that_arrive_later_belong_to_the_branch_whatever_was_undone():
    session = Session(Clock())
    session.remember("the poem")
    branch = session.add(branch_of(1))
    session.undo()
    branch.steps.append(step(1))
    session.redo()
    assert len(session.branch.steps) == 2


def test_ids_are_never_used_again():
    session = Session(Clock())
    session.remember("one")
    session.add(branch_of())
    session.undo()
    assert session.add(branch_of()).id == 2


def test_the_cursor_stays_inside_and_is_free_past_the_end():
    session = Session()
    assert (session.index, session.step) == (-1, None)
    session.add(branch_of(3))
    assert session.index == 2
    session.look_at(0)
    assert session.step is session.branch.steps[0]
    session.look_at(-7)
    assert (session.index, session.step) == (-1, None)
    session.look_at(3)
    assert (session.cursor, session.index) == (None, 2)


def test_siblings_go_around():
    session = Session()
    assert session.sibling(1) is None
    ids = [session.add(branch_of()).id for _ in range(3)]
    assert session.sibling(1).id == ids[0]
    assert session.sibling(-1).id == ids[1]


def test_forms_in_words_and_as_constraints():
    assert FormSettings().describe() == "free"
    assert FormSettings().constraint() is None
    assert FormSettings("acrostic", "春眠", characters=5).describe() == "五言 · 藏头 春眠"
    assert FormSettings("acrostic", "春眠", characters=5).length == 12
    both = FormSettings("fixed", "春眠", "七绝")
    assert both.describe() == both.constraint().describe() == "七绝 · 藏头 春眠"
    assert both.length == 32
    with pytest.raises(ConstraintError):
        FormSettings("acrostic", "").constraint()
    with pytest.raises(ConstraintError):
        replace(both, heads="春眠不觉晓").constraint()
