"""What a window looked like when it was closed, so that it looks the same when it is opened.

Several windows at once have a place each; a new one takes the lowest place that is free.
"""

from __future__ import annotations

import json
import sqlite3
from functools import partial
from typing import Any

from tui.history.database import History
from tui.history.records import now, storable
from tui.history.scribe import Scribe


def claim(history: History) -> tuple[int, dict[str, Any] | None]:
    """Take a place; its number and what was kept there last, None where nothing was or where
    it is no document. Raises ``HistoryError``."""
    taken: list[tuple[int, dict[str, Any] | None]] = []

    def take(db: sqlite3.Connection, owner: str) -> None:
        rows = db.execute("SELECT place, owner, document FROM windows ORDER BY place").fetchall()
        free = [row for row in rows if row[1] is None or not history.is_alive(row[1])]
        if free:
            place, _, document = free[0]
            db.execute("UPDATE windows SET owner = ? WHERE place = ?", (owner, place))
        else:
            place, document = max((row[0] for row in rows), default=0) + 1, "null"
            db.execute(
                "INSERT INTO windows (place, owner, document, updated) VALUES (?, ?, ?, ?)",
                (place, owner, document, now()),
            )
        taken.append((place, _read(document)))

    history.apply([take])
    return taken[0]


def keep(scribe: Scribe, place: int, document: str) -> None:
    """Let the window of this place look so when it is opened again. ``document``: JSON."""
    scribe.do(partial(_put, place=place, document=document))


def _put(db: sqlite3.Connection, owner: str, place: int, document: str) -> None:
    db.execute(
        "UPDATE windows SET document = ?, updated = ? WHERE place = ? AND owner = ?",
        (storable(document), now(), place, owner),
    )


def _read(document: str) -> dict[str, Any] | None:
    try:
        read = json.loads(document)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None
