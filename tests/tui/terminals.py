"""The real program on a real pseudo-terminal, for tests."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import IO

from tests.helpers import unsized
from tui.history import Turn, open_history

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1003l")


class Terminal:
    """A child process on a pseudo-terminal of 120×36."""

    def __init__(self, folder: Path, *arguments: str, stderr: IO[bytes] | None = None) -> None:
        """``folder``: the program's own. ``arguments``: of ``run.py``. ``stderr``: where its
        error output goes; to the terminal where None."""
        self.seen = b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
        self.before = termios.tcgetattr(slave)
        environment = {
            **unsized(), "YINCHUANG_STATE": str(folder), "TERM": "xterm-256color",
            "LANG": "C.UTF-8", "COLORTERM": "truecolor",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "run.py", *arguments], cwd=ROOT, env=environment,
            stdin=slave, stdout=slave, stderr=stderr or slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # closing it hangs up
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
            rb"\x1b\[[0-9;?<>=]*\$?[A-Za-z]|\x1b[()][A-Z0-9]|\x1b\][^\a]*\a", b"", self.seen
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

    def shut(self) -> None:
        """Close the window that the terminal is in: the program is hung up on."""
        os.close(self.master)
        self.master = os.open(os.devnull, os.O_RDWR)

    def close(self) -> None:
        """End the child, however it stands."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self._slave)


def kept(folder: Path) -> list[tuple[Turn, int]]:
    """The turns or branches of the history, and how many steps each has."""
    history = open_history(folder / "history.sqlite3")
    turns = [turn for work in history.works() for turn in history.turns(work.id)]
    counted = [(turn, len(history.steps(turn.id))) for turn in turns]
    history.close()
    return counted
