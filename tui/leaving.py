"""Getting out in time: whatever hangs, the process ends and the terminal is usable again.

Textual's own way out waits for threads, a pool and a writer; on a terminal that has gone
away, or under a load that cannot be interrupted, any of these may take long. Once leaving
has begun a timer ends the process the hard way. Knows terminals; knows nothing of poems.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import Any

from tui.driver import terminal_output

PATIENCE_S = 1.5
"""How long leaving may take: less than the two seconds after which it feels stuck."""
RESTORE = (
    "\x1b[?2004l"  # bracketed paste off
    "\x1b[?7h"  # line wrap on
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"  # mouse off
    "\x1b[<u"  # kitty keys off
    "\x1b[?1049l"  # back from the alternate screen
    "\x1b[?25h"  # cursor on
    "\x1b[?1004l"  # focus reports off
)


class HardExit:
    """Ends the process when leaving takes too long."""

    def __init__(self) -> None:
        self._terminal = terminal_state()
        self._timer: threading.Timer | None = None

    def arm(self, code: int) -> None:
        """From now on the process has ``PATIENCE_S`` to end by itself with ``code``."""
        if self._timer is None:
            self._timer = threading.Timer(PATIENCE_S, self._now, (code,))
            self._timer.daemon = True
            self._timer.start()

    def disarm(self) -> None:
        """The way out is clear."""
        if self._timer is not None:
            self._timer.cancel()

    def _now(self, code: int) -> None:
        descriptor, attributes = self._terminal
        with suppress(Exception):
            if output := terminal_output():
                os.write(output.fileno(), RESTORE.encode())
        with suppress(Exception):
            import termios

            termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
        os._exit(code)


def terminal_state() -> tuple[int, Any]:
    """The terminal's settings before the app changes them; (-1, None) without one."""
    try:
        import termios

        descriptor = sys.__stdin__.fileno() if sys.__stdin__ else -1
        return descriptor, termios.tcgetattr(descriptor)
    except Exception:  # no terminal, no termios: nothing to restore
        return -1, None


def end_process(code: int) -> None:
    """End at once, without waiting for threads that nobody can stop any more: a library in
    the middle of loading cannot be unwound safely."""
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
