"""The app: wires session, threads and screen, and answers keys and messages.

Nothing here imports torch: the model loads on a thread after the first frame.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from model.labels import model_label
from tui import messages as m
from tui.actions import Commands
from tui.beside.pair import Pair
from tui.conductor import Conductor
from tui.filing import Filing
from tui.frames import Frames
from tui.historian import Historian
from tui.inspector import Inspector
from tui.keeping import EVERY_S, Keeper
from tui.lab.laboratory import Laboratory
from tui.loader import Loader
from tui.runs import Runs
from tui.screen import MainScreen
from tui.session import Session
from tui.themes import DARK, LIGHT, THEMES
from tui.worker import Source, Writer

if TYPE_CHECKING:
    from model.lab.catalogue import Experiment
    from model.registry import ModelHandle
    from tui.chat.defaults import ChatStart
    from tui.chat.room import Room

log = logging.getLogger("yinchuang")


class Yinchuang(Commands):
    """The window."""

    TITLE = "吟窗"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = []
    _room: Room | None = None
    _left = False
    broken = ""
    """What went wrong where the app had to end, for a line after it has."""

    def __init__(
        self,
        session: Session,
        *,
        keeper: Keeper | None = None,
        log_file: str = "",
        load: Callable[[str], ModelHandle] | None = None,
        greeting: str = "",
        experiments: Sequence[Experiment] | None = None,
        pair: Sequence[str] | None = None,
        chat: ChatStart | None = None,
    ) -> None:
        """``keeper``: keeps the session in the history. ``log_file``: where tracebacks go.
        ``load``: gives the model of a name; the registry's where None.
        ``greeting``: said at the start. ``experiments``: the lab's; the catalogue's where None.
        ``pair``: the two models that stand side by side at first; a choice where None.
        ``chat``: open the chat at once, and what it begins with."""
        super().__init__()
        self.session = session
        self.log_file = log_file
        self._greeting = greeting
        self._chat = chat
        self._on_leaving: Callable[[int], None] = lambda code: None
        self.writer = Writer(self.post_message, log_file)
        self._frames = Frames(self, self.writer)
        self.loader = Loader(self.post_message, load)
        self.main = MainScreen(session)
        self.runs = Runs(session, self.writer, self.main, self._start_writing)
        self.filing = Filing(self)
        self.laboratory = Laboratory(self, experiments)
        self.pair = Pair(self, pair)
        self.historian = Historian(self)
        self.keeper = keeper
        self.inspector = Inspector(self.post_message, self.writer)
        self.conductor = Conductor(session, self.runs, self.writer, self.inspector, self.main)
        self.main.writing = lambda: self.runs.writing
        self.main.stop = self.runs.stop
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
        self.main.model_title = f"loading {model_label(self.session.model)}"
        self.main.show_state()
        self.main.show_look()
        if self._greeting:
            self.main.say(self._greeting, "warning")
        self.loader.begin(self.session.model)
        if self.keeper is not None:
            self.keeper.begin(self._tell_later)
            self.set_interval(EVERY_S, self.note)
        if self._chat is not None:
            self.room.open()

    def note(self) -> None:
        """Hand what has changed to the history, now; it is written on its own thread."""
        if self._room is not None:
            self._room.note()
        if self.keeper is not None:
            self.keeper.tick()

    def _start_writing(self, run_id: int, order: Source) -> None:
        self.laboratory.poem_begins()
        self.run_worker(
            partial(self.writer.write, run_id, order),
            thread=True,
            exclusive=True,
            group="generate",
            exit_on_error=False,
        )

    # facts from the threads

    def on_steps_arrived(self, message: m.StepsArrived) -> None:
        self._frames.show(message.run_id, lambda: self.conductor.arrived(message))

    def on_run_finished(self, message: m.RunFinished) -> None:
        self.conductor.finished(message)

    def on_run_failed(self, message: m.RunFailed) -> None:
        self.conductor.failed(message)

    def on_step_kept(self, message: m.StepKept) -> None:
        self.conductor.kept(message)

    def on_model_loading(self, message: m.ModelLoading) -> None:
        if message.request == self.loader.request:
            self.main.model_title = f"{model_label(message.name)}: {message.stage}…"
            self.main.show_state()

    def on_model_ready(self, message: m.ModelReady) -> None:
        if message.request == self.loader.request:
            self.main.model_title = message.handle.title
            self.session.model = message.name
            self.conductor.model_ready(message.handle)

    def on_model_failed(self, message: m.ModelFailed) -> None:
        if message.request == self.loader.request:
            self.main.model_title = f"{model_label(message.name)}: not loaded"
            self.main.say(message.text, "error")
            self.main.show_state()

    def on_chat_news(self, message: m.ChatNews) -> None:
        self.room.take(message.news)

    def on_lab_progressed(self, message: m.LabProgressed) -> None:
        self.laboratory.progressed(message)

    def on_of_column(self, message: m.OfColumn) -> None:
        self.pair.take(message)

    def on_lab_ended(self, message: m.LabEnded) -> None:
        self.laboratory.ended(message)

    # the chat

    @property
    def room(self) -> Room:
        """The chat, which is there once somebody asks for it."""
        if self._room is None:
            from tui.chat.room import Room

            self._room = Room(self, self.log_file, self._chat)
        return self._room

    @property
    def is_writing(self) -> bool:
        """A poem or a reply is being written."""
        replying = self._room is not None and self._room.replies.now is not None
        return replying or self.runs.writing is not None or self.pair.writing

    # requests from the panes

    def on_opening_submitted(self, message: m.OpeningSubmitted) -> None:
        self.main.query_one("#poem").focus()
        self.runs.submit(message.text)

    def on_write_requested(self) -> None:
        self.main.query_one("#poem").focus()
        self.runs.submit(self.session.settings.opening)

    def on_opening_edited(self, message: m.OpeningEdited) -> None:
        self.conductor.edit_opening(message.text)

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

    # leaving

    async def action_quit(self) -> None:
        self.leave(0)

    def leave(self, code: int) -> None:
        """End the run, keep the session, end the app."""
        self._left = True
        self._on_leaving(code)
        self.laboratory.bench.stop()
        self.pair.drop()
        self.runs.drop()
        if self._room is not None:
            self._room.leave()
        self.keep()
        self.exit(code)

    def keep(self) -> None:
        """Save the session for the last time; doing it twice does nothing."""
        if self.keeper is None:
            return
        if self._room is not None:
            self._room.note()
        self.keeper.finish()
        self.keeper = None

    def on_leaving(self, call: Callable[[int], None]) -> None:
        """``call`` is told the exit code as soon as leaving begins."""
        self._on_leaving = call

    def _handle_exception(self, error: Exception) -> None:
        if self._left:  # panes may still have been on their way in when the reader left
            log.warning("on the way out", exc_info=error)
            return
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
