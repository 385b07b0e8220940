"""A widget drawn line by line from plain strings.

Knows how to turn (text, style name) pairs into what Textual shows; knows nothing of
what they say. Nothing on this way reads markup, so ``[/`` in a poem is text, and an
update costs one repaint of the widget's own lines and no layout.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from tui.cells import cell_len, shown

Run = tuple[str, str]
"""Text and the name of its style: one of ``COMPONENT_CLASSES``, or "" for the widget's own."""
Line = list[Run]


def set_title(widget: Widget, title: str, subtitle: str | None = None) -> None:
    """The text in a widget's border, above and, where given, below; never markup."""
    widget.border_title = Content(shown(title))
    if subtitle is not None:
        widget.border_subtitle = Content(shown(subtitle))


def line_width(line: Iterable[Run]) -> int:
    """Cells that a line takes."""
    return sum(cell_len(text) for text, _ in line)


def wrap(parts: Iterable[str], width: int, separator: str = " · ") -> list[str]:
    """Join ``parts`` with ``separator`` into lines of at most ``width`` cells; a part is
    broken only where it is longer than a line."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]}{separator}{part}" if lines else part
        if lines and cell_len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(part)
    return lines


class Lines(Widget):
    """Draws what ``build`` returns; call ``changed`` when that would be something else."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set()
    _built: list[Line] | None = None
    _built_for = Size(0, 0)

    def build(self, width: int, height: int) -> list[Line]:
        """The lines for a content area of so many cells. Longer lines are cut, missing
        ones are blank."""
        raise NotImplementedError

    def changed(self) -> None:
        """What is shown is out of date: draw it again, at the size it has."""
        self._built = None
        self.refresh()

    def lines(self) -> list[Line]:
        """The lines at the present size, built at most once an update."""
        if self._built is None or self._built_for != self.size:
            self._built, self._built_for = self.build(*self.size), self.size
        return self._built

    def plain(self) -> str:
        """What is shown, as text: for tests and for copying."""
        return "\n".join("".join(text for text, _ in line) for line in self.lines())

    def render_line(self, y: int) -> Strip:
        lines = self.lines()
        width = self.size.width
        own = self.visual_style.rich_style  # kept by Textual; ``rich_style`` is worked out anew
        if not 0 <= y < len(lines):
            return Strip.blank(width, own)
        segments = [
            Segment(text, self.get_component_rich_style(style) if style else own)
            for text, style in lines[y]
            if text
        ]
        return Strip(segments).adjust_cell_length(width, own)
