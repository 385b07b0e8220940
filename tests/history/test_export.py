"""A work for people and a work for programs."""

from __future__ import annotations

import json

import pytest

from model.config import Controls
from model.steps import Finished
from tests.history.helpers import step
from tui.history import open_history
from tui.history.export import as_document, as_markdown


@pytest.fixture
def history(tmp_path):
    opened = open_history(tmp_path / "history.sqlite3")
    yield opened
    opened.close()


def test_a_conversation(history):
    chat = history.create_chat("smol_lm2", system="Be *brief*.", title="# [A] title")
    first = history.add_turn(chat.id, "user", "before", parent=chat.active)
    question = history.add_turn(chat.id, "user", "Write **bold**", parent=chat.active)
    reply = history.start_reply(
        chat.id, parent=question.id, model="smol_lm2", controls=Controls(seed=9)
    )
    reply.append("**bold**\n", [1, 2])
    reply.finish(Finished("cancelled", "", 2, 0, 0))
    text = as_markdown(history, history.work(chat.id))
    assert text.startswith(r"# \# \[A\] title")
    assert "## System\n\nBe *brief*.\n" in text
    assert "## You\n\nWrite **bold**\n" in text
    assert "## smol\\_lm2\n\n**bold**\n\n*(stopped)*\n" in text
    assert "before" not in text
    assert "*Turns of other branches, not shown: 1*" in text

    document = json.loads(json.dumps(as_document(history, history.work(chat.id))))
    by_id = {turn["id"]: turn for turn in document["turns"]}
    assert document["kind"] == "chat"
    assert not by_id[first.id]["active"]
    assert by_id[question.id]["active"]
    answer = by_id[reply.turn]
    assert (answer["parent"], answer["token_ids"], answer["seed"]) == (question.id, [1, 2], 9)
    assert (answer["state"], answer["finish_reason"]) == ("stopped", "cancelled")


def test_a_poem_with_its_branches(history):
    poem = history.create_poem("tang-small")
    first = history.start_reply(
        poem.id,
        parent=None,
        role="poem",
        model="tang-small",
        text="床前",
        controls=Controls(seed=4),
    )
    first.append_steps([step(0, "明"), step(1, "月。"), step(2, "```[/")])
    first.finish(Finished("end_of_poem", "", 3, 0, 0))
    fork = history.start_reply(
        poem.id,
        parent=None,
        role="poem",
        model="tang-small",
        text="床前",
        origin=first.turn,
        fork=1,
    )
    fork.append_steps([step(0, "明"), step(1, "日")])
    text = as_markdown(history, history.work(poem.id))
    assert text.index("床前明日") < text.index("床前明月。\n")
    assert "````text\n床前明月。\n```[/\n````" in text
    assert "*branch 1 of 2 · tang-small · seed 4*" in text
    assert "*(being written)*" in text
    kept, forked = as_document(history, history.work(poem.id))["turns"]
    assert (forked["origin"], forked["fork"]) == (kept["id"], 1)
    assert kept["token_ids"] == [7, 8, 9]
