"""Replies as they are written: begun, stopped and ended, and what the thread sends of them.

A reply belongs to the turn that asked for it, whatever conversation is on show by the time
that it ends. Runs on the app's thread; knows no widgets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from model.config import Controls
from model.steps import Finished
from tui.chat.dialogue import Dialogue, Turn
from tui.chat.orders import ReplyOrder
from tui.messages import RunFailed, RunFinished, StepsArrived
from tui.view import Tone
from tui.worker import Source, Writer


class Listener(Protocol):
    """Who is told what cannot be seen in a turn."""

    def say(self, text: str, tone: Tone = "information") -> None:
        """Tell the reader something in passing."""


@dataclass(frozen=True, slots=True)
class Writing:
    """The reply that is being written, and where it belongs."""

    run_id: int
    dialogue: Dialogue
    turn: Turn
    order: ReplyOrder


class Replies:
    """At most one at a time."""

    def __init__(
        self, writer: Writer, listener: Listener, start_thread: Callable[[int, Source], None]
    ) -> None:
        """``start_thread`` runs ``writer.write`` with its arguments on a thread."""
        self._writer = writer
        self._listener = listener
        self._start_thread = start_thread
        self.now: Writing | None = None
        """What is being written."""

    def begin(self, dialogue: Dialogue, turn: Turn, order: ReplyOrder, controls: Controls) -> None:
        """Write on at the end of ``turn``. Another one that is being written ends here."""
        self.drop()
        self._writer.controls = controls
        run_id = self._writer.begin()
        self.now = Writing(run_id, dialogue, turn, order)
        self._start_thread(run_id, order)

    def stop(self) -> bool:
        """End it at its next token; False where none is on."""
        if self.now is None:
            return False
        self._writer.stop()
        return True

    def drop(self) -> None:
        """End it now, with what has come; what still arrives of it is passed over."""
        if self.now is not None:
            self._writer.stop()
            self._end(self.now, cut_short(self.now.turn))

    def arrived(self, message: StepsArrived) -> Writing | None:
        """Take in new steps; where they belong, ``None`` where they are stale."""
        now = self._of(message.run_id)
        if now is not None:
            now.dialogue.append(now.turn.id, message.steps)
        return now

    def finished(self, message: RunFinished) -> Writing | None:
        """It has come to its end; as ``arrived``."""
        now = self._of(message.run_id)
        if now is not None:
            self._end(now, message.finished)
        return now

    def failed(self, message: RunFailed) -> Writing | None:
        """It broke; what had been written stays. As ``arrived``."""
        now = self._of(message.run_id)
        if now is not None:
            tokens = len(now.turn.steps)
            self._end(now, Finished("error", "", tokens, 0.0, 0.0, message.text))
            where = f"\nThe details are in {message.log}" if message.log else ""
            self._listener.say(f"The reply broke off: {message.text}{where}", "error")
        return now

    def _of(self, run_id: int) -> Writing | None:
        return self.now if self.now is not None and self.now.run_id == run_id else None

    def _end(self, writing: Writing, finished: Finished) -> None:
        self.now = None
        writing.dialogue.finish(writing.turn.id, finished)


def cut_short(turn: Turn) -> Finished:
    """The end of a reply that was not let finish."""
    return Finished("cancelled", "", len(turn.steps), 0.0, 0.0)
