"""What the commands of the table do: one ``action_`` each, run by keys and the palette.

Knows session, threads and screen as the app wires them; how a poem is begun, shown and
ended is the business of ``conductor`` and ``runs``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App, SystemCommand
from textual.screen import Screen

from model.labels import model_label
from tui.arranged import ArrangedScreen
from tui.beside.pair import Pair
from tui.commands import COMMANDS, Command
from tui.conductor import Conductor
from tui.dialogs import Page, Picker
from tui.filing import Filing
from tui.help import HelpText, key_name
from tui.historian import Historian
from tui.lab.laboratory import Laboratory
from tui.loader import Loader
from tui.runs import Runs
from tui.screen import MainScreen, branch_words
from tui.session import BY_KEY, PACES, Session
from tui.themes import DARK, LIGHT
from tui.worker import Writer

if TYPE_CHECKING:
    from tui.chat.room import Room

TWICE_S = 2.0
"""A second ^C within so many seconds quits."""


class Commands(App[int]):
    """The app as far as its commands go."""

    session: Session
    main: MainScreen
    runs: Runs
    conductor: Conductor
    writer: Writer
    loader: Loader
    filing: Filing
    laboratory: Laboratory
    pair: Pair
    historian: Historian
    _interrupted_at = -math.inf

    @property
    def room(self) -> Room:
        """The chat."""
        raise NotImplementedError

    def note(self) -> None:
        """Hand what has changed to the history, now."""
        raise NotImplementedError

    def leave(self, code: int) -> None:
        """End the run, keep the session, end the app."""
        raise NotImplementedError

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: every command of the table that the screen goes by."""
        table: tuple[Command, ...] = getattr(screen, "TABLE", COMMANDS)
        owner = self if table is COMMANDS else screen
        for command in table:
            key = key_name(command.key)
            title = f"{command.title}  ({key})" if key else command.title
            yield SystemCommand(title, command.about, partial(self._command, command.action, owner))

    async def _command(self, action: str, owner: Screen[Any] | App[int]) -> None:
        await self.run_action(action, owner)

    def action_stop(self) -> None:
        if not self.runs.stop():
            self.main.query_one("#opening").focus()

    def action_cache(self) -> None:
        self.conductor.cycle_cache()

    def action_pace(self) -> None:
        look = self.session.look
        place = PACES.index(look.pace) if look.pace in PACES else -1
        self.set_pace(PACES[(place + 1) % len(PACES)])

    def action_single(self) -> None:
        if self.session.look.pace != BY_KEY:
            self.set_pace(BY_KEY)
        self.writer.permit()

    def set_pace(self, pace: float) -> None:
        """Write at another pace from now on, in every view."""
        self.session.look.pace = pace
        self.writer.set_pace(pace)
        self.pair.look_changed()
        self.main.show_state()

    def action_again(self) -> None:
        self.runs.again()

    def action_sibling(self, delta: int) -> None:
        branch = self.session.sibling(delta)
        if branch is not None:
            self.conductor.show_branch(branch.id)

    def action_pane(self) -> None:
        self.main.next_pane()

    def action_look(self, delta: int) -> None:
        self.conductor.look(self.session.index + delta)

    def action_undo(self) -> None:
        self.note()  # what undo takes away is in the history, however quick it was
        self.conductor.travel(back=True)

    def action_redo(self) -> None:
        self.conductor.travel(back=False)

    def action_branches(self) -> None:
        session = self.session
        if not session.branches:
            self.main.say("There are no poems yet")
            return

        def chosen(choice: str | None) -> None:
            if choice:
                self.conductor.show_branch(int(choice))

        options = [(str(b.id), branch_words(session, b)) for b in session.branches]
        self.push_screen(Picker("Poems and branches", options, str(session.current)), chosen)

    def action_model(self) -> None:
        from model.registry import specs

        known = {spec.name: spec for spec in specs()}

        def chosen(choice: str | None) -> None:
            if choice and choice != self.session.model:
                self._load(choice)

        options = [
            (name, f"{name} · {spec.note}" + ("" if spec.available else " (its file is missing)"))
            for name, spec in known.items()
        ]
        if self.session.model not in known:
            options.append((self.session.model, self.session.model))
        self.push_screen(Picker("Write with", options, self.session.model), chosen)

    def _load(self, name: str) -> None:
        self.main.model_title = f"loading {model_label(name)}"
        self.main.show_state()
        self.loader.begin(name)

    def action_poems(self) -> None:
        counts = {1: 3, 3: 5, 5: 1}
        self.session.change("how many", poems=counts.get(self.session.settings.poems, 1))
        self.main.say(f"Enter writes {self.session.settings.poems} at a time")
        self.main.show_state()

    def action_save(self) -> None:
        self.filing.save()

    def action_open(self) -> None:
        self.filing.open()

    def action_copy(self) -> None:
        self.filing.copy()

    def action_replay(self) -> None:
        self.runs.replay()

    def action_traditional(self) -> None:
        self.session.look.traditional = not self.session.look.traditional
        self._show_look()

    def action_pinyin(self) -> None:
        self.session.look.pinyin = not self.session.look.pinyin
        self._show_look()

    def action_shading(self) -> None:
        self.session.look.shading = not self.session.look.shading
        self._show_look()

    def action_theme(self) -> None:
        self.session.look.dark = not self.session.look.dark
        self._show_look()

    def _show_look(self) -> None:
        look = self.session.look
        self.theme = DARK if look.dark else LIGHT
        self.main.show_look()
        self.pair.look_changed()

    def action_history(self) -> None:
        self.historian.open()

    def action_beside(self) -> None:
        self.pair.open()

    def action_chat(self) -> None:
        self.room.open()

    def show_chat(self, work: str, turn: str) -> None:
        """Bring a kept conversation on show. Raises ``HistoryError``."""
        self.room.open()
        self.room.show(work, turn)

    def show_poem(self) -> None:
        """Have nothing but the history before the poem."""
        if self.room.screen is not None:
            self.room.screen.action_poem()

    def forget_chat(self, work: str) -> None:
        """A conversation was deleted."""
        self.room.forget(work)

    def action_lab(self) -> None:
        self.laboratory.open()

    def action_help(self) -> None:
        self.push_screen(Page("Help", HelpText(getattr(self.screen, "TABLE", COMMANDS))))

    def action_interrupt(self) -> None:
        screen = self.screen if isinstance(self.screen, ArrangedScreen) else self.main
        selected = screen.selected_text()
        now = time.monotonic()
        if selected:
            self.filing.copy(selected)
        elif not screen.stop_writing():
            if now - self._interrupted_at < TWICE_S:
                self.leave(0)
            self._interrupted_at = now
            self.main.say("^C once more quits, as does ^Q. What you wrote is kept")
