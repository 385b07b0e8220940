"""Turns of a conversation as rows of a width: a heading, the text, a blank row.

Knows how a turn looks; knows nothing of widgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui.chat.dialogue import Dialogue, Turn
from tui.chat.typeset import Growing, Segments, markdown_lines, plain_lines

MARKS = {"system": "§ System", "user": "› You", "assistant": "●", "poem": "●"}
ENDS = {
    "length": "as long as allowed · F4 goes on",
    "cancelled": "stopped · F4 goes on",
    "stop_string": "ended by a stop string",
    "dead_end": "no way on",
}
CUT = "┄ what stands above is no longer read ┄"


def being_written(turn: Turn) -> bool:
    """Whether a reply is still growing, here or in another window."""
    return turn.is_reply and turn.finished is None and not turn.interrupted


def state_words(turn: Turn) -> str:
    """How a reply ended, where that must be said."""
    if turn.interrupted:
        return "interrupted · F4 goes on"
    if turn.finished is None:
        return "…" if turn.is_reply else ""
    if turn.finished.reason == "error":
        return f"broken off: {turn.finished.detail}"
    return ENDS.get(turn.finished.reason, "")


@dataclass(slots=True)
class Page:
    """One turn, set or not yet."""

    turn: Turn
    place: str = ""
    """``2 of 3`` where something stands beside it."""
    cut: bool = False
    """What stands above is no longer read."""
    width: int = 0
    """What it is set for; 0 as long as nobody has set it."""
    ended: bool = False
    """Set as what it will stay."""
    lines: Sequence[Segments] = ()
    growing: Growing | None = None
    taken: int = 0
    """Characters of the text that are set."""

    @property
    def height(self) -> int:
        """Rows; 0 for one that is not set."""
        if not self.width:
            return 0
        growing = self.growing
        body = len(growing.done) + len(growing.tail) if growing else len(self.lines)
        return body + 2 + self.cut

    @property
    def heading(self) -> str:
        """Who speaks, what stands beside it, how it ended."""
        turn = self.turn
        name = f"{MARKS[turn.role]} {turn.model}".rstrip()
        return " · ".join(filter(None, (name, self.place, state_words(turn))))

    def line(self, number: int) -> Segments:
        """Row ``number`` of the text; empty past its end."""
        lines: Sequence[Segments] = self.lines
        if self.growing is not None:
            lines = self.growing.done
            if number >= len(lines):
                number, lines = number - len(lines), self.growing.tail
        return lines[number] if 0 <= number < len(lines) else []

    def set(self, width: int) -> None:
        """Break it into rows, unless it is so already."""
        turn = self.turn
        ended = not being_written(turn)
        if self.width == width and self.ended == ended and self.taken == len(turn.text):
            return
        self.width, self.ended, self.taken = width, ended, len(turn.text)
        self.growing, self.lines = None, ()
        if not turn.is_reply:
            self.lines = plain_lines(turn.text, width)
        elif ended:
            self.lines = markdown_lines(turn.text, width)
        else:
            self.growing = Growing(width)
            self.growing.add(turn.text)

    def grow(self) -> None:
        """Take in what the text has grown by."""
        if self.growing is not None:
            text = self.turn.text
            self.growing.add(text[self.taken :])
            self.taken = len(text)


def pages_of(dialogue: Dialogue, left_out: int, known: dict[str, Page]) -> list[Page]:
    """A page for each turn on show; what is ``known`` already keeps its rows. ``left_out``:
    messages, system prompt aside, that are no longer read."""
    families = dialogue.families()
    path = dialogue.path
    first = left_out + bool(path and path[0].role == "system") if left_out else -1
    pages = []
    for place, turn in enumerate(path):
        family = families[turn.parent]
        page = known.get(turn.id)
        if page is None or page.turn is not turn:
            page = Page(turn)
        number = [each.id for each in family].index(turn.id) + 1
        page.place = f"{number} of {len(family)}" if len(family) > 1 else ""
        page.cut = place == first
        pages.append(page)
    return pages
