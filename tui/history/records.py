"""What the history holds, as plain records, and what can go wrong with it."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from corpora.errors import UserError
from model.steps import Finished

Kind = Literal["poem", "chat"]
Role = Literal["poem", "system", "user", "assistant"]
State = Literal["writing", "done", "stopped", "interrupted", "error"]
"""``interrupted``: the program that wrote it ended without ending it. ``stopped``: a person did."""

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Of ids: without letters that are read as a digit or spell words."""
ID_LENGTH = 8
TITLE_LENGTH = 80
"""Characters of a work's text that stand in for a title that nobody gave."""

_latest = 0
_telling = threading.Lock()
_SURROGATES = re.compile("[\ud800-\udfff]+")


class HistoryError(UserError):
    """The history cannot do what was asked of it."""


class Unavailable(HistoryError):
    """It cannot be read or written now: a full disk, a folder without leave, a lock."""


class Damaged(HistoryError):
    """The file is no history, or not whole."""


class NewerVersion(HistoryError):
    """A later version of the program has written the file."""


class Gone(HistoryError):
    """No such work or turn; somebody may have deleted it meanwhile."""


@dataclass(frozen=True, slots=True)
class Work:
    """A poem with its branches, or a conversation."""

    id: str
    kind: Kind
    model: str
    """Name of the model that it was begun with."""
    created: int
    """Microseconds since 1970, UTC."""
    updated: int
    """The same, of the last change to its text, title or branch."""
    title: str = ""
    """As a person gave it; empty where nobody did."""
    active: str | None = None
    """Id of the turn whose path is on show: for a poem, the branch."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Whatever a front end wants back; JSON."""
    opening: str = ""
    """The beginning of what stands for a title: a poem's active branch, a chat's first
    question. At most ``TITLE_LENGTH`` characters."""
    state: State | None = None
    """Of the active turn; ``writing`` where any turn is being written; None without turns."""
    turns: int = 0
    """How many turns or branches there are."""

    @property
    def name(self) -> str:
        """What to call it in a list, on one line."""
        words = self.title or self.opening
        return " ".join(words.split()) or ("poem" if self.kind == "poem" else "conversation")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation, or one branch of a poem."""

    id: str
    work: str
    role: Role
    text: str
    state: State
    created: int
    updated: int
    parent: str | None = None
    """The turn that this one follows or answers. Turns with the same parent are siblings:
    another answer, or an earlier turn edited. Branches of a poem have none."""
    origin: str | None = None
    """The turn whose first ``fork`` tokens this one shares: it was forked there."""
    fork: int = 0
    model: str = ""
    """Name of the model that wrote it; empty for what people wrote."""
    controls: Mapping[str, Any] | None = None
    """The ``Controls`` (seed included) that writing began with, as ``asdict`` gives them."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Whatever a front end wants back; JSON. A poem: opening, form, chosen characters."""
    finished: Finished | None = None
    """How writing ended; None while it goes on, for an interrupted turn, and for what people
    wrote."""

    @property
    def seed(self) -> int | None:
        """The seed that writing began with."""
        return self.controls.get("seed") if self.controls else None


@dataclass(frozen=True, slots=True)
class Hit:
    """A turn that was found, and where in it."""

    work: Work
    turn: str
    role: Role
    snippet: str
    """A line of the text around the first place."""
    marks: tuple[tuple[int, int], ...]
    """What was found in the snippet: [start, end) in characters, in order."""


def new_id() -> str:
    """An id that no other program on any machine will have drawn, 40 random bits."""
    return "".join(secrets.choice(ALPHABET) for _ in range(ID_LENGTH))


def now() -> int:
    """Microseconds since 1970, UTC; later than every answer before it in this process."""
    global _latest
    with _telling:
        _latest = max(_latest + 1, time.time_ns() // 1000)
        return _latest


def local_time(microseconds: int) -> datetime:
    """The same in the reader's time zone."""
    return datetime.fromtimestamp(microseconds / 1e6).astimezone()


def storable(text: str) -> str:
    """``text`` as a file can hold it: halves of a surrogate pair are joined, a lone one and
    NUL, which SQLite takes for the end of a text, become U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "�")
    return _SURROGATES.sub(_joined, text) if _SURROGATES.search(text) else text


def _joined(match: re.Match[str]) -> str:
    return match[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def state_of(finished: Finished) -> State:
    """The state of a turn that ended so."""
    if finished.reason == "error":
        return "error"
    return "stopped" if finished.reason == "cancelled" else "done"
