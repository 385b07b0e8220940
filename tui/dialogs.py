"""Small questions over the main screen: one of a list, a line of text, a page to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.cells import shown
from tui.widgets.lines import set_title

FRAME = """
    align: center middle;
    & > .box {
        width: 72; max-width: 96%; height: auto; max-height: 90%;
        border: round $border; background: $surface; padding: 0 1;
        border-subtitle-color: $text-muted;
    }
"""


class Picker(ModalScreen[str | None]):
    """One of several; Escape picks none."""

    DEFAULT_CSS = (
        "Picker {"
        + FRAME
        + " & OptionList { height: auto; max-height: 20; background: $surface; }"
        + " & OptionList, & OptionList:focus { border: none; } }"
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Close")]

    def __init__(
        self, title: str, options: Sequence[tuple[str, str]], chosen: str | None = None
    ) -> None:
        """``options``: (id, words); ``chosen``: the one to stand on."""
        super().__init__()
        self._title = title
        self._options = options
        self._chosen = chosen

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            set_title(box, self._title, "Enter chooses · Esc closes")
            yield OptionList(
                *(Option(Content(shown(words)), id=key) for key, words in self._options)
            )

    def on_mount(self) -> None:
        """Stand on what is in force."""
        keys = [key for key, _ in self._options]
        if self._chosen in keys:
            self.query_one(OptionList).highlighted = keys.index(self._chosen)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)


class Ask(ModalScreen[str | None]):
    """A line of text; Escape gives none."""

    DEFAULT_CSS = f"""
    Ask {{ {FRAME}
        & Input, & Input:focus {{ border: none; height: 1; }}
        & Static {{ color: $text-muted; }}
    }}
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Close")]

    def __init__(self, title: str, value: str, hint: str = "") -> None:
        super().__init__()
        self._title = title
        self._value = value
        self._hint = hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            set_title(box, self._title, "Enter · Esc closes")
            yield Input(self._value, select_on_focus=False)
            yield Static(Content(shown(self._hint)))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class Page(ModalScreen[None]):
    """Something to read."""

    DEFAULT_CSS = (
        "Page {"
        + FRAME
        + " & > .box { width: 90; } & VerticalScroll { height: auto; max-height: 100%; } }"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,enter", "dismiss(None)", "Close"),
    ]

    def __init__(self, title: str, content: Widget) -> None:
        super().__init__()
        self._title = title
        self._content = content

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box") as box:
            set_title(box, self._title, "↑↓ scroll · Esc closes")
            yield self._content
