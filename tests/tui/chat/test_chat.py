"""The chat screen: asking, stopping, going on, branches, tokens, settings."""

from __future__ import annotations

from textual.widgets import Footer

from tests.tui.chat.talking import (
    TOKENS,
    begin,
    chatting,
    ended,
    lively,
    reference,
    say,
    scripted,
    send,
    speaker,
    steps_written,
    texts,
    transcript,
)
from tests.tui.window import help_text, notices, wait_until
from tui.chat.composer import Composer
from tui.chat.pages import CUT
from tui.chat.transcript import Transcript
from tui.commands import CHAT, CHAT_FOOTER
from tui.panes.poem import PoemPane
from tui.panes.probabilities import ProbabilitiesPane
from tui.panes.speed import SpeedReadout
from tui.panes.status import StatusLine


async def test_a_question_is_answered_as_the_engine_alone_would():
    model = lively()
    async with chatting(speaker(model)) as (app, pilot):
        reply = await say(app, pilot, "春眠")
        controls = app.room.talk.controls
        assert list(reply.tokens) == reference(model, [("user", "春眠")], controls)
        assert reply.finished.reason == "length"
        shown = transcript(app)
        assert "› You\n春眠" in shown
        assert "● smollm2 · as long as allowed" in shown
        assert app.room.screen.query_one(Composer).text == ""
        status = app.room.screen.query_one(StatusLine).plain()
        assert f"context {reply.steps[-1].position + 1} of 160" in status
        assert "○ idle" in status


async def test_the_table_is_live_and_the_cache_can_be_switched_within_a_reply():
    model = lively()
    async with chatting(speaker(model)) as (app, pilot):
        reply = await begin(app, pilot, model, "春眠", 4)
        pane = app.room.screen.query_one(ProbabilitiesPane)
        await wait_until(pilot, lambda: "live" in str(pane.border_title))
        assert pane.selected is not None
        await pilot.press("f2")
        assert app.room.talk.controls.cache == "off"
        model.allow(3)
        await wait_until(pilot, lambda: steps_written(app) == 7)
        await pilot.press("f2")
        model.free()
        await ended(app, pilot)
        plain = reference(model, [("user", "春眠")], app.room.talk.controls)
        assert list(reply.tokens) == plain
        assert {step.controls.cache for step in reply.steps} == {"on", "off", "race"}
        assert "off" in app.room.screen.query_one(SpeedReadout).plain()


async def test_the_cache_is_kept_from_turn_to_turn_and_the_meter_says_what_it_saved():
    async with chatting() as (app, pilot):
        first = await say(app, pilot, "春眠")
        second = await say(app, pilot, "不觉")
        saved = second.steps[0].reused
        assert saved >= first.steps[-1].position
        assert f"prefill saved {saved}" in app.room.screen.query_one(SpeedReadout).plain()


async def test_markdown_is_set_and_nothing_is_read_as_markup():
    text = "# Head\n\n- **one** [bold]x[/bold]\n- [/two]\n\n`code[0]` \x1b[31m"
    async with chatting(scripted(text)) as (app, pilot):
        app.room.talk.set_controls(app.room.talk.controls.__class__(max_tokens=200))
        reply = await say(app, pilot, "Why [/not]?")
        assert reply.text == text
        shown = transcript(app)
        for words in ("Why [/not]?", "Head", "• one [bold]x[/bold]", "• [/two]", "code[0]"):
            assert words in shown
        assert "**" not in shown and "# Head" not in shown and "\x1b" not in shown


async def test_escape_stops_and_f4_goes_on_as_if_it_had_never_stopped():
    model = lively()
    async with chatting(speaker(model)) as (app, pilot):
        reply = await begin(app, pilot, model, "春眠", 5)
        await pilot.press("escape")
        model.free()
        await ended(app, pilot)
        assert reply.finished.reason == "cancelled"
        assert "stopped · F4 goes on" in transcript(app)
        stopped_at = len(reply.steps)
        await pilot.press("f4")
        await ended(app, pilot)
        assert reply is app.room.talk.at.reply
        controls = app.room.talk.controls
        longer = controls.__class__(controls.sampler, max_tokens=stopped_at + TOKENS, seed=5)
        assert list(reply.tokens) == reference(model, [("user", "春眠")], longer)
        assert reply.text == "".join(step.text for step in reply.steps)


async def test_another_reply_stands_beside_the_first_and_both_can_be_shown():
    async with chatting(scripted("one", "two")) as (app, pilot):
        first = await say(app, pilot, "Why?")
        await pilot.press("f5")
        await wait_until(pilot, lambda: app.room.talk.at.reply is not first)
        await ended(app, pilot)
        assert texts(app) == ["Why?", "two"]
        assert "2 of 2" in transcript(app)
        await pilot.press("f7")
        assert texts(app) == ["Why?", "one"]
        assert "1 of 2" in transcript(app)
        await pilot.press("f8")
        assert texts(app) == ["Why?", "two"]


async def test_an_earlier_question_is_edited_and_the_old_branch_is_kept():
    async with chatting(scripted("one", "two", "three")) as (app, pilot):
        await say(app, pilot, "Why?")
        await say(app, pilot, "How?")
        app.room.screen.query_one(Transcript).focus()
        await pilot.press("up", "up", "up")
        assert app.room.talk.at.here.text == "Why?"
        app.room.screen.query_one(Composer).put("a draft")
        await pilot.press("f6")
        composer = app.room.screen.query_one(Composer)
        assert composer.text == "Why?"
        composer.put("Why not?")
        await pilot.press("enter")
        await wait_until(pilot, lambda: texts(app) == ["Why not?", "three"])
        await ended(app, pilot)
        assert composer.text == "a draft"
        assert "You · 2 of 2" in transcript(app)
        await pilot.press("f7")
        assert texts(app) == ["Why?", "one", "How?", "two"]


async def test_an_edit_can_be_left():
    async with chatting(scripted("one")) as (app, pilot):
        await say(app, pilot, "Why?")
        app.room.screen.query_one(Composer).put("draft")
        await pilot.press("f6", "x", "escape")
        assert app.room.screen.query_one(Composer).text == "draft"
        assert texts(app) == ["Why?", "one"]


async def test_tokens_are_looked_at_and_a_fork_grows_from_one():
    model = lively()
    async with chatting(speaker(model)) as (app, pilot):
        reply = await say(app, pilot, "春眠")
        screen = app.room.screen
        screen.query_one(Transcript).focus()
        await pilot.press("left", "left", "left")
        pane = screen.query_one("#tokens", PoemPane)
        assert pane.display and not screen.query_one(Transcript).display
        assert app.room.talk.at.index == TOKENS - 4
        table = screen.query_one(ProbabilitiesPane)
        await wait_until(pilot, lambda: table.selected is not None)
        table.focus()
        if table.selected.token == reply.tokens[TOKENS - 4]:
            await pilot.press("down")
        assert table.selected.token != reply.tokens[TOKENS - 4]
        taken = table.selected.token
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.room.talk.at.reply is not reply)
        await ended(app, pilot)
        fork = app.room.talk.at.reply
        assert fork.tokens[: TOKENS - 3] == (*reply.tokens[: TOKENS - 4], taken)
        assert fork.chosen == {TOKENS - 4} and fork.parent == reply.parent
        await pilot.press("f3")
        assert screen.query_one(Transcript).display
        await wait_until(pilot, lambda: "2 of 2" in transcript(app))


async def test_a_system_prompt_begins_the_conversation_again_beside_the_old_one():
    async with chatting(scripted("one", "two")) as (app, pilot):
        await say(app, pilot, "Why?")
        await pilot.press("ctrl+t")
        app.room.screen.query_one(Composer).put("Be brief.\nAlways.")
        await pilot.press("enter")
        assert texts(app) == ["Be brief.\nAlways."]
        await say(app, pilot, "Why?")
        assert texts(app) == ["Be brief.\nAlways.", "Why?", "two"]
        app.room.screen.query_one(Transcript).focus()
        await pilot.press("up", "up", "f7")
        assert texts(app) == ["Why?", "one"]


async def test_a_full_context_leaves_the_oldest_turns_out_and_says_so():
    async with chatting(speaker(lively(96))) as (app, pilot):
        for _ in range(5):
            await say(app, pilot, "春眠不觉晓处处闻啼鸟")
        left_out = app.room.talk.left_out
        assert left_out in (4, 6)
        assert CUT in transcript(app)
        assert f"{left_out} oldest messages are left out" in notices(app)
        assert len(texts(app)) == 10, "they stay"
        await send(app, pilot, "春" * 200)
        await wait_until(pilot, lambda: "shorten the message" in notices(app))
        assert app.room.screen.query_one(Composer).text == "春" * 200, "nothing typed is lost"
        assert len(texts(app)) == 10


async def test_copy_and_the_commands_are_where_they_are_looked_for():
    async with chatting(scripted("one")) as (app, pilot):
        await say(app, pilot, "Why?")
        await pilot.press("alt+c")
        assert app.clipboard == "one"
        offered = [command.title for command in app.get_system_commands(app.screen)]
        assert len(offered) == len(CHAT)
        footer = app.screen.query_one(Footer)
        await wait_until(pilot, lambda: len(footer.query("FooterKey")) == len(CHAT_FOOTER) + 1)
        keys = list(footer.query("FooterKey"))
        palette = next(key for key in keys if key.has_class("-command-palette"))
        assert all(key is palette or key.region.right <= palette.region.x for key in keys)
        await pilot.press("f1")
        await wait_until(pilot, lambda: app.screen is not app.room.screen)
        page = help_text(app)
        assert all(command.about in page for command in CHAT)
