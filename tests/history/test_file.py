"""The file: older and newer versions, damage, places that cannot be written."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.history.helpers import step
from tui.history import HistoryError, NewerVersion, Unavailable, open_history, search
from tui.history.schema import APPLICATION_ID, VERSION

OLD = Path(__file__).parents[1] / "data" / "history-1.sql"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "history.sqlite3"


def number(path, pragma):
    db = sqlite3.connect(path)
    value = db.execute(f"PRAGMA {pragma}").fetchone()[0]
    db.close()
    return value


def kept(path):
    """A history with a conversation in it."""
    history = open_history(path)
    work = history.create_chat("m", system="春眠")
    history.close()
    return work


def test_a_new_history_is_marked_and_private(path):
    open_history(path).close()
    assert number(path, "application_id") == APPLICATION_ID
    assert number(path, "user_version") == VERSION
    assert number(path, "journal_mode") == "wal"
    assert path.parent.stat().st_mode & 0o077 == 0
    assert list((path.parent / "owners").iterdir()) == []


def test_the_history_of_an_older_version_becomes_one_of_this(path):
    path.parent.mkdir()
    old = sqlite3.connect(path)
    old.executescript(OLD.read_text(encoding="utf-8"))
    old.close()
    assert number(path, "user_version") == 1
    history = open_history(path)
    assert history.notice == ""
    assert number(path, "user_version") == VERSION
    poem, chat = history.works()
    assert (poem.name, poem.state) == ("床前", "interrupted")
    assert [turn.text for turn in history.active_path(chat.id)] == [
        "Answer in one line.", "Where is the lighthouse?", "On the cliff [/",
    ]  # fmt: skip
    assert [s.text for s in history.steps(poem.active)] == ["，", "疑", "是"]
    assert history.steps(poem.active)[0] == step(0, "，", history.steps(poem.active)[0].controls)
    assert history.steps(poem.active)[2].controls.sampler.top_k == 5
    for query in ("春天是", "lighthouse", "[/", "月光，疑"):
        assert len(search(history, query)) == 1, query
    history.delete(chat.id)
    assert search(history, "lighthouse") == []
    history.close()


def test_a_migration_that_breaks_leaves_the_old_version_whole(path, monkeypatch):
    path.parent.mkdir()
    old = sqlite3.connect(path)
    old.executescript(OLD.read_text(encoding="utf-8"))
    old.close()

    def breaks(text):
        raise RuntimeError("killed here")

    monkeypatch.setattr("tui.history.schema.words", breaks)
    with pytest.raises(RuntimeError):
        open_history(path)
    monkeypatch.undo()
    assert number(path, "user_version") == 1
    history = open_history(path)
    assert len(search(history, "lighthouse")) == 1
    history.close()


def test_the_history_of_a_newer_version_is_refused_by_name_and_left_alone(path):
    kept(path)
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {VERSION + 7}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(NewerVersion, match=f"newer version.*schema {VERSION + 7}.*{VERSION}"):
        open_history(path)
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_refused_and_left_alone(path):
    path.parent.mkdir()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE bookmarks (url)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(HistoryError, match="no history of this program"):
        open_history(path)
    assert path.read_bytes() == before


def overwritten(data):
    """Its second page, where a table begins, is noise."""
    return data[:4096] + b"\xa5" * 4096 + data[8192:]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"not a database at all" * 400,
        lambda data: data[: len(data) // 2],
        lambda data: data[:50],
        overwritten,
        lambda data: data[:16] + b"\0" * 84 + data[100:],
    ],
)
def test_a_damaged_file_is_set_aside_and_told(path, damage):
    kept(path)
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    history = open_history(path)
    aside = list(path.parent.glob("history.damaged-*.sqlite3"))
    if damaged:
        assert "is damaged" in history.notice
        assert str(aside[0]) in history.notice
        assert aside[0].read_bytes() == damaged
    else:  # an empty file is a new history
        assert aside == []
    assert history.works() == []
    history.create_chat("m")
    history.close()
    again = open_history(path)
    assert again.notice == ""
    assert len(again.works()) == 1
    again.close()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable, match="YINCHUANG_STATE"):
        open_history(tmp_path / "file" / "history.sqlite3")


def test_a_history_that_is_a_folder(path):
    path.mkdir(parents=True)
    with pytest.raises(Unavailable, match="cannot be written"):
        open_history(path)


def test_a_history_that_may_only_be_read(path):
    work = kept(path)
    history = open_history(path)
    history._db.execute("PRAGMA query_only = ON")
    with pytest.raises(Unavailable, match="cannot be written"):
        history.rename(work.id, "x")
    assert history.work(work.id).title == ""
    history.close()


def test_an_old_sqlite_is_named(path, monkeypatch):
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 30, 0))
    with pytest.raises(HistoryError, match=r"3\.37"):
        open_history(path)
