"""The poem as it grows, with a cursor over its tokens.

Opening, forced, chosen and written characters differ in underline, weight and slant,
never in colour alone. Draws only the rows in sight and, while text streams in, only
the rows that changed. Follows the end until the reader scrolls up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from model.steps import Step
from tui.cells import cell_len, fit
from tui.messages import StepPointed, StepRequested
from tui.panes.ink import Ink
from tui.panes.verse import Kind, Verse
from tui.session import Branch
from tui.widgets.lines import set_title, wrap

MORE = " ↓ more "
EMPTY = "Type the first words of a poem below and press Enter."


class PoemPane(ScrollView, can_focus=True):
    """Shows one branch."""

    ALLOW_SELECT = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *("opening", "forced", "chosen", "cursor", "reading", "more", "hint"),
        *("piece", "joined"),
        *("shade0", "shade1", "shade2", "shade3", "shade4"),
    }
    DEFAULT_CSS = """
    PoemPane {
        border: round $foreground 30%;
        border-title-color: $foreground;
        padding: 0 2;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        border-subtitle-color: $text-muted;
        &:focus { border: round $border; }
        & > .opening { text-style: underline; }
        & > .forced { text-style: bold; }
        & > .chosen { text-style: bold underline; color: $accent; }
        & > .piece { background: $foreground 12%; }
        & > .joined { text-style: underline; }
        & > .cursor { text-style: reverse; color: $accent; }
        & > .reading { color: $text-muted; }
        & > .more { text-style: reverse; }
        & > .hint { color: $text-muted; }
        & > .shade0 { background: $error 60%; }
        & > .shade1 { background: $error 35%; }
        & > .shade2 { background: $warning 30%; }
        & > .shade3 { background: $success 20%; }
        & > .shade4 { background: $success 0%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "look(-1)", "Earlier", show=False),
        Binding("right", "look(1)", "Later", show=False),
        Binding("home", "point(0)", "First", show=False),
        Binding("end", "newest", "Newest", show=False),
        Binding("up", "row(-1)", "Up", show=False),
        Binding("down", "row(1)", "Down", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._verse = Verse(40)
        self._branch: Branch | None = None
        self._taken = 0  # steps set so far
        self._ended = False  # what was released at the end is set as well
        self._cursor: int | None = None
        self._follows = True
        self._traditional = self._pinyin = self._shading = False
        self._words = ("", "")
        self._ink = Ink(self)

    # what the app calls

    def show_branch(self, branch: Branch | None, cursor: int | None) -> None:
        """Show a branch, as far as it has been written. One that is on show goes on from
        where it was."""
        if branch is not self._branch or branch is None:
            self._branch, self._cursor = branch, cursor
            self._follows = True
            self._set_anew()
            return
        self.append(branch.steps[self._taken :])
        if cursor != self._cursor:
            self.move_cursor(cursor)

    def append(self, steps: Sequence[Step]) -> None:
        """Set new steps of the branch on show, and what was released at its end."""
        branch = self._branch
        if branch is None:
            return
        height = first = len(self._verse.rows)
        for step in steps:
            first = min(first, self._set(self._taken, step))
            self._taken += 1
        if branch.finished and not self._ended:
            self._ended = True
            last = len(branch.steps) - 1
            first = min(first, self._verse.add(branch.finished.text, last, "written"))
        rows = len(self._verse.rows)
        self._ink.forget(range(first, height))
        self.refresh_lines(first * self._pitch, (rows - first) * self._pitch)
        if rows != height:
            self._resize()

    def move_cursor(self, cursor: int | None) -> None:
        """Mark step ``cursor``; ``None`` marks none."""
        for index in {self._cursor, cursor}:
            if index is not None:
                row = self._verse.row_of(index)
                self._ink.forget([row])
                self.refresh_lines(row * self._pitch, self._pitch)
        self._cursor = cursor
        if cursor is not None:
            top = self._verse.row_of(cursor) * self._pitch
            self.scroll_to_region(Region(0, top, 1, self._pitch), animate=False, force=True)
        elif self._branch is not None:
            self._follows = True
            self.scroll_end(animate=False, immediate=True)

    def set_look(self, *, traditional: bool, pinyin: bool, shading: bool) -> None:
        """How the poem is drawn."""
        look = (traditional, pinyin, shading)
        if look != (self._traditional, self._pinyin, self._shading):
            self._traditional, self._pinyin, self._shading = look
            self._set_anew()

    def set_state(self, title: str, state: str) -> None:
        """The words in the border."""
        if (title, state) != self._words:
            self._words = (title, state)
            set_title(self, title, state)

    @property
    def more_below(self) -> bool:
        """There is text under the last row in sight."""
        return self.scroll_offset.y + self.size.height < self.virtual_size.height

    # setting

    @property
    def _pitch(self) -> int:
        return 2 if self._pinyin else 1

    def _set_anew(self) -> None:
        width = self.size.width or 40
        self._verse = Verse(width, traditional=self._traditional, pinyin=self._pinyin)
        self._taken, self._ended = 0, False
        self._ink.clear()
        if self._branch is not None:
            self._verse.add(self._branch.prompt, -1, "opening")
            self.append(self._branch.steps)
        self._resize()
        self.refresh()

    def _set(self, index: int, step: Step) -> int:
        assert self._branch is not None
        kind: Kind = "written"
        if index in self._branch.chosen:
            kind = "chosen"
        elif step.forced:
            kind = "forced"
        return self._verse.add(step.text, index, kind, step.probability)

    def _resize(self) -> None:
        """Make room for all rows. Laying the window out anew costs far more than drawing a
        character: that is done only where the scroll bar comes or goes."""
        size = Size(self.size.width, len(self._verse.rows) * self._pitch)
        fits = self.container_size.height
        if (size.height > fits) != (self.virtual_size.height > fits):
            self.virtual_size = size
        else:
            self.set_reactive(PoemPane.virtual_size, size)
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar.window_virtual_size = size.height
        if self._follows:  # forced: a scroll bar that is to come is not there yet
            self.scroll_end(animate=False, immediate=True, force=True)

    def on_resize(self, event: events.Resize) -> None:
        """Break the rows for the new width."""
        if self._verse.width != max(4, self.size.width):
            self._set_anew()

    # scrolling

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._follows = not self.more_below

    # drawing

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = y + self.scroll_offset.y
        if self._branch is None:
            words = wrap(EMPTY.split(), width, " ")
            text = fit(words[y] if y < len(words) else "", width)
            return Strip([Segment(text, self._ink.named("hint"))])
        number, part = divmod(line, self._pitch)
        if number >= len(self._verse.rows):
            return Strip.blank(width, self._ink.named())
        if part < self._pitch - 1:
            strip = self._ink.readings(self._verse.rows[number].glyphs, width)
        else:
            strip = self._glyphs(number)
        if y == self.size.height - 1 and self.more_below:
            mark = Segment(MORE, self.get_component_rich_style("more"))
            room = max(0, width - cell_len(MORE))
            strip = Strip.join([strip.crop(0, room), Strip([mark])])
        return strip

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._ink.clear()

    def _glyphs(self, number: int) -> Strip:
        row = partial(
            self._ink.row,
            self._verse.rows[number].glyphs,
            number,
            self.size.width,
            cursor=self._cursor,
            shaded=self._shading,
        )
        span = self.text_selection.get_span(number) if self.text_selection else None
        if span is None:
            return row()
        selected = range(span[0], self.size.width if span[1] == -1 else span[1])
        marked = self.screen.get_component_rich_style("screen--selection")
        return row(selected=selected, selection=marked)

    # selecting, pointing, moving

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as written, whatever has streamed in since."""
        start, end = selection.start, selection.end
        return self._verse.text(
            (start.y, start.x) if start else None, (end.y, end.x) if end else None
        ), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Look at the character that was clicked."""
        offset = event.get_content_offset(self)
        if offset is None or self._branch is None:
            return
        row = (offset.y + self.scroll_offset.y) // self._pitch
        glyph = self._verse.glyph_at(row, offset.x)
        if glyph is not None and not self.screen.get_selected_text():
            self.post_message(StepPointed(glyph.index))

    def action_look(self, delta: int) -> None:
        self.post_message(StepRequested(delta))

    def action_point(self, index: int) -> None:
        self.post_message(StepPointed(index))

    def action_newest(self) -> None:
        if self._branch is not None:
            self.post_message(StepPointed(len(self._branch.steps)))

    def action_row(self, delta: int) -> None:
        """Move the cursor to the row above or below, keeping its column."""
        if self._branch is None or not self._branch.steps:
            return
        index = self._taken - 1 if self._cursor is None else self._cursor
        row = self._verse.row_of(index)
        here = next((g for g in self._verse.rows[row].glyphs if g.index == index), None)
        glyphs = self._verse.rows[min(max(0, row + delta), len(self._verse.rows) - 1)].glyphs
        if glyphs:
            x = here.x if here else 0
            nearest = min(glyphs, key=lambda glyph: abs(glyph.x - x))
            self.post_message(StepPointed(nearest.index))
