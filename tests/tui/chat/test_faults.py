"""What users of such chats have reported: lost replies, misplaced text, slow long chats."""

from __future__ import annotations

import time

import pytest
from textual import events

from model.steps import Finished
from tests.helpers import CHARACTERS, Marks
from tests.history.helpers import step
from tests.tui.chat.talking import (
    begin,
    chatting,
    ended,
    lively,
    say,
    scripted,
    send,
    speaker,
    steps_written,
    texts,
    transcript,
)
from tests.tui.window import notices, type_text, wait_until
from tui.chat.composer import Composer
from tui.chat.dialogue import Dialogue
from tui.chat.pages import CUT
from tui.chat.transcript import Transcript
from tui.history import open_history


@pytest.fixture
def path(tmp_path):
    return tmp_path / "h.sqlite3"


async def test_a_paste_keeps_all_its_lines_and_drops_what_nobody_can_type():
    async with chatting(scripted("one")) as (app, pilot):
        composer = app.room.screen.query_one(Composer)
        composer.post_message(events.Paste("春眠\r\n不觉\n\n处处\x00闻\ud83d啼鸟"))
        await wait_until(pilot, lambda: composer.text)
        assert composer.text == "春眠\n不觉\n\n处处闻啼鸟"
        assert "left out: U+0000 U+D83D" in notices(app)
        assert composer.region.height > 3
        await pilot.press("enter")
        await ended(app, pilot)
        assert texts(app)[0] == "春眠\n不觉\n\n处处闻啼鸟"


async def test_an_input_method_commits_all_its_characters_and_the_cursor_follows():
    async with chatting(scripted("one")) as (app, pilot):
        composer = app.room.screen.query_one(Composer)
        composer.focus()
        await pilot.pause()
        await type_text(pilot, "春江花月夜")
        assert composer.text == "春江花月夜"
        assert composer.cursor_screen_offset.x == composer.content_region.x + 10
        await pilot.press("ctrl+j", "x")
        assert composer.text == "春江花月夜\nx"


async def test_quitting_within_a_reply_keeps_question_and_text(path):
    model = lively()
    async with chatting(speaker(model), path=path) as (app, pilot):
        reply = await begin(app, pilot, model, "春眠", 5)
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: app._exit)
    history = open_history(path)
    (work,) = history.works("chat")
    question, kept = history.active_path(work.id)
    assert (question.text, kept.text, kept.state) == ("春眠", reply.text, "stopped")
    assert len(history.steps(kept.id)) == 5
    history.close()


async def test_an_interrupted_reply_is_shown_so_and_goes_on(path):
    history = open_history(path)
    dialogue = Dialogue("smollm2", scribe=history)
    reply = dialogue.begin_reply(dialogue.ask("春眠").id, _controls())
    ids = CHARACTERS.encode("不觉")
    dialogue.append(reply.id, [step(token, char) for token, char in zip(ids, "不觉", strict=True)])
    work = dialogue.work
    history.close()  # as a killed program leaves it
    async with chatting(path=path) as (app, pilot):
        app.room.show(work)
        assert "interrupted · F4 goes on" in transcript(app)
        await pilot.press("f4")
        await ended(app, pilot)
        assert texts(app)[1].startswith("不觉") and len(texts(app)[1]) > 4
        again = await say(app, pilot, "处处")
        assert again.finished is not None


def _controls():
    from model.config import Controls

    return Controls(max_tokens=12, seed=5)


async def test_text_lands_in_the_turn_that_asked_whatever_is_on_show(path):
    model = lively()
    async with chatting(speaker(model), speaker(lively(), "other"), path=path) as (app, pilot):
        reply = await begin(app, pilot, model, "春眠", 3)
        asked = app.room.talk.at.dialogue
        await pilot.press("ctrl+n")  # another conversation
        app.room.talk.speaker.load("other")  # another model
        await wait_until(pilot, lambda: app.room.talk.speaker.handle.spec.name == "other")
        await pilot.press("f11")  # another screen
        await wait_until(pilot, lambda: app.screen is app.main)
        model.allow(3)
        await wait_until(pilot, lambda: steps_written(app) == 6)
        await pilot.press("f11")
        await wait_until(pilot, lambda: app.screen is not app.main and texts(app) == [])
        model.free()
        await ended(app, pilot)
        assert reply.model == "smollm2" and len(reply.steps) == 12
        assert [turn.text for turn in asked.path] == ["春眠", reply.text]
        second = await say(app, pilot, "不觉")
        assert second.model == "other"
        app.keeper.recorder.settle()
        works = app.keeper.history.works("chat")
        assert sorted(work.opening for work in works) == ["不觉", "春眠"]


async def test_a_long_conversation_opens_quickly_and_its_tokens_cost_the_same(path):
    history = open_history(path)
    dialogue = Dialogue("smollm2", scribe=history)
    for number in range(250):
        reply = dialogue.begin_reply(dialogue.ask(f"春眠不觉晓 {number}").id, _controls())
        dialogue.append(reply.id, [step(5, "**处处** 闻啼鸟\n")] * 4)
        dialogue.finish(reply.id, Finished("end_of_poem", "", 4, 0, 0))
    work = dialogue.work
    history.close()
    model = lively()
    async with chatting(speaker(model), path=path) as (app, pilot):
        short = app.room.screen.query_one(Transcript)
        began = time.thread_time()
        app.room.show(work)
        await wait_until(pilot, lambda: "春眠不觉晓 249" in transcript(app))
        assert time.thread_time() - began < 2.0
        await wait_until(pilot, lambda: short.settled)
        assert "春眠不觉晓 0\n" in transcript(app)
        turn = app.room.talk.at.reply
        page = short._pages[-1]
        costs = []
        for _ in range(30):
            began = time.thread_time()
            short.grow(turn)
            costs.append(time.thread_time() - began)
        assert sorted(costs)[15] < 0.01, "nothing of the 500 is gone through for a token"
        assert page.turn is turn


async def test_escape_is_answered_at_once_within_a_long_prompt():
    model = lively(4096)
    async with chatting(speaker(model)) as (app, pilot):
        model.hold()  # the prefill stands
        await send(app, pilot, "春眠不觉晓" * 400)
        await wait_until(pilot, lambda: app.room.replies.now is not None)
        began = time.monotonic()
        await pilot.press("escape")
        assert time.monotonic() - began < 2.0
        model.allow(1)
        await ended(app, pilot)
        assert app.room.talk.at.reply.finished.reason == "cancelled"
        model.free()
        await pilot.press("f5")
        await ended(app, pilot)
        assert app.room.talk.at.reply.finished.reason == "length"


async def test_escape_while_the_model_loads_takes_the_question_back_from_waiting():
    async with chatting(speaker(lively(), "other"), ready=False, missing="not [/here]") as (
        app,
        pilot,
    ):
        await wait_until(pilot, lambda: app.room.talk.speaker.refused)
        assert "not [/here]" in notices(app) or "To chat" in notices(app)
        app.room.talk.speaker.refused = ""
        await send(app, pilot, "春眠")
        await wait_until(pilot, lambda: app.room.talk.waiting)
        await pilot.press("escape")
        assert not app.room.talk.waiting
        assert texts(app) == ["春眠"], "the question stays; F5 asks it again"


def test_the_template_of_the_tests_is_one():
    assert Marks().encode([])


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 36)])
async def test_rows_fit_their_terminal(size):
    async with chatting(scripted("字" * 200 + " **e** " * 40), size=size) as (app, pilot):
        app.room.talk.set_controls(app.room.talk.controls.__class__(max_tokens=900))
        await say(app, pilot, "e" * 300)
        pane = app.room.screen.query_one(Transcript)
        await wait_until(pilot, lambda: pane.settled)
        from tui.cells import cell_len

        width = pane.scrollable_content_region.width
        assert max(cell_len(line.rstrip()) for line in transcript(app).split("\n")) <= width
        assert pane.region.right <= size[0]


@pytest.mark.parametrize("lines", [1, 2, 6])
async def test_the_end_stays_in_sight_when_the_terminal_shrinks_and_reading_is_left_alone(lines):
    async with chatting(scripted("one line\n\n" * lines), size=(120, 36)) as (app, pilot):
        app.room.talk.set_controls(app.room.talk.controls.__class__(max_tokens=900))
        await say(app, pilot, "Why?")
        pane = app.room.screen.query_one(Transcript)
        assert not pane.more_below
        for size in ((80, 24), (60, 20), (120, 36), (60, 20)):
            await pilot.resize_terminal(*size)
            await wait_until(pilot, lambda size=size: pane.region.right <= size[0])
            await wait_until(pilot, lambda: pane.settled and not pane.more_below)
        await wait_until(pilot, lambda: pane.virtual_size.height > pane.size.height)
        pane.focus()
        await pilot.press("pageup")
        await wait_until(pilot, lambda: pane.more_below)
        await say(app, pilot, "How?")
        assert pane.more_below, "who reads further up is not pulled down"


async def test_what_left_a_full_context_is_known_after_a_restart(path):
    async with chatting(speaker(lively(96)), path=path) as (app, pilot):
        for _ in range(5):
            await say(app, pilot, "春眠不觉晓处处闻啼鸟")
        left_out = app.room.talk.left_out
        assert left_out
    async with chatting(speaker(lively(96)), path=path, ready=False) as (app, pilot):
        await wait_until(pilot, lambda: CUT in transcript(app))
        assert app.room.talk.left_out == left_out


async def test_how_a_reply_ended_is_in_sight_where_its_heading_is_not():
    async with chatting(speaker(lively(4096)), size=(60, 20)) as (app, pilot):
        app.room.talk.set_controls(app.room.talk.controls.__class__(max_tokens=900, seed=5))
        await say(app, pilot, "春眠")
        pane = app.room.screen.query_one(Transcript)
        assert pane.scroll_offset.y > 2, "the heading is above"
        await wait_until(pilot, lambda: "as long as allowed · F4" in str(pane.border_subtitle))
