"""The line in which the opening of a poem is typed.

Takes what keyboards, input methods and the clipboard give; what cannot be part of an
opening is left out and said. Knows nothing of models: the app says how it is read.
"""

from __future__ import annotations

from textual import events
from textual.geometry import Offset
from textual.widgets import Input

from tui.entry import clean
from tui.messages import OpeningEdited, OpeningSubmitted, Told
from tui.widgets.lines import set_title

PROMPT = "e.g. 床前明月光, or nothing at all"


class OpeningPane(Input):
    """One line of text; Enter writes."""

    DEFAULT_CSS = """
    OpeningPane {
        border: round $foreground 30%;
        border-title-color: $foreground;
        border-subtitle-color: $text-muted;
        height: 3;
        padding: 0 1;
        background: $background;
        &:focus { border: round $border; background-tint: $foreground 0%; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(placeholder=PROMPT, select_on_focus=False, id=id)
        self._untold = 0  # edits that the app has not taken in yet
        set_title(self, "Opening", "Enter writes")

    def show(self, text: str) -> None:
        """Put ``text`` there without telling that it was edited; typing replaces it. While
        edits are on their way to the app the reader is ahead of it: nothing changes."""
        if text != self.value and not self._untold:
            with self.prevent(Input.Changed):
                self.value = text
                self.select_all()
            self._untold = 0

    def taken(self) -> None:
        """The app has taken in one ``OpeningEdited``."""
        self._untold = max(0, self._untold - 1)

    def watch_value(self) -> None:
        """Count what the app will hear of later."""
        self._untold += 1

    def note(self, text: str) -> None:
        """The words in the border: how the opening is read, or what Enter does."""
        set_title(self, "Opening", text or "Enter writes")

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where the terminal's cursor stands, and with it an input method's window. Input
        itself is a cell off at the end of the text."""
        x, y, _, _ = self.content_region
        cell = self._position_to_cell(self.cursor_position)
        return Offset(x + cell - self.scroll_offset.x, y)

    def replace(self, text: str, start: int, end: int) -> None:
        """Every insertion comes through here: keys, input methods, the clipboard."""
        kept, told = clean(text)
        if told:
            self.post_message(Told(f"In the opening: {told}"))
        if kept or not text:
            super().replace(kept, start, end)

    def _on_paste(self, event: events.Paste) -> None:
        # Input would keep the first line only
        event.stop()
        event.prevent_default()
        self.replace(event.text, *sorted(self.selection))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(OpeningEdited(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        # What was written from stays to be read or edited; typing begins another opening.
        self.select_all()
        self.post_message(OpeningSubmitted(event.value))
