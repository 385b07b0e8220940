"""What a conversation asks of its screen, so that it needs no widgets to be tested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from model.config import CacheMode, Controls
from model.speed import Reading
from model.steps import Inspection, Step
from tui.chat.dialogue import Dialogue, Turn
from tui.view import Tone


class ChatView(Protocol):
    """The screen, or nobody while it is closed."""

    @property
    def draft(self) -> str:
        """What is being typed."""

    def show_turns(self, dialogue: Dialogue, chosen: str | None, left_out: int) -> None:
        """Show the path of a conversation. ``chosen``: the turn that is stood on, ``None`` the
        newest; ``left_out``: messages, system prompt aside, that are read no more."""

    def choose(self, chosen: str | None) -> None:
        """Mark the turn that is stood on."""

    def grow(self, turn: Turn, steps: Sequence[Step]) -> None:
        """``turn`` has grown by ``steps``."""

    def show_tokens(self, turn: Turn | None, cursor: int | None) -> None:
        """Show a reply's tokens instead of the conversation; ``None``: the conversation."""

    def show_step(self, step: Step | None, index: int, total: int, live: bool) -> None:
        """Fill the table."""

    def show_preview(self, inspection: Inspection, step: Step, would_be: int) -> None:
        """Fill the table with a step as it would be under other settings."""

    def show_speed(self, reading: Reading | None, mode: CacheMode, allocated: int) -> None:
        """Fill the meter. ``allocated``: bytes of a full cache; 0 where it is not known."""

    def show_controls(self, controls: Controls, seed_fixed: bool) -> None:
        """Fill the sampler."""

    def show_state(self) -> None:
        """Show model, context and progress as they are now."""

    def say(self, text: str, tone: Tone = "information") -> None:
        """Tell the reader something in passing."""


class Nobody:
    """The view while the chat's screen is closed."""

    draft = ""

    def show_turns(self, dialogue: Dialogue, chosen: str | None, left_out: int) -> None:
        """Nothing is shown."""

    def choose(self, chosen: str | None) -> None:
        """Nothing is shown."""

    def grow(self, turn: Turn, steps: Sequence[Step]) -> None:
        """Nothing is shown."""

    def show_tokens(self, turn: Turn | None, cursor: int | None) -> None:
        """Nothing is shown."""

    def show_step(self, step: Step | None, index: int, total: int, live: bool) -> None:
        """Nothing is shown."""

    def show_preview(self, inspection: Inspection, step: Step, would_be: int) -> None:
        """Nothing is shown."""

    def show_speed(self, reading: Reading | None, mode: CacheMode, allocated: int) -> None:
        """Nothing is shown."""

    def show_controls(self, controls: Controls, seed_fixed: bool) -> None:
        """Nothing is shown."""

    def show_state(self) -> None:
        """Nothing is shown."""

    def say(self, text: str, tone: Tone = "information") -> None:
        """Nobody is told."""
