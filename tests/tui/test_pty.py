"""The real program in a real pseudo-terminal: types, toggles, leaves, and leaves in time."""

from __future__ import annotations

import signal
import sqlite3
import time

import pytest

from model.checkpoint import save_checkpoint
from tests.helpers import CHARACTERS, tiny_gpt
from tests.tui.terminals import PATIENCE_S, Terminal, kept
from tui.history import open_history
from tui.keeping import open_keeper
from tui.screen import ending
from tui.session import FormSettings, Session


@pytest.fixture
def terminal(tmp_path):
    model = tmp_path / "tiny.safetensors"
    save_checkpoint(model, tiny_gpt(block_size=64), CHARACTERS, {})
    keeper, _ = open_keeper(session := Session(), tmp_path / "history.sqlite3")
    session.model = str(model)
    # a poem of 64 characters at two a second: it is still being written when the test acts
    session.change("all", form=FormSettings("fixed", "", "七律"))
    session.look.pace = 2.0
    keeper.begin(print)
    keeper.finish()
    opened = Terminal(tmp_path)
    yield opened
    opened.close()


def test_type_toggle_and_quit(terminal, tmp_path):
    terminal.wait_for("Opening")
    terminal.type("床前明月光\r")  # at once: the model is not there yet
    terminal.wait_for("writing 7/64", "writing 8/64", "writing 9/64")
    terminal.type("\x1bOQ")  # F2
    terminal.wait_for("cache off")
    terminal.type("\x11")  # ^Q, in the middle of the stream
    assert terminal.wait_for_the_end() == 0
    assert terminal.restored()
    assert "Traceback" not in terminal.text()
    ((branch, steps),) = kept(tmp_path)
    assert branch.settings["prompt"] == "床前明月光"
    assert branch.state == "stopped"
    assert steps >= 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_in_the_middle_of_a_stream(terminal, tmp_path, number):
    terminal.wait_for("Opening")
    terminal.type("春\r")
    terminal.wait_for("writing 3/64", "writing 4/64", "writing 5/64")
    terminal.process.send_signal(number)
    assert terminal.wait_for_the_end() == 0
    assert terminal.restored()
    ((branch, steps),) = kept(tmp_path)
    assert branch.state == "stopped"
    assert steps >= 1


@pytest.mark.parametrize("stray", [b"\xff", "春眠".encode("gbk"), b"\xe6\x98"])
def test_bytes_that_are_no_text_do_not_end_the_window(terminal, stray):
    terminal.wait_for("Opening")
    terminal.send(stray)
    if stray != b"\xe6\x98":  # half a character may still become a whole one
        terminal.wait_for("not UTF-8")
    terminal.type("q")  # what follows half a character shows that it is none
    terminal.wait_for("not UTF-8")
    terminal.type("床前")
    terminal.wait_for("床前")
    terminal.type("\x11")
    assert terminal.wait_for_the_end() == 0
    assert terminal.restored()
    assert "Traceback" not in terminal.text()


def test_an_error_output_that_goes_to_a_file_leaves_the_window_on_the_terminal(tmp_path):
    with (tmp_path / "log").open("wb") as log:
        opened = Terminal(tmp_path, stderr=log)
        try:
            opened.wait_for("Opening")
            opened.type("春眠")
            opened.wait_for("春眠")
            opened.type("\x11")
            assert opened.wait_for_the_end() == 0
            assert opened.restored()
        finally:
            opened.close()
    assert (tmp_path / "log").read_bytes() == b""


def test_quitting_while_the_model_loads(terminal):
    terminal.wait_for("starting torch", "reading the weights")
    terminal.type("\x11")
    assert terminal.wait_for_the_end() == 0
    assert terminal.restored()


def test_a_killed_window_loses_little(terminal, tmp_path):
    terminal.wait_for("Opening")
    terminal.type("春\r")
    ends = time.monotonic() + PATIENCE_S
    while not any(steps for _, steps in kept(tmp_path)):
        assert time.monotonic() < ends
        terminal.read(0.1)
    assert kept(tmp_path)[0][0].state == "writing"
    terminal.process.kill()
    terminal.process.wait()
    keeper, greeting = open_keeper(session := Session(), tmp_path / "history.sqlite3")
    assert greeting == ""
    assert session.branch.prompt == "春"
    assert ending(session.branch) == "interrupted"
    assert session.branch.text.startswith("春")
    keeper.history.close()


def test_a_history_of_a_newer_version_stays_as_it_is_and_the_window_says_so(tmp_path):
    open_history(tmp_path / "history.sqlite3").close()
    database = sqlite3.connect(tmp_path / "history.sqlite3")
    database.execute("PRAGMA user_version = 99")
    database.close()
    before = (tmp_path / "history.sqlite3").read_bytes()
    terminal = Terminal(tmp_path)
    try:
        terminal.wait_for("nothing is kept")
        terminal.type("\x11")
        assert terminal.wait_for_the_end() == 0
        assert terminal.restored()
    finally:
        terminal.close()
    assert (tmp_path / "history.sqlite3").read_bytes() == before
