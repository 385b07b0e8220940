"""One of several, and on or off: each a line or two, for keys and mouse.

Knows labels; knows nothing of what they stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from tui.cells import cell_len, fit
from tui.widgets.fields import LABEL
from tui.widgets.lines import Line, Lines

_CSS = """
{name} {{
    height: auto;
    & > .label {{ color: $text-muted; }}
    & > .chosen {{ text-style: bold; }}
    & > .focused {{ text-style: bold reverse; }}
    &:disabled > .chosen {{ color: $text-disabled; }}
}}
"""


class Choice(Lines, can_focus=True):
    """``label  (•) one  ( ) two``: left and right, or a click, choose at once."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"label", "chosen", "focused"}
    DEFAULT_CSS = _CSS.format(name="Choice")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "Previous", show=False),
        Binding("right", "move(1)", "Next", show=False),
    ]

    @dataclass
    class Changed(Message):
        """The reader chose ``key``."""

        choice: Choice
        key: str

        @property
        def control(self) -> Choice:
            return self.choice

    def __init__(
        self,
        label: str,
        options: Sequence[tuple[str, str]],
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        """``options``: pairs of a key and what the reader sees."""
        super().__init__(id=id)
        self._label = label
        self.options = tuple(options)
        self.key: str | None = None
        """The option chosen; ``None`` where none of them holds."""

    def show(self, key: str | None) -> None:
        """Mark ``key`` as chosen, without a message."""
        if key != self.key:
            self.key = key
            self.changed()

    def _places(self, width: int) -> list[tuple[int, int, int]]:
        """For each option its line and the cells from and to which it goes."""
        return self._placed(width, *self._spacing(width))

    def _placed(self, width: int, indent: int, gap: int) -> list[tuple[int, int, int]]:
        places: list[tuple[int, int, int]] = []
        y, x = 0, indent
        for _, label in self.options:
            wide = 3 + gap + cell_len(label)
            if x > indent and x + wide > width:
                y, x = y + 1, indent
            places.append((y, x, x + wide))
            x += wide + 1
        return places

    def _spacing(self, width: int) -> tuple[int, int]:
        """Cells before the options, and between a mark and its label: as in the fields around
        where all fit in a line so, closer together where that is what it takes, or saves a
        line."""
        near = cell_len(self._label) + 2 if self._label else 1
        names = sum(4 + cell_len(label) for _, label in self.options) - 1
        for indent, gap in ((LABEL + 2 if self._label else 1, 1), (near, 1), (near, 0)):
            if indent + names + gap * len(self.options) <= width:
                return indent, gap
        return min(((near, 1), (near, 0)), key=lambda how: self._placed(width, *how)[-1][0])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._places(width)[-1][0] + 1

    def build(self, width: int, height: int) -> list[Line]:
        mark = "▸" if self.has_focus else " "
        gap = " " * self._spacing(width)[1]
        lines: list[Line] = []
        for (y, x, end), (key, label) in zip(self._places(width), self.options, strict=True):
            if y == len(lines):
                name = self._label if y == 0 else ""
                lines.append([(fit((mark if y == 0 else " ") + name, x), "label")])
            else:
                lines[y].append((" ", ""))
            chosen = key == self.key
            style = ("focused" if self.has_focus else "chosen") if chosen else ""
            lines[y].append((fit(f"({'•' if chosen else ' '}){gap}{label}", end - x), style))
        return lines

    def choose(self, key: str) -> None:
        """Choose as the reader does: with a message, where it is another."""
        if key != self.key:
            self.show(key)
            self.post_message(self.Changed(self, key))

    def action_move(self, by: int) -> None:
        """The option before or after; the first or last where none is chosen."""
        keys = [key for key, _ in self.options]
        if self.key in keys:
            at = max(0, min(len(keys) - 1, keys.index(self.key) + by))
        else:
            at = 0 if by > 0 else len(keys) - 1
        self.choose(keys[at])

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or self.disabled:
            return
        for (y, x, end), (key, _) in zip(self._places(self.size.width), self.options, strict=True):
            if offset.y == y and x <= offset.x < end:
                self.choose(key)

    def on_focus(self) -> None:
        self.changed()

    def on_blur(self) -> None:
        self.changed()


class Toggle(Lines, can_focus=True):
    """``[x] label``: space, Enter or a click turns it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"label", "chosen", "focused"}
    DEFAULT_CSS = _CSS.format(name="Toggle")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,enter", "turn", "Turn on or off", show=False),
    ]

    @dataclass
    class Changed(Message):
        """The reader turned it."""

        toggle: Toggle
        on: bool

        @property
        def control(self) -> Toggle:
            return self.toggle

    def __init__(self, label: str, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._label = label
        self.on = False

    def show(self, on: bool) -> None:
        """Show it on or off, without a message."""
        if on != self.on:
            self.on = on
            self.changed()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 1

    def build(self, width: int, height: int) -> list[Line]:
        mark = "▸" if self.has_focus else " "
        style = "focused" if self.has_focus else "chosen" if self.on else ""
        box = f"[{'x' if self.on else ' '}] {self._label}"
        indent = max(1, min(LABEL + 2, width - cell_len(box)))
        return [[(fit(mark, indent), ""), (box, style)]]

    def action_turn(self) -> None:
        """The other way."""
        self.show(not self.on)
        self.post_message(self.Changed(self, self.on))

    def on_click(self) -> None:
        self.action_turn()

    def on_focus(self) -> None:
        self.changed()

    def on_blur(self) -> None:
        self.changed()
