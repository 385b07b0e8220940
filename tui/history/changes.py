"""What can be done to the tables, one function a change. Each runs inside a transaction of
the caller's; ``owner`` is the writer whose turns are alive as long as it is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from model.steps import Finished, Step
from tui.history.folding import words
from tui.history.records import Gone, Turn, Work, now, state_of, storable
from tui.history.steps import encode

Change = Callable[[sqlite3.Connection, str], None]
"""Called with the connection and the owner."""


@dataclass(frozen=True, slots=True)
class Extend:
    """Add to a turn that is being written."""

    turn: str
    text: str
    tokens: tuple[int, ...] = ()
    steps: tuple[Step, ...] = ()
    """One for each token, or none."""

    def __call__(self, db: sqlite3.Connection, owner: str) -> None:
        """Raises ``Gone`` where the turn is not there any more."""
        _touch(
            db,
            "UPDATE turns SET text = text || ?, updated = ? WHERE id = ?",
            (storable(self.text), now(), self.turn),
        )
        if self.tokens:
            db.execute(
                "INSERT INTO chunks (turn, number, tokens, steps) SELECT ?, "
                "(SELECT coalesce(max(number) + 1, 0) FROM chunks WHERE turn = ?), ?, ?",
                (self.turn, self.turn, json.dumps(self.tokens), encode(self.steps)
                 if self.steps else None),
            )  # fmt: skip
        _work_changed(db, self.turn)

    def joined(self, other: Extend) -> Extend | None:
        """Both as one; None where they are of different turns or kinds."""
        if other.turn != self.turn or bool(other.steps) != bool(self.steps):
            return None
        return replace(
            self,
            text=self.text + other.text,
            tokens=self.tokens + other.tokens,
            steps=self.steps + other.steps,
        )


def put_work(db: sqlite3.Connection, owner: str, work: Work) -> None:
    """Take in a new work."""
    db.execute(
        "INSERT INTO works (id, kind, title, model, created, updated, active, settings) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (work.id, work.kind, work.title, storable(work.model), work.created, work.updated,
         work.active, _json(work.settings)),
    )  # fmt: skip


def put_turn(db: sqlite3.Connection, owner: str, turn: Turn) -> None:
    """Take in a new turn and make it the active one. Raises ``Gone`` without its work."""
    if db.execute("SELECT 1 FROM works WHERE id = ?", (turn.work,)).fetchone() is None:
        raise Gone(f"there is no work {turn.work} any more")
    db.execute(
        "INSERT INTO turns (id, work, parent, origin, fork, role, text, state, owner, model, "
        "controls, settings, finished, created, updated) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (turn.id, turn.work, turn.parent, turn.origin, turn.fork, turn.role,
         storable(turn.text), turn.state, owner if turn.state == "writing" else None,
         storable(turn.model), _json(turn.controls) if turn.controls else None,
         _json(turn.settings), _json(asdict(turn.finished)) if turn.finished else None,
         turn.created, turn.updated),
    )  # fmt: skip
    _index(db, turn.id)
    activate(db, owner, turn.work, turn.id)
    _work_changed(db, turn.id)


def end(db: sqlite3.Connection, owner: str, turn: str, finished: Finished) -> None:
    """A turn has been written to its end. Raises ``Gone`` without it."""
    _touch(
        db,
        "UPDATE turns SET text = text || ?, state = ?, owner = NULL, finished = ?, updated = ? "
        "WHERE id = ?",
        (storable(finished.text), state_of(finished), _json(asdict(finished)), now(), turn),
    )
    _index(db, turn)
    _work_changed(db, turn)


def resume(db: sqlite3.Connection, owner: str, turn: str) -> None:
    """A turn that had ended is written on. Raises ``Gone`` without it.

    What was released only because it ended (half a character, a possible stop string) is taken
    back: it comes again with the tokens that complete it.
    """
    _touch(
        db,
        "UPDATE turns SET state = 'writing', owner = ?, finished = NULL, updated = ?, text = "
        "substr(text, 1, length(text) - coalesce(length(json_extract(finished, '$.text')), 0)) "
        "WHERE id = ?",
        (owner, now(), turn),
    )
    db.execute("DELETE FROM found WHERE rowid = (SELECT key FROM turns WHERE id = ?)", (turn,))
    _work_changed(db, turn)


def note(db: sqlite3.Connection, owner: str, turn: str, settings: dict[str, Any]) -> None:
    """Add to what a front end keeps with a turn, or change it. Raises ``Gone`` without it."""
    _touch(
        db,
        "UPDATE turns SET settings = json_patch(settings, ?) WHERE id = ?",
        (_json(settings), turn),
    )


def activate(db: sqlite3.Connection, owner: str, work: str, turn: str | None) -> None:
    """Show this turn, and the path to it, when the work is opened. Looking is no change of the
    work, and nothing is lost where that is gone."""
    db.execute("UPDATE works SET active = ? WHERE id = ?", (turn, work))


def rename(db: sqlite3.Connection, owner: str, work: str, title: str) -> None:
    """Give a work a title; the empty one lets its text stand for it. Raises ``Gone``."""
    _touch(
        db,
        "UPDATE works SET title = ?, updated = ? WHERE id = ?",
        (" ".join(storable(title).split()), now(), work),
    )


def change_settings(
    db: sqlite3.Connection, owner: str, work: str, settings: dict[str, Any]
) -> None:
    """Replace a work's settings. Raises ``Gone``."""
    _touch(
        db,
        "UPDATE works SET settings = ?, updated = ? WHERE id = ?",
        (_json(settings), now(), work),
    )


def delete(db: sqlite3.Connection, owner: str, work: str) -> None:
    """Take a work away, with all its turns. Raises ``Gone`` where it is not there."""
    _touch(db, "DELETE FROM works WHERE id = ?", (work,))


def interrupt(db: sqlite3.Connection, owner: str, dead: str) -> None:
    """What ``dead`` was writing will not go on."""
    rows = db.execute("SELECT id FROM turns WHERE owner = ?", (dead,)).fetchall()
    for (turn,) in rows:
        db.execute("UPDATE turns SET state = 'interrupted', owner = NULL WHERE id = ?", (turn,))
        _index(db, turn)


def _index(db: sqlite3.Connection, turn: str) -> None:
    """Let a turn be found by its text; nothing while it is being written."""
    row = db.execute("SELECT key, text, state FROM turns WHERE id = ?", (turn,)).fetchone()
    if row[2] != "writing":
        db.execute("INSERT INTO found (rowid, text) VALUES (?, ?)", (row[0], words(row[1])))


def _touch(db: sqlite3.Connection, statement: str, values: tuple[Any, ...]) -> None:
    if db.execute(statement, values).rowcount == 0:
        raise Gone(f"there is no {values[-1]} any more; it may have been deleted")


def _work_changed(db: sqlite3.Connection, turn: str) -> None:
    db.execute(
        "UPDATE works SET updated = ? WHERE id = (SELECT work FROM turns WHERE id = ?)",
        (now(), turn),
    )


def _json(document: Any) -> str:
    return storable(json.dumps(document, ensure_ascii=False))
