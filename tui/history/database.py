"""The history's file: opening it, changing it in transactions, reading it.

One connection writes and another reads, so that nobody who reads waits for a writer. A
``History`` may be used from any thread.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from tui.history import changes, schema
from tui.history.changes import Change
from tui.history.faults import told
from tui.history.owner import Owner, alive, alone, sweep
from tui.history.reading import Reading
from tui.history.records import Damaged, HistoryError, now
from tui.history.scribe import Scribe
from tui.places import data_folder

FILE = "history.sqlite3"
BUSY_S = 20.0
"""A writer waits so long for another program's transaction; these take milliseconds."""
OLDEST_SQLITE = (3, 37, 0)
"""The first that knows STRICT tables."""


class History(Reading, Scribe):
    """An open history. ``Reading`` has what can be asked of it, ``Scribe`` what can be done."""

    def __init__(self, path: Path, notice: str = "") -> None:
        """Use ``open_history``."""
        self.file = path
        self.notice = notice
        """What the reader must be told about how it was opened; empty where all is well."""
        self._owners = path.parent / "owners"
        self._owner = Owner(self._owners)
        self._writing = threading.Lock()
        self._db = connect(path)
        Reading.__init__(self, path, connect(path))

    @property
    def owner(self) -> str:
        """Id of this writer: what it writes counts as alive until it is closed."""
        return self._owner.id

    def apply(self, wanted: Sequence[Change]) -> None:
        """Do all of this in one transaction, or nothing of it. Raises ``HistoryError``."""
        with self._writing, told(self.file):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for change in wanted:
                    change(self._db, self.owner)
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled back already
                    self._db.execute("ROLLBACK")
                raise

    def do(self, *done: Change) -> None:
        """Do these changes now. Raises ``HistoryError``."""
        self.apply(done)

    def recover(self) -> None:
        """Mark as interrupted what programs were writing that have ended without a word."""
        owners = self.query("SELECT DISTINCT owner FROM turns WHERE owner IS NOT NULL")
        dead = [name for (name,) in owners if not self.is_alive(name)]
        if dead:
            self.apply([partial(changes.interrupt, dead=name) for name in dead])
        sweep(self._owners)

    def is_alive(self, owner: str) -> bool:
        """Whether a writer's program still runs."""
        return owner == self.owner or alive(self._owners, owner)

    def close(self) -> None:
        """Give everything back. What this writer was still writing counts as interrupted."""
        with suppress(HistoryError, sqlite3.Error):
            self.apply([partial(changes.interrupt, dead=self.owner)])
        with suppress(sqlite3.Error):
            self._close_reading()
            self._db.close()
        self._owner.close()


def open_history(path: Path | None = None) -> History:
    """The history at ``path``, the user's where None; a new one where there is none.

    A damaged file is set aside under another name, never deleted, and a new history begins;
    ``notice`` then says so. Raises ``NewerVersion`` for the file of a later program,
    ``Unavailable`` where it cannot be read or written, ``HistoryError`` for a database of
    something else.
    """
    path = path or data_folder() / FILE
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise HistoryError(
            f"the history needs SQLite 3.37 or later; this Python has {sqlite3.sqlite_version}"
        )
    notice = ""
    with told(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with alone(path.with_suffix(".lock")):
            try:
                _prepare(path)
            except Damaged as error:
                notice = f"{error}. It was set aside as {_set_aside(path)}, and a new one begins"
                _prepare(path)
            history = History(path, notice)
    history.recover()
    return history


def _prepare(path: Path) -> None:
    """Make a whole file of this version of what is there."""
    with told(path):
        db = connect(path)
        try:
            schema.check(db, path)
            db.execute("PRAGMA journal_mode = WAL").fetchone()
            schema.migrate(db)
        finally:
            db.close()


def connect(path: Path) -> sqlite3.Connection:
    """A connection that leaves transactions to its user."""
    db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA foreign_keys = ON")
    # A killed program loses nothing that was committed, a power cut the last moments at most.
    db.execute("PRAGMA synchronous = NORMAL")
    return db


def _set_aside(path: Path) -> Path:
    """Rename the file and its journals so that they stay together; the new name."""
    aside = path.with_name(f"{path.stem}.damaged-{now()}{path.suffix}")
    for tail in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + tail).rename(aside.with_name(aside.name + tail))
    return aside
