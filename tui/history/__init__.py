"""Poems and conversations that are kept: one SQLite file that several programs share.

``open_history`` gives a ``History``; a ``Recorder`` writes to one from a thread of its own,
so that no interface waits for a disk. Both take the same calls (``Scribe``). Knows nothing
of Textual and imports no torch. docs/history.md shows how it is used.
"""

from tui.history.database import History, open_history
from tui.history.recorder import Recorder
from tui.history.records import (
    Damaged,
    Gone,
    HistoryError,
    Hit,
    NewerVersion,
    Role,
    State,
    Turn,
    Unavailable,
    Work,
)
from tui.history.scribe import Reply, Scribe
from tui.history.search import search

__all__ = [
    "Damaged",
    "Gone",
    "History",
    "HistoryError",
    "Hit",
    "NewerVersion",
    "Recorder",
    "Reply",
    "Role",
    "Scribe",
    "State",
    "Turn",
    "Unavailable",
    "Work",
    "open_history",
    "search",
]
