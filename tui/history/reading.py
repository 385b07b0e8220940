"""What can be asked of a history."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from corpora.errors import UserError
from model.records import from_json
from model.steps import Finished, Step
from tui.history.faults import told
from tui.history.records import TITLE_LENGTH, Gone, HistoryError, Kind, Turn, Work
from tui.history.steps import decode

WORK = f"""
SELECT works.id, works.kind, works.model, works.created, works.updated, works.title,
    works.active, works.settings,
    coalesce(
        (SELECT substr(text, 1, {TITLE_LENGTH}) FROM turns
            WHERE id = works.active AND role = 'poem'),
        (SELECT substr(text, 1, {TITLE_LENGTH}) FROM turns
            WHERE work = works.id AND role IN ('user', 'poem') ORDER BY key LIMIT 1),
        ''
    ),
    coalesce(
        (SELECT state FROM turns WHERE work = works.id AND state = 'writing' LIMIT 1),
        (SELECT state FROM turns WHERE id = works.active)
    ),
    (SELECT count(*) FROM turns WHERE work = works.id)
FROM works
"""
"""In the order of ``Work``'s fields."""
TURN = """
SELECT id, work, role, text, state, created, updated, parent, origin, fork, model, controls,
    settings, finished
FROM turns
"""
"""In the order of ``Turn``'s."""


class Reading:
    """Reads through a connection of its own; every call sees all that was committed before."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self._file = path
        self._reading = db
        self._asking = threading.Lock()
        db.execute("PRAGMA query_only = ON")

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a SELECT. Raises ``HistoryError``."""
        with self._asking, told(self._file):
            return self._reading.execute(statement, values).fetchall()

    def _close_reading(self) -> None:
        with self._asking:
            self._reading.close()

    # works

    def works(self, kind: Kind | None = None) -> list[Work]:
        """All of them, the one that changed last first."""
        return [
            _work(row)
            for row in self.query(
                f"{WORK} WHERE ?1 IS NULL OR kind = ?1 ORDER BY updated DESC, key DESC", kind
            )
        ]

    def work(self, work_id: str) -> Work:
        """One of them. Raises ``Gone``."""
        rows = self.query(f"{WORK} WHERE id = ?", work_id)
        if not rows:
            raise Gone(f"there is no work {work_id}")
        return _work(rows[0])

    def find(self, prefix: str) -> Work:
        """The work whose id begins so. Raises ``Gone`` for none, ``HistoryError`` for several."""
        prefix = prefix.strip().lower()
        rows = self.query(
            f"{WORK} WHERE substr(works.id, 1, length(?1)) = ?1 ORDER BY works.id LIMIT 9", prefix
        )
        if not prefix or not rows:
            raise Gone(f"there is no work {prefix!r}; `run.py history list` shows their ids")
        if len(rows) > 1:
            raise HistoryError(
                f"{prefix!r} begins several ids ({', '.join(row[0] for row in rows)}); "
                "give more of it"
            )
        return _work(rows[0])

    # turns

    def turns(self, work_id: str) -> list[Turn]:
        """All turns or branches of a work, in order of creation."""
        return [_turn(row) for row in self.query(f"{TURN} WHERE work = ? ORDER BY key", work_id)]

    def turn(self, turn_id: str) -> Turn:
        """One of them. Raises ``Gone``."""
        rows = self.query(f"{TURN} WHERE id = ?", turn_id)
        if not rows:
            raise Gone(f"there is no turn {turn_id}")
        return _turn(rows[0])

    def these(self, turn_ids: Iterable[str]) -> list[Turn]:
        """Several of them, in this order, without those that are gone."""
        rows = (self.query(f"{TURN} WHERE id = ?", turn_id) for turn_id in turn_ids)
        return [_turn(found[0]) for found in rows if found]

    def children(self, work_id: str, parent: str | None) -> list[Turn]:
        """The turns that follow ``parent`` (None: that begin the work), in order of creation.
        Turns with the same parent are each other's siblings."""
        rows = self.query(f"{TURN} WHERE work = ? AND parent IS ? ORDER BY key", work_id, parent)
        return [_turn(row) for row in rows]

    def path(self, turn_id: str) -> list[Turn]:
        """The conversation as it led to this turn: the first turn first. Raises ``Gone``."""
        turn = self.turn(turn_id)
        known = {each.id: each for each in self.turns(turn.work)}
        path = [turn]
        while path[-1].parent is not None:
            path.append(known[path[-1].parent])
        return path[::-1]

    def active_path(self, work_id: str) -> list[Turn]:
        """The path that is on show; empty without turns. Raises ``Gone``."""
        active = self.work(work_id).active
        return self.path(active) if active else []

    def leaf(self, turn_id: str) -> Turn:
        """The end of the newest conversation that goes on from a turn; itself where none does.
        This is the turn to activate when somebody goes to a sibling. Raises ``Gone``."""
        turn = self.turn(turn_id)
        while children := self.children(turn.work, turn.id):
            turn = max(children, key=lambda child: child.updated)
        return turn

    def tokens(self, turn_id: str) -> tuple[int, ...]:
        """The tokens of a turn as far as they were given."""
        rows = self.query("SELECT tokens FROM chunks WHERE turn = ? ORDER BY number", turn_id)
        return tuple(token for (chunk,) in rows for token in json.loads(chunk))

    def steps(self, turn_id: str) -> list[Step]:
        """The steps of a turn as far as they were given. Raises ``HistoryError`` where a
        chunk is not what this program writes."""
        rows = self.query(
            "SELECT steps FROM chunks WHERE turn = ? AND steps IS NOT NULL ORDER BY number",
            turn_id,
        )
        try:
            return [step for (chunk,) in rows for step in decode(chunk)]
        except (ValueError, TypeError, LookupError, UserError) as error:
            raise HistoryError(
                f"the steps of {turn_id} in {self._file} cannot be read ({error})"
            ) from error


WORK_FIELDS = tuple(field.name for field in fields(Work))
TURN_FIELDS = tuple(field.name for field in fields(Turn))


def _work(row: tuple[Any, ...]) -> Work:
    values = dict(zip(WORK_FIELDS, row, strict=True))
    return Work(**{**values, "settings": json.loads(values["settings"])})


def _turn(row: tuple[Any, ...]) -> Turn:
    values = dict(zip(TURN_FIELDS, row, strict=True))
    controls, finished = values["controls"], values["finished"]
    return Turn(
        **{
            **values,
            "controls": json.loads(controls) if controls else None,
            "settings": json.loads(values["settings"]),
            "finished": from_json(Finished, json.loads(finished)) if finished else None,
        }
    )
