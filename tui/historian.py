"""The window's way into the history: its screen while that is open, and what is done there.

Knows the keeper, the session and the screen; knows no keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import UserError
from tui.dialogs import Ask, Picker
from tui.keeping import bring_back

if TYPE_CHECKING:
    from tui.app import Yinchuang
    from tui.history import History, Hit, Work
    from tui.history.records import Kind

FORMATS = ".md Markdown · .json with every branch"


class Historian:
    """What the app and the history's screen call; all but ``look`` on the app's thread."""

    def __init__(self, app: Yinchuang) -> None:
        self._app = app

    @property
    def _history(self) -> History | None:
        return self._app.keeper.history if self._app.keeper is not None else None

    def open(self) -> None:
        """Show the history."""
        from tui.history_screen import HistoryScreen

        if self._history is None:
            self._app.main.say("Nothing is kept in this window, so there is no history", "warning")
            return
        self._app.push_screen(HistoryScreen(self))

    def note(self) -> None:
        """Hand over what this window has written, so that the next ``look`` finds it."""
        self._app.note()

    def look(self, query: str, kind: Kind | None) -> list[Hit]:
        """What is there, or what ``query`` finds; on any thread. Raises ``HistoryError``."""
        from tui.history import Hit, search

        keeper, history = self._app.keeper, self._history
        if keeper is None or history is None:  # the window is closing
            return []
        if keeper.recorder is not None:
            keeper.recorder.settle(1.0)
        history.recover()
        if not query.strip():
            return [
                Hit(work, work.active or "", "poem", work.name, ()) for work in history.works(kind)
            ]
        queries = [query]
        if not query.isascii():
            from model.script import read_verse

            queries.append(read_verse(query).text)  # poems are kept in simplified characters
        return search(history, *dict.fromkeys(queries), kind=kind)

    def show(self, hit: Hit) -> bool:
        """Bring a poem back to the main screen, or a conversation to the chat; whether the
        history is to be left."""
        history = self._history
        if history is None:
            return True
        try:
            if hit.work.kind == "chat":  # once the history has been left: it is in front still
                self._app.call_later(self._show_chat, hit)
                return True
            told = bring_back(self._app.session, history, hit.work, hit.turn)
        except UserError as error:
            self._app.main.say(str(error), "error")
            return False
        self._app.call_later(self._app.show_poem)
        self._app.conductor.show_all()
        if told:
            self._app.main.say(told, "error")
        return True

    def _show_chat(self, hit: Hit) -> None:
        try:
            self._app.show_chat(hit.work.id, hit.turn if hit.marks else "")
        except UserError as error:
            self._app.main.say(str(error), "error")

    def rename(self, work: Work) -> None:
        """Ask for another title."""

        def answered(title: str | None) -> None:
            if title is not None and self._app.keeper is not None:
                recorder = self._app.keeper.recorder
                if recorder is not None:
                    recorder.rename(work.id, title)

        hint = "empty: the beginning of its text stands for it"
        self._app.push_screen(Ask("Title", work.title, hint), answered)

    def delete(self, work: Work) -> None:
        """Delete a work, after a question."""
        if self._is_written(work):
            self._app.main.say(f"{work.name} is being written; stop it first", "warning")
            return

        def answered(choice: str | None) -> None:
            if choice == "delete" and self._app.keeper is not None:
                recorder = self._app.keeper.recorder
                if recorder is not None:
                    recorder.delete(work.id)
                    self._app.session.forget(work.id)
                    self._app.pair.forget(work.id)
                    self._app.forget_chat(work.id)
                    self._app.conductor.show_all()

        options = [("keep", "keep it"), ("delete", "delete it for good, with all its branches")]
        self._app.push_screen(Picker(f"Delete {work.name}?", options), answered)

    def _is_written(self, work: Work) -> bool:
        """Whether a work that was being written when the list was read is so still."""
        from tui.history import HistoryError

        keeper = self._app.keeper
        if work.state != "writing" or keeper is None:
            return False
        self.note()
        if keeper.recorder is not None:
            keeper.recorder.settle(1.0)
        try:
            return keeper.history.work(work.id).state == "writing"
        except HistoryError:  # deleted in another window: deleting it again does no harm
            return False

    def export(self, work_id: str) -> None:
        """Ask for a name and write a work to a file."""
        history, keeper = self._history, self._app.keeper
        if history is None or keeper is None:
            return

        def write(path: Path) -> None:
            from tui.files import write_whole
            from tui.history.export import rendered

            if keeper.recorder is not None:
                keeper.recorder.settle(1.0)
            work = history.work(work_id)
            write_whole(path, rendered(history, [work], path.suffix.lower(), listed=False))

        self._app.filing.ask("Save as", Path.cwd() / f"{work_id}.md", FORMATS, write)

    def say(self, text: str) -> None:
        """Tell the reader that something went wrong."""
        self._app.main.say(text, "error")
