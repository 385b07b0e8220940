"""``history`` as a person and a script call it."""

from __future__ import annotations

import json
import sqlite3

import pytest

from model.steps import Finished
from tests.cli.conftest import in_process, on_terminal
from tests.history.helpers import step
from tui.history import open_history


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("YINCHUANG_STATE", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def kept(folder):
    """Ids of a poem with a fork, interrupted, and of a chat; the poem is the newer one."""
    history = open_history()
    chat = history.create_chat("smollm2", system="Be brief.")
    question = history.add_turn(chat.id, "user", "Why [red]?", parent=chat.active)
    reply = history.start_reply(chat.id, parent=question.id, model="smollm2")
    reply.append("Because.\x1b[31m")
    reply.finish(Finished("cancelled", "", 1, 0, 0))
    poem = history.create_poem("tang-small")
    first = history.start_reply(poem.id, parent=None, role="poem", model="tang-small", text="床前")
    first.append_steps([step(0, "马"), step(1, "，")])
    first.finish(Finished("length", "", 2, 0, 0))
    fork = history.start_reply(
        poem.id,
        parent=None,
        role="poem",
        model="tang-small",
        text="床前",
        origin=first.turn,
        fork=1,
    )
    fork.append_steps([step(0, "马"), step(1, "。")])
    history.close()
    return poem.id, chat.id


def test_nothing_is_kept_yet(run, folder):
    answer = run("history", "list")
    assert (answer.stdout, answer.code) == ("", 0)
    assert "Nothing is kept yet" in answer.stderr
    assert run("history", "list", "--json").json == {"works": []}


def test_the_list(run, kept):
    poem, chat = kept
    lines = run("history", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["id", poem, chat]
    assert "interrupted" in lines[1]
    assert "床前马。" in lines[1]
    assert "Why [red]?" in lines[2]
    assert all(line == line.rstrip() for line in lines)
    (only,) = run("history", "list", "--kind", "chat", "--json").json["works"]
    assert (only["id"], only["state"], only["turn_count"]) == (chat, "stopped", 3)
    refused = run("history", "list", "--kind", "novel")
    assert refused.code == 2
    assert "poem or chat" in refused.stderr


def test_show(run, kept):
    poem, chat = kept
    shown = run("history", "show", poem[:6])
    assert shown.stdout == "床前马，\n\n床前马。\n"
    assert "branch 2 of 2 · from 1 at 2 · interrupted" in shown.stderr
    talk = run("history", "show", chat)
    assert talk.stdout == "Be brief.\n\nWhy [red]?\n\nBecause.\\x1b[31m\n"
    assert "smollm2 · stopped" in talk.stderr
    document = run("history", "show", chat, "--json").json
    assert [turn["role"] for turn in document["turns"]] == ["system", "user", "assistant"]


@pytest.mark.parametrize("unknown", ["zzzzzzzz", "", "%", "'; DROP TABLE works"])
def test_an_id_that_is_none(run, kept, unknown):
    answer = run("history", "show", unknown)
    assert (answer.stdout, answer.code) == ("", 2)
    assert "history list" in answer.stderr
    assert len(run("history", "list", "--json").json["works"]) == 2


def test_search(run, kept):
    poem, chat = kept
    assert run("history", "search", "前马，").stdout.split()[0] == poem
    hits = run("history", "search", "馬", "--json").json["hits"]  # read as poems are kept: 马
    assert [hit["id"] for hit in hits] == [poem, poem]
    (hit,) = run("history", "search", "WHY [RED", "--json").json["hits"]
    assert (hit["id"], hit["snippet"], hit["marks"]) == (chat, "Why [red]?", [[0, 3], [4, 8]])
    assert run("history", "search", "马", "--kind", "chat").stdout == ""
    assert "\x1b" not in run("history", "search", "Because").stdout
    nothing = run("history", "search", 'NEAR( " OR *')
    assert (nothing.stdout, nothing.code) == ("", 0)
    assert "Nothing was found" in nothing.stderr


def test_export(run, kept, tmp_path):
    poem, chat = kept
    assert "## You\n\nWhy [red]?\n" in run("history", "export", chat).stdout
    everything = run("history", "export", "--json").json
    assert [work["id"] for work in everything["works"]] == [poem, chat]
    file = tmp_path / "all.json"
    told = run("history", "export", "--out", str(file))
    assert (told.stdout, told.code) == ("", 0)
    assert json.loads(file.read_text(encoding="utf-8")) == everything
    run("history", "export", poem, "-o", str(tmp_path / "poem.md"))
    assert "床前马。" in (tmp_path / "poem.md").read_text(encoding="utf-8")
    refused = run("history", "export", "-o", "x.pdf")
    assert refused.code == 2
    assert ".md or .json" in refused.stderr
    lost = run("history", "export", "-o", str(tmp_path / "no" / "x.md"))
    assert lost.code == 2


def test_rename_and_delete(run, kept):
    poem, chat = kept
    assert run("history", "rename", poem, "[/] 月下").code == 0
    assert "[/] 月下" in run("history", "list").stdout
    refused = run("history", "delete", poem)
    assert refused.code == 2
    assert "--yes" in refused.stderr
    gone = run("history", "delete", poem, "zzzz", "--yes")
    assert gone.code == 2  # nothing is deleted where one of them is unknown
    assert len(run("history", "list", "--json").json["works"]) == 2
    assert run("history", "delete", poem, chat, "--yes").code == 0
    assert run("history", "list", "--json").json == {"works": []}


def test_what_is_being_written_elsewhere_is_not_deleted(run, kept):
    history = open_history()
    reply = history.resume_reply(history.turns(kept[0])[0].id)
    refused = run("history", "delete", kept[0], "--yes")
    assert refused.code == 2
    assert "being written" in refused.stderr
    reply.finish(Finished("length", "", 0, 0, 0))
    history.close()
    assert run("history", "delete", kept[0], "--yes").code == 0


def test_a_damaged_history_is_one_line(run, folder):
    folder.mkdir()
    (folder / "history.sqlite3").write_bytes(b"no database " * 1000)
    answer = run("history", "list")
    assert answer.code == 2
    assert answer.stderr.count("\n") == 1
    assert "set aside as" in answer.stderr
    assert run("history", "list").code == 0


def test_the_history_of_a_newer_version(run, kept, folder):
    db = sqlite3.connect(folder / "history.sqlite3")
    db.execute("PRAGMA user_version = 99")
    db.close()
    answer = run("history", "list")
    assert answer.code == 2
    assert "newer version" in answer.stderr


def test_in_a_process_and_on_a_terminal(kept, folder):
    piped = in_process("history", "list", YINCHUANG_STATE=str(folder))
    assert piped.code == 0
    assert "\x1b" not in piped.stdout
    shown = on_terminal("history", "search", "because", YINCHUANG_STATE=str(folder))
    assert "\x1b[1mBecause\x1b[0m" in shown.stdout
    plain = on_terminal("history", "search", "because", YINCHUANG_STATE=str(folder), NO_COLOR="1")
    assert "\x1b" not in plain.stdout
