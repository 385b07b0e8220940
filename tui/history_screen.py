"""The history in the window: a line to search in, and what is kept below it, the newest first.

Draws and asks; what is done with a work is the historian's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from corpora.errors import UserError
from tui.cells import cell_len, fit, shown
from tui.commands import HISTORY, HISTORY_FOOTER, Command, bindings
from tui.entry import clean
from tui.panes.status import StatusLine
from tui.widgets.footer import WholeKeys
from tui.widgets.lines import set_title

if TYPE_CHECKING:
    from tui.historian import Historian
    from tui.history import Hit
    from tui.history.records import Kind

KINDS: tuple[Kind | None, ...] = (None, "poem", "chat")
NAMES = {None: "poems and conversations", "poem": "poems", "chat": "conversations"}
MOST = 500
"""Rows that are shown; more of them are for searching, not for scrolling."""
AGAIN_S = 1.5
"""The list is read again so often: other windows write too."""
WIDE = 90


KEYS = bindings(HISTORY, HISTORY_FOOTER, "screen")


class QueryField(Input):
    """A line of words; pasted lines become words of it."""

    # Enter is the screen's; Input's own would stand before it
    BINDINGS: ClassVar[list[BindingType]] = [key for key in KEYS if key.key == "enter"]

    def _on_paste(self, event: events.Paste) -> None:
        # Input would keep the first line only
        event.stop()
        event.prevent_default()
        words = " ".join(clean(line)[0] for line in event.text.splitlines())
        self.replace(words, *sorted(self.selection))


class HistoryScreen(Screen[None]):
    """Lists, searches, and asks the historian for the rest."""

    TABLE: ClassVar[tuple[Command, ...]] = HISTORY
    """What the palette offers here."""
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS]
    AUTO_FOCUS = "QueryField"
    DEFAULT_CSS = """
    HistoryScreen {
        layout: vertical;
        & QueryField, & OptionList {
            border: round $foreground 30%; background: $background; padding: 0 1;
            border-title-color: $foreground; border-subtitle-color: $text-muted;
        }
        & QueryField { height: 3; }
        & QueryField:focus { border: heavy $border; background-tint: $foreground 0%; }
        & OptionList { height: 1fr; }
    }
    """

    def __init__(self, historian: Historian) -> None:
        super().__init__()
        self._historian = historian
        self._kind: Kind | None = None
        self._hits: Sequence[Hit] = ()
        self._drawn: object = None
        self._rows: list[tuple[str, str]] = []
        self._asked = 0
        self._refused = ""

    def compose(self) -> ComposeResult:
        yield StatusLine(id="history-status")
        field = QueryField(id="query", placeholder="type to search")
        set_title(field, "History", "all words must occur, each anywhere")
        yield field
        options = OptionList(id="works")
        options.can_focus = False  # keys go to the line, which hands up and down on
        yield options
        yield WholeKeys()

    def on_mount(self) -> None:
        """Read the list, now and every so often."""
        self.set_interval(AGAIN_S, self._look)
        self._look()

    def on_screen_resume(self) -> None:
        """A question has been answered: the list may have changed."""
        self._look()

    @property
    def chosen(self) -> Hit | None:
        """What the list stands on."""
        place = self.query_one(OptionList).highlighted
        return self._hits[place] if place is not None and place < len(self._hits) else None

    # reading

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._look()

    def _look(self) -> None:
        """Read the list on a thread: a slow disk holds up no key."""
        self._asked += 1
        self._historian.note()
        work = partial(self._read, self._asked, self.query_one(QueryField).value, self._kind)
        self.run_worker(work, thread=True, exclusive=True, group="history", exit_on_error=False)

    def _read(self, asked: int, query: str, kind: Kind | None) -> None:
        if asked != self._asked:
            return
        try:
            hits = self._historian.look(query, kind)
        except UserError as error:
            self.app.call_from_thread(self._refuse, str(error))
            return
        self.app.call_from_thread(self._show, asked, hits)

    def _refuse(self, text: str) -> None:
        if text != self._refused:  # once, however often it is tried again
            self._refused = text
            self._historian.say(text)

    def _show(self, asked: int, hits: Sequence[Hit]) -> None:
        """Put what was found in the list, unless something else was asked meanwhile."""
        if asked == self._asked and self.is_attached:
            self._hits = hits
            self._draw()

    # what the keys do

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Open what the list stands on."""
        if self.chosen is not None and self._historian.show(self.chosen):
            self.dismiss()

    def action_back(self) -> None:
        """Back to the poem."""
        self.dismiss()

    def action_kind(self) -> None:
        """Poems, conversations, or both."""
        self._kind = KINDS[(KINDS.index(self._kind) + 1) % len(KINDS)]
        self._look()

    def action_rename(self) -> None:
        """Ask for another title."""
        if self.chosen is not None:
            self._historian.rename(self.chosen.work)

    def action_delete(self) -> None:
        """Delete, after a question."""
        if self.chosen is not None:
            self._historian.delete(self.chosen.work)

    def action_export(self) -> None:
        """Write it to a file."""
        if self.chosen is not None:
            self._historian.export(self.chosen.work.id)

    def action_move(self, rows: int) -> None:
        """Move along the list."""
        options = self.query_one(OptionList)
        if options.option_count:
            last = options.option_count - 1
            options.highlighted = min(max(0, (options.highlighted or 0) + rows), last)

    # drawing

    def on_resize(self) -> None:
        """Fit the rows to the terminal."""
        self._draw()

    def _draw(self) -> None:
        hits = self._hits[:MOST]
        self._show_state(len(self._hits))
        width = self.app.size.width - 6  # borders, padding and a scrollbar
        drawn = [_key(hit) for hit in hits]
        if (width, drawn) == self._drawn:
            return
        options = self.query_one(OptionList)
        stood = options.highlighted
        places = {(hit.work.id, hit.turn): place for place, hit in enumerate(hits)}
        before = self._rows[stood] if stood is not None and stood < len(self._rows) else None
        self._drawn, self._rows = (width, drawn), list(places)
        options.clear_options()
        options.add_options(Option(_row(hit, width)) for hit in hits)
        if hits:
            options.highlighted = places.get(before, 0) if before else 0

    def _show_state(self, count: int) -> None:
        searching = bool(self.query_one(QueryField).value.strip())
        nothing = "Nothing was found" if searching else "Nothing is kept yet"
        set_title(self.query_one(OptionList), "" if count else nothing)
        found = f"{count:,} found" if searching else f"{count:,}"
        more = f", the newest {MOST} shown" if count > MOST else ""
        self.query_one("#history-status", StatusLine).show(
            "History", NAMES[self._kind], f"{found}{more}"
        )


def _key(hit: Hit) -> object:
    """What of a hit can be seen."""
    return hit.work.id, hit.work.updated, hit.work.state, hit.work.title, hit.turn, hit.snippet


def _row(hit: Hit, width: int) -> Content:
    """Kind, day, how it ended, and its name or the place that was found."""
    from tui.history.records import local_time

    work = hit.work
    when = local_time(work.updated)
    day = f"{when:%Y-%m-%d %H:%M}" if width >= WIDE else f"{when:%m-%d}"
    state = "" if work.state in (None, "done") else str(work.state)
    head = f"{fit(work.kind, 4)}  {day}  {fit(state, 11)}  "
    if hit.marks and hit.snippet.strip("…") not in work.name and width >= WIDE:
        head += f"{fit(work.name, 18)}  "
    return Content.assemble((head, "dim"), *_cut(_parts(hit), max(4, width - cell_len(head))))


def _parts(hit: Hit) -> Iterator[tuple[str, str]]:
    """The snippet in pieces, and the style of each."""
    at = 0
    for start, end in hit.marks:
        yield shown(hit.snippet[at:start]), ""
        yield shown(hit.snippet[start:end]), "bold underline"
        at = end
    yield shown(hit.snippet[at:]), ""


def _cut(parts: Iterable[tuple[str, str]], room: int) -> Iterator[tuple[str, str]]:
    """The pieces, as far as ``room`` cells go."""
    for text, style in parts:
        size = cell_len(text)
        if size > room:
            yield fit(text, room), style
            return
        yield text, style
        room -= size
