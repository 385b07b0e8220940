"""Saving, opening and copying a poem, with the questions that this takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import UserError
from tui.dialogs import Ask, Picker
from tui.history.export import verse_lines
from tui.poemfiles import open_trace, save_poem, suggested_name

if TYPE_CHECKING:
    from tui.app import Yinchuang

LARGE = 50_000
"""Bytes from which on many terminals refuse a copy without a word."""
FORMATS = ".txt text · .md Markdown · .jsonl a trace with every step, to open again"


class Filing:
    """What the file commands do."""

    def __init__(self, app: Yinchuang) -> None:
        self._app = app

    def save(self) -> None:
        """Ask for a name and write the poem on show."""
        branch = self._app.session.branch
        if branch is None:
            self._app.main.say("There is no poem to save yet")
            return
        name = Path.cwd() / suggested_name(branch)
        self.ask("Save the poem as", name, FORMATS, self._write)

    def ask(self, title: str, default: Path, hint: str, write: Callable[[Path], None]) -> None:
        """Ask for a name and ``write`` there, after another question where a file is there
        already. ``UserError`` from ``write`` is said."""
        question = Ask(title, str(default), hint)
        self._app.push_screen(question, lambda name: self._put(name, write))

    def _save_as(self, name: str | None) -> None:
        self._put(name, self._write)

    def _put(self, name: str | None, write: Callable[[Path], None]) -> None:
        if not name or not name.strip():
            return
        path = Path(name.strip()).expanduser()

        def put() -> None:
            try:
                write(path)
            except UserError as error:
                self._app.main.say(str(error), "error")
                return
            self._app.main.say(f"Saved {path}")

        if not path.exists():
            put()
            return

        def answered(choice: str | None) -> None:
            if choice == "replace":
                put()

        options = [("keep", "keep it, save nothing"), ("replace", "replace it")]
        self._app.push_screen(Picker(f"{path.name} is there already", options), answered)

    def _write(self, path: Path) -> None:
        branch = self._app.session.branch
        if branch is not None:
            save_poem(path, branch, self._app.runs.handle)

    def open(self) -> None:
        """Ask for a trace and show it."""
        folder = f"{Path.cwd()}/"
        self._app.push_screen(Ask("Open a trace", folder, "a .jsonl file"), self._opened)

    def _opened(self, name: str | None) -> None:
        if not name or not name.strip():
            return
        try:
            branch = open_trace(Path(name.strip()).expanduser())
        except UserError as error:
            self._app.main.say(str(error), "error")
            return
        self._app.runs.drop()
        self._app.session.remember("the opened poem")
        self._app.session.add(branch)
        self._app.conductor.show_all()
        self._app.main.say(f"Opened {len(branch.steps)} steps; Replay (^P) shows them at the pace")

    def copy(self, text: str = "") -> None:
        """Send ``text``, or the poem on show, to the terminal's clipboard."""
        branch = self._app.session.branch
        if not text and branch is not None:
            text = verse_lines(branch.text)
        if not text:
            self._app.main.say("There is nothing to copy yet")
            return
        # what a terminal cannot encode must not break the write
        self._app.copy_to_clipboard(text.encode("utf-8", "replace").decode())
        told = (
            f"Sent {len(text)} characters to the terminal (OSC 52). Not every terminal takes "
            "them; if pasting brings nothing, ^S saves a file"
        )
        if len(text.encode("utf-8", "replace")) > LARGE:
            told = f"{told}. This is much text for a terminal: a file is safer"
        self._app.main.say(told)
