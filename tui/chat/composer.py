"""The lines in which a message is typed.

Takes what keyboards, input methods and the clipboard give, all lines of it. Knows nothing of
conversations.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import TextArea
from textual.widgets.text_area import EditResult, Location

from tui.entry import clean_lines
from tui.messages import Submitted, Told

Mode = Literal["ask", "edit", "system"]
TITLES: dict[Mode, tuple[str, str]] = {
    "ask": ("Message", "Enter sends · ^J new line"),
    "edit": ("Your message in another way", "Enter asks it anew · Esc leaves it"),
    "system": ("System prompt", "Enter begins anew under it · Esc leaves it"),
}
"""What is typed for: the title above it, and what the keys do."""
NEW_LINE = frozenset({"shift+enter", "alt+enter", "ctrl+enter", "ctrl+j"})
"""Terminals differ in which of these they tell apart from Enter; ^J works in all."""


class Composer(TextArea, inherit_bindings=False):
    """Enter sends."""

    # the function keys are the screen's, and would stand in the footer twice
    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in TextArea.BINDINGS
        if not (isinstance(binding, Binding) and binding.key in ("f6", "f7"))
    ]

    DEFAULT_CSS = """
    Composer {
        border: round $foreground 30%;
        border-title-color: $foreground;
        border-subtitle-color: $text-muted;
        height: auto;
        min-height: 3;
        max-height: 10;
        padding: 0 1;
        background: $background;
        scrollbar-size-vertical: 1;
        &:focus { border: round $border; background-tint: $foreground 0%; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(
            placeholder="Ask something: the model runs here, offline",
            highlight_cursor_line=False,
            show_line_numbers=False,
            id=id,
        )

    def put(self, text: str) -> None:
        """Have ``text`` there, the cursor at its end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter" or event.key in NEW_LINE:
            event.stop()
            event.prevent_default()
            if event.key == "enter":
                self.post_message(Submitted(self.text))
            else:
                self._replace_via_keyboard("\n", *self.selection)
            return
        await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._replace_via_keyboard(event.text, *self.selection)

    def _replace_via_keyboard(
        self, insert: str, start: Location, end: Location
    ) -> EditResult | None:
        """Every insertion comes through here: keys, input methods, the clipboard."""
        kept, told = clean_lines(insert)
        if told:
            self.post_message(Told(f"In the message: {told}"))
        return super()._replace_via_keyboard(kept, start, end)
