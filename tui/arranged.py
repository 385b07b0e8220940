"""A screen with a text on the left, the instruments beside it and a line to type in below:
what the poem and the conversation have in common.

Knows how much room there is; knows nothing of what is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from model.config import CacheMode
from model.speed import Reading
from model.steps import Inspection, Step
from tui.view import Tone

if TYPE_CHECKING:
    from tui.instruments import Instruments

SMALLEST = (60, 20)
WIDE = 100
TALL = 32
"""From so many columns and rows on all instruments are shown at once."""
VERY_WIDE = 160
"""From so many columns on text and instruments have the same room."""


class ArrangedScreen(Screen[None]):
    """Its ``compose`` must have ``#body``, in it ``#instruments``, and ``#too-small``."""

    _instruments: Instruments | None = None

    def on_mount(self) -> None:
        """Fit the panes to the terminal."""
        self._arrange(*self.app.size)

    def on_resize(self, event: events.Resize) -> None:
        """Arrange the panes anew."""
        self._arrange(event.size.width, event.size.height)

    async def mount_instruments(self, *, with_form: bool = True) -> None:
        """Add the panes beside the text. They come after the first frame, which shows where
        to type, and are imported only here: together they take as long as that frame."""
        from tui.instruments import Instruments

        instruments = Instruments(with_form=with_form)
        await self.query_one("#instruments").mount(instruments)
        self._instruments = instruments

    def show_step(self, step: Step | None, index: int, total: int, live: bool) -> None:
        """Fill the table."""
        if self._instruments is not None:
            self._instruments.show_step(step, index, total, live)

    def show_preview(self, inspection: Inspection, step: Step, would_be: int) -> None:
        """Fill the table with a step as it would be."""
        if self._instruments is not None:
            self._instruments.show_preview(inspection, step, would_be)

    def show_speed(self, reading: Reading | None, mode: CacheMode, allocated: int) -> None:
        """Fill the meter."""
        if self._instruments is not None:
            self._instruments.show_speed(reading, mode, allocated)

    def next_pane(self) -> None:
        """Go to the next instrument, and show it where only one has room."""
        if self._instruments is not None:
            self._instruments.next_pane()

    def selected_text(self) -> str:
        """What is selected, in a field or on the screen."""
        # every kind of field has it; asking for the kinds would import them all
        in_field = getattr(self.focused, "selected_text", "")
        return str(in_field) or self.get_selected_text() or ""

    def stop_writing(self) -> bool:
        """End what is being written; False where nothing is."""
        raise NotImplementedError

    def say(self, text: str, tone: Tone = "information") -> None:
        """Tell the reader something in passing."""
        self.app.notify(text, severity=tone, markup=False, timeout=8 if tone == "error" else 5)

    def _arrange(self, width: int, height: int) -> None:
        small = width < SMALLEST[0] or height < SMALLEST[1]
        self.set_class(small, "-small")
        self.set_class(width < WIDE, "-narrow")
        self.set_class(width >= VERY_WIDE, "-wide")
        self.set_class(height < TALL, "-short")
        if small:
            self.query_one("#too-small", Static).update(
                Content(
                    f"吟窗 needs {SMALLEST[0]}×{SMALLEST[1]} characters; this terminal has "
                    f"{width}×{height}.\nMake it larger and everything is there again."
                )
            )
