"""What stands behind a column: a session, a thread and a conductor of its own, as the poem's
window has them, around one model.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.message import Message

from model.labels import model_label
from tui import messages as m
from tui.beside.pane import ColumnPane
from tui.conductor import Conductor
from tui.frames import Frames
from tui.inspector import Inspector
from tui.runs import Runs
from tui.screen import ending
from tui.session import Session, Settings, Unknown
from tui.worker import Source, Writer

if TYPE_CHECKING:
    from model.registry import ModelHandle
    from tui.app import Yinchuang


class Column:
    """One of the two. All methods are called on the app's thread."""

    def __init__(self, app: Yinchuang, pane: ColumnPane, log_file: str = "") -> None:
        """``pane``: where it is shown. ``log_file``: where tracebacks go."""
        self._app = app
        self._pane = pane
        self._token_bytes = 0
        self.session = Session()
        self.writer = Writer(self._post, log_file)
        self._frames = Frames(app, self.writer)
        self.loader = app.loader.beside(self._post)
        self.runs = Runs(self.session, self.writer, pane, self._start_thread)
        self.conductor = Conductor(
            self.session, self.runs, self.writer, Inspector(self._post, self.writer), pane
        )
        pane.doing, pane.ending = self._doing, self._ending
        pane.token_bytes = lambda: self._token_bytes

    @property
    def name(self) -> str:
        """The model in use, or wished for while it loads."""
        return self.session.model

    @property
    def busy(self) -> bool:
        """It writes, or will as soon as its model is there."""
        return self.runs.writing is not None or self.runs.waiting is not None

    def load(self, name: str) -> None:
        """Use another model from now on."""
        self.runs.drop()
        self.session.model = name
        self._pane.model_title = f"loading {model_label(name)}"
        self._pane.show_state()
        self.loader.begin(name)

    def write(self, settings: Settings, unknown: Unknown) -> None:
        """Write from the opening of ``settings``. What cannot be begun is said in the column,
        and an older poem makes room there: it is none of this pair."""
        self.runs.drop()
        self.session.settings = settings
        self.runs.submit(settings.opening, unknown)
        if not self.busy:
            self.session.current = None
            self.conductor.show_all()

    def take(self, message: Message) -> None:
        """What a pane asks for, or a thread has sent."""
        match message:
            case m.StepsArrived():
                self._frames.show(message.run_id, lambda: self.conductor.arrived(message))
            case m.RunFinished():
                self.conductor.finished(message)
            case m.RunFailed():
                self.conductor.failed(message)
            case m.StepKept():
                self.conductor.kept(message)
            case m.StepRequested():
                self.look(message.delta)
            case m.StepPointed():
                self.conductor.look(message.index)
            case m.ForkRequested():
                self.runs.fork(message.index, message.token)
            case m.ModelLoading() | m.ModelReady() | m.ModelFailed():
                if message.request == self.loader.request:
                    self._model(message)

    def look(self, delta: int) -> None:
        """Look at a step ``delta`` later than now."""
        self.conductor.look(self.session.index + delta)

    def _model(self, message: m.ModelLoading | m.ModelReady | m.ModelFailed) -> None:
        if isinstance(message, m.ModelLoading):
            self._pane.model_title = f"{model_label(message.name)}: {message.stage}…"
        elif isinstance(message, m.ModelFailed):
            self._pane.model_title = f"{model_label(message.name)}: not loaded"
            self._pane.say(message.text, "error")
        else:
            handle = message.handle
            self._pane.model_title = handle.title
            self._token_bytes = handle.full_cache_bytes // handle.model.config.block_size
            self.conductor.model_ready(beside_others(handle))
        self._pane.show_state()

    def _start_thread(self, run_id: int, source: Source) -> None:
        self._app.run_worker(
            lambda: self.writer.write(run_id, source),
            thread=True,
            exclusive=True,
            group=f"beside{self._pane.place}",
            exit_on_error=False,
        )

    def _post(self, message: Message) -> bool:
        return self._app.post_message(m.OfColumn(self._pane.place, message))

    # words and figures

    def _doing(self) -> str:
        branch = self.runs.writing
        if branch is None:
            return "◌ waits for the model" if self.runs.waiting is not None else "○ idle"
        if not branch.steps and self.runs.handle is not None and self.runs.handle.chat is not None:
            return "◌ begins when the model is free"
        length = branch.form.length
        done = len(branch.text) if length else len(branch.text) - len(branch.prompt)
        return f"● writing {done}/{length}" if length else f"● writing {done}"

    def _ending(self) -> str:
        branch = self.session.branch
        if branch is None or branch.finished is None:
            return ""
        written = len(branch.text) - len(branch.prompt)
        return f"{written} char · {len(branch.steps)} tok · {ending(branch)}"


def beside_others(handle: ModelHandle) -> ModelHandle:
    """The same model for runs beside those of the poem's window and of the other column.

    Passes of this program's own models change nothing but the cache they are given, which
    belongs to a run: with a lock of its own each can go through the same weights at the same
    time. Of models of other makers that is not known, so they take turns.
    """
    return replace(handle, lock=threading.Lock()) if handle.spec.kind == "own" else handle
