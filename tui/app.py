"""The app: wires session, threads and screen, and answers keys and messages.

``run`` is the entry. Nothing here imports torch: the model loads on a thread after the
first frame.
"""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen

from tui import messages as m
from tui.autosave import EVERY_S, Autosave
from tui.commands import COMMANDS
from tui.conductor import Conductor
from tui.dialogs import Page, Picker
from tui.filing import Filing
from tui.help import help_page, key_name
from tui.inspector import Inspector
from tui.leaving import HardExit, end_process
from tui.loader import Loader
from tui.places import log_to_file, state_folder
from tui.runs import Runs
from tui.screen import MainScreen, branch_words
from tui.session import BY_KEY, PACES, Session
from tui.store import Store
from tui.themes import DARK, LIGHT, THEMES
from tui.worker import Source, Writer

if TYPE_CHECKING:
    from model.registry import ModelHandle

log = logging.getLogger("yinchuang")

DEFAULT_MODEL = "tang-base"
TWICE_S = 2.0
"""A second ^C within so many seconds quits."""


class Yinchuang(App[int]):
    """The window."""

    TITLE = "吟窗"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self,
        session: Session,
        *,
        store: Store | None = None,
        log_file: str = "",
        load: Callable[[str], ModelHandle] | None = None,
        greeting: str = "",
    ) -> None:
        """``store``: where the session is kept. ``log_file``: where tracebacks go.
        ``load``: gives the model of a name; the registry's where None.
        ``greeting``: said at the start."""
        super().__init__()
        self.session = session
        self._greeting = greeting
        self._interrupted_at = -math.inf
        self._on_leaving: Callable[[int], None] = lambda code: None
        self.broken = ""
        """What went wrong where the app had to end, for a line after it has."""
        self.writer = Writer(self.post_message, log_file)
        self.loader = Loader(self.post_message, load)
        self.main = MainScreen(session)
        self.runs = Runs(session, self.writer, self.main, self._start_writing)
        self.filing = Filing(self)
        self.autosave: Autosave | None = None
        if store is not None:
            self.autosave = Autosave(store, session, self._tell_later)
        self.inspector = Inspector(self.post_message, self.writer)
        self.conductor = Conductor(session, self.runs, self.writer, self.inspector, self.main)
        self.main.writing = lambda: self.runs.writing
        self.main.waiting = lambda: self.runs.waiting is not None

    def get_default_screen(self) -> MainScreen:
        return self.main

    def on_mount(self) -> None:
        """Show the session, then load the model."""
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DARK if self.session.look.dark else LIGHT
        self.writer.set_pace(self.session.look.pace)
        self._listen_to_signals()
        self.call_after_refresh(self._first_frame_done)

    async def _first_frame_done(self) -> None:
        await self.main.mount_instruments()
        self.conductor.show_all()
        self.main.model_title = f"loading {self.session.model}"
        self.main.show_state()
        self.main.show_look()
        if self._greeting:
            self.main.say(self._greeting, "warning")
        self.loader.begin(self.session.model)
        self.set_interval(EVERY_S, self._autosave)

    def _autosave(self) -> None:
        if self.autosave is not None:
            self.autosave.tick()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: every command of the table."""
        for command in COMMANDS:
            key = key_name(command.key)
            title = f"{command.title}  ({key})" if key else command.title
            yield SystemCommand(title, command.about, partial(self._command, command.action))

    async def _command(self, action: str) -> None:
        await self.run_action(action)

    def _start_writing(self, run_id: int, order: Source) -> None:
        self.run_worker(
            partial(self.writer.write, run_id, order),
            thread=True,
            exclusive=True,
            group="generate",
            exit_on_error=False,
        )

    # facts from the threads

    def on_steps_arrived(self, message: m.StepsArrived) -> None:
        began = time.thread_time()
        try:
            self.conductor.arrived(message)
        finally:
            self.call_after_refresh(lambda: self.writer.shown(time.thread_time() - began))

    def on_run_finished(self, message: m.RunFinished) -> None:
        self.conductor.finished(message)

    def on_run_failed(self, message: m.RunFailed) -> None:
        self.conductor.failed(message)

    def on_step_kept(self, message: m.StepKept) -> None:
        self.conductor.kept(message)

    def on_model_loading(self, message: m.ModelLoading) -> None:
        if message.request == self.loader.request:
            self.main.model_title = f"{message.name}: {message.stage}…"
            self.main.show_state()

    def on_model_ready(self, message: m.ModelReady) -> None:
        if message.request == self.loader.request:
            self.main.model_title = message.handle.title
            self.session.model = message.name
            self.conductor.model_ready(message.handle)

    def on_model_failed(self, message: m.ModelFailed) -> None:
        if message.request == self.loader.request:
            self.main.model_title = f"{message.name}: not loaded"
            self.main.say(message.text, "error")
            self.main.show_state()

    # requests from the panes

    def on_opening_submitted(self, message: m.OpeningSubmitted) -> None:
        self.main.query_one("#poem").focus()
        self.runs.submit(message.text)

    def on_opening_edited(self, message: m.OpeningEdited) -> None:
        self.session.change("typing", opening=message.text)

    def on_told(self, message: m.Told) -> None:
        self.main.say(message.text)

    def on_fork_requested(self, message: m.ForkRequested) -> None:
        self.runs.fork(message.index, message.token)

    def on_step_requested(self, message: m.StepRequested) -> None:
        self.conductor.look(self.session.index + message.delta)

    def on_step_pointed(self, message: m.StepPointed) -> None:
        self.conductor.look(message.index)

    def on_controls_changed(self, message: m.ControlsChanged) -> None:
        self.conductor.set_controls(message.controls)

    def on_seed_mode_changed(self, message: m.SeedModeChanged) -> None:
        self.session.change("the seed", seed_fixed=message.fixed)

    def on_form_changed(self, message: m.FormChanged) -> None:
        self.conductor.set_form(message.settings)

    def on_cache_mode_requested(self, message: m.CacheModeRequested) -> None:
        self.conductor.set_cache(message.mode)

    def on_branch_chosen(self, message: m.BranchChosen) -> None:
        self.conductor.show_branch(message.branch)

    # commands

    def action_stop(self) -> None:
        if not self.runs.stop():
            self.main.query_one("#opening").focus()

    def action_cache(self) -> None:
        self.conductor.cycle_cache()

    def action_pace(self) -> None:
        look = self.session.look
        place = PACES.index(look.pace) if look.pace in PACES else -1
        self._set_pace(PACES[(place + 1) % len(PACES)])

    def action_single(self) -> None:
        if self.session.look.pace != BY_KEY:
            self._set_pace(BY_KEY)
        self.writer.permit()

    def _set_pace(self, pace: float) -> None:
        self.session.look.pace = pace
        self.writer.set_pace(pace)
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
        self.main.model_title = f"loading {name}"
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

    def action_help(self) -> None:
        self.push_screen(Page("Help", help_page()))

    def action_interrupt(self) -> None:
        selected = self.main.selected_text()
        now = time.monotonic()
        if selected:
            self.filing.copy(selected)
        elif not self.runs.stop():
            if now - self._interrupted_at < TWICE_S:
                self.leave(0)
            self._interrupted_at = now
            self.main.say("^C once more quits, as does ^Q. What you wrote is kept")

    async def action_quit(self) -> None:
        self.leave(0)

    # leaving

    def leave(self, code: int) -> None:
        """End the run, keep the session, end the app."""
        self._on_leaving(code)
        self.runs.drop()
        self.keep()
        self.exit(code)

    def keep(self) -> None:
        """Save the session for the last time; doing it twice does nothing."""
        if self.autosave is not None:
            self.autosave.finish()
            self.autosave = None

    def on_leaving(self, call: Callable[[int], None]) -> None:
        """``call`` is told the exit code as soon as leaving begins."""
        self._on_leaving = call

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print a traceback; a reader gets a line, and the log the rest
        log.error("the window broke", exc_info=error)
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.broken = f"The window broke: {type(error).__name__}: {error}"
        self.leave(1)

    def _tell_later(self, text: str) -> None:
        self.post_message(m.Told(text))

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self.leave, 0)


def run(model: str | None = None) -> int:
    """Open the window; returns the process's exit code. ``model``: name or path of the
    model to write with, the last one used where None."""
    log_file = log_to_file()
    session, store = Session(), Store(state_folder())
    greeting = store.load(session)
    session.model = model or session.model or DEFAULT_MODEL
    app = Yinchuang(session, store=store, log_file=str(log_file), greeting=greeting)
    way_out = HardExit()
    app.on_leaving(way_out.arm)
    code = app.run() or 0
    app.keep()
    if app.broken:
        print(f"{app.broken}\nThe details are in {log_file}; your poems are kept.", file=sys.stderr)
    if app.loader.busy:
        end_process(code)
    way_out.disarm()
    return code
