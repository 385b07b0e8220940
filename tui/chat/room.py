"""The window's way into the chat: its threads, its screen while that is open, its messages.

Lives as long as the app: a reply goes on while the screen is closed or another conversation
is on show.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual.message import Message

from corpora.errors import UserError
from corpora.package import SMOLLM2
from model.config import Precision
from tui import messages as m
from tui.chat.conversing import Conversing
from tui.chat.defaults import CHAT_MODEL, ChatStart
from tui.chat.dialogue import Dialogue
from tui.chat.replies import Replies
from tui.chat.speaker import Speaker
from tui.chat.view import Nobody
from tui.dialogs import Ask, Picker
from tui.frames import Frames
from tui.history.steps import read_controls
from tui.inspector import Inspector
from tui.session import UNLIMITED
from tui.view import Tone
from tui.worker import Source, Writer

if TYPE_CHECKING:
    from tui.app import Yinchuang
    from tui.chat.screen import ChatScreen

log = logging.getLogger("yinchuang")

OTHER, PRECISION = "…", "precision"
PRECISIONS: dict[Precision, str] = {
    "float32": "as the weights were meant",
    "bfloat16": "half the memory, other replies",
}


class Room:
    """What the app calls."""

    def __init__(self, app: Yinchuang, log_file: str, start: ChatStart | None = None) -> None:
        """``start``: what to begin with, instead of how things stood last."""
        self._app = app
        self._writer = Writer(self._post, log_file)
        self._writer.set_pace(UNLIMITED)
        self._frames = Frames(app, self._writer)
        self._begun = False
        self._start = start or ChatStart()
        self.screen: ChatScreen | None = None
        """The chat's screen while it is open."""
        self.draft = ""
        """What is being typed, while the screen is closed."""
        self.loader = app.loader.beside(self._post)
        self.replies = Replies(self._writer, self, self._start_writing)
        self.talk = Conversing(
            Speaker(self.loader, CHAT_MODEL),
            self.replies,
            self._writer,
            Inspector(self._post, self._writer),
            Dialogue(CHAT_MODEL),
        )

    # coming and going

    def open(self) -> None:
        """Show the chat; the first time with the conversation that was there last."""
        from tui.chat.screen import ChatScreen

        if self.screen is None:
            if not self._begun:
                self._begun = True
                self._restore()
                self.talk.speaker.load(self._start.model, self._start.precision)
                if self._start.system:
                    self.new(self._start.system)
            self.screen = ChatScreen(self)
            self._app.push_screen(self.screen, lambda _: self._closed())

    def _closed(self) -> None:
        self.screen = None
        self.talk.view = Nobody()

    def new(self, system: str | None = None) -> None:
        """Begin a conversation, under the same system prompt where none is given."""
        before = self.talk.at.dialogue.system
        self.talk.open(self._fresh(before if system is None else system))

    def show(self, work: str, turn: str = "") -> None:
        """Bring a kept conversation on show, at a turn of it. Raises ``HistoryError``."""
        self.talk.open(self._dialogue(work))
        dialogue = self.talk.at.dialogue
        if turn in dialogue and turn not in {each.id for each in dialogue.path}:
            dialogue.show(turn)
        self.talk.at.stand(turn if turn and dialogue.path[-1].id != turn else None)
        self.talk.show_all()

    def choose_model(self) -> None:
        """Ask which model to chat with, and load it."""
        speaker = self.talk.speaker
        other: Precision = "float32" if speaker.precision == "bfloat16" else "bfloat16"

        def load(name: str | None) -> None:
            if name and name.strip():
                speaker.load(name.strip())
                self.talk.view.show_state()

        def chosen(name: str | None) -> None:
            if name == PRECISION:
                speaker.load(precision=other)
                self.talk.view.show_state()
            elif name == OTHER:
                hint = "a folder with safetensors, or a .gguf file"
                self._app.push_screen(Ask("A model of yours", f"{Path.cwd()}/", hint), load)
            else:
                load(name)

        names = {SMOLLM2.name_here: f"{SMOLLM2.name_here} · {SMOLLM2.what}"}
        names.setdefault(speaker.name, speaker.name)
        options = [
            *names.items(),
            (OTHER, "another one on this disk …"),
            (PRECISION, f"the same in {other}: {PRECISIONS[other]}"),
        ]
        self._app.push_screen(Picker("Chat with", options, speaker.name), chosen)

    def save(self) -> None:
        """Ask for a name and write the conversation to a file."""
        work = self.talk.at.dialogue.work
        if work is None:
            self.say("There is no conversation to save yet")
        elif self._app.keeper is None:
            self.say("Nothing is kept in this window; Alt C copies a turn", "warning")
        else:
            self._app.historian.export(work)

    def forget(self, work: str) -> None:
        """A conversation was deleted."""
        if self.talk.at.dialogue.work == work:
            self.new()

    def leave(self) -> None:
        """The app ends: so does what is written, its text kept. The screen, which goes before
        the app does, is not asked any more."""
        self.replies.drop()
        if self.screen is not None and not self.screen.torn_down:
            self.draft = self.screen.draft
        self.talk.view = Nobody()

    @property
    def app(self) -> Yinchuang:
        """Whose room it is."""
        return self._app

    def _fresh(self, system: str) -> Dialogue:
        handle = self.talk.speaker.handle
        return Dialogue(handle.spec.name if handle else CHAT_MODEL, system, self._recorder)

    def _dialogue(self, work: str) -> Dialogue:
        """A kept conversation; the one at hand where it is being shown or written."""
        now = self.replies.now
        at_hand = [self.talk.at.dialogue, *([now.dialogue] if now else [])]
        for dialogue in at_hand:
            if dialogue.work == work:
                return dialogue
        assert self._app.keeper is not None
        return Dialogue.load(self._app.keeper.history, work, self._recorder)

    @property
    def _recorder(self) -> Any:
        return self._app.keeper.recorder if self._app.keeper is not None else None

    # what is kept of it from one start to the next

    def note(self) -> None:
        """Write down in the session how things stand, for ``_restore``."""
        if not self._begun:
            return
        draft = self.draft if isinstance(self.talk.view, Nobody) else self.talk.view.draft
        self._app.session.chat = {
            "model": self.talk.speaker.name,
            "precision": self.talk.speaker.precision,
            "work": self.talk.at.dialogue.work,
            "draft": draft,
            "seed_fixed": self.talk.seed_fixed,
            "controls": asdict(self.talk.controls),
        }

    def _restore(self) -> None:
        document = self._app.session.chat
        self.talk.at.open(self._fresh(""))
        try:
            self.draft = str(document.get("draft", ""))
            self.talk.speaker.name = str(document.get("model", "")) or CHAT_MODEL
            if document.get("precision") in PRECISIONS:
                self.talk.speaker.precision = cast(Precision, document["precision"])
            if "controls" in document:
                self.talk.controls = read_controls(document["controls"])
                self.talk.seed_fixed = bool(document.get("seed_fixed"))
            work = document.get("work")
            if work and self._app.keeper is not None:
                self.talk.at.open(self._dialogue(str(work)))
        except (UserError, TypeError, ValueError, KeyError, LookupError) as error:
            log.warning("the last conversation is not shown again: %s", error)

    # the threads

    def _post(self, message: Message) -> None:
        self._app.post_message(m.ChatNews(message))

    def _start_writing(self, run_id: int, order: Source) -> None:
        self._app.run_worker(
            partial(self._writer.write, run_id, order),
            thread=True,
            exclusive=True,
            group="chat",
            exit_on_error=False,
        )

    def take(self, message: Message) -> None:
        """What a thread of the chat has to tell."""
        if self.screen is not None and self.screen.torn_down:
            self.talk.view = Nobody()  # the window is being left
        talk, speaker = self.talk, self.talk.speaker
        if isinstance(message, m.StepsArrived):
            self._frames.show(message.run_id, lambda: talk.arrived(message))
        elif isinstance(message, m.RunFinished):
            talk.finished(message)
        elif isinstance(message, m.RunFailed):
            talk.failed(message)
        elif isinstance(message, m.StepKept):
            talk.kept(message)
        elif isinstance(message, m.ModelLoading) and speaker.awaits(message.request):
            speaker.stage = message.stage
            talk.view.show_state()
        elif isinstance(message, m.ModelReady) and speaker.awaits(message.request):
            talk.model_changed(speaker.ready(message.handle))
        elif isinstance(message, m.ModelFailed) and speaker.awaits(message.request):
            talk.model_changed(speaker.failed(message.text))

    def say(self, text: str, tone: Tone = "information") -> None:
        """Tell the reader something, wherever they are."""
        self._app.main.say(text, tone)
