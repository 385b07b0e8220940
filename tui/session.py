"""The state of the window, without a window.

Knows the opening, the settings, the branches and what undo goes back to. Knows
nothing of Textual, and imports neither torch nor a model: a step is a plain record.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from corpora.forms import FORMS
from model.config import POEM_SAMPLER, Controls
from model.labels import label, width_name
from model.steps import Finished, Step

if TYPE_CHECKING:
    from model.constraints import Constraint

FormKind = Literal["free", "acrostic", "fixed"]
Unknown = Literal["error", "drop", "unk"]

BY_KEY = 0.0
UNLIMITED = math.inf
PACES = (2.0, 5.0, 10.0, 25.0, 60.0, UNLIMITED, BY_KEY)
"""What the pace key goes through: characters a second, as fast as it goes, by key."""
UNDO_DEPTH = 200
GESTURE_S = 1.0
"""Changes of one thing that follow each other this closely, in seconds, are one edit."""


@dataclass(frozen=True, slots=True)
class FormSettings:
    """What shape the next poem shall have."""

    kind: FormKind = "free"
    heads: str = ""
    """First characters of the lines. An acrostic needs them, a fixed form may have them
    (an acrostic 七绝), free verse ignores them."""
    form: str = "七绝"
    """The fixed form: a name of ``corpora.forms.FORMS``."""
    characters: Literal[5, 7] = 7
    """Characters a line of an acrostic."""

    def constraint(self) -> Constraint | None:
        """The constraint; ``None`` for free verse. Imports torch.

        Raises ``ConstraintError`` or ``SettingError`` where no text can satisfy it.
        """
        from model.constraints import Acrostic, FixedForm

        if self.kind == "free":
            return None
        if self.kind == "acrostic":
            return Acrostic(self.heads, self.characters)
        return FixedForm(FORMS[self.form], self.heads)

    @property
    def constrains(self) -> bool:
        """Whether there is a form that a text must keep to."""
        return self.kind != "free"

    def describe(self) -> str:
        """On one line: ``七绝 · 藏头 春眠不觉``; ``free`` without a form."""
        if self.kind == "free":
            return "free"
        if self.kind == "acrostic":
            return label(width_name(self.characters), self.heads or "?")
        return label(self.form, self.heads)

    @property
    def length(self) -> int | None:
        """Characters of the whole poem, line ends included; ``None`` in free verse."""
        if self.kind == "free":
            return None
        if self.kind == "acrostic":
            return len(self.heads) * (self.characters + 1)
        return FORMS[self.form].length


@dataclass(slots=True)
class Branch:
    """One way a poem went. A fork is a branch that shares its first steps with another."""

    id: int
    """Counts from 1 and is never used again."""
    prompt: str
    """The opening that the model read, in simplified characters."""
    form: FormSettings
    model: str
    """Name of the model that wrote it: no other may go on with it."""
    parent: int | None = None
    """Id of the branch it was forked from."""
    fork: int = 0
    """Steps shared with the parent; step ``fork`` is the token that the reader chose."""
    chosen: frozenset[int] = frozenset()
    """Indices of steps whose token a reader chose, in this branch or where it came from."""
    unknown: Unknown = "error"
    """What was done with characters of the prompt that the model does not know."""
    steps: list[Step] = field(default_factory=list)
    """Every generated step from the start, those shared with the parent included."""
    finished: Finished | None = None
    turn: str | None = None
    """Id under which the history keeps it; None as long as it does not."""
    work: str | None = None
    """Id of the poem in the history whose branch it is."""
    origin: str | None = None
    """As ``parent``, by its id in the history: there are branches that no session holds."""

    @property
    def text(self) -> str:
        """Opening and what was written, as shown."""
        written = "".join(step.text for step in self.steps)
        return self.prompt + written + (self.finished.text if self.finished else "")

    @property
    def tokens(self) -> tuple[int, ...]:
        """The generated tokens."""
        return tuple(step.token for step in self.steps)


@dataclass(frozen=True, slots=True)
class Settings:
    """What undo brings back beside the branches."""

    opening: str = ""
    controls: Controls = field(default_factory=lambda: Controls(POEM_SAMPLER, max_tokens=200))
    seed_fixed: bool = False
    """Every poem uses the seed shown; else each poem draws a new one."""
    form: FormSettings = field(default_factory=FormSettings)
    poems: int = 1
    """How many poems one Enter writes, each from its own seed."""


@dataclass(slots=True)
class Look:
    """How things are shown; no part of what undo covers."""

    pace: float = 10.0
    """Characters a second; ``UNLIMITED``, or ``BY_KEY`` for one at each key press."""
    traditional: bool = False
    pinyin: bool = False
    shading: bool = False
    dark: bool = True


@dataclass(frozen=True, slots=True)
class Mark:
    """A state to come back to."""

    what: str
    """What was done after it, in words: ``fork``."""
    settings: Settings
    branches: tuple[Branch, ...]
    current: int | None
    cursor: int | None


class Session:
    """Everything that the window shows and that comes back on the next start."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock``: seconds, for telling one gesture from the next."""
        self.settings = Settings()
        self.look = Look()
        self.model = ""
        """Name of the model in use, or wished for while it loads."""
        self.branches: list[Branch] = []
        """In order of creation."""
        self.current: int | None = None
        """Id of the branch on show."""
        self.cursor: int | None = None
        """Index of the step looked at; ``None`` is the newest, -1 is before the first."""
        self.chat: dict[str, Any] = {}
        """How the chat stands, as its room wrote it down; JSON."""
        self._next_id = 1
        self._clock = clock
        self._done: list[Mark] = []
        self._undone: list[Mark] = []
        self._gesture: tuple[str, float] | None = None

    # branches

    @property
    def branch(self) -> Branch | None:
        """The branch on show."""
        return self.find(self.current)

    def find(self, branch_id: int | None) -> Branch | None:
        """The branch of this id; ``None`` where undo has taken it away."""
        return next((b for b in self.branches if b.id == branch_id), None)

    def add(self, branch: Branch) -> Branch:
        """Take in a branch under a new id and show its newest step."""
        branch.id = self._next_id
        self._next_id += 1
        self.branches = [*self.branches, branch]
        self.current, self.cursor = branch.id, None
        return branch

    def take(self, branches: list[Branch], current: int | None, cursor: int | None) -> None:
        """Take over the branches of a kept session."""
        self.branches = branches
        self._next_id = max(self._next_id, 1 + max((branch.id for branch in branches), default=0))
        known = self.find(current) is not None
        self.current = current if known else (branches[-1].id if branches else None)
        self.cursor = cursor if known else None

    def forget(self, work: str) -> None:
        """Take away the branches of a poem that the history no longer has."""
        left = [branch for branch in self.branches if branch.work != work]
        for branch in self.branches:
            if branch.work == work:
                branch.turn = branch.work = branch.origin = None
        self.take(left, self.current, self.cursor)

    def show(self, branch_id: int) -> None:
        """Make a branch the one on show, at its newest step."""
        if self.find(branch_id):
            self.current, self.cursor = branch_id, None

    def sibling(self, delta: int) -> Branch | None:
        """The branch ``delta`` places on in the list, around its ends."""
        if not self.branches or self.branch is None:
            return None
        place = self.branches.index(self.branch)
        return self.branches[(place + delta) % len(self.branches)]

    @property
    def index(self) -> int:
        """Index of the step under the cursor: the newest one where the cursor is free;
        -1 where there is none."""
        total = len(self.branch.steps) if self.branch else 0
        return total - 1 if self.cursor is None else min(self.cursor, total - 1)

    @property
    def step(self) -> Step | None:
        """The step under the cursor."""
        return self.branch.steps[self.index] if self.branch and self.index >= 0 else None

    def look_at(self, index: int) -> None:
        """Put the cursor on step ``index``, or let it follow where that is past the newest.
        -1 is the opening."""
        total = len(self.branch.steps) if self.branch else 0
        self.cursor = None if index >= total else max(-1, index)

    # settings, undo and redo

    def change(self, what: str, **changes: object) -> None:
        """Change settings so that undo brings the old ones back. ``what`` names the change;
        changes of the same name in quick succession are undone together."""
        changed = replace(self.settings, **changes)  # type: ignore[arg-type]
        if changed != self.settings:
            self.remember(what, joins=True)
            self.settings = changed

    def remember(self, what: str, *, joins: bool = False) -> None:
        """Call before a change: undo comes back to how things are now."""
        now = self._clock()
        same = self._gesture is not None and self._gesture[0] == what
        if not (joins and same and self._gesture and now - self._gesture[1] < GESTURE_S):
            self._done = [*self._done[1 - UNDO_DEPTH :], self._mark(what)]
        self._gesture = (what, now) if joins else None
        self._undone.clear()

    def undo(self) -> str | None:
        """Go back by one change; what was undone in words, ``None`` where nothing is left."""
        return self._travel(self._done, self._undone)

    def redo(self) -> str | None:
        """Go forward again; as ``undo``."""
        return self._travel(self._undone, self._done)

    def _travel(self, source: list[Mark], target: list[Mark]) -> str | None:
        if not source:
            return None
        mark = source.pop()
        target.append(self._mark(mark.what))
        self.settings, self.branches = mark.settings, list(mark.branches)
        self.current, self.cursor = mark.current, mark.cursor
        self._gesture = None
        return mark.what

    def _mark(self, what: str) -> Mark:
        return Mark(what, self.settings, tuple(self.branches), self.current, self.cursor)
