"""The tree of a conversation, in memory and as it comes back from the history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from model.config import Controls
from model.steps import Finished
from tests.history.helpers import step
from tui.chat.dialogue import Dialogue, Turn
from tui.history import History, open_history

DONE = Finished("end_of_poem", "", 2, 0.1, 0.2)
STOPPED = Finished("cancelled", "�", 2, 0.1, 0.2)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    opened = open_history(tmp_path / "history.sqlite3")
    yield opened
    opened.close()


def texts(dialogue: Dialogue) -> list[str]:
    return [turn.text for turn in dialogue.path]


def answered(dialogue: Dialogue, question: Turn, text: str, end: Finished = DONE) -> Turn:
    reply = dialogue.begin_reply(question.id, Controls(seed=3))
    dialogue.append(reply.id, [step(i, c) for i, c in enumerate(text)])
    dialogue.finish(reply.id, end)
    return reply


def same(a: Dialogue, b: Dialogue) -> bool:
    return [a.turn(t.id) for t in a.path] == [b.turn(t.id) for t in b.path]


@pytest.mark.parametrize("kept", [False, True])
def test_questions_and_replies_make_a_path(history: History, kept: bool) -> None:
    dialogue = Dialogue("tiny", "Be brief.", history if kept else None)
    assert dialogue.path == [] and dialogue.work is None
    answered(dialogue, dialogue.ask("Why?"), "because")
    answered(dialogue, dialogue.ask("How?"), "so")
    assert texts(dialogue) == ["Be brief.", "Why?", "because", "How?", "so"]
    assert [turn.role for turn in dialogue.path] == [
        "system", "user", "assistant", "user", "assistant",
    ]  # fmt: skip


def test_nothing_is_kept_before_the_first_question(history: History) -> None:
    Dialogue("tiny", "Be brief.", history)
    assert history.works() == []


def test_what_was_kept_comes_back_with_every_branch(history: History) -> None:
    dialogue = Dialogue("tiny", "Be brief.", history)
    why = dialogue.ask("Why?")
    first = answered(dialogue, why, "because")
    second = answered(dialogue, why, "who knows", STOPPED)
    assert dialogue.work is not None
    again = Dialogue.load(history, dialogue.work)
    assert same(again, dialogue) and again.system == "Be brief."
    assert [turn.id for turn in again.siblings(second.id)] == [first.id, second.id]
    assert again.turn(first.id).tokens == first.tokens
    assert again.turn(second.id).stopped and not again.turn(first.id).stopped


def test_an_edited_question_keeps_the_old_one_with_what_followed(history: History) -> None:
    dialogue = Dialogue("tiny", scribe=history)
    why = dialogue.ask("Why?")
    answered(dialogue, why, "because")
    answered(dialogue, dialogue.ask("Really?"), "yes")
    edited = dialogue.edit(why.id, "Why not?")
    answered(dialogue, edited, "no reason")
    assert texts(dialogue) == ["Why not?", "no reason"]
    dialogue.show(why.id)
    assert texts(dialogue) == ["Why?", "because", "Really?", "yes"]
    assert dialogue.work is not None
    assert texts(Dialogue.load(history, dialogue.work)) == texts(dialogue), "looking is kept"
    with pytest.raises(ValueError, match="no question"):
        dialogue.edit(dialogue.path[1].id, "x")


def test_a_fork_shares_its_beginning_and_remembers_what_was_chosen(history: History) -> None:
    dialogue = Dialogue("tiny", scribe=history)
    why = dialogue.ask("Why?")
    first = answered(dialogue, why, "abcd")
    fork = dialogue.fork(first.id, 2, step(2, "x"))
    dialogue.append(fork.id, [step(3, "y")])
    dialogue.finish(fork.id, DONE)
    assert texts(dialogue) == ["Why?", "abxy"] and fork.chosen == {2}
    kept = history.turn(fork.id)
    assert (kept.origin, kept.fork, kept.text) == (first.id, 2, "abxy")
    assert dialogue.work is not None
    assert Dialogue.load(history, dialogue.work).turn(fork.id).chosen == {2}
    with pytest.raises(IndexError):
        dialogue.fork(first.id, 4, step(4, "z"))


def test_a_stopped_reply_goes_on_and_half_a_character_is_not_doubled(history: History) -> None:
    dialogue = Dialogue("tiny", scribe=history)
    reply = answered(dialogue, dialogue.ask("Why?"), "be", STOPPED)
    assert reply.text == "be�"
    dialogue.resume(reply.id)
    dialogue.append(reply.id, [step(2, "春")])
    dialogue.finish(reply.id, DONE)
    assert texts(dialogue) == ["Why?", "be春"]
    assert history.turn(reply.id).text == "be春" and history.turn(reply.id).state == "done"
    with pytest.raises(ValueError, match="came to its end"):
        dialogue.resume(reply.id)


def test_a_model_reads_its_own_replies_as_the_tokens_that_they_were() -> None:
    dialogue = Dialogue("tiny", "Be brief.")
    answered(dialogue, dialogue.ask("Why?"), "so")
    reply = dialogue.begin_reply(dialogue.ask("How?").id, Controls())
    said = dialogue.messages(reply.id)
    assert [(m.role, m.content, m.tokens) for m in said] == [
        ("system", "Be brief.", ()),
        ("user", "Why?", ()),
        ("assistant", "so", (7, 8)),
        ("user", "How?", ()),
    ]
    dialogue.model = "another"
    assert all(m.tokens == () for m in dialogue.messages(reply.id)), "its ids mean nothing there"


def test_an_interrupted_reply_can_be_gone_on_with(tmp_path: Path) -> None:
    history = open_history(tmp_path / "history.sqlite3")
    dialogue = Dialogue("tiny", scribe=history)
    reply = dialogue.begin_reply(dialogue.ask("Why?").id, Controls())
    dialogue.append(reply.id, [step(0, "b")])
    history.close()  # as a program does that ends without a word
    again = open_history(tmp_path / "history.sqlite3")
    assert dialogue.work is not None
    loaded = Dialogue.load(again, dialogue.work, again)
    assert loaded.turn(reply.id).interrupted and loaded.turn(reply.id).stopped
    loaded.resume(reply.id)
    loaded.append(reply.id, [step(1, "e")])
    loaded.finish(reply.id, DONE)
    assert again.turn(reply.id).text == "be"
    again.close()


def test_what_a_reply_was_written_without_comes_back(history: History) -> None:
    dialogue = Dialogue("tiny", scribe=history)
    reply = dialogue.begin_reply(dialogue.ask("Why?").id, Controls())
    assert dialogue.note_left_out(reply.id, 4)
    assert not dialogue.note_left_out(reply.id, 4), "no news"
    dialogue.append(reply.id, [step(0, "b")])
    fork = dialogue.fork(reply.id, 0, step(0, "x"))
    dialogue.finish(fork.id, DONE)
    assert dialogue.work is not None
    loaded = Dialogue.load(history, dialogue.work)
    assert loaded.turn(reply.id).left_out == 4
    assert loaded.turn(fork.id).left_out is None and loaded.turn(fork.id).chosen == {0}
