"""Keeps the session while the window is open, so that a crash costs a second of work.

Writing happens on a thread of its own: a slow disk must not hold up a key press.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from tui.session import Session
from tui.store import Snapshot, Store

log = logging.getLogger("yinchuang")

EVERY_S = 1.0
SHARE = 0.05
"""Part of the time that saving may take; long sessions are saved less often."""


class Autosave:
    """Saves what has changed since the last time."""

    def __init__(self, store: Store, session: Session, tell: Callable[[str], object]) -> None:
        """``tell`` says once, from any thread, that the session cannot be kept."""
        self._store = store
        self._session = session
        self._tell = tell
        self._saved: object = None
        self._thread: threading.Thread | None = None
        self._next = 0.0
        self._told = False

    def tick(self) -> None:
        """Call about once a second on the app's thread."""
        if time.monotonic() < self._next or (self._thread and self._thread.is_alive()):
            return
        snapshot = self._store.snapshot(self._session)
        if snapshot.key != self._saved:
            self._thread = threading.Thread(
                target=self._save, args=(snapshot,), name="autosave", daemon=True
            )
            self._thread.start()

    def finish(self) -> None:
        """Save what there is, now; at the end."""
        if self._thread:
            self._thread.join(timeout=1.0)
        snapshot = self._store.snapshot(self._session)
        if snapshot.key != self._saved:
            self._save(snapshot)
        self._store.close()

    def _save(self, snapshot: Snapshot) -> None:
        began = time.monotonic()
        try:
            self._store.save(snapshot)
            self._saved = snapshot.key
        except OSError as error:
            log.exception("the session cannot be kept")
            if not self._told:
                self._told = True
                self._tell(f"The session cannot be kept in {self._store.path}: {error.strerror}")
        took = time.monotonic() - began
        self._next = time.monotonic() + max(EVERY_S, took / SHARE) - EVERY_S / 2
