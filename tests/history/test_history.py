"""A history as a front end uses it: poems with branches, conversations with a tree of turns."""

from __future__ import annotations

import pytest

from model.config import Controls, SamplerConfig
from model.steps import Finished
from tests.history.helpers import step
from tui.history import Gone, HistoryError, open_history

LENGTH = Finished("length", "", 3, 0.1, 0.2)
STOPPED = Finished("cancelled", "", 3, 0.1, 0.2)


@pytest.fixture
def history(tmp_path):
    opened = open_history(tmp_path / "history.sqlite3")
    yield opened
    opened.close()


def chat(history, *texts, model="smollm2"):
    """A conversation of these texts, people and model in turn; its work and its turns."""
    work = history.create_chat(model, system="Be brief.")
    turns = [history.turn(work.active)]
    for number, text in enumerate(texts):
        if number % 2:
            reply = history.start_reply(work.id, parent=turns[-1].id, model=model)
            reply.append(text)
            reply.finish(LENGTH)
            turns.append(history.turn(reply.turn))
        else:
            turns.append(history.add_turn(work.id, "user", text, parent=turns[-1].id))
    return work, turns


def test_a_conversation_is_kept_with_what_wrote_it(history):
    controls = Controls(SamplerConfig(temperature=0.7, top_k=20), seed=2**64 - 1, stop=("[/",))
    work = history.create_chat("smollm2", system="Be brief.", settings={"width": 80})
    question = history.add_turn(work.id, "user", "为什么[/b]？", parent=work.active)
    reply = history.start_reply(
        work.id, parent=question.id, model="smollm2", controls=controls, settings={"x": [1]}
    )
    reply.append("因", [7, 8])
    reply.append("为")
    assert history.work(work.id).state == "writing"
    reply.append("。\n", [9])
    reply.finish(Finished("end_of_poem", "�", 3, 0.1, 0.2))

    system, asked, answered = history.active_path(work.id)
    assert (system.role, system.text) == ("system", "Be brief.")
    assert asked == question
    assert answered.text == "因为。\n�"
    assert answered.state == "done"
    assert answered.seed == 2**64 - 1
    assert answered.controls["sampler"]["top_k"] == 20
    assert answered.finished == Finished("end_of_poem", "�", 3, 0.1, 0.2)
    assert history.tokens(reply.turn) == (7, 8, 9)
    kept = history.work(work.id)
    assert (kept.name, kept.state, kept.turns) == ("为什么[/b]？", "done", 3)
    assert kept.settings == {"width": 80}
    assert kept.active == reply.turn
    assert kept.updated >= kept.created


def test_an_edited_turn_keeps_the_old_branch(history):
    work, (system, question, answer, more) = chat(history, "one?", "1.", "two?")
    edited = history.add_turn(work.id, "user", "uno?", parent=system.id)
    assert [turn.text for turn in history.active_path(work.id)] == ["Be brief.", "uno?"]
    assert history.children(work.id, system.id) == [question, edited]
    assert history.path(more.id) == [system, question, answer, more]
    history.set_active(work.id, history.leaf(question.id).id)
    assert history.active_path(work.id)[-1] == more


def test_a_fork_at_a_token_is_a_sibling(history):
    work, (_, question, answer) = chat(history, "one?", "abc")
    fork = history.start_reply(
        work.id, parent=question.id, model="smollm2", origin=answer.id, fork=2
    )
    fork.append("ab", [1, 2])
    fork.append("d", [4])
    fork.finish(LENGTH)
    siblings = history.children(work.id, question.id)
    assert [turn.text for turn in siblings] == ["abc", "abd"]
    assert (siblings[1].origin, siblings[1].fork) == (answer.id, 2)


def test_a_stopped_reply_goes_on(history):
    work = history.create_chat("smollm2")
    asked = history.add_turn(work.id, "user", "?", parent=None)
    first = history.start_reply(work.id, parent=asked.id, model="smollm2")
    first.append("half", [1])
    first.finish(STOPPED)
    assert history.turn(first.turn).state == "stopped"
    again = history.resume_reply(first.turn)
    assert history.turn(first.turn).finished is None
    again.append(" whole", [2])
    again.finish(LENGTH)
    assert history.turn(first.turn).text == "half whole"
    assert history.tokens(first.turn) == (1, 2)


def test_a_poem_keeps_its_steps(history):
    hot = Controls(SamplerConfig(temperature=1.5))
    steps = [step(0), step(1, "[/", hot), step(2, "𨣧", hot, logprob=float("-inf"))]
    work = history.create_poem("tang-small")
    branch = history.start_reply(
        work.id, parent=None, role="poem", model="tang-small", text="春", settings={"a": 1}
    )
    branch.append_steps(steps[:1])
    branch.append_steps(steps[1:])
    branch.append_steps([])
    branch.finish(LENGTH)
    assert history.steps(branch.turn) == steps
    assert history.turn(branch.turn).text == "春春[/𨣧"
    assert history.work(work.id).name == "春春[/𨣧"


def test_list_rename_delete(history):
    first, _ = chat(history, "one?")
    poem = history.create_poem("tang-small")
    history.rename(first.id, "  a [b]\n name ")
    assert [work.id for work in history.works()] == [first.id, poem.id]
    assert [work.id for work in history.works("poem")] == [poem.id]
    assert history.work(first.id).name == "a [b] name"
    history.rename(first.id, "")
    assert history.work(first.id).name == "one?"
    history.delete(first.id)
    assert [work.id for work in history.works()] == [poem.id]
    assert history.query("SELECT count(*) FROM turns") == [(0,)]
    with pytest.raises(Gone):
        history.delete(first.id)
    with pytest.raises(Gone):
        history.rename(first.id, "x")
    with pytest.raises(Gone):
        history.add_turn(first.id, "user", "x", parent=None)


def test_a_deleted_work_takes_tokens_with_it_and_writing_on_is_refused(history):
    work = history.create_poem("tang-small")
    branch = history.start_reply(work.id, parent=None, role="poem", model="m")
    branch.append_steps([step(0)])
    history.delete(work.id)
    with pytest.raises(Gone):
        branch.append_steps([step(1)])
    with pytest.raises(Gone):
        branch.finish(LENGTH)
    assert history.query("SELECT count(*) FROM chunks") == [(0,)]


def test_a_work_is_found_by_the_beginning_of_its_id(history):
    works = [history.create_poem("m") for _ in range(40)]
    assert history.find(works[3].id.upper()).id == works[3].id
    with pytest.raises(Gone, match="history list"):
        history.find("")
    with pytest.raises(Gone, match="history list"):
        history.find("%")
    with pytest.raises(HistoryError, match="several"):
        history.find(next(c for c in "0123456789abcdefghjkmnpqrstvwxyz"
                          if sum(work.id[0] == c for work in works) > 1))  # fmt: skip


def test_what_no_file_can_hold_is_replaced(history):
    work, _ = chat(history, "a\0b\ud83d c", "\ud83d\ude00 \udc80")
    texts = [turn.text for turn in history.turns(work.id)]
    assert texts == ["Be brief.", "a�b� c", "😀 �"]
    history.rename(work.id, "\0\ud800")
    assert history.work(work.id).title == "��"
    history.set_settings(work.id, {"prompt": "\0\ud83d"})
    assert history.work(work.id).settings == {"prompt": "\0�"}
    poem = history.start_reply(
        history.create_poem("\ud800").id, parent=None, role="poem", model="m"
    )
    poem.append_steps([step(0, "\0\ud83d")])
    assert history.steps(poem.turn) == [step(0, "\0\ud83d")]
    assert history.turn(poem.turn).text == "��"
