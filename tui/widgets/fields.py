"""A pane of fields: moving between them, text fields that keep what is pasted, and a
line that says what was refused.

Knows nothing of what the fields mean.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from model.errors import visible
from tui.cells import shown, shown_lines

LABEL = 11
"""Cells of a field's name, after one for the mark of focus."""


class FieldPane(VerticalScroll, can_focus=False):
    """Fields under each other; up and down go from one to the next."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "field(-1)", "Field up", show=False),
        Binding("down", "field(1)", "Field down", show=False),
    ]
    DEFAULT_CSS = """
    FieldPane {
        border: round $foreground 30%;
        border-title-color: $foreground;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        border-subtitle-color: $text-muted;
        &:focus-within { border: round $border; }
    }
    """
    _last: Widget | None = None

    def fields(self) -> list[Widget]:
        """What can take the focus, from the top down."""
        widgets = self.query("*").results(Widget)
        return [widget for widget in widgets if widget.focusable and widget.display]

    def focus_field(self) -> None:
        """Focus the field that was used last, at first the topmost."""
        fields = self.fields()
        if fields:
            (self._last if self._last in fields and self._last else fields[0]).focus()

    def action_field(self, by: int) -> None:
        """Go to the next field, or stay where there is none."""
        fields = self.fields()
        focused = self.screen.focused
        if focused in fields and focused:
            fields[max(0, min(len(fields) - 1, fields.index(focused) + by))].focus()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._last = event.widget


class Refusal(Static):
    """Why something was refused; takes no room while there is nothing to say."""

    DEFAULT_CSS = """
    Refusal { height: auto; width: 1fr; color: $text-error; text-style: bold; display: none; }
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("", markup=False, **kwargs)
        self.text = ""

    def say(self, text: str) -> None:
        """Show ``text``, literally; nothing for an empty one. The ! is for those who see no
        colours."""
        if text != self.text:
            self.text = text
            self.display = bool(text)
            self.update(Content(f"! {shown_lines(text)}") if text else Content(""))


class TextField(Input):
    """One line of text. What is pasted is kept whole, by ``join``; Enter or leaving the
    field hands the text over, Escape takes it back to what was handed over last."""

    DEFAULT_CSS = """
    TextField { width: 1fr; background: transparent; &:focus { text-style: underline; } }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "revert", "Take back", show=False),
    ]

    @dataclass
    class Entered(Message):
        """The text is to be used."""

        field: TextField
        text: str

        @property
        def control(self) -> TextField:
            return self.field

    @dataclass
    class Refused(Message):
        """Text that cannot be typed here was pasted; the field is as it was."""

        field: TextField
        reason: str

    def __init__(
        self,
        join: Callable[[str], str],
        *,
        placeholder: str = "",
        id: str | None = None,  # noqa: A002
    ) -> None:
        """``join`` makes one line of what was pasted, which may have several."""
        super().__init__(placeholder=placeholder, id=id, compact=True, select_on_focus=False)
        self._join = join
        self.entered = ""

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where the terminal's cursor goes, and with it an input method's window. At the end
        of the text ``Input`` itself would put it a cell too far."""
        x, y, _, _ = self.content_region
        cells = self._position_to_cell(self.cursor_position)
        return Offset(x + cells - self.scroll_offset.x, y)

    def put(self, text: str) -> None:
        """Show ``text`` as what holds, without a message."""
        self.entered = text
        if text != self.value:
            with self.prevent(Input.Changed):
                self.value = text
            self.cursor_position = len(text)

    def enter(self) -> None:
        """Hand over what is in the field, where that is something new."""
        if self.value != self.entered:
            self.entered = self.value
            self.post_message(self.Entered(self, self.value))

    async def action_submit(self) -> None:
        self.enter()
        raise SkipAction  # Enter may mean more to the pane that the field is in

    def action_revert(self) -> None:
        """Back to the text that holds; where nothing changed, Escape is the app's."""
        if self.value == self.entered:
            raise SkipAction
        self.put(self.entered)

    def on_blur(self) -> None:
        self.enter()

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        stray = next((c for c in event.text if not _typable(c)), None)
        if stray is not None:
            self.post_message(self.Refused(self, f"{visible(stray)} cannot be typed here"))
        elif text := self._join(event.text):
            self.replace(text, *self.selection)


class Labelled(Horizontal):
    """A field's name before it, with the mark of focus in front of that."""

    DEFAULT_CSS = """
    Labelled {
        height: 1;
        & > Static { width: 13; height: 1; }
        &:focus-within > Static { text-style: bold; }
    }
    """

    def __init__(self, label: str, field: Widget) -> None:
        super().__init__()
        self._label, self._field = label, field

    def compose(self) -> ComposeResult:
        yield Static(Content(f" {shown(self._label)}"), markup=False)
        yield self._field

    def on_descendant_focus(self) -> None:
        self.query_one(Static).update(Content(f"▸{shown(self._label)}"))

    def on_descendant_blur(self) -> None:
        self.query_one(Static).update(Content(f" {shown(self._label)}"))


def _typable(char: str) -> bool:
    """Whether a character may stand in a field; a pasted line end may, it is joined away."""
    return char in "\r\n\t" or unicodedata.category(char) not in ("Cc", "Cs")
