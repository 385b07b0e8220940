"""A page of lines that is scrolled, laid out anew for every width.

Knows how to draw (text, style name) pairs; knows nothing of what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.widgets.lines import Line, line_width

Layout = Callable[[int], list[Line]]
"""The lines for a width in cells; longer ones can be scrolled to."""


class Paper(ScrollView, can_focus=True):
    """Shows what a layout gives."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "quiet",
        "strong",
        "good",
        "bad",
        "series0",
        "series1",
        "series2",
        "series3",
        "series4",
        "series5",
    }
    DEFAULT_CSS = """
    Paper {
        border: round $foreground 30%;
        border-title-color: $foreground;
        border-subtitle-color: $text-muted;
        padding: 0 1;
        overflow-x: auto;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 1;
        &:focus { border: heavy $border; }
        & > .quiet { color: $text-muted; }
        & > .strong { text-style: bold; }
        & > .good { color: $success; }
        & > .bad { color: $error; text-style: bold; }
        & > .series0 { color: $accent; }
        & > .series1 { color: $secondary; }
        & > .series2 { color: $success; }
        & > .series3 { color: $warning; }
        & > .series4 { color: $primary; }
        & > .series5 { color: $foreground; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._layout: Layout = lambda width: []
        self._lines: list[Line] = []
        self._laid_for = 0

    def show(self, layout: Layout, *, from_top: bool) -> None:
        """Show what ``layout`` gives at this width and at every later one."""
        self._layout = layout
        self._lay()
        if from_top:
            self.scroll_home(animate=False, immediate=True)

    def plain(self) -> str:
        """Everything on the page, in sight or not."""
        return "\n".join("".join(text for text, _ in line) for line in self._lines)

    def on_resize(self, event: events.Resize) -> None:
        """Lay the page out for the new width."""
        if self._width() != self._laid_for:
            self._lay()

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width, own = self.size.width, self.visual_style.rich_style
        if top + y >= len(self._lines):
            return Strip.blank(width, own)
        segments = [
            Segment(text, self.get_component_rich_style(style) if style else own)
            for text, style in self._lines[top + y]
            if text
        ]
        return Strip(segments).crop_extend(left, left + width, own)

    def _width(self) -> int:
        return max(20, self.scrollable_content_region.width)

    def _lay(self) -> None:
        self._laid_for = self._width()
        self._lines = self._layout(self._laid_for)
        widest = max((line_width(line) for line in self._lines), default=0)
        self.virtual_size = Size(max(widest, 1), len(self._lines))
        self.refresh()
