"""SQLite's errors as what a reader can use: what is wrong, with which file, what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tui.history.records import Damaged, HistoryError, Unavailable


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Within it SQLite's and the system's errors become ``HistoryError``."""
    try:
        yield
    except sqlite3.Error as error:
        known = named(error, path)
        if known is None:
            raise
        raise known from error
    except OSError as error:
        raise Unavailable(
            f"the history {path} cannot be used ({error.strerror or error}); make its folder "
            "writable, or name another one with YINCHUANG_STATE"
        ) from error


def named(error: sqlite3.Error, path: Path) -> HistoryError | None:
    """The error to raise in its place; None where it is a fault of the program's own."""
    code = getattr(error, "sqlite_errorname", None) or ""
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return Damaged(f"{path} is damaged ({error})")
    if code.startswith("SQLITE_FULL"):
        return Unavailable(
            f"the disk of {path} is full; what is being written is kept as soon as there is room"
        )
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Unavailable(f"another program holds the history {path}; try again when it is done")
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return Unavailable(
            f"the history {path} cannot be written ({error}); make its folder and file "
            "writable, or name another folder with YINCHUANG_STATE"
        )
    if code.startswith(("SQLITE_IOERR", "SQLITE_NOLFS", "SQLITE_PROTOCOL", "SQLITE_NOMEM")):
        return Unavailable(f"the disk of {path} fails ({error})")
    if code.startswith("SQLITE_TOOBIG"):
        return HistoryError(f"a text of this length cannot be kept in {path}")
    return None
