"""The real program in a real pseudo-terminal: types, toggles, leaves, and leaves in time."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from model.checkpoint import save_checkpoint
from tests.helpers import CHARACTERS, tiny_gpt
from tui.history import Turn, open_history
from tui.keeping import open_keeper
from tui.screen import ending
from tui.session import FormSettings, Session

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1003l")


class Terminal:
    """A child process on a pseudo-terminal of 120×36."""

    def __init__(self, folder: Path) -> None:
        self.seen = b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
        self.before = termios.tcgetattr(slave)
        environment = {
            **os.environ, "YINCHUANG_STATE": str(folder), "TERM": "xterm-256color",
            "LANG": "C.UTF-8", "COLORTERM": "truecolor",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "run.py"], cwd=ROOT, env=environment,
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        )  # fmt: skip
        self._slave = slave

    def read(self, seconds: float) -> bool:
        """Take what is written within so many seconds; False where nothing was."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += data
        return bool(data)

    def text(self) -> str:
        """Everything written so far, without escape sequences."""
        plain = re.sub(
            rb"\x1b\[[0-9;?<>=]*[A-Za-z$]+|\x1b[()][A-Z0-9]|\x1b\][^\a]*\a", b"", self.seen
        )
        return plain.decode("utf-8", "replace")

    def wait_for(self, *words: str, since: int = 0) -> None:
        """Read until one of ``words`` has been written."""
        ends = time.monotonic() + PATIENCE_S
        while not any(word in self.text()[since:] for word in words):
            assert time.monotonic() < ends, f"none of {words} came:\n{self.text()[-3000:]}"
            assert self.process.poll() is None, self.text()[-3000:]
            self.read(0.2)

    def type(self, text: str) -> None:
        """Press keys."""
        self.send(text.encode())

    def send(self, data: bytes) -> None:
        """Send bytes, text or not."""
        os.write(self.master, data)

    def wait_for_the_end(self) -> int:
        """The exit code. That leaving takes no longer than it may is the program's own timer."""
        began = time.monotonic()
        while self.process.poll() is None:
            assert time.monotonic() - began < PATIENCE_S
            self.read(0.02)
        while self.read(0.05):
            pass
        return self.process.returncode

    def restored(self) -> bool:
        """The terminal is as it was before."""
        return all(code in self.seen for code in RESTORED) and (
            termios.tcgetattr(self._slave) == self.before
        )

    def close(self) -> None:
        """End the child, however it stands."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self._slave)


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


def kept(folder: Path) -> list[tuple[Turn, int]]:
    """The branches of the history, and how many steps each has."""
    history = open_history(folder / "history.sqlite3")
    turns = [turn for work in history.works() for turn in history.turns(work.id)]
    counted = [(turn, len(history.steps(turn.id))) for turn in turns]
    history.close()
    return counted


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
