"""The main screen: where the panes stand, and how the session looks in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from model.errors import UnknownCharacters
from model.steps import Step
from tui.arranged import ArrangedScreen
from tui.cells import cell_len, fit
from tui.commands import COMMANDS, FOOTER, bindings
from tui.dialogs import Picker
from tui.panes.opening import OpeningPane
from tui.panes.poem import PoemPane
from tui.panes.status import StatusLine
from tui.session import BY_KEY, Branch, Session, Unknown
from tui.widgets.footer import WholeKeys
from tui.widgets.lines import wrap

ENDINGS = {
    "end_of_poem": "the end of the poem",
    "form_complete": "the form is full",
    "stop_string": "ended by a stop string",
    "length": "as long as allowed",
    "cancelled": "stopped",
    "dead_end": "no way on",
    "error": "broken off",
}

BORDER = 6
"""Cells of a border beside its words."""
LISTED = 66
"""Cells of a line of the branch list."""
DEEPEST = 6
"""Forks of forks are set in so many times at most."""


class MainScreen(ArrangedScreen):
    """Implements ``tui.view.View`` with the panes."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(COMMANDS, FOOTER)]
    AUTO_FOCUS = "OpeningPane"

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.model_title = ""
        """The model in use, or what is being waited for."""
        self.writing: Callable[[], Branch | None] = lambda: None
        self.waiting: Callable[[], bool] = lambda: False
        self.stop: Callable[[], bool] = lambda: False
        self.warning = ""
        """What the reader must not lose sight of, in a word or two."""

    def compose(self) -> ComposeResult:
        yield StatusLine(id="status")
        with Horizontal(id="body"):
            yield PoemPane(id="poem")
            yield Vertical(id="instruments")
        yield OpeningPane(id="opening")
        yield WholeKeys()
        yield Static(id="too-small")

    def stop_writing(self) -> bool:
        return self.stop()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.call_after_refresh(self.show_state)  # there is room for other words

    # what the conductor calls

    def show_branch(self, branch: Branch | None, cursor: int | None) -> None:
        self.query_one(PoemPane).show_branch(branch, cursor)
        if self._instruments is not None:
            self._instruments.show_constrained(branch is not None and branch.form.constrains)

    def append(self, branch: Branch, steps: Sequence[Step]) -> None:
        self.query_one(PoemPane).append(steps)

    def move_cursor(self, cursor: int | None) -> None:
        self.query_one(PoemPane).move_cursor(cursor)

    def show_settings(self) -> None:
        settings = self._session.settings
        self.query_one(OpeningPane).show(settings.opening)
        if self._instruments is not None:
            self._instruments.show_settings(settings.controls, settings.seed_fixed, settings.form)

    def show_look(self) -> None:
        """Draw the poem in the script and with the helps that are wanted."""
        look = self._session.look
        self.query_one(PoemPane).set_look(
            traditional=look.traditional, pinyin=look.pinyin, shading=look.shading
        )

    def show_state(self) -> None:
        settings, look = self._session.settings, self._session.look
        middle = f"{settings.form.describe()} · cache {settings.controls.cache}"
        if settings.poems > 1:
            middle += f" · {settings.poems} poems"
        if self.warning:
            middle = f"{self.warning} · {middle}"
        self.query_one(StatusLine).show(
            self.model_title, middle, f"{self._doing()} · {pace_words(look.pace)}"
        )
        self.query_one(PoemPane).set_state(*self._poem_words())

    def opening_taken(self) -> None:
        self.query_one(OpeningPane).taken()

    def note_opening(self, text: str) -> None:
        self.query_one(OpeningPane).note(text)

    def refuse_form(self, text: str) -> None:
        if self._instruments is not None:
            self._instruments.refuse_form(text)

    def ask_unknown(self, error: UnknownCharacters, answer: Callable[[Unknown], None]) -> None:
        def chosen(choice: str | None) -> None:
            if choice in ("drop", "unk"):
                answer(cast(Unknown, choice))

        self.app.push_screen(
            Picker(
                f"The model does not know {' '.join(error.characters)}",
                [
                    ("edit", "change the opening"),
                    ("drop", "leave them out"),
                    ("unk", "let it read □ in their place"),
                ],
            ),
            chosen,
        )

    # words

    def _doing(self) -> str:
        if self.waiting():
            return "◌ waiting for the model"
        branch = self.writing()
        if branch is None:
            return "○ idle"
        length = branch.form.length
        done = len(branch.prompt) + len(branch.steps) if length else len(branch.steps)
        return f"● writing {done}/{length}" if length else f"● writing {done}"

    def _poem_words(self) -> tuple[str, str]:
        branch, branches = self._session.branch, self._session.branches
        if branch is None:
            return "Poem", ""
        place = branches.index(branch) + 1
        title = "Poem" if len(branches) == 1 else f"Poem · branch {place} of {len(branches)}"
        if not branch.finished:
            return title, ""  # the count stands in the status line: a border is dear to redraw
        written = sum(bool(step.text) for step in branch.steps)
        room = self.query_one(PoemPane).region.width - BORDER
        return title, wrap([ending(branch), f"{written} characters", "←→ back"], room)[0]


def branch_words(session: Session, branch: Branch) -> str:
    """A line of the branch list: where it came from, how it goes, how it ended."""
    depth, parent = 0, session.find(branch.parent)
    while parent is not None:
        depth, parent = depth + 1, session.find(parent.parent)
    indent = "  " * min(depth, DEEPEST)
    origin = f"{indent}└ from {branch.parent} at {branch.fork + 1} " if depth else ""
    text = branch.text.replace("\n", "")
    if branch.parent is not None and depth:
        start = sum(len(step.text) for step in branch.steps[: branch.fork]) + len(branch.prompt)
        text = f"…{text[max(0, start - 2) :]}"
    lead, tail = f"{branch.id} {origin}", f" · {ending(branch)}"
    return lead + fit(text, max(8, LISTED - cell_len(lead) - cell_len(tail))).rstrip() + tail


def ending(branch: Branch) -> str:
    """How a branch ended, in words."""
    if branch.finished is None:
        return "being written"
    if branch.finished.reason == "cancelled" and branch.finished.detail:
        return branch.finished.detail  # nobody stopped it: it was interrupted
    return ENDINGS[branch.finished.reason]


def pace_words(pace: float) -> str:
    """The pace as the status line says it."""
    if pace == BY_KEY:
        return "F4 by F4"
    return "full pace" if math.isinf(pace) else f"{pace:g}/s"
