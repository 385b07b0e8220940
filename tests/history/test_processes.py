"""Several programs on one history: nothing is lost, nobody is taken for dead, and a killed one
loses less than a second."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.history.writing_worker import WRITES
from tui.history import open_history, search

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.sqlite3"


def start(task, path, name):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.history.writing_worker", task, str(path), name],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture
def endless(path):
    """A program that writes until it is killed, some way into it."""
    process = start("forever", path, "endless")
    process.said = [process.stdout.readline() for _ in range(120)]
    assert process.said[-1], process.stderr.read()
    yield process
    process.kill()
    process.wait()


def test_two_programs_of_a_thousand_writes_each_lose_nothing(path):
    writers = [start("many", path, name) for name in "ab"]
    for writer in writers:
        out, err = writer.communicate(timeout=120)
        assert (writer.returncode, out, err) == (0, "", "")
    history = open_history(path)
    works = {work.model: work for work in history.works()}
    assert sorted(works) == ["a", "b"]
    for name, work in works.items():
        (turn,) = history.turns(work.id)
        assert turn.state == "done"
        assert turn.text == "".join(f"{name}{n};" for n in range(WRITES - 3))
        assert history.tokens(turn.id) == tuple(range(WRITES - 3))
    assert history.query("PRAGMA integrity_check") == [("ok",)]
    history.close()


def test_a_killed_program_loses_less_than_a_second_and_is_marked(path, endless):
    endless.send_signal(signal.SIGKILL)
    endless.wait()
    lines = [*endless.said, *endless.stdout.readlines()]
    said = [line.split() for line in lines if line.endswith("\n")]
    number, at = int(said[-1][0]), float(said[-1][1])
    history = open_history(path)
    (work,) = history.works()
    question, reply = history.active_path(work.id)
    assert (question.text, question.state) == ("Why?", "done")
    assert reply.state == work.state == "interrupted"
    tokens = history.tokens(reply.id)
    assert tokens == tuple(range(len(tokens)))
    assert reply.text == "".join(f"{token} " for token in tokens)
    lost = [float(when) for count, when in said if int(count) >= len(tokens)]
    assert len(tokens) >= 20
    assert number >= len(tokens) - 1
    assert not lost or at - lost[0] < 1.0
    assert search(history, "Why?")
    again = history.resume_reply(reply.id)
    again.append("and on")
    assert history.turn(reply.id).state == "writing"
    history.close()


def test_what_another_program_is_writing_is_not_taken_for_interrupted(path, endless):
    first = open_history(path)
    second = open_history(path)
    ends = time.monotonic() + 30
    while not (works := second.works()):
        assert time.monotonic() < ends
    mine = first.start_reply(works[0].id, parent=None, model="m")
    first.recover()
    second.recover()
    assert {turn.state for turn in second.turns(works[0].id)[1:]} == {"writing"}
    first.close()
    assert second.turn(mine.turn).state == "interrupted"
    endless.send_signal(signal.SIGKILL)
    endless.wait()
    second.recover()
    assert [turn.state for turn in second.turns(works[0].id)[1:]] == ["interrupted"] * 2
    assert [file.name for file in (path.parent / "owners").iterdir()] == [second.owner]
    second.close()


def test_what_killed_programs_leave_is_cleared_away(path, endless):
    endless.send_signal(signal.SIGKILL)
    endless.wait()
    folder = path.parent / "owners"
    (stray,) = folder.iterdir()
    history = open_history(path)  # its turn names it, so that it is found at once
    assert not stray.exists()
    old, young = folder / "old", folder / "young"
    for file in (old, young):
        file.touch()
    os.utime(old, (0, 0))
    os.utime(folder / history.owner, (0, 0))
    history.recover()
    assert sorted(file.name for file in folder.iterdir()) == sorted([history.owner, "young"])
    history.close()


def test_many_programs_may_begin_one_history_at_once(path):
    writers = [start("many", path, name) for name in "abcd"]
    for writer in writers:
        _, err = writer.communicate(timeout=120)
        assert (writer.returncode, err) == (0, "")
    history = open_history(path)
    assert sorted(work.model for work in history.works()) == list("abcd")
    assert [turn.state for w in history.works() for turn in history.turns(w.id)] == ["done"] * 4
    history.close()
