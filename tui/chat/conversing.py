"""What happens when in a conversation: keeps turns, replies, table and view in step.

Runs on the app's thread; knows no widgets.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import replace

from corpora.errors import UserError
from tui.chat.dialogue import Dialogue, Turn
from tui.chat.looking import Looking
from tui.chat.replies import Replies
from tui.chat.speaker import Speaker
from tui.conductor import READING_S
from tui.inspector import Inspector
from tui.messages import RunFailed, RunFinished, StepKept, StepsArrived
from tui.runs import SEEDS, chosen_step
from tui.worker import Writer


class Conversing(Looking):
    """The chat's behaviour."""

    def __init__(
        self,
        speaker: Speaker,
        replies: Replies,
        writer: Writer,
        inspector: Inspector,
        dialogue: Dialogue,
    ) -> None:
        super().__init__(speaker, replies, writer, inspector, dialogue)
        self._owed: tuple[Dialogue, str] | None = None  # a question that waits for a model

    @property
    def waiting(self) -> bool:
        """A question waits for the model."""
        return self._owed is not None

    # saying

    def ask(self, text: str) -> bool:
        """A question after what is on show; False where it cannot be taken."""
        dialogue = self.at.dialogue
        if not self._possible(dialogue.system, text):
            return False
        self._answer(dialogue, dialogue.ask(text))
        return True

    def edit(self, turn_id: str, text: str) -> bool:
        """An earlier question put in another way; as ``ask``."""
        dialogue = self.at.dialogue
        if not self._possible(dialogue.system, text):
            return False
        self._answer(dialogue, dialogue.edit(turn_id, text))
        return True

    def instruct(self, text: str) -> None:
        """Another system prompt, empty for none; the conversation begins again under it."""
        if text != self.at.dialogue.system:
            self.at.dialogue.instruct(text)
            self.at.stand()
        self.show_all()

    def again(self) -> None:
        """Another reply to the question that the reader stands on, or behind."""
        question = self.at.question
        if question is None:
            self.view.say("There is no question to reply to yet")
            return
        if self.seed_fixed:
            self.view.say("The seed is fixed: the same settings give the same reply")
        if self._possible():
            self._answer(self.at.dialogue, question)

    def more(self) -> None:
        """Go on with the reply that the reader stands on, where it was cut."""
        turn = self.at.reply
        if turn is None or not turn.stopped or turn is self.writing:
            self.view.say("That reply came to its end; there is nothing to go on with")
        elif turn.text and not turn.steps:
            self.view.say("Its tokens were not kept; F5 writes another reply", "warning")
        elif self._possible() and self._own(turn):
            if turn.steps:  # the numbers that it would have gone on with
                self.controls = replace(self.controls, seed=turn.steps[-1].controls.seed)
            self.replies.drop()
            self._write(self.at.dialogue, self.at.dialogue.resume(turn.id))

    def fork(self, index: int, token: int) -> None:
        """Take ``token`` at step ``index`` of the shown reply, and write on from it."""
        turn, dialogue = self.at.reply, self.at.dialogue
        if turn is None or not 0 <= index < len(turn.steps):
            return
        if not self._possible() or not self._own(turn):
            return
        step = turn.steps[index]
        order = self.speaker.order(dialogue, turn, self.controls)
        text = order.text_of((*turn.tokens[:index], token), step.controls.stop)
        before = sum(len(each.text) for each in turn.steps[:index])
        if not self.seed_fixed:
            self.controls = replace(self.controls, seed=step.controls.seed)
        self.replies.drop()
        taken = chosen_step(step, token, text[before:])
        self._write(dialogue, dialogue.fork(turn.id, index, taken))

    def stop(self) -> bool:
        """End the reply at its next token; False where none is written or waited for."""
        if self._owed is not None:
            self._owed = None
            self.view.show_state()
            return True
        return self.replies.stop()

    def _possible(self, system: str = "", text: str = "") -> bool:
        """Whether a reply can be written, now or as soon as a model is there; says why not."""
        if self.speaker.refused:
            self.view.say(self.speaker.refused, "warning")
            self.speaker.load()  # perhaps what was missing is there by now
            self.view.show_state()
            return False
        try:
            if text:
                self.speaker.check(system, text, self.controls)
        except UserError as error:
            self.view.say(str(error), "warning")
            return False
        return True

    def _own(self, turn: Turn) -> bool:
        """Whether the model in use wrote a reply; says so where another one did."""
        handle = self.speaker.handle
        if handle is None or turn.model != handle.spec.name:
            self.view.say(f"{turn.model} wrote this; choose that model (^L) to go on", "warning")
            return False
        return True

    def _answer(self, dialogue: Dialogue, question: Turn) -> None:
        handle = self.speaker.handle
        if handle is None or self.speaker.stage:
            self._owed = (dialogue, question.id)
            self.at.stand()
            self.show_all()
            return
        if not self.seed_fixed:
            self.controls = replace(self.controls, seed=secrets.randbelow(SEEDS))
        self.replies.drop()
        dialogue.model = handle.spec.name
        self._write(dialogue, dialogue.begin_reply(question.id, self.controls))

    def _write(self, dialogue: Dialogue, turn: Turn) -> None:
        """Write on at the end of ``turn``."""
        self._owed = None
        order = self.speaker.order(dialogue, turn, self.controls, turn.tokens)
        self.replies.begin(dialogue, turn, order, self.controls)
        if (meter := self.speaker.meter(order.handle)) is not None:
            meter.begin_run()
        if dialogue is self.at.dialogue:
            self.at.stand()
        self.show_all()

    # what the threads send

    def arrived(self, message: StepsArrived) -> None:
        """New steps of a reply, whatever is on show."""
        now = self.replies.arrived(message)
        if now is None:
            return
        turn = now.turn
        if (meter := self.speaker.meter(now.order.handle)) is not None:
            for step in message.steps:
                meter.update(step)
        fitted = now.order.fitted
        news = fitted is not None and now.dialogue.note_left_out(turn.id, fitted.left_out)
        if now.dialogue is not self.at.dialogue:
            return
        if news and self.left_out:
            self._tell_left_out()
        self.view.grow(turn, message.steps)
        seen = [i for i, step in enumerate(message.steps, -len(message.steps)) if step.inspection]
        if seen and self.at.cursor is None and self.at.reply is turn:
            self.show_step(len(turn.steps) + seen[-1])
        if time.monotonic() >= self._read_at + READING_S:
            self.show_speed()
            self.view.show_state()

    def finished(self, message: RunFinished) -> None:
        """A reply has come to its end."""
        now = self.replies.finished(message)
        if now is None:
            return
        if message.finished.reason == "dead_end":
            self.view.say(message.finished.detail, "warning")
        if now.dialogue is self.at.dialogue:
            self.show_all()
        self.view.show_state()

    def failed(self, message: RunFailed) -> None:
        """A reply broke off."""
        if self.replies.failed(message) is not None:
            self.show_all()

    def kept(self, message: StepKept) -> None:
        """The logits of a step that was asked for."""
        if self._inspector.take(message):
            self.show_step()

    def model_changed(self, told: str = "") -> None:
        """Another model is there: a question that waited is replied to. ``told``: why it is
        not, which leaves the one before in use, if any."""
        self._inspector.forget()
        owed, self._owed = self._owed, None
        if told:
            self.view.say(told, "warning")
        if owed is not None and self.speaker.handle is not None:
            dialogue, question = owed
            self._answer(dialogue, dialogue.turn(question))
        self.show_all()

    def _tell_left_out(self) -> None:
        count = self.left_out
        self.view.say(
            f"The conversation is longer than the model reads: its {count} oldest messages are "
            "left out. They stay here and in the history"
        )
        self.show_turns()
