"""The kept session: settings, poems and branches, in a file that is whole or not there.

One line of JSON for the head and one for each branch, written to a temporary file,
flushed and renamed. Two windows at once keep two sessions: each locks a numbered place.
A file that cannot be read is set aside under another name, never deleted, never fatal.
Knows the session and files; knows nothing of Textual or threads.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tui.keeping import branch_document, head_document, restore
from tui.session import Branch, Session

PLACES = 9
"""Windows that can keep a session at the same time."""
KEPT_BRANCHES = 40
KEPT_STEPS = 60_000
"""The newest branches are kept, up to so many and so many steps in all."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A session at one moment: what may be written on another thread."""

    head: str
    branches: tuple[Branch, ...]
    lengths: tuple[int, ...]
    """Steps of each branch at that moment."""
    ended: tuple[bool, ...]
    """Whether each had come to its end."""

    @property
    def key(self) -> object:
        """Equal for two snapshots that would make the same file."""
        return self.head, tuple(branch.id for branch in self.branches), self.lengths, self.ended


class Store:
    """One kept session. Methods may be called from any one thread at a time."""

    def __init__(self, folder: Path) -> None:
        """``folder`` is created when something is written."""
        self._folder = folder
        self._lock: IO[str] | None = None
        self.path = folder / "session.jsonl"
        """The file of this window, the first free place."""
        self._lines: dict[int, tuple[tuple[int, bool], str]] = {}
        self._claim()

    def load(self, session: Session) -> str:
        """Fill ``session``; what the reader must be told, empty where all is well."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            return self._set_aside(error)
        try:
            restore(session, [json.loads(line) for line in lines])
        except Exception as error:  # whatever a file can hold must not keep the window shut
            return self._set_aside(error)
        return ""

    def snapshot(self, session: Session) -> Snapshot:
        """What ``save`` needs; quick, to be taken where the session is changed."""
        kept: list[Branch] = []
        steps = 0
        for branch in reversed(session.branches[-KEPT_BRANCHES:]):
            steps += len(branch.steps)
            if kept and steps > KEPT_STEPS:
                break
            kept.insert(0, branch)
        head = json.dumps(head_document(session), ensure_ascii=False)
        return Snapshot(
            head,
            tuple(kept),
            tuple(len(branch.steps) for branch in kept),
            tuple(branch.finished is not None for branch in kept),
        )

    def save(self, snapshot: Snapshot) -> None:
        """Write the file. Raises ``OSError``; the old file is then still whole."""
        lines = [snapshot.head]
        for branch, length in zip(snapshot.branches, snapshot.lengths, strict=True):
            lines.append(self._line(branch, length))
        self._folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._folder, prefix=".session-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(line + "\n" for line in lines)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        finally:
            Path(name).unlink(missing_ok=True)

    def _line(self, branch: Branch, length: int) -> str:
        """The branch's line; encoded again only where it has grown or ended since."""
        state = (length, branch.finished is not None)
        known = self._lines.get(branch.id)
        if known is None or known[0] != state:
            document = branch_document(branch, length)
            known = (state, json.dumps(document, ensure_ascii=False, separators=(",", ":")))
            self._lines[branch.id] = known
        return known[1]

    def _set_aside(self, error: Exception) -> str:
        aside = self.path.with_suffix(".unreadable")
        try:
            self.path.replace(aside)
        except OSError as second:
            return f"The kept session {self.path} cannot be read ({second}); it begins anew"
        return (
            f"The kept session could not be read ({type(error).__name__}: {error}). "
            f"It was set aside as {aside}, and a new one begins"
        )

    def _claim(self) -> None:
        """Lock the first free place; without locks on this system, or a folder that can be
        written, the first one is used unlocked."""
        try:
            import fcntl

            self._folder.mkdir(parents=True, exist_ok=True)
        except (ImportError, OSError):
            return
        for place in range(1, PLACES + 1):
            name = "session" if place == 1 else f"session-{place}"
            try:
                lock = (self._folder / f"{name}.lock").open("a", encoding="utf-8")
            except OSError:
                return
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                continue
            self._lock = lock  # held until the process ends, however it ends
            self.path = self._folder / f"{name}.jsonl"
            return

    def close(self) -> None:
        """Give the place back."""
        if self._lock:
            self._lock.close()
            self._lock = None
