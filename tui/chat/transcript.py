"""A conversation as it is read: who said what, replies with their Markdown.

Draws only the rows in sight. A growing reply sets its last block anew and nothing else; turns
far above are set in the pauses, the newest first. Follows the end until the reader scrolls up.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from itertools import accumulate
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from tui.cells import cell_len, fit
from tui.chat.dialogue import Dialogue, Turn
from tui.chat.pages import CUT, Page, pages_of
from tui.messages import StepRequested, TurnRequested
from tui.panes.ink import Ink
from tui.widgets.lines import set_title, wrap

MORE = " ↓ more "
BUDGET_S = 0.02
"""Turns above are set for so many seconds before the keys are answered again."""


class Transcript(ScrollView, can_focus=True):
    """Shows one path through a conversation."""

    ALLOW_SELECT = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {"role", "here", "cut", "more", "hint"}
    DEFAULT_CSS = """
    Transcript {
        border: round $foreground 30%;
        border-title-color: $foreground;
        border-subtitle-color: $text-muted;
        padding: 0 2;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        & > .role { color: $accent; text-style: bold; }
        & > .here { color: $accent; text-style: bold reverse; }
        & > .cut { color: $text-muted; text-style: italic; }
        & > .more { text-style: reverse; }
        & > .hint { color: $text-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "turn(-1)", "Turn before", show=False),
        Binding("down", "turn(1)", "Turn after", show=False),
        Binding("left", "look(-1)", "Tokens", show=False),
        Binding("right", "look(1)", "Tokens", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._pages: list[Page] = []
        self._tops = [0]  # of each page, and the end
        self._unset = 0  # pages from the first on that wait to be set
        self._chosen: str | None = None
        self._follows = True
        self._filling = False
        self._hint = ""
        self._ink = Ink(self)

    # what the screen calls

    def show(self, dialogue: Dialogue, chosen: str | None, left_out: int) -> None:
        """Show the path of a conversation; see ``ChatView.show_turns``."""
        known = {page.turn.id: page for page in self._pages}
        same = bool(self._pages) and self._pages[0].turn.id in {t.id for t in dialogue.path[:1]}
        self._pages = pages_of(dialogue, left_out, known)
        if not same:
            self._follows = True
        self._set_anew()
        if chosen != self._chosen:
            self.choose(chosen)

    def choose(self, chosen: str | None) -> None:
        """Mark a turn and bring it into sight; ``None``: the newest, at its end."""
        self._chosen = chosen
        place = next((i for i, page in enumerate(self._pages) if page.turn.id == chosen), None)
        if place is None:
            self._follows = True
            self.scroll_end(animate=False, immediate=True)
        else:
            self._fill(down_to=place)
            self.scroll_to(y=self._tops[place], animate=False)
        self.refresh()

    def grow(self, turn: Turn) -> None:
        """A turn has grown."""
        page = self._pages[-1] if self._pages else None
        if page is None or page.turn is not turn or not page.width:
            return
        before = len(page.growing.done) if page.growing else 0
        page.grow()
        self._tops[-1] = self._tops[-2] + page.height
        first = self._tops[-2] + 1 + page.cut + before
        self.refresh_lines(first, self._tops[-1] - first + 1)
        self._resize()

    def set_words(self, title: str, state: str, hint: str) -> None:
        """The words in the border, and those that stand in for an empty conversation."""
        set_title(self, title, state)
        if hint != self._hint:
            self._hint = hint
            self.refresh()

    @property
    def settled(self) -> bool:
        """Every turn is set."""
        return not self._unset

    @property
    def more_below(self) -> bool:
        """There is text under the last row in sight."""
        return self.scroll_offset.y + self.size.height < self.virtual_size.height

    def plain(self) -> str:
        """What is set, as text."""
        return "\n".join("".join(s.text for s in self._row(y)) for y in range(self._tops[-1]))

    # setting

    @property
    def _width(self) -> int:
        """Cells of a row, beside the scroll bar."""
        return self.scrollable_content_region.width

    def _set_anew(self) -> None:
        """Set the newest turns, as many as are in sight; the others follow in the pauses."""
        self._unset = len(self._pages)
        width = self._width
        if width:
            room = self.size.height
            while self._unset and room > 0:
                self._unset -= 1
                page = self._pages[self._unset]
                page.set(width)
                room -= page.height
            # what is set for this width already costs nothing
            while self._unset and self._pages[self._unset - 1].width == width:
                self._unset -= 1
                self._pages[self._unset].set(width)
        for page in self._pages[: self._unset]:
            page.width = 0
        self._measure()
        self.refresh()
        self._later()

    def _later(self) -> None:
        if self._unset and not self._filling and self.size.width:
            self._filling = True
            self.set_timer(BUDGET_S, self._go_on)

    def _go_on(self) -> None:
        self._filling = False
        self._fill()
        self._later()

    def _fill(self, down_to: int | None = None) -> None:
        """Set turns above: for a while, or all from one on."""
        ends = time.monotonic() + BUDGET_S
        before, width = self._tops[-1], self._width
        while self._unset and width:
            wanted = time.monotonic() < ends if down_to is None else self._unset > down_to
            if not wanted:
                break
            self._unset -= 1
            self._pages[self._unset].set(width)
        y = self.scroll_offset.y
        self._measure()
        if not self._follows and self._tops[-1] != before:
            self.scroll_to(y=y + self._tops[-1] - before, animate=False)
        self.refresh()

    def _measure(self) -> None:
        self._tops = [0, *accumulate(page.height for page in self._pages)]
        self._resize()

    def _resize(self) -> None:
        """Make room for all rows; lays the window out anew only where the scroll bar comes or
        goes, which costs far more than drawing a row."""
        size = Size(self.size.width, self._tops[-1])
        fits = self.container_size.height
        if (size.height > fits) != (self.virtual_size.height > fits):
            self.virtual_size = size
        else:
            self.set_reactive(Transcript.virtual_size, size)
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar.window_virtual_size = size.height
        if self._follows:  # forced: a scroll bar that is to come is not there yet
            self.scroll_end(animate=False, immediate=True, force=True)

    def on_resize(self, event: events.Resize) -> None:
        """Break the rows for the new width."""
        if any(page.width != self._width for page in self._pages):
            self._set_anew()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end again once the reader is there."""
        super().watch_scroll_y(old_value, new_value)
        self._follows = not self.more_below

    # drawing

    def _row(self, y: int) -> list[Segment]:
        """Row ``y`` of all, without its style."""
        if not 0 <= y < self._tops[-1]:
            return []
        place = bisect_right(self._tops, y) - 1
        page, number = self._pages[place], y - self._tops[place]
        if page.cut:
            if number == 0:
                return [Segment(fit(CUT, self._width), self._ink.named("cut"))]
            number -= 1
        if number == 0:
            here = page.turn.id == self._chosen
            words = fit(f"{'▸ ' if here else ''}{page.heading}", self._width).rstrip()
            return [Segment(words, self._ink.named("here" if here else "role"))]
        return page.line(number - 1)

    def render_line(self, y: int) -> Strip:
        """Row ``y`` of those in sight."""
        width, own = self.size.width, self._ink.named()
        if not self._pages:
            words = wrap(self._hint.split(), width, " ")
            return Strip(
                [Segment(fit(words[y] if y < len(words) else "", width), self._ink.named("hint"))]
            )
        line = y + self.scroll_offset.y
        strip = Strip(list(Segment.apply_style(self._row(line), own)))
        span = self.text_selection.get_span(line) if self.text_selection else None
        if span is not None:
            strip = self._marked(strip, *span)
        strip = strip.adjust_cell_length(width, own).apply_offsets(0, line)
        if y == self.size.height - 1 and self.more_below:
            mark = Segment(MORE, self.get_component_rich_style("more"))
            strip = Strip.join([strip.crop(0, max(0, width - cell_len(MORE))), Strip([mark])])
        return strip

    def _marked(self, strip: Strip, start: int, end: int) -> Strip:
        """A row with what is selected of it laid out so; characters [start, end), -1 is the end."""
        text = strip.text
        left = cell_len(text[:start])
        right = cell_len(text) if end == -1 else cell_len(text[:end])
        style = self.screen.get_component_rich_style("screen--selection")
        before, marked, after = strip.divide([left, right, cell_len(text)]) if text else [strip] * 3
        marked = Strip(list(Segment.apply_style(list(marked), post_style=style)))
        return Strip.join([before, marked, after])

    def notify_style_update(self) -> None:
        """Forget what was drawn in other colours."""
        super().notify_style_update()
        self._ink.clear()

    # selecting and moving

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text."""
        return selection.extract(self.plain()), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw what is selected."""
        self.refresh()

    def action_turn(self, delta: int) -> None:
        """Ask for the turn so many later."""
        self.post_message(TurnRequested(delta))

    def action_look(self, delta: int) -> None:
        """Ask for the token so many later."""
        self.post_message(StepRequested(delta))
