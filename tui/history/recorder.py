"""Writes a history on a thread of its own: a slow disk holds up no key and no token.

What is asked for within ``EVERY_S`` goes into one transaction, so that a killed program
loses at most that. What cannot be written now, for a full disk or a lock, waits and is
written as soon as it can be.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from tui.history.changes import Change, Extend
from tui.history.database import History
from tui.history.records import Damaged, Gone, Unavailable
from tui.history.scribe import Scribe

EVERY_S = 0.4
AGAIN_S = 2.0
"""After a failure it tries again this often."""

log = logging.getLogger("yinchuang")


class Recorder(Scribe):
    """A ``Scribe`` whose calls return at once. They may come from any thread."""

    def __init__(self, history: History, tell: Callable[[str], object] = log.warning) -> None:
        """``tell`` says, from this thread, that writing has begun to fail or works again."""
        self._history = history
        self._tell = tell
        self._changed = threading.Condition()
        self._waiting: list[tuple[Change, ...]] = []  # under the condition's lock, as all below
        self._busy = False
        self._closing = False
        self._hurried = False
        self._failing = False
        self._told: set[str] = set()
        self._thread = threading.Thread(target=self._work, name="history", daemon=True)
        self._thread.start()

    def do(self, *done: Change) -> None:
        """Do these changes soon."""
        with self._changed:
            self._waiting.append(done)
            self._changed.notify_all()

    def settle(self, timeout: float = 5.0) -> bool:
        """Wait until everything asked for so far is written; False where that takes longer."""
        with self._changed:
            self._hurried = True
            self._changed.notify_all()
            return self._changed.wait_for(self._settled, timeout)

    def close(self, timeout: float = 1.0) -> bool:
        """Write what there is and end; False where not everything could be written in time."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout)
        with self._changed:
            return self._settled()

    def _settled(self) -> bool:
        return not self._waiting and not self._busy

    # on the thread

    def _work(self) -> None:
        written_at = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                pause = AGAIN_S if self._failing else EVERY_S
                left = written_at + pause - time.monotonic()
                self._changed.wait_for(lambda: self._closing or self._hurried, max(0.0, left))
                taken, self._waiting = self._waiting, []
                self._busy = bool(taken)
                last, self._hurried = self._closing, False
            rest = self._write(taken) if taken else []
            written_at = time.monotonic()
            with self._changed:
                self._waiting[:0] = rest
                self._busy = False
                self._changed.notify_all()
                if last and (rest or not self._waiting):
                    return

    def _write(self, taken: list[tuple[Change, ...]]) -> list[tuple[Change, ...]]:
        """Write these; what must be tried again."""
        try:
            self._history.apply(joined(change for group in taken for change in group))
        except Unavailable as error:
            if not self._failing:
                self._tell(f"Nothing can be kept: {error}")
            self._failing = True
            return taken
        except Exception as error:
            if len(taken) > 1:  # which one it was shall not cost the others
                return [each for group in taken for each in self._write([group])]
            self._lost(error)
            return []
        if self._failing:
            self._failing = False
            self._tell("The history is written again, with all that had to wait")
        return []

    def _lost(self, error: Exception) -> None:
        """One change that can never be made."""
        log.error("not kept: %s", error, exc_info=None if isinstance(error, Gone) else error)
        todo = "; it is set aside at the next start" if isinstance(error, Damaged) else ""
        told = f"Something could not be kept: {error}{todo}"
        if told not in self._told:  # all that follows in a turn fails alike
            self._told.add(told)
            self._tell(told)


def joined(wanted: Iterable[Change]) -> list[Change]:
    """The same changes, those that add to one turn one after another made one."""
    result: list[Change] = []
    for change in wanted:
        if isinstance(change, Extend) and result and isinstance(result[-1], Extend):
            both = result[-1].joined(change)
            if both is not None:
                result[-1] = both
                continue
        result.append(change)
    return result
