"""How long the window takes to be there: the program in a real pseudo-terminal, from the
start of the process to the frame that shows where to type, and how soon it then answers
what is typed while torch is still loading behind it.
"""

from __future__ import annotations

import os
import select
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

PROGRAM = "from run import main; main()"
SIGN = b"Opening"
"""The border's title of the field to type in: the last thing that the first frame draws."""
TYPED = "春夏秋冬风雨雷电日月山川"
"""Characters that nothing else on the first screen shows, each typed by itself."""
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class FirstFrame:
    """What was measured; seconds."""

    first_frame_s: float
    """Median from the start of the process."""
    first_frame_cpu_s: float
    """Median time that the process had computed by then: what a busy machine adds is not in."""
    first_frames: int
    """Starts."""
    early_key_p95_s: float
    """95th percentile from a key press to its character on the screen, typed as soon as the
    first frame is there."""
    early_keys: int


class _Started:
    """The program, just started on a terminal of 120×36 with an empty state folder."""

    def __init__(self, folder: str) -> None:
        import fcntl
        import pty
        import termios

        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
        environment = {**os.environ, "YINCHUANG_STATE": folder, "TERM": "xterm-256color"}
        self._seen = b""
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)

    def wait_for(self, sign: bytes) -> float:
        """Seconds until ``sign`` is written; what has been written by then is forgotten.

        Raises ``RuntimeError`` where the program ends or nothing comes.
        """
        began = time.perf_counter()
        while sign not in self._seen:
            left = began + PATIENCE_S - time.perf_counter()
            if left < 0 or not select.select([self._master], [], [], left)[0]:
                raise RuntimeError("the window did not come")
            try:
                self._seen += os.read(self._master, 65536)
            except OSError:  # what a terminal says when the other side has gone
                said = self._seen.decode(errors="replace")[-500:]
                raise RuntimeError(f"the window closed by itself: {said}") from None
        self._seen = b""
        return time.perf_counter() - began

    def computed(self) -> float:
        """Seconds that the process has computed; 0 where the system does not tell."""
        try:
            told = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        user, system = told.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def type(self, text: str) -> float:
        """Type; seconds until it is on the screen."""
        os.write(self._master, text.encode())
        return self.wait_for(text.encode())

    def end(self) -> None:
        """End it, however it stands."""
        self._process.kill()
        self._process.wait()
        os.close(self._master)


def measure(starts: int = 7) -> FirstFrame:
    """Start the program so many times, after once to have everything in the disk's cache.

    Raises ``RuntimeError`` where it does not open.
    """
    frames: list[float] = []
    computed: list[float] = []
    keys: list[float] = []
    for turn in range(starts + 1):
        with tempfile.TemporaryDirectory() as folder:
            program = _Started(folder)
            try:
                program.wait_for(SIGN)
                frame_s, cpu_s = time.perf_counter() - program.began, program.computed()
                answers = [program.type(character) for character in TYPED]
            finally:
                program.end()
        if turn:
            frames.append(frame_s)
            computed.append(cpu_s)
            keys += answers
    keys.sort()
    late = keys[int(0.95 * (len(keys) - 1))]
    return FirstFrame(median(frames), median(computed), len(frames), late, len(keys))
