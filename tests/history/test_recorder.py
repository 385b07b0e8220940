"""Writing from a thread: nobody waits, little is lost, and what cannot be written waits."""

from __future__ import annotations

import sqlite3
import time

import pytest

from model.steps import Finished
from tests.history.helpers import step
from tui.history import Damaged, Recorder, Unavailable, open_history
from tui.history.changes import Extend
from tui.history.recorder import joined

LENGTH = Finished("length", "", 3, 0.1, 0.2)


@pytest.fixture
def history(tmp_path):
    opened = open_history(tmp_path / "history.sqlite3")
    yield opened
    opened.close()


def until(holds, patience=30.0):
    ends = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.005)


def begun(recorder):
    work = recorder.create_chat("m", system="s")
    question = recorder.add_turn(work.id, "user", "?", parent=work.active)
    return recorder.start_reply(work.id, parent=question.id, model="m")


def test_a_conversation_is_written_behind_its_front_end(history):
    recorder = Recorder(history)
    reply = begun(recorder)
    for number in range(300):
        reply.append("字", [number])
    reply.finish(LENGTH)
    assert recorder.settle()
    turn = history.turn(reply.turn)
    assert (turn.text, turn.state) == ("字" * 300, "done")
    assert history.tokens(reply.turn) == tuple(range(300))
    assert history.query("SELECT count(*) FROM chunks")[0][0] < 20
    assert recorder.close()


def test_what_streams_is_on_the_disk_within_a_second(history):
    recorder = Recorder(history)
    reply = begun(recorder)
    appended = []

    def kept():
        text = history.query("SELECT text FROM turns WHERE id = ?", reply.turn)
        return len(text[0][0]) if text else 0

    for number in range(150):
        reply.append("字")
        appended.append(time.monotonic())
        time.sleep(0.01)
        lost = appended[kept() :]
        assert not lost or time.monotonic() - lost[0] < 1.0, number
    assert recorder.close()


def test_closing_writes_what_there_is(history):
    recorder = Recorder(history)
    reply = begun(recorder)
    reply.append_steps([step(0), step(1)])
    assert recorder.close()
    assert history.steps(reply.turn) == [step(0), step(1)]


def test_what_cannot_be_written_waits_and_is_told_once(history, monkeypatch):
    monkeypatch.setattr("tui.history.recorder.AGAIN_S", 0.01)
    told, attempts = [], []
    apply = history.apply

    def full(changes):
        attempts.append(changes)
        raise Unavailable("the disk is full")

    monkeypatch.setattr(history, "apply", full)
    recorder = Recorder(history, told.append)
    reply = begun(recorder)
    reply.append("text")
    until(lambda: len(attempts) > 3)
    assert told == ["Nothing can be kept: the disk is full"]
    reply.append(" more")
    monkeypatch.setattr(history, "apply", apply)
    assert recorder.settle()
    assert history.turn(reply.turn).text == "text more"
    assert len(told) == 2
    assert recorder.close()


def test_a_full_disk_is_named_and_costs_nothing_that_was_kept(history, monkeypatch):
    monkeypatch.setattr("tui.history.recorder.AGAIN_S", 0.01)
    work = history.create_chat("m")
    pages = history._db.execute("PRAGMA page_count").fetchone()[0]
    history._db.execute(f"PRAGMA max_page_count = {pages}")
    told = []
    recorder = Recorder(history, told.append)
    turn = recorder.add_turn(work.id, "user", "x" * 100_000, parent=None)
    until(lambda: told)
    assert "is full" in told[0]
    assert history.work(work.id).turns == 0
    history._db.execute("PRAGMA max_page_count = 100000")
    assert recorder.settle()
    assert history.turn(turn.id).text == "x" * 100_000
    assert recorder.close()


def test_a_change_that_can_never_be_made_does_not_cost_the_others(history):
    told = []
    recorder = Recorder(history, told.append)
    reply = begun(recorder)
    gone = begun(recorder)
    recorder.settle()
    history.delete(history.turn(gone.turn).work)
    gone.append("into the void")
    reply.append("kept")
    gone.finish(LENGTH)
    reply.finish(LENGTH)
    recorder.create_chat("m", settings={"not": {1}})  # a set is no JSON
    later = begun(recorder)
    assert recorder.settle()
    assert history.turn(reply.turn).text == "kept"
    assert history.turn(reply.turn).state == "done"
    assert history.turn(later.turn).state == "writing"
    assert len(told) == 2
    assert "may have been deleted" in told[0]
    assert "JSON" in told[1]
    assert recorder.close()


def test_a_file_that_turns_out_damaged_is_told_once(history, monkeypatch):
    told = []

    def broken(changes):
        raise Damaged("the file is damaged")

    monkeypatch.setattr(history, "apply", broken)
    recorder = Recorder(history, told.append)
    reply = begun(recorder)
    for _ in range(5):
        reply.append("x")
        recorder.settle()
    assert told == [
        "Something could not be kept: the file is damaged; it is set aside at the next start"
    ]
    assert recorder.close()


def test_a_locked_file_does_not_hold_up_the_caller(history):
    recorder = Recorder(history)
    other = sqlite3.connect(history.file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    reply = begun(recorder)
    reply.append("text")
    assert time.monotonic() - began < 0.1
    assert history.works() == []  # reading waits for nobody either
    assert not recorder.settle(0.6)
    other.execute("COMMIT")
    other.close()
    assert recorder.settle()
    assert history.turn(reply.turn).text == "text"
    assert recorder.close()


def test_additions_to_one_turn_are_joined_in_order():
    a, b, other = Extend("a", "1", (1,)), Extend("a", "2", (2,)), Extend("b", "3", (3,))
    assert joined([a, b, other, a, b]) == [
        Extend("a", "12", (1, 2)), other, Extend("a", "12", (1, 2)),
    ]  # fmt: skip
    stepped = Extend("a", "4", (4,), (step(0),))
    assert joined([a, stepped]) == [a, stepped]
