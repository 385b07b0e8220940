"""What is on show of a conversation, and under which settings: turns, table and meter.

Runs on the app's thread; knows no widgets.
"""

from __future__ import annotations

import time
from dataclasses import replace

from model.config import CacheMode, Controls
from tui.chat.defaults import CHAT_SAMPLER, MAX_REPLY
from tui.chat.dialogue import Dialogue, Turn
from tui.chat.orders import ReplyOrder
from tui.chat.replies import Replies
from tui.chat.speaker import Speaker
from tui.chat.standing import Standing
from tui.chat.view import ChatView, Nobody
from tui.conductor import CYCLE
from tui.inspector import Inspector
from tui.worker import Writer


class Looking:
    """Brings the view up to date with where the reader stands."""

    def __init__(
        self,
        speaker: Speaker,
        replies: Replies,
        writer: Writer,
        inspector: Inspector,
        dialogue: Dialogue,
    ) -> None:
        self.speaker = speaker
        self.replies = replies
        self.view: ChatView = Nobody()
        self.at = Standing(dialogue)
        self.controls = Controls(CHAT_SAMPLER, max_tokens=MAX_REPLY)
        self.seed_fixed = False
        self._writer = writer
        self._inspector = inspector
        self._read_at = 0.0

    @property
    def writing(self) -> Turn | None:
        """The turn on show that is being written."""
        now = self.replies.now
        return now.turn if now is not None and now.dialogue is self.at.dialogue else None

    @property
    def left_out(self) -> int:
        """Messages, system prompt aside, that the newest reply was written without."""
        newest = next((turn for turn in reversed(self.at.path) if turn.is_reply), None)
        return (newest.left_out or 0) if newest else 0

    # settings

    def set_controls(self, controls: Controls) -> None:
        """Use these from the next token on, and show what they make of the step looked at."""
        self.controls = controls
        self._writer.controls = controls
        self.view.show_controls(controls, self.seed_fixed)
        self.show_speed()
        self.view.show_state()
        if self.writing is None or self.at.reply is not self.writing or self.at.cursor is not None:
            self.show_step()

    def set_cache(self, mode: CacheMode) -> None:
        """Use the cache so from the next token on."""
        self.set_controls(replace(self.controls, cache=mode))

    def cycle_cache(self) -> None:
        """On, off, race, and on again."""
        self.set_cache(CYCLE[(CYCLE.index(self.controls.cache) + 1) % len(CYCLE)])

    # looking

    def open(self, dialogue: Dialogue) -> None:
        """Bring another conversation on show; what is written in this one goes on."""
        self.at.open(dialogue)
        self.show_all()

    def move(self, delta: int) -> None:
        """Stand on a turn so many later."""
        self.at.move(delta)
        self.view.choose(self.at.chosen)
        self.show_step()

    def look(self, index: int) -> None:
        """Show token ``index`` of the reply, among the others."""
        if self.at.reply is not None and self.at.reply.steps:
            self.at.look(index)
            self.at.tokens_shown = True
            self.show_tokens()
            self.show_step()

    def toggle_tokens(self, shown: bool | None = None) -> None:
        """Show the reply's tokens, or the conversation."""
        at = self.at
        at.tokens_shown = at.reply is not None and (not at.tokens_shown if shown is None else shown)
        if not at.tokens_shown:
            at.cursor = None
        self.show_tokens()
        self.show_step()

    def sibling(self, delta: int) -> None:
        """Show what stands beside: another reply, a question as it was before."""
        if self.at.sibling(delta):
            self.show_all()
        else:
            self.view.say("There is only one of each turn: F5 writes another reply, F6 edits")

    def show_all(self) -> None:
        """Bring the whole view up to date."""
        self.view.show_controls(self.controls, self.seed_fixed)
        self.show_turns()
        self.show_tokens()
        self.show_step()
        self.show_speed()
        self.view.show_state()

    def show_turns(self) -> None:
        """Show the path that is stood on."""
        self.view.show_turns(self.at.dialogue, self.at.chosen, self.left_out)

    def show_tokens(self) -> None:
        """Show the reply's tokens where that is wanted."""
        self.view.show_tokens(self.at.reply if self.at.tokens_shown else None, self.at.cursor)

    def show_speed(self) -> None:
        """Fill the meter."""
        self._read_at = time.monotonic()
        speaker = self.speaker
        reading = speaker.reading()
        if reading and self.replies.now is None:
            reading = replace(reading, live_tokens_per_s=None)  # nothing is on now
        self.view.show_speed(reading, self.controls.cache, speaker.full_cache_bytes)

    def show_step(self, index: int | None = None) -> None:
        """Fill the table with the token looked at, or one of the shown reply, as it was or
        would be."""
        reply = self.at.reply
        self._inspector.show(
            self.view,
            reply,
            self.at.index if index is None else index,
            self.controls,
            live=reply is not None and reply is self.writing and self.at.cursor is None,
            again=lambda: self._order(reply),
        )

    def _order(self, turn: Turn | None) -> ReplyOrder | None:
        """How a reply came about, where the model in use wrote it."""
        handle = self.speaker.handle
        if handle is None or turn is None or turn.model != handle.spec.name:
            return None
        return self.speaker.order(self.at.dialogue, turn, self.controls)
