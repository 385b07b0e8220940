"""The top line: model, form, what is going on, and the pace."""

from __future__ import annotations

from typing import ClassVar

from textual.widget import Widget

from tui.cells import cell_len, fit
from tui.widgets.lines import Line, Lines


class StatusLine(Lines):
    """Three parts on one line: left, middle, right; the middle gives way first."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"name", "quiet", "state"}
    DEFAULT_CSS = """
    StatusLine {
        height: 1;
        padding: 0 1;
        & > .name { text-style: bold; color: $accent; }
        & > .quiet { color: $text-muted; }
        & > .state { text-style: bold; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        Widget.__init__(self, id=id)
        self._parts = ("", "", "")

    def show(self, left: str, middle: str, right: str) -> None:
        """Model; form and settings; what is going on."""
        if (left, middle, right) != self._parts:
            self._parts = (left, middle, right)
            self.changed()

    def build(self, width: int, height: int) -> list[Line]:
        name = "吟窗 "
        left, middle, right = self._parts
        right = f"  {right}"
        right = fit(right, min(cell_len(right), max(0, width - cell_len(name))))
        room = width - cell_len(name) - cell_len(right)
        middle_room = max(0, room - cell_len(left) - 3)
        shown = f"{left}   {fit(middle, middle_room)}" if middle_room > 3 else left
        return [[(name, "name"), (fit(shown, room), "quiet"), (right, "state")]]
