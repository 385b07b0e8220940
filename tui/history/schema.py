"""The tables, and how the file of an earlier version becomes one of this version.

Each migration takes the file from one version to the next, in one transaction together with
the version's number: a program that is killed in the middle leaves the old version whole.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from tui.history.folding import words
from tui.history.records import Damaged, HistoryError, NewerVersion

APPLICATION_ID = 0x59434831
"""Marks the file as a history of this program ("YCH1")."""

TABLES = """
CREATE TABLE works (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('poem', 'chat')),
    title TEXT NOT NULL,
    model TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    active TEXT,
    settings TEXT NOT NULL
) STRICT;
CREATE INDEX works_by_change ON works (updated);

CREATE TABLE turns (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    work TEXT NOT NULL REFERENCES works (id) ON DELETE CASCADE,
    parent TEXT REFERENCES turns (id) ON DELETE CASCADE,
    origin TEXT REFERENCES turns (id) ON DELETE SET NULL,
    fork INTEGER NOT NULL CHECK (fork >= 0),
    role TEXT NOT NULL CHECK (role IN ('poem', 'system', 'user', 'assistant')),
    text TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('writing', 'done', 'stopped', 'interrupted', 'error')),
    owner TEXT CHECK ((owner IS NOT NULL) = (state = 'writing')),
    model TEXT NOT NULL,
    controls TEXT,
    settings TEXT NOT NULL,
    finished TEXT,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL
) STRICT;
CREATE INDEX turns_of_work ON turns (work);
CREATE INDEX turns_of_parent ON turns (parent);
CREATE INDEX turns_of_origin ON turns (origin);
CREATE INDEX turns_being_written ON turns (owner) WHERE owner IS NOT NULL;

CREATE TABLE chunks (
    turn TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    number INTEGER NOT NULL CHECK (number >= 0),
    tokens TEXT NOT NULL,
    steps TEXT,
    PRIMARY KEY (turn, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE windows (
    place INTEGER PRIMARY KEY,
    owner TEXT,
    document TEXT NOT NULL,
    updated INTEGER NOT NULL
) STRICT;
"""


SEARCH = """
CREATE VIRTUAL TABLE found USING fts5 (text, tokenize = 'ascii');
CREATE TRIGGER found_no_more AFTER DELETE ON turns BEGIN
    DELETE FROM found WHERE rowid = old.key;
END
"""
"""``rowid`` is the turn's key, ``text`` what ``folding.words`` makes of its text. Turns that
are being written are not in it."""


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in TABLES.split(";"):  # executescript would commit in between
        connection.execute(statement)


def _create_search(connection: sqlite3.Connection) -> None:
    table, trigger = SEARCH.split(";", 1)
    connection.execute(table)
    connection.execute(trigger)
    ended = connection.execute("SELECT key, text FROM turns WHERE state <> 'writing'")
    connection.executemany(
        "INSERT INTO found (rowid, text) VALUES (?, ?)", ((key, words(text)) for key, text in ended)
    )


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_create_tables, _create_search)
"""The n-th one makes version n."""
VERSION = len(MIGRATIONS)


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raises ``NewerVersion`` for the file of a later program, ``HistoryError`` for a
    database of something else, ``Damaged`` for one that is not whole."""
    version = _number(connection, "user_version")
    if version > VERSION:
        raise NewerVersion(
            f"{path} was written by a newer version of this program (schema {version}; this one "
            f"reads up to {VERSION}). Update the program, or name another folder with "
            "YINCHUANG_STATE"
        )
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if tables and _number(connection, "application_id") != APPLICATION_ID:
        raise HistoryError(
            f"{path} is a database, but no history of this program; move it away, or name "
            "another folder with YINCHUANG_STATE"
        )
    fault = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if fault != "ok":
        raise Damaged(f"{path} is damaged ({fault})")


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to this version; a new file becomes an empty history."""
    for number in range(_number(connection, "user_version") + 1, VERSION + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            MIGRATIONS[number - 1](connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
