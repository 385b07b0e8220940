"""What the parts that decide ask of the screen, so that they need no widgets to be tested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from model.config import CacheMode
from model.errors import UnknownCharacters
from model.speed import Reading
from model.steps import Inspection, Step
from tui.session import Branch, Unknown

Tone = Literal["information", "warning", "error"]


class View(Protocol):
    """What the conductor asks of the screen."""

    def show_branch(self, branch: Branch | None, cursor: int | None) -> None:
        """Show a whole branch, its poem from the start."""

    def append(self, branch: Branch, steps: Sequence[Step]) -> None:
        """Add new steps to the poem on show."""

    def move_cursor(self, cursor: int | None) -> None:
        """Mark the step that is looked at; ``None`` marks none."""

    def show_step(self, step: Step | None, index: int, total: int, live: bool) -> None:
        """Fill the table."""

    def show_preview(self, inspection: Inspection, step: Step, would_be: int) -> None:
        """Fill the table with a step as it would be under other settings."""

    def show_speed(self, reading: Reading | None, mode: CacheMode, allocated: int) -> None:
        """Fill the meter. ``allocated``: bytes of a full cache; 0 where it is not known."""

    def show_settings(self) -> None:
        """Show opening, controls, form and cache mode as the session has them."""

    def show_state(self) -> None:
        """Show model, form, progress and pace as they are now."""

    def opening_taken(self) -> None:
        """An edit of the opening has been taken in."""

    def note_opening(self, text: str) -> None:
        """Say beside the opening how the model reads it; empty: as it stands."""

    def refuse_form(self, text: str) -> None:
        """Say beside the form why it cannot be; empty: it can."""

    def say(self, text: str, tone: Tone = "information") -> None:
        """Tell the reader something in passing."""

    def ask_unknown(self, error: UnknownCharacters, answer: Callable[[Unknown], None]) -> None:
        """Ask what to do with characters that the model lacks; no call where nothing."""
